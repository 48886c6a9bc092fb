/* SPDX-License-Identifier: Apache-2.0
 * Rules about the heat itself, the fan that should remove it, and the limits of the GPU.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/area.h"

static bool recently_busy(const struct facts *f)
{
    return f->past.ended_left > 0.1 || f->past.fell_left > 0.1;
}

static bool draws_little(const struct facts *f)
{
    return f->power == POWER_LOW || f->power == POWER_UNKNOWN;
}

/* Several rules lean on the same calm past, or doubt themselves without one. */
static void weigh_past(struct cause_draft *d, const struct facts *f, double known, double unknown)
{
    char since[SHORT_WORDS];
    if (f->past.known && f->past.calm_ms >= CALM_LEAST_MS)
        support(d, known, "idle for the last %s", words_duration(f->past.calm_ms, since));
    else if (!f->past.known)
        doubt(d, unknown, "the minutes before are not known: work may just have ended");
    double left = MAX_OF(f->past.ended_left, f->past.fell_left);
    if (left > 0.1)
        doubt(d, 1 - left, NULL);
}

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

/* In laptops and processors with graphics, one cooler serves both. */
static void rule_cpu(const struct facts *f, struct why_part *part)
{
    const struct host *host = &f->now->host;
    int64_t load, temp;
    char heat[SHORT_WORDS] = "";
    struct cause_draft d;
    if (!f->cpu_hot || (f->fan < FAN_RAISED && f->heat < HEAT_WARM) || heats_both(f) || heats_more(f))
        return;
    cause_begin(&d, part, FINDING_CPU_HEAT, f->load == LOAD_BUSY ? 0.4 : 0.93);
    if (reading_get(host->cpu_permille, &load))
        support(&d, 0.6, "CPU %lld%%", percent(load));
    if (reading_get(host->cpu_temp_mdegc, &temp)) {
        support(&d, 0.6, "CPU at %lld °C", words_whole(temp, 1000));
        snprintf(heat, sizeof heat, " at %lld °C", words_whole(temp, 1000));
    }
    support(&d, 0.2, "CPU and GPU share their cooling");
    support_load(&d, f, 0.2);
    support_fan(&d, f, 0.1);
    cause_end(&d, "The CPU %s busy%s and shares its cooling with the GPU.", is(f), heat);
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
    cause_begin(&d, part, FINDING_AIRFLOW, f->past.known ? 0.95 : 0.75);
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
    cause_end(&d, "The heat %s not from work: airflow, dust, a warm room or case.", is(f));
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
    bool by_hand = f->gpu->fan_control.state == READING_OK && strcmp(f->gpu->fan_control.value, "manual") == 0;
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
        cause_begin(&d, part, FINDING_AIRFLOW, 0.65);
        support_temperature(&d, f, 0.4);
        support_power(&d, f, 0.4);
        support_fan(&d, f, 0.2);
        cause_end(&d, "Its cooling %s dissipate %lld W: airflow, dust, a warm room or case.", cannot(f), words_whole(power, 1000));
        return;
    }
    if (f->load != LOAD_BUSY || !is_at_heat_limit(f) || !fan_does_its_best(f) || !reading_get(f->gpu->power_mw, &power))
        return;
    cause_begin(&d, part, FINDING_AIRFLOW, 0.7);
    support_power(&d, f, 0.3);
    support_fan(&d, f, 0.2);
    support_temperature(&d, f, f->heat >= HEAT_HOT ? 0.2 : 0.05);
    cause_end(&d, "Its cooling %s dissipate %lld W: airflow, dust, a warm room or case.", cannot(f), words_whole(power, 1000));
}

