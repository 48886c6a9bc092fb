/* SPDX-License-Identifier: Apache-2.0
 * Parses the daemon's answers. Missing and malformed values become unknown ones.
 */
#include "tui/feed/answers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/moment.h"
#include "base/units.h"
#include "host/identity.h"
#include "insight/facts/levels.h"
#include "past/history_answer.h"

enum { SEEN_WITHIN_MS = 10000 };

static float number_at(const json_t *array, size_t i, double scale)
{
    const json_t *value = json_array_get(array, i);
    return json_is_number(value) ? (float)(json_number_value(value) * scale) : NAN;
}

/* ---- trails ---- */

/* TRAIL_COUNT: no trail has this metric. */
static enum trail_of trail_named(const char *name)
{
    enum metric metric = metric_from_json(name);
    enum trail_of of = 0;
    while (of < TRAIL_COUNT && trail_table[of].metric != metric)
        of++;
    return of;
}

static bool is_gpu(const json_t *series, const struct gpu *gpu)
{
    const char *uuid = json_text(series, "gpu_uuid");
    if (uuid[0] && gpu->id.uuid[0])
        return strcmp(uuid, gpu->id.uuid) == 0;
    return json_integer_value(json_object_get(series, "gpu_index")) == gpu->index;
}

static struct news_series read_series(const json_t *series)
{
    const json_t *times = json_object_get(series, "times"), *metrics = json_object_get(series, "metrics");
    size_t count = json_array_size(times);
    struct trail_point *points = calloc(count ? count : 1, sizeof *points);
    if (!points)
        return (struct news_series){0};
    for (size_t i = 0; i < count; i++) {
        points[i].at_ms = (int64_t)(json_number_value(json_array_get(times, i)) * MS_PER_S);
        for (int of = 0; of < TRAIL_COUNT; of++)
            points[i].value[of] = NAN;
    }
    for (size_t m = 0; m < json_array_size(metrics); m++) {
        const json_t *metric = json_array_get(metrics, m), *mean = json_object_get(metric, "mean");
        enum trail_of of = trail_named(json_text(metric, "name"));
        for (size_t i = 0; of < TRAIL_COUNT && i < count; i++)
            points[i].value[of] = number_at(mean, i, trail_table[of].factor);
    }
    return (struct news_series){count, points};
}

int answer_series(const json_t *history, const struct snapshot *s, struct news *n)
{
    const json_t *all = json_object_get(history, "series");
    n->series = calloc(s->gpu_count ? s->gpu_count : 1, sizeof *n->series);
    if (!n->series)
        return -ENOMEM;
    n->series_count = s->gpu_count;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *series = json_array_get(all, i);
        for (size_t g = 0; g < s->gpu_count; g++)
            if (!n->series[g].points && strcmp(json_text(series, "of"), "gpu") == 0 && is_gpu(series, &s->gpus[g]))
                n->series[g] = read_series(series);
    }
    return 0;
}

void answer_marks(const json_t *events, struct news *n)
{
    const json_t *list = json_object_get(events, "events");
    for (size_t i = 0; i < json_array_size(list) && n->mark_count < TOP_MARKS; i++) {
        const json_t *event = json_array_get(list, i), *index = json_object_get(event, "gpu_index");
        struct top_mark *mark = &n->marks[n->mark_count++];
        *mark = (struct top_mark){.at_ms = json_moment(event, "at").ms,
                                  .gpu_index = json_is_integer(index) ? (int)json_integer_value(index) : -1};
        mark->bad = strcmp(json_text(event, "severity"), "info") != 0;
        str_copy(mark->text, sizeof mark->text, str_from(json_text(event, "text")));
    }
}

/* ---- a moment ---- */

static struct reading reading_of(const json_t *object, const char *key, double scale)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? reading_ok((int64_t)llround(json_number_value(value) * scale)) : reading_absent(READING_UNREAD);
}

