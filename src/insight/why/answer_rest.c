/* SPDX-License-Identifier: Apache-2.0
 * Sentences about cards that do not work: cooling down, kept awake, hot without work, at rest, or not to be known.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "insight/why/rules.h"

static void answer_recent(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], who[NAME_WORDS], ago[SHORT_WORDS], effects[NAME_WORDS];
    say(s, "%s still cools down: ", words_gpu(f->gpu, true, name));
    if (f->past.ended)
        say(s, "%s ended %s ago", words_process(&f->past.ended->last, who), words_ago(f->past.ended_ago_ms, ago));
    else
        say(s, "its load was %lld %% until %s ago", percent(f->past.fell_from_permille), words_ago(f->past.fell_ago_ms, ago));
    if (words_effects(f, effects)[0])
        say(s, "; %s %s left from that", effects, f->heat != HEAT_UNKNOWN ? "are" : "is");
    if (f->past.temp_falls)
        say(s, ", down from %lld C", whole(f->past.peak_temp_mdegc, 1000));
}

/* "78 C at 0 % load and 30 W" */
static void say_idle_heat(struct say *s, const struct facts *f)
{
    int64_t value;
    if (reading_get(f->gpu->temp_mdegc, &value))
        say(s, "%lld C", whole(value, 1000));
    bool load = f->load_basis == BASIS_UTIL;
    if (load)
        say(s, " at %lld %% load", percent(f->load_permille));
    if (reading_get(f->gpu->power_mw, &value))
        say(s, " %s %lld W", load ? "and" : "at", whole(value, 1000));
}

static void answer_airflow(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], ago[SHORT_WORDS];
    int64_t fan;
    const char *no_fan = words_no_fan(f), *causes = "dust, a blocked intake, a warm room or case";
    bool hot = f->heat >= HEAT_HOT || reading_or(f->gpu->temp_mdegc, 0) >= FAN_NEEDED_FROM;
    say(s, "%s is %s without work: ", words_gpu(f->gpu, true, name), hot ? "hot" : "warm");
    say_idle_heat(s, f);
    if (f->past.calm_ms >= CALM_LEAST_MS)
        say(s, " points at the airflow (%s)", causes);
    else if (f->past.fell)
        say(s, " may come from poor airflow (%s), as it hardly cools down since its load fell %s ago", causes,
            words_ago(f->past.fell_ago_ms, ago));
    else
        say(s, " may come from poor airflow (%s) or be left from work that ended unseen", causes);
    if (no_fan)
        say(s, "; %s", no_fan);
    else if (f->fan > FAN_OFF && reading_get(f->gpu->fan_permille, &fan))
        say(s, "; the fan at %lld %% works against it", percent(fan));
}

static void answer_neighbour(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], other[SHORT_WORDS];
    int64_t temp, power;
    say(s, "%s does nothing itself but is warmed by %s", words_gpu(f->gpu, true, name), words_gpu(f->neighbour, false, other));
    if (reading_get(f->neighbour->temp_mdegc, &temp))
        say(s, ", which works at %lld C", whole(temp, 1000));
    if (reading_get(f->neighbour->power_mw, &power))
        say(s, " and %lld W", whole(power, 1000));
    say_follows(s, f, true);
}

/* " at P2, 1695 MHz and 115 W" */
static void say_awake(struct say *s, const struct facts *f)
{
    int64_t value;
    char parts[3][SHORT_WORDS];
    size_t count = 0;
    if (reading_get(f->gpu->pstate, &value))
        snprintf(parts[count++], SHORT_WORDS, "P%lld", (long long)value);
    if (!f->clocks_by_state && reading_get(f->gpu->clock_graphics_khz, &value))
        snprintf(parts[count++], SHORT_WORDS, "%lld MHz", whole(value, 1000));
    if (reading_get(f->gpu->power_mw, &value))
        snprintf(parts[count++], SHORT_WORDS, "%lld W", whole(value, 1000));
    for (size_t i = 0; i < count; i++)
        say(s, "%s%s", i == 0 ? " at " : i + 1 == count ? " and " : ", ", parts[i]);
}

