/* SPDX-License-Identifier: Apache-2.0
 * Where a program spends its CPU time: sampled here, or by the daemon, which may sample other users' processes.
 */
#pragma once

#include "ask/session.h"
#include "host/evidence/address_samples.h"

enum { CPU_TIME_PROCESSES = 3 };

/* Picks at most CPU_TIME_PROCESSES programs that use a CPU, the most important ones on their GPU. Returns how many. */
size_t cpu_time_processes(const struct snapshot *now, int only, const struct process *ret[CPU_TIME_PROCESSES]);
/* Describes the result for one of them, or how to permit sampling. Samples for `ms`; a daemon takes a second. */
void cpu_time_words(struct cli *cli, struct session *session, const struct process *p, int64_t ms, char words[ADDRESS_WORDS]);