/* Clears what changes from moment to moment, keeps what identifies a GPU. */
static void clear_readings(struct gpu *gpu)
{
    for (size_t m = 0; m < METRIC_COUNT; m++)
        if (metric_table[m].group != GROUP_STATIC && m != METRIC_mem_total_bytes && m != METRIC_power_limit_mw)
            gpu->metric[m] = reading_absent(READING_UNREAD);
    gpu_cut_processes(gpu, 0);
    gpu->processes_hidden = gpu->processes_left_out = 0;
    gpu->processes_state = READING_OK;
    gpu->error_message[0] = '\0';
    gpu->released = false;
    gpu->lease = gpu->settings = (struct gpu_lease){0};
    gpu->state = GPU_OK;
}

static bool any_known(const struct trail_point *point)
{
    for (int of = 0; of < TRAIL_COUNT; of++)
        if (!isnan(point->value[of]))
            return true;
    return false;
}

static void set_readings(struct gpu *gpu, const struct trail_point *point)
{
    for (enum trail_of of = 0; of < TRAIL_COUNT; of++)
        gpu->metric[trail_table[of].metric] = isnan(point->value[of])
                                                  ? reading_absent(READING_UNREAD)
                                                  : reading_ok((int64_t)llround((double)point->value[of] / trail_scale(of)));
}

/* The daemon's answer covers whole minutes: drop processes that started later or had ended. */
static bool was_running(const json_t *run, struct wall at)
{
    int64_t first = json_moment(run, "first_seen").ms, last = json_moment(run, "last_seen").ms;
    return (!first || first <= at.ms) && (!last || last >= at.ms - SEEN_WITHIN_MS);
}

static void answers_add_process(struct gpu *gpu, const json_t *run)
{
    struct process *p = gpu_add_process(gpu, (int32_t)json_integer_value(json_object_get(run, "pid")));
    if (!p)
        return;
    p->instance = -1;
    p->visible = true;
    p->type = PROCESS_COMPUTE;
    answer_read(&stored_process_answer, run, p, NULL);
    process_find_title(p);
    p->mem_bytes = reading_of(run, "memory_mean_mb", MIB_BYTES);
    p->util_permille = reading_of(run, "utilization_mean_percent", 10);
}

struct snapshot *answer_moment(const struct snapshot *live, const json_t *history, const json_t *processes, struct wall at)
{
    struct news found = {0};
    struct snapshot *s = snapshot_copy(live);
    bool known = false;
    if (!s || answer_series(history, live, &found) < 0) {
        snapshot_unref(s);
        return NULL;
    }
    s->taken_at = at;
    s->event_count = 0;
    for (size_t g = 0; g < s->gpu_count; g++) {
        const struct news_series *series = &found.series[g];
        clear_readings(&s->gpus[g]);
        for (size_t i = 0; i < series->count; i++) /* the last one with a value wins */
            if (series->points[i].at_ms <= at.ms && any_known(&series->points[i])) {
                set_readings(&s->gpus[g], &series->points[i]);
                known = true;
            }
        free(series->points);
    }
    free(found.series);
    const json_t *runs = json_object_get(processes, "processes");
    for (size_t i = 0; i < json_array_size(runs); i++)
        for (size_t g = 0; g < s->gpu_count; g++)
            if (was_running(json_array_get(runs, i), at) && is_gpu(json_array_get(runs, i), &s->gpus[g]))
                answers_add_process(&s->gpus[g], json_array_get(runs, i));
    if (!known)
        snapshot_unref(TAKE(s));
    return s;
}

void answer_missing(const json_t *why, int64_t at_ms, struct top_missing *ret)
{
    const json_t *gap = json_object_get(why, "gap");
    *ret = (struct top_missing){.at_ms = at_ms, .unanswered = !why};
    ret->since_ms = json_moment(gap, "since").ms;
    ret->until_ms = json_moment(gap, "until").ms;
    str_copy(ret->text, sizeof ret->text, str_from(why ? json_text(gap, "text") : "The daemon's history did not answer."));
}

/* ---- a run ---- */

