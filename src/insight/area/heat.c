/* SPDX-License-Identifier: Apache-2.0
 * Rules about the heat itself, what should remove it, and the limits that it meets.
 */
#include <stdio.h>
#include <string.h>

#include "insight/area/area.h"
#include "insight/forecast/forecast.h"
#include "model/finding_code.h"

/* What works on the GPU keeps the CPU busy, too (a game): one cause, not two. */
static bool heats_both(const struct facts *f)
{
    enum { A_CORE = 1000 };
    const struct process *p = f->load == LOAD_BUSY ? f->workers.first : NULL;
    return p && reading_or(p->cpu_permille, 0) >= A_CORE;
}

/* The busier of the two is the one that makes the heat. */
static bool heats_more(const struct facts *f)
{
    int64_t cpu;
    return f->load == LOAD_BUSY && reading_get(f->now->host.cpu_permille, &cpu) && f->load_permille > 2 * cpu;
}

/* A busy CPU under the same cooler makes the heat that slows down a GPU which does little itself. */
static bool cpu_heats_it(const struct facts *f)
{
    return f->cpu_hot && f->load != LOAD_BUSY;
}

/* On a cool GPU without work a bit of throttling slows nothing. */
static enum severity throttling_severity(const struct facts *f)
{
    if (cpu_heats_it(f))
        return SEVERITY_WARNING; /* what is slowed down is a desktop */
    return f->load != LOAD_IDLE ? SEVERITY_CRITICAL : heat_bit_is_left(f->gpu) ? SEVERITY_NOTICE : SEVERITY_WARNING;
}

/* In laptops and processors with graphics, one cooler serves both. */
static void rule_cpu(const struct facts *f, struct why_part *part)
{
    const struct host *host = &f->now->host;
    int64_t load, temp;
    char heat[SHORT_WORDS] = "", number[SHORT_WORDS], state[SHORT_WORDS + 16];
    struct cause_draft d;
    bool throttles = f->activity.throttled_by & THROTTLE_HOT && cpu_heats_it(f) && !memory_is_hotter(f->gpu);
    if (!throttles && (!f->cpu_hot || (f->fan < FAN_RAISED && f->heat < HEAT_WARM) || heats_both(f) || heats_more(f)))
        return;
    cause_begin(&d, part, FINDING_CPU_HEAT);
    if (throttles)
        d.cause.severity = SEVERITY_WARNING;
    if (reading_get(host->cpu_permille, &load))
        support(&d, 0.6, "CPU %lld%%", percent(load));
    if (reading_get(host->cpu_temp_mdegc, &temp)) {
        support(&d, 0.6, "CPU at %lld °C", words_whole(temp, 1000));
        snprintf(heat, sizeof heat, " at %lld °C", words_whole(temp, 1000));
    }
    support(&d, 0.2, "CPU and GPU share their cooling");
    support_load(&d, f, 0.2);
    support_fan(&d, f, 0.1);
    if (f->load == LOAD_BUSY) /* its own work is at least as likely */
        doubt(&d, 0.45, NULL);
    if (throttles)
        snprintf(state, sizeof state, "throttling%s", words_heat(f->gpu, number));
    else
        snprintf(state, sizeof state, "%s", f->load == LOAD_IDLE ? "idle" : words_activity(f));
    cause_end(&d, " %s %s: the CPU %s busy%s and shares its cooling", is(f), state, is(f), heat);
}

/* One look can't tell heat that stays from heat that is going. Of work that just ended a third would be gone in a minute. */
static bool heat_stays(const struct facts *f)
{
    enum { WATCHED_MS = 60000 };
    return f->past.known || (f->past.calm_ms >= WATCHED_MS && !f->past.temp_falls);
}

