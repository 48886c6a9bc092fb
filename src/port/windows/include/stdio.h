/* SPDX-License-Identifier: Apache-2.0
 * Files with UTF-8 names; rename replaces.
 */
#pragma once

#include <stdarg.h>
#include_next <stdio.h>
#include <sys/types.h>

ssize_t getline(char **line, size_t *size, FILE *from);
int dprintf(int fd, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
FILE *fmemopen(void *bytes, size_t size, const char *mode);
/* One write, even to an unbuffered stream. */
int posix_vfprintf(FILE *to, const char *format, va_list args) __attribute__((format(gnu_printf, 2, 0)));
int posix_fprintf(FILE *to, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));
#define vfprintf posix_vfprintf
#define fprintf posix_fprintf
int renameat(int from_dir, const char *from, int to_dir, const char *to);
