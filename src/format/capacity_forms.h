/* SPDX-License-Identifier: Apache-2.0
 * Capacity and placement as the API and `whirr fit` show them.
 */
#pragma once

#include "answer/answer.h"
#include "insight/fit/capacity.h"
#include "insight/fit/model_size.h"
#include "insight/fit/placement.h"

struct page;

extern const struct answer capacity_answer, placement_answer;

/* GET /api/capacity. courses: NULL if they are not tracked. */
void json_capacity(struct json_writer *j, const struct snapshot *s, const struct capacity *c,
                   const struct capacity_courses *courses, int only);
/* Parses the output of json_capacity as far as a placement needs it; NULL: malformed, or out of memory. */
struct capacity *capacity_from_json(struct str text);

/* The subject of a query: a size, or a model with its need. */
struct fit_subject {
    const char *path;                /* of the model; NULL: a size */
    const struct model_facts *facts; /* NULL with it */
    const struct model_need *need;
    const char *cache_type;
    int64_t context_wanted; /* -1: not given */
};

/* The body of GET /api/placement and of `whirr fit --json`. */
void json_placement(struct json_writer *j, const struct capacity *c, const struct placement_request *request,
                    const struct placement *p, const struct fit_subject *subject);

/* "CUDA_VISIBLE_DEVICES=GPU-...,GPU-...", one variable per line, for a program that uses the GPUs of this copy; false: it is not
 * known how to restrict a program to these. */
bool placement_env(struct buf *out, const struct capacity *c, const struct placement_copy *copy);
/* The same with everything that a program started here needs, whatever it inherits. Later lines win. */
bool placement_program_env(struct buf *out, const struct capacity *c, const struct placement_copy *copy);
/* Whether the environment of this process allows a program to use that GPU. */
bool placement_visible(const struct capacity *c, size_t gpu);
/* The same for one GPU of a snapshot, on one line for a shell. */
bool gpu_environment(const struct snapshot *s, size_t gpu, char *text, size_t size);

void table_capacity(struct buf *out, const struct page *page, const struct capacity *c);
void table_placement(struct buf *out, const struct page *page, const struct capacity *c, const struct placement_request *request,
                     const struct placement *p, const struct fit_subject *subject);
/* gpu_memory_available_bytes and related series. */
void prometheus_capacity(struct buf *out, const struct snapshot *s, const struct capacity *c);
