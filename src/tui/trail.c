/* SPDX-License-Identifier: Apache-2.0
 * Points of one GPU, stored and resampled.
 */
#include "tui/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void trail_done(struct trail *t)
{
    free(t->points);
    *t = (struct trail){0};
}

/* Makes room for one more: grows up to TRAIL_POINTS, then drops the oldest. */
static bool trail_make_room(struct trail *t)
{
    if (t->count < TRAIL_POINTS)
        return ROOM_FOR_ONE(t->points, t->count, t->capacity, 64);
    /* Drops an eighth at once, so that moving the rest is rare. */
    size_t gone = TRAIL_POINTS / 8;
    memmove(t->points, t->points + gone, (t->count - gone) * sizeof *t->points);
    t->count -= gone;
    return true;
}

void trail_add(struct trail *t, const struct trail_point *point, int64_t min_ms)
{
    if (t->count && point->at_ms <= t->points[t->count - 1].at_ms)
        return;
    if (t->count > 1 && point->at_ms - t->points[t->count - 2].at_ms < min_ms)
        t->points[t->count - 1] = *point;
    else if (trail_make_room(t))
        t->points[t->count++] = *point;
}

void trail_prepend(struct trail *t, const struct trail_point *points, size_t count)
{
    while (count && t->count && points[count - 1].at_ms >= t->points[0].at_ms)
        count--;
    if (t->count >= TRAIL_POINTS / 2) /* make room for the past by dropping every second point */
        for (size_t i = 0; i < t->count / 2; i++)
            t->points[i] = t->points[2 * i + 1];
    t->count = t->count >= TRAIL_POINTS / 2 ? t->count / 2 : t->count;
    size_t take = MIN_OF(count, (size_t)TRAIL_POINTS - t->count);
    struct trail_point *all = malloc(TRAIL_POINTS * sizeof *all);
    if (!all)
        return;
    if (take)
        memcpy(all, points + (count - take), take * sizeof *all);
    if (t->count)
        memcpy(all + take, t->points, t->count * sizeof *all);
    free(t->points);
    *t = (struct trail){take + t->count, TRAIL_POINTS, all};
}

const struct trail_info trail_table[TRAIL_COUNT] = {
    [TRAIL_UTIL] = {METRIC_util_permille, 1},
    [TRAIL_VRAM] = {METRIC_mem_used_bytes, 1.0 / 1024},
    [TRAIL_POWER] = {METRIC_power_mw, 1},
    [TRAIL_TEMP] = {METRIC_temp_mdegc, 1},
    [TRAIL_FAN] = {METRIC_fan_permille, 1},
    [TRAIL_CLOCK] = {METRIC_clock_graphics_khz, 1},
    [TRAIL_WORK] = {METRIC_sm_active_permille, 1},
    [TRAIL_RX] = {METRIC_pcie_rx_bytes_per_s, 1e-9},
    [TRAIL_TX] = {METRIC_pcie_tx_bytes_per_s, 1e-9},
    [TRAIL_ENCODER] = {METRIC_encoder_permille, 1},
    [TRAIL_DECODER] = {METRIC_decoder_permille, 1},
};

double trail_scale(enum trail_of of)
{
    return metric_table[trail_table[of].metric].json_scale * trail_table[of].factor;
}

struct trail_point trail_point_of(const struct gpu *gpu, int64_t at_ms)
{
    struct trail_point point = {.at_ms = at_ms};
    for (enum trail_of of = 0; of < TRAIL_COUNT; of++) {
        struct reading r = gpu->metric[trail_table[of].metric];
        point.value[of] = r.state == READING_OK ? (float)((double)r.value * trail_scale(of)) : NAN;
    }
    return point;
}

/* The first point after that time. */
static size_t first_after(const struct trail *t, int64_t at_ms)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->points[middle].at_ms <= at_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void trail_sample(const struct trail *t, enum trail_of of, int64_t since_ms, int64_t until_ms, int64_t hold_ms, size_t slots,
                  float *values)
{
    size_t next = first_after(t, since_ms);
    for (size_t i = 0; i < slots; i++) {
        int64_t end = since_ms + (until_ms - since_ms) * (int64_t)(i + 1) / (int64_t)slots;
        float sum = 0;
        int known = 0;
        for (; next < t->count && t->points[next].at_ms <= end; next++)
            if (!isnan(t->points[next].value[of])) {
                sum += t->points[next].value[of];
                known++;
            }
        if (known)
            values[i] = sum / (float)known;
        else
            values[i] = next && end - t->points[next - 1].at_ms <= hold_ms ? t->points[next - 1].value[of] : NAN;
    }
}
