/* SPDX-License-Identifier: Apache-2.0
 * What happened in a span of time: its points, its episodes, each explained at the moment that shows it best, the most important
 * first; and the times in which nothing was stored.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "insight/why/episodes.h"
#include "past/explain.h"
#include "past/usual.h"

enum {
    MINUTE_MS = 60000,
    HOUR_MS = 3600000,
    STEPS_MOST = 1500,
    FOUND_MAX = 4096,    /* of one GPU */
    EXPLAINED_MOST = 64, /* of them: the most promising */
    MOMENTS_TRIED = 5,
    AGAIN_MOST_MS = 1800000,   /* the same thing after a longer pause is another episode */
    SECONDS_MOST_MS = HOUR_MS, /* up to here it is looked at closely: what lasts seconds can be heard */
    CLOSE_STEP_MS = 10000,
    DAYS_FROM_MS = 2 * 86400000, /* from here on, what comes again and again is told once */
};

/* The columns of a point, in this order. */
static const char *const column_names[] = {"util_permille", "encoder_permille", "decoder_permille",
                                           "fan_permille",  "mem_used_bytes",   "mem_total_bytes",
                                           "temp_mdegc",    "power_mw",         "throttle_bits"};
enum { COL_UTIL, COL_ENCODER, COL_DECODER, COL_FAN, COL_USED, COL_TOTAL, COL_TEMP, COL_POWER, COL_THROTTLE, COL_COUNT };
_Static_assert(ARRAY_LEN(column_names) == COL_COUNT, "one name for each column");

struct span {
    struct store *s;
    const char *host;
    struct explained_span *told;
    struct store_gpu gpus[GPU_MAX];
    size_t gpu_count;
    int64_t only_gpu;
    bool days;                   /* so long that work which comes again and again is one thing */
    const struct store_gpu *gpu; /* being looked at */
    struct episode_point *points;
    size_t count, capacity;
    struct store_worker *workers; /* of all GPUs */
    size_t worker_count, worker_capacity;
};

static int note_gpu(void *user, const struct store_gpu *gpu)
{
    struct span *p = user;
    if (p->gpu_count < GPU_MAX && (p->only_gpu == 0 || p->only_gpu == gpu->id))
        p->gpus[p->gpu_count++] = *gpu;
    return 0;
}

static struct reading mean(const struct aggregate *a)
{
    return a->count ? reading_ok(a->sum / a->count) : reading_absent(READING_UNREAD);
}

