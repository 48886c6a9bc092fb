/* SPDX-License-Identifier: Apache-2.0
 * Records what the guard is about to do, synced before it acts, so that the next start knows after a crash. One small file per
 * worker, replaced atomically at each step: it always has one complete entry.
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

/* Something that was loaded, and how to reload it. */
struct journal_item {
    char id[JOURNAL_ITEM_SIZE];
    char name[JOURNAL_ITEM_SIZE];   /* the name to load it by; "": the id */
    char extra[JOURNAL_EXTRA_SIZE]; /* its settings, a JSON object; "": none */
};

struct journal_entry {
    enum guard_state state;
    char step[32];                                      /* within the state: "lock", "checkpoint", "unload", ... */
    char acted[JOURNAL_METHODS_MAX][JOURNAL_NAME_SIZE]; /* methods that acted, in order: undone in reverse */
    size_t acted_count;
    struct journal_item items[JOURNAL_ITEMS_MAX]; /* models to reload */
    size_t item_count;
    struct claim_identity pids[CLAIM_WORKER_PIDS]; /* the worker's processes at that time */
    size_t pid_count;
    struct claim_identity leader; /* of a worker started by whirr: found again instead of started twice */
    struct {
        int gpu; /* index in this run of the program; -1: not listed */
        int64_t bytes;
        char uuid[GPU_UUID_SIZE]; /* identifies it across runs; "" unknown */
    } gpus[JOURNAL_GPUS_MAX];     /* the GPUs it was on */
    size_t gpu_count;
    int64_t bytes;                  /* memory the worker held on all of them */
    struct claim_identity claimant; /* the process it drained for; pid 0: no particular one */
    bool held;                      /* by a person */
    bool idle;                      /* because no client asked for it */
};

struct journal {
    char path[512]; /* "": keeps nothing (a dry run) */
};

/* DIR/NAME.journal; creates DIR (0700). Replaces odd characters in the name. */
int journal_open(struct journal *j, const char *dir, const char *name, struct error *err);
/* Synced to disk when it returns 0. */
int journal_write(const struct journal *j, const struct journal_entry *entry, struct error *err);
/* -ENOENT: nothing was in progress. -EBADMSG: damaged, moved aside. Others: unreadable now, unchanged. */
int journal_read(const struct journal *j, struct journal_entry *entry, struct error *err);
