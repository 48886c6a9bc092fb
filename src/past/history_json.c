/* SPDX-License-Identifier: Apache-2.0
 * The past as one JSON document: series in columns, lists in pages.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/json/told.h"
#include "past/history_answer.h"
#include "past/past_json.h"

/* ---- limits: consecutive minutes of a process with the same limit form a stretch; unjudged minutes are left out ---- */

enum { MINUTES_AN_HOUR = 60 };

struct limit_stretch {
    int64_t process, gpu_id, from, to; /* minutes */
    enum limit limit;
};

struct limit_walk {
    const struct history_question *q;
    int64_t only; /* a GPU; 0: all */
    struct limit_stretch *list;
    size_t count, capacity;
    int64_t now; /* the current minute, or the first one of the current hour */
    size_t open; /* earlier stretches can't continue */
    bool full;
    struct store_gpu *gpus;
    size_t gpu_count, gpu_capacity;
};

static int add_minute(struct limit_walk *w, const struct limit_stretch *m)
{
    if (w->full)
        return 1;
    if (m->limit == LIMIT_UNJUDGED || (w->only && w->only != m->gpu_id) || (w->q->run && w->q->run != m->process))
        return 0;
    while (w->open < w->count && w->list[w->open].to < w->now)
        w->open++;
    for (size_t i = w->count; i > w->open; i--) {
        struct limit_stretch *last = &w->list[i - 1];
        if (last->process != m->process)
            continue;
        if (last->limit != m->limit || last->to < m->from)
            break;
        last->to = m->to;
        return 0;
    }
    if (w->count == w->q->limit) {
        w->full = true;
        return 1;
    }
    if (!ROOM_FOR_ONE(w->list, w->count, w->capacity, 256))
        return -ENOMEM;
    w->list[w->count++] = *m;
    return 0;
}

static int take_minute(void *user, const struct store_process_minute *row)
{
    struct limit_walk *w = user;
    w->now = row->minute;
    return add_minute(w, &(struct limit_stretch){row->process, row->gpu_id, row->minute, row->minute + 1, row->limit});
}

static int take_hour(void *user, const struct store_process_hour *row)
{
    struct limit_walk *w = user;
    enum limit limits[MINUTES_AN_HOUR] = {0};
    struct str rest = row->limits;
    for (struct store_limit one; store_next_limit(&rest, &one);)
        for (int i = 0; i < MINUTES_AN_HOUR; i++)
            limits[i] = one.minutes >> i & 1 ? one.limit : limits[i];
    w->now = row->hour * MINUTES_AN_HOUR;
    int rc = 0;
    for (int i = 0; rc == 0 && i < MINUTES_AN_HOUR; i++)
        rc = add_minute(w, &(struct limit_stretch){row->process, row->gpu_id, w->now + i, w->now + i + 1, limits[i]});
    return rc;
}

static int note_gpu(void *user, const struct store_gpu *gpu)
{
    struct limit_walk *w = user;
    if (!ROOM_FOR_ONE(w->gpus, w->gpu_count, w->gpu_capacity, 16))
        return -ENOMEM;
    w->gpus[w->gpu_count++] = *gpu;
    return 0;
}

ANSWER_NAMES(sides, enum limit_side, limit_side_name, 0, LIMIT_SIDE_OTHERS);

struct told_stretch {
    int64_t life;
    const char *host, *words, *doing;
    int gpu_index;
    struct wall since, until;
    enum limit limit;
    enum limit_side side;
};

ANSWER_TABLE(stretch_answer, struct told_stretch, .name = "LimitStretch",
             .about = "Consecutive minutes in which the same thing limited a process")
{
    FIELD(INT, "life", life, NULL);
    FIELD(WORD, "host", host, NULL);
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(MOMENT, "since", since, NULL);
    FIELD(MOMENT, "until", until, NULL);
    FIELD(NAME, "code", limit, NULL, NAMES(limit_codes));
    FIELD(WORD, "words", words, "Behind \"limited by\"");
    FIELD(WORD, "doing", doing, "What the process does meanwhile");
    FIELD(NAME, "side", side, NULL, NAMES(sides));
}