static int note_point(void *user, const struct store_point *point)
{
    struct span *p = user;
    const struct aggregate *v = point->values;
    if (!ROOM_FOR_ONE(p->points, p->count, p->capacity, 512))
        return -ENOMEM;
    struct episode_point *to = &p->points[p->count++];
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

static int read_points(struct span *p, struct error *err)
{
    size_t columns[COL_COUNT];
    for (size_t i = 0; i < COL_COUNT; i++)
        columns[i] = (size_t)series_find(SERIES_GPU, column_names[i]);
    const struct store_plot plot = {.series = SERIES_GPU,
                                    .subject = p->gpu->id,
                                    .since_ms = p->told->since.ms,
                                    .until_ms = p->told->until.ms,
                                    .step_ms = p->told->step_ms,
                                    .columns = columns,
                                    .column_count = COL_COUNT};
    p->count = 0;
    int rc = store_series(p->s, &plot, note_point, p, err);
    return rc == -ENOMEM ? error_set(err, rc, "out of memory") : rc;
}

/* Somebody's part in one step. */
struct share {
    int64_t process;
    double share; /* of the compute units, else of the memory: whatever is known */
    bool works;
};

/* Who keeps the title of worker: a neighbour of about the same share must not take it away for a minute. */
static void choose_worker(struct episode_point *point, const struct share *best, const struct share *former)
{
    const struct share *chosen =
        former->process && former->share >= 0.7 * best->share && former->works == best->works ? former : best;
    point->worker = chosen->process;
    point->worker_works = chosen->works;
}

/* The next point of that time. */
static struct episode_point *next_point(struct span *p, size_t *at, int64_t from_ms, int64_t to_ms)
{
    while (*at < p->count && p->points[*at].at_ms < from_ms)
        ++*at;
    return *at < p->count && p->points[*at].at_ms < to_ms ? &p->points[(*at)++] : NULL;
}

/* Who did most in each step, from the minutes of processes: in a step of seconds, whoever did in its minute. */
struct workers_walk {
    struct span *span;
    int64_t step_ms, step; /* -1: none yet */
    size_t at;             /* the next point */
    int64_t last;          /* whoever did most in the step before */
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
    if (p->worker_count == p->worker_capacity) {
        size_t capacity = p->worker_capacity ? 2 * p->worker_capacity : 1024;
        struct store_worker *list = realloc(p->workers, capacity * sizeof *list);
        if (!list)
            return -ENOMEM;
        p->workers = list;
        p->worker_capacity = capacity;
    }
    p->workers[p->worker_count++] = *row;
    return 0;
}

/* Of all GPUs at once: their rows lie side by side. */
static int read_workers(struct span *p, struct error *err)
{
    const struct store_workers query = {.host = p->host,
                                        .gpu_id = p->only_gpu,
                                        .since_ms = p->told->since.ms,
                                        .until_ms = p->told->until.ms,
                                        .step_ms = MAX_OF(p->told->step_ms, (int64_t)MINUTE_MS),
                                        .by_program = p->days};
    int rc = store_workers(p->s, &query, note_worker, p, err);
    return rc == -ENOMEM ? error_set(err, rc, "out of memory") : rc;
}

static void choose_workers(struct span *p)
{
    struct workers_walk w = {.span = p, .step_ms = MAX_OF(p->told->step_ms, (int64_t)MINUTE_MS), .step = -1};
    for (size_t i = 0; i < p->worker_count; i++)
        if (p->workers[i].gpu_id == p->gpu->id)
            take_worker(&w, &p->workers[i]);
    end_step(&w);
}

static void free_course(struct usual_course **c)
{
    usual_course_free(*c);
}

static const struct why_part *part_of(const struct explained_moment *m, const struct store_gpu *gpu)
{
    for (size_t i = 0; m->why && i < m->why->gpu_count; i++)
        if (gpu_same(&m->snapshot->gpus[i].id, &gpu->identity))
            return &m->why->gpus[i];
    return NULL;
}

/* Who is named as the cause, as they were known then. */
static void name_process(struct explained_episode *e, const struct snapshot *s)
{
    const struct why_cause *cause = &e->part.causes[0];
    e->pid = cause->pid;
    str_copy(e->process, sizeof e->process, str_from(cause->process));
    for (size_t i = 0; e->pid && i < s->gpu_count; i++) {
        const struct process *p = s->gpus[i].index == e->gpu_index ? gpu_find_process(&s->gpus[i], e->pid) : NULL;
        if (!p)
            continue;
        str_copy(e->process, sizeof e->process, str_from(p->name));
        str_copy(e->user, sizeof e->user, str_from(p->user));
        str_copy(e->container, sizeof e->container, str_from(p->container));
    }
}

static void measure(struct explained_episode *e, const struct span *p, const struct episode *found)
{
    int64_t util = 0, utils = 0, power = 0, powers = 0, value;
    for (size_t i = found->first; i <= found->last; i++) {
        const struct episode_point *point = &p->points[i];
        if (reading_get(point->util_permille, &value)) {
            util += value;
            utils++;
        }
        if (reading_get(point->power_mw, &value)) {
            power += value;
            powers++;
        }
        if (reading_get(point->temp_max_mdegc, &value))
            e->temp_max_mdegc = reading_ok(MAX_OF(reading_or(e->temp_max_mdegc, INT64_MIN), value));
    }
    if (utils)
        e->util_permille = reading_ok(util / utils);
    if (powers)
        e->power_mw = reading_ok(power / powers);
}

/* The moments of an episode that are asked about: its peak, and others spread over it. What shows most is what is told. */
static int64_t moment_of(const struct span *p, const struct episode *found, int turn)
{
    int64_t step_ms = p->told->step_ms;
    size_t spread = found->last - found->first;
    size_t at = turn == 0 ? found->peak : found->first + spread * (size_t)turn / MOMENTS_TRIED;
    return p->points[at].at_ms + (spread == 0 ? step_ms * (turn + 1) / (MOMENTS_TRIED + 1) : step_ms / 2);
}

static bool is_there(const struct snapshot *s, const struct explained_episode *e)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].index == e->gpu_index && gpu_find_process(&s->gpus[i], e->pid))
            return true;
    return false;
}