static void rule_neighbor(const struct facts *f, struct why_part *part)
{
    const struct gpu *other = f->neighbor;
    char name[SHORT_WORDS];
    int64_t temp, power;
    struct cause_draft d;
    if (!other || f->load != LOAD_IDLE || !draws_little(f) || f->heat < HEAT_LUKEWARM || !reading_get(other->temp_mdegc, &temp))
        return;
    cause_begin(&d, part, FINDING_NEIGHBOUR_HEAT, 0.85);
    words_gpu(other, false, name);
    if (reading_get(other->power_mw, &power))
        support(&d, 0.5, "%s in the same host at %lld °C and %lld W", name, words_whole(temp, 1000), words_whole(power, 1000));
    else
        support(&d, 0.45, "%s in the same host at %lld °C", name, words_whole(temp, 1000));
    support_load(&d, f, 0.3);
    support_temperature(&d, f, f->heat >= HEAT_WARM ? 0.3 : 0.1);
    support_power(&d, f, 0.2);
    support_fan(&d, f, 0);
    weigh_past(&d, f, 0.3, 0.85);
    cause_end(&d, "It %s idle; %s in the same host %s busy and warms it.", is(f), name, is(f));
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
        cause_begin(&d, part, FINDING_NEIGHBOUR_HEAT, 0.6);
        support(&d, 0.4, "%s in the same host draws %lld W at %lld °C", name, words_whole(draw, 1000), words_whole(theirs, 1000));
        support_temperature(&d, f, 0.2);
        support_power(&d, f, 0.1);
        support_fan(&d, f, 0.1);
        cause_end(&d, "It may breathe the heat of %s, which draws no less and %s cooler.", name, is(f));
        return;
    }
}

static void rule_limit(const struct facts *f, struct why_part *part)
{
    int64_t bits = reading_or(f->gpu->throttle_bits, 0), temp;
    char why[64] = "";
    struct cause_draft d;
    if (f->heat != HEAT_LIMIT && (!(bits & THROTTLE_HOT) || memory_is_hotter(f->gpu)))
        return;
    cause_begin(&d, part, FINDING_HEAT_LIMIT, 0.75);
    support_temperature(&d, f, f->heat == HEAT_LIMIT ? 0.5 : 0.1);
    for (unsigned i = 0; i < THROTTLE_COUNT; i++)
        if (bits & THROTTLE_HOT & (1 << i)) {
            support(&d, 0.5, "throttling: %s", throttle_name(i));
            snprintf(why, sizeof why, "%s", throttle_name(i));
        }
    support_fan(&d, f, 0);
    if (why[0])
        cause_end(&d, "Thermal throttling: it %s too hot (%s).", is(f), why);
    else if (reading_get(f->gpu->temp_mdegc, &temp))
        cause_end(&d, "At %lld °C it %s close to thermal throttling.", words_whole(temp, 1000), is(f));
}

static void rule_memory_hot(const struct facts *f, struct why_part *part)
{
    int64_t temp, limit, chip;
    struct cause_draft d;
    if (!reading_get(f->gpu->temp_memory_mdegc, &temp))
        return;
    bool limited = reading_get(f->gpu->temp_memory_limit_mdegc, &limit) && limit > 0;
    if (temp < (limited ? limit - HEAT_LIMIT_MARGIN : (int64_t)MEMORY_HOT_FROM))
        return;
    cause_begin(&d, part, FINDING_MEMORY_HOT, 0.85);
    if (limited)
        support(&d, 0.6, "memory at %lld °C, its limit is %lld °C", words_whole(temp, 1000), words_whole(limit, 1000));
    else
        support(&d, 0.4, "memory at %lld °C", words_whole(temp, 1000));
    if (reading_get(f->gpu->temp_mdegc, &chip) && chip + 15000 <= temp)
        support(&d, 0.3, "the chip only at %lld °C", words_whole(chip, 1000));
    support_fan(&d, f, f->fan >= FAN_RAISED ? 0.2 : 0);
    cause_end(&d, f->fan < FAN_RAISED ? "Its memory %s hot (%lld °C)." : "Its memory %s hot (%lld °C), and the fan cools it too.",
              is(f), words_whole(temp, 1000));
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
    cause_begin(&d, part, FINDING_HOTSPOT, 0.7);
    if (known)
        support(&d, 0.5, "hot spot at %lld °C, the chip as a whole at %lld °C", words_whole(spot, 1000), words_whole(chip, 1000));
    else
        support(&d, 0.5, "hot spot at %lld °C", words_whole(spot, 1000));
    support_fan(&d, f, f->fan >= FAN_RAISED ? 0.2 : 0);
    if (apart)
        cause_end(&d, "Its hot spot %s much hotter than the rest (%lld °C): the cooler may not sit well.", is(f),
                  words_whole(spot, 1000));
    else
        cause_end(&d, "Its hot spot %s at %lld °C, about where it throttles.", is(f), words_whole(spot, 1000));
}