static void answer_clocks(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char name[SHORT_WORDS], who[NAME_WORDS];
    const struct process *p = cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    words_gpu(f->gpu, true, name);
    if (f->load == LOAD_LIGHT)
        say(s, "%s does little (%lld %%)", name, percent(f->load_permille));
    else
        say(s, "%s does nothing", name);
    if (cause->code == WHY_DISPLAY) {
        say(s, ", but its screens keep the memory clock at %lld MHz", whole(f->gpu->clock_memory_khz.value, 1000));
        say_follows(s, f, false);
        return;
    }
    if (p) {
        say(s, ", but %s keeps it awake", words_process(p, who));
        say_awake(s, f);
    } else {
        bool fixed = reading_or(f->gpu->throttle_bits, 0) & THROTTLE_APP_CLOCKS;
        say(s, fixed ? ", but its clocks are set to stay high" : ", but its clocks stay high");
        say_awake(s, f);
        say(s, ", and no process is seen that asks for it");
    }
    say_follows(s, f, true);
}

static void answer_fan(struct say *s, const struct facts *f, const struct why_cause *cause)
{
    char name[SHORT_WORDS];
    int64_t temp = 0, fan = reading_or(f->gpu->fan_permille, 0), target;
    words_gpu(f->gpu, true, name);
    bool has_temp = reading_get(f->gpu->temp_mdegc, &temp);
    if (cause->code == WHY_FAN_STOPPED) {
        say(s, "%s is at %lld C but its fan stands still", name, whole(temp, 1000));
    } else if (cause->code == WHY_FAN_FAILING) {
        if (f->fan_stuck)
            say(s, "%s drives its fan at %lld %% but it does not turn", name, percent(fan));
        else if (f->gpu->fan_permille.state == READING_OK && reading_get(f->gpu->fan_target_permille, &target))
            say(s, "%s asks its fan for %lld %% but it turns at %lld %% only", name, percent(target), percent(fan));
        else
            say(s, "%s asks its fan for %s but it turns at %lld rpm only", name, f->fan_judged.asked,
                (long long)reading_or(f->gpu->fan_rpm, 0));
        if (has_temp)
            say(s, "; the card is at %lld C", whole(temp, 1000));
    } else {
        bool sure = f->past.calm_ms >= CALM_LEAST_MS;
        say(s, "%s is idle and cool (%lld C), so its fan", name, whole(temp, 1000));
        if (f->gpu->fan_permille.state == READING_OK)
            say(s, " at %lld %%", percent(fan));
        else if (reading_get(f->gpu->fan_rpm, &fan))
            say(s, " at %lld rpm", (long long)fan);
        say(s, " %sfollows a setting (a fan curve or a fixed speed), not heat", sure ? "" : "most likely ");
    }
}

/* "is idle at 43 C and 25 W"; returns false when nothing of it is known. */
static bool say_rest(struct say *s, const struct facts *f)
{
    int64_t value;
    size_t before = s->len;
    if (f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES) {
        if (f->load == LOAD_IDLE)
            say(s, " is idle");
        else
            say(s, f->load == LOAD_LIGHT ? " is lightly loaded (%lld %%)" : " works (%lld %%)", percent(f->load_permille));
    } else if (f->heat != HEAT_UNKNOWN || f->power != POWER_UNKNOWN) {
        say(s, " is");
    }
    const char *at = " at ";
    if (reading_get(f->gpu->temp_mdegc, &value)) {
        say(s, "%s%lld C", at, whole(value, 1000));
        at = " and ";
    }
    if (reading_get(f->gpu->power_mw, &value))
        say(s, "%s%lld W", at, whole(value, 1000));
    return s->len > before;
}

static void answer_nothing(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS];
    int64_t fan;
    const char *no_fan = words_no_fan(f);
    say(s, "Nothing unusual: %s", words_gpu(f->gpu, false, name));
    say_rest(s, f);
    if (f->fan == FAN_OFF)
        say(s, " with its fan off");
    else if (reading_get(f->gpu->fan_permille, &fan))
        say(s, " with its fan at %lld %%, an ordinary minimum", percent(fan));
    else if (reading_get(f->gpu->fan_rpm, &fan))
        say(s, " with its fan at %lld rpm", (long long)fan);
    else if (no_fan)
        say(s, "; %s", no_fan);
    if (f->load == LOAD_UNKNOWN && f->divided)
        say(s, "; whether its instances are busy is unknown (no utilization in MIG mode)");
}