/* Of a moment about which nothing is known, nobody can tell. */
static int is_gone(const struct span *p, const struct explained_episode *e, struct wall at, bool *ret, struct error *err)
{
    AUTO_FREE struct recent *recent = calloc(1, sizeof *recent);
    struct snapshot *then = NULL;
    enum level level;
    if (!recent)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = store_past(p->s, p->host, at, p->gpu->id, &then, recent, &level, err);
    *ret = rc == 0 && !is_there(then, e);
    if (rc == 0)
        recent_done(recent);
    snapshot_unref(then);
    return rc == -ENODATA ? 0 : rc;
}

/* What ended it: whoever did the work is gone, or there is less of it, or nothing is known about what came then. */
static int find_end(const struct span *p, struct explained_episode *e, struct error *err)
{
    enum { FELL_LEAST = 100 };
    int64_t step_ms = p->told->step_ms, util;
    size_t next = 0;
    while (next < p->count && p->points[next].at_ms < e->until.ms)
        next++;
    if (p->told->until.ms - e->until.ms <= 2 * step_ms) {
        e->end = EPISODE_ONGOING;
        return 0;
    }
    if (next == p->count || p->points[next].at_ms > e->until.ms + 3 * step_ms) {
        e->end = EPISODE_END_RECORD;
        return 0;
    }
    if (e->pid) {
        bool gone;
        int rc = is_gone(p, e, (struct wall){MIN_OF(e->until.ms + step_ms, p->told->until.ms - 1)}, &gone, err);
        if (rc < 0)
            return rc;
        if (gone) {
            e->end = EPISODE_END_PROCESS;
            return 0;
        }
    }
    if (reading_get(p->points[next].util_permille, &util) && util + FELL_LEAST < reading_or(e->util_permille, 0)) {
        e->end = EPISODE_END_LOAD;
        e->end_util_permille = reading_ok(util);
    }
    return 0;
}

static void begin_episode(const struct span *p, const struct episode_group *group, struct explained_episode *ret)
{
    *ret = (struct explained_episode){.gpu_id = p->gpu->id,
                                      .gpu_index = p->gpu->index,
                                      .simulated = p->gpu->simulated,
                                      .since = {MAX_OF(MAX_OF(group->since_ms, p->told->since.ms), p->gpu->first_seen.ms)},
                                      .until = {MIN_OF(group->until_ms, p->told->until.ms)},
                                      .times = group->times};
    ret->total_ms = MIN_OF(group->total_ms, ret->until.ms - ret->since.ms);
    str_copy(ret->gpu_name, sizeof ret->gpu_name, str_from(p->gpu->identity.name));
}

/* An episode whose explanation is being looked for. */
struct told_candidate {
    struct explained_episode *episode;
    int turn; /* the moment that showed most so far */
};

/* A moment of one of them. */
struct tried_moment {
    struct wall at;
    size_t candidate;
    int turn;
};

static int by_time(const void *a, const void *b)
{
    const struct tried_moment *left = a, *right = b;
    if (left->at.ms != right->at.ms)
        return left->at.ms < right->at.ms ? -1 : 1;
    return left->candidate != right->candidate ? (left->candidate < right->candidate ? -1 : 1) : left->turn - right->turn;
}

