/* SPDX-License-Identifier: Apache-2.0
 * Describes any answer as a TypedDict of Python, from its table: python/whirr/answers.py.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "answer/answer.h"
#include "base/str.h"

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

static void add_names(struct buf *out, const struct answer_names *names)
{
    const char *name, *lead = "Literal[";
    int value = names->first - 1;
    for (; (name = answer_next_name(names, &value)); lead = ", ")
        buf_printf(out, "%s\"%s\"", lead, name);
    buf_char(out, ']');
}

static void add_type(struct buf *out, enum answer_field_kind kind, const struct answer_field *f, const char *outer)
{
    char name[NAME_SIZE];
    switch (kind) {
    case ANSWER_INT: buf_text(out, "int"); break;
    case ANSWER_AMOUNT:
    case ANSWER_NUMBER:
    case ANSWER_READING:
    case ANSWER_OPTION: buf_text(out, f->whole ? "int" : "float"); break;
    case ANSWER_BOOL: buf_text(out, "bool"); break;
    case ANSWER_ANY: buf_text(out, "Any"); break;
    case ANSWER_LINES: buf_text(out, "list[str]"); break;
    case ANSWER_MAP: buf_text(out, "dict[str, str]"); break;
    case ANSWER_LIST:
        buf_text(out, f->gaps ? "list[Optional[" : "list[");
        add_type(out, f->item, f, outer);
        buf_text(out, f->gaps ? "]]" : "]");
        break;
    case ANSWER_OBJECT:
        name_part(name, f->of->name ? f->of->name : outer, f->of->name ? "" : f->key);
        buf_text(out, name);
        break;
    case ANSWER_BITS:
    default:
        buf_text(out, kind == ANSWER_BITS ? "list[" : "");
        if (f->names && !f->open)
            add_names(out, f->names);
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
static size_t add_fields(struct buf *out, const struct answer *a, const char *name, enum class_part group, bool *unknown)
{
    size_t count = 0;
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        *unknown |= answer_may_be_unknown(f);
        if (f->kind == ANSWER_KEYS)
            count += add_fields(out, f->of, name, group, unknown);
        if (f->kind == ANSWER_KEYS || part_of(f) != group)
            continue;
        count++;
        if (!out)
            continue;
        if (f->about && group != KEYWORDS)
            buf_printf(out, "    #: %s\n", f->about);
        buf_printf(out, group == KEYWORDS ? "\"%s\": %s" : "    %s: %s", f->key, answer_may_be_null(f) ? "Optional[" : "");
        add_type(out, f->kind == ANSWER_READING && f->item ? f->item : f->kind, f, name);
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
    bool unknown = false, maybe = add_fields(NULL, a, name, MAYBE_THERE, &unknown) > 0,
         keywords = add_fields(NULL, a, name, KEYWORDS, &unknown) > 0;
    add_parts(out, a, name);
    if (maybe) {
        buf_printf(out, "\n\nclass _%s(TypedDict, total=False):\n", name);
        add_fields(out, a, name, MAYBE_THERE, &unknown);
    }
    if (keywords) {
        buf_printf(out, "\n\n_%sKeywords = TypedDict(\"_%sKeywords\", {", name, name);
        add_fields(out, a, name, KEYWORDS, &unknown);
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
    size_t always = add_fields(out, a, name, ALWAYS, &unknown);
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
