/* SPDX-License-Identifier: Apache-2.0
 * What the guard is about to do, written down and synced before it does it, so that the next start knows after a crash.
 * One small file a worker, replaced whole at each step: what it holds is always one complete entry.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "guard/claim.h"
#include "guard/policy.h"

enum {
    JOURNAL_ITEMS_MAX = 32,
    JOURNAL_ITEM_SIZE = 256,
    JOURNAL_EXTRA_SIZE = 512,
    JOURNAL_METHODS_MAX = 8,
    JOURNAL_NAME_SIZE = 64,
    JOURNAL_GPUS_MAX = 16
};

/* Something that was loaded, and how to load it again. */
struct journal_item {
    char id[JOURNAL_ITEM_SIZE];
    char name[JOURNAL_ITEM_SIZE];   /* by which it is loaded; "" : the id */
    char extra[JOURNAL_EXTRA_SIZE]; /* its settings, a JSON object; "" : none */
};

struct journal_entry {
    enum guard_state state;
    char step[32];                                      /* within the state: "lock", "checkpoint", "unload", ... */
    char acted[JOURNAL_METHODS_MAX][JOURNAL_NAME_SIZE]; /* methods that have acted, in order: undone last first */
    size_t acted_count;
    struct journal_item items[JOURNAL_ITEMS_MAX]; /* what to load again: models */
    size_t item_count;
    struct claim_identity pids[CLAIM_WORKER_PIDS]; /* the worker's processes then */
    size_t pid_count;
    struct claim_identity leader; /* of a worker that whirr started: found again, it is not started twice */
    struct {
        int gpu; /* index, of this run of the program; -1: not listed */
        int64_t bytes;
        char uuid[GPU_UUID_SIZE]; /* by which it is found again; "" unknown */
    } gpus[JOURNAL_GPUS_MAX];     /* where it was */
    size_t gpu_count;
    int64_t bytes;                  /* memory that the worker held on all of them */
    struct claim_identity claimant; /* who made it drain; pid 0: no process in particular */
    bool held;                      /* by a person */
    bool idle;                      /* because no client asked for it */
};

struct journal {
    char path[512]; /* "" : keeps nothing (a dry run) */
};

/* DIR/NAME.journal; makes DIR (0700). The name's odd characters are replaced. */
int journal_open(struct journal *j, const char *dir, const char *name, struct error *err);
/* On disk when it returns 0. */
int journal_write(const struct journal *j, const struct journal_entry *entry, struct error *err);
/* -ENOENT: nothing was under way. -EBADMSG: damaged; moved aside. Others: it cannot be read now, and is as it was. */
int journal_read(const struct journal *j, struct journal_entry *entry, struct error *err);
