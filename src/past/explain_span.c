/* SPDX-License-Identifier: Apache-2.0
 * What happened in a span of time: its episodes, the most important first, and periods without data.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/units.h"
#include "base/words.h"
#include "insight/facts/levels.h"
#include "insight/view/why.h"
#include "model/finding_code.h"
#include "past/explain.h"
#include "past/past_usual.h"
#include "past/span.h"
#include "store/query.h"

/* ---- courses of the GPUs, read together because their rows are adjacent ---- */

/* The columns of a point, in this order. */
static const char *const column_names[] = {"util_permille", "encoder_permille", "decoder_permille",
                                           "fan_permille",  "mem_used_bytes",   "mem_total_bytes",
                                           "temp_mdegc",    "power_mw",         "throttle_bits"};
enum { COL_UTIL, COL_ENCODER, COL_DECODER, COL_FAN, COL_USED, COL_TOTAL, COL_TEMP, COL_POWER, COL_THROTTLE, COL_COUNT };
_Static_assert(ARRAY_LEN(column_names) == COL_COUNT, "one name for each column");
static const unsigned char wanted[COL_COUNT] = {[COL_TOTAL] = WANTS_MAX, [COL_TEMP] = WANTS_MAX, [COL_THROTTLE] = WANTS_MAX};

static int note_point(void *user, const struct store_point *point)
{
    struct span *p = user;
    struct span_points *of = &p->read[point->place];
    const struct aggregate *v = point->values;
    if (!ROOM_FOR_ONE(of->list, of->count, of->capacity, 512))
        return -ENOMEM;
    struct episode_point *to = &of->list[of->count++];
    *to = (struct episode_point){.at_ms = point->at.ms,
                                 .util_permille = aggregate_mean(&v[COL_UTIL]),
                                 .fan_permille = aggregate_mean(&v[COL_FAN]),
                                 .power_mw = aggregate_mean(&v[COL_POWER])};
    struct reading encoder = aggregate_mean(&v[COL_ENCODER]), decoder = aggregate_mean(&v[COL_DECODER]);
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

static int span_read_points(struct store *s, void *span, struct error *err)
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

static int span_read_workers(struct store *s, void *span, struct error *err)
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

/* Finds the busiest process at each point of the current GPU. */
static void span_choose_workers(struct span *p)
{
    struct workers_walk w = {.span = p, .step_ms = MAX_OF(p->told->step_ms, (int64_t)MINUTE_MS), .step = -1};
    for (size_t i = 0; i < p->worker_count; i++)
        if (p->workers[i].gpu_id == p->gpu->id)
            take_worker(&w, &p->workers[i]);
    end_step(&w);
}

/* ---- episodes, each explained at its most telling moment ---- */

enum { MOMENTS_TRIED = 5 };

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

/* Names the causing process, as it was known then. */
static void name_process(struct explained_episode *e, const struct snapshot *s)
{
    const struct why_cause *cause = &e->part.causes[0];
    for (size_t i = 0; i < e->part.cause_count && !cause->pid; i++)
        if (e->part.causes[i].pid && finding_kind(e->part.causes[i].code)->area == AREA_WORK)
            cause = &e->part.causes[i]; /* heat is listed before the work that causes it */
    e->pid = cause->pid;
    str_copy(e->process, sizeof e->process, str_from(cause->process));
    for (size_t i = 0; e->pid && i < s->gpu_count; i++) {
        const struct process *p = s->gpus[i].index == e->gpu_index ? gpu_find_process(&s->gpus[i], e->pid) : NULL;
        if (!p)
            continue;
        str_copy(e->process, sizeof e->process, str_from(p->name));
        process_words(p, 0, e->words);
        str_copy(e->user, sizeof e->user, str_from(p->user));
        str_copy(e->container, sizeof e->container, str_from(p->container));
    }
}

/* Computes means and maxima from the sums. */
static void span_use_numbers(struct explained_episode *e)
{
    const struct episode_numbers *n = &e->numbers;
    e->temp_max_mdegc = n->temp_max_mdegc;
    if (n->utils)
        e->util_permille = reading_ok(n->util_sum_permille / n->utils);
    if (n->powers)
        e->power_mw = reading_ok(n->power_sum_mw / n->powers);
}

/* The moments to try for an episode: its peak, and others spread over it. The most telling one wins. */
static int64_t moment_of(const struct span *p, const struct episode *found, int turn)
{
    int64_t step_ms = p->told->step_ms;
    size_t spread = found->last - found->first;
    size_t at = turn == 0 ? found->peak : found->first + spread * (size_t)turn / MOMENTS_TRIED;
    return p->points[at].at_ms + (spread == 0 ? step_ms * (turn + 1) / (MOMENTS_TRIED + 1) : step_ms / 2);
}

static bool span_episodes_is_there(const struct snapshot *s, const struct explained_episode *e)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].index == e->gpu_index && gpu_find_process(&s->gpus[i], e->pid))
            return true;
    return false;
}

