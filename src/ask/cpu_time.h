/* SPDX-License-Identifier: Apache-2.0
 * Where a program spends its CPU time, for a person who asks: sampled here, else by the daemon, which may sample other users'.
 */
#pragma once

#include "ask/session.h"
#include "host/evidence/address_samples.h"

enum { CPU_TIME_PROCESSES = 3 };

/* Of the programs that use a CPU: at most CPU_TIME_PROCESSES, those that matter most on their GPU. Returns how many. */
size_t cpu_time_processes(const struct snapshot *now, int only, const struct process *ret[CPU_TIME_PROCESSES]);
/* A sentence about one of them: what was found, or what would permit it. Takes `ms`; a daemon takes a second. */
void cpu_time_words(struct cli *cli, struct session *session, const struct process *p, int64_t ms, char words[ADDRESS_WORDS]);
