/* SPDX-License-Identifier: Apache-2.0
 * Snapshots of a simulated machine for tests of what consumes them, without an engine: a clock in the test's hand, a sample when
 * it is asked for.
 */
#pragma once

#include "source/sim/sim.h"

struct sim_machine {
    struct clock_manual clock;
    struct env env;
    struct source *source;
    uint64_t sequence;
};

static inline void sim_machine_start(struct sim_machine *m, const char *params)
{
    struct error err = {0};
    clock_manual_init(&m->clock, (struct wall){1800000000000});
    m->env = (struct env){.sysroot = "", .clock = &m->clock.clock};
    m->sequence = 0;
    if (sim_source.open(&m->env, params, &m->source, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void sim_machine_stop(struct sim_machine *m)
{
    sim_source.close(m->source);
}

static inline struct snapshot *sim_machine_sample(struct sim_machine *m, unsigned groups)
{
    static struct gpu_id ids[GPU_MAX];
    int count = sim_source.list(m->source, ids, GPU_MAX);
    struct snapshot *s = snapshot_new((size_t)count);
    struct error err = {0};
    s->sequence = ++m->sequence;
    s->groups = groups;
    s->taken = clock_mono(m->env.clock);
    s->taken_at = clock_wall(m->env.clock);
    s->interval_s = 1;
    str_copy(s->host.name, sizeof s->host.name, STR("sim-host"));
    int rc = sim_source.refresh(m->source, groups, &err);
    s->sources[0] = (struct source_status){.name = "sim", .state = rc < 0 ? SOURCE_FAILING : SOURCE_OK, .gpu_count = count};
    s->source_count = 1;
    sim_source.driver(m->source, &s->driver);
    s->event_count = sim_source.events(m->source, s->events, EVENTS_MAX);
    for (int i = 0; i < count; i++) {
        sim_source.sample(m->source, (size_t)i, groups, &s->gpus[i]);
        s->gpus[i].index = i;
    }
    return s;
}
