/* SPDX-License-Identifier: Apache-2.0
 * Fans: one that stopped, falters, turns too slowly, is loud, or was set by a person, so that nothing makes it faster when the GPU
 * gets hot. What its readings say together is facts/levels.h.
 */
#include <stdio.h>

#include "insight/area/area.h"
#include "insight/facts/words.h"
#include "model/finding_code.h"

enum { SLOW_MAX = 600 };

/* Driven or not, one that does not turn on a hot GPU has stopped. */
static void rule_fan_stopped(const struct facts *f, struct why_part *part)
{
    char heat[SHORT_WORDS];
    struct cause_draft d;
    if (!f->fan_missed)
        return;
    cause_begin(&d, part, FINDING_FAN_STOPPED);
    d.cause.is_read = f->fan_judged.state == FAN_STATE_STOPPED;
    support_fan(&d, f, 0.7);
    support_temperature(&d, f, f->heat >= HEAT_HOT ? 0.7 : 0.4);
    support_power(&d, f, f->power >= POWER_RAISED ? 0.2 : 0);
    if (f->fan_judged.asked[0])
        support(&d, 0.5, "the GPU asks for %s", f->fan_judged.asked);
    words_heat(f->gpu, heat);
    if (f->fan_stuck)
        cause_end(&d, ": its fan %s turning although it %s driven at %lld%%%s", f->over ? "wasn't" : "isn't", is(f),
                  percent(reading_or(f->gpu->fan_permille, 0)), heat);
    else
        cause_end(&d, ": its fan %s stopped%s", has(f), heat);
}

static void rule_fan_failing(const struct facts *f, struct why_part *part)
{
    char heat[SHORT_WORDS], speed[SHORT_WORDS] = "";
    int64_t fan;
    struct cause_draft d;
    if (!f->fan_slow)
        return;
    cause_begin(&d, part, FINDING_FAN_FAILING);
    support_fan(&d, f, 0.4);
    support(&d, 0.8, "the GPU asks for %s", f->fan_judged.asked);
    support_temperature(&d, f, f->heat >= HEAT_WARM ? 0.3 : 0);
    if (reading_get(f->gpu->fan_permille, &fan) && f->gpu->fan_target_permille.state == READING_OK)
        snprintf(speed, sizeof speed, "%lld%%", percent(fan));
    else
        snprintf(speed, sizeof speed, "%lld rpm", (long long)reading_or(f->gpu->fan_rpm, 0));
    cause_end(&d, ": its fan %s turning at %s%s, far slower than the GPU asks for (%s)", is(f), speed, words_heat(f->gpu, heat),
              f->fan_judged.asked);
}

/* No user has set the fan of a laptop: its firmware drives it, for the CPU as well. */
static bool fan_is_the_hosts(const struct gpu *gpu)
{
    return cooling_is_shared(gpu) || gpu->fan_basis.state == READING_OK || fan_controlled_by(gpu, "firmware");
}

static void rule_fan_setting(const struct facts *f, struct why_part *part)
{
    char speed[SHORT_WORDS] = "its fan";
    struct cause_draft d;
    if (f->fan < FAN_RAISED || f->heat != HEAT_COOL || f->load != LOAD_IDLE || f->video_permille >= VIDEO_LEAST ||
        !draws_little(f) || recently_busy(f) || fan_is_the_hosts(f->gpu) || find_cause(part, FINDING_MEMORY_HOT) ||
        find_cause(part, FINDING_HOTSPOT))
        return;
    cause_begin(&d, part, FINDING_FAN_SETTING);
    support_fan(&d, f, 0.4);
    support_temperature(&d, f, 0.4);
    support_load(&d, f, 0.3);
    if (f->power == POWER_LOW)
        support_power(&d, f, 0.3);
    weigh_past(&d, f, 0.5, 0.75);
    words_fan_speed(f, speed);
    if (fan_controlled_by(f->gpu, "automatic")) {
        d.cause.severity = SEVERITY_INFO;
        cause_end(&d, " %s idle and cool: %s %s its board's own fan curve, not heat", is(f), speed, is(f));
    } else {
        cause_end(&d, " %s idle and cool: %s %s %sa setting (a fan curve or a fixed speed)%s, not heat", is(f), speed, is(f),
                  f->past.calm_ms >= CALM_LEAST_MS ? "" : "very likely ",
                  f->fan == FAN_LOUD || fan_controlled_by(f->gpu, "manual") ? "" : " or the lowest speed of its board");
    }
}