/* Unknown if nothing is known about the moment. */
static int is_gone(const struct span *p, const struct explained_episode *e, struct wall at, bool *ret, struct error *err)
{
    AUTO_FREE struct recent *recent = calloc(1, sizeof *recent);
    struct snapshot *then = NULL;
    enum level level;
    if (!recent)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = store_past(p->s, p->host, at, p->gpu->id, &then, recent, &level, err);
    *ret = rc == 0 && !span_episodes_is_there(then, e);
    if (rc == 0)
        recent_done(recent);
    snapshot_unref(then);
    return rc == -ENODATA ? 0 : rc;
}

/* What ended it: the working process is gone, its load dropped, or nothing is known about the time after. */
static int find_end(const struct span *p, struct explained_episode *e, struct error *err)
{
    int64_t step_ms = p->told->step_ms;
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
    if (load_has_fallen(e->util_permille, p->points[next].util_permille)) {
        e->end = EPISODE_END_LOAD;
        e->end_util_permille = p->points[next].util_permille;
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
                                      .times = group->times,
                                      .kind = group->shown.kind,
                                      .numbers = group->numbers};
    span_use_numbers(ret);
    ret->total_ms = MIN_OF(group->total_ms, ret->until.ms - ret->since.ms);
    str_copy(ret->gpu_name, sizeof ret->gpu_name, str_from(p->gpu->identity.name));
}

/* A moment that may explain an episode. */
struct tried_moment {
    struct wall at;
    size_t episode;
    int turn;
};

static int by_time(const void *a, const void *b)
{
    const struct tried_moment *left = a, *right = b;
    if (left->at.ms != right->at.ms)
        return left->at.ms < right->at.ms ? -1 : 1;
    return left->episode != right->episode ? (left->episode < right->episode ? -1 : 1) : left->turn - right->turn;
}

/* A moment of thermal throttling must not represent hours of work without it. */
static bool belies(const struct explained_episode *e, const struct why_part *part)
{
    bool hot = false;
    for (size_t i = 0; i < part->cause_count; i++)
        hot |= part->causes[i].code == FINDING_HEAT_LIMIT && (i == 0 || part->causes[i].confidence >= 0.5);
    return hot && (e->kind == EPISODE_WORK || e->kind == EPISODE_LIMIT);
}

