/* SPDX-License-Identifier: Apache-2.0
 * Libraries that a host of Linux has and Windows has not: they are part of the program, and found by their names of there.
 */
#pragma once

#include <stdbool.h>

/* "libz.so.1"; NULL: it is none of them. */
void *linked_library(const char *name);
bool linked_is(const void *library);
/* NULL: it has none of that name. */
void *linked_symbol(const void *library, const char *name);
