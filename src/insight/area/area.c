/* SPDX-License-Identifier: Apache-2.0
 * What areas make their findings of: causes with evidence, findings of one list, advice without repeats.
 */
#include "insight/area/area.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "model/finding_code.h"
#include "source/fault/fault.h"

/* ---- causes ---- */

void cause_begin(struct cause_draft *d, struct why_part *part, finding_code code)
{
    *d = (struct cause_draft){.part = part};
    d->cause.code = code;
    d->cause.severity = finding_kind(code)->severity;
}

void cause_process(struct cause_draft *d, const struct process *p)
{
    d->cause.pid = p->pid;
    str_copy_clean(d->cause.process, sizeof d->cause.process, str_from(p->name));
}

static void add_evidence(struct why_cause *cause, const char *format, va_list args)
{
    if (cause->evidence_count == WHY_EVIDENCE_MAX)
        return;
    char *line = cause->evidence[cause->evidence_count++];
    vsnprintf(line, WHY_LINE_SIZE, format, args);
}

void cause_evidence(struct why_cause *cause, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_evidence(cause, format, args);
    va_end(args);
}

void support(struct cause_draft *d, double weight, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_evidence(&d->cause, format, args);
    va_end(args);
    d->cause.confidence = 1 - (1 - d->cause.confidence) * (1 - weight);
}

void doubt(struct cause_draft *d, double factor, const char *format, ...)
{
    if (format) {
        va_list args;
        va_start(args, format);
        add_evidence(&d->cause, format, args);
        va_end(args);
    }
    d->cause.confidence *= factor;
}

void cause_end(struct cause_draft *d, const char *format, ...)
{
    struct why_part *part = d->part;
    d->cause.confidence = MIN_OF(d->cause.confidence, CONFIDENCE_MOST);
    if (d->cause.confidence < CONFIDENCE_LEAST)
        return;
    if (d->cause.confidence < CONFIDENCE_ANSWER) /* a guess */
        d->cause.severity = SEVERITY_INFO;
    va_list args;
    va_start(args, format);
    vsnprintf(d->cause.text, sizeof d->cause.text, format, args);
    va_end(args);
    size_t at = part->cause_count;
    if (at < WHY_CAUSES_MAX)
        part->cause_count++;
    else
        for (size_t i = at = 0; i < WHY_CAUSES_MAX; i++)
            at = part->causes[i].confidence < part->causes[at].confidence ? i : at;
    if (part->causes[at].confidence < d->cause.confidence)
        part->causes[at] = d->cause;
}

const struct why_cause *find_cause(const struct why_part *part, finding_code code)
{
    for (size_t i = 0; i < part->cause_count; i++)
        if (part->causes[i].code == code)
            return &part->causes[i];
    return NULL;
}

double best_confidence(const struct why_part *part)
{
    double best = 0;
    for (size_t i = 0; i < part->cause_count; i++)
        best = MAX_OF(best, part->causes[i].confidence);
    return best;
}

void support_load(struct cause_draft *d, const struct facts *f, double weight)
{
    char since[SHORT_WORDS];
    if (f->load_basis == BASIS_UTIL && f->past.steady_ms >= STEADY_LEAST_MS)
        support(d, weight, "utilization %lld%%, without a break for %s", percent(f->load_permille),
                words_duration(f->past.steady_ms, since));
    else if (f->load_basis == BASIS_UTIL)
        support(d, weight, "utilization %lld%%", percent(f->load_permille));
    else if (f->load_basis == BASIS_PROCESSES)
        support(d, weight * 0.8, "its processes together: %lld%%", percent(f->load_permille));
}

void support_power(struct cause_draft *d, const struct facts *f, double weight)
{
    int64_t power, limit;
    if (!reading_get(f->gpu->power_mw, &power))
        return;
    if (reading_get(f->gpu->power_limit_mw, &limit) && limit > 0)
        support(d, weight, "%lld W of %lld W", words_whole(power, 1000), words_whole(limit, 1000));
    else
        support(d, weight, "%lld W", words_whole(power, 1000));
}

void support_temperature(struct cause_draft *d, const struct facts *f, double weight)
{
    int64_t temp, limit;
    if (!reading_get(f->gpu->temp_mdegc, &temp))
        return;
    if (reading_get(f->limit_mdegc, &limit) && limit > 0)
        support(d, weight, "%lld °C, throttles at %lld °C", words_whole(temp, 1000), words_whole(limit, 1000));
    else if (f->has_margin)
        support(d, weight, "%lld °C, %lld °C below where it throttles", words_whole(temp, 1000),
                words_whole(f->margin_mdegc, 1000));
    else
        support(d, weight, "%lld °C", words_whole(temp, 1000));
}

