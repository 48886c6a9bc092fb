/* SPDX-License-Identifier: Apache-2.0
 * Which of the processes on the GPUs are the worker, and which were started by a game launcher. Looks at the GPUs' processes only
 * and remembers each by (pid, start): while nothing changes, a look costs no system call.
 */
#pragma once

#include "guard/spec.h"

struct finder;

struct finder *finder_new(const struct env *env, const struct guard_match *match, bool steam); /* NULL: out of memory */
void finder_free(struct finder *f);

/* The worker's first process, when it is known otherwise: a child that was (re)started. pid 0: not running. */
void finder_set_leader(struct finder *f, struct claim_identity leader);
/* Other settings while it runs. */
void finder_set_match(struct finder *f, const struct guard_match *match, bool steam);
/* Processes that were the worker's before (from the journal): they still are, on a GPU or not. */
void finder_remember(struct finder *f, const struct claim_identity *pids, size_t count);

/* Fills the worker's processes (its leader and those on GPUs) and the games among the others; signals->unsure where some could not
 * be looked at. */
enum worker_presence finder_look(struct finder *f, const struct snapshot *s, struct claim_worker *worker,
                                 struct claim_signals *signals);
