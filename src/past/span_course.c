/* SPDX-License-Identifier: Apache-2.0
 * The course of a GPU in a span of time: its points, and the busiest process at each.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "past/span.h"

/* The columns of a point, in this order. */
static const char *const column_names[] = {"util_permille", "encoder_permille", "decoder_permille",
                                           "fan_permille",  "mem_used_bytes",   "mem_total_bytes",
                                           "temp_mdegc",    "power_mw",         "throttle_bits"};
enum { COL_UTIL, COL_ENCODER, COL_DECODER, COL_FAN, COL_USED, COL_TOTAL, COL_TEMP, COL_POWER, COL_THROTTLE, COL_COUNT };
_Static_assert(ARRAY_LEN(column_names) == COL_COUNT, "one name for each column");
static const unsigned char wanted[COL_COUNT] = {[COL_TOTAL] = WANTS_MAX, [COL_TEMP] = WANTS_MAX, [COL_THROTTLE] = WANTS_MAX};

static struct reading mean(const struct aggregate *a)
{
    return a->count ? reading_ok(a->sum / a->count) : reading_absent(READING_UNREAD);
}

static int note_point(void *user, const struct store_point *point)
{
    struct span *p = user;
    struct span_points *of = &p->read[point->place];
    const struct aggregate *v = point->values;
    if (!ROOM_FOR_ONE(of->list, of->count, of->capacity, 512))
        return -ENOMEM;
    struct episode_point *to = &of->list[of->count++];
    *to = (struct episode_point){.at_ms = point->at.ms,
                                 .util_permille = mean(&v[COL_UTIL]),
                                 .fan_permille = mean(&v[COL_FAN]),
                                 .power_mw = mean(&v[COL_POWER])};
    struct reading encoder = mean(&v[COL_ENCODER]), decoder = mean(&v[COL_DECODER]);
    to->video_permille = encoder.state != READING_OK || reading_or(decoder, 0) > encoder.value ? decoder : encoder;
    if (v[COL_TEMP].count)
        to->temp_max_mdegc = reading_ok(v[COL_TEMP].max);
    if (v[COL_USED].count && v[COL_TOTAL].count && v[COL_TOTAL].max > 0)
        to->mem_permille = reading_ok(v[COL_USED].sum / v[COL_USED].count * 1000 / v[COL_TOTAL].max);
    if (v[COL_THROTTLE].count) {
        to->slowed_permille = reading_ok(v[COL_THROTTLE].sum * 1000 / v[COL_THROTTLE].count);
        to->throttle_bits = (uint64_t)v[COL_THROTTLE].max;
    }
    return 0;
}

int span_read_points(struct store *s, void *span, struct error *err)
{
    struct span *p = span;
    size_t columns[COL_COUNT];
    int64_t subjects[GPU_MAX];
    for (size_t i = 0; i < COL_COUNT; i++)
        columns[i] = (size_t)series_find(SERIES_GPU, column_names[i]);
    for (size_t i = 0; i < p->gpu_count; i++)
        subjects[i] = p->gpus[i].id;
    const struct store_plot plot = {.series = SERIES_GPU,
                                    .subjects = subjects,
                                    .subject_count = p->gpu_count,
                                    .since_ms = p->told->since.ms,
                                    .until_ms = p->told->until.ms,
                                    .step_ms = p->told->step_ms,
                                    .columns = columns,
                                    .column_count = COL_COUNT,
                                    .wanted = wanted};
    int rc = store_series(s, &plot, note_point, p, err);
    return rc == -ENOMEM ? error_set(err, rc, "out of memory") : rc;
}

/* A process's share of one step. */
struct share {
    int64_t process;
    double share; /* of the compute units or else the memory, whichever is known */
    bool works;
};

/* Keeps the current worker: a neighbor with a similar share must not replace it for a minute. */
static void choose_worker(struct episode_point *point, const struct share *best, const struct share *former)
{
    const struct share *chosen =
        former->process && former->share >= 0.7 * best->share && former->works == best->works ? former : best;
    point->worker = chosen->process;
    point->worker_works = chosen->works;
}

/* The next point in that time. */
static struct episode_point *next_point(struct span *p, size_t *at, int64_t from_ms, int64_t to_ms)
{
    while (*at < p->count && p->points[*at].at_ms < from_ms)
        ++*at;
    return *at < p->count && p->points[*at].at_ms < to_ms ? &p->points[(*at)++] : NULL;
}

/* Finds the busiest process in each step from the minutes of processes; for steps of seconds, that of their minute. */
struct workers_walk {
    struct span *span;
    int64_t step_ms, step; /* -1: none yet */
    size_t at;             /* the next point */
    int64_t last;          /* the busiest process in the previous step */
    struct share best, former;
};

static void end_step(struct workers_walk *w)
{
    if (w->step < 0)
        return;
    w->last = 0;
    for (struct episode_point *point;
         (point = next_point(w->span, &w->at, w->step * w->step_ms, (w->step + 1) * w->step_ms)) != NULL;) {
        choose_worker(point, &w->best, &w->former);
        w->last = point->worker;
    }
    w->best = w->former = (struct share){0};
}

static void take_worker(struct workers_walk *w, const struct store_worker *row)
{
    if (row->step != w->step)
        end_step(w);
    w->step = row->step;
    double share = row->sm_count ? (double)row->sm_sum_permille / (double)row->sm_count : 0;
    struct share part = {row->process, share, row->sm_count && share >= 20};
    if (!part.works)
        part.share = row->samples ? (double)row->memory_sum_bytes / (double)row->samples : 0;
    if (!w->best.process || (part.works && !w->best.works) || (part.works == w->best.works && part.share > w->best.share))
        w->best = part;
    if (part.process == w->last)
        w->former = part;
}

static int note_worker(void *user, const struct store_worker *row)
{
    struct span *p = user;
    if (!ROOM_FOR_ONE(p->workers, p->worker_count, p->worker_capacity, 1024))
        return -ENOMEM;
    p->workers[p->worker_count++] = *row;
    return order_holds(&p->worker_order, row->gpu_id, row->step);
}

int span_read_workers(struct store *s, void *span, struct error *err)
{
    struct span *p = span;
    const struct store_workers query = {.host = p->host,
                                        .gpu_id = p->only_gpu,
                                        .since_ms = p->told->since.ms,
                                        .until_ms = p->told->until.ms,
                                        .step_ms = MAX_OF(p->told->step_ms, (int64_t)MINUTE_MS),
                                        .by_program = p->days};
    int rc = store_workers(s, &query, note_worker, p, err);
    return rc == -ENOMEM ? error_set(err, rc, "out of memory") : rc;
}

void span_choose_workers(struct span *p)
{
    struct workers_walk w = {.span = p, .step_ms = MAX_OF(p->told->step_ms, (int64_t)MINUTE_MS), .step = -1};
    for (size_t i = 0; i < p->worker_count; i++)
        if (p->workers[i].gpu_id == p->gpu->id)
            take_worker(&w, &p->workers[i]);
    end_step(&w);
}