void support_fan(struct cause_draft *d, const struct facts *f, double weight)
{
    int64_t speed, rpm;
    bool has_rpm = reading_get(f->gpu->fan_rpm, &rpm);
    if (reading_get(f->gpu->fan_permille, &speed)) {
        if (has_rpm)
            support(d, weight, "fan %lld%% (%lld rpm)", percent(speed), (long long)rpm);
        else
            support(d, weight, "fan %lld%%", percent(speed));
    } else if (has_rpm) {
        support(d, weight, "fan %lld rpm", (long long)rpm);
    } else if (f->fan == FAN_NONE) {
        support(d, 0, "no fan of its own");
    }
}

void support_calm(struct cause_draft *d, const struct facts *f, double weight)
{
    char since[SHORT_WORDS];
    if (f->past.known && f->past.calm_ms >= CALM_LEAST_MS)
        support(d, weight, "idle for the last %s", words_duration(f->past.calm_ms, since));
}

/* Several rules lean on the same calm past, or doubt themselves without one. */
void weigh_past(struct cause_draft *d, const struct facts *f, double known, double unknown)
{
    support_calm(d, f, known);
    if (!f->past.known)
        doubt(d, unknown, "the minutes before are not known: work may just have ended");
    double left = MAX_OF(f->past.ended_left, f->past.fell_left);
    if (left > 0.1)
        doubt(d, 1 - left, NULL);
}

bool recently_busy(const struct facts *f)
{
    return f->past.ended_left > 0.1 || f->past.fell_left > 0.1;
}

bool draws_little(const struct facts *f)
{
    return f->power == POWER_LOW || f->power == POWER_UNKNOWN;
}

/* ---- findings ---- */

int collection_init(struct collection *c, const struct snapshot *now)
{
    size_t most = FINDINGS_PER_GPU * (now->gpu_count + 2);
    *c = (struct collection){.now = now, .most = most, .verdict = verdict_new(now->gpu_count, most)};
    return c->verdict ? 0 : -ENOMEM;
}

static struct finding *collect_find(struct collection *c, int gpu_index, finding_code code)
{
    return (struct finding *)verdict_find(c->verdict, gpu_index, code);
}

struct finding *collect_finding(struct collection *c, const struct finding *fresh)
{
    struct finding *known = collect_find(c, fresh->gpu_index, fresh->code);
    enum health_effect health = MAX_OF(fresh->health, finding_effect(fresh->code, fresh->severity));
    if (!known) {
        if (c->verdict->count == c->most)
            return NULL;
        known = &c->verdict->findings[c->verdict->count++];
        *known = *fresh;
        known->health = health;
        return known;
    }
    if (fresh->severity > known->severity) {
        known->severity = fresh->severity;
        known->fault = fresh->fault;
        known->advice = fresh->advice;
        memcpy(known->headline, fresh->headline, sizeof known->headline);
    }
    known->health = MAX_OF(known->health, health);
    known->confidence = MAX_OF(known->confidence, fresh->confidence);
    known->pid = known->pid ? known->pid : fresh->pid;
    if (fresh->tense == TENSE_NOW) { /* over, and here again */
        known->tense = TENSE_NOW;
        known->until.ms = 0;
    }
    if (fresh->since.ms && (!known->since.ms || fresh->since.ms < known->since.ms))
        known->since = fresh->since;
    return known;
}

struct finding *collect(struct collection *c, const struct gpu *gpu, finding_code code, enum severity severity, double confidence,
                        int32_t pid, const char *format, ...)
{
    struct finding f = {.code = code,
                        .severity = severity,
                        .confidence = confidence,
                        .gpu_index = gpu->index,
                        .pid = pid,
                        .tense = finding_usual_tense(code),
                        .power_mw = reading_or(gpu->power_mw, 0)};
    va_list args;
    va_start(args, format);
    int len = snprintf(f.headline, sizeof f.headline, "GPU %d", gpu->index);
    vsnprintf(f.headline + len, sizeof f.headline - (size_t)len, format, args);
    va_end(args);
    return collect_finding(c, &f);
}

