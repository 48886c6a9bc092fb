/* SPDX-License-Identifier: Apache-2.0
 * The simulated host as a source. Everything is a function of its parameters and the clock of its env.
 */
#include "source/sim/sim.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "source/sim/body.h"

static int sim_check(const char *params, struct error *err)
{
    struct sim_world world;
    return sim_world_parse(params, &world, err);
}

/* The error of a driver that can't be opened; NULL: it can. */
static const char *refusal(enum sim_trouble_kind kind)
{
    switch (kind) {
    case TROUBLE_MISMATCH: return "Driver/library version mismatch";
    case TROUBLE_NO_DRIVER: return "Driver Not Loaded";
    case TROUBLE_NO_PERMISSION: return "Insufficient Permissions";
    default: return NULL;
    }
}

static int sim_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    struct sim_world world;
    int r = sim_world_parse(params ? params : "", &world, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < world.fault_count; i++)
        if (refusal(world.faults[i].kind))
            return error_set(err, -ENODEV, "%s", refusal(world.faults[i].kind));
    struct sim *s = calloc(1, sizeof *s + (size_t)world.gpus * sizeof s->bodies[0]);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->base.ops = &sim_source;
    s->env = env;
    s->world = world;
    s->opened = clock_mono(env->clock);
    s->origin = clock_wall(env->clock);
    s->told_until = -1; /* events at the very start are news, too */
    str_copy(s->params, sizeof s->params, str_from(params ? params : ""));
    for (int i = 0; i < world.gpus + world.npus; i++) {
        if (i < world.gpus)
            body_init(&s->bodies[i], &s->world, i);
        if (!sim_has_trouble(&s->world, TROUBLE_ABSENT, i, s->world.start_s, NULL, NULL))
            s->listed[s->listed_count++] = i;
    }
    *ret = &s->base;
    return 0;
}

/* scenario seconds */
static double sim_now(const struct sim *s)
{
    double passed = (double)(clock_mono(s->env->clock).ns - s->opened.ns) / NS_PER_S;
    return s->world.start_s + MAX_OF(passed, 0.0) * s->world.speed;
}

static int sim_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct sim *s = (struct sim *)source;
    size_t count = MIN_OF(s->listed_count, max);
    for (size_t i = 0; i < count; i++) {
        ids[i] = (struct gpu_id){0};
        fill_id(&s->world, s->listed[i], &ids[i]);
    }
    return (int)count;
}

static void sleep_s(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    nanosleep(&t, NULL);
}

/* Looks for changed settings. A body that has passed such a moment begins again: what is read never depends on when it is read. */
static void look_at_settings(struct sim *s)
{
    enum { TICK_MS = 50 }; /* of the file system's clock */
    int64_t mark = sim_settings_mark(), now_ms = clock_wall(s->env->clock).ms;
    if (!mark || (mark == s->settings_mark && s->settings_read_ms > mark / NS_PER_MS + TICK_MS))
        return;
    if (!s->settings && !(s->settings = calloc((size_t)s->world.gpus, sizeof *s->settings)))
        return;
    for (int i = 0; i < s->world.gpus; i++) {
        struct gpu_id id = {0};
        struct sim_settings *all = &s->settings[i], before = *all;
        fill_id(&s->world, i, &id);
        sim_settings_read(&id, all);
        for (size_t k = 0; k < all->count; k++) {
            struct sim_change *c = &all->list[k];
            c->t = s->world.start_s + (double)(c->at_ms - s->origin.ms) / MS_PER_S * s->world.speed;
            bool known = k < before.count && before.list[k].at_ms == c->at_ms;
            if (!known && c->t < (double)s->bodies[i].second)
                s->bodies[i].second = INT64_MAX;
        }
    }
    s->world.settings = s->settings;
    s->settings_mark = mark;
    s->settings_read_ms = now_ms;
}

/* A driver that hangs: it really blocks until the fault ends by the clock. */
static void hang(const struct sim *s, int gpu)
{
    while (sim_has_trouble(&s->world, TROUBLE_HANG, gpu, sim_now(s), NULL, NULL))
        sleep_s(0.02);
}

/* A fault requested without a GPU concerns the source. */
static bool source_trouble(const struct sim *s, enum sim_trouble_kind kind, double t)
{
    for (size_t i = 0; i < sim_condition_count(&s->world); i++) {
        const struct sim_condition *c = sim_condition(&s->world, i);
        struct sim_life life;
        if (c->kind == kind && c->where.every == 0 && sim_condition_life(c, 0, t, &life))
            return true;
    }
    return false;
}

static int sim_refresh(struct source *source, unsigned groups, struct error *err)
{
    (void)groups;
    struct sim *s = (struct sim *)source;
    look_at_settings(s);
    if (source_trouble(s, TROUBLE_HANG, sim_now(s)))
        hang(s, 0);
    if (source_trouble(s, TROUBLE_ERROR, sim_now(s)))
        return error_set(err, -EIO, "simulated failure of the driver");
    return 0;
}

