/* SPDX-License-Identifier: Apache-2.0
 * Answers queries about the past: with one JSON document, or a download of any length in slices. Runs where the store is; does not
 * know where the text goes.
 */
#pragma once

#include "answer/answer.h"
#include "base/buf.h"
#include "base/json_writer.h"
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
