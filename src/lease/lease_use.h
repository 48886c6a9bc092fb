/* SPDX-License-Identifier: Apache-2.0
 * Which programs on the GPUs run under which lease, and what they hold.
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

/* Finds the leases of all programs in the snapshot: a program has the lease of the process it descends from. Reads /proc, and
 * only if some program has a lease. 0 or -ENOMEM. */
int lease_programs_find(struct lease_programs *p, const struct lease_list *list, const struct env *env, const struct snapshot *s);

/* Adds leases to a snapshot: to each program (by `programs`, else by its user's reservations), and to each GPU the lease that
 * blocks others. */
void lease_show(const struct lease_list *list, const struct lease_programs *programs, struct snapshot *s);

/* Adds the leases of a simulated scenario, which exist only in the snapshot. 0 or -ENOMEM. */
int lease_add_simulated(struct lease_list *list, const struct snapshot *s);

/* Counts what the programs of each lease hold on its GPUs, from such a snapshot. */
void lease_count_use(struct lease_list *list, const struct snapshot *s);

/* The GPUs that can be leased; `rooms` must fit all of the capacity. */
void lease_rooms(const struct capacity *c, const struct snapshot *s, struct room_gpu *rooms);
