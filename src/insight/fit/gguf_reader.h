/* SPDX-License-Identifier: Apache-2.0
 * Numbers and texts from a file, one after the other. The first failure is kept with its place, and everything after it gives
 * zeros. Not for others than the GGUF reader.
 */
#pragma once

#include <stdint.h>

#include "insight/fit/model_size.h"

enum { GGUF_WINDOW = 1 << 16, GGUF_KEY_SIZE = 128 /* longer keys are none of ours */ };

struct gguf_reader {
    const struct model_input *in;
    struct model_facts *facts;
    struct error *err;
    uint64_t at, window_at;
    size_t window_len;
    uint64_t alignment;
    int failed;
    unsigned char window[GGUF_WINDOW];
};

/* Keeps the first failure; returns it. */
int gguf_fail(struct gguf_reader *r, int code, const char *why);
bool gguf_take(struct gguf_reader *r, void *to, size_t size);
bool gguf_skip(struct gguf_reader *r, uint64_t size);
/* Little-endian, of so many bytes. */
uint64_t gguf_number(struct gguf_reader *r, size_t size);
/* A text into `to`, cut; the rest is passed over. */
void gguf_text(struct gguf_reader *r, char *to, size_t size);

/* ---- Block sizes of ggml's tensor types. ---- */

struct gguf_type {
    const char *name;         /* NULL: no such type */
    uint16_t elements, bytes; /* of a block */
};

/* NULL: not known here. */
const struct gguf_type *gguf_type_of(uint64_t type);
const struct gguf_type *gguf_type_named(const char *name);
