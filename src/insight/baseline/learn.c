/* SPDX-License-Identifier: Apache-2.0
 * Learning: rows become days, days become bands. Each day has one value for each tenth of the power limit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "insight/baseline/baseline.h"
#include "insight/baseline/internal.h"
#include "insight/facts/levels.h"

enum {
    GAP_MS = 150000,      /* between minutes: what is further apart is not one stretch */
    STEADY_PERMILLE = 75, /* of the limit, either way of the stretch's mean */
    LIMIT_CHANGED_MINUTES = 30,
    CURVE_SHIFT_PERMILLE = 80, /* of fan speed at the same power */
    CURVE_DAYS = 7,            /* a day is compared with the week before it: a slow drift is no new curve */
    CURVE_MINUTES_LEAST = 30,
    CURVE_HEAT_MDEGC = 1000, /* warmer by more: the fan follows the heat */
};

static void learn_add(struct mean *m, struct reading r, int minutes)
{
    int64_t value;
    if (reading_get(r, &value)) {
        m->sum += value * minutes;
        m->minutes += minutes;
    }
}

struct baseline_learner *baseline_learner_new(int64_t zone_ms)
{
    struct baseline_learner *l = calloc(1, sizeof *l);
    if (l)
        l->zone_ms = zone_ms;
    return l;
}

void baseline_learner_free(struct baseline_learner *l)
{
    free(l);
}

static void forget_before(struct baseline_learner *l, size_t first)
{
    memmove(&l->days[0], &l->days[first], (l->day_count - first) * sizeof l->days[0]);
    l->day_count -= first;
}

/* ---- a new fan curve ---- */

static void add_mean(struct mean *to, const struct mean *m)
{
    to->sum += m->sum;
    to->minutes += m->minutes;
}

/* Whether the fan turns at another speed than in the days before at the same power, and the temperature does not explain it: dust
 * raises both, a faster fan cools. False without enough to compare: *told. */
static bool curve_differs(const struct baseline_learner *l, size_t at, bool *told)
{
    const struct day *day = &l->days[at];
    size_t first = at > CURVE_DAYS ? at - CURVE_DAYS : 0;
    int64_t fan = 0, temp = 0, minutes = 0;
    for (int bin = 0; bin < BASELINE_BINS; bin++) {
        struct mean fan_before = {0}, temp_before = {0};
        for (size_t i = first; i < at; i++) {
            add_mean(&fan_before, &l->days[i].fan[bin]);
            add_mean(&temp_before, &l->days[i].temp[bin]);
        }
        int64_t weight = day->fan[bin].minutes;
        int64_t shift = mean_of(&day->fan[bin]) - mean_of(&fan_before);
        if (fan_before.minutes < CURVE_MINUTES_LEAST || weight < CURVE_MINUTES_LEAST)
            continue;
        *told = true;
        if (llabs(shift) < CURVE_SHIFT_PERMILLE)
            continue;
        fan += shift * weight;
        temp += (mean_of(&day->temp[bin]) - mean_of(&temp_before)) * weight;
        minutes += weight;
    }
    if (!minutes)
        return false;
    return llabs(fan / minutes) >= CURVE_SHIFT_PERMILLE && (fan > 0 ? temp : -temp) / minutes <= CURVE_HEAT_MDEGC;
}

/* Two days in a row that shift the same way: one may be a person who played with the fan. */
static void close_day(struct baseline_learner *l)
{
    bool told = false;
    if (l->day_count < 2)
        return;
    size_t at = l->day_count - 1, first = at;
    if (!l->suspect) {
        l->suspect = curve_differs(l, at, &told);
        l->suspect_day = l->days[at].number;
        return;
    }
    /* Held against the time before the first suspicious day. */
    while (first > 0 && l->days[first - 1].number >= l->suspect_day)
        first--;
    struct day kept = l->days[first];
    l->days[first] = l->days[at];
    bool differs = curve_differs(l, first, &told);
    l->days[first] = kept;
    l->suspect = !told;
    if (!differs)
        return;
    forget_before(l, first);
    l->start = BASELINE_NEW_FAN_CURVE;
    l->since = (struct wall){l->suspect_day * DAY_MS - l->zone_ms};
}

/* ---- rows ---- */

static struct day *day_of(struct baseline_learner *l, struct wall at)
{
    int64_t number = (at.ms + l->zone_ms) / DAY_MS;
    if (l->day_count && l->days[l->day_count - 1].number == number)
        return &l->days[l->day_count - 1];
    close_day(l);
    if (l->day_count == BASELINE_DAYS_MAX)
        forget_before(l, 1);
    l->days[l->day_count] = (struct day){.number = number};
    return &l->days[l->day_count++];
}

/* True: the row belongs to a limit that may be about to become the new one. */
static bool limit_changes(struct baseline_learner *l, const struct baseline_row *row)
{
    int64_t limit;
    if (!reading_get(row->power_limit_mw, &limit) || limit <= 0)
        return false;
    if (!l->limit_mw)
        l->limit_mw = limit;
    if (llabs(limit - l->limit_mw) * 50 <= l->limit_mw) {
        l->changed_minutes = 0;
        return false;
    }
    if (!l->changed_minutes)
        l->changed_at = row->at;
    l->changed_minutes += row->minutes;
    if (l->changed_minutes < LIMIT_CHANGED_MINUTES)
        return true;
    forget_before(l, l->day_count);
    l->limit_mw = limit;
    l->changed_minutes = l->stretch = 0;
    l->suspect = false;
    l->start = BASELINE_NEW_LIMIT;
    l->since = l->changed_at;
    return false;
}

