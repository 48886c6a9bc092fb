/* SPDX-License-Identifier: Apache-2.0
 * The past as one JSON document: series in columns, lists in pages.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/json/json.h"
#include "past/history_answer.h"
#include "past/past_rows.h"

enum { GAP_STEPS = 3, GAP_LEAST_MS = 60000 };

struct history_value history_value_of(const struct history_metric *metric, const struct aggregate *a)
{
    if (a->count == 0)
        return (struct history_value){NAN, NAN, NAN};
    if (metric->total)
        return (struct history_value){(double)a->sum * metric->scale, NAN, NAN};
    double mean = (double)a->sum / (double)a->count;
    if (metric->bits)
        return (struct history_value){mean, NAN, NAN};
    return (struct history_value){mean * metric->scale, (double)a->min * metric->scale, (double)a->max * metric->scale};
}

/* ---- series ---- */

/* Collects the points of one subject. */
struct gathered {
    const struct history_question *q;
    struct history_metric metrics[QUESTION_METRICS_MAX];
    size_t columns[QUESTION_METRICS_MAX];
    size_t metric_count;
    int64_t step_ms;
    int64_t last_ms, least_ms; /* time of the last point; shortest distance between two */
    int64_t *times;
    enum limit *limits;       /* of a process; one per point */
    struct aggregate *values; /* metric_count per point */
    size_t count, capacity;
};

static bool grow(struct gathered *g)
{
    if (g->count < g->capacity)
        return true;
    size_t capacity = g->capacity ? 2 * g->capacity : 512;
    int64_t *times = realloc(g->times, capacity * sizeof *times);
    if (times)
        g->times = times;
    enum limit *limits = times ? realloc(g->limits, capacity * sizeof *limits) : NULL;
    if (limits)
        g->limits = limits;
    struct aggregate *values = limits ? realloc(g->values, capacity * g->metric_count * sizeof *values) : NULL;
    if (values)
        g->values = values;
    if (!values)
        return false;
    g->capacity = capacity;
    return true;
}

static int history_json_put(struct gathered *g, int64_t at_ms, const struct aggregate *values, enum limit limit)
{
    if (!grow(g))
        return -ENOMEM;
    struct aggregate *to = g->values + g->count * g->metric_count;
    for (size_t i = 0; i < g->metric_count; i++) {
        size_t from = g->metrics[i].of == OF_PROCESS ? g->metrics[i].column : i;
        to[i] = values ? values[from] : (struct aggregate){0};
    }
    g->limits[g->count] = limit;
    g->times[g->count++] = at_ms;
    return 0;
}

/* Inserts an empty point after a gap, so that charts don't draw a line across. */
static int history_json_gather(void *user, const struct store_point *point)
{
    struct gathered *g = user;
    int64_t since_last = point->at.ms - g->last_ms;
    if (g->count) {
        g->least_ms = MIN_OF(g->least_ms, since_last);
        int64_t usual = MAX_OF(g->least_ms, g->step_ms);
        if (since_last > GAP_STEPS * usual && since_last > GAP_LEAST_MS) {
            int rc = history_json_put(g, g->last_ms + g->step_ms, NULL, LIMIT_UNJUDGED);
            if (rc < 0)
                return rc;
        }
    }
    g->last_ms = point->at.ms;
    return history_json_put(g, point->at.ms, point->values, point->limit);
}

static void choose_metrics(struct gathered *g, enum history_of of)
{
    g->metric_count = 0;
    for (size_t i = 0; i < g->q->metric_count; i++)
        if (g->q->metrics[i].of == of) {
            g->metrics[g->metric_count] = g->q->metrics[i];
            g->columns[g->metric_count++] = g->q->metrics[i].column;
        }
    free(TAKE(g->times));
    free(TAKE(g->limits));
    free(TAKE(g->values));
    g->count = g->capacity = 0;
    g->least_ms = INT64_MAX;
}

