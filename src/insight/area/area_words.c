/* SPDX-License-Identifier: Apache-2.0
 * What a GPU is (a symptom before its activity) and its readings, in words: each number once.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "model/finding_code.h"

/* ---- readings ---- */

/* "fan 62%", "fan 1850 rpm", "fan off"; false where there is nothing to say. */
bool words_fan_speed(const struct facts *f, char out[SHORT_WORDS])
{
    int64_t fan;
    if (f->fan == FAN_OFF)
        snprintf(out, SHORT_WORDS, "fan off");
    else if (f->fan != FAN_NONE && reading_get(f->gpu->fan_permille, &fan))
        snprintf(out, SHORT_WORDS, "fan %lld%%", percent(fan));
    else if (f->fan != FAN_NONE && reading_get(f->gpu->fan_rpm, &fan))
        snprintf(out, SHORT_WORDS, "fan %lld rpm", (long long)fan);
    else
        return false;
    return true;
}

/* "692 W (at its power limit)"; a limit that was lowered is named with the stock one. */
static void power_words(const struct facts *f, const struct why_part *part, char out[NAME_WORDS])
{
    const struct gpu *gpu = f->gpu;
    int64_t power = gpu->power_mw.value, limit, stock;
    struct text s = {out, NAME_WORDS, 0};
    text_append(&s, "%lld W", words_whole(power, 1000));
    if (!find_cause(part, FINDING_POWER_LIMIT)) {
        if (reading_or(gpu->throttle_bits, 0) & THROTTLE_CURRENT && f->load != LOAD_IDLE)
            text_append(&s, " (at a current limit of its board)");
        return;
    }
    if (reading_or(gpu->throttle_bits, 0) & THROTTLE_POWER_BRAKE)
        text_append(&s, " (power brake)");
    else if (reading_get(gpu->power_limit_mw, &limit) && reading_get(gpu->power_limit_default_mw, &stock) && stock > limit)
        text_append(&s, " (limit lowered to %lld W, stock %lld W)", words_whole(limit, 1000), words_whole(stock, 1000));
    else
        text_append(&s, " (at its power limit)");
}

/* The text has this number already. */
static bool has_number(const struct text *s, long long number, const char *unit)
{
    char words[SHORT_WORDS];
    snprintf(words, sizeof words, "%lld%s", number, unit);
    const char *at = s->len ? strstr(s->at, words) : NULL;
    return at && (at == s->at || at[-1] < '0' || at[-1] > '9');
}

/* "78%, 280 W, 71 °C, fan 62%": what `said` does not hold already. Returns how many there are. */
size_t say_readings(struct text *s, const struct facts *f, const struct why_part *part, unsigned said, const char *lead)
{
    char words[NAME_WORDS];
    int64_t value;
    size_t count = 0;
    if (!(said & SAID_LOAD) && (f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES))
        text_append(s, "%s%lld%%%s", count++ ? ", " : lead, percent(f->load_permille), f->activity.bursts ? " on average" : "");
    if (count && f->past.steady_ms >= STEADY_LEAST_MS && find_cause(part, FINDING_HIDDEN_LOAD))
        text_append(s, " for %s", words_duration(f->past.steady_ms, words)); /* how long a process has gone unseen */
    if (!(said & SAID_POWER) && reading_get(f->gpu->power_mw, &value) && !has_number(s, words_whole(value, 1000), " W")) {
        power_words(f, part, words);
        text_append(s, "%s%s", count++ ? ", " : lead, words);
    }
    if (!(said & SAID_HEAT) && reading_get(f->gpu->temp_mdegc, &value) && !has_number(s, words_whole(value, 1000), " °C"))
        text_append(s, "%s%lld °C", count++ ? ", " : lead, words_whole(value, 1000));
    if (!(said & SAID_FAN) && words_fan_speed(f, words) && !strstr(s->at, words)) {
        if (!count && strcmp(lead, " ") == 0) /* it begins the sentence */
            words[0] = 'F';
        text_append(s, "%s%s", count++ ? ", " : lead, words);
    }
    return count;
}

/* ---- what it is ---- */

/* A fan lags behind the heat of work, and the heat behind the work. */
bool sounds_loud(const struct facts *f)
{
    return activity_is_loud(&f->activity, f->gpu, f->load == LOAD_BUSY || recently_busy(f));
}

/* The word for the activity; at full load people say busy. */
const char *words_activity(const struct facts *f)
{
    switch (f->activity.code) {
    case ACTIVITY_BUSY:
    case ACTIVITY_SATURATED: return f->activity.bursts ? "busy in bursts" : "busy";
    case ACTIVITY_LIGHTLY_LOADED: return f->activity.bursts ? "lightly loaded, in bursts" : "lightly loaded";
    case ACTIVITY_FAILING: /* that is a sentence of its own */
        return f->load == LOAD_BUSY ? "busy" : f->load == LOAD_LIGHT ? "lightly loaded" : "idle";
    case ACTIVITY_UNKNOWN: return f->load == LOAD_BUSY ? "busy" : f->load == LOAD_IDLE ? "idle" : "";
    default: return activity_code_words(f->activity.code);
    }
}

