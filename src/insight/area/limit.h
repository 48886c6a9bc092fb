/* SPDX-License-Identifier: Apache-2.0
 * What limits one process on one GPU at one moment: a pure function of the GPU's readings, the process's share of them, and what it
 * was doing on its host.
 *
 *   the GPU, or what connects it, is at work for most of the time ──▶ limit_gpu.c   compute, bandwidth, power, copies, ...
 *   it is not ──▶ the host is looked at (limit_wants_host)        ──▶ limit_host.c  CPU, loaders, disk, quota, ...
 *
 * Utilization only says that some kernel or copy was there. Where the GPU counts what its units do (profiling counters), those
 * tell; elsewhere power and memory activity do, with less confidence. Thresholds come from known programs on an H200;
 * docs/limits.md gives them to users.
 */
#pragma once

#include "model/gpu.h"
#include "model/host.h"

struct limit_look {
    enum limit code; /* LIMIT_UNJUDGED: nothing can be said of the process */
    double confidence;
};

/* What the process has of the GPU. Of one that works alone the GPU's own readings; beside others their part by its share. */
struct limit_facts {
    const struct gpu *gpu; /* the card, or the instance that the process is in */
    const struct process *process;
    const struct host *host;    /* pressure on all of it, where the process itself can't be looked at; NULL: not known */
    bool counted;               /* what the units do is counted */
    bool alone;                 /* no other process takes part in the load */
    struct reading util;        /* permille of the time, its own */
    int64_t others;             /* permille of the time that other processes have */
    struct reading engine;      /* a kernel was resident, its own */
    struct reading sm, dram;    /* multiprocessors at work, memory bandwidth */
    int64_t tensor, fp32, pipe; /* the busiest of all arithmetic pipes in `pipe` */
    struct reading in, out;     /* permille of what the PCIe link carries; to and from the GPU */
    struct reading power;       /* permille of the GPU's limit */
};

void limit_facts_collect(struct limit_facts *f, const struct gpu *gpu, const struct process *p);

/* Of the GPU and its links alone; LIMIT_UNJUDGED: they do not limit the process. */
struct limit_look limit_of_gpu(const struct limit_facts *f);
/* Of a process that its GPU does not limit. */
struct limit_look limit_of_host(const struct limit_facts *f);

/* All of it. `host` may be NULL. */
struct limit_look limit_detect(const struct gpu *gpu, const struct process *p, const struct host *host);
/* Whether what the process does on its host would tell more: its GPU does not limit it. */
bool limit_wants_host(const struct gpu *gpu, const struct process *p);
/* What would tell where nothing does: "counters of the GPU's units (Hopper and later)". NULL: nothing is missing. */
const char *limit_missing(const struct gpu *gpu, const struct process *p);

/* Bytes a second that the PCIe link carries in one direction; 0 unknown. */
int64_t limit_link_capacity(const struct gpu *gpu);
