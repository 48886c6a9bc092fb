/* SPDX-License-Identifier: Apache-2.0
 * The history of checks, a directory of files that need no daemon:
 *
 *   NAME.jsonl    the runs of a GPU, one a line, the newest last
 *   NAME.state    what counts now: the last failure, or the clean check that ended it
 *   NAME.running  a check is under way
 *
 * Root's directory is read by all, and decides for the whole host; another user's is that user's.
 */
#pragma once

#include "base/error.h"
#include "insight/check/judge.h"
#include "model/snapshot.h"

enum { CHECK_HISTORY_MAX = 100 };

/* The runs of this GPU, the oldest first; from malloc. None: 0 and NULL. */
size_t check_history(const struct gpu_id *id, struct check_run **ret);
int check_keep(const struct check_run *run, const struct gpu_id *id, struct error *err);
/* Says that a check runs until then (ms 0: that it is over). Failures don't matter. */
void check_mark(const struct gpu_id *id, int32_t pid, struct wall until);
/* Adds what the last checks found to the GPUs of a snapshot. Costs one failed open() where no GPU was checked. */
void check_show(struct snapshot *s);
