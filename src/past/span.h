/* SPDX-License-Identifier: Apache-2.0
 * A span of time while it is explained: what was read of it, GPU by GPU.
 */
#pragma once

#include "base/units.h"
#include "insight/finding/episodes.h"
#include "past/explain.h"

struct span {
    struct store *s;
    const char *host;
    struct explained_span *told;
    struct store_gpu gpus[GPU_MAX];
    size_t gpu_count;
    int64_t only_gpu;
    bool days; /* so long that work which comes again and again is one thing */
    struct span_points {
        struct episode_point *list;
        size_t count, capacity;
    } read[GPU_MAX]; /* of each GPU */
    /* The one being looked at: */
    const struct store_gpu *gpu;
    struct episode_point *points;
    size_t count;
    struct store_worker *workers; /* of all GPUs */
    size_t worker_count, worker_capacity;
    struct row_order worker_order;
};

/* ---- span_course.c: the courses of GPUs. Of all at once: their rows lie side by side. */

int span_read_points(struct store *s, void *span, struct error *err);
int span_read_workers(struct store *s, void *span, struct error *err);
/* Who did most at each point of the GPU being looked at. */
void span_choose_workers(struct span *p);

/* ---- explain_span.c: into the list; when it is full, the least important of it, or this one, is left out. */
void span_keep(struct explained_span *told, const struct explained_episode *e);

/* ---- stored_findings.c: what was found at the time, where the rows did not give it. */
int span_add_findings(struct span *p, struct error *err);
/* "GPU 0 is throttling" was said while it was so. */
void span_past_tense(const char *headline, char *out, size_t size);

/* ---- span_episodes.c */

/* Means and the highest, of the sums. */
void span_use_numbers(struct explained_episode *e);
/* Each at the moment that shows it best. What is not worth telling has no weight. */
int span_explain_episodes(struct span *p, const struct episode_group *groups, struct explained_episode *ret, size_t count,
                          struct error *err);
