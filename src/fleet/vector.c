/* SPDX-License-Identifier: Apache-2.0
 * Parses PromQL answers in place. For a large fleet these are tens of megabytes; a tree of all values would cost four times as much
 * as the query.
 */
#include "fleet/vector.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { DEEPEST = 32 };

static void skip_space(char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static bool take(char **at, char c)
{
    skip_space(at);
    if (**at != c)
        return false;
    ++*at;
    return true;
}

static bool hex4(const char *text, uint32_t *ret)
{
    *ret = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdefABCDEF", *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit)
            return false;
        uint32_t value = (uint32_t)(digit - digits);
        *ret = *ret << 4 | (value < 16 ? value : value - 6);
    }
    return true;
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(first[more] | c >> (6 * more));
    while (more-- > 0)
        *to++ = (char)(0x80 | (c >> (6 * more) & 0x3f));
    return to;
}

/* Decodes the escape after a backslash. Drops an unpaired surrogate. */
static bool unescape(char **from, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    uint32_t c, low;
    const char *letter = **from ? strchr(letters, **from) : NULL;
    if (letter) {
        *(*to)++ = meant[letter - letters];
        ++*from;
        return true;
    }
    if (**from != 'u' || !hex4(*from + 1, &c))
        return false;
    *from += 5;
    if (c >= 0xd800 && c < 0xdc00 && (*from)[0] == '\\' && (*from)[1] == 'u' && hex4(*from + 2, &low) && low >= 0xdc00 &&
        low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        *from += 6;
    }
    *to = put_utf8(*to, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    return true;
}

static bool take_string(char **at, const char **ret)
{
    if (!take(at, '"'))
        return false;
    char *from = *at, *to = from;
    *ret = to;
    for (;;) {
        size_t plain = strcspn(from, "\"\\");
        if (to != from)
            memmove(to, from, plain);
        from += plain;
        to += plain;
        if (*from == '"')
            break;
        if (*from++ != '\\' || !unescape(&from, &to))
            return false;
    }
    *at = from + 1;
    *to = '\0';
    return true;
}

static bool skip_value(char **at, int depth);

typedef bool member_fn(char **at, const char *name, void *user, int depth);

static bool skip_member(char **at, const char *name, void *user, int depth)
{
    (void)name, (void)user;
    return skip_value(at, depth);
}

/* An object, member by member. */
static bool take_object(char **at, member_fn *each, void *user, int depth)
{
    const char *name;
    if (depth > DEEPEST || !take(at, '{'))
        return false;
    if (take(at, '}'))
        return true;
    do {
        if (!take_string(at, &name) || !take(at, ':') || !each(at, name, user, depth + 1))
            return false;
    } while (take(at, ','));
    return take(at, '}');
}

static bool take_array(char **at, member_fn *each, void *user, int depth)
{
    if (depth > DEEPEST || !take(at, '['))
        return false;
    if (take(at, ']'))
        return true;
    do {
        if (!each(at, NULL, user, depth + 1))
            return false;
    } while (take(at, ','));
    return take(at, ']');
}

static bool skip_value(char **at, int depth)
{
    const char *text;
    skip_space(at);
    switch (**at) {
    case '"': return take_string(at, &text);
    case '{': return take_object(at, skip_member, NULL, depth);
    case '[': return take_array(at, skip_member, NULL, depth);
    default: break;
    }
    size_t len = strcspn(*at, ",]} \t\r\n"); /* a number, true, false, null */
    *at += len;
    return len > 0;
}

struct reading_rows {
    vector_row_fn *each;
    void *user;
    int rc;
    const char *list; /* name of the member with the rows, */
    member_fn *one;   /* and the function that parses one */
    bool found;       /* the list was found */
    struct vector_row row;
    const char *value; /* of the row; NULL: none */
};

static bool on_label(char **at, const char *name, void *user, int depth)
{
    struct vector_row *row = user;
    const char *value;
    (void)depth;
    if (!take_string(at, &value))
        return false;
    if (row->label_count < VECTOR_LABELS) {
        row->labels[row->label_count].name = name;
        row->labels[row->label_count++].value = value;
    }
    return true;
}

/* A timestamp and a text. */
static bool take_value(char **at, struct reading_rows *r, int depth)
{
    if (!take(at, '['))
        return false;
    skip_space(at);
    r->row.at.at = *at;
    if (!skip_value(at, depth + 1))
        return false;
    r->row.at.len = (size_t)(*at - r->row.at.at);
    return take(at, ',') && take_string(at, &r->value) && take(at, ']');
}

static bool on_row_member(char **at, const char *name, void *user, int depth)
{
    struct reading_rows *r = user;
    if (strcmp(name, "metric") == 0)
        return take_object(at, on_label, &r->row, depth);
    if (strcmp(name, "value") == 0)
        return take_value(at, r, depth);
    return skip_value(at, depth);
}

static bool on_row(char **at, const char *name, void *user, int depth)
{
    struct reading_rows *r = user;
    (void)name;
    r->row.label_count = 0;
    r->value = NULL;
    if (!take_object(at, on_row_member, r, depth))
        return false;
    if (r->value && str_to_double(str_from(r->value), &r->row.value))
        r->rc = r->each(r->user, &r->row);
    return r->rc == 0;
}

static bool on_list(char **at, const char *name, void *user, int depth)
{
    struct reading_rows *r = user;
    if (strcmp(name, r->list) != 0)
        return skip_value(at, depth);
    r->found = true;
    return take_array(at, r->one, r, depth);
}

static bool on_data(char **at, const char *name, void *user, int depth)
{
    return strcmp(name, "data") == 0 ? take_object(at, on_list, user, depth) : skip_value(at, depth);
}

static bool on_series(char **at, const char *name, void *user, int depth)
{
    struct reading_rows *r = user;
    (void)name;
    r->row.label_count = 0;
    if (!take_object(at, on_label, &r->row, depth))
        return false;
    r->rc = r->each(r->user, &r->row);
    return r->rc == 0;
}

static int read_rows(struct buf *answer, member_fn *member, struct reading_rows *r)
{
    char *at = answer->at;
    bool whole = at && take_object(&at, member, r, 0);
    if (r->rc)
        return r->rc;
    if (whole)
        skip_space(&at);
    return whole && r->found && !*at ? 0 : -EBADMSG;
}

int vector_read(struct buf *answer, vector_row_fn *each, void *user)
{
    return read_rows(answer, on_data, &(struct reading_rows){.each = each, .user = user, .list = "result", .one = on_row});
}

int vector_read_series(struct buf *answer, vector_row_fn *each, void *user)
{
    return read_rows(answer, on_list, &(struct reading_rows){.each = each, .user = user, .list = "data", .one = on_series});
}

const char *vector_label(const struct vector_row *row, const char *name)
{
    for (size_t i = 0; i < row->label_count; i++)
        if (strcmp(row->labels[i].name, name) == 0)
            return row->labels[i].value;
    return "";
}
