/* SPDX-License-Identifier: Apache-2.0
 * Downloads: a few numbers record where the last slice ended, so that each slice is a short query of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "past/history_answer.h"

enum { ROWS_A_SLICE = 4096, RUNS_A_SLICE = 5000, STEP_BYTES = 96, CELL_BYTES = 8 };

struct history_stream {
    struct history_question q;
    struct history_subjects subjects;
    size_t columns[QUERY_COLUMNS_MAX];
    bool begun, ended;
    int64_t step_ms;
    /* Rows and lists: continue after this one. */
    int64_t cursor;
    /* Steps: continue with this subject at this time. */
    size_t subject;
    int64_t from_ms;
    /* Of the current slice. */
    struct row_writer rows;
    size_t given;
};

struct history_stream *history_stream_new(const struct history_question *q)
{
    struct history_stream *t = calloc(1, sizeof *t);
    if (t)
        t->q = *q;
    return t;
}

void history_stream_free(struct history_stream *t)
{
    if (!t)
        return;
    history_subjects_done(&t->subjects);
    free(t);
}

static const char *host_of(const struct history_stream *t)
{
    return t->subjects.host[0] ? t->subjects.host : NULL;
}

static enum series series_of(const struct history_stream *t)
{
    return t->q.metrics[0].of == OF_HOST ? SERIES_HOST : SERIES_GPU;
}

/* ---- rows of series ---- */

static void write_who(struct row_writer *r, struct wall at, const char *host, const struct store_gpu *gpu, int index, bool of_gpu)
{
    row_time(r, "time", at);
    row_text(r, "host", host);
    if (!of_gpu)
        return;
    row_int(r, "gpu_index", index);
    row_text(r, "gpu_uuid", gpu ? gpu->identity.uuid : NULL);
}

static void write_raw(struct history_stream *t, const struct store_row *row)
{
    struct row_writer *r = &t->rows;
    row_begin(r);
    write_who(r, row->at, row->host ? row->host->name : NULL, row->gpu, row->gpu_index, series_of(t) == SERIES_GPU);
    for (size_t i = 0; i < t->q.metric_count; i++) {
        struct reading value = row->values ? row->values[i] : (struct reading){0};
        row_number(r, t->q.metrics[i].name,
                   value.state == READING_OK ? (double)value.value * t->q.metrics[i].scale : __builtin_nan(""));
    }
    if (series_of(t) == SERIES_GPU)
        row_bool(r, "simulated", row->gpu && row->gpu->simulated);
    row_end(r);
}

/* "power_watts" is the mean; "power_watts_min", "power_watts_max" go with it. */
static void write_step(struct history_stream *t, const struct history_subject *subject, struct wall at,
                       const struct aggregate *values)
{
    struct row_writer *r = &t->rows;
    row_begin(r);
    write_who(r, at, subject ? subject->host : NULL, subject ? &subject->gpu : NULL, subject ? subject->gpu.index : 0,
              t->q.metrics[0].of != OF_HOST);
    if (history_of_process(&t->q))
        row_text(r, "process", t->q.process);
    for (size_t i = 0; i < t->q.metric_count; i++) {
        const struct history_metric *m = &t->q.metrics[i];
        static const struct aggregate none;
        struct history_value v = history_value_of(m, values ? &values[m->of == OF_PROCESS ? m->column : i] : &none);
        char key[128];
        row_number(r, m->name, v.mean);
        if (m->total || m->bits)
            continue;
        snprintf(key, sizeof key, "%s_min", m->name);
        row_number(r, key, v.min);
        snprintf(key, sizeof key, "%s_max", m->name);
        row_number(r, key, v.max);
    }
    if (t->q.metrics[0].of != OF_HOST)
        row_bool(r, "simulated", subject && subject->gpu.simulated);
    row_end(r);
}

static int add_raw(void *user, const struct store_row *row)
{
    struct history_stream *t = user;
    write_raw(t, row);
    t->given++;
    t->cursor = row->cursor;
    return t->rows.out->failed ? -ENOMEM : t->rows.out->len >= HISTORY_SLICE;
}

static int slice_raw(struct history_stream *t, struct store *s, struct error *err)
{
    const struct store_page page = {.series = series_of(t),
                                    .host = host_of(t),
                                    .since_ms = t->q.since_ms,
                                    .until_ms = t->q.until_ms,
                                    .gpu_index = -1,
                                    .gpu_id = t->q.gpus[0] && t->subjects.count == 1 ? t->subjects.list[0].id : 0,
                                    .cursor = t->cursor,
                                    .limit = ROWS_A_SLICE,
                                    .columns = t->columns,
                                    .column_count = t->q.metric_count};
    int rc = store_rows(s, &page, add_raw, t, err);
    /* A slice that ended early hit the size limit. */
    t->ended = rc == 0 && t->given < ROWS_A_SLICE && t->rows.out->len < HISTORY_SLICE;
    return rc;
}

static int add_step(void *user, const struct store_point *point)
{
    struct history_stream *t = user;
    write_step(t, &t->subjects.list[t->subject], point->at, point->values);
    return t->rows.out->failed ? -ENOMEM : 0;
}

/* A window of steps of the current subject. */
static int slice_window(struct history_stream *t, struct store *s, int64_t to_ms, struct error *err)
{
    const struct store_plot plot = {
        .since_ms = t->from_ms, .until_ms = to_ms, .step_ms = t->step_ms, .columns = t->columns, .column_count = t->q.metric_count};
    return history_subject_plot(s, &t->q, &t->subjects, &t->subjects.list[t->subject], plot, add_step, t, err);
}

