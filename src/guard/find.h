/* SPDX-License-Identifier: Apache-2.0
 * Finds the worker's processes on the GPUs, and those started by a game launcher. Checks only the GPUs' processes and remembers
 * each by (pid, start): while nothing changes, a look costs no system call.
 */
#pragma once

#include "guard/spec.h"

struct finder;

struct finder *finder_new(const struct env *env, const struct guard_match *match, bool steam); /* NULL: out of memory */
void finder_free(struct finder *f);

/* Sets the worker's first process if known: a (re)started child. pid 0: not running. */
void finder_set_leader(struct finder *f, struct claim_identity leader);
/* Applies new settings. */
void finder_set_match(struct finder *f, const struct guard_match *match, bool steam);
/* Adds processes that were the worker's before (from the journal): they still are, on a GPU or not. */
void finder_remember(struct finder *f, const struct claim_identity *pids, size_t count);

/* Fills in the worker's processes (its leader and those on GPUs) and the games among the others; signals->unsure if some were
 * unreadable. */
enum worker_presence finder_look(struct finder *f, const struct snapshot *s, struct claim_worker *worker,
                                 struct claim_signals *signals);
