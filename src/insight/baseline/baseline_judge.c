/* SPDX-License-Identifier: Apache-2.0
 * A moment held against what was learned. Without enough days nothing is usual, and nothing unusual.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "insight/baseline/baseline.h"
#include "insight/facts/levels.h"

enum {
    HOT_ABOVE_BAND_MDEGC = 4000, /* above what nine days of ten reach, */
    HOT_ABOVE_MDEGC = 8000,      /* and above the middle */
    FAN_ABOVE_PERMILLE = 200,
    FAN_BEHIND_PERMILLE = 150,
    IDLE_ABOVE_MW = 5000,
    ROOM_MAX_MDEGC = 27000,   /* of an ordinary room */
    ALIKE_LEAST_MDEGC = 4000, /* and at least half of what this GPU is hotter */
};

double baseline_confidence(int days)
{
    if (days < BASELINE_DAYS_NEEDED)
        return 0;
    return 0.6 + 0.35 * (double)MIN_OF(days - BASELINE_DAYS_NEEDED, 21) / 21;
}

/* NULL: none; b may be NULL */
static const struct baseline *baselines_find(const struct baselines *b, const struct gpu_id *id)
{
    for (size_t i = 0; b && i < b->count; i++) {
        const struct gpu_id *known = &b->list[i].id;
        if (id->uuid[0] ? strcmp(known->uuid, id->uuid) == 0
                        : id->pci_address[0] && strcmp(known->pci_address, id->pci_address) == 0)
            return &b->list[i];
    }
    return NULL;
}

static bool known(const struct baseline_band *band)
{
    return band->days >= BASELINE_DAYS_NEEDED;
}

static void judge_heat(const struct baseline *b, const struct gpu *gpu, struct reading ambient, struct usual *ret)
{
    int64_t power, limit, temp, fan;
    if (!reading_get(gpu->power_mw, &power) || power < 0 || !b->power_limit_mw)
        return;
    /* A limit that was just changed has no baseline yet. */
    if (reading_get(gpu->power_limit_mw, &limit) &&
        (limit - b->power_limit_mw > b->power_limit_mw / 50 || b->power_limit_mw - limit > b->power_limit_mw / 50))
        return;
    int bin = baseline_bin(power, b->power_limit_mw);
    /* A GPU that throttles draws less than it ever did: what was usual at more power is a bound. */
    int at = bin;
    while (at < BASELINE_BINS && !known(&b->temp_mdegc[at]))
        at++;
    if (at == BASELINE_BINS)
        return;
    struct baseline_band warmed = b->rise_mdegc[at];
    const struct baseline_band *heat = &b->temp_mdegc[at], *speed = &b->fan_permille[at];
    int64_t air;
    /* In a warmer room a GPU is warmer by as much: not its fault, and not its cooling's. Where the air of then is not known, it was
     * that of an ordinary room. */
    bool measured = reading_get(ambient, &air), learned = known(&warmed), warm_room = measured && air > ROOM_MAX_MDEGC;
    if (measured && (learned || warm_room)) {
        warmed = learned ? warmed : *heat;
        int64_t more = learned ? air : air - ROOM_MAX_MDEGC;
        warmed.low += more;
        warmed.typical += more;
        warmed.high += more;
        heat = &warmed;
        ret->ambient_mdegc = ambient;
    }
    ret->at_more_power = at > bin;
    ret->days = heat->days;
    ret->temp_low_mdegc = reading_ok(heat->low);
    ret->temp_mdegc = reading_ok(heat->typical);
    ret->temp_high_mdegc = reading_ok(heat->high);
    if (reading_get(gpu->temp_mdegc, &temp))
        ret->too_hot = temp >= heat->high + HOT_ABOVE_BAND_MDEGC && temp >= heat->typical + HOT_ABOVE_MDEGC;
    if (!known(speed) || ret->at_more_power)
        return;
    ret->fan_permille = reading_ok(speed->typical);
    if (reading_get(gpu->fan_permille, &fan)) {
        ret->too_fast = fan >= speed->high + FAN_ABOVE_PERMILLE && !warm_room;
        ret->fan_behind = fan <= speed->typical - FAN_BEHIND_PERMILLE;
    }
}