static int gather_subject(struct store *s, struct gathered *g, const struct history_subjects *subjects,
                          const struct history_subject *subject, struct error *err)
{
    const struct history_question *q = g->q;
    choose_metrics(g, subject->of);
    int64_t since_ms = MAX_OF(q->since_ms, subject->first_ms);
    if (subject->of == OF_PROCESS) {
        const struct store_process_plot plot = {.runs = {.host = subjects->host[0] ? subjects->host : NULL,
                                                         .gpu_id = subject->id,
                                                         .run = q->run,
                                                         .pid = q->pid,
                                                         .name = q->process[0] ? q->process : NULL},
                                                /* The first step counts as a whole. */
                                                .since_ms = MAX_OF(q->since_ms, since_ms / g->step_ms * g->step_ms),
                                                .until_ms = q->until_ms,
                                                .step_ms = g->step_ms};
        return store_process_series(s, &plot, history_json_gather, g, err);
    }
    const struct store_plot plot = {.series = subject->of == OF_GPU ? SERIES_GPU : SERIES_HOST,
                                    .subject = subject->id,
                                    .since_ms = since_ms,
                                    .until_ms = q->until_ms,
                                    .step_ms = g->step_ms,
                                    .columns = g->columns,
                                    .column_count = g->metric_count};
    return store_series(s, &plot, history_json_gather, g, err);
}

static void write_column(struct json_writer *j, const struct gathered *g, size_t metric, const char *key)
{
    jw_key_array(j, key);
    for (size_t i = 0; i < g->count; i++) {
        struct history_value v = history_value_of(&g->metrics[metric], &g->values[i * g->metric_count + metric]);
        jw_number(j, key[1] == 'e' ? v.mean : key[1] == 'i' ? v.min : v.max);
    }
    jw_end(j);
}

static const char *of_name(enum history_of of)
{
    return of == OF_GPU ? "gpu" : of == OF_HOST ? "host" : "process";
}

