/* SPDX-License-Identifier: Apache-2.0
 * What a GPU program does on its host: what its threads wait for, what its children do, what its control group allows. Read from
 * procfs, sysfs and cgroupfs below the sysroot, without tracing, attaching or stopping; every round has a fixed budget of files.
 *
 *   evidence_begin(all programs on GPUs)  ──▶  evidence_look(one of them) ...  ──▶  the next round
 */
#pragma once

#include "base/env.h"
#include "base/str.h"
#include "model/host_evidence.h"

/* A process by PID and start: the PID alone may be reused. */
struct evidence_target {
    int32_t pid;
    int64_t start_key;
};

enum { EVIDENCE_TARGETS_MAX = 256 };

struct evidence_reader; /* keeps counters between looks; for a single thread */

struct evidence_reader *evidence_new(const struct env *env); /* NULL: out of memory */
void evidence_free(struct evidence_reader *r);

struct evidence_round {
    const struct evidence_target *all; /* all programs on GPUs: none of them counts as another's child */
    size_t count;
    size_t looked_at; /* how many of them share the round's file budget */
    bool quick;       /* looks are milliseconds apart, because a person waits */
    int64_t gap_ms;   /* since the previous round: programs not looked at for several rounds are dropped */
};
void evidence_begin(struct evidence_reader *r, const struct evidence_round *round);
/* What a process did since the previous look and over the last few. */
void evidence_look(struct evidence_reader *r, const struct evidence_target *target, struct host_evidence *ret);
/* Processes likely to use a GPU, before its driver has answered: those with its device file open, as far as visible, searched
 * among the largest address spaces, since mapping a GPU takes gigabytes. Returns their number. */
size_t evidence_candidates(struct evidence_reader *r, struct evidence_target *ret, size_t max);
