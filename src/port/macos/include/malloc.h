/* SPDX-License-Identifier: Apache-2.0
 * Giving memory back that is free; how it is kept is the system's own choice.
 */
#pragma once

#include <stddef.h>

enum { M_ARENA_MAX, M_MMAP_THRESHOLD };

int malloc_trim(size_t pad);

static inline int mallopt(int what, int value)
{
    (void)what;
    (void)value;
    return 0;
}
