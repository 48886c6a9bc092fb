/* SPDX-License-Identifier: Apache-2.0
 * How far readings can be trusted: to claim that nothing is unusual, or not even that.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"
#include "insight/facts/words.h"
#include "model/finding_code.h"

static bool quiet(const struct facts *f)
{
    return f->fan == FAN_OFF || f->fan == FAN_LOW || f->fan == FAN_NONE || f->fan == FAN_UNKNOWN;
}

/* Up to here nothing is unusual; what shares its cooling with a CPU idles warmer. */
static bool is_cool_enough(const struct facts *f)
{
    return f->heat <= HEAT_LUKEWARM ||
           (f->heat == HEAT_WARM && cooling_is_shared(f->gpu) && f->gpu->temp_mdegc.value < FAN_NEEDED_FROM);
}

/* As far as it can be seen. */
static bool is_at_ease(const struct facts *f)
{
    return f->load != LOAD_BUSY && quiet(f) && is_cool_enough(f) && f->power <= POWER_RAISED;
}

static size_t count_known(const struct facts *f)
{
    return (f->load != LOAD_UNKNOWN && f->load_basis != BASIS_POWER) + (f->heat != HEAT_UNKNOWN) + (f->power != POWER_UNKNOWN) +
           (f->fan == FAN_OFF || f->fan == FAN_LOW);
}

/* Work, heat, noise or power that can be seen, or nothing can be seen at all. */
static bool needs_explaining(const struct facts *f)
{
    return !is_at_ease(f) || !count_known(f);
}

/* Something is left to explain when a cause is likely that is neither a little work nor memory that is merely held. */
static bool explained(const struct facts *f, const struct why_part *part)
{
    for (size_t i = 0; i < part->cause_count; i++) {
        const struct why_cause *cause = &part->causes[i];
        bool little =
            f->load == LOAD_LIGHT && f->power <= POWER_LOW && f->load_permille <= AWAKE_MAX && !f->activity.bursts &&
            (cause->code == FINDING_COMPUTE_LOAD || cause->code == FINDING_GRAPHICS_LOAD || cause->code == FINDING_SHARED_LOAD);
        if (!little && cause->confidence >= CONFIDENCE_ANSWER)
            return true;
    }
    return false;
}

/* Graphics inside a processor may have no sensor at all: then the processor's own speak for both. */
static bool rests_beside_cpu(const struct facts *f)
{
    const struct host *host = &f->now->host;
    return cooling_is_shared(f->gpu) && !f->cpu_hot &&
           (host->cpu_permille.state == READING_OK || host->cpu_temp_mdegc.state == READING_OK);
}

static void support_cpu(struct cause_draft *d, const struct facts *f)
{
    int64_t value;
    if (reading_get(f->now->host.cpu_temp_mdegc, &value))
        support(d, 0.4, "CPU at %lld °C", words_whole(value, 1000));
    if (reading_get(f->now->host.cpu_permille, &value))
        support(d, 0.3, "CPU %lld%%", percent(value));
}

static void rule_nothing(const struct facts *f, struct why_part *part)
{
    struct cause_draft d;
    cause_begin(&d, part, FINDING_NOTHING_UNUSUAL);
    support_load(&d, f, f->load == LOAD_IDLE ? 0.5 : 0.4);
    support_temperature(&d, f, f->heat == HEAT_COOL ? 0.5 : 0.35);
    support_power(&d, f, f->power == POWER_LOW ? 0.4 : 0);
    support_fan(&d, f, f->fan == FAN_NONE ? 0.1 : 0.4);
    if (f->heat == HEAT_UNKNOWN && rests_beside_cpu(f))
        support_cpu(&d, f);
    support_calm(&d, f, 0.3);
    if (f->power == POWER_RAISED)
        doubt(&d, 0.8, "but idle GPUs usually draw less");
    if (f->load == LOAD_UNKNOWN)
        doubt(&d, 0.7, "its utilization can't be read");
    if (f->load == LOAD_UNKNOWN && f->divided)
        cause_end(&d, " %s cool; whether its instances %s busy is unknown (no utilization in MIG mode)", is(f), are(f));
    else
        cause_end(&d, " %s %s, as expected", is(f),
                  f->load == LOAD_LIGHT     ? "lightly loaded"
                  : f->load == LOAD_UNKNOWN ? "cool and quiet"
                                            : "idle");
}