static void say_missing(struct say *s, const struct facts *f)
{
    const struct {
        const char *name;
        enum reading_state state;
    } wanted[] = {
        {"load", f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES ? READING_OK : f->gpu->util_permille.state},
        {"temperature", f->gpu->temp_mdegc.state},
        {"power", f->gpu->power_mw.state},
        {"fan", f->fan != FAN_UNKNOWN ? READING_OK : f->gpu->fan_permille.state},
    };
    size_t missing = 0, said = 0;
    bool denied = false;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        missing += wanted[i].state != READING_OK;
        denied |= wanted[i].state == READING_DENIED;
    }
    if (!missing) {
        say(s, f->past.known ? ": no cause fits what can be read" : ": the minutes before are not known");
        return;
    }
    say(s, denied ? ": permission is missing to read its " : ": its ");
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (wanted[i].state != READING_OK) {
            say(s, "%s%s", said == 0 ? "" : said + 1 == missing ? " and " : ", ", wanted[i].name);
            said++;
        }
    if (!denied)
        say(s, " cannot be read%s", f->gpu->util_permille.state == READING_PENDING ? " yet" : "");
}

static void answer_unknown(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS];
    int64_t fan;
    words_gpu(f->gpu, true, name);
    size_t start = s->len;
    say(s, "%s", name);
    bool known = say_rest(s, f);
    if (f->fan == FAN_OFF)
        known |= say(s, known ? " with its fan off" : " has its fan off");
    else if (reading_get(f->gpu->fan_permille, &fan))
        known |= say(s, known ? " with the fan at %lld %%" : " has its fan at %lld %%", percent(fan));
    else if (reading_get(f->gpu->fan_rpm, &fan))
        known |= say(s, known ? " with the fan at %lld rpm" : " has its fan at %lld rpm", (long long)fan);
    if (known) {
        say(s, ", but why cannot be known");
    } else {
        s->len = start;
        say(s, "What %s does cannot be known", words_gpu(f->gpu, false, name));
    }
    say_missing(s, f);
}

static void answer_loading(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS], who[NAME_WORDS], bytes[SHORT_WORDS];
    int64_t held;
    say(s, "%s is loading: %s is filling its memory", words_gpu(f->gpu, true, name), words_process(f->loading, who));
    if (reading_get(f->loading->mem_bytes, &held))
        say(s, " (%s so far)", words_bytes(held, bytes));
}

static void answer_cpu(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS];
    int64_t load, temp, rpm;
    bool hot = reading_get(f->now->host.cpu_temp_mdegc, &temp), speed = reading_get(f->gpu->fan_rpm, &rpm) && rpm > 0;
    say(s, "%s is %s", words_gpu(f->gpu, true, name), f->load == LOAD_IDLE ? "idle" : "lightly loaded");
    say(s, "; the CPU is working");
    if (reading_get(f->now->host.cpu_permille, &load))
        say(s, " (%lld %%)", percent(load));
    if (hot)
        say(s, " at %lld C", whole(temp, 1000));
    say(s, " and shares its cooling");
    if (speed)
        say(s, ", so the fan turns at %lld rpm", (long long)rpm);
}

static void answer_memory(struct say *s, const struct facts *f)
{
    char name[SHORT_WORDS];
    int64_t chip, fan;
    say(s, "%s has hot memory: %lld C there", words_gpu(f->gpu, true, name), whole(f->gpu->temp_memory_mdegc.value, 1000));
    if (reading_get(f->gpu->temp_mdegc, &chip))
        say(s, ", %lld C on the chip", whole(chip, 1000));
    if (f->fan >= FAN_RAISED && reading_get(f->gpu->fan_permille, &fan))
        say(s, "; the fan at %lld %% cools it", percent(fan));
}

void answer_rest(struct say *s, const struct facts *f, const struct why_cause *first)
{
    switch (first->code) {
    case WHY_RECENT_LOAD: answer_recent(s, f); break;
    case WHY_CONTEXT_HELD:
    case WHY_DISPLAY:
    case WHY_CLOCKS_HELD: answer_clocks(s, f, first); break;
    case WHY_AIRFLOW: answer_airflow(s, f); break;
    case WHY_NEIGHBOUR_HEAT: answer_neighbour(s, f); break;
    case WHY_FAN_STOPPED:
    case WHY_FAN_FAILING:
    case WHY_FAN_SETTING: answer_fan(s, f, first); break;
    case WHY_LOADING: answer_loading(s, f); break;
    case WHY_CPU_HEAT: answer_cpu(s, f); break;
    case WHY_MEMORY_HOT: answer_memory(s, f); break;
    case WHY_NOTHING_UNUSUAL: answer_nothing(s, f); break;
    default: answer_unknown(s, f); break;
    }
}
