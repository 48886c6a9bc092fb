/* SPDX-License-Identifier: Apache-2.0
 * Who else needs the GPU? Pure: takes a snapshot, a baseline and signals; returns a verdict with its reason.
 *
 * "Any other process" would never give a desktop its models back: compositors, shells and browsers always hold some memory. So a
 * foreign process counts only if it needs the GPU, by these thresholds (claim = "needs"):
 *
 *   compute    256 MiB or 5 % of the compute units
 *   graphics   1 GiB, or 512 MiB together with 20 %
 *   a game that announced itself (Steam, GameMode, `whirr run`)                      counts at once
 *   free memory below the reserve while others hold more than at the start           counts
 *   memory that no listed process holds, 512 MiB more than at the start              counts
 *
 * Processes present when the guard started, and desktop shells by name, count only with what they took beyond that. Other workers
 * under the same guard don't count: they yield, too.
 */
#pragma once

#include "guard/policy.h"
#include "model/snapshot.h"

enum { CLAIM_WORKER_PIDS = 64, CLAIM_FRIENDS = 256, CLAIM_BASELINE = 256, CLAIM_REASON_SIZE = 256 };

struct claim_limits {
    bool any; /* claim = "any": every other process counts */
    int64_t compute_bytes, compute_permille;
    int64_t graphics_bytes, graphics_busy_bytes, graphics_busy_permille;
    int64_t unattributed_bytes;
    int64_t reserve_bytes; /* 0: none */
};
extern const struct claim_limits claim_limits_default;

struct claim_identity {
    int32_t pid;
    int64_t start_key;
};

/* The worker's current state: all processes of its tree or unit, and the GPUs it is bound to (bit i: index i; 0: those it uses). */
struct claim_worker {
    struct claim_identity pids[CLAIM_WORKER_PIDS];
    size_t pid_count;
    uint64_t gpus[GPU_MAX / 64];
};

bool claim_has_pid(const struct claim_worker *w, int32_t pid);

/* The state at the start, learned once. */
struct claim_baseline {
    bool learned;
    struct {
        struct claim_identity who;
        int gpu;
        int64_t bytes;
    } entries[CLAIM_BASELINE];
    size_t count;
    int64_t unattributed_bytes[GPU_MAX];
    int64_t others_bytes[GPU_MAX];
};

/* Signals beyond the driver's. */
struct claim_signals {
    bool announced;                  /* a `whirr run` is waiting */
    bool gamemode;                   /* GameMode has clients */
    struct claim_identity games[16]; /* processes started by a game launcher */
    size_t game_count;
    struct claim_identity friends[CLAIM_FRIENDS]; /* processes of other guarded workers: they yield on their own */
    size_t friend_count;
    struct claim_identity self;
    int unsure; /* -errno: some processes were unreadable, so it is unknown whether they are the worker's */
};

struct claim {
    enum claim_verdict verdict;
    int gpu;                        /* -1: no particular one */
    int32_t pid;                    /* 0: no particular one */
    size_t others;                  /* foreign processes on the worker's GPUs, whether they need them or not */
    char reason[CLAIM_REASON_SIZE]; /* "blender (pid 4242) holds 3.1 GiB on GPU 0"; also for NONE and UNKNOWN */
};

/* `claimant` (pid 0: none) was there before, too, but is known to need the GPU: exclude it from the baseline. */
void claim_learn(struct claim_baseline *b, const struct snapshot *s, const struct claim_worker *w, struct claim_identity claimant);
struct claim claim_judge(const struct snapshot *s, const struct claim_worker *w, const struct claim_baseline *b,
                         const struct claim_signals *signals, const struct claim_limits *limits);

/* Whether a new process needs the GPU, by the default limits. */
bool claim_process_needs(const struct process *p);

/* Whether any source lists the processes of a GPU (of a sleeping one: once it wakes). Profile "desktop" is useless without. */
bool guard_can_see(const struct snapshot *s);

/* Memory that the worker holds on its GPUs; false if unknown. */
bool claim_worker_bytes(const struct snapshot *s, const struct claim_worker *w, int64_t *ret);
