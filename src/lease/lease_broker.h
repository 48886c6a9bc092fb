/* SPDX-License-Identifier: Apache-2.0
 * Decides about leases of GPUs for all users of a host: whirr-control runs it where it is installed as a service. A user's command
 * looks for room (lease_assign.h) and proposes a lease; this one process grants it, or refuses it because another request was
 * faster. It believes the kernel about who asks. A client can understate how full a GPU is, but not get what another lease has
 * alone.
 *
 *   begin     makes the file that the lease will live in, and passes on a descriptor: while any process has that open, it lives
 *   commit    checks the limits of the user and the room, and writes the lease
 *   end       of a reservation by its user, root, or the daemon's user; of a program only once it is gone
 *
 * The journal is locked for as long as this process lives: no second one decides. Killed at any point, it leaves a journal from
 * which the next one goes on: leases whose programs live keep living.
 */
#pragma once

#include "lease/lease_dir.h"

struct lease_broker_limits {
    int64_t held_max, waiting_max; /* leases of one user */
};

struct lease_broker {
    struct lease_dir dir;
    struct lease_broker_limits limits;
    int watch;              /* inotify: a program has closed its descriptor */
    struct lease_list list; /* as in the journal, which no one else writes */
    int *files;             /* of those that live with a program, open to see whether it does; else -1 */
    size_t file_capacity;
    struct wall next; /* when the next one ends by time; ms 0: none does */
};
#define LEASE_BROKER_CLOSED ((struct lease_broker){.dir = LEASE_DIR_CLOSED, .watch = -1})

struct lease_broker_peer {
    uid_t uid;
    const char *user;
    bool trusted; /* root, the daemon's user: may end leases of others */
};

/* A file that was begun and isn't committed. */
struct lease_broker_begun {
    int fd; /* -1: none */
    char id[LEASE_ID_SIZE];
};

/* Opens journal and copies, and takes over leases of earlier versions. */
int lease_broker_open(struct lease_broker *b, const char *configured, struct lease_broker_limits limits, struct error *err);
void lease_broker_close(struct lease_broker *b);

/* *ret_fd: to be passed to the client, then closed. */
int lease_broker_begin(struct lease_broker *b, const struct lease_broker_peer *peer, const char *id,
                       struct lease_broker_begun *begun, int *ret_fd, struct error *err);
void lease_broker_cancel(struct lease_broker *b, struct lease_broker_begun *begun);
/* *l: as it was written. -EAGAIN: there is no room for it; -EDQUOT, -ENOSPC: too many. */
int lease_broker_commit(struct lease_broker *b, const struct lease_broker_peer *peer, struct lease *l,
                        struct lease_broker_begun *begun, struct error *err);
int lease_broker_end(struct lease_broker *b, const struct lease_broker_peer *peer, const char *id, struct error *err);

/* Removes what is over. Call when `watch` is readable, and at `next`. */
void lease_broker_look(struct lease_broker *b);

/* Whether the lease may be granted beside the others; pure. -EAGAIN with what is in the way. */
int lease_broker_judge(const struct lease *l, const struct lease_list *others, struct wall now, struct error *err);
/* What an unknown client may claim of a lease, and what is known better; pure. -EINVAL, -EPERM. */
int lease_broker_correct(struct lease *l, const struct lease *before, const struct lease_broker_peer *peer, struct wall now,
                         struct error *err);