static void rule_airflow(const struct facts *f, struct why_part *part)
{
    bool suspect = f->past.calm_ms >= CALM_LEAST_MS || reading_or(f->gpu->temp_mdegc, 0) >= HEAT_SUSPECT_FROM;
    bool lukewarm = f->heat == HEAT_LUKEWARM && f->fan >= FAN_RAISED && suspect && !cooling_is_shared(f->gpu);
    /* Laptops and processors idle warm: the CPU beside the GPU is never quite idle. */
    enum heat_level least = cooling_is_shared(f->gpu) ? HEAT_HOT : HEAT_WARM;
    struct cause_draft d;
    if (f->load != LOAD_IDLE || f->video_permille >= VIDEO_LEAST || !draws_little(f) || (f->heat < least && !lukewarm) ||
        f->cpu_hot || (recently_busy(f) && f->past.temp_falls) || !heat_stays(f)) /* the heat of work, and it is going */
        return;
    cause_begin(&d, part, FINDING_AIRFLOW);
    support_load(&d, f, 0.45);
    support_temperature(&d, f, f->heat >= HEAT_HOT ? 0.55 : 0.4);
    if (f->power == POWER_LOW)
        support_power(&d, f, 0.4);
    else
        doubt(&d, 0.9, NULL);
    support_fan(&d, f, f->fan >= FAN_RAISED ? 0.15 : 0);
    weigh_past(&d, f, 0.6, 0.8);
    if (lukewarm)
        doubt(&d, 0.6, "warm, not hot");
    if (f->neighbor)
        doubt(&d, 0.6, NULL);
    bool hot = f->heat >= HEAT_HOT || reading_or(f->gpu->temp_mdegc, 0) >= FAN_NEEDED_FROM;
    const char *maybe = f->past.calm_ms >= CALM_LEAST_MS ? "" : f->over ? "it may have been " : "it may be ";
    cause_end(&d, " %s %s while idle: %sairflow, dust, a warm room or case%s%s", is(f), hot ? "hot" : "warm", maybe,
              maybe[0] && !f->past.fell ? ", or work that ended unseen" : "",
              f->fan == FAN_NONE ? "; it has no fan of its own" : "");
}

/* At its limit, or slowed down for its heat; a hot memory beside a cool chip is another matter. */
static bool is_at_heat_limit(const struct facts *f)
{
    return f->heat == HEAT_LIMIT || (reading_or(f->gpu->throttle_bits, 0) & THROTTLE_HOT && !memory_is_hotter(f->gpu));
}

/* Its fan does what it can: at full speed, or there is none that it could ask. One that is broken, set by hand or slow is to blame
 * itself; the firmware of a laptop lets it run at its limit on purpose. */
static bool fan_does_its_best(const struct facts *f)
{
    int64_t fan;
    if (cooling_is_shared(f->gpu) || f->fan_missed || f->fan_stuck || f->fan_slow)
        return false;
    bool by_hand = fan_controlled_by(f->gpu, "manual");
    if (reading_get(f->gpu->fan_permille, &fan))
        return fan >= FAN_FULL || (!by_hand && fan >= FAN_RAISED_MAX);
    return f->fan == FAN_NONE || (!by_hand && f->fan == FAN_LOUD);
}

/* A GPU is built to dissipate the heat of its power limit. One that is too hot below it, with its fan at full speed, cannot. */
static void rule_overwhelmed(const struct facts *f, struct why_part *part)
{
    int64_t power;
    struct cause_draft d;
    bool unusual = f->activity.symptoms & 1u << SYMPTOM_UNUSUAL && reading_get(f->gpu->power_mw, &power);
    if (unusual) {
        cause_begin(&d, part, FINDING_AIRFLOW);
        support_temperature(&d, f, 0.4);
        support_power(&d, f, 0.4);
        support_fan(&d, f, 0.2);
    } else {
        if (f->load != LOAD_BUSY || !is_at_heat_limit(f) || !fan_does_its_best(f) || !reading_get(f->gpu->power_mw, &power))
            return;
        cause_begin(&d, part, FINDING_AIRFLOW);
        support_power(&d, f, 0.3);
        support_fan(&d, f, 0.2);
        support_temperature(&d, f, f->heat >= HEAT_HOT ? 0.2 : 0.05);
    }
    cause_end(&d, ": its cooling %s dissipate %lld W: airflow, dust, a warm room or case", cannot(f), words_whole(power, 1000));
}

