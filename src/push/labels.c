/* SPDX-License-Identifier: Apache-2.0
 * The labels of a line, unescaped and sorted.
 */
#include "base/cleanup.h"
#include "push/push.h"

enum { SPACE_MAX = 1 << 20 };

void push_labels_init(struct push_labels *l)
{
    *l = (struct push_labels){.space = BUF(SPACE_MAX)};
}

void push_labels_done(struct push_labels *l)
{
    buf_done(&l->space);
}

/* `space` moves as it grows: views hold offsets until the end. */
static bool labels_add(struct push_labels *l, struct str name, size_t value_at)
{
    if (l->space.len == value_at) /* an empty label counts as none */
        return true;
    if (l->count == PUSH_LABELS_MAX)
        return false;
    l->list[l->count++] = (struct push_label){name, {(const char *)value_at, l->space.len - value_at}};
    return true;
}

/* Starts after the opening quote; returns the position after the closing one, 0: missing. */
static size_t unescape(struct push_labels *l, struct str s, size_t at)
{
    while (at < s.len && s.at[at] != '"') {
        size_t plain = at;
        while (plain < s.len && s.at[plain] != '"' && s.at[plain] != '\\')
            plain++;
        buf_add(&l->space, s.at + at, plain - at);
        at = plain;
        if (at + 1 < s.len && s.at[at] == '\\') {
            buf_char(&l->space, s.at[at + 1] == 'n' ? '\n' : s.at[at + 1]);
            at += 2;
        } else if (at < s.len && s.at[at] == '\\') {
            return 0;
        }
    }
    return at < s.len ? at + 1 : 0;
}

static bool is_before(struct str x, struct str y)
{
    int order = memcmp(x.at, y.at, MIN_OF(x.len, y.len));
    return order < 0 || (order == 0 && x.len < y.len);
}

/* A dozen at most, often sorted already. */
static void sort_by_name(struct push_label *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct push_label one = list[i];
        size_t at = i;
        for (; at && is_before(one.name, list[at - 1].name); at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
}

static bool has(const struct push_labels *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (str_is(l->list[i].name, name))
            return true;
    return false;
}

static bool add_missing(struct push_labels *l, const char *name, struct str value)
{
    size_t at = l->space.len;
    if (!value.len || has(l, name))
        return true;
    buf_str(&l->space, value);
    return labels_add(l, str_from(name), at);
}

static bool read_pairs(struct push_labels *l, struct str s, size_t at)
{
    while (at < s.len && s.at[at] != '}') {
        size_t begin = at;
        while (at < s.len && s.at[at] != '=')
            at++;
        struct str name = {s.at + begin, at - begin};
        if (at + 1 >= s.len || s.at[at + 1] != '"')
            return false;
        size_t value = l->space.len;
        at = unescape(l, s, at + 2);
        if (!at || !labels_add(l, name, value))
            return false;
        at += at < s.len && s.at[at] == ',';
    }
    return true;
}

bool push_labels_read(struct push_labels *l, struct str series, struct str job, struct str instance)
{
    size_t end = 0;
    l->count = 0;
    l->space.len = 0;
    while (end < series.len && series.at[end] != '{')
        end++;
    buf_add(&l->space, series.at, end);
    if (!end || !labels_add(l, STR("__name__"), 0) || (end < series.len && !read_pairs(l, series, end + 1)))
        return false;
    if (!add_missing(l, "job", job) || !add_missing(l, "instance", instance) || l->space.failed)
        return false;
    for (size_t i = 0; i < l->count; i++)
        l->list[i].value.at = l->space.at + (size_t)l->list[i].value.at;
    sort_by_name(l->list, l->count);
    return true;
}
