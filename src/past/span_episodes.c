/* SPDX-License-Identifier: Apache-2.0
 * Explains a GPU's episodes in a span of time, each at its most telling moment, and what ended it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/facts/levels.h"
#include "insight/view/why.h"
#include "model/finding_code.h"
#include "past/past_usual.h"
#include "past/span.h"

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

void span_use_numbers(struct explained_episode *e)
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
int span_explain_episodes(struct span *p, const struct episode_group *groups, struct explained_episode *ret, size_t count,
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