static void rule_neighbor(const struct facts *f, struct why_part *part)
{
    const struct gpu *other = f->neighbor;
    char name[SHORT_WORDS], draws[SHORT_WORDS] = "";
    int64_t temp, power;
    struct cause_draft d;
    if (!other || f->load != LOAD_IDLE || !draws_little(f) || f->heat < HEAT_LUKEWARM || !reading_get(other->temp_mdegc, &temp))
        return;
    cause_begin(&d, part, FINDING_NEIGHBOUR_HEAT);
    words_gpu(other, false, name);
    if (reading_get(other->power_mw, &power))
        snprintf(draws, sizeof draws, " and %lld W", words_whole(power, 1000));
    support(&d, draws[0] ? 0.5 : 0.45, "%s in the same host at %lld °C%s", name, words_whole(temp, 1000), draws);
    support_load(&d, f, 0.3);
    support_temperature(&d, f, f->heat >= HEAT_WARM ? 0.3 : 0.1);
    support_power(&d, f, 0.2);
    support_fan(&d, f, 0);
    weigh_past(&d, f, 0.3, 0.85);
    cause_end(&d, " %s idle, but warmed by %s: it %s busy at %lld °C%s", is(f), name, is(f), words_whole(temp, 1000), draws);
}

/* Of two that work, the one that breathes what the other blows out is the hotter one although it draws no more. */
static void rule_neighbor_of_busy(const struct facts *f, struct why_part *part)
{
    enum { HOTTER_MDEGC = 8000 };
    int64_t temp, power, theirs, draw;
    char name[SHORT_WORDS];
    struct cause_draft d;
    if (f->load != LOAD_BUSY || !is_at_heat_limit(f) || !fan_does_its_best(f) || f->fan == FAN_NONE ||
        !reading_get(f->gpu->temp_mdegc, &temp) || !reading_get(f->gpu->power_mw, &power))
        return;
    for (size_t i = 0; i < f->now->gpu_count; i++) {
        const struct gpu *other = &f->now->gpus[i];
        if (other == f->gpu || other->state != GPU_OK || strcmp(other->id.name, f->gpu->id.name) != 0 ||
            !reading_get(other->temp_mdegc, &theirs) || !reading_get(other->power_mw, &draw) || draw < power ||
            theirs > temp - HOTTER_MDEGC)
            continue;
        words_gpu(other, false, name);
        cause_begin(&d, part, FINDING_NEIGHBOUR_HEAT);
        support(&d, 0.4, "%s in the same host draws %lld W at %lld °C", name, words_whole(draw, 1000), words_whole(theirs, 1000));
        support_temperature(&d, f, 0.2);
        support_power(&d, f, 0.1);
        support_fan(&d, f, 0.1);
        cause_end(&d, " may breathe the heat of %s, which draws no less and %s cooler", name, is(f));
        return;
    }
}

/* So hot that it is about to switch itself off, throttling or not. */
static bool nears_shutdown(const struct gpu *gpu, int64_t *ret_limit)
{
    enum { MARGIN = 5000 };
    int64_t temp;
    return reading_get(gpu->temp_mdegc, &temp) && reading_get(gpu->temp_shutdown_mdegc, ret_limit) && *ret_limit > 0 &&
           temp >= *ret_limit - MARGIN;
}

