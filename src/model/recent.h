/* SPDX-License-Identifier: Apache-2.0
 * The recent past, for explanations: a few minutes of the main readings of each GPU, and the processes that ended. The engine
 * fills it while sampling; the store can fill it for a past moment.
 */
#pragma once

#include "model/snapshot.h"

enum { RECENT_POINTS = 256, RECENT_ENDED = 64, RECENT_SHARES = 64 };
/* RECENT_WORK_LEAST: minimum GPU share, in permille, of a process at work. */
enum { RECENT_WORK_LEAST = 50, RECENT_GROWTH_MS = 15000, RECENT_SERVING_MS = 90000, RECENT_SERVING_GAP_MS = 30000 };

struct recent_point {
    struct wall at;
    struct reading util_permille, power_mw, temp_mdegc, fan_permille, mem_used_bytes, clock_graphics_khz;
    enum activity_code activity; /* as judged then; unknown if it wasn't */
};

/* Settings that a driver may lose in a suspend. */
struct recent_settings {
    struct reading power_limit_mw, clock_app_graphics_khz, clock_app_memory_khz, clock_graphics_max_khz, persistence_mode;
    char fan_control[GPU_TEXT_SIZE]; /* "" unknown */
};

/* What a model server did over some time, by its own counters. */
struct recent_serving {
    int64_t ms, busy_ms, request_ms; /* observed; with a request; summed over requests */
    int64_t generated, prompt;       /* tokens */
    int64_t energy_uj, powered_ms;   /* of its process, and how long its power was known */
    bool counted, prompted;          /* tokens and prompt tokens are known */
};

/* Activity of a present process since it appeared on the GPU. */
struct recent_share {
    int32_t pid;
    int64_t start_key;
    struct wall first_seen;
    struct wall worked_at; /* last sample at work, or with an unknown share; ms 0: none */
    int64_t sum_permille, samples;
    struct recent_mark {
        struct wall at;
        int64_t mem_bytes;
    } older, newer;                        /* memory at the start of the previous and the current RECENT_GROWTH_MS */
    struct wall followed;                  /* the last sample */
    struct reading generated, prompt;      /* its server's counters then */
    struct recent_serving before, current; /* the last full RECENT_SERVING_MS, and the time since */
};

struct recent_gpu {
    struct gpu_id id;
    struct wall resumed_at; /* end of an observed suspend of the host; ms 0: none */
    struct recent_settings before_suspend;
    size_t count; /* points, oldest first */
    struct recent_point points[RECENT_POINTS];
    bool watched; /* its process list was seen before */
    size_t share_count;
    struct recent_share shares[RECENT_SHARES];
};

struct recent_process {
    int gpu_index;
    struct process last; /* as last seen */
    struct wall first_seen, last_seen;
    struct wall missed_at; /* first sample without it; ms 0: unknown */
    struct wall worked_at; /* as in recent_share */
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
/* Adds what drivers recorded in the seconds before the first sample. */
void recent_begin(struct recent *r, const struct snapshot *now);
/* Tracks which processes appear, work and end. `previous` (may be NULL) is the snapshot before: processes missing since then
 * have ended. */
void recent_follow(struct recent *r, const struct snapshot *previous, const struct snapshot *now);
/* The same, and adds a point to each GPU. */
void recent_add(struct recent *r, const struct snapshot *previous, const struct snapshot *now);
void recent_add_points(struct recent *r, const struct snapshot *previous, const struct snapshot *now);
/* The last RECENT_SERVING_MS, or up to twice that; false: not observed for that long. */
bool recent_serving_of(const struct recent_share *share, struct recent_serving *ret);
/* NULL: not tracked. */
const struct recent_share *recent_share_of(const struct recent_gpu *past, const struct process *p);
