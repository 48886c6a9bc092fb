/* SPDX-License-Identifier: Apache-2.0
 * Describes any answer as a type of TypeScript, from its table: web/src/api.ts.
 */
#include <string.h>

#include "answer/answer.h"

static bool add_fields(struct buf *out, const struct answer *a, int indent);

static void add_object(struct buf *out, const struct answer *a, int indent)
{
    buf_text(out, "{\n");
    if (add_fields(out, a, indent + 2))
        buf_printf(out, "%*sabsent: Record<string, string>;\n", indent + 2, "");
    buf_printf(out, "%*s}", indent, "");
}

static void add_names(struct buf *out, const struct answer_names *names)
{
    const char *name, * or = "";
    for (int i = names->first; i < names->count && (name = names->name(i)); i++, or = " | ")
        buf_printf(out, "%s\"%s\"", or, name);
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
    case ANSWER_LINES: buf_text(out, "string[]"); break;
    case ANSWER_MAP: buf_text(out, "Record<string, string>"); break;
    case ANSWER_LIST:
        add_type(out, f->item, f, indent);
        buf_text(out, "[]");
        break;
    case ANSWER_OBJECT:
        if (f->of->name)
            buf_text(out, f->of->name);
        else
            add_object(out, f->of, indent);
        break;
    default:
        if (f->names)
            add_names(out, f->names);
        else
            buf_text(out, "string");
    }
}

/* True: some may be unknown. */
static bool add_fields(struct buf *out, const struct answer *a, int indent)
{
    bool has_readings = false;
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        bool unknown = f->kind == ANSWER_READING || f->state;
        has_readings |= unknown;
        if (f->kind == ANSWER_KEYS) {
            has_readings |= add_fields(out, f->of, indent);
            continue;
        }
        if (f->about)
            buf_printf(out, "%*s/** %s */\n", indent, "", f->about);
        buf_printf(out, "%*s%s: ", indent, "", f->key);
        add_type(out, f->kind, f, indent);
        buf_text(out, f->nullable || unknown || f->kind == ANSWER_OPTION ? " | null;\n" : ";\n");
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
