/* SPDX-License-Identifier: Apache-2.0
 * The recent past, as far as an explanation needs it: a few minutes of the main readings of each GPU, and the processes that
 * ended. The engine fills it while it samples; the store can fill it for a moment of last night.
 */
#pragma once

#include "model/snapshot.h"

enum { RECENT_POINTS = 256, RECENT_ENDED = 64, RECENT_SHARES = 64 };
/* A share of the GPU, in permille, from which on a process is at work. */
enum { RECENT_WORK_LEAST = 50, RECENT_GROWTH_MS = 15000, RECENT_SERVING_MS = 90000, RECENT_SERVING_GAP_MS = 30000 };

struct recent_point {
    struct wall at;
    struct reading util_permille, power_mw, temp_mdegc, fan_permille, mem_used_bytes, clock_graphics_khz;
    enum activity_code activity; /* as it was judged then; unknown where it was not */
};

/* Settings that a driver may forget over a suspend. */
struct recent_settings {
    struct reading power_limit_mw, clock_app_graphics_khz, clock_app_memory_khz, clock_graphics_max_khz, persistence_mode;
    char fan_control[GPU_TEXT_SIZE]; /* "" unknown */
};

/* What a model server did in some time, by its own counters. */
struct recent_serving {
    int64_t ms, busy_ms, request_ms; /* watched; with a request; times requests */
    int64_t generated, prompt;       /* tokens */
    int64_t energy_uj, powered_ms;   /* of its process; for how long its power was known */
    bool counted, prompted;          /* tokens, tokens of prompts are known */
};

/* What one process that is there has done itself, since it came to the GPU. */
struct recent_share {
    int32_t pid;
    int64_t start_key;
    struct wall first_seen;
    struct wall worked_at; /* its last sample at work, or with a share that is not known; ms 0: none */
    int64_t sum_permille, samples;
    struct recent_mark {
        struct wall at;
        int64_t mem_bytes;
    } older, newer;                        /* its memory at the beginning of this and of the previous RECENT_GROWTH_MS */
    struct wall followed;                  /* the last sample */
    struct reading generated, prompt;      /* what its server had counted then */
    struct recent_serving before, current; /* the last whole RECENT_SERVING_MS, and what came since */
};

struct recent_gpu {
    struct gpu_id id;
    struct wall resumed_at; /* of the host, after a suspend that was seen; ms 0: none */
    struct recent_settings before_suspend;
    size_t count; /* points, oldest first */
    struct recent_point points[RECENT_POINTS];
    bool watched; /* the list of its processes was seen before */
    size_t share_count;
    struct recent_share shares[RECENT_SHARES];
};

struct recent_process {
    int gpu_index;
    struct process last; /* as last seen */
    struct wall first_seen, last_seen;
    struct wall missed_at; /* the first sample without it; ms 0: not known */
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
/* What the drivers themselves kept of the seconds before a first look. */
void recent_begin(struct recent *r, const struct snapshot *now);
/* Who came, who ended and who did what; `previous` (may be NULL) is the snapshot before it, whose missing processes have ended. */
void recent_follow(struct recent *r, const struct snapshot *previous, const struct snapshot *now);
/* The same, and its readings become a point of each GPU. */
void recent_add(struct recent *r, const struct snapshot *previous, const struct snapshot *now);
void recent_add_points(struct recent *r, const struct snapshot *previous, const struct snapshot *now);
/* The last RECENT_SERVING_MS, up to twice as long; false: it was not followed for so long. */
bool recent_serving_of(const struct recent_share *share, struct recent_serving *ret);
/* NULL: it was not followed. */
const struct recent_share *recent_share_of(const struct recent_gpu *past, const struct process *p);
