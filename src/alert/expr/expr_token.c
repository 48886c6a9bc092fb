/* SPDX-License-Identifier: Apache-2.0
 * Tokens of the expression language: numbers with units, names, texts, operators.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "alert/expr/node.h"
#include "base/cleanup.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static struct str from(struct str text, size_t at)
{
    return (struct str){text.at + at, text.len - at};
}

/* Characters before byte `end`; each invalid UTF-8 byte counts as one. */
static int characters(struct str text, size_t end)
{
    int count = 0;
    for (size_t i = 0; i < end && i < text.len; count++) {
        size_t n = str_utf8(from(text, i));
        i += n ? n : 1;
    }
    return count;
}

int expr_fail(struct str text, size_t at, size_t len, struct expr_error *err, const char *format, ...)
{
    va_list args;
    if (!err)
        return -EINVAL;
    err->column = characters(text, at) + 1;
    int width = characters(text, at + len) + 1 - err->column;
    err->width = width > 0 ? width : 1;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return -EINVAL;
}

/* "20GiB", "85 C", "1h30m", "1e3". A blank before the unit is allowed. */
static int token_read_number(struct str text, size_t at, struct token *t, struct expr_error *err)
{
    double total = 0;
    size_t end = at;
    t->unit = UNIT_PLAIN;
    for (bool more = true; more;) {
        size_t begin = end, unit_at, len;
        double number;
        struct unit unit;
        while (end < text.len && (is_digit(text.at[end]) || text.at[end] == '.'))
            end++;
        if (end < text.len && (text.at[end] == 'e' || text.at[end] == 'E')) {
            size_t digits = end + 1;
            if (digits < text.len && (text.at[digits] == '+' || text.at[digits] == '-'))
                digits++;
            if (digits < text.len && is_digit(text.at[digits]))
                for (end = digits; end < text.len && is_digit(text.at[end]);)
                    end++;
        }
        if (!str_to_double((struct str){text.at + begin, end - begin}, &number))
            return expr_fail(text, begin, end - begin, err, "'" STR_FMT "' is not a number", (int)(end - begin), text.at + begin);
        for (unit_at = end; unit_at < text.len && text.at[unit_at] == ' ';)
            unit_at++;
        len = unit_parse(from(text, unit_at), &unit);
        /* "5 and x": a word that merely begins like a unit isn't one. */
        size_t behind = unit_at + len;
        bool whole = len && (behind >= text.len || !is_letter(text.at[behind]));
        if (whole && behind < text.len && is_digit(text.at[behind]) && !unit_is_time(unit))
            whole = false;
        if (!whole) {
            if (end < text.len && (is_letter(text.at[end]) || (unsigned char)text.at[end] >= 0x80)) {
                size_t stop = end;
                while (stop < text.len && (is_letter(text.at[stop]) || is_digit(text.at[stop])))
                    stop++;
                return expr_fail(text, end, MAX_OF(stop - end, 1), err,
                                 "unknown unit; B, KiB, MiB, GiB, C, W, %%, ms, s, m, h, d, MHz and rpm are known");
            }
            if (!t->unit.plain)
                return expr_fail(text, begin, end - begin, err, "a unit is missing behind this number");
            total = number;
            break;
        }
        end = behind;
        if (!t->unit.plain && !unit_is_time(unit))
            return expr_fail(text, unit_at, len, err, "only times can be combined, like 1h30m");
        total += t->unit.plain ? number : number * unit.factor / t->unit.factor;
        if (t->unit.plain)
            t->unit = unit;
        more = unit_is_time(unit) && end < text.len && is_digit(text.at[end]);
    }
    t->kind = TOKEN_NUMBER;
    t->number = total;
    t->len = end - at;
    return 0;
}

static int read_text(struct str text, size_t at, struct token *t, struct expr_error *err)
{
    char quote = text.at[at];
    size_t end = at + 1;
    while (end < text.len && text.at[end] != quote)
        end++;
    if (end >= text.len)
        return expr_fail(text, at, 1, err, "the text that begins here does not end");
    t->kind = TOKEN_TEXT;
    t->text = (struct str){text.at + at + 1, end - at - 1};
    t->len = end + 1 - at;
    return 0;
}

