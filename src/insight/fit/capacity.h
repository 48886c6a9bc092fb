/* SPDX-License-Identifier: Apache-2.0
 * How much VRAM can really be had, GPU by GPU. Pure: a snapshot, the settings and what the guard's workers hold in; numbers out.
 *
 *   total ┌──────────────────────────────────────────────────────────────────────┐
 *         │ driver │ others │ workers under guard │          free                │
 *         │                 └──── reclaimable ────┘└─ reserve ─┘└── available ───┘
 *
 * What the driver does not tell stays absent: nothing here turns "unknown" into 0 or into "free".
 */
#pragma once

#include "base/clock.h"
#include "model/snapshot.h"

enum { CAPACITY_WORKER_SIZE = 64, CAPACITY_WORKERS_MAX = 64, CAPACITY_HOLDS_MAX = 512, CAPACITY_WORDS = 160 };

/* What a worker under guard holds on one GPU. */
struct capacity_hold {
    char worker[CAPACITY_WORKER_SIZE];
    int gpu_index;
    int64_t bytes;
    bool evictable; /* the guard could take it off now */
};

struct capacity_settings {
    int64_t reserve_bytes; /* of each GPU, for the desktop and others */
};

/* A GPU that work can be placed on: a whole card, or one of its MIG instances. */
struct capacity_gpu {
    int index;    /* of the card */
    int instance; /* -1: the whole card */
    struct gpu_id id;
    bool simulated;
    bool only_if_named;           /* it shares the host's memory beside others: see snapshot_counts_memory */
    bool shared;                  /* its memory is the host's */
    bool usable;                  /* it is there, and work can be started on it */
    char problem[CAPACITY_WORDS]; /* why it is not usable, or why its memory is not known; "" otherwise */
    struct reading total_bytes, free_bytes;
    int64_t reserve_bytes;
    struct reading available_bytes;   /* free less reserve, at least 0 */
    struct reading reclaimable_bytes; /* held by workers that the guard could evict */
    struct reading util_permille;
    struct reading least_hour_bytes, least_day_bytes; /* free at least; absent: not watched */
    int64_t watched_ms;                               /* so much of the last day is known */
};

struct capacity {
    size_t hold_count;
    struct capacity_hold holds[CAPACITY_HOLDS_MAX];
    bool guard_known; /* a guard was asked: without one, nothing is reclaimable */
    size_t gpu_count;
    struct capacity_gpu gpus[]; /* in index order; instances behind their card */
};

/* NULL: out of memory. Free with free(). */
struct capacity *capacity_new(const struct snapshot *s, const struct capacity_settings *settings, const struct capacity_hold *holds,
                              size_t hold_count);
struct health;
/* Nothing is placed on a GPU that is failing or lost, whatever is free on it. `health` may be NULL. */
void capacity_exclude(struct capacity *c, const struct health *health);
/* Allocates room for `gpu_count` GPUs; the caller fills them in. */
struct capacity *capacity_alloc(size_t gpu_count);
/* "GPU 1", "GPU 0 (MIG 1g.18gb, instance 2)" */
const char *capacity_gpu_words(const struct capacity_gpu *gpu, char out[CAPACITY_WORDS]);

/* ---- the course of free memory over the last day, GPU by GPU: the least of each minute ----
 * Fed by samples and, after a start, by the history. */

enum { COURSE_MINUTES = 1440, COURSE_POINTS_MAX = 96 };

struct capacity_courses;

struct capacity_courses *courses_new(void); /* NULL: out of memory */
void courses_free(struct capacity_courses *c);
void courses_forget(struct capacity_courses *c);

/* The least that was free in the minute of `at`: joined with what is known of it. False: there is no room for one more GPU. */
bool courses_add(struct capacity_courses *c, const struct gpu_id *gpu, struct wall at, int64_t free_bytes);
void courses_add_snapshot(struct capacity_courses *c, const struct snapshot *s);

/* Fills in what was free at least in the last hour and day, and how much of the day is known. */
void courses_fill(const struct capacity_courses *c, struct wall now, struct capacity *capacity);

struct course_point {
    struct wall at; /* beginning */
    int64_t least_bytes;
};
/* The last day in quarters of an hour, oldest first; those without any sample are left out. */
size_t courses_points(const struct capacity_courses *c, const struct gpu_id *gpu, struct wall now,
                      struct course_point points[COURSE_POINTS_MAX]);
