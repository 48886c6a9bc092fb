/* SPDX-License-Identifier: Apache-2.0
 * Who gets which GPU. Pure: takes leases, GPUs and a request; returns GPUs, what the request waits for, or why it can never
 * succeed.
 *
 *   room of a GPU    free memory plus what programs with a lease already hold
 *   counted for it   per user, the larger of what is reserved and what the user's programs have leased (or hold, if more)
 *
 * Waiting requests are served in ticket order: a later one gets no GPU that an earlier one could use, so that small requests can't
 * overtake a large one forever. Reservations count for their time; a program without a known end runs forever. A user's programs
 * may use what that user has reserved.
 */
#pragma once

#include "insight/fit/capacity.h"
#include "lease/lease.h"

enum { ROOM_WORDS = 320 };

struct room_gpu {
    const struct capacity_gpu *card; /* a whole card or an instance */
    char in_use_by[CAPACITY_WORDS];  /* a program without a lease that needs it; "" none. Matters only to exclusive requests */
};

enum room_verdict { ROOM_GRANTED, ROOM_WAITS, ROOM_NEVER };

struct room_answer {
    enum room_verdict verdict;
    size_t count;
    size_t gpus[LEASE_GPUS_MAX];               /* positions in the GPU list, in its order */
    struct reading free_bytes[LEASE_GPUS_MAX]; /* memory that programs without a lease leave, for each */
    char words[ROOM_WORDS];                    /* what it waits for, or why it never can succeed: a sentence without a full stop */
};

/* `wish`: a lease whose `gpus` are the allowed ones (none: any). It may be among the leases itself. */
void room_find(const struct lease *wish, const struct lease *leases, size_t lease_count, const struct room_gpu *gpus,
               size_t gpu_count, struct wall now, struct room_answer *ret);

/* The nearest earlier request that could take what this one waits for; NULL: it is its turn. `leases` are in ticket order. */
const struct lease *room_before(const struct lease *wish, const struct lease *leases, size_t lease_count);
