/* SPDX-License-Identifier: Apache-2.0
 * Checks of several GPUs at once: starts a helper for each, reads what they write, watches the GPUs meanwhile, and ends helpers
 * that are silent, too hot, late or no longer wanted. Returns when all have ended, or can't be ended.
 */
#pragma once

#include <signal.h>

#include "check/helper.h"
#include "model/snapshot.h"

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
