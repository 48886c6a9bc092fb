/* SPDX-License-Identifier: Apache-2.0
 * qsort_r(): macOS swaps the last two parameters.
 */
#pragma once

#include_next <stdlib.h>

typedef int (*gnu_compare)(const void *, const void *, void *);
void gnu_qsort_r(void *rows, size_t count, size_t size, gnu_compare compare, void *user);
#define qsort_r gnu_qsort_r
