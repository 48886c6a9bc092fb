/* SPDX-License-Identifier: Apache-2.0
 * The past minutes of one GPU. Heat outlives the work: exp(-t / COOLING_MS) of it is left after t.
 */
#include "insight/facts/facts.h"

#include <math.h>

#include "base/cleanup.h"

static double heat_left(int64_t ago_ms)
{
    return exp(-(double)ago_ms / COOLING_MS);
}

static void find_ended(struct facts *f)
{
    struct past_work *past = &f->past;
    double most = 0;
    for (size_t i = 0; i < MIN_OF(f->recent->ended_count, (size_t)RECENT_ENDED); i++) {
        const struct recent_process *p = &f->recent->ended[i];
        int64_t ago = f->now->taken_at.ms - p->last_seen.ms, share;
        if (p->gpu_index != f->gpu->index || p->last_seen.ms <= 0 || ago < 0 || ago > PAST_USEFUL_MS)
            continue;
        /* A share that is not known may have been anything. */
        double did = !reading_get(p->mean_util_permille, &share) ? 0.5 : share < SHARE_LEAST ? 0 : fmin(1, (double)share / 500);
        if (did * heat_left(ago) <= most)
            continue;
        most = did * heat_left(ago);
        past->ended = p;
        past->ended_ago_ms = ago;
        past->ended_left = most;
    }
}

struct calm_walk {
    bool busy, calm_broken, steady_broken;
    int64_t reach_ms; /* how far back the points go */
    int64_t busy_ago_ms, busy_permille;
    int64_t calm_ms, steady_ms;
};

/* From now into the past: how long it has been calm, how long steady, and when it was busy last. */
static void walk_back(const struct recent_gpu *points, int64_t now_ms, struct calm_walk *w)
{
    for (size_t i = MIN_OF(points->count, (size_t)RECENT_POINTS); i-- > 0;) {
        const struct recent_point *p = &points->points[i];
        int64_t ago = now_ms - p->at.ms, util;
        if (ago < 0 || p->at.ms <= 0)
            continue;
        if (!reading_get(p->util_permille, &util))
            return;
        w->reach_ms = ago;
        if (util > LIGHT_MAX && !w->busy) {
            w->busy = true;
            w->busy_ago_ms = ago;
            w->busy_permille = util;
        }
        w->calm_broken |= util > IDLE_MAX;
        w->steady_broken |= util < STEADY_LEAST;
        if (!w->calm_broken)
            w->calm_ms = ago;
        if (!w->steady_broken)
            w->steady_ms = ago;
    }
}

static void find_falls(struct facts *f, const struct recent_gpu *points)
{
    struct past_work *past = &f->past;
    int64_t value, now;
    for (size_t i = 0; i < MIN_OF(points->count, (size_t)RECENT_POINTS); i++) {
        const struct recent_point *p = &points->points[i];
        int64_t ago = f->now->taken_at.ms - p->at.ms;
        if (ago <= 0 || ago > PAST_USEFUL_MS)
            continue;
        if (reading_get(p->temp_mdegc, &value))
            past->peak_temp_mdegc = MAX_OF(past->peak_temp_mdegc, value);
        if (reading_get(p->fan_permille, &value))
            past->peak_fan_permille = MAX_OF(past->peak_fan_permille, value);
    }
    past->temp_falls = reading_get(f->gpu->temp_mdegc, &now) && now + 3000 <= past->peak_temp_mdegc;
    past->fan_falls = reading_get(f->gpu->fan_permille, &now) && now + 30 <= past->peak_fan_permille;
}

void past_collect(struct facts *f)
{
    if (!f->recent || f->now->taken_at.ms <= 0)
        return;
    find_ended(f);
    const struct recent_gpu *points = activity_past(f->now, f->gpu, f->recent);
    if (!points || !points->count)
        return;
    struct past_work *past = &f->past;
    struct calm_walk w = {0};
    walk_back(points, f->now->taken_at.ms, &w);
    /* A past of seconds rules nothing out. */
    past->known = w.reach_ms >= CALM_LEAST_MS || w.busy;
    past->calm_ms = w.calm_ms;
    past->steady_ms = w.steady_ms;
    if (w.busy && w.busy_ago_ms > 0 && w.busy_ago_ms <= PAST_USEFUL_MS && f->load != LOAD_BUSY && !f->activity.bursts) {
        past->fell = true;
        past->fell_ago_ms = w.busy_ago_ms;
        past->fell_from_permille = w.busy_permille;
        past->fell_left = heat_left(w.busy_ago_ms);
    }
    find_falls(f, points);
}