/* "throttling (93 °C)", "loud (fan 100%)", "hot (88 °C)", else the activity. Returns what was said with it. */
unsigned say_state(struct text *s, const struct facts *f)
{
    char fan[SHORT_WORDS];
    int64_t temp = 0;
    bool has_temp = reading_get(f->gpu->temp_mdegc, &temp);
    if (f->activity.throttled_by & THROTTLE_HOT) {
        text_append(s, "thermal throttling");
        if (memory_is_hotter(f->gpu)) {
            text_append(s, " (memory at %lld °C)", words_whole(f->gpu->temp_memory_mdegc.value, 1000));
            return 0;
        }
        return has_temp && text_append(s, " (%lld °C)", words_whole(temp, 1000)) ? SAID_HEAT : 0;
    }
    if (sounds_loud(f) && words_fan_speed(f, fan)) {
        text_append(s, "loud (%s)", fan);
        return SAID_FAN;
    }
    if (has_symptom(f, SYMPTOM_HOT) && has_temp && f->heat >= HEAT_HOT) {
        text_append(s, "hot (%lld °C)", words_whole(temp, 1000));
        return SAID_HEAT;
    }
    text_append(s, "%s", words_activity(f)[0] ? words_activity(f) : "in use");
    return 0;
}

/* Whether say_state named a symptom. */
bool is_troubled(const struct facts *f)
{
    return f->activity.throttled_by & THROTTLE_HOT || sounds_loud(f) || (has_symptom(f, SYMPTOM_HOT) && f->heat >= HEAT_HOT);
}

/* A power limit below its default slows the work, for reasons that the GPU does not tell. */
static bool has_lower_limit(const struct gpu *gpu)
{
    int64_t limit, stock;
    return reading_get(gpu->power_limit_mw, &limit) && reading_get(gpu->power_limit_default_mw, &stock) && limit < stock;
}

/* A link that sends packets again looks whole: without a counter nothing is known of it. */
static bool link_is_counted(const struct gpu *gpu)
{
    return gpu->pcie_replays.state == READING_OK || gpu->pcie_corrected_errors.state == READING_OK || cooling_is_shared(gpu);
}

static bool is_calm_work(const struct facts *f, const struct why_part *part)
{
    if (part->severity > SEVERITY_INFO || find_cause(part, FINDING_CPU_HEAT) || find_cause(part, FINDING_INSTANCE_LOAD) ||
        find_cause(part, FINDING_HIDDEN_LOAD) || has_lower_limit(f->gpu))
        return false;
    return f->load == LOAD_BUSY && !is_troubled(f) && !f->activity.throttled_by && !has_symptom(f, SYMPTOM_UNUSUAL) &&
           f->activity.code != ACTIVITY_FAILING && f->heat != HEAT_UNKNOWN && verdict_is_calm(f->verdict, f->gpu->index) &&
           !power_contradicts_load(f->gpu) && link_is_counted(f->gpu) &&
           (f->gpu->mem_used_bytes.state == READING_OK || gpu_shares_memory(f->gpu));
}

/* GPUs of the same model at work beside it, among whose clocks and watts its own lie; 0: it differs, or too few can be compared. */
static size_t siblings_alike(const struct facts *f)
{
    enum { SIBLINGS_LEAST = 2, SPREAD = 20 }; /* a twentieth more than the spread of the others */
    int64_t least[2] = {INT64_MAX, INT64_MAX}, most[2] = {0, 0}, value;
    size_t count = 0;
    for (size_t i = 0; i < f->now->gpu_count; i++) {
        const struct gpu *g = &f->now->gpus[i];
        const struct reading readings[] = {g->clock_graphics_khz, g->power_mw};
        if (g == f->gpu || strcmp(g->id.name, f->gpu->id.name) != 0 || g->activity.code < ACTIVITY_BUSY ||
            readings[0].state != READING_OK || readings[1].state != READING_OK)
            continue;
        for (size_t k = 0; k < 2; k++) {
            least[k] = MIN_OF(least[k], readings[k].value);
            most[k] = MAX_OF(most[k], readings[k].value);
        }
        count++;
    }
    const struct reading own[] = {f->gpu->clock_graphics_khz, f->gpu->power_mw};
    for (size_t k = 0; k < 2; k++)
        if (!reading_get(own[k], &value) || value < least[k] - least[k] / SPREAD || value > most[k] + most[k] / SPREAD)
            return 0;
    return count >= SIBLINGS_LEAST ? count : 0;
}

/* Normal is what was compared: with its own past, with its siblings, or with what the part can do. Otherwise nothing is claimed. */
void say_normal(struct text *s, const struct facts *f, const struct why_part *part)
{
    const struct usual *u = &part->usual;
    int64_t temp, low, high, clock, most;
    size_t alike;
    if (!is_calm_work(f, part))
        return;
    if (u->days > 1 && u->confidence > 0 && !u->at_more_power && reading_get(f->gpu->temp_mdegc, &temp) &&
        reading_get(u->temp_low_mdegc, &low) && reading_get(u->temp_high_mdegc, &high) && temp >= low && temp <= high)
        text_append(s, ", normal for this work: %lld to %lld °C at this power in its last %d days", words_whole(low, 1000),
                    words_whole(high, 1000), u->days);
    else if ((alike = siblings_alike(f)))
        text_append(s, ", normal for this work: like its %zu siblings", alike);
    else if (reading_get(f->gpu->clock_graphics_khz, &clock) && reading_get(f->gpu->clock_graphics_max_khz, &most) && most > 0 &&
             clock * 100 >= most * 97)
        text_append(s, ", normal for this work: within 3%% of the clock that it can reach");
    else if (find_cause(part, FINDING_POWER_LIMIT))
        text_append(s, ", normal for this work: the limit that it was built for");
}

/* " (83 °C)"; "" where it is not known */
const char *words_heat(const struct gpu *gpu, char out[SHORT_WORDS])
{
    int64_t temp;
    out[0] = '\0';
    if (reading_get(gpu->temp_mdegc, &temp))
        snprintf(out, SHORT_WORDS, " (%lld °C)", words_whole(temp, 1000));
    return out;
}
