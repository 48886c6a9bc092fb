/* SPDX-License-Identifier: Apache-2.0
 * GNU's string and memory functions.
 */
#pragma once

#include_next <string.h>
#include <strings.h>

#include "port/gnu/text_gnu.h"

void *memmem(const void *in, size_t in_len, const void *what, size_t what_len);
char *strcasestr(const char *in, const char *what);
char *strsep(char **rest, const char *ends);
char *strndup(const char *text, size_t len);
#define memrchr gnu_memrchr
#define mempcpy gnu_mempcpy
#define strchrnul gnu_strchrnul
#define strverscmp gnu_strverscmp
