/* SPDX-License-Identifier: Apache-2.0
 * A machine over time, faster than time passes: a simulated one, a recording, or the history. For trying rules out.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "model/snapshot.h"
#include "store/store.h"

typedef void course_fn(void *user, const struct snapshot *s);

/* "sim:..." or "replay:FILE": those that can be played. */
bool course_plays(const char *source);
int course_play(const struct env *env, const char *source, int64_t duration_ms, int64_t interval_ms, course_fn *each, void *user,
                struct error *err);

/* From the samples that are still stored: readings of the GPUs that `columns` (of SERIES_GPU) name. */
int course_past(struct store *store, const char *host, struct wall since, struct wall until, const size_t *columns, size_t count,
                course_fn *each, void *user, struct error *err);
