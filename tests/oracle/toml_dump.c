/* SPDX-License-Identifier: Apache-2.0
 * Reads TOML documents from standard input (each behind a line with its length in bytes) and prints one line of JSON for each:
 * the values as {"type", "value"} pairs, or {"error", "line", "column"}. For comparison with other readers.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_writer.h"
#include "base/toml.h"

static void dump(struct json_writer *j, const struct toml_value *v)
{
    if (v->type == TOML_TABLE || v->type == TOML_ARRAY) {
        if (v->type == TOML_TABLE)
            jw_object(j);
        else
            jw_array(j);
        for (const struct toml_value *m = v->first; m; m = m->next) {
            if (v->type == TOML_TABLE)
                jw_key(j, m->key.at);
            dump(j, m);
        }
        jw_end(j);
        return;
    }
    static const char *const types[] = {"", "", "text", "integer", "number", "bool", "time", "time", "time", "time"};
    const struct toml_time *t = &v->time;
    char text[128];
    jw_object(j);
    jw_key_text(j, "type", types[v->type]);
    jw_key(j, "value");
    switch (v->type) {
    case TOML_TEXT: jw_str(j, v->text); break;
    case TOML_INTEGER:
        snprintf(text, sizeof text, "%lld", (long long)v->integer);
        jw_text(j, text);
        break;
    case TOML_NUMBER:
        snprintf(text, sizeof text, "%.17g", v->number);
        jw_text(j, text);
        break;
    case TOML_BOOL: jw_bool(j, v->boolean); break;
    default:
        snprintf(text, sizeof text, "%d %d-%d-%d %d:%d:%d.%06d %d", (int)v->type - TOML_DATE_TIME, t->year, t->month, t->day,
                 t->hour, t->minute, t->second, t->nanosecond / 1000, t->offset_minutes);
        jw_text(j, text);
    }
    jw_end(j);
}

int main(void)
{
    char line[32];
    while (fgets(line, sizeof line, stdin)) {
        size_t len = strtoul(line, NULL, 10);
        AUTO_FREE char *text = malloc(len ? len : 1);
        if (!text || fread(text, 1, len, stdin) != len)
            return 1;
        AUTO_TOML struct toml_document *doc = NULL;
        AUTO_BUF struct buf out = BUF(8 << 20);
        struct json_writer j = JSON_WRITER(&out);
        struct toml_error err;
        if (toml_parse((struct str){text, len}, &doc, &err) == 0) {
            dump(&j, toml_root(doc));
        } else {
            jw_object(&j);
            jw_key_text(&j, "error", err.text);
            jw_key_int(&j, "line", err.at.line);
            jw_key_int(&j, "column", err.at.column);
            jw_end(&j);
        }
        if (out.failed)
            return 1;
        puts(out.at);
    }
    return 0;
}
