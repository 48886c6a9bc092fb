/* SPDX-License-Identifier: Apache-2.0
 * Rows in any format (an object in a JSON document, a JSON line, a CSV line) from one description, and the lists of processes and
 * events made of them. Private to history_*.c.
 */
#pragma once

#define PARKED_ABOUT "The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet"

#include "answer/answer.h"
#include "model/finding.h"
#include "past/history_answer.h"
#include "store/query.h"

/* One trouble is one event. A finding that held became an alert, and may have changed its GPU's health: three rows for one trouble.
 * The finding's row has the times, so a list of all events omits the others; a query by kind returns them. */

/* An episode among the events. */
struct told_finding {
    finding_code code;
    enum severity severity;
    int64_t gpu_id; /* 0: of the host */
    int64_t from_ms, to_ms;
    char host[HOST_NAME_SIZE];
};

struct told_findings {
    struct told_finding *list;
    size_t count;
};

/* Whether an episode covers this event: same code (for a change of health: one that causes it), GPU and time, and at least as
 * severe, so that nothing looks better than it was. */
bool told_already(const struct told_findings *t, const struct store_event_row *event);

/* Every row adds its cells in the same order. */
struct row_writer {
    enum history_format format;
    struct buf *out;
    struct json_writer *j; /* HISTORY_JSON: the document */
    bool header;           /* CSV: write keys instead of values */
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
extern const struct answer life_answer, past_event_answer;

/* A page of processes or events. */
struct history_list {
    const struct history_question *question;
    struct json_writer *j; /* NULL: lines instead of a document, to `rows` */
    struct row_writer *rows;
    const char *host; /* NULL: all */
    int64_t gpu_id;   /* 0: all */
    size_t limit;
    size_t bytes_max; /* stop when the text is that long; 0: no limit */
    int64_t cursor;   /* in and out: position after the last row */
    size_t count;
    bool more;
    struct told_findings told; /* events: about the current rows */
    size_t looked;             /* how many rows were read */
};

int history_list_write(struct store *s, struct history_list *list, struct error *err);
/* The CSV header. */
void history_list_header(const struct history_question *q, struct row_writer *rows);
/* Whether sums of processes cover the requested span, or whole runs because minutes have expired. */
bool history_list_within(struct store *s, const struct history_question *q);
