/* SPDX-License-Identifier: Apache-2.0
 * GNU's functions of strings and memory.
 */
#pragma once

#include_next <string.h>
#include <strings.h>

void *memmem(const void *in, size_t in_len, const void *what, size_t what_len);
void *memrchr(const void *in, int byte, size_t len);
void *mempcpy(void *to, const void *from, size_t len);
char *strcasestr(const char *in, const char *what);
char *strchrnul(const char *in, int c);
char *strsep(char **rest, const char *ends);
char *strndup(const char *text, size_t len);
int gnu_strverscmp(const char *a, const char *b);
#define strverscmp gnu_strverscmp
