/* SPDX-License-Identifier: Apache-2.0
 * Writes GGUF headers for tests, after ggml's docs/gguf.md.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum { G_U32 = 4, G_BOOL = 7, G_TEXT = 8, G_ARRAY = 9, G_F32_TENSOR = 0, G_F16_TENSOR = 1, G_Q4_K_TENSOR = 12, G_Q8_0_TENSOR = 8 };

struct gguf_writer {
    struct buf keys, tensors;
    uint64_t key_count, tensor_count, data;
};

#define GGUF_WRITER ((struct gguf_writer){.keys = BUF(64 << 20), .tensors = BUF(64 << 20)})

static inline void g_number(struct buf *b, uint64_t value, size_t size)
{
    char raw[8];
    for (size_t i = 0; i < size; i++)
        raw[i] = (char)(value >> (8 * i));
    buf_add(b, raw, size);
}

static inline void g_string(struct buf *b, const char *text)
{
    g_number(b, strlen(text), 8);
    buf_text(b, text);
}

static inline void g_key(struct gguf_writer *w, const char *key, uint32_t type)
{
    g_string(&w->keys, key);
    g_number(&w->keys, type, 4);
    w->key_count++;
}

static inline void g_u32(struct gguf_writer *w, const char *key, uint32_t value)
{
    g_key(w, key, G_U32);
    g_number(&w->keys, value, 4);
}

static inline void g_text(struct gguf_writer *w, const char *key, const char *value)
{
    g_key(w, key, G_TEXT);
    g_string(&w->keys, value);
}

static inline void g_u32_list(struct gguf_writer *w, const char *key, const uint32_t *values, size_t count)
{
    g_key(w, key, G_ARRAY);
    g_number(&w->keys, G_U32, 4);
    g_number(&w->keys, count, 8);
    for (size_t i = 0; i < count; i++)
        g_number(&w->keys, values[i], 4);
}

static inline void g_words(struct gguf_writer *w, const char *key, size_t count)
{
    g_key(w, key, G_ARRAY);
    g_number(&w->keys, G_TEXT, 4);
    g_number(&w->keys, count, 8);
    for (size_t i = 0; i < count; i++)
        g_string(&w->keys, "word");
}

/* `bytes` is what the tensor takes in the file. */
static inline void g_tensor(struct gguf_writer *w, const char *name, uint32_t type, uint64_t row, uint64_t rows, uint64_t bytes)
{
    g_string(&w->tensors, name);
    g_number(&w->tensors, 2, 4);
    g_number(&w->tensors, row, 8);
    g_number(&w->tensors, rows, 8);
    g_number(&w->tensors, type, 4);
    g_number(&w->tensors, w->data, 8);
    w->data += (bytes + 31) / 32 * 32;
    w->tensor_count++;
}

/* The header; the size of the whole file is *size. */
static inline struct buf g_finish(struct gguf_writer *w, uint64_t *size)
{
    struct buf out = BUF(128 << 20);
    buf_text(&out, "GGUF");
    g_number(&out, 3, 4);
    g_number(&out, w->tensor_count, 8);
    g_number(&out, w->key_count, 8);
    buf_str(&out, buf_view(&w->keys));
    buf_str(&out, buf_view(&w->tensors));
    *size = (out.len + 31) / 32 * 32 + w->data;
    buf_done(&w->keys);
    buf_done(&w->tensors);
    return out;
}