static void support_missing(struct cause_draft *d, const char *what, struct reading reading, double weight)
{
    if (reading.state != READING_OK)
        support(d, weight, "%s: %s", what, words_absent(reading.state));
}

static void rule_cannot_know(const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    struct cause_draft d;
    cause_begin(&d, part, FINDING_CANNOT_KNOW);
    if (f->load_basis != BASIS_UTIL)
        support_missing(&d, "utilization", gpu->util_permille, 0.5);
    support_missing(&d, "temperature", gpu->temp_mdegc, 0.5);
    support_missing(&d, "power", gpu->power_mw, 0.4);
    if (f->fan == FAN_UNKNOWN)
        support_missing(&d, "fan", gpu->fan_permille, 0.4);
    if (gpu->processes_state != READING_OK)
        support(&d, 0.3, "processes: %s", words_absent(gpu->processes_state));
    if (!f->past.known)
        support(&d, 0.5, "the minutes before are not known");
    if (needs_explaining(f))
        support(&d, 0.4, "no cause fits its readings");
    /* It is the answer only where nothing better is; what else was thought of stays below it. */
    d.cause.confidence = MAX_OF(d.cause.confidence, best_confidence(part) + 0.01);
    cause_end(&d, needs_explaining(f) ? ": its readings don't show why" : ": not all of it can be read");
}

static void rules_calm(const struct facts *f, struct why_part *part)
{
    if (explained(f, part))
        return;
    /* Graphics inside a processor have neither sensor nor fan: no work and next to no power is calm enough. */
    bool no_work = f->load == LOAD_IDLE && f->load_basis == BASIS_UTIL;
    bool beside_cpu = no_work && rests_beside_cpu(f);
    bool silent = f->fan == FAN_OFF || f->fan == FAN_LOW;
    bool feels = f->heat != HEAT_UNKNOWN || (f->power == POWER_LOW && (f->fan != FAN_UNKNOWN || no_work)) || (no_work && silent);
    if (((count_known(f) >= 2 && feels) || beside_cpu) && is_at_ease(f))
        rule_nothing(f, part);
    else
        rule_cannot_know(f, part);
}

/* ---- words ---- */

static void answer_nothing(struct text *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS], who[PROCESS_WORDS], work[NAME_WORDS];
    const char *activity = words_activity(f);
    const struct why_cause *cause = find_work_cause(part);
    const struct process *p = cause && cause->pid ? gpu_find_process(f->gpu, cause->pid) : NULL;
    words_gpu(f->gpu, true, name);
    if (f->load == LOAD_UNKNOWN && f->divided)
        text_append(s, "%s %s cool; whether its instances %s busy is unknown (no utilization in MIG mode)", name, is(f), are(f));
    else if (f->load == LOAD_UNKNOWN)
        text_append(s, "%s %s cool and quiet, as expected", name, is(f));
    else if (f->load == LOAD_IDLE)
        text_append(s, "%s %s idle%s", name, is(f), f->load_basis == BASIS_POWER ? ", judging by its power" : "");
    else
        text_append(s, "%s %s %s", name, is(f), activity[0] ? activity : "in use");
    if (p && f->load != LOAD_IDLE)
        text_append(s, ": %s %s %s", process_words(p, WITH_OWNER, who), is(f), words_work(p, work));
    text_stop(s);
    say_readings(s, f, part, f->load == LOAD_IDLE ? SAID_LOAD : 0, " ");
}

