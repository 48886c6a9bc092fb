/* SPDX-License-Identifier: Apache-2.0
 * Driver errors of the kernel log (XIDs, hangs, resets) on their way to the judge. The log is read while the sources answer; what
 * it told goes to the card that it is about before the sample is judged, so every surface hears of it with the same sample.
 */
#pragma once

#include "base/env.h"
#include "insight/judge/health_file.h"
#include "model/snapshot.h"

struct fault_log;

struct fault_log *fault_log_new(const struct env *env); /* NULL: out of memory */
void fault_log_free(struct fault_log *l);               /* NULL is fine */

/* What the kernel has logged since the last call. */
void fault_log_read(struct fault_log *l);
/* To the cards of this snapshot; what is about others waits for them. */
void fault_log_deliver(struct fault_log *l, struct health_history *to, const struct snapshot *s);

/* What was read by a daemon before this one is not news. */
void fault_log_skip(struct fault_log *l, struct health_log_mark until);
struct health_log_mark fault_log_mark(const struct fault_log *l);

/* There are cards that it could be about, and it can't be read. */
bool fault_log_is_unread(const struct fault_log *l);
/* "read", "denied", "absent", "skipped": no card here is this machine's */
const char *fault_log_state(const struct fault_log *l);
const char *fault_log_message(const struct fault_log *l); /* what to do about it: a sentence; "" fine */
