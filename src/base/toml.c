/* SPDX-License-Identifier: Apache-2.0
 * The TOML document: lines, headers, keys, arrays and tables, and the rules about who may add to which table.
 *
 * A table comes to be in one of four ways, and that decides who may still add to it:
 *   implicit   [a.b] made `a`: a header [a] may follow once, dotted keys may add
 *   header     [a] itself: no second [a], no dotted keys from elsewhere
 *   dotted     a.x = 1 made `a`: further dotted keys may add, and headers of sub-tables, but no [a]
 *   closed     { } or [ ] in the text of a value: nothing may add
 */
#include "base/toml.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/digest.h"

/* ---- the text and the place in it ---- */

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

static struct toml_position toml_position_of(struct toml_reader *r, const char *at)
{
    if (!r->mark || at < r->mark) {
        r->mark = r->begin;
        r->mark_position = (struct toml_position){1, 1};
    }
    for (; r->mark < at; r->mark++) {
        if (*r->mark == '\n') {
            r->mark_position.line++;
            r->mark_position.column = 1;
        } else if (((unsigned char)*r->mark & 0xc0) != 0x80) {
            r->mark_position.column++;
        }
    }
    /* Standing on a continuation byte means standing on its character, which was counted already. */
    return r->mark_position;
}

/* Fills the error with the position of `at` (a pointer into the text) and returns -EINVAL. */
__attribute__((format(gnu_printf, 3, 4))) static int fail(struct toml_reader *r, const char *at, const char *format, ...)
{
    r->err->at = toml_position_of(r, at);
    va_list args;
    va_start(args, format);
    vsnprintf(r->err->text, sizeof r->err->text, format, args);
    va_end(args);
    return -EINVAL;
}

static int out_of_memory(struct toml_reader *r)
{
    fail(r, r->at, "out of memory");
    return -ENOMEM;
}

static int too_big(struct toml_reader *r, const char *at, const char *what)
{
    fail(r, at, "%s", what);
    return -E2BIG;
}

static bool next_is(const struct toml_reader *r, char c)
{
    return r->at < r->end && *r->at == c;
}

static bool looking_at(const struct toml_reader *r, const char *text)
{
    size_t len = strlen(text);
    return (size_t)(r->end - r->at) >= len && memcmp(r->at, text, len) == 0;
}

/* ---- four kinds of strings, and the parts of keys ---- */

/* Those that comments and text may not contain: all except tab. */
static bool is_control(char c)
{
    unsigned char b = (unsigned char)c;
    return (b < 0x20 && b != '\t') || b == 0x7f;
}

/* The cursor is after "\u" or "\U", `escape` on the backslash. */
static int read_code_point(struct toml_reader *r, const char *escape, int digits, char **to)
{
    uint32_t value = 0;
    for (int i = 0; i < digits; i++) {
        int digit = r->at < r->end ? hex_digit(*r->at) : -1;
        if (digit < 0)
            return fail(r, escape, "\\%c needs %d hexadecimal digits", escape[1], digits);
        value = value << 4 | (uint32_t)digit;
        r->at++;
    }
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return fail(r, escape, "%.*s is not a character", (int)(r->at - escape), escape);
    *to += str_put_utf8(value, *to);
    return 0;
}

/* A backslash at the end of a line swallows the newline and all following blanks. */
static bool skip_line_continuation(struct toml_reader *r)
{
    const char *p = r->at;
    while (p < r->end && (*p == ' ' || *p == '\t'))
        p++;
    if (p < r->end && *p == '\r' && p + 1 < r->end && p[1] == '\n')
        p++;
    if (p == r->end || *p != '\n')
        return false;
    while (p < r->end && (*p == ' ' || *p == '\t' || *p == '\n' || (*p == '\r' && p + 1 < r->end && p[1] == '\n')))
        p++;
    r->at = p;
    return true;
}

