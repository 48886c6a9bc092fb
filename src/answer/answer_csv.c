/* SPDX-License-Identifier: Apache-2.0
 * Writes any answer as a line of CSV, from its table: a column per field, in the order of the rows. A list of objects is one cell,
 * with those of their fields that count: "compute:91.7 disk:8.3".
 */
#include "answer/answer.h"
#include "base/cleanup.h"

enum { ROW_MAX = 4 << 20 };

static void add_value(struct buf *cell, const json_t *value)
{
    struct json_writer j = JSON_WRITER(cell);
    if (json_is_string(value)) {
        buf_text(cell, json_string_value(value));
    } else if (json_is_integer(value)) {
        jw_int(&j, json_integer_value(value));
    } else if (json_is_real(value)) {
        jw_number(&j, json_real_value(value));
    } else if (json_is_boolean(value)) {
        jw_bool(&j, json_is_true(value));
    } else if (value && !json_is_null(value)) {
        AUTO_FREE char *text = json_dumps(value, JSON_COMPACT);
        buf_text(cell, text ? text : "");
    }
}

static void add_object(struct buf *cell, const struct answer *a, const json_t *object)
{
    const char *between = "";
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        if (!f->counts)
            continue;
        buf_text(cell, between);
        add_value(cell, json_object_get(object, f->key));
        between = ":";
    }
}

static void add_cells(struct buf *out, const struct answer *a, const json_t *row, bool titles, bool *first)
{
    for (const struct answer_field *f = answer_fields(a); f->kind; f++) {
        AUTO_BUF struct buf cell = BUF(ROW_MAX);
        const json_t *value = json_object_get(row, f->key ? f->key : "");
        if (f->kind == ANSWER_KEYS) {
            add_cells(out, f->of, row, titles, first);
            continue;
        }
        buf_text(out, *first ? "" : ",");
        *first = false;
        if (titles)
            buf_text(&cell, f->key);
        else if (!json_is_array(value))
            add_value(&cell, value);
        for (size_t i = 0; i < json_array_size(value); i++) {
            buf_text(&cell, i ? " " : "");
            if (f->item == ANSWER_OBJECT)
                add_object(&cell, f->of, json_array_get(value, i));
            else
                add_value(&cell, json_array_get(value, i));
        }
        buf_csv(out, buf_view(&cell), !titles && !json_is_number(value));
    }
}

void answer_csv(struct buf *out, const struct answer *a, const void *record, void *context)
{
    AUTO_BUF struct buf text = BUF(ROW_MAX);
    bool first = true;
    if (record)
        answer_write(JSON_TO(&text), a, record, context);
    AUTO_JSON json_t *row = record ? json_loadb(buf_view(&text).at, text.len, 0, NULL) : NULL;
    add_cells(out, a, row, !record, &first);
    buf_char(out, '\n');
    out->failed |= record && !row;
}
