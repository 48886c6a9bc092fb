/* SPDX-License-Identifier: Apache-2.0
 * Files whose bytes a function takes.
 */
#pragma once

#include_next <stdio.h>
#include <sys/types.h>

typedef struct {
    ssize_t (*read)(void *user, char *to, size_t size);
    ssize_t (*write)(void *user, const char *from, size_t size);
    int (*seek)(void *user, off_t *at, int from);
    int (*close)(void *user);
} cookie_io_functions_t;
FILE *fopencookie(void *user, const char *mode, cookie_io_functions_t functions); /* only written to */
