/* SPDX-License-Identifier: Apache-2.0
 * Rates from counters of things that come and go (network interfaces, disks): what each grew by since the last time, summed up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { COUNTERS_MAX = 512, COUNTER_NAME_SIZE = 40 };

struct counter {
    char name[COUNTER_NAME_SIZE];
    bool counted;     /* the caller's choice, made when it was first seen */
    bool seen;        /* in this round */
    uint64_t in, out; /* of the last round */
    uint64_t own;     /* a third one, which the caller follows by itself */
};

struct counters {
    size_t count;
    struct counter items[COUNTERS_MAX]; /* further ones are left out of the sum */
};

/* The counter of a name; *is_new when it was not there before. NULL when there are too many. */
struct counter *counters_find(struct counters *c, struct str name, bool *is_new);
/* Takes the new values and, unless only_start, adds what was gained to the sums; a counter that was reset starts again. */
void counter_advance(struct counter *c, bool only_start, uint64_t in, uint64_t out, uint64_t *in_sum, uint64_t *out_sum);
/* Forgets those that were not advanced since the last call. */
void counters_sweep(struct counters *c);
