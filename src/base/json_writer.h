/* SPDX-License-Identifier: Apache-2.0
 * JSON writer into a bounded buffer. It handles commas, quotes and nesting; misuse fails sticky like the buffer. Reading is left
 * to jansson.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { JSON_DEPTH_MAX = 32 };

struct json_writer {
    struct buf *out;
    int depth;
    bool pretty;
    bool line; /* ends with one */
    bool need_comma;
    bool after_key;
    char closers[JSON_DEPTH_MAX];
};

#define JSON_WRITER(buffer) ((struct json_writer){.out = (buffer)})
#define JSON_WRITER_PRETTY(buffer) ((struct json_writer){.out = (buffer), .pretty = true})
/* For a single value: of one text, of a line, of a text for people. */
#define JSON_TO(buffer) (&(struct json_writer){.out = (buffer)})
#define JSON_LINE(buffer) (&(struct json_writer){.out = (buffer), .line = true})
#define JSON_PAGE(buffer) (&(struct json_writer){.out = (buffer), .pretty = true, .line = true})

void jw_object(struct json_writer *j);
void jw_array(struct json_writer *j);
void jw_end(struct json_writer *j); /* closes the innermost object or array */
void jw_key(struct json_writer *j, const char *key);
void jw_plain_key(struct json_writer *j, const char *key); /* in which nothing has to be escaped */
void jw_text(struct json_writer *j, const char *text);     /* NULL writes null; invalid UTF-8 becomes U+FFFD */
void jw_str(struct json_writer *j, struct str s);
void jw_int(struct json_writer *j, int64_t value);
void jw_number(struct json_writer *j, double value); /* shortest form with at most 6 significant decimals; NaN writes null */
void jw_bool(struct json_writer *j, bool value);
void jw_null(struct json_writer *j);
/* Writes text that already is JSON. */
void jw_raw(struct json_writer *j, struct str s);

static inline void jw_key_text(struct json_writer *j, const char *key, const char *text)
{
    jw_key(j, key);
    jw_text(j, text);
}

static inline void jw_key_int(struct json_writer *j, const char *key, int64_t value)
{
    jw_key(j, key);
    jw_int(j, value);
}

static inline void jw_key_number(struct json_writer *j, const char *key, double value)
{
    jw_key(j, key);
    jw_number(j, value);
}

static inline void jw_key_bool(struct json_writer *j, const char *key, bool value)
{
    jw_key(j, key);
    jw_bool(j, value);
}

static inline void jw_key_object(struct json_writer *j, const char *key)
{
    jw_key(j, key);
    jw_object(j);
}

static inline void jw_key_array(struct json_writer *j, const char *key)
{
    jw_key(j, key);
    jw_array(j);
}
