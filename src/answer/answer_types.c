/* SPDX-License-Identifier: Apache-2.0
 * Describes any answer, from its table, as a type of TypeScript (web/src/api.ts) and as a TypedDict of Python
 * (python/whirr/answers.py).
 */
#include "answer/answer.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* What a language calls values whose type needs no more of the table. */
struct type_names {
    const char *whole, *number, *boolean, *any, *lines, *map;
};

/* NULL: the type needs more. */
static const char *plain_type(const struct type_names *l, enum answer_field_kind kind, const struct answer_field *f)
{
    switch (kind) {
    case ANSWER_INT: return l->whole;
    case ANSWER_AMOUNT:
    case ANSWER_NUMBER:
    case ANSWER_READING:
    case ANSWER_OPTION: return f->whole ? l->whole : l->number;
    case ANSWER_BOOL: return l->boolean;
    case ANSWER_ANY: return l->any;
    case ANSWER_LINES: return l->lines;
    case ANSWER_MAP: return l->map;
    default: return NULL;
    }
}

/* ---- TypeScript ---- */

enum { LINE_WIDTH = 120 }; /* as the page's sources are formatted */

static bool ts_fields(struct buf *out, const struct answer *a, int indent);

static void ts_object(struct buf *out, const struct answer *a, int indent)
{
    buf_text(out, "{\n");
    if (ts_fields(out, a, indent + 2))
        buf_printf(out, "%*sabsent: Record<string, string>;\n", indent + 2, "");
    buf_printf(out, "%*s}", indent, "");
}

static void names_with(struct buf *out, const struct answer_names *names, const char *first, const char *between)
{
    const char *name, *lead = first;
    int value = names->first - 1;
    while ((name = answer_next_name(names, &value))) {
        buf_printf(out, "%s\"%s\"", lead, name);
        lead = between;
    }
}

/* On the line of the key, or on one of their own, or each on one. */
static void ts_names(struct buf *out, const struct answer_field *f, int indent)
{
    char each[32];
    bool list = f->kind == ANSWER_BITS || f->item == ANSWER_BITS;
    size_t begin = out->len, behind = f->nullable ? strlen(" | null;") : 1, length;
    names_with(out, f->names, "", " | ");
    length = out->len - begin;
    if ((size_t)indent + strlen(f->key) + 2 + f->optional + length + behind + (list ? strlen("()[]") : 0) <= LINE_WIDTH)
        return;
    out->len = begin - (list ? 0 : 1); /* nor a blank behind the key */
    snprintf(each, sizeof each, "\n%*s| ", indent + 2, "");
    if ((size_t)indent + 2 + length + (list ? 0 : behind) <= LINE_WIDTH) {
        buf_printf(out, "\n%*s", indent + 2, "");
        names_with(out, f->names, "", " | ");
    } else {
        names_with(out, f->names, each, each);
        if (f->nullable && !list)
            buf_printf(out, "\n%*s", indent + 1, "");
    }
    if (list)
        buf_printf(out, "\n%*s", indent, "");
}

static void ts_type(struct buf *out, enum answer_field_kind kind, const struct answer_field *f, int indent)
{
    static const struct type_names typescript = {"number", "number", "boolean", "unknown", "string[]", "Record<string, string>"};
    const char *plain = plain_type(&typescript, kind, f);
    bool bits = kind == ANSWER_BITS, named = f->names && !f->open;
    if (plain) {
        buf_text(out, plain);
    } else if (kind == ANSWER_LIST) {
        buf_text(out, f->gaps ? "(" : "");
        ts_type(out, f->item, f, indent);
        buf_text(out, f->gaps ? " | null)[]" : "[]");
    } else if (kind == ANSWER_OBJECT && f->of->name) {
        buf_text(out, f->of->name);
    } else if (kind == ANSWER_OBJECT) {
        ts_object(out, f->of, indent);
    } else if (named) {
        buf_text(out, bits ? "(" : "");
        ts_names(out, f, indent);
        buf_text(out, bits ? ")[]" : "");
    } else {
        buf_text(out, bits ? "string[]" : "string");
    }
}

/* True: some may be unknown. */
static bool ts_fields(struct buf *out, const struct answer *a, int indent)
{
    bool has_readings = false;
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        has_readings |= answer_may_be_unknown(f);
        if (f->kind == ANSWER_KEYS) {
            has_readings |= ts_fields(out, f->of, indent);
            continue;
        }
        if (f->about)
            buf_printf(out, "%*s/** %s */\n", indent, "", f->about);
        buf_printf(out, "%*s%s%s: ", indent, "", f->key, f->optional ? "?" : "");
        ts_type(out, f->kind == ANSWER_READING && f->item ? f->item : f->kind, f, indent);
        buf_text(out, answer_may_be_null(f) ? " | null;\n" : ";\n");
    }
    return has_readings;
}

static void add_interface(const struct answer *a, void *user)
{
    struct buf *out = user;
    if (a->about)
        buf_printf(out, "\n/** %s */", a->about);
    buf_printf(out, "\nexport interface %s ", a->name);
    ts_object(out, a, 0);
    buf_char(out, '\n');
}