static int try_moment(struct span *p, const struct tried_moment *tried, struct usual_course *usual, struct explained_episode *e,
                      int *best, struct error *err)
{
    struct explained_moment m;
    int rc = explain_moment_of(p->s, p->gpu, tried->at, usual, &m, err);
    if (rc < 0)
        return rc;
    const struct why_part *part = part_of(&m, p->gpu);
    double weight = part ? episode_weight(part, e->total_ms) : 0;
    bool lies = part && belies(e, part), lied = e->weight > 0 && belies(e, &e->part);
    if ((weight > e->weight && (!lies || lied || e->weight == 0)) || (weight > 0 && lied && !lies) ||
        (weight > 0 && weight == e->weight && tried->turn < *best)) {
        *best = tried->turn;
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

/* Goes through the moments in order of time, so that usual values are learned once. */
static int span_explain_episodes(struct span *p, const struct episode_group *groups, struct explained_episode *ret, size_t count,
                                 struct error *err)
{
    size_t n = 0;
    CLEANUP(free_course) struct usual_course *usual = NULL;
    AUTO_FREE struct tried_moment *all = calloc(count * MOMENTS_TRIED + 1, sizeof *all);
    AUTO_FREE int *best = calloc(count + 1, sizeof *best); /* the most telling turn so far, per episode */
    int rc = all && best ? usual_course_new(p->s, p->gpu, p->gpu_count, p->told->until, &usual, err)
                         : error_set(err, -ENOMEM, "out of memory");
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        begin_episode(p, &groups[i], &ret[i]);
        for (int turn = 0; turn < MOMENTS_TRIED; turn++)
            all[n++] = (struct tried_moment){{MIN_OF(moment_of(p, &groups[i].shown, turn), p->told->until.ms - 1)}, i, turn};
    }
    qsort(all, n, sizeof *all, by_time);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = try_moment(p, &all[i], usual, &ret[all[i].episode], &best[all[i].episode], err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (ret[i].weight > 0)
            rc = find_end(p, &ret[i], err);
    }
    return rc;
}

/* ---- an episode in sentences: what it was, who caused it, one set of numbers (means and the highest temperature of the whole
 * episode), the usual values, and what ended it. The explanation itself covers one moment, whose numbers would differ. ---- */

struct sentence {
    char text[WHY_ANSWER_SIZE];
    size_t len;
};

__attribute__((format(gnu_printf, 2, 3))) static void say(struct sentence *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(s->text + s->len, sizeof s->text - s->len, format, args);
    va_end(args);
    if (len > 0 && (size_t)len < sizeof s->text - s->len)
        s->len += (size_t)len;
    else
        s->text[s->len] = '\0'; /* whole sentences, or none */
}

static void add_numbers(struct sentence *s, const struct explained_episode *e, bool power_said)
{
    int64_t util, power, temp;
    bool has_util = reading_get(e->util_permille, &util), has_power = !power_said && reading_get(e->power_mw, &power);
    bool has_temp = reading_get(e->temp_max_mdegc, &temp);
    if (has_util)
        say(s, " %lld%%", words_whole(util, 10));
    if (has_power)
        say(s, has_util ? " and %lld W" : " %lld W", words_whole(power, 1000));
    if (has_util || has_power)
        say(s, " on average");
    if (has_temp)
        say(s, "%s %lld °C", has_util || has_power ? ", up to" : " Up to", words_whole(temp, 1000));
    if (has_temp && e->part.usual.too_hot && e->part.usual.temp_mdegc.state == READING_OK)
        say(s, "; %lld °C was usual at this power", words_whole(e->part.usual.temp_mdegc.value, 1000));
    if (has_util || has_power || has_temp)
        say(s, ".");
}

static void add_end(struct sentence *s, const struct explained_episode *e, char ret[EPISODE_END_SIZE])
{
    int64_t util;
    ret[0] = '\0';
    switch (e->end) {
    case EPISODE_END_UNKNOWN: return;
    case EPISODE_ONGOING: snprintf(ret, EPISODE_END_SIZE, "It was still going on at the end of this time."); break;
    case EPISODE_END_PROCESS:
        if (e->words[0])
            snprintf(ret, EPISODE_END_SIZE, "It ended when %.48s exited.", e->words);
        break;
    case EPISODE_END_LOAD:
        if (reading_get(e->end_util_permille, &util))
            snprintf(ret, EPISODE_END_SIZE, "It ended when utilization fell to %lld%%.", words_whole(util, 10));
        break;
    case EPISODE_END_RECORD: snprintf(ret, EPISODE_END_SIZE, "Nothing was stored after that."); break;
    }
    if (ret[0])
        say(s, " %s", ret);
}

void episode_write_sentence(struct explained_episode *e)
{
    const struct why_brief *b = &e->part.brief;
    struct sentence s = {0};
    if (!b->state[0] && !b->doing[0] && !e->headline[0])
        return; /* lost, unreadable: the answer has no numbers */
    if (e->headline[0])
        say(&s, "%s%s.", e->simulated ? "Simulated " : "", e->headline);
    else
        say(&s, "%sGPU %d was %s%s%s.", e->simulated ? "Simulated " : "", e->gpu_index, b->state,
            b->state[0] && b->doing[0] ? ": " : "", b->doing);
    if (e->part.activity.code != ACTIVITY_LOST) /* from the minutes when it was present */
        add_numbers(&s, e, strstr(b->doing, " W by") || strstr(b->doing, " W, "));
    add_end(&s, e, e->ended);
    str_copy(e->part.answer, sizeof e->part.answer, str_from(s.text));
}

/* ---- the span ---- */

enum {
    STEPS_MAX = 1500,
    FOUND_MAX = 4096,         /* per GPU */
    EXPLAINED_MAX = 64,       /* of those, the most promising */
    AGAIN_MAX_MS = 1800000,   /* after a longer pause, a recurrence is another episode */
    SECONDS_MAX_MS = HOUR_MS, /* use steps of seconds up to this length: people hear what lasts seconds */
    CLOSE_STEP_MS = 10000,
    DAYS_FROM_MS = 2 * 86400000, /* from this length on, recurring episodes are reported once */
};

static int explain_span_note_gpu(void *user, const struct store_gpu *gpu)
{
    struct span *p = user;
    if (p->gpu_count < GPU_MAX && (p->only_gpu == 0 || p->only_gpu == gpu->id))
        p->gpus[p->gpu_count++] = *gpu;
    return 0;
}

/* A recurrence after a short pause, or any pause in a span of days, belongs to the same episode. An hour of throttling differs
 * from the hours of the same work around it. */
static bool is_again(const struct span *p, const struct explained_episode *before, const struct explained_episode *e)
{
    int64_t apart = MAX_OF(e->since.ms - before->until.ms, before->since.ms - e->until.ms);
    return before->kind == e->kind && before->part.causes[0].code == e->part.causes[0].code &&
           strcmp(before->process, e->process) == 0 && strcmp(before->user, e->user) == 0 &&
           (p->days || (before->pid == e->pid && apart <= AGAIN_MAX_MS));
}

static void join_numbers(struct episode_numbers *to, const struct episode_numbers *from)
{
    to->util_sum_permille += from->util_sum_permille;
    to->utils += from->utils;
    to->power_sum_mw += from->power_sum_mw;
    to->powers += from->powers;
    if (from->temp_max_mdegc.state == READING_OK)
        to->temp_max_mdegc = reading_ok(MAX_OF(reading_or(to->temp_max_mdegc, INT64_MIN), from->temp_max_mdegc.value));
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
        join_numbers(&before->numbers, &e->numbers);
        span_use_numbers(before);
        return true;
    }
    return false;
}