void answer_process_run(const json_t *runs, int gpu_index, int64_t started_ms, struct top_details *d)
{
    enum { SAME_START_MS = 2000 }; /* the clock may have been set meanwhile */
    const json_t *list = json_object_get(runs, "processes");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *run = json_array_get(list, i), *index = json_object_get(run, "gpu_index");
        int64_t began = json_moment(run, "started_at").ms;
        if (!json_is_integer(index) || json_integer_value(index) != gpu_index ||
            (began && started_ms && llabs(began - started_ms) > SAME_START_MS))
            continue;
        d->since_ms = json_moment(run, "first_seen").ms;
        d->until_ms = json_moment(run, "last_seen").ms;
        d->energy_mj = reading_or(reading_of(run, "energy_joules", 1000), -1);
        d->peak_bytes = reading_or(reading_of(run, "memory_peak_mb", MIB_BYTES), 0);
    }
}

int64_t answer_idle_since(const json_t *history, int64_t started_ms)
{
    const json_t *series = json_array_get(json_object_get(history, "series"), 0), *metrics = json_object_get(series, "metrics");
    const json_t *times = json_object_get(series, "times");
    int64_t since = 0;
    for (size_t m = 0; m < json_array_size(metrics); m++) {
        const json_t *metric = json_array_get(metrics, m), *max = json_object_get(metric, "max");
        if (strcmp(json_text(metric, "name"), "utilization_percent") != 0)
            continue;
        for (size_t i = json_array_size(times); i-- > 0;) { /* backwards, to its last activity */
            int64_t at = (int64_t)(json_number_value(json_array_get(times, i)) * MS_PER_S);
            if (!json_is_number(json_array_get(max, i)) || number_at(max, i, 10) >= PROCESS_IDLE_MAX)
                break;
            since = at;
        }
    }
    return since ? MAX_OF(since, started_ms) : 0;
}

static void fill_slots(const json_t *times, const json_t *mean, const struct top_details *d, double full, float *values)
{
    for (size_t i = 0; i < d->slots; i++)
        values[i] = NAN;
    int64_t span = MAX_OF(d->until_ms - d->since_ms, (int64_t)1);
    for (size_t i = 0; i < json_array_size(times); i++) {
        int64_t at = (int64_t)(json_number_value(json_array_get(times, i)) * MS_PER_S);
        int64_t next =
            i + 1 < json_array_size(times) ? (int64_t)(json_number_value(json_array_get(times, i + 1)) * MS_PER_S) : d->until_ms;
        int64_t from = MAX_OF((at - d->since_ms) * (int64_t)d->slots / span, (int64_t)0);
        int64_t to = MIN_OF((next - d->since_ms) * (int64_t)d->slots / span + 1, (int64_t)d->slots);
        for (int64_t slot = from; full > 0 && slot < to; slot++)
            values[slot] = number_at(mean, i, 1 / full);
    }
}

void answer_lifeline(const json_t *history, size_t slots, struct top_details *d)
{
    const json_t *series = json_array_get(json_object_get(history, "series"), 0), *metrics = json_object_get(series, "metrics");
    const json_t *times = json_object_get(series, "times");
    d->vram = json_array_size(times) && d->until_ms > d->since_ms ? malloc(2 * slots * sizeof *d->vram) : NULL;
    if (!d->vram)
        return;
    d->slots = slots;
    d->util = d->vram + slots;
    fill_slots(NULL, NULL, d, 0, d->vram);
    fill_slots(NULL, NULL, d, 0, d->util);
    for (size_t m = 0; m < json_array_size(metrics); m++) {
        const json_t *metric = json_array_get(metrics, m), *mean = json_object_get(metric, "mean");
        if (strcmp(json_text(metric, "name"), "memory_mb") == 0)
            fill_slots(times, mean, d, (double)d->peak_bytes / MIB_BYTES, d->vram);
        else if (strcmp(json_text(metric, "name"), "utilization_percent") == 0)
            fill_slots(times, mean, d, 100, d->util);
    }
}

/* ---- judgments ---- */

