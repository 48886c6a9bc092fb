/* SPDX-License-Identifier: Apache-2.0
 * Answers to questions about the past: one JSON document, or a download of any length in slices. Run where the store is; where the
 * text goes is not known here.
 */
#pragma once

#include "base/buf.h"
#include "base/json_writer.h"
#include "past/question.h"

enum { HISTORY_SUBJECTS_MAX = 256, HISTORY_JSON_SUBJECTS_MAX = 64 };

/* What a series is of. */
struct history_subject {
    enum history_of of;
    int64_t id;           /* of the GPU or host in the database */
    struct store_gpu gpu; /* also the one that a process ran on */
    char host[HOST_NAME_SIZE];
    int64_t first_ms, last_ms; /* nothing was stored before or, by more than a minute, after */
};

struct history_subjects {
    struct history_subject *list;
    size_t count;
    char host[HOST_NAME_SIZE]; /* the one host that is meant; "": all */
};

/* -ENODEV and a sentence when a GPU or process is meant that the history does not know. */
int history_subjects_find(struct store *s, const struct history_question *q, struct history_subjects *ret, struct error *err);
void history_subjects_done(struct history_subjects *subjects);

/* The document for format=json. -EINVAL when it would be of too many GPUs. */
int history_answer(struct store *s, const struct history_question *q, struct buf *out, struct error *err);
/* The same for a history in which nothing is. */
void history_answer_nothing(const struct history_question *q, struct buf *out);

/* What limited processes, as stretches of minutes. `host` NULL: all; gpu_id 0: all. */
int history_limits_write(struct store *s, const struct history_question *q, const char *host, int64_t gpu_id, struct json_writer *j,
                         struct error *err);

/* The numbers of a metric in a step, in the API's unit; NAN where there are none. */
struct history_value {
    double mean, min, max;
};
struct history_value history_value_of(const struct history_metric *metric, const struct aggregate *a);

/* A download, slice by slice. Between two slices nothing is held open in the database: a slow reader holds up no other. */
struct history_stream;
struct history_stream *history_stream_new(const struct history_question *q); /* NULL: out of memory */
void history_stream_free(struct history_stream *t);                          /* NULL is fine */
/* Appends the next slice (about HISTORY_SLICE bytes) to `out`. 1: there is more, 0: this was the last, -errno. */
enum { HISTORY_SLICE = 256 * 1024 };
int history_stream_next(struct history_stream *t, struct store *s, struct buf *out, struct error *err);