void span_keep(struct explained_span *told, const struct explained_episode *e)
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

/* Explains the most promising episodes, and keeps those worth reporting. */
static int explain_all(struct span *p, const struct episode_group *groups, size_t count, struct error *err)
{
    size_t from = p->told->episode_count, most = MIN_OF(count, (size_t)EXPLAINED_MAX);
    AUTO_FREE struct explained_episode *list = calloc(most + 1, sizeof *list);
    if (!list)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = most ? span_explain_episodes(p, groups, list, most, err) : 0;
    for (size_t i = 0; rc == 0 && i < most; i++)
        if (list[i].weight > 0 && !join_again(p, from, &list[i]))
            span_keep(p->told, &list[i]);
    p->told->left_out += count - most;
    return rc;
}

static int tell_gpu(struct span *p, struct error *err)
{
    struct explained_span *told = p->told;
    size_t count, left_out;
    if (p->count == 0)
        return 0;
    told->gpu_count++;
    span_choose_workers(p);
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

/* Whether samples are still stored, and frequent enough for steps of seconds. */
static int looks_closely(struct span *p, bool *ret, struct error *err)
{
    size_t column = (size_t)series_find(SERIES_GPU, "util_permille");
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
    if (p->told->until.ms - p->told->since.ms > SECONDS_MAX_MS || level != LEVEL_RAW)
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
    int64_t least = (told->until.ms - told->since.ms + STEPS_MAX - 1) / STEPS_MAX;
    int64_t step = least <= MINUTE_MS ? MINUTE_MS : (least + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS;
    if (step > 15 * MINUTE_MS)
        step = (step + HOUR_MS - 1) / HOUR_MS * HOUR_MS;
    step = closely ? CLOSE_STEP_MS : step;
    const struct store_plot plot = {.series = SERIES_GPU, .since_ms = told->since.ms, .until_ms = told->until.ms, .step_ms = step};
    store_plan(p->s, &plot, &told->step_ms, &told->level);
    return 0;
}

/* ---- the answer ---- */

static void say_most_important(struct buf *out, const struct explained_span *t)
{
    const struct explained_episode *e = &t->episodes[0];
    char since[MOMENT_TEXT_SIZE], until[MOMENT_TEXT_SIZE];
    moment_format_span(e->since, e->until, t->until, since, until);
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

/* ---- the whole span ---- */

struct span_share {
    struct span span;
    size_t from, to; /* GPUs */
};

static int tell_share(struct store *s, void *user, struct error *err)
{
    struct span_share *share = user;
    struct span *p = &share->span;
    int rc = 0;
    p->s = s;
    for (size_t i = share->from; rc == 0 && i < share->to; i++) {
        p->gpu = &p->gpus[i];
        p->points = p->read[i].list;
        p->count = p->read[i].count;
        rc = tell_gpu(p, err);
    }
    return rc;
}

/* Two connections handle half of the GPUs each. */
static int tell_all(struct span *p, struct error *err)
{
    size_t middle = p->gpu_count > 1 && parallel_query_is_faster(p->s) ? p->gpu_count / 2 : p->gpu_count;
    AUTO_FREE struct span_share *shares = calloc(2, sizeof *shares);
    AUTO_FREE struct explained_episode *episodes = calloc(EXPLAIN_EPISODES_MAX, sizeof *episodes);
    if (!shares || !episodes)
        return error_set(err, -ENOMEM, "out of memory");
    struct explained_span *told = p->told, rest = *told;
    rest.episodes = episodes;
    shares[0] = (struct span_share){*p, 0, middle};
    shares[1] = (struct span_share){*p, middle, p->gpu_count};
    shares[1].span.told = &rest;
    int rc = parallel_query_both(p->s, tell_share, &shares[0], tell_share, &shares[1], err);
    for (size_t i = 0; i < rest.episode_count; i++)
        span_keep(told, &rest.episodes[i]);
    told->gpu_count += rest.gpu_count;
    told->left_out += rest.left_out;
    return rc;
}

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
    int rc = store_gpus(s, host, explain_span_note_gpu, p, err);
    if (rc == 0)
        rc = plan(p, err);
    if (rc == 0)
        rc = parallel_query_both(s, span_read_points, p, span_read_workers, p, err); /* courses, and busiest processes */
    if (rc == 0)
        rc = tell_all(p, err);
    if (rc == 0)
        rc = span_add_findings(p, err);
    if (rc == 0)
        rc = gaps_within(s, host, ret, err);
    if (rc == 0)
        rc = past_changes_within(s, host, gpu_id, since, until, &ret->changes, err);
    for (size_t i = 0; i < p->gpu_count; i++)
        free(p->read[i].list);
    free(p->workers);
    if (rc < 0) {
        explained_span_done(ret);
        return rc;
    }
    qsort(ret->episodes, ret->episode_count, sizeof *ret->episodes, by_weight);
    for (size_t i = 0; i < ret->episode_count; i++)
        episode_write_sentence(&ret->episodes[i]);
    say_span(ret);
    return 0;
}

void explained_span_done(struct explained_span *t)
{
    free(t->episodes);
    t->episodes = NULL;
    t->episode_count = 0;
}
