/* SPDX-License-Identifier: Apache-2.0
 * Makes the history of a simulated machine in seconds, with a clock of its own, for tests of what is told about the past:
 *
 *   make_history URL MINUTES [PARAMETERS [INTERVAL_S [SKIP_FROM SKIP_TO]]]
 *
 * The history ends now. Between the minutes SKIP_FROM and SKIP_TO nothing is stored, as if the daemon had not run.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "engine/attribution.h"
#include "source/sim/sim.h"
#include "store/store.h"

enum { BATCH = 64 };

static void die(const char *what)
{
    fprintf(stderr, "make_history: %s\n", what);
    exit(1);
}

struct maker {
    struct clock_manual clock;
    struct env env;
    struct source *source;
    struct gpu_id ids[GPU_MAX];
    size_t count;
    struct store *store;
    double interval_s;
    const struct snapshot *batch[BATCH];
    size_t batched;
};

static const struct snapshot *sample(struct maker *m)
{
    struct error err;
    struct snapshot *s = snapshot_new(m->count);
    if (!s)
        die("out of memory");
    s->taken_at = clock_wall(m->env.clock);
    s->taken = clock_mono(m->env.clock);
    s->interval_s = m->interval_s;
    s->groups = GROUP_ALL;
    snprintf(s->host.name, sizeof s->host.name, "box");
    if (sim_source.refresh)
        sim_source.refresh(m->source, GROUP_ALL, &err);
    for (size_t i = 0; i < m->count; i++) {
        sim_source.sample(m->source, i, GROUP_ALL, &s->gpus[i]);
        s->gpus[i].id = m->ids[i];
        s->gpus[i].index = (int)i;
        attribute_power(&s->gpus[i]);
    }
    return s;
}

static void flush(struct maker *m)
{
    struct error err;
    if (m->batched && store_write(m->store, m->batch, m->batched, NULL, 0, &err) < 0)
        die(err.text);
    for (size_t i = 0; i < m->batched; i++)
        snapshot_unref((struct snapshot *)m->batch[i]);
    m->batched = 0;
}

static void tell_start(struct maker *m)
{
    struct error err;
    const struct store_event start = {
        .at = clock_wall(m->env.clock), .gpu_index = -1, .kind = "daemon", .severity = "info", .text = "whirr started"};
    flush(m);
    if (store_write(m->store, NULL, 0, &start, 1, &err) < 0)
        die(err.text);
}

static void open_all(struct maker *m, const char *url, const char *params, int64_t minutes)
{
    struct error err;
    clock_manual_init(&m->clock, (struct wall){clock_wall(&clock_system).ms - minutes * 60000});
    env_init_system(&m->env);
    m->env.clock = &m->clock.clock;
    if (sim_source.open(&m->env, params, &m->source, &err) < 0)
        die(err.text);
    m->count = (size_t)sim_source.list(m->source, m->ids, GPU_MAX);
    const struct store_options options = {.env = &m->env, .url = url, .host = "box", .limits = store_default_limits};
    if (store_open(&options, &m->store, &err) < 0)
        die(err.text);
}

int main(int argc, char **argv)
{
    static struct maker m;
    if (argc < 3)
        die("make_history URL MINUTES [PARAMETERS [INTERVAL_S [SKIP_FROM SKIP_TO]]]");
    int64_t minutes = strtoll(argv[2], NULL, 10), skip_from = -1, skip_to = -1;
    m.interval_s = argc > 4 ? strtod(argv[4], NULL) : 5;
    if (minutes <= 0 || m.interval_s <= 0)
        die("minutes and interval must be above 0");
    if (argc > 6) {
        skip_from = strtoll(argv[5], NULL, 10) * 60000;
        skip_to = strtoll(argv[6], NULL, 10) * 60000;
    }
    open_all(&m, argv[1], argc > 3 ? argv[3] : "", minutes);
    int64_t interval_ms = (int64_t)(m.interval_s * 1000);
    bool runs = false;
    for (int64_t t = 0; t < minutes * 60000; t += interval_ms, clock_manual_advance_ms(&m.clock, interval_ms)) {
        bool skipped = t >= skip_from && t < skip_to;
        if (!skipped && !runs)
            tell_start(&m);
        runs = !skipped;
        if (runs)
            m.batch[m.batched++] = sample(&m);
        if (m.batched == BATCH)
            flush(&m);
    }
    flush(&m);
    store_close(m.store);
    sim_source.close(m.source);
    return 0;
}
