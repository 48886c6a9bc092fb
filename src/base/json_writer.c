/* SPDX-License-Identifier: Apache-2.0
 * The JSON writer, and the end of what jansson has read.
 */
#include "base/json_writer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"

void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static void new_line(struct json_writer *j)
{
    if (!j->pretty)
        return;
    buf_char(j->out, '\n');
    for (int i = 0; i < j->depth; i++)
        buf_text(j->out, "  ");
}

/* Writes the separator between the previous value and the next. */
static void before_value(struct json_writer *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->need_comma)
        buf_char(j->out, ',');
    if (j->depth > 0)
        new_line(j);
}

static void begin(struct json_writer *j, char opener, char closer)
{
    before_value(j);
    if (j->depth >= JSON_DEPTH_MAX) {
        j->out->failed = true;
        return;
    }
    buf_char(j->out, opener);
    j->closers[j->depth++] = closer;
    j->need_comma = false;
}

void jw_object(struct json_writer *j)
{
    begin(j, '{', '}');
}

void jw_array(struct json_writer *j)
{
    begin(j, '[', ']');
}

void jw_end(struct json_writer *j)
{
    if (j->depth == 0) {
        j->out->failed = true;
        return;
    }
    bool empty = !j->need_comma;
    char closer = j->closers[--j->depth];
    if (!empty)
        new_line(j);
    buf_char(j->out, closer);
    j->need_comma = true;
    if (j->line && j->depth == 0)
        buf_char(j->out, '\n');
}

static void escaped_char(struct buf *out, unsigned char c)
{
    switch (c) {
    case '"': buf_add(out, "\\\"", 2); break;
    case '\\': buf_add(out, "\\\\", 2); break;
    case '\n': buf_add(out, "\\n", 2); break;
    case '\r': buf_add(out, "\\r", 2); break;
    case '\t': buf_add(out, "\\t", 2); break;
    default: buf_printf(out, "\\u%04x", c); break;
    }
}

static void quoted(struct buf *out, struct str s)
{
    buf_char(out, '"');
    while (s.len) {
        /* Fast path: copy a run of plain characters at once. */
        size_t run = 0;
        while (run < s.len && (unsigned char)s.at[run] >= 0x20 && (unsigned char)s.at[run] < 0x7f && s.at[run] != '"' &&
               s.at[run] != '\\')
            run++;
        buf_add(out, s.at, run);
        s = (struct str){s.at + run, s.len - run};
        if (s.len == 0)
            break;
        size_t len = str_utf8(s);
        if (len == 0)
            buf_text(out, "\xef\xbf\xbd");
        else if (len == 1)
            escaped_char(out, (unsigned char)s.at[0]);
        else
            buf_add(out, s.at, len);
        len = len ? len : 1;
        s = (struct str){s.at + len, s.len - len};
    }
    buf_char(out, '"');
}

void jw_key(struct json_writer *j, const char *key)
{
    before_value(j);
    quoted(j->out, str_from(key));
    buf_text(j->out, j->pretty ? ": " : ":");
    j->after_key = true;
    j->need_comma = false;
}

void jw_plain_key(struct json_writer *j, const char *key)
{
    before_value(j);
    buf_char(j->out, '"');
    buf_text(j->out, key);
    buf_text(j->out, j->pretty ? "\": " : "\":");
    j->after_key = true;
    j->need_comma = false;
}

void jw_str(struct json_writer *j, struct str s)
{
    before_value(j);
    quoted(j->out, s);
    j->need_comma = true;
}

void jw_text(struct json_writer *j, const char *text)
{
    if (text)
        jw_str(j, str_from(text));
    else
        jw_null(j);
}

void jw_raw(struct json_writer *j, struct str s)
{
    before_value(j);
    buf_str(j->out, s);
    j->need_comma = true;
}

enum { DIGITS_MAX = 24, DECIMALS = 6 };

/* The digits of a number, at the end of the text; numbers are most of a body, and printf is slow. */
static char *put_digits(char *end, uint64_t number, int least)
{
    for (; number || least > 0; number /= 10, least--)
        *--end = (char)('0' + number % 10);
    return end;
}

void jw_int(struct json_writer *j, int64_t value)
{
    char text[DIGITS_MAX], *at = put_digits(text + sizeof text, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
    if (value < 0)
        *--at = '-';
    jw_raw(j, (struct str){at, (size_t)(text + sizeof text - at)});
}

static void small_number(struct json_writer *j, double value)
{
    char text[2 * DIGITS_MAX], *end = text + sizeof text;
    uint64_t parts = (uint64_t)llround(fabs(value) * 1e6), rest = parts % 1000000;
    int decimals = DECIMALS;
    for (; decimals && rest % 10 == 0; decimals--)
        rest /= 10;
    char *at = put_digits(end, rest, decimals);
    if (decimals) /* 70.9999999 rounds to 71: no bare point */
        *--at = '.';
    at = put_digits(at, parts / 1000000, 1);
    if (value < 0)
        *--at = '-';
    jw_raw(j, (struct str){at, (size_t)(end - at)});
}

void jw_number(struct json_writer *j, double value)
{
    enum { SMALL = 1000000000 }; /* its millionths are exact enough */
    if (!isfinite(value)) {
        jw_null(j);
        return;
    }
    if (value == floor(value) && fabs(value) < 9.0e15) {
        jw_int(j, (int64_t)value);
        return;
    }
    if (fabs(value) >= 1e-3 && fabs(value) < SMALL) {
        small_number(j, value);
        return;
    }
    char text[40];
    bool plain = fabs(value) >= 1e-3 && fabs(value) < 1e16; /* larger values have no meaningful decimals and don't fit */
    int len = plain ? snprintf(text, sizeof text, "%.6f", value) : snprintf(text, sizeof text, "%.6g", value);
    if (!memchr(text, 'e', (size_t)len)) {
        while (len > 0 && text[len - 1] == '0')
            len--;
        if (len > 0 && text[len - 1] == '.')
            len--;
    }
    jw_raw(j, (struct str){text, (size_t)len});
}

void jw_bool(struct json_writer *j, bool value)
{
    jw_raw(j, value ? STR("true") : STR("false"));
}

void jw_null(struct json_writer *j)
{
    jw_raw(j, STR("null"));
}