/* The cursor is on the backslash. The result is never longer than the escape. */
static int read_escape(struct toml_reader *r, bool multi_line, char **to)
{
    static const char letters[] = "btnfr\"\\", meaning[] = "\b\t\n\f\r\"\\";
    const char *escape = r->at++;
    if (r->at == r->end)
        return fail(r, escape, "the text ends with a backslash");
    if (multi_line && skip_line_continuation(r))
        return 0;
    char c = *r->at++;
    if (c == 'u' || c == 'U')
        return read_code_point(r, escape, c == 'u' ? 4 : 8, to);
    const char *known = c ? strchr(letters, c) : NULL;
    if (!known)
        return fail(r, escape, "unknown escape in text (a backslash is written \\\\, or the text put in 'single quotes')");
    *(*to)++ = meaning[known - letters];
    return 0;
}

/* Upper bound for the decoded length: up to the first unescaped closing quotes. */
static size_t raw_length(const struct toml_reader *r, char quote, bool multi_line)
{
    const char *p = r->at;
    while (p < r->end) {
        if (*p == '\\' && quote == '"') {
            p++;
        } else if (*p == '\n' && !multi_line) {
            break;
        } else if (*p == quote && (!multi_line || (r->end - p >= 3 && p[1] == quote && p[2] == quote))) {
            break;
        }
        if (p < r->end)
            p++;
    }
    /* Up to two quotes may directly precede the closing three. */
    return (size_t)(p - r->at) + 2;
}

/* True at the end of the text; the cursor is then after the closing quotes. */
static bool read_closing(struct toml_reader *r, char quote, bool multi_line, char **to)
{
    if (*r->at != quote)
        return false;
    size_t run = 1;
    while (run < 5 && r->at + run < r->end && r->at[run] == quote)
        run++;
    if (!multi_line) {
        r->at++;
        return true;
    }
    if (run < 3)
        return false;
    for (size_t i = 3; i < run; i++)
        *(*to)++ = quote;
    r->at += run;
    return true;
}

static int read_body(struct toml_reader *r, const char *opening, char quote, bool multi_line, char **to)
{
    while (r->at < r->end) {
        if (read_closing(r, quote, multi_line, to))
            return 0;
        char c = *r->at;
        if (c == '\\' && quote == '"') {
            int rc = read_escape(r, multi_line, to);
            if (rc < 0)
                return rc;
            continue;
        }
        bool line_end = c == '\n' || (c == '\r' && r->at + 1 < r->end && r->at[1] == '\n');
        if (line_end && !multi_line)
            break;
        if (!line_end && is_control(c))
            return fail(r, r->at, "control character 0x%02x in text (written \\u%04x)", (unsigned char)c, (unsigned char)c);
        *(*to)++ = c;
        r->at++;
    }
    return fail(r, opening, "the closing %s of this text is missing",
                quote == '"' ? (multi_line ? "\"\"\"" : "\"") : (multi_line ? "'''" : "'"));
}

