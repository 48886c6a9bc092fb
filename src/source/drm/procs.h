/* SPDX-License-Identifier: Apache-2.0
 * The processes of /proc and the graphics devices they have open.
 */
#pragma once

#include "base/env.h"
#include "source/drm/clients.h"
#include "source/sysfs/sysfs_card.h"

enum { PROCS_MAX = 65536, PROC_FDS_MAX = 4096, PROC_WALK_MS = 10000, PROC_WALK_BLIND_MS = 2000 };

enum { FD_UNREAD = -1, FD_SILENT = -2 };

struct held_fd {
    int32_t fd;
    int32_t minor;  /* of the device node; in a recorded tree, from its name */
    int32_t client; /* index, FD_UNREAD, or FD_SILENT: its driver has no statistics (retried with the next walk) */
};

struct proc {
    int32_t pid;
    bool hidden, kernel_thread, known;
    int8_t broker;  /* 1: opens devices for others, 0: doesn't, -1: not checked */
    uint64_t inode; /* changes when a PID is reused */
    uint64_t mark;  /* fingerprint of its descriptor list; 0: this kernel has none */
    struct mono walked;
    struct held_fd *fds;
    size_t fd_count;
};

struct procs {
    const struct env *env;
    int dir;           /* of /proc; -1 not open */
    struct proc *list; /* by pid */
    size_t count;
    uint64_t walks;
};

void procs_init(struct procs *p, const struct env *env);
void procs_done(struct procs *p);
/* Updates the list; scans the descriptors of new and changed processes. 0 or -errno. */
int procs_update(struct procs *p, struct mono now);
/* Programs that open devices for others and keep them open (logind, seatd). */
bool proc_is_broker(const struct procs *p, struct proc *proc);
