/* SPDX-License-Identifier: Apache-2.0
 * Usual values of a host's GPUs, learned from its history.
 */
#pragma once

#include "insight/baseline/baseline.h"
#include "store/query.h"

/* Learns from the history up to `until`, at most 400 days back: recent weeks by minute, older ones by hour. Release *ret with
 * free(). */
int past_usual(struct store *s, const char *host, struct wall until, struct baselines **ret, struct error *err);
/* What changed on its GPUs in the weeks before `until`, with what came with it; past_usual() has the same. */
int past_changes(struct store *s, const char *host, struct wall until, struct changes *ret, struct error *err);
/* The changes alone, of a span. */
int past_changes_within(struct store *s, const char *host, int64_t gpu_id, struct wall since, struct wall until,
                        struct changes *ret, struct error *err);

/* Usual values of one GPU at successive moments of a long span that ends at `until`: reads each row once. `gpus`: how many will
 * be queried this way. */
struct usual_course;
int usual_course_new(struct store *s, const struct store_gpu *gpu, size_t gpus, struct wall until, struct usual_course **ret,
                     struct error *err);
/* Learns up to `at`, or up to a day before. An earlier moment than the last one gets what is known up to the latter. *ret covers
 * only this GPU and is valid until the next call. */
int usual_course_at(struct usual_course *c, struct wall at, const struct baselines **ret, struct error *err);
void usual_course_free(struct usual_course *c); /* NULL is fine */