static void write_subject(struct json_writer *j, const struct gathered *g, const struct history_subject *subject)
{
    const struct history_question *q = g->q;
    bool gpu = subject->of != OF_HOST;
    jw_object(j);
    jw_key_text(j, "of", of_name(subject->of));
    jw_key_text(j, "host", subject->host);
    jw_key(j, "gpu_index");
    if (gpu)
        jw_int(j, subject->gpu.index);
    else
        jw_null(j);
    jw_key_text(j, "gpu_name", gpu ? subject->gpu.identity.name : NULL);
    jw_key_text(j, "gpu_uuid", gpu && subject->gpu.identity.uuid[0] ? subject->gpu.identity.uuid : NULL);
    jw_key_text(j, "process", q->process[0] ? q->process : NULL);
    jw_key(j, "pid");
    if (q->pid)
        jw_int(j, q->pid);
    else
        jw_null(j);
    jw_key_array(j, "times");
    for (size_t i = 0; i < g->count; i++)
        jw_number(j, (double)g->times[i] / MS_PER_S);
    jw_end(j);
    jw_key(j, "limits");
    if (subject->of == OF_PROCESS) {
        jw_array(j);
        for (size_t i = 0; i < g->count; i++)
            jw_text(j, limit_name(g->limits[i]));
        jw_end(j);
    } else {
        jw_null(j);
    }
    jw_key_array(j, "metrics");
    for (size_t i = 0; i < g->metric_count; i++) {
        jw_object(j);
        jw_key_text(j, "name", g->metrics[i].name);
        json_words(j, "unit", g->metrics[i].unit);
        write_column(j, g, i, "mean");
        write_column(j, g, i, "min");
        write_column(j, g, i, "max");
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

/* One step for all subjects: the coarsest that any of them needs. */
static void plan(struct store *s, const struct history_question *q, const struct history_subjects *subjects, int64_t *ret_step_ms,
                 enum level *ret_level)
{
    int64_t first_ms = q->until_ms - 1;
    *ret_level = LEVEL_RAW;
    for (size_t i = 0; i < subjects->count; i++)
        first_ms = MIN_OF(first_ms, subjects->list[i].first_ms);
    struct store_plot plot = {
        .since_ms = MAX_OF(q->since_ms, first_ms), .until_ms = q->until_ms, .step_ms = q->step_ms, .points = q->points};
    /* Replace a requested step that would make too many points. */
    int64_t least = (plot.until_ms - plot.since_ms + QUESTION_POINTS_MAX - 1) / QUESTION_POINTS_MAX;
    if (plot.step_ms && plot.step_ms < least) {
        plot.step_ms = 0;
        plot.points = QUESTION_POINTS_MAX;
    }
    for (size_t i = 0; i < subjects->count; i++) {
        enum level level;
        plot.series = subjects->list[i].of == OF_HOST ? SERIES_HOST : SERIES_GPU;
        store_plan(s, &plot, &plot.step_ms, &level);
        if (subjects->list[i].of == OF_PROCESS) {
            plot.step_ms = (plot.step_ms + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS;
            level = LEVEL_MINUTE;
        }
        *ret_level = MAX_OF(*ret_level, level);
    }
    *ret_step_ms = plot.step_ms;
}

/* Whether a GPU of that host and period was simulated. */
struct simulated_look {
    const struct history_question *q;
    bool found;
};

static int look_at_gpu(void *user, const struct store_gpu *gpu)
{
    struct simulated_look *l = user;
    l->found |= gpu->simulated && gpu->first_seen.ms <= l->q->until_ms && gpu->last_seen.ms >= l->q->since_ms;
    return 0;
}

static int write_simulated(struct store *s, const struct history_question *q, const char *host, struct json_writer *j,
                           struct error *err)
{
    struct simulated_look l = {.q = q};
    int rc = store_gpus(s, host[0] ? host : NULL, look_at_gpu, &l, err);
    jw_key_bool(j, "simulated", l.found);
    return rc;
}

static void begin_series(struct json_writer *j, const struct history_question *q, int64_t step_ms, enum level level)
{
    static const char *const levels[LEVEL_COUNT] = {"samples", "minutes", "hours"};
    jw_object(j);
    json_time(j, "since", (struct wall){q->since_ms});
    json_time(j, "until", (struct wall){q->until_ms});
    jw_key_number(j, "step_seconds", step_ms ? (double)step_ms / MS_PER_S : NAN);
    jw_key_text(j, "level", step_ms ? levels[level] : NULL);
    jw_key_array(j, "series");
}

static int answer_series(struct store *s, const struct history_question *q, struct json_writer *j, struct error *err)
{
    CLEANUP(history_subjects_done) struct history_subjects subjects;
    int rc = history_subjects_find(s, q, &subjects, err);
    if (rc < 0)
        return rc;
    if (subjects.count > HISTORY_JSON_SUBJECTS_MAX)
        return error_set(err, -EINVAL, "gpu: %zu are meant, at most %d can be answered at once; name some, or download",
                         subjects.count, HISTORY_JSON_SUBJECTS_MAX);
    struct gathered g = {.q = q};
    enum level level;
    plan(s, q, &subjects, &g.step_ms, &level);
    begin_series(j, q, g.step_ms, level);
    for (size_t i = 0; rc == 0 && i < subjects.count; i++) {
        rc = gather_subject(s, &g, &subjects, &subjects.list[i], err);
        if (rc == 0)
            write_subject(j, &g, &subjects.list[i]);
    }
    free(g.times);
    free(g.limits);
    free(g.values);
    jw_end(j);
    if (rc == 0)
        rc = write_simulated(s, q, subjects.host, j, err);
    jw_end(j);
    return rc;
}

/* ---- lists ---- */

enum { REMAINDERS_AT_ONCE = 64 };

struct remainders {
    struct store *store;
    const struct history_question *question;
    int64_t gpu_id; /* 0: all */
    struct json_writer *j;
    struct error *err;
    struct store_gpu gpus[REMAINDERS_AT_ONCE]; /* the next ones to query */
    size_t count;
};

static int write_some(struct remainders *r)
{
    struct store_energy energy[REMAINDERS_AT_ONCE];
    int64_t ids[REMAINDERS_AT_ONCE];
    for (size_t i = 0; i < r->count; i++)
        ids[i] = r->gpus[i].id;
    int rc = store_energy_of(r->store, ids, r->count, r->question->since_ms, r->question->until_ms, energy, r->err);
    for (size_t i = 0; rc == 0 && i < r->count; i++) {
        const struct store_gpu *gpu = &r->gpus[i];
        if (energy[i].energy_mj == 0)
            continue;
        jw_object(r->j);
        jw_key_text(r->j, "host", gpu->host);
        jw_key_int(r->j, "gpu_index", gpu->index);
        json_words(r->j, "gpu_uuid", gpu->identity.uuid);
        jw_key_number(r->j, "energy_joules", (double)(energy[i].energy_mj - energy[i].attributed_mj) * 1e-3);
        jw_end(r->j);
    }
    r->count = 0;
    return rc;
}

static int add_gpu(void *user, const struct store_gpu *gpu)
{
    struct remainders *r = user;
    if (r->gpu_id && r->gpu_id != gpu->id)
        return 0;
    r->gpus[r->count++] = *gpu;
    return r->count == REMAINDERS_AT_ONCE ? write_some(r) : 0;
}

/* Usage that no process explains: with it, the list adds up to the GPUs. Only in a complete list. */
static int write_remainders(struct store *s, const struct history_question *q, const struct history_list *list, struct error *err)
{
    struct remainders r = {.store = s, .question = q, .gpu_id = list->gpu_id, .j = list->j, .err = err};
    int rc = 0;
    jw_key_array(list->j, "not_attributed");
    if (!q->pid && !q->process[0] && !q->run && history_list_within(s, q))
        rc = store_gpus(s, list->host, add_gpu, &r, err);
    if (rc == 0)
        rc = write_some(&r);
    jw_end(list->j);
    return rc;
}

static int answer_list(struct store *s, const struct history_question *q, struct json_writer *j, struct error *err)
{
    CLEANUP(history_subjects_done) struct history_subjects subjects;
    int rc = history_subjects_find(s, q, &subjects, err);
    if (rc < 0)
        return rc;
    if (subjects.count > 1)
        return error_set(err, -EINVAL, "gpu: one GPU can be asked for, or all");
    bool runs = q->kind == HISTORY_PROCESSES;
    struct history_list list = {
        .question = q, .j = j, .limit = q->limit, .cursor = q->cursor, .gpu_id = subjects.count ? subjects.list[0].id : 0};
    list.host = subjects.host[0] ? subjects.host : NULL;
    jw_object(j);
    json_time(j, "since", (struct wall){q->since_ms});
    json_time(j, "until", (struct wall){q->until_ms});
    if (q->kind == HISTORY_LIMITS) {
        rc = history_limits_write(s, q, list.host, list.gpu_id, j, err);
        jw_end(j);
        return rc;
    }
    if (runs)
        jw_key_text(j, "sums_of", history_list_within(s, q) ? "time" : "life");
    jw_key_array(j, runs ? "processes" : "events");
    rc = history_list_write(s, &list, err);
    jw_end(j);
    if (rc == 0 && runs)
        rc = write_remainders(s, q, &list, err);
    jw_key_int(j, "count", (int64_t)list.count);
    char cursor[32];
    snprintf(cursor, sizeof cursor, "%llx", (long long)list.cursor);
    jw_key_text(j, "next_cursor", list.more && !q->by_energy ? cursor : NULL);
    if (rc == 0)
        rc = write_simulated(s, q, subjects.host, j, err);
    jw_end(j);
    return rc;
}

int history_answer(struct store *s, const struct history_question *q, struct buf *out, struct error *err)
{
    struct json_writer j = JSON_WRITER(out);
    int rc = q->kind == HISTORY_SERIES ? answer_series(s, q, &j, err) : answer_list(s, q, &j, err);
    buf_char(out, '\n');
    return rc == 0 && out->failed ? error_set(err, -ENOMEM, "the answer is too large") : rc;
}

void history_answer_nothing(const struct history_question *q, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    if (q->kind == HISTORY_SERIES) {
        begin_series(&j, q, 0, LEVEL_RAW);
        jw_end(&j);
        jw_key_bool(&j, "simulated", false);
    } else {
        jw_object(&j);
        json_time(&j, "since", (struct wall){q->since_ms});
        json_time(&j, "until", (struct wall){q->until_ms});
        if (q->kind == HISTORY_PROCESSES)
            jw_key_text(&j, "sums_of", "time");
        jw_key_array(&j, q->kind == HISTORY_PROCESSES ? "processes" : q->kind == HISTORY_LIMITS ? "stretches" : "events");
        jw_end(&j);
        if (q->kind == HISTORY_PROCESSES) {
            jw_key_array(&j, "not_attributed");
            jw_end(&j);
        }
        jw_key_int(&j, "count", 0);
        if (q->kind == HISTORY_LIMITS) {
            jw_key_bool(&j, "complete", true);
        } else {
            jw_key_text(&j, "next_cursor", NULL);
            jw_key_bool(&j, "simulated", false);
        }
    }
    jw_end(&j);
    buf_char(out, '\n');
}
