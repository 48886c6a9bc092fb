/* SPDX-License-Identifier: Apache-2.0
 * An arena: memory for things that live and die together, with a maximum. Nothing is freed one by one.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t used; /* bytes handed out */
    size_t max;
};

#define ARENA(maximum) ((struct arena){.max = (maximum)})

void arena_done(struct arena *a);

/* Zeroed, aligned for any type; NULL when out of memory or beyond the maximum. */
void *arena_alloc(struct arena *a, size_t size);
/* A terminated copy; NULL like arena_alloc. */
char *arena_copy(struct arena *a, struct str s);