void answer_badges(const json_t *health, const json_t *forecast, const struct snapshot *s, struct top_badge *badges)
{
    const json_t *judged = json_object_get(health, "gpus"), *foreseen = json_object_get(forecast, "gpus");
    for (size_t g = 0; g < s->gpu_count; g++) {
        badges[g] = (struct top_badge){0};
        for (size_t i = 0; i < json_array_size(judged); i++) {
            const json_t *gpu = json_array_get(judged, i);
            if (!is_gpu(gpu, &s->gpus[g]))
                continue;
            json_copy_text(gpu, "state", badges[g].health, sizeof badges[g].health);
            json_copy_text(gpu, "reason", badges[g].reason, sizeof badges[g].reason);
        }
        for (size_t i = 0; i < json_array_size(foreseen); i++) {
            const json_t *gpu = json_array_get(foreseen, i), *memory = json_object_get(gpu, "memory");
            if (is_gpu(gpu, &s->gpus[g]) && strcmp(json_text(memory, "verdict"), "expected") == 0)
                badges[g].full_ms = (int64_t)(json_number_value(json_object_get(memory, "seconds")) * MS_PER_S);
        }
    }
}

/* ---- tabs ---- */

void answer_alerts(const json_t *alerts, struct buf *out)
{
    const json_t *list = json_object_get(alerts, "alerts");
    size_t shown = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *alert = json_array_get(list, i);
        const char *state = json_text(alert, "state");
        char at[MOMENT_TEXT_SIZE] = "";
        struct wall now = json_moment(alerts, "timestamp"), started = json_moment(alert, "started_at");
        if (strcmp(state, "firing") != 0 && strcmp(state, "pending") != 0)
            continue;
        if (started.ms)
            moment_format(started, now, at);
        buf_printf(out, "%-8s %-9s %-14s %s%s\n", state, json_text(alert, "severity"), at, json_text(alert, "summary"),
                   json_is_true(json_object_get(alert, "silenced")) ? " (silenced)" : "");
        shown++;
    }
    if (!shown)
        buf_text(out, "No alerts.\n");
    const json_t *silences = json_object_get(alerts, "silences");
    for (size_t i = 0; i < json_array_size(silences); i++) {
        const json_t *silence = json_array_get(silences, i);
        char until[MOMENT_TEXT_SIZE] = "";
        struct wall now = json_moment(alerts, "timestamp"), end = json_moment(silence, "until");
        if (end.ms && end.ms < now.ms)
            continue;
        if (end.ms)
            moment_format(end, now, until);
        buf_printf(out, "%s    silenced until %s%s%s\n", i ? "" : "\n", until, json_text(silence, "comment")[0] ? ": " : "",
                   json_text(silence, "comment"));
    }
}

static void read_gpus(const json_t *list, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(list) && used + 8 < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%d", i ? ", " : "GPU ", (int)json_integer_value(json_array_get(list, i)));
}

void answer_guard(const json_t *guard, struct news *n)
{
    const json_t *list = json_object_get(guard, "workers");
    size_t count = MIN_OF(json_array_size(list), (size_t)TOP_WORKERS);
    n->workers = calloc(count ? count : 1, sizeof *n->workers);
    for (size_t i = 0; n->workers && i < count; i++) {
        const json_t *worker = json_array_get(list, i);
        struct top_worker *w = &n->workers[n->worker_count++];
        json_copy_text(worker, "name", w->name, sizeof w->name);
        json_copy_text(worker, "state", w->state, sizeof w->state);
        json_copy_text(worker, "method", w->method, sizeof w->method);
        json_copy_text(worker, "reason", w->reason, sizeof w->reason);
        json_copy_text(worker, "problem", w->problem, sizeof w->problem);
        read_gpus(json_object_get(worker, "gpus"), w->gpus, sizeof w->gpus);
        w->bytes = reading_of(worker, "memory_mb", MIB_BYTES);
        w->held = json_is_true(json_object_get(worker, "held"));
        w->evictions = json_integer_value(json_object_get(worker, "evictions_total"));
        w->since_ms = json_moment(worker, "since").ms;
        w->resumes_ms = json_moment(worker, "resumes_at").ms;
    }
}
