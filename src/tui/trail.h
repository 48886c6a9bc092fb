/* SPDX-License-Identifier: Apache-2.0
 * The course of one GPU's main readings, for plots: a bounded list of points, oldest first, thinned to what a window needs.
 */
#pragma once

#include "model/gpu.h"

enum { TRAIL_POINTS = 1024 };

enum trail_of {
    TRAIL_UTIL,
    TRAIL_VRAM,
    TRAIL_POWER,
    TRAIL_TEMP,
    TRAIL_FAN,
    TRAIL_CLOCK,
    TRAIL_CHOICES, /* rows and the heat map show one of the above */
    TRAIL_WORK = TRAIL_CHOICES,
    TRAIL_RX,
    TRAIL_TX,
    TRAIL_ENCODER,
    TRAIL_DECODER,
    TRAIL_COUNT
};

struct trail_point {
    int64_t at_ms;
    float value[TRAIL_COUNT]; /* percent, GiB, W, °C, MHz, GB/s; NAN: unknown */
};

struct trail {
    size_t count, capacity;
    struct trail_point *points;
};

void trail_done(struct trail *t);
/* Appends a point, unless it is older than the last one. If it is within `min_ms` of the second to last, it replaces the last. */
void trail_add(struct trail *t, const struct trail_point *point, int64_t min_ms);
/* Inserts older points at the front; as many of the newest as fit. */
void trail_prepend(struct trail *t, const struct trail_point *points, size_t count);
struct trail_point trail_point_of(const struct gpu *gpu, int64_t at_ms);

/* Resamples a window to `slots` means. An empty slot repeats the previous point if that is at most `hold_ms` old. */
void trail_sample(const struct trail *t, enum trail_of of, int64_t since_ms, int64_t until_ms, int64_t hold_ms, size_t slots,
                  float *values);
