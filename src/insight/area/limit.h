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

/* ---- between limit.c, limit_gpu.c and limit_host.c ---- */

/* What the process has of the GPU. Of one that works alone the GPU's own readings; beside others their part by its share. */
struct limit_facts {
    const struct gpu *gpu; /* the card, or the instance that the process is in */
    const struct process *process;
    const struct host *host;    /* pressure on all of it, where the process itself can't be read; NULL: unknown */
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

static inline struct limit_look limit_of(enum limit code, double confidence)
{
    return (struct limit_look){code, confidence};
}

void limit_facts_collect(struct limit_facts *f, const struct gpu *card, const struct process *p);
struct limit_look limit_of_gpu(const struct limit_facts *f);
struct limit_look limit_of_host(const struct limit_facts *f);
bool limited_by_node(const struct limit_facts *f, enum limit on_gpu); /* the NUMA node, whatever was found on the GPU */
/* Kernels so small that launching them takes longer: the engine was in use, the multiprocessors hardly. */
bool limit_kernels_are_tiny(const struct limit_facts *f);

/* A reading of the process on its host; 0: it could not be read. */
static inline int64_t of_host(const struct process *p, enum evidence what)
{
    return p->host && p->host->state == READING_OK ? reading_or(p->host->metric[what], 0) : 0;
}

bool limit_say_gpu(struct text *s, const struct gpu *gpu, const struct process *p);
bool limit_say_host(struct text *s, const struct gpu *gpu, const struct process *p);
const char *limit_rate(int64_t bytes_per_s, char out[SHORT_WORDS]); /* "1.2 GB/s" */

struct limit_lines {
    size_t count, most;
    char (*at)[WHY_LINE_SIZE];
};

void limit_add_line(struct limit_lines *l, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
void limit_gpu_lines(struct limit_lines *l, const struct gpu *gpu, const struct process *p);
void limit_host_lines(struct limit_lines *l, const struct process *p);

/* PyTorch's words only for Python programs, a vendor's command only on its GPUs */
struct limit_advice {
    const struct snapshot *now;
    const struct gpu *gpu;
    const struct process *process;
    bool python;
    int64_t cores;
    struct limit_lines lines;
};

void limit_advise_gpu(struct limit_advice *a);
void limit_advise_host(struct limit_advice *a);
