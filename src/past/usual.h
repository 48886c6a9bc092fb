/* SPDX-License-Identifier: Apache-2.0
 * What is usual for the GPUs of a host, learned from its history.
 */
#pragma once

#include "insight/baseline/baseline.h"
#include "store/query.h"

/* From the history up to `until`, up to 400 days back: the last weeks from minutes, what was before from hours. *ret is freed with
 * free(). */
int past_usual(struct store *s, const char *host, struct wall until, struct baselines **ret, struct error *err);
/* Adds what each process that is there now added to the idle power of the GPU when it came, where that was measured. */
int past_idle_steps(struct store *s, int64_t gpu_id, struct wall until, struct baseline *ret, struct error *err);

/* What was usual for one GPU, moment after moment of a long time that ends at `until`: each row is read once. `gpus`: how many will
 * be asked about so. */
struct usual_course;
int usual_course_new(struct store *s, const struct store_gpu *gpu, size_t gpus, struct wall until, struct usual_course **ret,
                     struct error *err);
/* Up to `at`, or up to a day before it. A moment before the last one that was asked about gets what is known up to that. *ret is of
 * this GPU alone and lives until the next question. */
int usual_course_at(struct usual_course *c, struct wall at, const struct baselines **ret, struct error *err);
void usual_course_free(struct usual_course *c); /* NULL is fine */
