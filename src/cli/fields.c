/* SPDX-License-Identifier: Apache-2.0
 * Prints chosen fields of an answer's rows: tab-separated, as CSV, or by a template. Fields are the keys of the JSON answer, so
 * everything has one name.
 */
#include "cli/cli_show.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/words.h"

enum { FIELDS_MAX = 128, CELL_MAX = 1 << 20, DIGITS = 10 };

struct fields {
    struct cli *cli;
    char *text; /* a copy that is split at the commas */
    const char *names[FIELDS_MAX];
    size_t count;
    bool csv;
    const char *line; /* a template; NULL: columns */
};

bool fields_wanted(const struct cli *cli)
{
    const struct options *o = cli->options;
    return options_has(o, "fields") || options_has(o, "csv") || options_has(o, "template");
}

/* Detects "{index}", as other programs write it, instead of "{{index}}". */
static bool lacks_braces(const char *template)
{
    const char *open = strchr(template, '{');
    return open && !strstr(template, "{{") && isalpha((unsigned char)open[1]) && strchr(open, '}');
}

int fields_check(const struct cli *cli)
{
    const struct options *o = cli->options;
    const char *template = options_value(o, "template", "");
    if (lacks_braces(template)) {
        const char *open = strchr(template, '{') + 1;
        return cli_usage(cli, "--template has fields in double braces: {{%.*s}}, not {%.*s}", (int)strcspn(open, "}"), open,
                         (int)strcspn(open, "}"), open);
    }
    if (fields_wanted(cli) && cli->json)
        return cli_usage(cli, "--fields, --csv, and --template don't go with --json");
    if (options_has(o, "template") && (options_has(o, "fields") || options_has(o, "csv")))
        return cli_usage(cli, "--template doesn't go with --fields or --csv");
    return EXIT_FINE;
}

/* "activity.code" is the key "code" in the object "activity". */
static const json_t *value_at(const json_t *row, const char *name)
{
    struct str rest = str_from(name), part;
    char key[128];
    if (!name[0])
        return NULL;
    while (row && str_cut(&rest, '.', &part)) {
        str_copy(key, sizeof key, part);
        row = json_object_get(row, key);
    }
    return row;
}

/* Keys that share a word with it: "gpu_utilization" and "utilization_percent". */
static void list_related(struct buf *out, const json_t *row, const char *name)
{
    enum { WORD_MIN = 4 };
    struct str rest = str_from(name), word;
    const char *key;
    json_t *value;
    char part[64];
    while (str_cut(&rest, '_', &word)) {
        str_copy(part, sizeof part, word);
        json_object_foreach((json_t *)row, key, value) if (word.len >= WORD_MIN && str_contains(str_from(key), part))
            buf_printf(out, "%s%s", out->len ? ", " : "", key);
    }
}

static int unknown(struct fields *f, const json_t *row, const char *name, struct error *err)
{
    struct nearest near;
    const char *key;
    json_t *value;
    char text[NEAREST_SIZE + 32];
    nearest_init(&near, name);
    json_object_foreach((json_t *)row, key, value) nearest_try(&near, key);
    f->cli->failure_status = EXIT_USAGE;
    if (nearest_found(&near))
        return error_set(err, -EINVAL, "unknown field '%s'%s", name, nearest_text(&near, text, sizeof text));
    AUTO_BUF struct buf related = BUF(160);
    list_related(&related, row, name);
    if (related.len && !related.failed)
        return error_set(err, -EINVAL, "unknown field '%s'; there are %s", name, related.at);
    return error_set(err, -EINVAL, "unknown field '%s'; the fields are the keys of %s", name,
                     strcmp(f->cli->name, "history") == 0 ? "--jsonl" : "--json");
}

/* Writes a value as a person would type it: lists with semicolons, unknown values empty. */
static void put_value(struct buf *out, const json_t *value)
{
    size_t i;
    const json_t *item;
    if (json_is_string(value)) {
        buf_text(out, json_string_value(value));
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, item)
        {
            if (i)
                buf_char(out, ';');
            put_value(out, item);
        }
    } else if (value && !json_is_null(value)) {
        AUTO_FREE char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
        if (text)
            buf_text(out, text);
    }
}

static void put_tabbed(struct buf *out, struct str cell)
{
    for (size_t i = 0; i < cell.len; i++)
        buf_char(out, cell.at[i] == '\t' ? ' ' : cell.at[i]);
}

static int put_columns(struct fields *f, struct buf *out, const json_t *row, struct error *err)
{
    for (size_t i = 0; i < f->count; i++) {
        AUTO_BUF struct buf cell = BUF(CELL_MAX);
        const json_t *value = value_at(row, f->names[i]);
        if (!value)
            return unknown(f, row, f->names[i], err);
        put_value(&cell, value);
        if (i)
            buf_char(out, f->csv ? ',' : '\t');
        if (f->csv)
            buf_csv(out, buf_view(&cell), !json_is_number(value));
        else
            put_tabbed(out, buf_view(&cell));
    }
    buf_char(out, '\n');
    return 0;
}

