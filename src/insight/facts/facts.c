/* SPDX-License-Identifier: Apache-2.0
 * What is known about one GPU. An absent reading never becomes a level; it stays unknown.
 */
#include "insight/facts/facts.h"

#include <math.h>

#include "base/cleanup.h"

/* ---- the minutes before: work that ended, how long it has been calm or busy, whether it cools down ---- */

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

static void past_collect(struct facts *f)
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

/* ---- the moment ---- */

static void weigh_heat(struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    f->limit_mdegc = gpu->temp_limit_mdegc.state == READING_OK ? gpu->temp_limit_mdegc : gpu->temp_max_operating_mdegc;
    f->has_margin = reading_get(heat_margin(gpu), &f->margin_mdegc);
    f->heat = heat_level(gpu);
}

/* How loud it is by its readings; whether it rests, is missing or failing is judged in insight/facts/levels.h. */
static void weigh_fan(struct facts *f)
{
    int64_t speed = 0;
    bool share = reading_get(f->gpu->fan_permille, &speed);
    f->fan_judged = fan_judge(f->gpu);
    f->fan_stuck = f->fan_judged.state == FAN_STATE_STOPPED && share && speed >= 200;
    f->fan_slow = f->fan_judged.state == FAN_STATE_SLOW;
    f->fan = fan_level(f->gpu);
    f->fan_missed = f->fan_judged.state == FAN_STATE_OFF_HOT || f->fan_judged.state == FAN_STATE_STOPPED;
}

static void weigh_power(struct facts *f)
{
    f->power = power_level(f->gpu);
    f->at_power_limit = reading_or(power_share_permille(f->gpu), 0) >= POWER_CAP_PERMILLE;
}

static enum load_level level_of(const struct facts *f, bool video_only)
{
    switch (f->activity.code) {
    case ACTIVITY_IDLE: return LOAD_IDLE;
    case ACTIVITY_KEPT_FROM_IDLING: return f->load_permille <= IDLE_MAX ? LOAD_IDLE : LOAD_LIGHT;
    case ACTIVITY_LIGHTLY_LOADED:
        /* Rules about work count from a fifth on; the word for it stays. */
        return video_only ? LOAD_IDLE : reading_or(f->activity.load_permille, 0) > LIGHT_MAX ? LOAD_BUSY : LOAD_LIGHT;
    case ACTIVITY_BUSY:
    case ACTIVITY_SATURATED: return LOAD_BUSY;
    case ACTIVITY_FAILING: break;
    default: return LOAD_UNKNOWN;
    }
    return f->load_permille <= IDLE_MAX ? LOAD_IDLE : f->load_permille <= LIGHT_MAX ? LOAD_LIGHT : LOAD_BUSY;
}

/* As activity judges it; the number is the reading, or the mean where the work comes in bursts. */
static void weigh_load(struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    bool direct;
    struct reading load = load_permille(gpu, &direct);
    if (reading_get(f->activity.bursts ? f->activity.load_permille : load, &f->load_permille))
        f->load_basis = direct ? BASIS_UTIL : BASIS_PROCESSES;
    int64_t encoder = reading_or(gpu->encoder_permille, 0), decoder = reading_or(gpu->decoder_permille, 0);
    f->video_permille = MAX_OF(encoder, decoder);
    f->encodes = encoder >= decoder;
    bool video_only = f->video_permille >= VIDEO_LEAST && !f->activity.bursts && f->load_permille <= IDLE_MAX;
    if (f->load_basis != BASIS_NONE) {
        f->load = level_of(f, video_only);
    } else if ((f->power == POWER_LOW && !f->divided) || f->power == POWER_WORK) {
        /* Little power of a divided card says little: one small instance at work hides in it. */
        f->load_basis = BASIS_POWER;
        f->load = f->power == POWER_LOW ? LOAD_IDLE : LOAD_BUSY;
    }
}

static void weigh_cpu(struct facts *f)
{
    const struct host *host = &f->now->host;
    int64_t temp, load = reading_or(host->cpu_permille, 0);
    bool works = load >= 300;
    f->cpu_hot =
        cooling_is_shared(f->gpu) && works && (reading_get(host->cpu_temp_mdegc, &temp) ? temp >= CPU_HOT_FROM : load >= 700);
}

static bool bigger(const struct process *p, const struct process *than, bool by_share)
{
    if (!than)
        return true;
    int64_t share = by_share ? reading_or(p->util_permille, 0) : 0, other = by_share ? reading_or(than->util_permille, 0) : 0;
    if (share != other)
        return share > other;
    int64_t mem = reading_or(p->mem_bytes, 0), mem_other = reading_or(than->mem_bytes, 0);
    return mem != mem_other ? mem > mem_other : p->pid < than->pid;
}

