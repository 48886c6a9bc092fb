/* SPDX-License-Identifier: Apache-2.0
 * A simulated machine with a clock of its own that makes snapshots, for programs that store them.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "source/sim/sim.h"

struct box {
    struct clock_manual clock;
    struct env env;
    struct source *source;
    struct gpu_id ids[GPU_MAX];
    struct reading idle_mw[GPU_MAX];
    size_t count;
    double interval_s;
};

static inline void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static inline void box_open(struct box *b, const char *params, struct wall begin, double interval_s)
{
    struct error err;
    clock_manual_init(&b->clock, begin);
    env_init_system(&b->env);
    b->env.clock = &b->clock.clock;
    b->interval_s = interval_s;
    if (sim_source.open(&b->env, params, &b->source, &err) < 0)
        die(err.text);
    b->count = (size_t)sim_source.list(b->source, b->ids, GPU_MAX);
}

static inline struct snapshot *box_sample(struct box *b)
{
    struct error err;
    struct snapshot *s = snapshot_new(b->count);
    if (!s)
        die("out of memory");
    s->taken_at = clock_wall(b->env.clock);
    s->taken = clock_mono(b->env.clock);
    s->interval_s = b->interval_s;
    s->groups = GROUP_ALL;
    snprintf(s->host.name, sizeof s->host.name, "box");
    if (sim_source.refresh)
        sim_source.refresh(b->source, GROUP_ALL, &err);
    for (size_t i = 0; i < b->count; i++) {
        sim_source.sample(b->source, i, GROUP_ALL, &s->gpus[i]);
        s->gpus[i].id = b->ids[i];
        s->gpus[i].index = (int)i;
        attribute_power(&s->gpus[i], &b->idle_mw[i]);
    }
    return s;
}
