/* SPDX-License-Identifier: Apache-2.0
 * Shows an answer once, or repeatedly with --watch: redrawn in place on a terminal, appended in a pipe.
 */
#pragma once

#include <jansson.h>

#include "ask/session.h"
#include "base/buf.h"
#include "base/error.h"
#include "cli/command.h"

enum { FRAME_MAX = 512 * 1024 * 1024 };

/* Writes one answer into `out`; called for each frame. JSON need not end with a newline. Returns 0 or -errno with a message. */
typedef int render_fn(struct cli *cli, struct session *session, struct buf *out, struct error *err);

/* Opens a session, shows what `render` writes, and returns the exit status. */
int show(struct cli *cli, render_fn *render);

/* The same without a session: `render` gets NULL. */
int show_without_session(struct cli *cli, render_fn *render);

/* Whether `status` prints one line: --line, or --format, which implies it. */
bool show_is_line(const struct cli *cli);
/* Pretty-printed for one answer, one line per answer with --watch; LINE: and the end of the line. */
struct json_writer show_json(const struct cli *cli, struct buf *out, bool line);
#define AS_JSON(cli, out) ((struct json_writer[1]){show_json(cli, out, false)})
#define AS_JSON_LINE(cli, out) ((struct json_writer[1]){show_json(cli, out, true)})

struct answer;
/* Prints an answer as JSON; the record is also its context. */
int show_answer(const struct cli *cli, const struct answer *a, const void *record);

/* For --dry-run: prints what would be done ("end lease k3f9qa2x"). */
int show_would(const struct cli *cli, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));

/* ---- --fields, --csv and --template: rows of a JSON answer for scripts (fields.c) ---- */

#define FIELDS_OPTIONS                                                                                      \
    {.name = "fields",                                                                                      \
     .argument = "A,B,...",                                                                                 \
     .complete = COMPLETE_METRIC,                                                                           \
     .help = "Print these fields of --json, separated by tabs"},                                            \
        {.name = "csv", .help = "Print CSV with a header"},                                                 \
    {                                                                                                       \
        .name = "template", .argument = "TEXT", .help = "Print TEXT for each row, with {{FIELD}} filled in" \
    }

bool fields_wanted(const struct cli *cli);
/* EXIT_FINE, or prints that the options conflict. */
int fields_check(const struct cli *cli);
/* Writes the array `rows` of the JSON text `body`, taken at `at`; `usual`: the default of --fields. -EINVAL: an unknown field. */
int fields_write(struct cli *cli, struct buf *out, struct str body, const char *rows, const char *usual, struct wall at,
                 struct error *err);

/* The same for rows that arrive one by one. */
struct fields;
/* times: the timestamp fields that every CSV has. NULL and a message on failure. */
struct fields *fields_open(struct cli *cli, const char *times, const char *usual, struct error *err);
int fields_row(struct fields *f, struct buf *out, json_t *row, struct error *err);
void fields_close(struct fields *f); /* NULL is fine */
