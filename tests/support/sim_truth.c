/* SPDX-License-Identifier: Apache-2.0
 * The answer key: what the simulator did, for tests that score answers.
 */
#include "sim_truth.h"

#include <errno.h>

#include "base/cleanup.h"
#include "source/sim/body.h"

static int sim_truth_find(struct source *source, size_t gpu, struct wall at, struct sim **ret, double *ret_t)
{
    if (!source || source->ops != &sim_source)
        return -EINVAL;
    struct sim *s = (struct sim *)source;
    if (gpu >= (size_t)s->world.gpus)
        return -EINVAL;
    double t = s->world.start_s + (double)(at.ms - s->origin.ms) / MS_PER_S * s->world.speed;
    if (t < 0)
        return -ERANGE;
    *ret = s;
    *ret_t = t;
    return 0;
}

static unsigned troubles(const struct sim_world *w, int gpu, double t, const struct body_view *v)
{
    static const struct {
        enum sim_trouble_kind kind;
        unsigned bit;
    } pairs[] = {
        {TROUBLE_AIRFLOW, SIM_BAD_AIRFLOW}, {TROUBLE_FAN_STOPPED, SIM_FAN_STOPPED},
        {TROUBLE_ROOM, SIM_WARM_ROOM},      {TROUBLE_POWER_LIMIT, SIM_POWER_LIMITED},
        {TROUBLE_LOST, SIM_LOST},           {TROUBLE_ASLEEP, SIM_ASLEEP},
    };
    unsigned bits = 0;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        if (sim_has_trouble(w, pairs[i].kind, gpu, t, NULL, NULL))
            bits |= pairs[i].bit;
    if (v->throttle & THROTTLE_HOT)
        bits |= SIM_SLOWED_BY_HEAT;
    if (v->throttle & THROTTLE_POWER_CAP)
        bits |= SIM_SLOWED_BY_POWER;
    for (size_t i = 0; i < v->share_count; i++)
        if (w->scenario->jobs[v->shares[i].job].leak_share_per_min > 0)
            bits |= SIM_VRAM_LEAK;
    return bits;
}

static void find_cause(const struct sim_world *w, int gpu, const struct body_view *v, struct sim_truth *ret)
{
    double most = 0.005, held = 0;
    ret->cause = "idle";
    for (size_t i = 0; i < v->share_count; i++) {
        const struct sim_share *s = &v->shares[i];
        const struct sim_job *j = &w->scenario->jobs[s->job];
        int32_t pid = sim_job_pid(w, s->job, gpu, s->life.turn);
        /* The video engines are a load, too: a transcoder may leave the multiprocessors nearly idle. */
        double weight = s->load.util + 0.5 * (s->load.encode + s->load.decode);
        if (weight > most) {
            most = weight;
            ret->cause = j->cause;
            ret->pid = pid;
            ret->cause_util = s->load.util;
            str_copy(ret->name, sizeof ret->name, str_from(j->program->name));
            str_copy(ret->user, sizeof ret->user, str_from(j->program->user));
        }
        if ((j->pattern == LOAD_HELD || j->pattern == LOAD_PARKED) && s->load.vram > held) {
            held = s->load.vram;
            ret->holder = j->cause;
            ret->holder_pid = pid;
        }
    }
}

static void find_ended(const struct sim_world *w, int gpu, double t, struct sim_truth *ret)
{
    ret->ended_ago_s = 600;
    for (size_t job = 0; job < w->scenario->job_count; job++) {
        struct sim_life life;
        if (!sim_job_ended(w, job, gpu, t, &life) || t - life.ends > ret->ended_ago_s)
            continue;
        ret->ended = w->scenario->jobs[job].cause;
        ret->ended_pid = sim_job_pid(w, job, gpu, life.turn);
        ret->ended_ago_s = t - life.ends;
    }
}

int sim_truth(struct source *source, size_t gpu, struct wall at, struct sim_truth *ret)
{
    struct sim *s;
    double t;
    int r = sim_truth_find(source, gpu, at, &s, &t);
    if (r < 0)
        return r;
    int g = (int)gpu;
    struct body body = s->bodies[g]; /* a copy: asking must not change the simulation */
    struct body_view v;
    body_at(&body, &s->world, g, t, &v);
    *ret = (struct sim_truth){.at_s = t,
                              .util = v.load.util,
                              .temp_c = v.die_c,
                              .final_temp_c = v.final_c,
                              .vram_used = v.load.vram,
                              .vram_total = s->world.card[g]->vram * 1048576.0};
    find_cause(&s->world, g, &v, ret);
    find_ended(&s->world, g, t, ret);
    ret->trouble = troubles(&s->world, g, t, &v);
    return 0;
}

/* Advances from `at` second by second until `done`. */
static int walk(struct source *source, size_t gpu, struct wall at, double horizon_s,
                bool (*done)(const struct sim_card *, const struct body_view *), double *ret_s)
{
    struct sim *s;
    double t;
    int r = sim_truth_find(source, gpu, at, &s, &t);
    if (r < 0)
        return r;
    struct body body = s->bodies[gpu];
    for (double ahead = 0; ahead <= horizon_s; ahead++) {
        struct body_view v;
        body_at(&body, &s->world, (int)gpu, t + ahead, &v);
        if (done(s->world.card[gpu], &v)) {
            *ret_s = ahead;
            return 0;
        }
    }
    return -ENOENT;
}

static bool is_full(const struct sim_card *c, const struct body_view *v)
{
    return v->load.vram >= (c->vram - c->reserved) * 1048576.0 * 0.995;
}

static bool is_hot(const struct sim_card *c, const struct body_view *v)
{
    (void)c;
    return v->throttle & THROTTLE_HOT;
}

int sim_truth_vram_full(struct source *s, size_t gpu, struct wall at, double horizon_s, double *ret_s)
{
    return walk(s, gpu, at, horizon_s, is_full, ret_s);
}

int sim_truth_throttle(struct source *s, size_t gpu, struct wall at, double horizon_s, double *ret_s)
{
    return walk(s, gpu, at, horizon_s, is_hot, ret_s);
}
