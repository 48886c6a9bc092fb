/* SPDX-License-Identifier: Apache-2.0
 * What sorts with an argument: that of macOS has the two last ones the other way round.
 */
#pragma once

#include_next <stdlib.h>

typedef int (*gnu_compare)(const void *, const void *, void *);
void gnu_qsort_r(void *rows, size_t count, size_t size, gnu_compare compare, void *user);
#define qsort_r gnu_qsort_r