/* The cursor is on the first quote. */
static int read_text(struct toml_reader *r, bool multi_line_allowed, struct str *ret)
{
    const char *opening = r->at;
    char quote = *r->at;
    bool multi_line = looking_at(r, quote == '"' ? "\"\"\"" : "'''");
    if (multi_line && !multi_line_allowed)
        return fail(r, opening, "a key cannot span lines");
    r->at += multi_line ? 3 : 1;
    if (multi_line && looking_at(r, "\r\n"))
        r->at += 2;
    else if (multi_line && next_is(r, '\n'))
        r->at++;
    char *text = arena_alloc(&r->doc->arena, raw_length(r, quote, multi_line) + 1);
    if (!text)
        return out_of_memory(r);
    char *to = text;
    int rc = read_body(r, opening, quote, multi_line, &to);
    if (rc < 0)
        return rc;
    *to = '\0';
    *ret = (struct str){text, (size_t)(to - text)};
    return 0;
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Bare or quoted. */
static int read_key_part(struct toml_reader *r, struct str *ret)
{
    if (next_is(r, '"') || next_is(r, '\''))
        return read_text(r, false, ret);
    const char *begin = r->at;
    while (r->at < r->end && is_bare(*r->at))
        r->at++;
    if (r->at == begin) {
        size_t len = str_utf8((struct str){r->at, (size_t)(r->end - r->at)});
        if (r->at == r->end || *r->at == '\n' || *r->at == '\r')
            return fail(r, r->at, "a key is missing");
        if (is_control(*r->at))
            return fail(r, r->at, "control character 0x%02x", (unsigned char)*r->at);
        return fail(r, r->at, "'%.*s' cannot stand in a key (letters, digits, - and _ can; anything else in quotes)", (int)len,
                    r->at);
    }
    struct str part = {begin, (size_t)(r->at - begin)};
    ret->at = arena_copy(&r->doc->arena, part);
    ret->len = part.len;
    return ret->at ? 0 : out_of_memory(r);
}

/* ---- values of one word: booleans, integers, floats, dates and times ---- */

enum { NUMBER_LENGTH_MAX = 128 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' || c == '_' || c == '.' ||
           c == ':' || (unsigned char)c >= 0x80;
}

/* Copies digits without underscores. False if an underscore isn't between two digits, or the result doesn't fit. */
static bool strip_underscores(struct str s, char out[NUMBER_LENGTH_MAX])
{
    size_t used = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] != '_') {
            if (used + 1 >= NUMBER_LENGTH_MAX)
                return false;
            out[used++] = s.at[i];
        } else if (i == 0 || i + 1 == s.len || s.at[i - 1] == '_' || s.at[i + 1] == '_') {
            return false;
        }
    }
    out[used] = '\0';
    return used > 0;
}

static bool all_of(const char *text, const char *allowed)
{
    return text[0] && strspn(text, allowed) == strlen(text);
}

/* 0x, 0o and 0b: no sign, leading zeros allowed. -ERANGE: doesn't fit 64 bits. */
static int read_based(struct str digits, int base, int64_t *ret)
{
    const char *allowed = base == 16 ? "0123456789abcdefABCDEF" : base == 8 ? "01234567" : "01";
    char text[NUMBER_LENGTH_MAX];
    if (!strip_underscores(digits, text) || !all_of(text, allowed))
        return -EINVAL;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, base);
    if (errno || value > INT64_MAX)
        return -ERANGE;
    *ret = (int64_t)value;
    return 0;
}

/* Underscores need digits on both sides; strip_underscores alone can't check that around '.', 'e' and signs. */
static bool underscores_between_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] == '_' && (i == 0 || i + 1 == s.len || !is_digit(s.at[i - 1]) || !is_digit(s.at[i + 1])))
            return false;
    return true;
}

static const char *skip_digits(const char *p)
{
    while (is_digit(*p))
        p++;
    return p;
}

/* The grammar of decimal numbers. Returns TOML_INTEGER or TOML_NUMBER, or -1. */
static int decimal_kind(const char *text)
{
    const char *p = text + (*text == '+' || *text == '-');
    const char *whole = p;
    p = skip_digits(p);
    if (p == whole || (whole[0] == '0' && p - whole > 1))
        return -1;
    int kind = TOML_INTEGER;
    if (*p == '.') {
        const char *fraction = ++p;
        p = skip_digits(p);
        if (p == fraction)
            return -1;
        kind = TOML_NUMBER;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '+' || *p == '-';
        const char *exponent = p;
        p = skip_digits(p);
        if (p == exponent)
            return -1;
        kind = TOML_NUMBER;
    }
    return *p ? -1 : kind;
}

