/* SPDX-License-Identifier: Apache-2.0
 * The helper process of a check: see check_helper.c.
 */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "base/env.h"
#include "insight/check/judge.h"
#include "model/snapshot.h"

struct check_order {
    char uuid[GPU_UUID_SIZE], pci[GPU_PCI_SIZE], api[16]; /* api "": the first that shows this GPU */
    enum check_level level;
    unsigned tests;
    double seconds, deadline_s;
    uint32_t seed;
    bool fold;                      /* every step of the arithmetic counts */
    bool display;                   /* leave more memory */
    int64_t host_bytes, most_bytes; /* of memory that the host has to spare; at most so much of the GPU's (0: all) */
};

enum { ORDER_TEXT = 512 };
/* As an argument of the helper's command line. */
void check_order_write(const struct check_order *order, char text[ORDER_TEXT]);
bool check_order_read(const char *text, struct check_order *order);

/* Runs in a process of its own, which may hang or crash. Returns its exit status. */
int check_helper(const struct env *env, const struct check_order *order, FILE *out);

/* Checks of several GPUs at once: starts a helper for each, reads what they write, watches the GPUs meanwhile, and ends helpers
 * that are silent, too hot, late or no longer wanted. Returns when all have ended, or can't be ended. */

enum { CHECK_LINE_MAX = 64 << 10 };

struct check_target {
    struct check_order order;
    struct check_run run;
    struct gpu_id id;
    bool skipped;      /* run has the reason already */
    struct gpu before; /* owned */
    bool ended;        /* the rest is private */
    struct mono heard, stop_at;
    enum check_end why_stopped;
    int32_t pid;
    int fd;
    bool over, described, left_behind;
    struct buf line;
};

struct check_conduct {
    const struct env *env;
    struct check_target *targets;
    size_t count;
    struct mono deadline;                                                     /* for all; ns 0: none */
    const struct snapshot *(*look)(void *user);                               /* the GPUs now; NULL: can't be read */
    void (*progress)(void *user, const struct check_target *t, size_t count); /* a few times a second; may be NULL */
    uint64_t seen;                                                            /* number of the newest look */
    const volatile sig_atomic_t *stop;                                        /* wanted by a person */
    void *user;
};

void check_conduct(struct check_conduct *c);
/* Frees what targets own. */
void check_target_done(struct check_target *t);
