/* SPDX-License-Identifier: Apache-2.0
 * TOML values of one word: booleans, integers, floats, dates and times.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/toml_reader.h"

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

int toml_read_scalar(struct toml_reader *r, struct toml_value *value)
{
    const char *begin = r->at;
    while (r->at < r->end && is_word(*r->at))
        r->at++;
    struct str word = {begin, (size_t)(r->at - begin)};
    if (word.len == 0)
        return toml_fail(r, begin, "a value is missing");
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
            return toml_fail(r, begin, "this is not a date or time (like 2026-11-15T01:02:03Z); text is written in quotes");
        return 0;
    }
    int rc = toml_scalar_read_number(word, value);
    if (rc == -ERANGE)
        return toml_fail(r, begin, "this number does not fit into 64 bits");
    if (rc < 0) {
        bool numeric = is_digit(word.at[0]) || strchr("+-.", word.at[0]);
        /* Don't quote the text: it may be a password without its quotes. */
        return toml_fail(r, begin, "this is not a %s; text is written in quotes", numeric ? "number" : "value");
    }
    return 0;
}
