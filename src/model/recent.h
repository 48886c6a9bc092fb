/* SPDX-License-Identifier: Apache-2.0
 * The recent past, as far as an explanation needs it: a few minutes of the main readings of each GPU, and the processes that
 * ended. The engine fills it while it samples; the store can fill it for a moment of last night.
 */
#pragma once

#include "model/snapshot.h"

enum { RECENT_POINTS = 256, RECENT_ENDED = 64 };

struct recent_point {
    struct wall at;
    struct reading util_permille, power_mw, temp_mdegc, fan_permille, mem_used_bytes, clock_graphics_khz;
    enum activity_code activity; /* as it was judged then; unknown where nobody did */
};

/* What somebody sets and a driver may forget over a suspend. */
struct recent_settings {
    struct reading power_limit_mw, clock_app_graphics_khz, clock_app_memory_khz, clock_graphics_max_khz, persistence_mode;
    char fan_control[GPU_TEXT_SIZE]; /* "" unknown */
};

struct recent_gpu {
    struct gpu_id id;
    struct wall resumed_at; /* of the host, after a suspend that was seen; ms 0: none */
    struct recent_settings before_suspend;
    size_t count; /* points, oldest first */
    struct recent_point points[RECENT_POINTS];
};

struct recent_process {
    int gpu_index;
    struct process last; /* as last seen */
    struct wall first_seen, last_seen;
    struct reading mean_util_permille;
};

struct recent {
    size_t gpu_count;
    struct recent_gpu *gpus; /* by GPU index */
    size_t ended_count;      /* newest last */
    struct recent_process ended[RECENT_ENDED];
};

void recent_settings_of(const struct gpu *gpu, struct recent_settings *ret);

void recent_done(struct recent *r);
/* What the drivers themselves kept of the seconds before a first look. */
void recent_begin(struct recent *r, const struct snapshot *now);
/* Takes a snapshot into account; `previous` (may be NULL) is the one before it, whose missing processes have ended. */
void recent_add(struct recent *r, const struct snapshot *previous, const struct snapshot *now);
