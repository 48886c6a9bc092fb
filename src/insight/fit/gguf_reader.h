/* SPDX-License-Identifier: Apache-2.0
 * Block sizes of ggml's tensor types.
 */
#pragma once

#include <stdint.h>

struct gguf_type {
    const char *name;         /* NULL: no such type */
    uint16_t elements, bytes; /* of a block */
};

/* NULL: unknown here. */
const struct gguf_type *gguf_type_of(uint64_t type);
const struct gguf_type *gguf_type_named(const char *name);