static int toml_scalar_read_number(struct str word, struct toml_value *value)
{
    struct str bare = word;
    bool negative = word.at[0] == '-';
    if (word.at[0] == '+' || word.at[0] == '-')
        bare = (struct str){word.at + 1, word.len - 1};
    if (str_is(bare, "inf") || str_is(bare, "nan")) {
        value->type = TOML_NUMBER;
        value->number = bare.at[0] == 'i' ? (negative ? -INFINITY : INFINITY) : NAN;
        return 0;
    }
    if (word.len > 2 && word.at[0] == '0' && strchr("xob", word.at[1])) {
        int base = word.at[1] == 'x' ? 16 : word.at[1] == 'o' ? 8 : 2;
        value->type = TOML_INTEGER;
        return read_based((struct str){word.at + 2, word.len - 2}, base, &value->integer);
    }
    char text[NUMBER_LENGTH_MAX];
    if (!underscores_between_digits(word) || !strip_underscores(word, text))
        return -EINVAL;
    int kind = decimal_kind(text);
    if (kind < 0)
        return -EINVAL;
    value->type = (enum toml_type)kind;
    if (kind == TOML_NUMBER) {
        value->number = strtod(text, NULL);
        return 0;
    }
    errno = 0;
    value->integer = strtoll(text, NULL, 10);
    return errno ? -ERANGE : 0;
}

/* Removes exactly `digits` digits from the front. */
static bool take_digits(struct str *s, size_t digits, int *ret)
{
    int value = 0;
    if (s->len < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (!is_digit(s->at[i]))
            return false;
        value = value * 10 + (s->at[i] - '0');
    }
    *s = (struct str){s->at + digits, s->len - digits};
    *ret = value;
    return true;
}

static bool toml_scalar_take(struct str *s, const char *any_of)
{
    if (s->len == 0 || s->at[0] == '\0' || !strchr(any_of, s->at[0]))
        return false;
    *s = (struct str){s->at + 1, s->len - 1};
    return true;
}

static bool take_date(struct str *s, struct toml_time *t)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (!take_digits(s, 4, &t->year) || !toml_scalar_take(s, "-") || !take_digits(s, 2, &t->month) || !toml_scalar_take(s, "-") ||
        !take_digits(s, 2, &t->day))
        return false;
    if (t->month < 1 || t->month > 12 || t->day < 1)
        return false;
    bool leap = (t->year % 4 == 0 && t->year % 100 != 0) || t->year % 400 == 0;
    return t->day <= days[t->month - 1] + (leap && t->month == 2);
}

static bool take_clock(struct str *s, struct toml_time *t)
{
    if (!take_digits(s, 2, &t->hour) || !toml_scalar_take(s, ":") || !take_digits(s, 2, &t->minute) || !toml_scalar_take(s, ":") ||
        !take_digits(s, 2, &t->second))
        return false;
    if (toml_scalar_take(s, ".")) {
        int digit, weight = 100000000;
        if (!take_digits(s, 1, &digit))
            return false;
        do {
            t->nanosecond += digit * weight;
            weight /= 10;
        } while (take_digits(s, 1, &digit));
    }
    return t->hour < 24 && t->minute < 60 && t->second <= 60; /* 60: a leap second */
}

static bool take_offset(struct str *s, struct toml_time *t)
{
    if (toml_scalar_take(s, "Zz"))
        return true;
    int sign = s->len && s->at[0] == '-' ? -1 : 1, hours, minutes;
    if (!toml_scalar_take(s, "+-") || !take_digits(s, 2, &hours) || !toml_scalar_take(s, ":") || !take_digits(s, 2, &minutes))
        return false;
    t->offset_minutes = sign * (hours * 60 + minutes);
    return hours < 24 && minutes < 60;
}

static bool toml_scalar_read_time(struct str word, struct toml_value *value)
{
    struct toml_time t = {0};
    struct str s = word;
    if (word.len > 2 && word.at[2] == ':') {
        value->type = TOML_LOCAL_TIME;
        if (!take_clock(&s, &t) || s.len)
            return false;
    } else {
        if (!take_date(&s, &t))
            return false;
        value->type = TOML_LOCAL_DATE;
        if (s.len) {
            if (!toml_scalar_take(&s, "Tt ") || !take_clock(&s, &t))
                return false;
            value->type = TOML_LOCAL_DATE_TIME;
        }
        if (s.len) {
            if (!take_offset(&s, &t) || s.len)
                return false;
            value->type = TOML_DATE_TIME;
        }
    }
    value->time = t;
    return true;
}