static void rule_limit(const struct facts *f, struct why_part *part)
{
    enum { HOTTEST = 100000 }; /* of any GPU, where no limit is known */
    int64_t bits = reading_or(f->gpu->throttle_bits, 0), temp = reading_or(f->gpu->temp_mdegc, 0), limit = 0;
    char heat[SHORT_WORDS], off[SHORT_WORDS] = "";
    struct cause_draft d;
    bool throttles = (bits | f->activity.throttled_by) & THROTTLE_HOT && !memory_is_hotter(f->gpu);
    bool nears = nears_shutdown(f->gpu, &limit), hottest = !f->has_margin && temp >= HOTTEST;
    if (f->heat != HEAT_LIMIT && !throttles && !nears && !hottest)
        return;
    cause_begin(&d, part, FINDING_HEAT_LIMIT);
    d.cause.is_read = throttles || nears || hottest;
    d.cause.severity = nears                                     ? SEVERITY_CRITICAL
                       : f->activity.throttled_by & THROTTLE_HOT ? throttling_severity(f)
                                                                 : SEVERITY_WARNING;
    d.cause.health = nears ? EFFECT_FAILING : EFFECT_HEALTHY;
    support_temperature(&d, f, f->heat == HEAT_LIMIT || hottest ? 0.5 : 0.1);
    for (unsigned i = 0; i < THROTTLE_COUNT; i++)
        if (bits & THROTTLE_HOT & (1 << i))
            support(&d, 0.5, "throttling: %s", throttle_name(i));
    if (nears) {
        support(&d, 0.9, "it shuts down at %lld °C", words_whole(limit, 1000));
        snprintf(off, sizeof off, "; it shuts down at %lld °C", words_whole(limit, 1000));
    }
    support_fan(&d, f, 0);
    if (throttles)
        cause_end(&d, " %s throttling%s%s", is(f), words_heat(f->gpu, heat), off);
    else
        cause_end(&d, " %s at %lld °C%s", is(f), words_whole(temp, 1000),
                  nears     ? off
                  : hottest ? ""
                            : ", close to thermal throttling");
}

static void rule_memory_hot(const struct facts *f, struct why_part *part)
{
    int64_t temp, limit, chip;
    struct cause_draft d;
    if (!reading_get(f->gpu->temp_memory_mdegc, &temp))
        return;
    bool limited = reading_get(f->gpu->temp_memory_limit_mdegc, &limit) && limit > 0;
    bool throttles = f->activity.throttled_by & THROTTLE_HOT && memory_is_hotter(f->gpu);
    if (!throttles && temp < (limited ? limit - HEAT_LIMIT_MARGIN : (int64_t)MEMORY_HOT_FROM))
        return;
    cause_begin(&d, part, FINDING_MEMORY_HOT);
    if (throttles)
        d.cause.severity = throttling_severity(f);
    if (limited && temp >= limit)
        d.cause.health = EFFECT_DEGRADED;
    d.cause.is_read = throttles || d.cause.health > EFFECT_HEALTHY;
    if (limited)
        support(&d, 0.6, "memory at %lld °C, its limit is %lld °C", words_whole(temp, 1000), words_whole(limit, 1000));
    else
        support(&d, 0.4, "memory at %lld °C", words_whole(temp, 1000));
    if (reading_get(f->gpu->temp_mdegc, &chip) && chip + 15000 <= temp)
        support(&d, 0.3, "the chip only at %lld °C", words_whole(chip, 1000));
    support_fan(&d, f, f->fan >= FAN_RAISED ? 0.2 : 0);
    if (throttles)
        cause_end(&d, " %s throttling: its memory %s at %lld °C", is(f), is(f), words_whole(temp, 1000));
    else
        cause_end(&d, ": its memory %s hot (%lld °C)", is(f), words_whole(temp, 1000));
}

