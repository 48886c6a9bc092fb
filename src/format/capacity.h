/* SPDX-License-Identifier: Apache-2.0
 * Capacity and placement as the API and `whirr fit` show them.
 */
#pragma once

#include "base/json_writer.h"
#include "insight/fit/capacity_trend.h"
#include "insight/fit/model_size.h"
#include "insight/fit/placement.h"

struct page;

/* GET /api/capacity. courses: NULL when they are not followed. */
void json_capacity(struct json_writer *j, const struct snapshot *s, const struct capacity *c,
                   const struct capacity_courses *courses, int only);
/* What json_capacity wrote, as far as a placement needs it; NULL: not to be understood, or out of memory. */
struct capacity *capacity_from_json(struct str text);

/* What was asked: a size, or a model with its need. */
struct fit_subject {
    const char *path;                /* of the model; NULL: a size was given */
    const struct model_facts *facts; /* NULL with it */
    const struct model_need *need;
    const char *cache_type;
    int64_t context_wanted; /* -1: none was given */
};

/* The body of GET /api/placement and of `whirr fit --json`. */
void json_placement(struct json_writer *j, const struct capacity *c, const struct placement_request *request,
                    const struct placement *p, const struct fit_subject *subject);

/* "CUDA_VISIBLE_DEVICES=GPU-...,GPU-...", one variable a line, for a program that is to use the GPUs of this copy; false: it is not
 * known how to restrict a program to these. */
bool placement_env(struct buf *out, const struct capacity *c, const struct placement_copy *copy);
/* The same with all that a program needs which is started here, whatever it inherits. A later line counts. */
bool placement_program_env(struct buf *out, const struct capacity *c, const struct placement_copy *copy);
/* Whether the environment of this process lets a program use that GPU. */
bool placement_visible(const struct capacity *c, size_t gpu);
/* The same for one GPU of a snapshot, in one line for a shell. */
bool gpu_environment(const struct snapshot *s, size_t gpu, char *text, size_t size);

void table_capacity(struct buf *out, const struct page *page, const struct capacity *c);
void table_placement(struct buf *out, const struct page *page, const struct capacity *c, const struct placement_request *request,
                     const struct placement *p, const struct fit_subject *subject);
/* gpu_memory_available_bytes and its siblings. */
void prometheus_capacity(struct buf *out, const struct snapshot *s, const struct capacity *c);
