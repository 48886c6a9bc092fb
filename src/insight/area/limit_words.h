/* SPDX-License-Identifier: Apache-2.0
 * What limits a process, in words: what it does, the evidence, and which finding that is.
 */
#pragma once

#include "insight/area/limit.h"
#include "insight/area/part.h"
#include "insight/facts/words.h"

/* A limit is spoken of from here on: likely, and for most of the time. */
#define LIMIT_SAID 0.6
enum { LIMIT_SAID_PERMILLE = 500 };

/* "waits for the disk (1.2 GB/s)": what it does, behind its name. */
bool limit_say(struct text *s, const struct gpu *gpu, const struct process *p);
/* One line for each reading that tells; how many. */
size_t limit_evidence(const struct gpu *gpu, const struct process *p, char lines[WHY_EVIDENCE_MAX][WHY_LINE_SIZE]);
/* "99% busy, 1% at work", where the units of the GPU were counted and the two differ; false: nothing to say. */
bool limit_say_work(struct text *s, const struct gpu *gpu);

/* The process that the GPU, or what connects it, waits for; NULL: the GPU is at work, or nothing is known well enough. */
const struct process *limit_waiting(const struct gpu *gpu);
/* The finding that a limit is; false: it is none, or another detector finds it. */
bool limit_finding(enum limit limit, enum finding_code *ret);