/* Whether a word starts like a date (1234-) or a time (12:). */
static bool looks_like_time(struct str word)
{
    return (word.len > 4 && is_digit(word.at[0]) && is_digit(word.at[1]) && is_digit(word.at[2]) && is_digit(word.at[3]) &&
            word.at[4] == '-') ||
           (word.len > 2 && is_digit(word.at[0]) && is_digit(word.at[1]) && word.at[2] == ':');
}

static int read_scalar(struct toml_reader *r, struct toml_value *value)
{
    const char *begin = r->at;
    while (r->at < r->end && is_word(*r->at))
        r->at++;
    struct str word = {begin, (size_t)(r->at - begin)};
    if (word.len == 0)
        return fail(r, begin, "a value is missing");
    if (str_is(word, "true") || str_is(word, "false")) {
        value->type = TOML_BOOL;
        value->boolean = word.at[0] == 't';
        return 0;
    }
    if (looks_like_time(word)) {
        /* A space may separate date and time. */
        if (word.len == 10 && r->end - r->at > 1 && *r->at == ' ' && is_digit(r->at[1])) {
            r->at++;
            while (r->at < r->end && is_word(*r->at))
                r->at++;
            word.len = (size_t)(r->at - begin);
        }
        if (!toml_scalar_read_time(word, value))
            return fail(r, begin, "this is not a date or time (like 2026-11-15T01:02:03Z); text is written in quotes");
        return 0;
    }
    int rc = toml_scalar_read_number(word, value);
    if (rc == -ERANGE)
        return fail(r, begin, "this number does not fit into 64 bits");
    if (rc < 0) {
        bool numeric = is_digit(word.at[0]) || strchr("+-.", word.at[0]);
        /* Don't quote the text: it may be a password without its quotes. */
        return fail(r, begin, "this is not a %s; text is written in quotes", numeric ? "number" : "value");
    }
    return 0;
}

/* ---- lines, headers, keys, arrays and tables ---- */

enum origin { ORIGIN_CLOSED, ORIGIN_IMPLICIT, ORIGIN_HEADER, ORIGIN_DOTTED, ORIGIN_TABLES /* an array made by [[a]] */ };

enum { ARENA_MAX = 64 << 20, KEY_PARTS_MAX = TOML_DEPTH_MAX };

struct key {
    size_t count;
    struct str part[KEY_PARTS_MAX];
    const char *at[KEY_PARTS_MAX];
};

static struct toml_value **toml_bucket_of(struct toml_document *doc, const struct toml_value *table, struct str key)
{
    uint64_t hash = 0xcbf29ce484222325u ^ (uintptr_t)table;
    for (size_t i = 0; i < key.len; i++)
        hash = (hash ^ (unsigned char)key.at[i]) * 0x100000001b3u;
    return &doc->buckets[(hash ^ hash >> 32) % TOML_BUCKETS];
}

static struct toml_value *toml_find(struct toml_document *doc, const struct toml_value *table, struct str key)
{
    for (struct toml_value *v = *toml_bucket_of(doc, table, key); v; v = v->next_in_bucket)
        if (v->parent == table && str_equal(v->key, key))
            return v;
    return NULL;
}