static void say_missing(struct text *s, const struct facts *f)
{
    const struct {
        const char *name;
        enum reading_state state;
    } wanted[] = {
        {"utilization", f->load_basis == BASIS_UTIL || f->load_basis == BASIS_PROCESSES ? READING_OK : f->gpu->util_permille.state},
        {"temperature", f->gpu->temp_mdegc.state},
        {"power", f->gpu->power_mw.state},
    };
    size_t missing = 0, said = 0, late = 0;
    bool denied = false;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        missing += wanted[i].state != READING_OK;
        denied |= wanted[i].state == READING_DENIED;
        late += wanted[i].state == READING_PENDING;
    }
    if (!missing) {
        bool warm = f->load == LOAD_IDLE && f->heat >= HEAT_LUKEWARM;
        text_append(s, f->past.known ? ": no cause fits its readings"
                       : warm        ? ": the minutes before are not known; work may just have ended, or its heat doesn't get away"
                                     : ": the minutes before are not known");
        return;
    }
    text_append(s, denied ? ": no permission to read its " : ": its ");
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (wanted[i].state != READING_OK) {
            text_append(s, "%s%s", said == 0 ? "" : said + 1 == missing ? missing > 2 ? ", and " : " and " : ", ", wanted[i].name);
            said++;
        }
    if (!denied)
        text_append(s, " %s be read%s", cannot(f), late == missing ? " yet" : "");
}

static void answer_unknown(struct text *s, const struct facts *f, const struct why_part *part)
{
    char name[SHORT_WORDS];
    const struct finding *first = verdict_first(f->verdict, part->gpu_index);
    words_gpu(f->gpu, true, name);
    if (first && first->severity > SEVERITY_INFO && !advice_for(first) &&
        !is_troubled(f)) { /* what is known is said, and that is not why */
        text_append(s, "%s%s", f->gpu->simulated ? "Simulated " : "", first->headline);
        text_stop(s);
        say_readings(s, f, part, SAID_LOAD | SAID_POWER, " ");
        return;
    }
    size_t start = s->len;
    text_append(s, "%s %s ", name, is(f));
    const char *activity = words_activity(f);
    bool known = (activity[0] && f->load_basis != BASIS_POWER) || is_troubled(f);
    unsigned said = f->load == LOAD_IDLE && known ? SAID_LOAD : 0;
    if (is_troubled(f)) /* as every screen says it */
        said = say_state(s, f) | (f->load == LOAD_IDLE ? SAID_LOAD : 0);
    else if (known)
        text_append(s, "%s", activity);
    known |= say_readings(s, f, part, said, known ? ", " : "at ") > 0;
    if (known && !needs_explaining(f)) {
        if (part->severity == SEVERITY_INFO)
            text_append(s, "; no trouble seen");
    } else if (known) {
        text_append(s, "; can't tell why");
    } else {
        s->len = start;
        text_append(s, "Can't tell what %s %s doing", words_gpu(f->gpu, false, name), is(f));
    }
    say_missing(s, f);
}

static bool say_of_calm(struct text *s, const struct facts *f, struct why_part *part)
{
    if (part->causes[0].code == FINDING_NOTHING_UNUSUAL)
        answer_nothing(s, f, part);
    else if (part->causes[0].code == FINDING_CANNOT_KNOW)
        answer_unknown(s, f, part);
    else
        return false;
    return true;
}

static void suggest_blind(const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    bool denied = gpu->temp_mdegc.state == READING_DENIED || gpu->util_permille.state == READING_DENIED ||
                  gpu->processes_state == READING_DENIED;
    if (denied)
        remedy_add(part, REMEDY_LOOK, "For more detail: sudo whirr status");
    else if (!needs_explaining(f))
        return;
    if (!f->past.known && f->heat != HEAT_UNKNOWN)
        remedy_add(part, REMEDY_WAIT, "Ask again in a minute, or keep the daemon running: whirr serve");
    remedy_add(part, REMEDY_DOCTOR, "See what this GPU and driver don't report, and why: whirr doctor");
}

static void remedy_calm(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    if (cause->code == FINDING_CANNOT_KNOW)
        suggest_blind(f, part);
}

const struct area area_trust = {.weigh = rules_calm, .say = say_of_calm, .remedy = remedy_calm};
