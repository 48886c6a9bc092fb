/* SPDX-License-Identifier: Apache-2.0
 * Rates from counters of things that come and go (network interfaces, disks): sums what each grew by since the last round.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { COUNTERS_MAX = 512, COUNTER_NAME_SIZE = 40 };

struct counter {
    char name[COUNTER_NAME_SIZE];
    bool counted;     /* the caller's choice when first seen */
    bool seen;        /* in this round */
    uint64_t in, out; /* of the last round */
    uint64_t own;     /* a third value for the caller's use */
};

struct counters {
    size_t count;
    struct counter items[COUNTERS_MAX]; /* the sum ignores further ones */
};

/* The counter of this name; *is_new if just added. NULL: too many. */
struct counter *counters_find(struct counters *c, struct str name, bool *is_new);
/* Stores the new values and, unless only_start, adds the increments to the sums; a reset counter restarts. */
void counter_advance(struct counter *c, bool only_start, uint64_t in, uint64_t out, uint64_t *in_sum, uint64_t *out_sum);
/* Removes counters not advanced since the last call. */
void counters_sweep(struct counters *c);