static void rule_fan_stopped(const struct facts *f, struct why_part *part)
{
    int64_t temp;
    struct cause_draft d;
    if (!f->fan_missed || f->fan_stuck || !reading_get(f->gpu->temp_mdegc, &temp))
        return;
    cause_begin(&d, part, FINDING_FAN_STOPPED, 0.97);
    support_fan(&d, f, 0.7);
    support_temperature(&d, f, f->heat >= HEAT_HOT ? 0.7 : 0.4);
    support_power(&d, f, f->power >= POWER_RAISED ? 0.2 : 0);
    if (f->fan_judged.asked[0])
        support(&d, 0.5, "the GPU asks for %s", f->fan_judged.asked);
    cause_end(&d, "The fan %s stopped although the GPU %s at %lld °C.", has(f), is(f), words_whole(temp, 1000));
}

static void rule_fan_failing(const struct facts *f, struct why_part *part)
{
    struct cause_draft d;
    if (!f->fan_stuck && !f->fan_slow)
        return;
    cause_begin(&d, part, FINDING_FAN_FAILING, 0.97);
    support_fan(&d, f, 0.4);
    if (f->fan_stuck)
        support(&d, 0.85, "0 rpm");
    if (f->fan_slow)
        support(&d, 0.8, "the GPU asks for %s", f->fan_judged.asked);
    support_temperature(&d, f, f->heat >= HEAT_WARM ? 0.3 : 0);
    cause_end(&d, f->fan_stuck ? "The fan %s driven but not turning." : "The fan %s turning far slower than the GPU asks for.",
              is(f));
}

/* No user has set the fan of a laptop: its firmware drives it, for the CPU as well. */
static bool fan_is_the_hosts(const struct gpu *gpu)
{
    return cooling_is_shared(gpu) || gpu->fan_basis.state == READING_OK ||
           (gpu->fan_control.state == READING_OK && strcmp(gpu->fan_control.value, "firmware") == 0);
}

static void rule_fan_setting(const struct facts *f, struct why_part *part)
{
    struct cause_draft d;
    if (f->fan < FAN_RAISED || f->heat != HEAT_COOL || f->load != LOAD_IDLE || f->video_permille >= VIDEO_LEAST ||
        !draws_little(f) || recently_busy(f) || fan_is_the_hosts(f->gpu) || find_cause(part, FINDING_MEMORY_HOT) ||
        find_cause(part, FINDING_HOTSPOT))
        return;
    cause_begin(&d, part, FINDING_FAN_SETTING, 0.93);
    support_fan(&d, f, 0.4);
    support_temperature(&d, f, 0.4);
    support_load(&d, f, 0.3);
    if (f->power == POWER_LOW)
        support_power(&d, f, 0.3);
    weigh_past(&d, f, 0.5, 0.75);
    cause_end(&d, "The fan %s fast on a cool GPU: a fan curve or a fixed speed, not heat.", is(f));
}

static void rule_power_limit(const struct facts *f, struct why_part *part)
{
    int64_t bits = reading_or(f->gpu->throttle_bits, 0), limit;
    struct cause_draft d;
    bool capped = f->at_power_limit || bits & THROTTLE_POWER_CAP;
    if (f->load == LOAD_IDLE || (!capped && !(bits & THROTTLE_POWER_BRAKE)))
        return;
    cause_begin(&d, part, FINDING_POWER_LIMIT, 0.6);
    support_power(&d, f, f->at_power_limit ? 0.4 : 0);
    for (unsigned i = 0; i < THROTTLE_COUNT; i++)
        if (bits & (THROTTLE_POWER_CAP | THROTTLE_POWER_BRAKE) & (1 << i))
            support(&d, 0.4, "throttling: %s", throttle_name(i));
    if (bits & THROTTLE_POWER_BRAKE)
        cause_end(&d, "The host %s throttling the GPU (power brake).", is(f));
    else if (reading_get(f->gpu->power_limit_mw, &limit))
        cause_end(&d, "It %s at its power limit of %lld W.", is(f), words_whole(limit, 1000));
    else
        cause_end(&d, "It %s at its power limit.", is(f));
}

void rules_heat(const struct facts *f, struct why_part *part)
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
    rule_fan_stopped(f, part);
    rule_fan_failing(f, part);
    rule_fan_setting(f, part);
    rule_power_limit(f, part);
}
