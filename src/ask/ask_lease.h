/* SPDX-License-Identifier: Apache-2.0
 * How a command gets room on GPUs: it checks, and waits in the queue if there is none. Only the first in line polls the GPUs; each
 * of the others sleeps until its predecessor is gone.
 */
#pragma once

#include "ask/session.h"
#include "lease/lease_state.h"
#include "lease/lease_use.h"

struct lease_taker {
    struct cli *cli;
    struct lease_dir dir;
    enum lease_stage stage;
    struct lease wish;  /* id, kind, number of GPUs, memory, ...; lease_take() fills in `gpus` */
    int64_t timeout_ms; /* limit of the wait for room; -1: none, 0: don't wait */
    int64_t plan_ms;    /* expected run time of the program; 0: unknown */
    int fd;             /* file of the waiting lease; -1: not waiting */
    bool simulated;
    struct capacity *capacity; /* at the time it was granted */
    struct room_answer answer;
};

/* Fills in what all requests share: user, time, GPUs (--gpu). */
int lease_taker_init(struct lease_taker *t, struct cli *cli, enum lease_kind kind, struct error *err);
void lease_taker_done(struct lease_taker *t);

/* 0: there is room, `wish` has its GPUs, and the caller writes it; the lock excludes other processes until lease_dir_unlock().
 * -EAGAIN: no room now; -ENOSPC: never. While waiting, a signal or the timeout ends the process and gives up its place.
 */
int lease_take(struct lease_taker *t, struct error *err);
/* How the start went (EVENT_DONE, EVENT_FAILED), and that it is over (EVENT_END): then removes its record. */
void lease_taker_tell(struct lease_taker *t, enum lease_event event);

/* "NAME=VALUE" lines that restrict a program to these GPUs; false if that is not possible. */
bool lease_environment(const struct lease_taker *t, struct buf *out);

/* Starts the timeout that ends the process. */
void lease_taker_set_timeout(const struct lease_taker *t);
/* While waiting, signals and the timeout give up the place in the queue; switch off before starting a program. */
void lease_taker_handle_signals(const struct lease_taker *t, bool on);
/* Closes the file of the waiting lease, which wakes the next in line. */
void lease_taker_leave_queue(struct lease_taker *t);

/* Leases memory on that GPU for two minutes or until used, for a script that then starts a program. False: other leases need it.
 * If leases can't be written, the driver's answer stands. */
bool lease_give_room(struct cli *cli, const struct snapshot *s, const struct capacity_gpu *gpu, int64_t bytes);

/* All leases of this host or of --host: from a daemon, or from the directory. -ENOENT: there is no directory. */
int lease_ask_list(struct cli *cli, struct lease_list *ret, struct error *err);
