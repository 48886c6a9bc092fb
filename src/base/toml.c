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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/toml_reader.h"

enum origin { ORIGIN_CLOSED, ORIGIN_IMPLICIT, ORIGIN_HEADER, ORIGIN_DOTTED, ORIGIN_TABLES /* an array made by [[a]] */ };

enum { ARENA_MAX = 64 << 20, KEY_PARTS_MAX = TOML_DEPTH_MAX };

struct key {
    size_t count;
    struct str part[KEY_PARTS_MAX];
    const char *at[KEY_PARTS_MAX];
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

int toml_fail(struct toml_reader *r, const char *at, const char *format, ...)
{
    r->err->at = toml_position_of(r, at);
    va_list args;
    va_start(args, format);
    vsnprintf(r->err->text, sizeof r->err->text, format, args);
    va_end(args);
    return -EINVAL;
}

int toml_out_of_memory(struct toml_reader *r)
{
    toml_fail(r, r->at, "out of memory");
    return -ENOMEM;
}

static int too_big(struct toml_reader *r, const char *at, const char *what)
{
    toml_fail(r, at, "%s", what);
    return -E2BIG;
}

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
        return toml_out_of_memory(r);
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
    return toml_fail(r, at, "'%.80s' is already defined in line %d", there->key.at, there->key_at.line);
}

static void skip_blanks(struct toml_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static int skip_comment(struct toml_reader *r)
{
    if (!toml_next_is(r, '#'))
        return 0;
    for (; r->at < r->end && *r->at != '\n' && !toml_looking_at(r, "\r\n"); r->at++)
        if (toml_is_control(*r->at))
            return toml_fail(r, r->at, "control character 0x%02x in a comment", (unsigned char)*r->at);
    return 0;
}

/* Consumes a newline; true also at the end of the text. */
static bool skip_line_end(struct toml_reader *r)
{
    if (toml_looking_at(r, "\r\n"))
        r->at += 2;
    else if (toml_next_is(r, '\n'))
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
    return skip_line_end(r) ? 0 : toml_fail(r, at, "nothing may follow behind %s on the same line", behind);
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
        int rc = toml_read_key_part(r, &key->part[key->count]);
        if (rc < 0)
            return rc;
        key->count++;
        skip_blanks(r);
        if (!toml_next_is(r, '.'))
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
    if (!toml_next_is(r, '='))
        return toml_fail(r, r->at, "'=' is missing behind the key '%.80s'", key.part[key.count - 1].at);
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
            return toml_fail(r, opening, "the closing ] of this array is missing");
        if (toml_next_is(r, ']')) {
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
        if (toml_next_is(r, ','))
            r->at++;
        else if (r->at == r->end)
            return toml_fail(r, opening, "the closing ] of this array is missing");
        else if (!toml_next_is(r, ']'))
            return toml_fail(r, r->at, "',' or ']' is missing in this array");
    }
}

static int read_inline_table(struct toml_reader *r, struct toml_value *table)
{
    r->at++;
    table->type = TOML_TABLE;
    skip_blanks(r);
    if (toml_next_is(r, '}')) {
        r->at++;
        return 0;
    }
    for (;;) {
        skip_blanks(r);
        int rc = read_pair(r, table);
        if (rc < 0)
            return rc;
        skip_blanks(r);
        if (toml_next_is(r, '}')) {
            r->at++;
            return 0;
        }
        if (!toml_next_is(r, ','))
            return toml_fail(r, r->at, "',' or '}' is missing (a table in braces stays on one line)");
        r->at++;
    }
}

static int read_value(struct toml_reader *r, struct toml_value *value)
{
    value->at = toml_position_of(r, r->at);
    switch (r->at < r->end ? *r->at : '\0') {
    case '"':
    case '\'': value->type = TOML_TEXT; return toml_read_text(r, true, &value->text);
    case '[': return read_array(r, value);
    case '{': return read_inline_table(r, value);
    default: return toml_read_scalar(r, value);
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
    bool member = toml_looking_at(r, "[[");
    r->at += member ? 2 : 1;
    struct key key;
    int rc = read_key(r, &key);
    if (rc < 0)
        return rc;
    if (!toml_looking_at(r, member ? "]]" : "]"))
        return toml_fail(r, r->at, "'%s' is missing at the end of the table's name", member ? "]]" : "]");
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
        if (toml_next_is(r, '[')) {
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
            return toml_fail(r, p, "byte 0x%02x is not UTF-8", (unsigned char)*p);
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
        return toml_out_of_memory(&r);
    doc->arena = ARENA(ARENA_MAX);
    doc->root.origin = ORIGIN_HEADER;
    doc->root.at = (struct toml_position){1, 1};
    r.doc = doc;
    if (toml_looking_at(&r, "\xef\xbb\xbf")) /* a byte order mark, which editors on other systems write */
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