static int slice_steps(struct history_stream *t, struct store *s, struct error *err)
{
    int rc = 0;
    while (rc == 0 && t->subject < t->subjects.count && t->rows.out->len < HISTORY_SLICE) {
        int64_t until_ms = MIN_OF(t->q.until_ms, t->subjects.list[t->subject].last_ms + 2 * MINUTE_MS);
        t->from_ms = MAX_OF(t->from_ms, t->subjects.list[t->subject].first_ms / t->step_ms * t->step_ms);
        if (t->from_ms >= until_ms) {
            t->subject++;
            t->from_ms = t->q.since_ms;
            continue;
        }
        /* About as many steps as fit into a slice. */
        int64_t steps = HISTORY_SLICE / (STEP_BYTES + 3 * CELL_BYTES * (int64_t)t->q.metric_count);
        int64_t to_ms = (t->from_ms / t->step_ms + steps) * t->step_ms;
        rc = slice_window(t, s, MIN_OF(to_ms, until_ms), err);
        t->from_ms = to_ms;
    }
    t->ended = t->subject == t->subjects.count;
    return rc;
}

/* ---- lists ---- */

static int slice_list(struct history_stream *t, struct store *s, struct error *err)
{
    struct history_list list = {.question = &t->q,
                                .rows = &t->rows,
                                .host = host_of(t),
                                .gpu_id = t->subjects.count ? t->subjects.list[0].id : 0,
                                .limit = t->q.kind == HISTORY_EVENTS ? ROWS_A_SLICE : RUNS_A_SLICE,
                                .bytes_max = HISTORY_SLICE,
                                .cursor = t->cursor};
    int rc = history_list_write(s, &list, err);
    t->cursor = list.cursor;
    t->ended = !list.more;
    return rc;
}

/* ---- the beginning ---- */

static void choose_all(struct history_stream *t, struct store *s)
{
    enum history_of of = t->q.metrics[0].of;
    enum series series = series_of(t);
    for (size_t i = 0; i < series_count(series); i++)
        if (store_has(s, series, i))
            t->q.metrics[t->q.metric_count++] = history_metric_of(of, i);
}

static void choose_step(struct history_stream *t, struct store *s)
{
    int64_t first_ms = t->q.until_ms - 1;
    for (size_t i = 0; i < t->subjects.count; i++)
        first_ms = MIN_OF(first_ms, t->subjects.list[i].first_ms);
    t->q.since_ms = MAX_OF(t->q.since_ms, first_ms);
    enum level level = t->q.step_ms % level_ms(LEVEL_HOUR) == 0 ? LEVEL_HOUR : LEVEL_MINUTE;
    if (t->q.finest)
        t->q.since_ms = MAX_OF(t->q.since_ms, store_horizon(s, series_of(t), level));
    /* Plan for the length of one window: a download may have any number of steps. */
    struct store_plot plot = {.series = series_of(t), .since_ms = t->q.since_ms, .step_ms = t->q.step_ms};
    plot.until_ms = t->q.step_ms ? t->q.since_ms + 1 : t->q.until_ms;
    store_plan(s, &plot, &t->step_ms, &level);
    if (history_of_process(&t->q))
        t->step_ms = (t->step_ms + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS;
    t->from_ms = t->q.since_ms;
}

static int past_download_begin(struct history_stream *t, struct store *s, struct error *err)
{
    int rc = history_subjects_find(s, &t->q, &t->subjects, err);
    if (rc < 0)
        return rc;
    t->begun = true;
    if (t->q.kind != HISTORY_SERIES && t->subjects.count > 1)
        return error_set(err, -EINVAL, "gpu: one GPU can be asked for, or all");
    if (t->q.kind == HISTORY_SERIES && t->q.raw && t->q.gpus[0] && t->subjects.count > 1)
        return error_set(err, -EINVAL, "gpu: rows can be downloaded of one GPU, or of all");
    if (t->q.all_metrics)
        choose_all(t, s);
    for (size_t i = 0; i < t->q.metric_count; i++)
        t->columns[i] = t->q.metrics[i].column;
    if (t->q.kind == HISTORY_SERIES && !t->q.raw)
        choose_step(t, s);
    t->cursor = t->q.cursor;
    if (t->q.format != HISTORY_CSV)
        return 0;
    t->rows.header = true;
    if (t->q.kind != HISTORY_SERIES)
        history_list_header(&t->q, &t->rows);
    else if (t->q.raw)
        write_raw(t, &(struct store_row){0});
    else
        write_step(t, NULL, (struct wall){0}, NULL);
    t->rows.header = false;
    return 0;
}

int history_stream_next(struct history_stream *t, struct store *s, struct buf *out, struct error *err)
{
    t->rows = (struct row_writer){.format = t->q.format, .out = out};
    t->given = 0;
    int rc = t->begun ? 0 : past_download_begin(t, s, err);
    if (rc == 0 && (t->q.kind == HISTORY_SERIES ? t->q.metric_count == 0 : false))
        t->ended = true; /* there is no data at all */
    else if (rc == 0)
        rc = t->q.kind != HISTORY_SERIES ? slice_list(t, s, err) : t->q.raw ? slice_raw(t, s, err) : slice_steps(t, s, err);
    if (rc == -ENOMEM && err && !err->text[0])
        error_set(err, -ENOMEM, "out of memory");
    return rc < 0 ? rc : !t->ended;
}