void answer_typescript(struct buf *out, const struct answer *const *list, size_t count)
{
    buf_text(
        out,
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Answers of the API, made from their tables (src/answer/answer.h): WHIRR_WRITE_TYPES=1 meson test -C build answers\n");
    answer_each_named(list, count, add_interface, out);
}

/* ---- Python ---- */

enum { NAME_SIZE = 96 };

/* An object without a name of its own has that of the object around it and its key: WhyGpuIdle. */
static void name_part(char name[NAME_SIZE], const char *outer, const char *key)
{
    size_t used = (size_t)snprintf(name, NAME_SIZE, "%s", outer);
    for (bool first = true; *key && used + 1 < NAME_SIZE; key++) {
        if (*key != '_')
            name[used++] = (char)(first ? toupper((unsigned char)*key) : *key);
        first = *key == '_';
    }
    name[used] = '\0';
}

static void py_names(struct buf *out, const struct answer_names *names)
{
    const char *name, *lead = "Literal[";
    int value = names->first - 1;
    for (; (name = answer_next_name(names, &value)); lead = ", ")
        buf_printf(out, "%s\"%s\"", lead, name);
    buf_char(out, ']');
}

static void py_type(struct buf *out, enum answer_field_kind kind, const struct answer_field *f, const char *outer)
{
    static const struct type_names python = {"int", "float", "bool", "Any", "list[str]", "dict[str, str]"};
    const char *plain = plain_type(&python, kind, f);
    char name[NAME_SIZE];
    if (plain) {
        buf_text(out, plain);
    } else if (kind == ANSWER_LIST) {
        buf_text(out, f->gaps ? "list[Optional[" : "list[");
        py_type(out, f->item, f, outer);
        buf_text(out, f->gaps ? "]]" : "]");
    } else if (kind == ANSWER_OBJECT) {
        name_part(name, f->of->name ? f->of->name : outer, f->of->name ? "" : f->key);
        buf_text(out, name);
    } else {
        buf_text(out, kind == ANSWER_BITS ? "list[" : "");
        if (f->names && !f->open)
            py_names(out, f->names);
        else
            buf_text(out, "str");
        buf_text(out, kind == ANSWER_BITS ? "]" : "");
    }
}

/* Fields that a class has; that it may have; whose key is a word of the language, so that no class can name it. */
enum class_part { ALWAYS, MAYBE_THERE, KEYWORDS };

static enum class_part part_of(const struct answer_field *f)
{
    static const char keywords[] =
        " and as assert async await break class continue def del elif else except finally for from global "
        "if import in is lambda nonlocal not or pass raise return try while with yield ";
    char word[NAME_SIZE];
    snprintf(word, sizeof word, " %s ", f->key);
    return strstr(keywords, word) ? KEYWORDS : f->optional ? MAYBE_THERE : ALWAYS;
}

/* Returns how many there are, and whether a value may be unknown. Without `out` only counts. */
static size_t py_fields(struct buf *out, const struct answer *a, const char *name, enum class_part group, bool *unknown)
{
    size_t count = 0;
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        *unknown |= answer_may_be_unknown(f);
        if (f->kind == ANSWER_KEYS)
            count += py_fields(out, f->of, name, group, unknown);
        if (f->kind == ANSWER_KEYS || part_of(f) != group)
            continue;
        count++;
        if (!out)
            continue;
        if (f->about && group != KEYWORDS)
            buf_printf(out, "    #: %s\n", f->about);
        buf_printf(out, group == KEYWORDS ? "\"%s\": %s" : "    %s: %s", f->key, answer_may_be_null(f) ? "Optional[" : "");
        py_type(out, f->kind == ANSWER_READING && f->item ? f->item : f->kind, f, name);
        buf_printf(out, "%s%s", answer_may_be_null(f) ? "]" : "", group == KEYWORDS ? ", " : "\n");
    }
    return count;
}

static void add_class(struct buf *out, const struct answer *a, const char *name);

/* Classes of parts come first. */
static void add_parts(struct buf *out, const struct answer *a, const char *name)
{
    char part[NAME_SIZE];
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        if (!f->of || f->of->name)
            continue;
        name_part(part, name, f->kind == ANSWER_KEYS ? "" : f->key);
        if (f->kind == ANSWER_KEYS)
            add_parts(out, f->of, name);
        else
            add_class(out, f->of, part);
    }
}

static void add_class(struct buf *out, const struct answer *a, const char *name)
{
    bool unknown = false, maybe = py_fields(NULL, a, name, MAYBE_THERE, &unknown) > 0,
         keywords = py_fields(NULL, a, name, KEYWORDS, &unknown) > 0;
    add_parts(out, a, name);
    if (maybe) {
        buf_printf(out, "\n\nclass _%s(TypedDict, total=False):\n", name);
        py_fields(out, a, name, MAYBE_THERE, &unknown);
    }
    if (keywords) {
        buf_printf(out, "\n\n_%sKeywords = TypedDict(\"_%sKeywords\", {", name, name);
        py_fields(out, a, name, KEYWORDS, &unknown);
        buf_text(out, "})\n");
    }
    buf_printf(out, "\n\nclass %s(", name);
    if (maybe)
        buf_printf(out, "_%s%s", name, keywords ? ", " : "");
    if (keywords)
        buf_printf(out, "_%sKeywords", name);
    buf_printf(out, "%s):\n", maybe || keywords ? "" : "TypedDict");
    if (a->about)
        buf_printf(out, "    \"\"\"%s.\"\"\"\n", a->about);
    size_t always = py_fields(out, a, name, ALWAYS, &unknown);
    if (unknown)
        buf_text(out, "    #: Why a value is None\n    absent: dict[str, str]\n");
    else if (!always && !a->about)
        buf_text(out, "    pass\n");
}

static void add_named(const struct answer *a, void *user)
{
    add_class(user, a, a->name);
}

void answer_python(struct buf *out, const struct answer *const *list, size_t count)
{
    buf_text(out,
             "# SPDX-License-Identifier: Apache-2.0\n"
             "\"\"\"The form of every answer, made from its table (src/answer/answer.h): WHIRR_WRITE_TYPES=1 meson test -C build "
             "answers\"\"\"\n"
             "from __future__ import annotations\n\n"
             "from typing import Any, Literal, Optional, TypedDict\n");
    answer_each_named(list, count, add_named, out);
}