/* Missing privileges: hides the process list and profiling counters. */
static void deny(struct gpu *g)
{
    static const enum metric denied[] = {METRIC_graphics_active_permille, METRIC_sm_active_permille,
                                         METRIC_sm_occupancy_permille,    METRIC_tensor_active_permille,
                                         METRIC_dram_active_permille,     METRIC_fp64_active_permille,
                                         METRIC_fp32_active_permille,     METRIC_fp16_active_permille,
                                         METRIC_integer_active_permille,  METRIC_energy_mj};
    for (size_t i = 0; i < ARRAY_LEN(denied); i++)
        if (g->metric[denied[i]].state == READING_OK)
            g->metric[denied[i]] = reading_absent(READING_DENIED);
    if (g->processes_state != READING_OK)
        return;
    g->processes_state = READING_DENIED;
    g->processes_hidden = g->process_count;
    gpu_cut_processes(g, 0);
}

static void sim_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct sim *s = (struct sim *)source;
    double value;
    if (gpu >= s->listed_count)
        return;
    int i = s->listed[gpu];
    fill_id(&s->world, i, &out->id);
    str_copy(out->source, sizeof out->source, str_from("sim"));
    out->simulated = true;
    hang(s, i);
    double t = sim_now(s);
    if (sim_has_trouble(&s->world, TROUBLE_SLOW, i, t, &value, NULL))
        sleep_s(MIN_OF(value, 10.0));
    if (sim_has_trouble(&s->world, TROUBLE_LOST, i, t, NULL, NULL) ||
        sim_has_trouble(&s->world, TROUBLE_ABSENT, i, t, NULL, NULL)) {
        gpu_mark_state(out, GPU_LOST, "GPU is lost");
        return;
    }
    if (sim_has_trouble(&s->world, TROUBLE_ERROR, i, t, NULL, NULL)) {
        gpu_mark_state(out, GPU_ERROR, "Unknown Error");
        return;
    }
    if (sim_has_trouble(&s->world, TROUBLE_ASLEEP, i, t, NULL, NULL)) {
        gpu_mark_state(out, GPU_ASLEEP, NULL);
        return;
    }
    if (i >= s->world.gpus) { /* an NPU that rests */
        out->util_permille = reading_ok(0);
        return;
    }
    struct fill f = {.world = &s->world, .gpu = i, .t = t, .energy_start_j = body_energy_start(&s->world, i), .origin = s->origin};
    body_at(&s->bodies[i], &s->world, i, t, &f.view);
    fill_gpu(&f, groups, out);
    if (sim_has_trouble(&s->world, TROUBLE_DENIED, i, t, NULL, NULL))
        deny(out);
}

static void sim_driver(struct source *source, struct driver_info *out)
{
    struct sim *s = (struct sim *)source;
    if (strcmp(s->world.card[0]->vendor, "nvidia") != 0)
        return;
    str_copy(out->driver_version, sizeof out->driver_version, STR(SIM_DRIVER_VERSION));
    str_copy(out->cuda_version, sizeof out->cuda_version, STR("13.0"));
    str_copy(out->nvml_version, sizeof out->nvml_version, STR("13." SIM_DRIVER_VERSION));
}

/* XIDs and memory errors that started in (after, until]. */
static size_t sim_events(struct source *source, struct event *events, size_t max)
{
    struct sim *s = (struct sim *)source;
    double after = s->told_until, until = sim_now(s);
    size_t count = 0;
    s->told_until = until;
    for (size_t i = 0; i < sim_condition_count(&s->world); i++) {
        struct sim_condition c = *sim_condition(&s->world, i);
        if (c.kind != TROUBLE_XID && c.kind != TROUBLE_ECC)
            continue;
        c.when.to = 0;
        for (size_t at = 0; at < s->listed_count && count < max; at++) {
            struct sim_life life;
            int gpu = s->listed[at];
            if (!sim_condition_life(&c, gpu, until, &life) || life.began <= after || life.began < s->world.start_s)
                continue;
            struct event *e = &events[count++];
            *e = (struct event){.kind = c.kind == TROUBLE_XID ? EVENT_DRIVER_FAULT : EVENT_ECC,
                                .gpu_index = (int)at,
                                .code = (int64_t)c.value,
                                .at = fill_wall(s->origin, &s->world, life.began)};
            str_copy(e->text, sizeof e->text,
                     c.kind == TROUBLE_XID ? STR("simulated critical error") : STR("simulated uncorrectable memory error"));
        }
    }
    return count;
}

static void sim_describe(struct source *source, struct buf *out)
{
    struct sim *s = (struct sim *)source;
    const struct sim_world *w = &s->world;
    for (int i = 0; i < w->gpus; i++)
        hang(s, i);
    buf_printf(out, "simulated machine: %d GPUs, scenario '%s' (%s)\n", w->gpus, w->scenario->name, w->scenario->what);
    buf_printf(out, "seed %llu, speed %g, entered at %g s, now at %.1f s\n", (unsigned long long)w->seed, w->speed, w->start_s,
               sim_now(s));
    if (w->fault_count)
        buf_printf(out, "%zu faults asked for\n", w->fault_count);
}

static void sim_close(struct source *source)
{
    if (source)
        free(((struct sim *)source)->settings);
    free(source);
}

const struct source_ops sim_source = {
    .name = "sim",
    .what = "a simulated machine, to try whirr without a GPU",
    .simulated = true,
    .check = sim_check,
    .open = sim_open,
    .list = sim_list,
    .refresh = sim_refresh,
    .sample = sim_sample,
    .driver = sim_driver,
    .events = sim_events,
    .control = &sim_control,
    .describe = sim_describe,
    .close = sim_close,
};
