/* SPDX-License-Identifier: Apache-2.0
 * TOML's four kinds of strings, and the parts of keys.
 */

#include "base/digest.h"
#include "base/toml_reader.h"

bool toml_is_control(char c)
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
            return toml_fail(r, escape, "\\%c needs %d hexadecimal digits", escape[1], digits);
        value = value << 4 | (uint32_t)digit;
        r->at++;
    }
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return toml_fail(r, escape, "%.*s is not a character", (int)(r->at - escape), escape);
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
        return toml_fail(r, escape, "the text ends with a backslash");
    if (multi_line && skip_line_continuation(r))
        return 0;
    char c = *r->at++;
    if (c == 'u' || c == 'U')
        return read_code_point(r, escape, c == 'u' ? 4 : 8, to);
    const char *known = c ? strchr(letters, c) : NULL;
    if (!known)
        return toml_fail(r, escape, "unknown escape in text (a backslash is written \\\\, or the text put in 'single quotes')");
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
        if (!line_end && toml_is_control(c))
            return toml_fail(r, r->at, "control character 0x%02x in text (written \\u%04x)", (unsigned char)c, (unsigned char)c);
        *(*to)++ = c;
        r->at++;
    }
    return toml_fail(r, opening, "the closing %s of this text is missing",
                     quote == '"' ? (multi_line ? "\"\"\"" : "\"") : (multi_line ? "'''" : "'"));
}

int toml_read_text(struct toml_reader *r, bool multi_line_allowed, struct str *ret)
{
    const char *opening = r->at;
    char quote = *r->at;
    bool multi_line = toml_looking_at(r, quote == '"' ? "\"\"\"" : "'''");
    if (multi_line && !multi_line_allowed)
        return toml_fail(r, opening, "a key cannot span lines");
    r->at += multi_line ? 3 : 1;
    if (multi_line && toml_looking_at(r, "\r\n"))
        r->at += 2;
    else if (multi_line && toml_next_is(r, '\n'))
        r->at++;
    char *text = arena_alloc(&r->doc->arena, raw_length(r, quote, multi_line) + 1);
    if (!text)
        return toml_out_of_memory(r);
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

int toml_read_key_part(struct toml_reader *r, struct str *ret)
{
    if (toml_next_is(r, '"') || toml_next_is(r, '\''))
        return toml_read_text(r, false, ret);
    const char *begin = r->at;
    while (r->at < r->end && is_bare(*r->at))
        r->at++;
    if (r->at == begin) {
        size_t len = str_utf8((struct str){r->at, (size_t)(r->end - r->at)});
        if (r->at == r->end || *r->at == '\n' || *r->at == '\r')
            return toml_fail(r, r->at, "a key is missing");
        if (toml_is_control(*r->at))
            return toml_fail(r, r->at, "control character 0x%02x", (unsigned char)*r->at);
        return toml_fail(r, r->at, "'%.*s' cannot stand in a key (letters, digits, - and _ can; anything else in quotes)", (int)len,
                         r->at);
    }
    struct str part = {begin, (size_t)(r->at - begin)};
    ret->at = arena_copy(&r->doc->arena, part);
    ret->len = part.len;
    return ret->at ? 0 : toml_out_of_memory(r);
}
