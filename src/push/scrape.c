/* SPDX-License-Identifier: Apache-2.0
 * Parses the text of /metrics: its lines, the labels of a line, and the series that ended since the last one.
 */
#include "push/push.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "net/protobuf.h"

static size_t count_lines(struct str text)
{
    size_t count = 1;
    for (struct str line; str_cut(&text, '\n', &line);)
        count++;
    return count;
}

/* The value follows the last space: labels may contain spaces, numbers don't, and whirr writes no timestamps. */
static bool scrape_read_line(struct str line, struct push_line *ret)
{
    const char *space = memrchr(line.at, ' ', line.len);
    if (!space)
        return false;
    ret->series = (struct str){line.at, (size_t)(space - line.at)};
    return str_to_double((struct str){space + 1, line.len - ret->series.len - 1}, &ret->value);
}

/* "# HELP NAME TEXT"; keeps backslashes, as the text is for people. */
static struct str help_of(struct str line)
{
    struct str name;
    line = (struct str){line.at + 7, line.len - 7};
    return str_cut(&line, ' ', &name) ? line : (struct str){0};
}

int push_scrape_init(struct push_scrape *s, struct str text, struct wall at)
{
    *s = (struct push_scrape){.at = at, .text = malloc(text.len + 1)};
    s->lines = calloc(count_lines(text), sizeof *s->lines);
    if (!s->text || !s->lines) {
        push_scrape_done(s);
        return -ENOMEM;
    }
    memcpy(s->text, text.at, text.len);
    s->text[text.len] = '\0';
    struct str rest = {s->text, text.len}, line;
    bool counter = false;
    struct str help = {0};
    while (rest.len && str_cut(&rest, '\n', &line)) {
        if (str_starts(line, "# HELP "))
            help = help_of(line);
        if (str_starts(line, "# TYPE "))
            counter = str_ends(line, " counter") || str_ends(line, " histogram");
        if (!line.len || line.at[0] == '#' || !scrape_read_line(line, &s->lines[s->count]))
            continue;
        s->lines[s->count].help = help;
        s->lines[s->count++].counter = counter;
    }
    return 0;
}

void push_scrape_done(struct push_scrape *s)
{
    free(s->text);
    free(s->lines);
    *s = (struct push_scrape){0};
}

/* Open addressing; `slots` is a power of two and never full. 0: free, else position + 1. */
static void insert(uint32_t *table, size_t slots, const struct push_line *lines, size_t at)
{
    size_t slot = str_hash(lines[at].series) & (slots - 1);
    while (table[slot])
        slot = (slot + 1) & (slots - 1);
    table[slot] = (uint32_t)at + 1;
}

/* Position + 1; 0: missing. */
static size_t find(const uint32_t *table, size_t slots, const struct push_line *lines, struct str series)
{
    for (size_t slot = str_hash(series) & (slots - 1); table[slot]; slot = (slot + 1) & (slots - 1))
        if (str_equal(lines[table[slot] - 1].series, series))
            return table[slot];
    return 0;
}

static uint32_t *make_table(const struct push_line *lines, size_t count, size_t *ret_slots)
{
    size_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    uint32_t *table = calloc(slots, sizeof *table);
    for (size_t i = 0; table && i < count; i++)
        insert(table, slots, lines, i);
    *ret_slots = slots;
    return table;
}

/* Series keep their order, and most persist: try the next line first; only a change needs a table. */
int push_mark_stale(struct push_scrape *now, const struct push_scrape *before)
{
    size_t slots = 0, count = now->count, next = 0;
    AUTO_FREE uint32_t *table = NULL;
    struct push_line *lines = realloc(now->lines, (count + before->count + 1) * sizeof *lines);
    if (!lines)
        return -ENOMEM;
    now->lines = lines;
    for (size_t i = 0; i < before->count; i++) {
        struct str series = before->lines[i].series;
        if (before->lines[i].stale)
            continue;
        if (next < count && str_equal(lines[next].series, series)) {
            next++;
            continue;
        }
        if (!table && !(table = make_table(lines, count, &slots)))
            return -ENOMEM;
        size_t found = find(table, slots, lines, series);
        next = found ? found : next;
        if (!found) {
            lines[now->count] = before->lines[i];
            lines[now->count++].stale = true;
        }
    }
    return 0;
}

/* A Snappy length of ten would be too short for a request, and a quote after a length would be a copy, which can't come first. */
enum push_kind push_kind_of(struct str body)
{
    enum { MESSAGE_1 = 1 << 3 | 2, MESSAGE_4 = 4 << 3 | 2, LITERAL_ONE_BYTE = 60 };
    uint64_t whole;
    if (str_starts(body, "{\""))
        return PUSH_OTLP_JSON;
    if (body.len && (unsigned char)*body.at == MESSAGE_1)
        return PUSH_OTLP_PROTOBUF;
    if (!pb_take_varint(&body, &whole) || !body.len)
        return PUSH_WRITE_1;
    /* Snappy starts with a literal; a long one has its length in bytes after the tag. A 2.0 request starts with a symbol. */
    unsigned tag = (unsigned char)*body.at, skip = 1 + (tag >> 2 < LITERAL_ONE_BYTE ? 0 : (tag >> 2) - LITERAL_ONE_BYTE + 1);
    return (tag & 3) == 0 && body.len > skip && (unsigned char)body.at[skip] == MESSAGE_4 ? PUSH_WRITE_2 : PUSH_WRITE_1;
}

struct wall push_time(struct wall now, struct wall last)
{
    if (now.ms <= last.ms && last.ms - now.ms < PUSH_BACK_MS)
        return (struct wall){last.ms + 1};
    return now;
}

/* ---- labels ---- */

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