static void rank(struct workers *w, const struct process *p, bool by_share)
{
    w->count++;
    if (bigger(p, w->first, by_share)) {
        w->second = w->first;
        w->first = p;
    } else if (bigger(p, w->second, by_share)) {
        w->second = p;
    }
}

static bool computes(const struct process *p)
{
    return p->type != PROCESS_GRAPHICS;
}

/* Among processes whose share is not known, one that computes is suspected before those that only draw. */
static void suspect(struct workers *w, const struct gpu *gpu)
{
    bool only_computing = false;
    for (size_t i = 0; i < gpu->process_count; i++)
        only_computing |= gpu->processes[i].util_permille.state != READING_OK && computes(&gpu->processes[i]);
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (p->util_permille.state != READING_OK && (!only_computing || computes(p)))
            rank(w, p, false);
    }
    w->suspected = w->count > 1;
}

/* From which share on a process takes part in the load: sixteen small servers do the work together, none of them much of it. */
static int64_t share_least(const struct facts *f)
{
    enum { SHARE_OF_MANY = 5 };
    int64_t all = 0, big = 0, share;
    for (size_t i = 0; i < f->gpu->process_count; i++) {
        if (!reading_get(f->gpu->processes[i].util_permille, &share))
            continue;
        all += share;
        big += share >= SHARE_LEAST ? share : 0;
    }
    bool many = f->load_basis == BASIS_UTIL && big * 4 < f->load_permille && all * 2 >= f->load_permille;
    return many ? SHARE_OF_MANY : SHARE_LEAST;
}

static void find_workers(struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    struct workers *w = &f->workers;
    int64_t sum = 0, share, least = share_least(f);
    w->on_card = gpu->process_count;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (reading_get(p->util_permille, &share) && share >= least) {
            sum += share;
            rank(w, p, true);
        }
        if (!w->holder || (computes(p) && !computes(w->holder)) ||
            (computes(p) == computes(w->holder) && bigger(p, w->holder, false)))
            w->holder = p;
    }
    w->shares_known = w->count > 0;
    /* Shares that add up to nearly nothing do not explain a busy GPU: the work is done by a process without a known share. */
    if (f->load_basis == BASIS_UTIL && sum * 4 < f->load_permille) {
        w->first = w->second = NULL;
        w->count = 0;
        w->shares_known = false;
    }
    if (!w->count)
        suspect(w, gpu);
    /* Between two bursts, or while a job pauses for a moment, no process has a share: those that compute and may have had one. */
    bool pauses = f->load == LOAD_BUSY && f->load_basis == BASIS_UTIL && f->load_permille <= AWAKE_MAX && !gpu->processes_hidden;
    if (!w->count && w->holder && (f->activity.bursts || pauses)) {
        for (size_t i = 0; i < gpu->process_count; i++)
            if ((computes(&gpu->processes[i]) || !computes(w->holder)) &&
                activity_may_have_worked(f->now, gpu, &gpu->processes[i], f->recent))
                rank(w, &gpu->processes[i], false);
        w->suspected = w->count > 1;
    }
}

static void find_loading(struct facts *f)
{
    for (size_t i = 0; i < f->gpu->process_count && f->load != LOAD_BUSY; i++)
        if (activity_of_process(f->now, f->gpu, &f->gpu->processes[i], f->recent) == PROCESS_LOADING &&
            bigger(&f->gpu->processes[i], f->loading, false))
            f->loading = &f->gpu->processes[i];
}

static void find_neighbor(struct facts *f)
{
    int64_t temp, theirs, hottest;
    if (!reading_get(f->gpu->temp_mdegc, &temp))
        return;
    hottest = temp;
    for (size_t i = 0; i < f->now->gpu_count; i++) {
        const struct gpu *other = &f->now->gpus[i];
        if (other == f->gpu || other->state != GPU_OK || !reading_get(other->temp_mdegc, &theirs) || theirs <= hottest)
            continue;
        if (reading_or(other->util_permille, 0) > LIGHT_MAX || reading_or(other->power_mw, 0) > 2 * POWER_RAISED_MW) {
            f->neighbor = other;
            hottest = theirs;
        }
    }
}

void facts_collect(struct facts *f, const struct snapshot *now, const struct gpu *gpu, const struct recent *recent)
{
    *f = (struct facts){.now = now, .gpu = gpu, .recent = recent};
    f->activity = activity_judge(now, gpu, recent);
    f->divided = reading_or(gpu->mig_enabled, 0) != 0 || gpu->instance_count > 0;
    weigh_heat(f);
    weigh_fan(f);
    weigh_power(f);
    weigh_load(f);
    weigh_cpu(f);
    f->clocks_high = clocks_are_high(gpu, &f->clocks_by_state);
    find_workers(f);
    find_loading(f);
    find_neighbor(f);
    past_collect(f);
}
