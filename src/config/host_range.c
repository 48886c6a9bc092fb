/* SPDX-License-Identifier: Apache-2.0 */
#include "config/host_range.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct str part(const char *from, const char *to)
{
    return (struct str){from, (size_t)(to - from)};
}

/* "001-128" between the brackets. */
static bool parse_digits(struct str text, struct host_range *r)
{
    struct str first;
    if (!str_cut(&text, '-', &first) || !first.len || first.len > 9 || !text.len || text.len > 9)
        return false;
    for (size_t i = 0; i < first.len; i++)
        if (first.at[i] < '0' || first.at[i] > '9')
            return false;
    r->width = (int)first.len;
    return str_to_i64(first, &r->first) && str_to_i64(text, &r->last) && r->first <= r->last &&
           r->last - r->first < HOST_RANGE_NAMES_MAX;
}

bool host_range_parse(struct str text, struct host_range *ret)
{
    struct host_range r = {0};
    const char *equals = text.len ? memrchr(text.at, '=', text.len) : NULL;
    if (!equals || !str_to_i64(part(equals + 1, text.at + text.len), &r.count) || r.count < 0 || r.count > 1024)
        return false;
    r.before = str_trim(part(text.at, equals));
    const char *end = r.before.at + r.before.len;
    const char *open = r.before.len ? memchr(r.before.at, '[', r.before.len) : NULL;
    const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
    r.pattern = r.before.len && (memchr(r.before.at, '*', r.before.len) || memchr(r.before.at, '?', r.before.len));
    if (!r.before.len || (open && r.pattern) || !open != !close || (close && memchr(close + 1, '[', (size_t)(end - close - 1))))
        return false;
    if (open) {
        if (!parse_digits(part(open + 1, close), &r))
            return false;
        r.after = part(close + 1, end);
        r.before = part(r.before.at, open);
    }
    *ret = r;
    return true;
}

int64_t host_range_names(const struct host_range *r)
{
    return r->pattern ? 0 : r->last - r->first + 1;
}

void host_range_name(const struct host_range *r, int64_t i, char *name, size_t size)
{
    if (r->width)
        snprintf(name, size, "%.*s%0*" PRId64 "%.*s", (int)r->before.len, r->before.at, r->width, r->first + i, (int)r->after.len,
                 r->after.at);
    else
        snprintf(name, size, "%.*s", (int)r->before.len, r->before.at);
}

bool host_range_has(const struct host_range *r, const char *name)
{
    char text[256];
    struct str s = str_from(name);
    if (r->pattern) {
        str_copy(text, sizeof text, r->before);
        return fnmatch(text, name, 0) == 0;
    }
    if (!r->width)
        return s.len == r->before.len && memcmp(s.at, r->before.at, s.len) == 0;
    if (s.len <= r->before.len + r->after.len || memcmp(s.at, r->before.at, r->before.len) != 0 ||
        memcmp(s.at + s.len - r->after.len, r->after.at, r->after.len) != 0)
        return false;
    int64_t number;
    struct str digits = {s.at + r->before.len, s.len - r->before.len - r->after.len};
    if (!str_to_i64(digits, &number) || number < r->first || number > r->last)
        return false;
    host_range_name(r, number - r->first, text, sizeof text);
    return strcmp(text, name) == 0;
}