static const struct store_gpu *gpu_of(const struct limit_walk *w, int64_t id)
{
    for (size_t i = 0; i < w->gpu_count; i++)
        if (w->gpus[i].id == id)
            return &w->gpus[i];
    return NULL;
}

struct told_stretches {
    const struct limit_walk *walk;
    struct wall since, until;
    size_t count;
    bool complete;
    struct told_stretch stretch; /* the one being written */
};

static const void *next_stretch(const struct answer_at *at, struct answer_step *step)
{
    struct told_stretches *told = at->context;
    const struct limit_walk *w = told->walk;
    while (w && step->at < w->count) {
        const struct limit_stretch *m = &w->list[step->at++];
        const struct store_gpu *gpu = gpu_of(w, m->gpu_id);
        if (!gpu)
            continue;
        told->stretch = (struct told_stretch){.life = m->process,
                                              .host = gpu->host,
                                              .gpu_index = gpu->index,
                                              .since = {MAX_OF(m->from * MINUTE_MS, w->q->since_ms)},
                                              .until = {MIN_OF(m->to * MINUTE_MS, w->q->until_ms)},
                                              .limit = m->limit,
                                              .words = limit_words(m->limit),
                                              .doing = limit_doing(m->limit),
                                              .side = limit_side(m->limit)};
        return &told->stretch;
    }
    return NULL;
}

SHARED_ANSWER_TABLE(past_limits_answer, struct told_stretches, .name = "PastLimits", .about = "What limited processes, and when")
{
    FIELD(MOMENT, "since", since, "null: from the beginning", OR_NULL);
    FIELD(MOMENT, "until", until, NULL);
    EACH(OBJECT, "stretches", next_stretch, NULL, FIELDS(stretch_answer));
    FIELD(INT, "count", count, NULL);
    FIELD(BOOL, "complete", complete, "False: there are more than `limit`; ask for a shorter time");
}

static void write_limits(struct json_writer *j, const struct history_question *q, const struct limit_walk *w)
{
    struct told_stretches told = {
        .walk = w, .since = {q->since_ms}, .until = {q->until_ms}, .count = w ? w->count : 0, .complete = !w || !w->full};
    answer_write(j, &past_limits_answer, &told, &told);
}

/* Limits of processes, as runs of minutes. `host` NULL: all; gpu_id 0: all. */
static int answer_limits(struct store *s, const struct history_question *q, const char *host, int64_t gpu_id, struct json_writer *j,
                         struct error *err)
{
    struct limit_walk w = {.q = q, .only = gpu_id};
    int rc = store_gpus(s, host, note_gpu, &w, err);
    if (rc == 0)
        rc = store_process_times(s, host, q->since_ms, q->until_ms, take_minute, take_hour, &w, err);
    write_limits(j, q, &w);
    free(w.list);
    free(w.gpus);
    return rc;
}

/* ---- the documents ---- */

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
    if (subject->of == OF_PROCESS) /* the first step counts as a whole */
        since_ms = MAX_OF(q->since_ms, since_ms / g->step_ms * g->step_ms);
    const struct store_plot plot = {.since_ms = since_ms,
                                    .until_ms = q->until_ms,
                                    .step_ms = g->step_ms,
                                    .columns = g->columns,
                                    .column_count = g->metric_count};
    return history_subject_plot(s, q, subjects, subject, plot, history_json_gather, g, err);
}

static const char *of_name(enum history_of of)
{
    return of == OF_GPU ? "gpu" : of == OF_HOST ? "host" : "process";
}
ANSWER_NAMES(kinds_of_series, enum history_of, of_name, OF_GPU, OF_PROCESS);

struct told_metric {
    const char *name, *unit;
    const struct gathered *g;
    size_t at;
};

