/* SPDX-License-Identifier: Apache-2.0
 * Driver errors in the kernel log (XIDs, hangs, resets) on their way to the judge. The log is read while the sources answer;
 * faults reach their GPU before the sample is judged, so every surface shows them with the same sample.
 */
#pragma once

#include "base/env.h"
#include "insight/verdict/health_file.h"
#include "model/snapshot.h"

struct fault_log;

struct fault_log *fault_log_new(const struct env *env); /* NULL: out of memory */
void fault_log_free(struct fault_log *l);               /* accepts NULL */

/* Reads what the kernel logged since the last call. */
void fault_log_read(struct fault_log *l);
/* Delivers faults to the GPUs of this snapshot; those of other GPUs wait. */
void fault_log_deliver(struct fault_log *l, struct health_history *to, const struct snapshot *s);

/* Skips what an earlier daemon has read. */
void fault_log_skip(struct fault_log *l, struct health_log_mark until);
struct health_log_mark fault_log_mark(const struct fault_log *l);

/* True if there are GPUs of this host, but their log can't be read. */
bool fault_log_is_unread(const struct fault_log *l);
/* "read", "denied", "absent", or "skipped" if no GPU belongs to this host. */
const char *fault_log_state(const struct fault_log *l);
const char *fault_log_message(const struct fault_log *l); /* a sentence that says what to do; "": fine */
