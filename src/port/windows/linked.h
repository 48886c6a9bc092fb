/* SPDX-License-Identifier: Apache-2.0
 * Libraries that Linux hosts provide and Windows doesn't: linked statically, and found by their Linux names.
 */
#pragma once

#include <stdbool.h>

/* "libz.so.1"; NULL: not linked. */
void *linked_library(const char *name);
bool linked_is(const void *library);
/* NULL: no such symbol. */
void *linked_symbol(const void *library, const char *name);
