/* SPDX-License-Identifier: Apache-2.0
 * Rows of any form (an object of a JSON document, a line of JSON lines, a line of CSV) from one description, and the lists of
 * processes and events made of them. Private to history_*.c.
 */
#pragma once

#include "past/history_answer.h"
#include "past/told_once.h"

/* Cells are added in the same order for each row. */
struct row_writer {
    enum history_format format;
    struct buf *out;
    struct json_writer *j; /* HISTORY_JSON: the document */
    bool header;           /* CSV: keys instead of values */
    struct json_writer line;
    bool first;
};

void row_begin(struct row_writer *r);
void row_end(struct row_writer *r);
void row_text(struct row_writer *r, const char *key, const char *text); /* NULL or "": null */
void row_bool(struct row_writer *r, const char *key, bool value);
void row_int(struct row_writer *r, const char *key, int64_t value);
void row_number(struct row_writer *r, const char *key, double value); /* NAN: null */
void row_time(struct row_writer *r, const char *key, struct wall at);

/* A page of processes or events. */
struct history_list {
    const struct history_question *question;
    struct json_writer *j; /* NULL: not a document but lines, to `rows` */
    struct row_writer *rows;
    const char *host; /* NULL: all */
    int64_t gpu_id;   /* 0: all */
    size_t limit;
    size_t bytes_max; /* ends when the text is that long; 0: does not matter */
    int64_t cursor;   /* in and out: behind the last row */
    size_t count;
    bool more;
    struct told_findings told; /* events: of the rows at hand */
    size_t looked;             /* how many of those there were */
};

int history_list_write(struct store *s, struct history_list *list, struct error *err);
/* The line of CSV that names the columns. */
void history_list_header(const struct history_question *q, struct row_writer *rows);
/* Whether the sums of processes are of the time that was asked for, or of whole runs because minutes are gone. */
bool history_list_within(struct store *s, const struct history_question *q);