/* "GPU {{index}}: {{utilization_percent}}%" */
static int put_template(struct fields *f, struct buf *out, const json_t *row, struct error *err)
{
    for (const char *at = f->line; *at;) {
        const char *open = strstr(at, "{{"), *close = open ? strstr(open, "}}") : NULL;
        if (!close) {
            buf_text(out, at);
            break;
        }
        char name[128];
        str_copy(name, sizeof name, str_trim((struct str){open + 2, (size_t)(close - open - 2)}));
        const json_t *value = value_at(row, name);
        if (!value)
            return unknown(f, row, name, err);
        buf_add(out, at, (size_t)(open - at));
        put_value(out, value);
        at = close + 2;
    }
    buf_char(out, '\n');
    return 0;
}

static bool names_any(const char *fields, const char *wanted)
{
    struct str names = str_from(wanted), name;
    while (str_cut(&names, ',', &name)) {
        struct str rest = str_from(fields), field;
        while (str_cut(&rest, ',', &field)) {
            field = str_trim(field);
            if (field.len == name.len && memcmp(field.at, name.at, name.len) == 0)
                return true;
        }
    }
    return false;
}

/* `times`: the timestamp fields. A CSV file that is kept is useless without them. */
static int read_names(struct fields *f, const char *times, const char *usual, struct error *err)
{
    const char *asked = options_value(f->cli->options, "fields", usual);
    bool dated = !f->csv || names_any(asked, times);
    if (asprintf(&f->text, "%s%s%s", dated ? "" : times, dated ? "" : ",", asked) < 0) {
        f->text = NULL;
        return error_set(err, -ENOMEM, "out of memory");
    }
    if (f->cli->among_hosts) /* rows of several hosts name their host */
        f->names[f->count++] = "host";
    for (char *at = f->text, *next; at; at = next) {
        next = strchr(at, ',');
        if (next)
            *next++ = '\0';
        at += strspn(at, " ");
        if (f->count == FIELDS_MAX)
            return error_set(err, -E2BIG, "more than %d fields", FIELDS_MAX);
        f->names[f->count++] = at;
    }
    return 0;
}

void fields_close(struct fields *f)
{
    if (f)
        free(f->text);
    free(f);
}

struct fields *fields_open(struct cli *cli, const char *times, const char *usual, struct error *err)
{
    struct fields *f = calloc(1, sizeof *f);
    if (!f) {
        error_set(err, -ENOMEM, "out of memory");
        return NULL;
    }
    f->cli = cli;
    f->csv = options_has(cli->options, "csv");
    f->line = options_value(cli->options, "template", NULL);
    if (read_names(f, times, usual, err) == 0)
        return f;
    fields_close(f);
    return NULL;
}

static void put_title(struct fields *f, struct buf *out)
{
    static bool titled; /* print only one header with --watch */
    for (size_t k = 0; f->csv && !titled && k < f->count; k++)
        buf_printf(out, "%s%s%s", k ? "," : "", f->names[k], k + 1 == f->count ? "\n" : "");
    titled = true;
}

/* Warns once on stderr that the GPU is simulated: the chosen fields are for a program. */
static void warn_simulated(const struct fields *f, const json_t *row)
{
    static bool told;
    for (size_t i = 0; !f->line && i < f->count; i++)
        told |= strcmp(f->names[i], "simulated") == 0;
    if (!told && json_is_true(json_object_get(row, "simulated"))) {
        fputs("SIMULATED\n", stderr);
        told = true;
    }
}

int fields_row(struct fields *f, struct buf *out, json_t *row, struct error *err)
{
    put_title(f, out);
    if (f->cli->host)
        json_object_set_new(row, "host", json_string(f->cli->host));
    int rc = f->line ? put_template(f, out, row, err) : put_columns(f, out, row, err);
    if (rc >= 0)
        warn_simulated(f, row);
    return rc;
}

int fields_write(struct cli *cli, struct buf *out, struct str body, const char *rows, const char *usual, struct wall at,
                 struct error *err)
{
    char time[WALL_TEXT_SIZE];
    wall_format(at, time);
    json_t *json = json_loadb(body.at, body.len, 0, NULL), *row;
    struct fields *f = json ? fields_open(cli, "time", usual, err) : NULL;
    int rc = f ? 0 : json ? err->code : error_set(err, -ENOMEM, "out of memory");
    size_t i;
    if (f)
        put_title(f, out);
    json_array_foreach(json_object_get(json, rows), i, row)
    {
        json_object_set_new(row, "time", json_string(time));
        if (rc == 0)
            rc = fields_row(f, out, row, err);
    }
    fields_close(f);
    json_decref(json);
    return rc;
}
