/* SPDX-License-Identifier: Apache-2.0
 * Health from samples and the kernel log together: for one look, and for a daemon that remembers.
 */
#pragma once

#include "base/env.h"
#include "engine/engine.h"
#include "format/health.h"
#include "insight/finding/health.h"

struct health_watch;

struct health_watch *health_watch_new(const struct env *env); /* NULL: out of memory */
void health_watch_free(struct health_watch *w);               /* NULL is fine */

/* The judge of this engine hears of the same faults, from the log and from the records of a daemon before this one. */
void health_watch_follow(struct health_watch *w, struct engine *engine);

/* Reads what the kernel has logged since the last call, and judges. The verdicts live until the next call; NULL: out of memory. */
const struct health *health_watch_take(struct health_watch *w, const struct snapshot *s);
const struct health *health_watch_latest(const struct health_watch *w); /* NULL: nothing was judged yet */
struct health_history *health_watch_history(struct health_watch *w);
void health_watch_basis(const struct health_watch *w, struct health_basis *ret);

/* What is remembered, over restarts. A damaged file is moved aside; -ENOENT: there is none yet. */
int health_watch_load(struct health_watch *w, const char *path, struct error *err);
int health_watch_save(struct health_watch *w, const char *path, struct error *err);
