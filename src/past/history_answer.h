/* SPDX-License-Identifier: Apache-2.0
 * Answers queries about the past: with one JSON document, or a download of any length in slices. Runs where the store is; does not
 * know where the text goes.
 */
#pragma once

#include "answer/answer.h"
#include "base/buf.h"
#include "base/json_writer.h"
#include "model/finding.h"
#include "past/question.h"

enum { HISTORY_SUBJECTS_MAX = 256, HISTORY_JSON_SUBJECTS_MAX = 64 };

/* What a series is about. */
struct history_subject {
    enum history_of of;
    int64_t id;           /* of the GPU or host in the database */
    struct store_gpu gpu; /* also the GPU that a process ran on */
    char host[HOST_NAME_SIZE];
    int64_t first_ms, last_ms; /* nothing was stored before or, by more than a minute, after */
};

struct history_subjects {
    struct history_subject *list;
    size_t count;
    char host[HOST_NAME_SIZE]; /* the selected host; "": all */
};

/* -ENODEV and a message if the history does not know the GPU or process. */
int history_subjects_find(struct store *s, const struct history_question *q, struct history_subjects *ret, struct error *err);
void history_subjects_done(struct history_subjects *subjects);
/* The course of one of them, which replaces the subject of the plot. */
int history_subject_plot(struct store *s, const struct history_question *q, const struct history_subjects *subjects,
                         const struct history_subject *subject, struct store_plot plot, store_point_fn *each, void *user,
                         struct error *err);

/* The document for format=json. -EINVAL if it would cover too many GPUs. */
int history_answer(struct store *s, const struct history_question *q, struct buf *out, struct error *err);
/* The same for an empty history. */
void history_answer_nothing(const struct history_question *q, struct buf *out);

/* Who a process was; the documents. */
extern const struct answer stored_process_answer;
extern const struct answer history_answer_form, process_history_answer, past_events_answer, past_limits_answer;

/* A metric's values in a step, in the API's unit; NAN if there are none. */
struct history_value {
    double mean, min, max;
};
struct history_value history_value_of(const struct history_metric *metric, const struct aggregate *a);

/* A download, slice by slice. Nothing stays open in the database between slices, so a slow reader blocks no other. */
struct history_stream;
struct history_stream *history_stream_new(const struct history_question *q); /* NULL: out of memory */
void history_stream_free(struct history_stream *t);                          /* NULL is fine */
/* Appends the next slice (about HISTORY_SLICE bytes) to `out`. 1: there is more, 0: this was the last, -errno. */
enum { HISTORY_SLICE = 256 * 1024 };
int history_stream_next(struct history_stream *t, struct store *s, struct buf *out, struct error *err);

#define PARKED_ABOUT "The part of that energy that open contexts cost while their GPU rested; null: no context came or went yet"

/* ---- past_rows.c: rows in any format (an object in a JSON document, a JSON line, a CSV line) from one description, and the lists
 * of processes and events made of them ---- */

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
