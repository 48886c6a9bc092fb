/* SPDX-License-Identifier: Apache-2.0
 * Which programs on the GPUs run under which lease, and what they hold of it.
 */
#pragma once

#include "base/env.h"
#include "lease/lease_dir.h"
#include "lease/lease_room.h"
#include "model/snapshot.h"

struct lease_program {
    int32_t pid;
    int64_t start_key;
    char lease[LEASE_ID_SIZE]; /* "": none */
};

struct lease_programs {
    size_t count, capacity;
    struct lease_program *at;
};
void lease_programs_done(struct lease_programs *p);

/* Looks for the leases of all programs in the snapshot: of a program, that of the process which it descends from. Reads /proc, and
 * only while a program has a lease. 0 or -ENOMEM. */
int lease_programs_find(struct lease_programs *p, const struct lease_list *list, const struct env *env, const struct snapshot *s);

/* Puts it into a snapshot: the lease of each program (by `programs`, else by what its user has reserved), and of each GPU the lease
 * that keeps others off it. */
void lease_show(const struct lease_list *list, const struct lease_programs *programs, struct snapshot *s);

/* Adds the leases of a scenario of the simulator, which are in the snapshot alone. 0 or -ENOMEM. */
int lease_add_simulated(struct lease_list *list, const struct snapshot *s);

/* What the programs of each lease hold on its GPUs, by such a snapshot. */
void lease_count_use(struct lease_list *list, const struct snapshot *s);

/* The GPUs that can be leased; `rooms` has room for all of the capacity. */
void lease_rooms(const struct capacity *c, const struct snapshot *s, struct room_gpu *rooms);
