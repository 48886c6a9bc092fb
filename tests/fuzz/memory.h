/* SPDX-License-Identifier: Apache-2.0
 * Bytes in memory, read as a model's file is.
 */
#pragma once

#include <string.h>

#include "base/cleanup.h"
#include "insight/fit/model_size.h"

struct memory {
    const uint8_t *at;
    size_t len;
};

static inline ssize_t read_memory(void *user, uint64_t at, void *to, size_t size)
{
    const struct memory *m = user;
    size_t n = at < m->len ? MIN_OF(size, m->len - (size_t)at) : 0;
    if (n)
        memcpy(to, m->at + at, n);
    return (ssize_t)n;
}
