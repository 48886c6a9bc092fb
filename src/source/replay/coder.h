/* SPDX-License-Identifier: Apache-2.0
 * The building blocks of a coded snapshot, in both directions: every function returns the resulting value, which is its argument
 * when writing and the decoded value when reading. Failure is sticky.
 */
#pragma once

#include "base/cleanup.h"
#include "source/replay/codec.h"

struct coder {
    bool reading, failed;
    struct buf *out;                       /* writing */
    const unsigned char *at, *end;         /* reading */
    const struct recorded_columns *schema; /* reading */
    size_t processes, instances;           /* so far in this snapshot */
};

uint64_t code_u64(struct coder *c, uint64_t value);
int64_t code_i64(struct coder *c, int64_t now, int64_t before);
/* A count or an enumeration: a number above `most` means damage. */
uint64_t code_small(struct coder *c, uint64_t value, uint64_t most);
void code_text(struct coder *c, char *text, size_t size);
#define CODE_TEXT(c, field) code_text(c, field, sizeof(field))
/* Up to 8 texts; codes the changed ones. */
void code_texts(struct coder *c, char *const *texts, const char *const *before, const size_t *sizes, size_t count);
/* Codes the changed ones. Only reading needs the map. */
void code_readings(struct coder *c, struct reading *now, const struct reading *before, size_t count, const struct column_map *map);
void code_gpu(struct coder *c, struct gpu *now, const struct gpu *before, bool is_instance);

bool reading_same(struct reading a, struct reading b);
bool readings_same(const struct reading *a, const struct reading *b, size_t count);
int64_t coder_minus(int64_t a, int64_t b); /* wrapping */
int64_t coder_plus(int64_t a, int64_t b);