/* Appends a member to a table (with its key) or an array. */
static int add_child(struct toml_reader *r, struct toml_value *parent, struct str key, const char *at, struct toml_value **ret)
{
    if (parent->depth + 1 > TOML_DEPTH_MAX)
        return too_big(r, at, "nested too deeply");
    if (r->doc->values >= TOML_VALUES_MAX)
        return too_big(r, at, "too many values");
    struct toml_value *v = arena_alloc(&r->doc->arena, sizeof *v);
    if (!v)
        return out_of_memory(r);
    r->doc->values++;
    v->key = key;
    v->at = v->key_at = toml_position_of(r, at);
    v->parent = parent;
    v->depth = (unsigned char)(parent->depth + 1);
    if (parent->type == TOML_TABLE) {
        struct toml_value **bucket = toml_bucket_of(r->doc, parent, key);
        v->next_in_bucket = *bucket;
        *bucket = v;
    }
    if (parent->last)
        parent->last->next = v;
    else
        parent->first = v;
    parent->last = v;
    parent->count++;
    *ret = v;
    return 0;
}

static int add_table(struct toml_reader *r, struct toml_value *parent, struct str key, const char *at, enum origin origin,
                     struct toml_value **ret)
{
    int rc = add_child(r, parent, key, at, ret);
    if (rc == 0)
        (*ret)->origin = (unsigned char)origin; /* type 0 is TOML_TABLE */
    return rc;
}

static int fail_taken(struct toml_reader *r, const char *at, const struct toml_value *there)
{
    return fail(r, at, "'%.80s' is already defined in line %d", there->key.at, there->key_at.line);
}