static void rule_hotspot(const struct facts *f, struct why_part *part)
{
    int64_t spot, chip = 0;
    struct cause_draft d;
    if (!reading_get(f->gpu->temp_hotspot_mdegc, &spot))
        return;
    bool known = reading_get(f->gpu->temp_mdegc, &chip), apart = known && spot >= HOTSPOT_FROM && spot - chip >= HOTSPOT_GAP;
    if (!apart && spot < HOTSPOT_AT_LIMIT)
        return;
    cause_begin(&d, part, FINDING_HOTSPOT);
    if (known)
        support(&d, 0.5, "hot spot at %lld °C, the chip as a whole at %lld °C", words_whole(spot, 1000), words_whole(chip, 1000));
    else
        support(&d, 0.5, "hot spot at %lld °C", words_whole(spot, 1000));
    support_fan(&d, f, f->fan >= FAN_RAISED ? 0.2 : 0);
    if (apart)
        cause_end(&d, ": its hot spot %s much hotter than the rest (%lld °C): the cooler may not sit well", is(f),
                  words_whole(spot, 1000));
    else
        cause_end(&d, ": its hot spot %s at %lld °C, about where it throttles", is(f), words_whole(spot, 1000));
}

static void rules_heat(const struct facts *f, struct why_part *part)
{
    rule_cpu(f, part);
    rule_neighbor(f, part);
    rule_neighbor_of_busy(f, part);
    rule_airflow(f, part);
    if (!find_cause(part, FINDING_AIRFLOW))
        rule_overwhelmed(f, part);
    rule_limit(f, part);
    rule_memory_hot(f, part);
    rule_hotspot(f, part);
}

static void detect_heat(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    const struct activity *a = &f->activity;
    char number[SHORT_WORDS];
    if (a->symptoms & 1u << SYMPTOM_HOT && f->heat >= HEAT_HOT)
        collect(c, gpu, FINDING_HOT, cooling_is_shared(gpu) && f->load == LOAD_BUSY ? SEVERITY_NOTICE : SEVERITY_WARNING, 0.95, 0,
                " %s hot%s", is(f), words_heat(gpu, number));
}

/* Months, not moments: what a single look can't see. */
void detect_cooling(const struct gpu *gpu, const struct baseline_drift *d, struct collection *c)
{
    char words[DRIFT_WORDS];
    if (d->rising)
        collect(c, gpu, FINDING_COOLING, d->strong ? SEVERITY_WARNING : SEVERITY_NOTICE, 0.95, 0, ": %s: %s",
                baseline_drift_words(d, words),
                d->elsewhere ? "a warmer room, or dust in the filters" : "dust, or paste that has dried out");
}

/* ---- what to do ---- */

static void suggest_air(const struct facts *f, struct why_part *part)
{
    if (f->fan == FAN_NONE)
        remedy_add(part, REMEDY_CASE_FANS, NULL);
    remedy_add(part, REMEDY_AIR, NULL);
    if (f->load == LOAD_BUSY)
        suggest_power(f, part);
}

static void remedy_heat(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    switch (cause->code) {
    case FINDING_HOTSPOT:
        remedy_add_own(part, cause->code);
        suggest_air(f, part);
        break;
    case FINDING_AIRFLOW: suggest_air(f, part); break;
    case FINDING_NEIGHBOUR_HEAT:
        if (!find_cause(part, FINDING_AIRFLOW))
            remedy_add_own(part, cause->code);
        break;
    case FINDING_HEAT_LIMIT:
        remedy_add_own(part, cause->code);
        suggest_power(f, part);
        break;
    case FINDING_CPU_HEAT:
    case FINDING_MEMORY_HOT: remedy_add_own(part, cause->code); break;
    default: break;
    }
}

static void foresee_throttling(const struct forecast_gpu *g, const struct gpu *gpu, struct collection *c)
{
    enum { SOON_S = 300 };
    bool soon = g->heat.when.likely_s < SOON_S;
    char span[WORDS_SIZE];
    if (g->heat.when.verdict == FORECAST_EXPECTED)
        collect(c, gpu, FINDING_THROTTLE_SOON, soon ? SEVERITY_NOTICE : SEVERITY_INFO, soon ? 0.6 : CONFIDENCE_FAR, 0,
                " will reach its temperature limit in about %s at this rate", forecast_span_words(g->heat.when.likely_s, span));
}

const struct area area_heat = {.weigh = rules_heat, .find = detect_heat, .foresee = foresee_throttling, .remedy = remedy_heat};
