/* SPDX-License-Identifier: Apache-2.0
 * What a program on a GPU does on its host: what its threads wait for, what its children do, what its control group lets it have.
 * Read from procfs, sysfs and cgroupfs below the sysroot; nothing is traced, attached to or stopped, and every round has a fixed
 * number of files that may be read.
 *
 *   evidence_begin(all programs on GPUs)  ──▶  evidence_look(one of them) ...  ──▶  the next round
 */
#pragma once

#include "base/env.h"
#include "base/str.h"
#include "model/host_evidence.h"

/* A process by its number and its start: the number alone may be another one's by now. */
struct evidence_target {
    int32_t pid;
    int64_t start_key;
};

enum { EVIDENCE_TARGETS_MAX = 256 };

struct evidence_reader; /* remembers counters between looks; used from one thread */

struct evidence_reader *evidence_new(const struct env *env); /* NULL: out of memory */
void evidence_free(struct evidence_reader *r);

struct evidence_round {
    const struct evidence_target *all; /* the programs that have a GPU: none of them counts as another's child */
    size_t count;
    size_t looked_at; /* so many of them, which share the round's files */
    bool quick;       /* looks are milliseconds apart, because an answer is waited for */
    int64_t gap_ms;   /* since the round before: what was not looked at for several of them is forgotten */
};
void evidence_begin(struct evidence_reader *r, const struct evidence_round *round);
/* What was seen of a process since the look before, and over the last few. */
void evidence_look(struct evidence_reader *r, const struct evidence_target *target, struct host_evidence *ret);
/* Which processes have a GPU, before its driver has answered: those that hold its device file, as far as that can be seen. Looked
 * for among the largest address spaces, as each has that maps a GPU. Returns how many. */
size_t evidence_candidates(struct evidence_reader *r, struct evidence_target *ret, size_t max);