/* Minutes of the same power up to this row; an hour says it by its extremes. */
static bool is_steady(struct baseline_learner *l, const struct baseline_row *row, int64_t power)
{
    int64_t room = l->limit_mw * STEADY_PERMILLE / 1000, least, most;
    if (row->minutes > 1)
        return reading_get(row->power_min_mw, &least) && reading_get(row->power_max_mw, &most) && most - least <= 2 * room;
    bool goes_on = l->stretch && row->at.ms - l->last_at.ms <= GAP_MS && llabs(power - l->stretch_sum / l->stretch) <= room;
    if (!goes_on)
        l->stretch = l->stretch_sum = 0;
    l->stretch++;
    l->stretch_sum += power;
    l->last_at = row->at;
    return l->stretch > BASELINE_STEADY_MINUTES;
}

static bool is_idle(struct baseline_learner *l, const struct baseline_row *row)
{
    int64_t util;
    bool idle = reading_get(row->util_permille, &util) && util <= IDLE_MAX;
    bool goes_on = idle && row->at.ms - l->idle_at.ms <= GAP_MS;
    l->idle_minutes = !idle ? 0 : goes_on || row->minutes > 1 ? l->idle_minutes + row->minutes : row->minutes;
    l->idle_at = row->at;
    return l->idle_minutes > BASELINE_STEADY_MINUTES;
}

void baseline_learn(struct baseline_learner *l, const struct baseline_row *row)
{
    int64_t power;
    if (!l->since.ms)
        l->since = row->at;
    l->until = row->at;
    if (limit_changes(l, row))
        return;
    struct day *day = day_of(l, row->at);
    /* Where local time is off by half an hour, an hour counts for the one in which it begins. */
    learn_add(&day->util[(row->at.ms + l->zone_ms) / HOUR_MS % 24], row->util_permille, row->minutes);
    if (is_idle(l, row)) {
        learn_add(&day->idle_power, row->power_mw, row->minutes);
        learn_add(&day->idle_temp, row->temp_mdegc, row->minutes);
        learn_add(&day->idle_clock_graphics, row->clock_graphics_khz, row->minutes);
        learn_add(&day->idle_clock_memory, row->clock_memory_khz, row->minutes);
        baseline_add_level(l, row);
    }
    if (!l->limit_mw || !reading_get(row->power_mw, &power) || power < 0 || !is_steady(l, row, power))
        return;
    int bin = baseline_bin(power, l->limit_mw);
    learn_add(&day->power[bin], row->power_mw, row->minutes);
    learn_add(&day->temp[bin], row->temp_mdegc, row->minutes);
    learn_add(&day->fan[bin], row->fan_permille, row->minutes);
    int64_t temp, air;
    if (reading_get(row->temp_mdegc, &temp) && reading_get(row->ambient_mdegc, &air))
        learn_add(&day->rise[bin], reading_ok(temp - air), row->minutes);
}

/* ---- bands ---- */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void baseline_band_of(int64_t *values, int days, struct baseline_band *ret)
{
    *ret = (struct baseline_band){.days = days};
    if (days < BASELINE_DAYS_NEEDED)
        return;
    qsort(values, (size_t)days, sizeof values[0], ascending);
    ret->low = values[days / 10];
    ret->typical = values[days / 2];
    ret->high = values[days - 1 - days / 10];
}

/* offset: of a struct mean within struct day */
static void band(const struct baseline_learner *l, size_t offset, struct baseline_band *ret)
{
    int64_t values[BASELINE_DAYS_MAX];
    int n = 0;
    for (size_t i = 0; i < l->day_count; i++) {
        const struct mean *m = (const struct mean *)((const char *)&l->days[i] + offset);
        if (m->minutes)
            values[n++] = mean_of(m);
    }
    baseline_band_of(values, n, ret);
}

void baseline_conclude(struct baseline_learner *l, struct baseline *ret)
{
    *ret = (struct baseline){
        .start = l->start, .since = l->since, .until = l->until, .days = (int)l->day_count, .power_limit_mw = l->limit_mw};
    for (size_t i = 0; i < BASELINE_BINS; i++) {
        band(l, offsetof(struct day, temp) + i * sizeof(struct mean), &ret->temp_mdegc[i]);
        band(l, offsetof(struct day, fan) + i * sizeof(struct mean), &ret->fan_permille[i]);
        band(l, offsetof(struct day, rise) + i * sizeof(struct mean), &ret->rise_mdegc[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(ret->util_permille); i++)
        band(l, offsetof(struct day, util) + i * sizeof(struct mean), &ret->util_permille[i]);
    band(l, offsetof(struct day, idle_power), &ret->idle_power_mw);
    band(l, offsetof(struct day, idle_temp), &ret->idle_temp_mdegc);
    band(l, offsetof(struct day, idle_clock_graphics), &ret->idle_clock_graphics_khz);
    band(l, offsetof(struct day, idle_clock_memory), &ret->idle_clock_memory_khz);
    baseline_conclude_levels(l, ret);
    baseline_find_drift(l, &ret->drift);
}
