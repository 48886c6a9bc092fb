/* SPDX-License-Identifier: Apache-2.0
 * GNU's string and memory functions, for C libraries that lack them.
 */
#pragma once

#include <stddef.h>

void *gnu_memrchr(const void *in, int byte, size_t len);
void *gnu_mempcpy(void *to, const void *from, size_t len);
char *gnu_strchrnul(const char *in, int c);
/* Orders names with versions as people expect: "v9" before "v10". */
int gnu_strverscmp(const char *a, const char *b);