static int try_moment(struct span *p, const struct tried_moment *tried, struct usual_course *usual, struct told_candidate *c,
                      struct error *err)
{
    struct explained_episode *e = c->episode;
    struct explained_moment m;
    int rc = explain_moment_of(p->s, p->gpu, tried->at, usual, &m, err);
    if (rc < 0)
        return rc;
    const struct why_part *part = part_of(&m, p->gpu);
    double weight = part ? episode_weight(part, e->total_ms) : 0;
    if (weight > e->weight || (weight > 0 && weight == e->weight && tried->turn < c->turn)) {
        c->turn = tried->turn;
        e->at = m.snapshot->taken_at;
        e->part = *part;
        e->gpu_index = part->gpu_index;
        e->weight = weight;
        e->pid = 0;
        name_process(e, m.snapshot);
    }
    explained_moment_done(&m);
    return 0;
}

/* Their moments in the order of time, so that what was usual by then is learned once. */
static int explain_candidates(struct span *p, const struct episode_group *groups, struct told_candidate *candidates, size_t count,
                              struct error *err)
{
    size_t n = 0;
    CLEANUP(free_course) struct usual_course *usual = NULL;
    AUTO_FREE struct tried_moment *all = calloc(count * MOMENTS_TRIED + 1, sizeof *all);
    int rc =
        all ? usual_course_new(p->s, p->gpu, p->gpu_count, p->told->until, &usual, err) : error_set(err, -ENOMEM, "out of memory");
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++)
        for (int turn = 0; turn < MOMENTS_TRIED; turn++)
            all[n++] = (struct tried_moment){{MIN_OF(moment_of(p, &groups[i].shown, turn), p->told->until.ms - 1)}, i, turn};
    qsort(all, n, sizeof *all, by_time);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = try_moment(p, &all[i], usual, &candidates[all[i].candidate], err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        measure(candidates[i].episode, p, &groups[i].shown);
        if (candidates[i].episode->weight > 0)
            rc = find_end(p, candidates[i].episode, err);
    }
    return rc;
}

/* The same thing again a short time later is the same thing; over days, also a long time later. */
static bool is_again(const struct span *p, const struct explained_episode *before, const struct explained_episode *e)
{
    int64_t apart = MAX_OF(e->since.ms - before->until.ms, before->since.ms - e->until.ms);
    return before->part.causes[0].code == e->part.causes[0].code && strcmp(before->process, e->process) == 0 &&
           strcmp(before->user, e->user) == 0 && (p->days || (before->pid == e->pid && apart <= AGAIN_MOST_MS));
}

static bool join_again(const struct span *p, size_t from, const struct explained_episode *e)
{
    struct explained_span *told = p->told;
    for (size_t i = told->episode_count; i-- > from;) {
        struct explained_episode *before = &told->episodes[i];
        if (!is_again(p, before, e))
            continue;
        if (e->until.ms > before->until.ms) {
            before->end = e->end;
            before->end_util_permille = e->end_util_permille;
        }
        before->since = (struct wall){MIN_OF(before->since.ms, e->since.ms)};
        before->until = (struct wall){MAX_OF(before->until.ms, e->until.ms)};
        before->times += e->times;
        before->total_ms += e->total_ms;
        if (e->weight > before->weight) {
            before->at = e->at;
            before->part = e->part;
        }
        before->weight = episode_weight(&before->part, before->total_ms);
        before->temp_max_mdegc =
            before->temp_max_mdegc.value > e->temp_max_mdegc.value ? before->temp_max_mdegc : e->temp_max_mdegc;
        return true;
    }
    return false;
}

