/* SPDX-License-Identifier: Apache-2.0
 * Describes any answer as a type of TypeScript, from its table: web/src/api.ts.
 */
#include <stdio.h>
#include <string.h>

#include "answer/answer.h"

enum { LINE_WIDTH = 120 }; /* as the page's sources are formatted */

static bool add_fields(struct buf *out, const struct answer *a, int indent);

static void add_object(struct buf *out, const struct answer *a, int indent)
{
    buf_text(out, "{\n");
    if (add_fields(out, a, indent + 2))
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
static void add_names(struct buf *out, const struct answer_field *f, int indent)
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

static void add_type(struct buf *out, enum answer_field_kind kind, const struct answer_field *f, int indent)
{
    switch (kind) {
    case ANSWER_INT:
    case ANSWER_AMOUNT:
    case ANSWER_NUMBER:
    case ANSWER_READING:
    case ANSWER_OPTION: buf_text(out, "number"); break;
    case ANSWER_BOOL: buf_text(out, "boolean"); break;
    case ANSWER_ANY: buf_text(out, "unknown"); break;
    case ANSWER_LINES: buf_text(out, "string[]"); break;
    case ANSWER_MAP: buf_text(out, "Record<string, string>"); break;
    case ANSWER_LIST:
        buf_text(out, f->gaps ? "(" : "");
        add_type(out, f->item, f, indent);
        buf_text(out, f->gaps ? " | null)[]" : "[]");
        break;
    case ANSWER_OBJECT:
        if (f->of->name)
            buf_text(out, f->of->name);
        else
            add_object(out, f->of, indent);
        break;
    case ANSWER_BITS:
        buf_text(out, f->open ? "string[]" : "(");
        if (!f->open) {
            add_names(out, f, indent);
            buf_text(out, ")[]");
        }
        break;
    default:
        if (f->names && !f->open)
            add_names(out, f, indent);
        else
            buf_text(out, "string");
    }
}

/* True: some may be unknown. */
static bool add_fields(struct buf *out, const struct answer *a, int indent)
{
    bool has_readings = false;
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        has_readings |= answer_may_be_unknown(f);
        if (f->kind == ANSWER_KEYS) {
            has_readings |= add_fields(out, f->of, indent);
            continue;
        }
        if (f->about)
            buf_printf(out, "%*s/** %s */\n", indent, "", f->about);
        buf_printf(out, "%*s%s%s: ", indent, "", f->key, f->optional ? "?" : "");
        add_type(out, f->kind == ANSWER_READING && f->item ? f->item : f->kind, f, indent);
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
    add_object(out, a, 0);
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
