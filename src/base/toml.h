/* SPDX-License-Identifier: Apache-2.0
 * A TOML 1.0 reader. Every value remembers where it was written, so that a later check can point at the place.
 *
 *     [server]                        table ── "server" ── table ── "listen" ── text "127.0.0.1:9447" (2:10)
 *     listen = "127.0.0.1:9447"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
    TOML_SIZE_MAX = 1 << 20,   /* bytes of a document */
    TOML_VALUES_MAX = 1 << 16, /* tables, arrays and values in it */
    TOML_DEPTH_MAX = 64,       /* nesting of tables and arrays */
};

enum toml_type {
    TOML_TABLE,
    TOML_ARRAY,
    TOML_TEXT,
    TOML_INTEGER,
    TOML_NUMBER, /* with a fraction or an exponent; also inf and nan */
    TOML_BOOL,
    TOML_DATE_TIME, /* with an offset from UTC */
    TOML_LOCAL_DATE_TIME,
    TOML_LOCAL_DATE,
    TOML_LOCAL_TIME,
};

struct toml_position {
    int line, column; /* from 1; columns are characters, not bytes */
};

struct toml_time {
    int year, month, day, hour, minute, second, nanosecond;
    int offset_minutes;
};

struct toml_value {
    enum toml_type type;
    struct toml_position at;
    struct toml_position key_at;
    struct str key; /* its name in the parent table; empty in arrays */
    union {
        struct {
            struct toml_value *first, *last; /* members of a table or an array, in document order */
            size_t count;
        };
        struct str text; /* NUL-terminated, but may contain NULs */
        int64_t integer;
        double number;
        bool boolean;
        struct toml_time time;
    };
    struct toml_value *next; /* in the table or array around it */

    /* Private to the reader: how the table was created, and its place in the key index. */
    unsigned char origin, depth;
    struct toml_value *parent, *next_in_bucket;
};

struct toml_error {
    struct toml_position at;
    char text[256]; /* a sentence without a full stop */
};

struct toml_document;

/* `text` need not outlive the call. -EINVAL: not TOML; -E2BIG: beyond the limits above; -ENOMEM. */
int toml_parse(struct str text, struct toml_document **ret, struct toml_error *err);
void toml_free(struct toml_document *doc);
static inline void cleanup_toml(struct toml_document **doc)
{
    toml_free(*doc);
}
#define AUTO_TOML __attribute__((cleanup(cleanup_toml)))

const struct toml_value *toml_root(const struct toml_document *doc); /* always a table */
/* NULL if the table lacks the key. */
const struct toml_value *toml_get(const struct toml_value *table, const char *key);