static void read_name(struct str text, size_t at, struct token *t)
{
    static const struct {
        const char *word;
        enum expr_op op;
    } words[] = {{"and", OP_AND}, {"or", OP_OR}, {"not", OP_NOT}, {"contains", OP_CONTAINS}, {"matches", OP_MATCHES}};
    size_t end = at;
    while (end < text.len && (is_letter(text.at[end]) || is_digit(text.at[end]) || (text.at[end] == '.' && end > at)))
        end++;
    t->kind = TOKEN_NAME;
    t->text = (struct str){text.at + at, end - at};
    t->len = end - at;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is_any_case(t->text, words[i].word)) {
            t->kind = TOKEN_OPERATOR;
            t->op = words[i].op;
        }
}

static bool read_symbol(struct str rest, struct token *t)
{
    /* Longer operators first. */
    static const struct {
        const char *text;
        enum token_kind kind;
        enum expr_op op;
    } symbols[] = {
        {"<=", TOKEN_OPERATOR, OP_LESS_EQUAL}, {">=", TOKEN_OPERATOR, OP_MORE_EQUAL}, {"==", TOKEN_OPERATOR, OP_EQUAL},
        {"!=", TOKEN_OPERATOR, OP_UNEQUAL},    {"&&", TOKEN_OPERATOR, OP_AND},        {"||", TOKEN_OPERATOR, OP_OR},
        {"<", TOKEN_OPERATOR, OP_LESS},        {">", TOKEN_OPERATOR, OP_MORE},        {"!", TOKEN_OPERATOR, OP_NOT},
        {"+", TOKEN_OPERATOR, OP_ADD},         {"-", TOKEN_OPERATOR, OP_SUBTRACT},    {"*", TOKEN_OPERATOR, OP_MULTIPLY},
        {"/", TOKEN_OPERATOR, OP_DIVIDE},      {"(", TOKEN_OPEN, OP_NUMBER},          {")", TOKEN_CLOSE, OP_NUMBER},
        {",", TOKEN_COMMA, OP_NUMBER},
    };
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++)
        if (str_starts(rest, symbols[i].text)) {
            t->kind = symbols[i].kind;
            t->op = symbols[i].op;
            t->len = strlen(symbols[i].text);
            return true;
        }
    return false;
}

int expr_token(struct str text, size_t at, struct token *t, struct expr_error *err)
{
    while (at < text.len && (text.at[at] == ' ' || text.at[at] == '\t' || text.at[at] == '\n' || text.at[at] == '\r'))
        at++;
    *t = (struct token){.kind = TOKEN_END, .at = at};
    if (at >= text.len)
        return 0;
    char c = text.at[at];
    if (is_digit(c) || (c == '.' && at + 1 < text.len && is_digit(text.at[at + 1])))
        return token_read_number(text, at, t, err);
    if (c == '"' || c == '\'')
        return read_text(text, at, t, err);
    if (is_letter(c)) {
        read_name(text, at, t);
        return 0;
    }
    if (read_symbol(from(text, at), t))
        return 0;
    size_t len = str_utf8(from(text, at));
    if (c == '=')
        return expr_fail(text, at, 1, err, "to compare, write == instead of =");
    return expr_fail(text, at, MAX_OF(len, 1), err, "this character has no meaning here");
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool glob_matches(struct str pattern, struct str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;
    while (t < text.len) {
        if (p < pattern.len && pattern.at[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < pattern.len && (pattern.at[p] == '?' || lower(pattern.at[p]) == lower(text.at[t]))) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.at[p] == '*')
        p++;
    return p == pattern.len;
}

/* The longest part of a line that is shown. */
enum { CARET_LINE = 100 };

void expr_caret(struct buf *out, struct str text, const struct expr_error *err, int indent)
{
    int first = 0, total = characters(text, text.len);
    if (total > CARET_LINE && err->column > CARET_LINE / 2)
        first = err->column - CARET_LINE / 2;
    buf_printf(out, "%*s", indent, "");
    int shown = 0, position = 0;
    for (size_t i = 0; i < text.len && shown < CARET_LINE; position++) {
        size_t n = str_utf8(from(text, i));
        bool odd = n == 0 || (n == 1 && (unsigned char)text.at[i] < 0x20);
        if (position >= first) {
            if (odd)
                buf_char(out, n == 0 ? '?' : ' ');
            else
                buf_add(out, text.at + i, n);
            shown++;
        }
        i += n ? n : 1;
    }
    int column = err->column - 1 - first, width = err->width;
    if (column + width > CARET_LINE)
        width = CARET_LINE - column;
    buf_printf(out, "\n%*s", indent + column, "");
    for (int i = 0; i < width || i == 0; i++)
        buf_char(out, '^');
    buf_char(out, '\n');
}
