/* SPDX-License-Identifier: Apache-2.0
 * Rules for an idle GPU, for one whose readings do not suffice, and for one that is asleep, lost or in error.
 */
#include "base/cleanup.h"
#include "insight/area/area.h"

static bool quiet(const struct facts *f)
{
    return f->fan == FAN_OFF || f->fan == FAN_LOW || f->fan == FAN_NONE || f->fan == FAN_UNKNOWN;
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
    char since[SHORT_WORDS];
    struct cause_draft d;
    cause_begin(&d, part, FINDING_NOTHING_UNUSUAL, 0.97);
    support_load(&d, f, f->load == LOAD_IDLE ? 0.5 : 0.4);
    support_temperature(&d, f, f->heat == HEAT_COOL ? 0.5 : 0.35);
    support_power(&d, f, f->power == POWER_LOW ? 0.4 : 0);
    support_fan(&d, f, f->fan == FAN_NONE ? 0.1 : 0.4);
    if (f->heat == HEAT_UNKNOWN && rests_beside_cpu(f))
        support_cpu(&d, f);
    if (f->past.known && f->past.calm_ms >= CALM_LEAST_MS)
        support(&d, 0.3, "idle for the last %s", words_duration(f->past.calm_ms, since));
    if (f->power == POWER_RAISED)
        doubt(&d, 0.8, "but idle GPUs usually draw less");
    if (f->load == LOAD_UNKNOWN)
        doubt(&d, 0.7, "its utilization can't be read");
    if (f->load == LOAD_UNKNOWN && f->divided)
        cause_end(&d, "Nothing unusual; whether its instances %s busy is unknown.", are(f));
    else
        cause_end(&d, "It %s %s, as expected.", is(f),
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
    cause_begin(&d, part, FINDING_CANNOT_KNOW, 0.95);
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
    support(&d, 0.4, "no cause fits its readings");
    /* It is the answer only where nothing better is; what else was thought of stays below it. */
    d.cause.confidence = MAX_OF(d.cause.confidence, best_confidence(part) + 0.01);
    cause_end(&d, "Its readings don't show why.");
}

/* Up to here nothing is unusual; what shares its cooling with a CPU idles warmer. */
static bool is_cool_enough(const struct facts *f)
{
    return f->heat <= HEAT_LUKEWARM ||
           (f->heat == HEAT_WARM && cooling_is_shared(f->gpu) && f->gpu->temp_mdegc.value < FAN_NEEDED_FROM);
}

void rules_calm(const struct facts *f, struct why_part *part)
{
    if (explained(f, part))
        return;
    size_t known = (f->load != LOAD_UNKNOWN && f->load_basis != BASIS_POWER) + (f->heat != HEAT_UNKNOWN) +
                   (f->power != POWER_UNKNOWN) + (f->fan == FAN_OFF || f->fan == FAN_LOW);
    /* Graphics inside a processor have neither sensor nor fan: no work and next to no power is calm enough. */
    bool no_work = f->load == LOAD_IDLE && f->load_basis == BASIS_UTIL;
    bool beside_cpu = no_work && rests_beside_cpu(f);
    bool silent = f->fan == FAN_OFF || f->fan == FAN_LOW;
    bool feels = f->heat != HEAT_UNKNOWN || (f->power == POWER_LOW && (f->fan != FAN_UNKNOWN || no_work)) || (no_work && silent);
    if (((known >= 2 && feels) || beside_cpu) && f->load != LOAD_BUSY && quiet(f) && is_cool_enough(f) && f->power <= POWER_RAISED)
        rule_nothing(f, part);
    else
        rule_cannot_know(f, part);
}

void rules_state(const struct facts *f, struct why_part *part)
{
    const struct gpu *gpu = f->gpu;
    static const struct {
        enum finding_code code;
        const char *evidence, *text; /* after "It is" */
    } of[] = {
        [GPU_ASLEEP] = {FINDING_ASLEEP, "the kernel suspended the GPU", "asleep, and not woken for this"},
        [GPU_ERROR] = {FINDING_ERROR, "no reading is available", "not readable"},
        [GPU_LOST] = {FINDING_LOST, "the GPU does not respond anymore", "lost: the driver lost contact with it"},
    };
    struct cause_draft d;
    if (gpu->released) {
        cause_begin(&d, part, FINDING_SOURCE_RELEASED, 0.95);
        support(&d, 0.95, "whirr was asked to leave its driver alone");
        cause_end(&d, "It %s released on request.", is(f));
        return;
    }
    if (gpu_is_denied(gpu)) {
        cause_begin(&d, part, FINDING_NO_PERMISSION, 0.95);
        support(&d, 0.95, "driver: %s", gpu->error_message);
        cause_end(&d, "You %s no permission to read it.", f->over ? "had" : "have");
        return;
    }
    cause_begin(&d, part, of[gpu->state].code, 0.95);
    support(&d, 0.95, "%s", of[gpu->state].evidence);
    if (gpu->error_message[0])
        support(&d, 0, "driver: %s", gpu->error_message);
    cause_end(&d, "It %s %s.", is(f), of[gpu->state].text);
}