/* Into the list; when it is full, the least important of it, or this one, is left out. */
static void keep(struct explained_span *told, const struct explained_episode *e)
{
    if (told->episode_count < EXPLAIN_EPISODES_MAX) {
        told->episodes[told->episode_count++] = *e;
        return;
    }
    size_t least = 0;
    for (size_t i = 1; i < told->episode_count; i++)
        if (told->episodes[i].weight < told->episodes[least].weight)
            least = i;
    told->left_out++;
    if (told->episodes[least].weight < e->weight)
        told->episodes[least] = *e;
}

/* Explains the most promising, and keeps what is worth it. */
static int explain_all(struct span *p, const struct episode_group *groups, size_t count, struct error *err)
{
    size_t from = p->told->episode_count, most = MIN_OF(count, (size_t)EXPLAINED_MOST);
    AUTO_FREE struct explained_episode *list = calloc(most + 1, sizeof *list);
    struct told_candidate candidates[EXPLAINED_MOST] = {0};
    if (!list)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < most; i++) {
        begin_episode(p, &groups[i], &list[i]);
        candidates[i].episode = &list[i];
    }
    int rc = most ? explain_candidates(p, groups, candidates, most, err) : 0;
    for (size_t i = 0; rc == 0 && i < most; i++)
        if (list[i].weight > 0 && !join_again(p, from, &list[i]))
            keep(p->told, &list[i]);
    p->told->left_out += count - most;
    return rc;
}

