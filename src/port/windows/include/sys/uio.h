/* SPDX-License-Identifier: Apache-2.0
 * Buffers that are written together.
 */
#pragma once

#include <stddef.h>

struct iovec {
    void *iov_base;
    size_t iov_len;
};
