/* SPDX-License-Identifier: Apache-2.0
 * A span of time while it is being explained: the data read so far, GPU by GPU.
 */
#pragma once

#include "base/units.h"
#include "insight/view/episodes.h"
#include "past/explain.h"

struct span {
    struct store *s;
    const char *host;
    struct explained_span *told;
    struct store_gpu gpus[GPU_MAX];
    size_t gpu_count;
    int64_t only_gpu;
    bool days; /* so long that recurring work is reported once */
    struct span_points {
        struct episode_point *list;
        size_t count, capacity;
    } read[GPU_MAX]; /* per GPU */
    /* The current GPU: */
    const struct store_gpu *gpu;
    struct episode_point *points;
    size_t count;
    struct store_worker *workers; /* of all GPUs */
    size_t worker_count, worker_capacity;
    struct row_order worker_order;
};

/* Adds to the list; a full list drops its least important entry, or this one. */
void span_keep(struct explained_span *told, const struct explained_episode *e);

/* ---- stored_findings.c: findings from that time that the rows did not reveal. ---- */
int span_add_findings(struct span *p, struct error *err);
/* Turns "GPU 0 is throttling" into the past tense. */
void span_past_tense(const char *headline, char *out, size_t size);