static void judge_clock(const struct baseline *b, const struct gpu *gpu, struct usual *ret)
{
    const struct baseline_level *now = NULL, *low = NULL;
    int64_t clock;
    if (!reading_get(gpu->clock_memory_khz, &clock) || clock <= 0)
        return;
    for (size_t i = 0; i < b->level_count; i++) {
        if (baseline_same_clock(b->levels[i].clock_khz, clock))
            now = &b->levels[i];
        if (!low || b->levels[i].clock_khz < low->clock_khz)
            low = &b->levels[i];
    }
    if (!now || now == low)
        return;
    ret->at_clock = *now;
    ret->at_low_clock = *low;
}

static void judge_idle(const struct baseline *b, const struct gpu *gpu, struct usual *ret)
{
    int64_t power, util;
    if (!known(&b->idle_power_mw))
        return;
    if (!ret->days)
        ret->days = b->idle_power_mw.days;
    ret->idle_power_mw = reading_ok(b->idle_power_mw.typical);
    ret->idle_power_high_mw = reading_ok(b->idle_power_mw.high);
    int64_t room = MAX_OF((int64_t)IDLE_ABOVE_MW, b->idle_power_mw.high / 5);
    ret->idle_excess = reading_get(gpu->util_permille, &util) && util <= IDLE_MAX && reading_get(gpu->power_mw, &power) &&
                       power > b->idle_power_mw.high + room;
}

void baseline_judge(const struct baseline *b, const struct gpu *gpu, int hour, struct reading ambient, struct usual *ret)
{
    *ret = (struct usual){0};
    if (!b)
        return;
    ret->since = b->since;
    ret->start = b->start;
    ret->drift = b->drift;
    if (gpu->state == GPU_OK) {
        judge_heat(b, gpu, ambient, ret);
        judge_idle(b, gpu, ret);
        judge_clock(b, gpu, ret);
    }
    ret->step_count = b->step_count;
    memcpy(ret->steps, b->steps, sizeof ret->steps);
    if (hour >= 0 && hour < 24 && known(&b->util_permille[hour]))
        ret->util_permille = reading_ok(b->util_permille[hour].typical);
    ret->confidence = baseline_confidence(ret->days);
    if (!ret->days)
        ret->days = b->days;
}

static int64_t above_usual(const struct gpu *gpu, const struct usual *u)
{
    return gpu->temp_mdegc.value - u->temp_mdegc.value;
}

/* Without a sensor of the air, the other GPUs tell: when each of them is hotter than usual, too, it is the room or the case. */
static bool all_are_hotter(const struct baselines *all, const struct snapshot *now, const struct gpu *gpu, const struct usual *own)
{
    int64_t least = MAX_OF((int64_t)ALIKE_LEAST_MDEGC, above_usual(gpu, own) / 2);
    size_t alike = 0;
    for (size_t i = 0; i < now->gpu_count; i++) {
        const struct gpu *other = &now->gpus[i];
        struct usual u;
        if (other == gpu || other->temp_mdegc.state != READING_OK)
            continue;
        baseline_judge(baselines_find(all, &other->id), other, -1, reading_absent(READING_UNREAD), &u);
        if (u.temp_mdegc.state != READING_OK || u.at_more_power)
            continue;
        if (above_usual(other, &u) < least)
            return false;
        alike++;
    }
    return alike > 0;
}

/* Another GPU of the host that drifts at least half as fast. */
static bool drifts_elsewhere(const struct baselines *all, const struct baseline *b)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct baseline_drift *d = &all->list[i].drift;
        if (&all->list[i] != b && d->rising && d->mdegc_per_month * 2 >= b->drift.mdegc_per_month)
            return true;
    }
    return false;
}

void baselines_judge(const struct baselines *all, const struct snapshot *now, const struct gpu *gpu, struct usual *ret)
{
    int hour = all && now->taken_at.ms > 0 ? (int)((now->taken_at.ms + all->zone_ms) / 3600000 % 24) : -1;
    const struct baseline *b = baselines_find(all, &gpu->id);
    baseline_judge(b, gpu, hour, now->host.ambient_temp_mdegc, ret);
    if (ret->too_hot && ret->ambient_mdegc.state != READING_OK && all_are_hotter(all, now, gpu, ret)) {
        ret->too_hot = false;
        ret->warm_room = true;
    }
    if (b && ret->drift.mdegc_per_month && !ret->drift.air_known && drifts_elsewhere(all, b)) {
        ret->drift.elsewhere = true;
        ret->drift.strong = false;
    }
}

const struct baseline_step *usual_step(const struct usual *u, int32_t pid)
{
    for (size_t i = 0; pid && i < u->step_count; i++)
        if (u->steps[i].pid == pid)
            return &u->steps[i];
    return NULL;
}
