/* SPDX-License-Identifier: Apache-2.0
 * What happened in a span of time: its episodes, the most important first, and periods without data.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/units.h"
#include "base/words.h"
#include "past/parallel_query.h"
#include "past/past_usual.h"
#include "past/span.h"

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

/* ---- sentences ---- */

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
