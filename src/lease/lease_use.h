/* SPDX-License-Identifier: Apache-2.0
 * Which programs on the GPUs run under which lease, and what they hold.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "lease/lease_assign.h"
#include "lease/lease_dir.h"
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

/* ---- vram_cap.c: memory of GPUs that the kernel lets a program have: dmem.max of a control group of its own, where kernel and
 * driver have it. Beyond it, the driver moves memory to the host's, or refuses it. ---- */

struct vram_cap {
    char folder[PATH_SIZE]; /* the control group; "": none */
};

/* 0, or why this kernel can limit no memory of GPUs. */
int vram_cap_possible(const struct env *env, struct error *err);
/* Moves the process into a group of its own that may have `bytes` on each of these GPUs; on errors there is no group. */
int vram_cap_set(const struct env *env, const char *const *addresses, size_t count, int64_t bytes, int32_t pid,
                 struct vram_cap *ret, struct error *err);
/* Removes the group once the program is over. One whose children still run stays, and the kernel keeps limiting them. */
void vram_cap_done(const struct vram_cap *cap);