static int tell_gpu(struct span *p, struct error *err)
{
    struct explained_span *told = p->told;
    size_t count, left_out;
    int rc = read_points(p, err);
    if (rc < 0 || p->count == 0)
        return rc;
    told->gpu_count++;
    choose_workers(p);
    AUTO_FREE struct episode *found = calloc(FOUND_MAX, sizeof *found);
    AUTO_FREE struct episode_group *groups = calloc(FOUND_MAX, sizeof *groups);
    if (!found || !groups || episodes_find(p->points, p->count, told->step_ms, found, FOUND_MAX, &count, &left_out) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    told->left_out += left_out;
    count = episodes_group(found, count, p->points, told->step_ms, p->days, groups);
    return explain_all(p, groups, count, err);
}

static int by_weight(const void *a, const void *b)
{
    const struct explained_episode *left = a, *right = b;
    if (left->weight != right->weight)
        return left->weight < right->weight ? 1 : -1;
    return (left->since.ms > right->since.ms) - (left->since.ms < right->since.ms);
}

struct pace {
    int64_t first_ms, last_ms, count;
};

static int note_pace(void *user, const struct store_point *point)
{
    struct pace *pace = user;
    pace->first_ms = pace->count++ ? pace->first_ms : point->at.ms;
    pace->last_ms = point->at.ms;
    return 0;
}

/* Whether samples are kept and came so often that steps of seconds have something in them. */
static int looks_closely(struct span *p, bool *ret, struct error *err)
{
    size_t column = (size_t)series_find(SERIES_GPU, column_names[COL_UTIL]);
    struct store_plot plot = {.series = SERIES_GPU,
                              .since_ms = p->told->since.ms,
                              .until_ms = p->told->until.ms,
                              .step_ms = CLOSE_STEP_MS,
                              .columns = &column,
                              .column_count = 1};
    int64_t step_ms;
    enum level level;
    int rc = 0;
    *ret = false;
    store_plan(p->s, &plot, &step_ms, &level);
    if (p->told->until.ms - p->told->since.ms > SECONDS_MOST_MS || level != LEVEL_RAW)
        return 0;
    for (size_t i = 0; rc == 0 && !*ret && i < p->gpu_count; i++) {
        struct pace pace = {0};
        plot.subject = p->gpus[i].id;
        rc = store_series(p->s, &plot, note_pace, &pace, err);
        *ret = pace.count > 1 && (pace.last_ms - pace.first_ms) / (pace.count - 1) < 2 * CLOSE_STEP_MS;
    }
    return rc;
}

static int plan(struct span *p, struct error *err)
{
    struct explained_span *told = p->told;
    bool closely;
    int rc = looks_closely(p, &closely, err);
    if (rc < 0)
        return rc;
    int64_t least = (told->until.ms - told->since.ms + STEPS_MOST - 1) / STEPS_MOST;
    int64_t step = least <= MINUTE_MS ? MINUTE_MS : (least + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS;
    if (step > 15 * MINUTE_MS)
        step = (step + HOUR_MS - 1) / HOUR_MS * HOUR_MS;
    step = closely ? CLOSE_STEP_MS : step;
    const struct store_plot plot = {.series = SERIES_GPU, .since_ms = told->since.ms, .until_ms = told->until.ms, .step_ms = step};
    store_plan(p->s, &plot, &told->step_ms, &told->level);
    return 0;
}

/* ---- its sentences ---- */

static void say_most_important(struct buf *out, const struct explained_span *t)
{
    const struct explained_episode *e = &t->episodes[0];
    char since[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE];
    moment_format(e->since, t->until, since);
    moment_format(e->until, t->until, until);
    if (t->episode_count == 1)
        buf_text(out, "One thing is worth explaining");
    else
        buf_printf(out, "%zu things are worth explaining; the most important", t->episode_count + t->left_out);
    buf_printf(out, ", from %s to %s: %s", since, until, e->part.answer);
}

static void say_span(struct explained_span *t)
{
    AUTO_BUF struct buf out = BUF(EXPLAIN_ANSWER_SIZE - 1);
    int64_t whole = t->until.ms - t->since.ms;
    bool nothing = t->missing_ms >= whole - 60000;
    if (nothing)
        buf_text(&out, t->gap_count ? t->gaps[0].text : "Nothing was stored in that time.");
    else if (t->episode_count)
        say_most_important(&out, t);
    else
        buf_text(&out, "Nothing happened that is worth explaining: it was calm.");
    if (!nothing && t->missing_ms > 0) {
        char missing[WORDS_SIZE];
        buf_printf(&out, " Nothing is known about %s of the time: %s", words_duration(t->missing_ms, missing), t->gaps[0].text);
    }
    str_copy(t->answer, sizeof t->answer, out.failed ? STR("Too much happened to be said in a few words.") : buf_view(&out));
    if (t->level == LEVEL_HOUR && t->step_ms >= 3600000)
        snprintf(t->note, sizeof t->note, "Looked at hour by hour: what lasted minutes may not be seen.");
}

/* ---- the whole ---- */

int explain_span(struct store *s, const char *host, int64_t gpu_id, struct wall since, struct wall until,
                 struct explained_span *ret, struct error *err)
{
    AUTO_FREE struct span *p = calloc(1, sizeof *p);
    *ret = (struct explained_span){.since = since, .until = until};
    ret->episodes = calloc(EXPLAIN_EPISODES_MAX, sizeof *ret->episodes);
    if (!p || !ret->episodes) {
        explained_span_done(ret);
        return error_set(err, -ENOMEM, "out of memory");
    }
    *p = (struct span){.s = s, .host = host, .told = ret, .only_gpu = gpu_id, .days = until.ms - since.ms >= DAYS_FROM_MS};
    int rc = store_gpus(s, host, note_gpu, p, err);
    if (rc == 0)
        rc = plan(p, err);
    if (rc == 0)
        rc = read_workers(p, err);
    for (size_t i = 0; rc == 0 && i < p->gpu_count; i++) {
        p->gpu = &p->gpus[i];
        rc = tell_gpu(p, err);
    }
    if (rc == 0)
        rc = gaps_within(s, host, ret, err);
    free(p->points);
    free(p->workers);
    if (rc < 0) {
        explained_span_done(ret);
        return rc;
    }
    qsort(ret->episodes, ret->episode_count, sizeof *ret->episodes, by_weight);
    for (size_t i = 0; i < ret->episode_count; i++)
        episode_say(&ret->episodes[i]);
    say_span(ret);
    return 0;
}

void explained_span_done(struct explained_span *t)
{
    free(t->episodes);
    t->episodes = NULL;
    t->episode_count = 0;
}
