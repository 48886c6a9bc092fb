/* SPDX-License-Identifier: Apache-2.0
 * The arena: a list of blocks, each handed out from its front.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

#include "base/cleanup.h"

enum { BLOCK_BYTES = 16384, ALIGNMENT = alignof(max_align_t) };

struct arena_block {
    struct arena_block *next;
    size_t used, capacity;
    alignas(max_align_t) char bytes[];
};

void arena_done(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
    a->used = 0;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > a->max || a->used > a->max - size)
        return NULL;
    size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arena_block *block = a->blocks;
    if (!block || block->capacity - block->used < whole) {
        size_t capacity = MAX_OF(whole, (size_t)BLOCK_BYTES);
        block = calloc(1, sizeof *block + capacity);
        if (!block)
            return NULL;
        block->capacity = capacity;
        block->next = a->blocks;
        a->blocks = block;
    }
    void *at = block->bytes + block->used;
    block->used += whole;
    a->used += whole;
    return at;
}

char *arena_copy(struct arena *a, struct str s)
{
    char *at = arena_alloc(a, s.len + 1);
    if (at && s.len)
        memcpy(at, s.at, s.len);
    return at;
}
