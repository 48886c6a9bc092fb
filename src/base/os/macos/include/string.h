/* SPDX-License-Identifier: Apache-2.0
 * GNU's functions of strings and memory.
 */
#pragma once

#include_next <string.h>
#include <strings.h>

void *memrchr(const void *in, int byte, size_t len);
void *mempcpy(void *to, const void *from, size_t len);
char *gnu_strchrnul(const char *in, int c);
#define strchrnul gnu_strchrnul /* macOS has it since 15.4 */
int gnu_strverscmp(const char *a, const char *b);
#define strverscmp gnu_strverscmp
