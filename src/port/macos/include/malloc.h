/* SPDX-License-Identifier: Apache-2.0
 * Returning free memory to the system; macOS decides itself how to keep it.
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