static void rules_fan(const struct facts *f, struct why_part *part)
{
    rule_fan_stopped(f, part);
    rule_fan_failing(f, part);
    rule_fan_setting(f, part);
}

/* A bearing that sticks: on a hot GPU the fan stands still, turns, and stands still again. One that rests on purpose does so while
 * it is cool. */
static void detect_faltering(const struct facts *f, struct collection *c)
{
    enum { WATCHED_MS = 120000, TURNS_LEAST = 3 };
    const struct recent_gpu *past = activity_past(f->now, f->gpu, f->recent);
    int64_t fan, temp, before = -1;
    size_t stopped = 0;
    for (size_t i = 0; past && i < past->count; i++) {
        const struct recent_point *p = &past->points[i];
        if (f->now->taken_at.ms - p->at.ms > WATCHED_MS || !reading_get(p->fan_permille, &fan) ||
            !reading_get(p->temp_mdegc, &temp) || temp < FAN_NEEDED_FROM)
            continue;
        stopped += fan == 0 && before > 0;
        before = fan;
    }
    if (stopped < TURNS_LEAST || f->fan_missed)
        return;
    collect(c, f->gpu, FINDING_FAN_FAILING, SEVERITY_WARNING, 0.85, 0,
            ": its fan %s stopped %zu times in the last two minutes while it %s hot", has(f), stopped, is(f));
}

static void detect_fan(const struct facts *f, struct collection *c)
{
    const struct gpu *gpu = f->gpu;
    char speed[SHORT_WORDS] = "fan";
    if (sounds_loud(f)) {
        words_fan_speed(f, speed);
        collect(c, gpu, FINDING_LOUD, SEVERITY_WARNING, 0.95, 0, " %s loud (%s)", is(f), speed);
    }
    detect_faltering(f, c);
    int64_t fan, temp;
    bool by_hand = fan_controlled_by(gpu, "manual");
    /* Some drivers read the speed alone, and no share of what the fan could do. */
    bool slow = reading_get(gpu->fan_permille, &fan) ? fan <= SLOW_MAX : f->fan > FAN_OFF && f->fan < FAN_LOUD;
    if (!by_hand || f->heat < HEAT_HOT || !slow || !reading_get(gpu->temp_mdegc, &temp))
        return;
    words_fan_speed(f, speed);
    collect(c, gpu, FINDING_FAN_BY_HAND, SEVERITY_WARNING, 0.9, 0, ": its fan %s set by hand (%s), too slow for %lld °C", is(f),
            speed, words_whole(temp, 1000));
}

static void remedy_fan(const struct facts *f, struct why_part *part, const struct why_cause *cause)
{
    if (cause->code == FINDING_FAN_STOPPED || cause->code == FINDING_FAN_FAILING)
        remedy_add_own(part, cause->code);
    else if (cause->code != FINDING_FAN_SETTING || fan_controlled_by(f->gpu, "automatic"))
        return;
    else if (may_control(f) && f->gpu->fan_control.state == READING_OK)
        remedy_add(part, REMEDY_FAN_AUTO, "Set the fan back to automatic: whirr set fan auto --gpu %d", f->gpu->index);
    else
        remedy_add(part, REMEDY_FAN_AUTO, "If a tool sets a fan curve or a fixed speed, set it back to automatic there.");
}

const struct area area_fan = {.weigh = rules_fan, .find = detect_fan, .remedy = remedy_fan};
