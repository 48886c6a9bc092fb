/* SPDX-License-Identifier: Apache-2.0
 * What a learner remembers: one record for each day.
 */
#pragma once

#include "insight/baseline/baseline.h"

struct mean {
    int64_t sum, minutes; /* the sum is weighted by minutes */
};

static inline int64_t mean_of(const struct mean *m)
{
    return m->minutes ? m->sum / m->minutes : 0;
}

struct day {
    int64_t number; /* since 1970, local */
    struct mean power[BASELINE_BINS], temp[BASELINE_BINS], fan[BASELINE_BINS], rise[BASELINE_BINS];
    struct mean util[24];
    struct mean idle_power, idle_temp, idle_clock_graphics, idle_clock_memory;
};

struct baseline_learner {
    int64_t zone_ms, limit_mw;
    enum baseline_start start;
    struct wall since, until;
    struct wall changed_at; /* since when the limit is another */
    int changed_minutes;
    int64_t stretch, stretch_sum; /* minutes of the same power */
    struct wall last_at, idle_at;
    int idle_minutes;
    bool suspect; /* the fan was another on suspect_day */
    int64_t suspect_day;
    size_t level_count;
    struct {
        int64_t clock_khz;
        struct mean power;
    } levels[BASELINE_LEVELS];
    size_t day_count;
    struct day days[BASELINE_DAYS_MAX];
};

static inline int baseline_bin(int64_t power_mw, int64_t limit_mw)
{
    int64_t bin = power_mw * BASELINE_BINS / limit_mw;
    return (int)(bin < 0 ? 0 : bin >= BASELINE_BINS ? BASELINE_BINS - 1 : bin);
}

/* Sorts them; so many days. */
void baseline_band_of(int64_t *values, int days, struct baseline_band *ret);
void baseline_add_level(struct baseline_learner *l, const struct baseline_row *row); /* of an idle GPU */
void baseline_conclude_levels(const struct baseline_learner *l, struct baseline *ret);
void baseline_judge_clock(const struct baseline *b, const struct gpu *gpu, struct usual *ret);
void baseline_find_drift(const struct baseline_learner *l, struct baseline_drift *ret);