void collect_causes(struct collection *c, const struct gpu *gpu, struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++) {
        struct why_cause *cause = &part->causes[i];
        /* Where something else explains the heat better, dust is a guess. */
        if (cause->code == FINDING_AIRFLOW && cause->confidence < 0.6)
            cause->severity = cause->confidence == best_confidence(part) ? SEVERITY_NOTICE : SEVERITY_INFO;
        struct finding f = {.code = cause->code,
                            .severity = cause->severity,
                            .health = cause->health,
                            .confidence = cause->is_read ? MAX_OF(cause->confidence, 0.95) : cause->confidence,
                            .gpu_index = part->gpu_index,
                            .pid = cause->pid,
                            .advice = cause->advice,
                            .power_mw = gpu ? reading_or(gpu->power_mw, 0) : 0};
        char whole[WHY_TEXT_SIZE + 16] = "";
        snprintf(whole, sizeof whole, gpu ? "GPU %d" : "", part->gpu_index);
        snprintf(whole + strlen(whole), sizeof whole - strlen(whole), "%s", cause->text);
        str_copy(f.headline, sizeof f.headline, str_from(whole));
        memcpy(cause->headline, f.headline, sizeof cause->headline);
        headline_sentence(whole, f.gpu_index, f.pid, cause->text, sizeof cause->text);
        collect_finding(c, &f);
    }
}

/* ---- what to do ---- */

/* Two of them ask for the same where they say what to do in the same words, whatever reasons or commands follow. */
static bool suggest_has(const struct why_part *part, const char *advice)
{
    size_t action = strcspn(advice, ".:;");
    for (size_t i = 0; i < part->suggestion_count; i++)
        if (strcspn(part->suggestions[i], ".:;") == action && strncmp(part->suggestions[i], advice, action) == 0)
            return true;
    return false;
}

static void name_remedy(struct why_part *part, size_t at, enum remedy_code code)
{
    struct remedy *r = &part->remedies[at];
    *r = (struct remedy){.code = code, .root = part->remedy_root};
    str_copy(r->command, sizeof r->command, remedy_command(part->suggestions[at]));
}

void remedy_add(struct why_part *part, enum remedy_code code, const char *format, ...)
{
    if (part->suggestion_count == WHY_SUGGESTIONS_MAX)
        return;
    char *line = part->suggestions[part->suggestion_count];
    va_list args;
    va_start(args, format);
    if (format)
        vsnprintf(line, WHY_LINE_SIZE, format, args);
    else
        str_copy(line, WHY_LINE_SIZE, str_from(remedy_row(code)->text));
    va_end(args);
    bool there = suggest_has(part, line);
    for (size_t i = 0; remedy_row(code)->kind == REMEDY_SETTING && i < part->suggestion_count; i++)
        there |= part->remedies[i].code == code;
    if (!there)
        name_remedy(part, part->suggestion_count++, code);
}

void remedy_add_own(struct why_part *part, finding_code root)
{
    enum remedy_code code;
    if (remedy_for(root, &code))
        remedy_add(part, code, NULL);
}

void remedy_insert(struct why_part *part, size_t at, enum remedy_code code, const char *advice)
{
    size_t kept = MIN_OF(part->suggestion_count, (size_t)WHY_SUGGESTIONS_MAX - 1);
    if (!advice || at > kept || suggest_has(part, advice))
        return;
    memmove(part->suggestions[at + 1], part->suggestions[at], (kept - at) * sizeof part->suggestions[0]);
    memmove(&part->remedies[at + 1], &part->remedies[at], (kept - at) * sizeof part->remedies[0]);
    snprintf(part->suggestions[at], sizeof part->suggestions[at], "%s", advice);
    part->suggestion_count = kept + 1;
    name_remedy(part, at, code);
}

/* Advice needs its finding: work that no user hears or feels is left alone. */
bool is_felt(const struct facts *f)
{
    return is_troubled(f) || has_symptom(f, SYMPTOM_UNUSUAL);
}

/* whirr itself may change settings, and that has a way back. */
bool may_control(const struct facts *f)
{
    return (f->now->may_control || f->gpu->simulated) && !f->over;
}

const char *advice_for(const struct finding *f)
{
    /* Of a stored one only the headline is left, which has the number. */
    const char *number = !f->advice && f->code == FINDING_XID ? strstr(f->headline, "XID ") : NULL;
    const struct fault_info *xid = number ? xid_find(strtoll(number + 4, NULL, 10)) : NULL;
    enum remedy_code own;
    return f->advice ? f->advice : xid ? fault_action(xid->class) : remedy_for(f->code, &own) ? remedy_row(own)->text : NULL;
}

/* ---- the areas ---- */

const struct area *const all_areas[] = {&area_errors,   &area_mining, &area_work,    &area_video,  &area_idle,    &area_heat,
                                        &area_power,    &area_fan,    &area_limit,   &area_hotter, &area_clocks,  &area_link,
                                        &area_siblings, &area_memory, &area_servers, &area_lease,  &area_changed, &area_check,
                                        &area_no_work,  &area_trust,  NULL};

/* ---- what a GPU is (a symptom before its activity) and its readings, in words: each number once ---- */

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