static struct history_value value_at(const struct told_metric *m, size_t i)
{
    return history_value_of(&m->g->metrics[m->at], &m->g->values[i * m->g->metric_count + m->at]);
}

#define NEXT_VALUE(part)                                                                 \
    static const void *next_##part(const struct answer_at *at, struct answer_step *step) \
    {                                                                                    \
        const struct told_metric *m = at->record;                                        \
        if (step->at == m->g->count)                                                     \
            return NULL;                                                                 \
        step->item.real = value_at(m, step->at++).part;                                  \
        return &step->item;                                                              \
    }
NEXT_VALUE(mean)
NEXT_VALUE(min)
NEXT_VALUE(max)

ANSWER_TABLE(metric_answer, struct told_metric)
{
    FIELD(WORD, "name", name, NULL);
    FIELD(WORD, "unit", unit, NULL, OR_NULL);
    EACH(NUMBER, "mean", next_mean,
         "As many as times; of energy the sum, of throttle reasons the share of samples in which the GPU was throttled", GAPS);
    EACH(NUMBER, "min", next_min, NULL, GAPS);
    EACH(NUMBER, "max", next_max, NULL, GAPS);
}

struct told_series {
    enum history_of of;
    const char *host, *gpu_name, *gpu_uuid, *process;
    int gpu_index; /* -1: of a host */
    int32_t pid;
    bool of_process;
    const struct gathered *g;
};

struct told_history {
    struct wall since, until;
    int64_t step_ms;
    enum level level;
    bool known, simulated;
    struct store *store;
    const struct history_subjects *subjects;
    struct gathered g;
    struct told_series series; /* the one being written */
    struct told_metric metric;
    int rc;
    struct error *err;
};

static const void *next_time(const struct answer_at *at, struct answer_step *step)
{
    const struct told_series *t = at->record;
    if (step->at == t->g->count)
        return NULL;
    step->item.real = (double)t->g->times[step->at++] / MS_PER_S;
    return &step->item;
}

static const void *next_limit(const struct answer_at *at, struct answer_step *step)
{
    const struct told_series *t = at->record;
    if (step->at == t->g->count)
        return NULL;
    step->item.pair.key = limit_name(t->g->limits[step->at++]);
    return &step->item;
}

static const void *next_metric(const struct answer_at *at, struct answer_step *step)
{
    struct told_history *t = at->context;
    size_t i = step->at++;
    if (i >= t->g.metric_count)
        return NULL;
    t->metric = (struct told_metric){t->g.metrics[i].name, t->g.metrics[i].unit, &t->g, i};
    return &t->metric;
}

ANSWER_TABLE(series_answer, struct told_series, .name = "HistorySeries", .about = "One GPU, host, or process on a GPU")
{
    FIELD(NAME, "of", of, NULL, NAMES(kinds_of_series));
    FIELD(WORD, "host", host, NULL);
    FIELD(INT, "gpu_index", gpu_index, NULL, NONE(-1));
    FIELD(WORD, "gpu_name", gpu_name, NULL, OR_NULL);
    FIELD(WORD, "gpu_uuid", gpu_uuid, NULL, OR_NULL);
    FIELD(WORD, "process", process, NULL, OR_NULL);
    FIELD(INT, "pid", pid, NULL, OR_NULL);
    EACH(NUMBER, "times", next_time, "Beginnings of the steps, in seconds since 1970");
    EACH(WORD, "limits", next_limit,
         "Of a process: what limited it in most of each step; null where that was not judged. null for GPUs and hosts", GAPS,
         PRESENT(of_process));
    EACH(OBJECT, "metrics", next_metric, NULL, FIELDS(metric_answer));
}

