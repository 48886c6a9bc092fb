/* SPDX-License-Identifier: Apache-2.0
 * --fields, --csv and --template: rows of a JSON answer for scripts.
 */
#pragma once

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "cli/command.h"

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
