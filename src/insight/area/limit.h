/* SPDX-License-Identifier: Apache-2.0
 * What limits one process on one GPU at one moment: a pure function of the GPU's readings, the process's share of them, and what it
 * was doing on its host.
 *
 *   the GPU, or what connects it, is at work for most of the time ──▶ compute, bandwidth, power, copies, ...
 *   it is not ──▶ the host is examined (limit_wants_host)         ──▶ CPU, loaders, disk, quota, ...
 *
 * Utilization only says that some kernel or copy was there. Where the GPU counts what its units do (profiling counters), those
 * tell; elsewhere power and memory activity do, with less confidence. Thresholds come from known programs on an H200;
 * docs/limits.md gives them to users.
 */
#pragma once

#include "insight/area/area.h"

struct limit_look {
    enum limit code; /* LIMIT_UNJUDGED: nothing can be said of the process */
    double confidence;
};

enum { LINK_FULL = 600 }; /* permille of what a PCIe link carries */
/* Bytes a second that the GPU's PCIe link carries in one direction; 0 unknown. */
int64_t limit_link_capacity(const struct gpu *gpu);
int64_t limit_link_generation(const struct gpu *gpu); /* the one that counts: a link at rest is slow */

/* `host` may be NULL. */
struct limit_look limit_detect(const struct gpu *gpu, const struct process *p, const struct host *host);
/* Whether what the process does on its host would tell more: its GPU does not limit it. */
bool limit_wants_host(const struct gpu *gpu, const struct process *p);
/* What would tell where nothing does: "counters of the GPU's units (Hopper and later)". NULL: nothing is missing. */
const char *limit_missing(const struct gpu *gpu, const struct process *p);

/* "waits for the disk (1.2 GB/s)": what it does, behind its name. */
bool limit_say(struct text *s, const struct gpu *gpu, const struct process *p);
/* One line for each reading that tells; how many. */
size_t limit_evidence(const struct gpu *gpu, const struct process *p, char lines[WHY_EVIDENCE_MAX][WHY_LINE_SIZE]);
/* The process that the GPU, or what connects it, waits for; NULL: the GPU is at work, or nothing is known well enough. */
const struct process *limit_waiting(const struct gpu *gpu);

/* "GPU 0 is mostly waiting: train.py (alice) computes in Python while the GPU waits. 19%, 216 W"; false: nothing to say. */
bool answer_limit(struct text *s, const struct facts *f, struct why_part *part);

enum { LIMIT_ADVICE_MAX = 3 };
/* Returns the number of lines; a line needs its evidence. */
size_t limit_advice(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                    char lines[LIMIT_ADVICE_MAX][WHY_LINE_SIZE]);
