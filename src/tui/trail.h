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
    TRAIL_CHOICES, /* of those before it, rows and the heat map show one */
    TRAIL_WORK = TRAIL_CHOICES,
    TRAIL_RX,
    TRAIL_TX,
    TRAIL_ENCODER,
    TRAIL_DECODER,
    TRAIL_COUNT
};

struct trail_point {
    int64_t at_ms;
    float value[TRAIL_COUNT]; /* percent, GiB, W, °C, MHz, GB/s; NAN: not known */
};

struct trail {
    size_t count, capacity;
    struct trail_point *points;
};

void trail_done(struct trail *t);
/* Times go up: older than the last is ignored. Within `least_ms` of the one before the last, it takes the last one's place. */
void trail_add(struct trail *t, const struct trail_point *point, int64_t least_ms);
/* Points that are older than all that is there, put in front; as many of the newest as there is room for. */
void trail_prepend(struct trail *t, const struct trail_point *points, size_t count);
struct trail_point trail_point_of(const struct gpu *gpu, int64_t at_ms);

/* The readings over a window as `slots` means. A slot without a point takes the one before it, if that is no older than `hold_ms`.
 */
void trail_sample(const struct trail *t, enum trail_of of, int64_t since_ms, int64_t until_ms, int64_t hold_ms, size_t slots,
                  float *values);
