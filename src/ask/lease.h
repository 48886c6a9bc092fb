/* SPDX-License-Identifier: Apache-2.0
 * How a command gets room on GPUs: it looks, and if there is none it waits in the queue. Those behind the first sleep until the one
 * in front of them has gone; only the first looks at the GPUs.
 */
#pragma once

#include "ask/session.h"
#include "lease/lease_use.h"

struct lease_taker {
    struct cli *cli;
    struct lease_dir dir;
    struct lease wish;  /* id, kind, number of GPUs, memory, ...; `gpus` is filled in here */
    int64_t timeout_ms; /* to wait for room; -1: as long as it takes, 0: not at all */
    int64_t plan_ms;    /* how long a program will run; 0: not known */
    int fd;             /* of the lease that waits; -1: it does not */
    bool simulated;
    struct capacity *capacity; /* when it was given */
    struct room_answer answer;
};

/* Fills in what is common to all wishes: who, when, which GPUs (--gpu). */
int lease_taker_init(struct lease_taker *t, struct cli *cli, enum lease_kind kind, struct error *err);
void lease_taker_done(struct lease_taker *t);

/* 0: there is room, `wish` has its GPUs and is to be written; no other process decides until lease_dir_unlock(). -EAGAIN: there is
 * none now; -ENOSPC: there never will be. A signal or the timeout ends the process while it waits, and its place in the queue with
 * it.
 */
int lease_take(struct lease_taker *t, struct error *err);

/* "NAME=VALUE" lines for a program that is to use these GPUs; false: there is no way to tell it. */
bool lease_environment(const struct lease_taker *t, struct buf *out);

/* From now on the timeout ends the process. */
void lease_taker_set_timeout(const struct lease_taker *t);
/* While it waits, signals and the timeout end its place in the queue; off before a program is started. */
void lease_taker_handle_signals(const struct lease_taker *t, bool on);
/* Closes the file of the lease that waits: who is next wakes. */
void lease_taker_leave_queue(struct lease_taker *t);

/* Leases so much memory on that GPU for two minutes, or until it is used: for a script that starts a program then. False: others
 * have it. Where no lease can be kept, the answer is that of the driver. */
bool lease_give_room(struct cli *cli, const struct snapshot *s, const struct capacity_gpu *gpu, int64_t bytes);

/* All leases of this host or of --host: a daemon's list, else the directory itself. -ENOENT: there is no directory. */
int lease_ask_list(struct cli *cli, struct lease_list *ret, struct error *err);