static void skip_blanks(struct toml_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static int skip_comment(struct toml_reader *r)
{
    if (!next_is(r, '#'))
        return 0;
    for (; r->at < r->end && *r->at != '\n' && !looking_at(r, "\r\n"); r->at++)
        if (is_control(*r->at))
            return fail(r, r->at, "control character 0x%02x in a comment", (unsigned char)*r->at);
    return 0;
}

/* Consumes a newline; true also at the end of the text. */
static bool skip_line_end(struct toml_reader *r)
{
    if (looking_at(r, "\r\n"))
        r->at += 2;
    else if (next_is(r, '\n'))
        r->at++;
    else
        return r->at == r->end;
    return true;
}

static int end_of_line(struct toml_reader *r, const char *behind)
{
    skip_blanks(r);
    int rc = skip_comment(r);
    if (rc < 0)
        return rc;
    const char *at = r->at;
    return skip_line_end(r) ? 0 : fail(r, at, "nothing may follow behind %s on the same line", behind);
}

/* Skips blanks, comments and newlines inside an array. */
static int skip_space(struct toml_reader *r)
{
    for (;;) {
        skip_blanks(r);
        int rc = skip_comment(r);
        if (rc < 0)
            return rc;
        if (r->at == r->end || !skip_line_end(r))
            return 0;
    }
}

static int read_key(struct toml_reader *r, struct key *key)
{
    key->count = 0;
    for (;;) {
        skip_blanks(r);
        if (key->count == KEY_PARTS_MAX)
            return too_big(r, r->at, "this key has too many parts");
        key->at[key->count] = r->at;
        int rc = read_key_part(r, &key->part[key->count]);
        if (rc < 0)
            return rc;
        key->count++;
        skip_blanks(r);
        if (!next_is(r, '.'))
            return 0;
        r->at++;
    }
}

static int read_value(struct toml_reader *r, struct toml_value *value);

/* key = value, into `table`; dotted keys create the tables in between. */
static int read_pair(struct toml_reader *r, struct toml_value *table)
{
    struct key key;
    int rc = read_key(r, &key);
    if (rc < 0)
        return rc;
    if (!next_is(r, '='))
        return fail(r, r->at, "'=' is missing behind the key '%.80s'", key.part[key.count - 1].at);
    r->at++;
    skip_blanks(r);
    for (size_t i = 0; i + 1 < key.count; i++) {
        struct toml_value *next = toml_find(r->doc, table, key.part[i]);
        if (!next)
            rc = add_table(r, table, key.part[i], key.at[i], ORIGIN_DOTTED, &next);
        else if (next->type != TOML_TABLE || (next->origin != ORIGIN_DOTTED && next->origin != ORIGIN_IMPLICIT))
            rc = fail_taken(r, key.at[i], next);
        if (rc < 0)
            return rc;
        next->origin = ORIGIN_DOTTED;
        table = next;
    }
    size_t last = key.count - 1;
    struct toml_value *value = toml_find(r->doc, table, key.part[last]);
    if (value)
        return fail_taken(r, key.at[last], value);
    rc = add_child(r, table, key.part[last], key.at[last], &value);
    return rc < 0 ? rc : read_value(r, value);
}

static int read_array(struct toml_reader *r, struct toml_value *array)
{
    const char *opening = r->at++;
    array->type = TOML_ARRAY;
    for (;;) {
        int rc = skip_space(r);
        if (rc < 0)
            return rc;
        if (r->at == r->end)
            return fail(r, opening, "the closing ] of this array is missing");
        if (next_is(r, ']')) {
            r->at++;
            return 0;
        }
        struct toml_value *member;
        rc = add_child(r, array, (struct str){"", 0}, r->at, &member);
        if (rc == 0)
            rc = read_value(r, member);
        if (rc == 0)
            rc = skip_space(r);
        if (rc < 0)
            return rc;
        if (next_is(r, ','))
            r->at++;
        else if (r->at == r->end)
            return fail(r, opening, "the closing ] of this array is missing");
        else if (!next_is(r, ']'))
            return fail(r, r->at, "',' or ']' is missing in this array");
    }
}

static int read_inline_table(struct toml_reader *r, struct toml_value *table)
{
    r->at++;
    table->type = TOML_TABLE;
    skip_blanks(r);
    if (next_is(r, '}')) {
        r->at++;
        return 0;
    }
    for (;;) {
        skip_blanks(r);
        int rc = read_pair(r, table);
        if (rc < 0)
            return rc;
        skip_blanks(r);
        if (next_is(r, '}')) {
            r->at++;
            return 0;
        }
        if (!next_is(r, ','))
            return fail(r, r->at, "',' or '}' is missing (a table in braces stays on one line)");
        r->at++;
    }
}

static int read_value(struct toml_reader *r, struct toml_value *value)
{
    value->at = toml_position_of(r, r->at);
    switch (r->at < r->end ? *r->at : '\0') {
    case '"':
    case '\'': value->type = TOML_TEXT; return read_text(r, true, &value->text);
    case '[': return read_array(r, value);
    case '{': return read_inline_table(r, value);
    default: return read_scalar(r, value);
    }
}

/* The table that the header's last part belongs to. */
static int walk_header(struct toml_reader *r, const struct key *key, struct toml_value **table)
{
    for (size_t i = 0; i + 1 < key->count; i++) {
        struct toml_value *next = toml_find(r->doc, *table, key->part[i]);
        if (!next) {
            int rc = add_table(r, *table, key->part[i], key->at[i], ORIGIN_IMPLICIT, &next);
            if (rc < 0)
                return rc;
        } else if (next->type == TOML_ARRAY && next->origin == ORIGIN_TABLES) {
            next = next->last;
        } else if (next->type != TOML_TABLE || next->origin == ORIGIN_CLOSED) {
            return fail_taken(r, key->at[i], next);
        }
        *table = next;
    }
    return 0;
}

static int open_table(struct toml_reader *r, const struct key *key, struct toml_value *parent, struct toml_value **ret)
{
    size_t last = key->count - 1;
    struct toml_value *there = toml_find(r->doc, parent, key->part[last]);
    if (!there)
        return add_table(r, parent, key->part[last], key->at[last], ORIGIN_HEADER, ret);
    if (there->type != TOML_TABLE || there->origin != ORIGIN_IMPLICIT)
        return fail_taken(r, key->at[last], there);
    there->origin = ORIGIN_HEADER;
    there->at = there->key_at = toml_position_of(r, key->at[last]);
    *ret = there;
    return 0;
}

static int open_member(struct toml_reader *r, const struct key *key, struct toml_value *parent, struct toml_value **ret)
{
    size_t last = key->count - 1;
    struct toml_value *array = toml_find(r->doc, parent, key->part[last]);
    if (!array) {
        int rc = add_child(r, parent, key->part[last], key->at[last], &array);
        if (rc < 0)
            return rc;
        array->type = TOML_ARRAY;
        array->origin = ORIGIN_TABLES;
    } else if (array->type != TOML_ARRAY || array->origin != ORIGIN_TABLES) {
        return fail_taken(r, key->at[last], array);
    }
    return add_table(r, array, (struct str){"", 0}, key->at[last], ORIGIN_HEADER, ret);
}

/* [table] or [[member of an array of tables]]; *table becomes the one that the following lines fill. */
static int read_header(struct toml_reader *r, struct toml_value **table)
{
    bool member = looking_at(r, "[[");
    r->at += member ? 2 : 1;
    struct key key;
    int rc = read_key(r, &key);
    if (rc < 0)
        return rc;
    if (!looking_at(r, member ? "]]" : "]"))
        return fail(r, r->at, "'%s' is missing at the end of the table's name", member ? "]]" : "]");
    r->at += member ? 2 : 1;
    struct toml_value *parent = &r->doc->root;
    rc = walk_header(r, &key, &parent);
    if (rc == 0)
        rc = member ? open_member(r, &key, parent, table) : open_table(r, &key, parent, table);
    return rc < 0 ? rc : end_of_line(r, "a table's name");
}

static int read_document(struct toml_reader *r)
{
    struct toml_value *table = &r->doc->root;
    while (r->at < r->end) {
        skip_blanks(r);
        int rc = skip_comment(r);
        if (rc < 0)
            return rc;
        if (skip_line_end(r))
            continue;
        if (next_is(r, '[')) {
            rc = read_header(r, &table);
        } else {
            rc = read_pair(r, table);
            if (rc == 0)
                rc = end_of_line(r, "a value");
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int check_encoding(struct toml_reader *r)
{
    for (const char *p = r->at; p < r->end;) {
        size_t len = str_utf8((struct str){p, (size_t)(r->end - p)});
        if (len == 0)
            return fail(r, p, "byte 0x%02x is not UTF-8", (unsigned char)*p);
        p += len;
    }
    return 0;
}

int toml_parse(struct str text, struct toml_document **ret, struct toml_error *err)
{
    struct toml_error ignored;
    struct toml_reader r = {.begin = text.at, .at = text.at, .end = text.at + text.len, .err = err ? err : &ignored};
    if (text.len > TOML_SIZE_MAX)
        return too_big(&r, r.at, "the file is larger than 1 MiB");
    AUTO_TOML struct toml_document *doc = calloc(1, sizeof *doc);
    if (!doc)
        return out_of_memory(&r);
    doc->arena = ARENA(ARENA_MAX);
    doc->root.origin = ORIGIN_HEADER;
    doc->root.at = (struct toml_position){1, 1};
    r.doc = doc;
    if (looking_at(&r, "\xef\xbb\xbf")) /* a byte order mark, which editors on other systems write */
        r.begin = r.at += 3;
    int rc = check_encoding(&r);
    if (rc == 0)
        rc = read_document(&r);
    if (rc < 0)
        return rc;
    *ret = doc;
    doc = NULL;
    return 0;
}

void toml_free(struct toml_document *doc)
{
    if (!doc)
        return;
    arena_done(&doc->arena);
    free(doc);
}

const struct toml_value *toml_root(const struct toml_document *doc)
{
    return &doc->root;
}

const struct toml_value *toml_get(const struct toml_value *table, const char *key)
{
    if (table->type != TOML_TABLE)
        return NULL;
    for (const struct toml_value *v = table->first; v; v = v->next)
        if (str_is(v->key, key))
            return v;
    return NULL;
}