/* Reads a subject when its turn comes: only one is in memory. */
static const void *next_series(const struct answer_at *at, struct answer_step *step)
{
    struct told_history *t = at->context;
    if (t->rc < 0 || !t->subjects || step->at == t->subjects->count)
        return NULL;
    const struct history_subject *subject = &t->subjects->list[step->at++];
    const struct history_question *q = t->g.q;
    t->rc = gather_subject(t->store, &t->g, t->subjects, subject, t->err);
    bool gpu = subject->of != OF_HOST;
    t->series = (struct told_series){.of = subject->of,
                                     .host = subject->host,
                                     .gpu_name = gpu ? subject->gpu.identity.name : NULL,
                                     .gpu_uuid = gpu ? subject->gpu.identity.uuid : NULL,
                                     .process = q->process,
                                     .gpu_index = gpu ? subject->gpu.index : -1,
                                     .pid = q->pid,
                                     .of_process = subject->of == OF_PROCESS,
                                     .g = &t->g};
    return t->rc < 0 ? NULL : &t->series;
}

SHARED_ANSWER_TABLE(history_answer_form, struct told_history, .name = "History", .about = "Metrics over time")
{
    FIELD(MOMENT, "since", since, "null: from the beginning", OR_NULL);
    FIELD(MOMENT, "until", until, NULL);
    FIELD(AMOUNT, "step_seconds", step_ms, "Length of a step; null when nothing is stored", SCALE(1e-3), NONE(0));
    FIELD(NAME, "level", level, "What was read", NAMES(history_levels), PRESENT(known));
    EACH(OBJECT, "series", next_series, NULL, FIELDS(series_answer));
    FIELD(BOOL, "simulated", simulated, "Whether a GPU of that time was a simulated one");
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

static int find_simulated(struct store *s, const struct history_question *q, const char *host, bool *ret, struct error *err)
{
    struct simulated_look l = {.q = q};
    int rc = store_gpus(s, host[0] ? host : NULL, look_at_gpu, &l, err);
    *ret = l.found;
    return rc;
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
    struct told_history t = {
        .since = {q->since_ms}, .until = {q->until_ms}, .store = s, .subjects = &subjects, .g = {.q = q}, .err = err};
    plan(s, q, &subjects, &t.step_ms, &t.level);
    t.g.step_ms = t.step_ms;
    t.known = t.step_ms != 0;
    rc = find_simulated(s, q, subjects.host, &t.simulated, err);
    if (rc == 0)
        answer_write(j, &history_answer_form, &t, &t);
    free(t.g.times);
    free(t.g.limits);
    free(t.g.values);
    return rc < 0 ? rc : t.rc;
}

/* ---- lists ---- */

struct told_rest {
    const struct store_gpu *gpu;
    int64_t energy_mj;
};

ANSWER_TABLE(rest_gpu_answer, struct store_gpu)
{
    FIELD(TEXT, "host", host, NULL);
    FIELD(INT, "gpu_index", index, NULL);
    FIELD(TEXT, "gpu_uuid", identity.uuid, NULL, OR_NULL);
}

ANSWER_TABLE(rest_answer, struct told_rest)
{
    VIA(KEYS, NULL, gpu, rest_gpu_answer, NULL);
    FIELD(AMOUNT, "energy_joules", energy_mj, NULL, SCALE(1e-3));
}

/* A page of a list. */
struct told_list {
    struct wall since, until;
    bool within;
    struct str rows, rest;
    size_t count;
    char next_cursor[32];
    bool simulated;
};

ANSWER_TABLE(list_span_answer, struct told_list)
{
    FIELD(MOMENT, "since", since, "null: from the beginning", OR_NULL);
    FIELD(MOMENT, "until", until, NULL);
}

ANSWER_TABLE(list_end_answer, struct told_list)
{
    FIELD(INT, "count", count, NULL);
    FIELD(TEXT, "next_cursor", next_cursor, "null on the last page", OR_NULL);
    FIELD(BOOL, "simulated", simulated, "Whether a GPU of that time was a simulated one");
}

ANSWER_MAKER(make_sums_of, struct told_list, word, of->within ? "time" : "life");

SHARED_ANSWER_TABLE(process_history_answer, struct told_list, .name = "ProcessHistory", .about = "Who used the GPUs")
{
    KEYS(list_span_answer);
    MADE(WORD, "sums_of", make_sums_of, NULL, .schema = "{\"enum\": [\"time\", \"life\"]}");
    WRITTEN("processes", rows, life_answer, NULL);
    WRITTEN("not_attributed", rest, rest_answer,
            "Per GPU, the energy of that time that no visible process explains. Empty when only some processes were asked for, "
            "or sums are of whole lives");
    KEYS(list_end_answer);
}

SHARED_ANSWER_TABLE(past_events_answer, struct told_list, .name = "PastEvents", .about = "What happened")
{
    KEYS(list_span_answer);
    WRITTEN("events", rows, past_event_answer, NULL);
    KEYS(list_end_answer);
}

static void write_list(struct json_writer *j, const struct history_question *q, struct told_list *t)
{
    t->since.ms = q->since_ms;
    t->until.ms = q->until_ms;
    answer_write(j, q->kind == HISTORY_PROCESSES ? &process_history_answer : &past_events_answer, t, NULL);
}

enum { LIST_MAX = 64 << 20, REMAINDERS_AT_ONCE = 64 };

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
        const struct told_rest rest = {&r->gpus[i], energy[i].energy_mj - energy[i].attributed_mj};
        if (energy[i].energy_mj != 0)
            answer_write(r->j, &rest_answer, &rest, NULL);
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
static int write_remainders(struct store *s, const struct history_question *q, const struct history_list *list,
                            struct json_writer *j, struct error *err)
{
    struct remainders r = {.store = s, .question = q, .gpu_id = list->gpu_id, .j = j, .err = err};
    int rc = 0;
    if (!q->pid && !q->process[0] && !q->run && history_list_within(s, q))
        rc = store_gpus(s, list->host, add_gpu, &r, err);
    return rc == 0 ? write_some(&r) : rc;
}

static int answer_list(struct store *s, const struct history_question *q, struct json_writer *j, struct error *err)
{
    CLEANUP(history_subjects_done) struct history_subjects subjects;
    int rc = history_subjects_find(s, q, &subjects, err);
    if (rc < 0)
        return rc;
    if (subjects.count > 1)
        return error_set(err, -EINVAL, "gpu: one GPU can be asked for, or all");
    AUTO_BUF struct buf rows = BUF(LIST_MAX), rest = BUF(LIST_MAX);
    struct json_writer each = JSON_WRITER(&rows), remainder = JSON_WRITER(&rest);
    struct told_list told = {.within = history_list_within(s, q)};
    struct history_list list = {
        .question = q, .j = &each, .limit = q->limit, .cursor = q->cursor, .gpu_id = subjects.count ? subjects.list[0].id : 0};
    list.host = subjects.host[0] ? subjects.host : NULL;
    if (q->kind == HISTORY_LIMITS)
        return answer_limits(s, q, list.host, list.gpu_id, j, err);
    rc = history_list_write(s, &list, err);
    if (rc == 0 && q->kind == HISTORY_PROCESSES)
        rc = write_remainders(s, q, &list, &remainder, err);
    if (rc == 0)
        rc = find_simulated(s, q, subjects.host, &told.simulated, err);
    if (rc < 0)
        return rc;
    told.rows = buf_view(&rows);
    told.rest = buf_view(&rest);
    told.count = list.count;
    if (list.more && !q->by_energy)
        snprintf(told.next_cursor, sizeof told.next_cursor, "%llx", (long long)list.cursor);
    write_list(j, q, &told);
    j->out->failed |= rows.failed || rest.failed;
    return 0;
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
        struct told_history none = {.since = {q->since_ms}, .until = {q->until_ms}};
        answer_write(&j, &history_answer_form, &none, &none);
    } else if (q->kind == HISTORY_LIMITS) {
        write_limits(&j, q, NULL);
    } else {
        write_list(&j, q, &(struct told_list){.within = true});
    }
    buf_char(out, '\n');
}
