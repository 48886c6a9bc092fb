/* SPDX-License-Identifier: Apache-2.0
 * Who gets which GPU. Pure: leases, GPUs and a wish in; GPUs, what it waits for, or why it never can be out.
 *
 *   room of a GPU    what is free, and what programs with a lease hold already
 *   counted for it   of each user the larger of what is reserved and what its programs have leased (or hold, where that is more)
 *
 * Those who wait are served in the order of their tickets: a later wish gets no GPU that an earlier one could use, so that a large
 * wish is not passed by small ones for ever. Reservations count for the time that they are made for; a program whose end is not
 * known goes on for ever. A user's programs may use what that user has reserved.
 */
#pragma once

#include "insight/fit/capacity.h"
#include "lease/lease.h"

enum { ROOM_WORDS = 320 };

struct room_gpu {
    const struct capacity_gpu *card; /* a whole card or an instance */
    char in_use_by[CAPACITY_WORDS];  /* a program without a lease that needs it; "" none. Only exclusive wishes mind */
};

enum room_verdict { ROOM_GRANTED, ROOM_WAITS, ROOM_NEVER };

struct room_answer {
    enum room_verdict verdict;
    size_t count;
    size_t gpus[LEASE_GPUS_MAX];               /* positions in the list of GPUs, in its order */
    struct reading free_bytes[LEASE_GPUS_MAX]; /* of each, what programs without a lease leave */
    char words[ROOM_WORDS];                    /* what it waits for, or why never: a sentence without a full stop */
};

/* How a lease calls the GPU: UUID, else PCI address, else "". */
const char *room_key(const struct capacity_gpu *gpu);

/* `wish`: a lease of which `gpus` are those that it may get (none: any). It may be among the leases itself. */
void room_find(const struct lease *wish, const struct lease *leases, size_t lease_count, const struct room_gpu *gpus,
               size_t gpu_count, struct wall now, struct room_answer *ret);

/* The nearest of those in front of it that could take what it waits for; NULL: it is its turn. Of leases in the order of their
 * tickets. */
const struct lease *room_before(const struct lease *wish, const struct lease *leases, size_t lease_count);
