/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of the TOML reader: the cursor over the text, and the pieces of the grammar. Private to toml*.c.
 */
#pragma once

#include "base/arena.h"
#include "base/toml.h"

enum { TOML_BUCKETS = 1024 };

struct toml_document {
    struct arena arena;
    struct toml_value root;
    size_t values;
    struct toml_value *buckets[TOML_BUCKETS]; /* members of all tables, by (table, key) */
};

struct toml_reader {
    const char *begin, *at, *end;
    struct toml_document *doc;
    struct toml_error *err;
    /* The last position converted to line and column; reading moves forward, so the next one is near. */
    const char *mark;
    struct toml_position mark_position;
};

/* Fills the error with the position of `at` (a pointer into the text) and returns -EINVAL. */
int toml_fail(struct toml_reader *r, const char *at, const char *format, ...) __attribute__((format(gnu_printf, 3, 4)));
int toml_out_of_memory(struct toml_reader *r);

static inline bool toml_next_is(const struct toml_reader *r, char c)
{
    return r->at < r->end && *r->at == c;
}

static inline bool toml_looking_at(const struct toml_reader *r, const char *text)
{
    size_t len = strlen(text);
    return (size_t)(r->end - r->at) >= len && memcmp(r->at, text, len) == 0;
}

/* Text in any of the four kinds of quotes; the cursor is on the first quote. */
int toml_read_text(struct toml_reader *r, bool multi_line_allowed, struct str *ret);
/* One part of a key: bare or quoted. */
int toml_read_key_part(struct toml_reader *r, struct str *ret);
/* true, false, a number, a date or a time. */
int toml_read_scalar(struct toml_reader *r, struct toml_value *value);
/* Control characters except tab, which comments and text may not contain. */
bool toml_is_control(char c);
