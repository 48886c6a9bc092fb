/* SPDX-License-Identifier: Apache-2.0
 * qsort_r(), environment variables, temporary files.
 */
#pragma once

#include_next <stdlib.h>

typedef int (*posix_compare)(const void *, const void *, void *);
void qsort_r(void *rows, size_t count, size_t size, posix_compare compare, void *user);
char *realpath(const char *path, char *resolved);
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
char *mkdtemp(char *pattern);
int mkostemp(char *pattern, int flags);

/* All variables, in UTF-8. */
char **posix_variables(void);
#undef environ
#define environ posix_variables()
