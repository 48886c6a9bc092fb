/* SPDX-License-Identifier: Apache-2.0
 * A simulated machine with a clock of its own that makes snapshots for the store, and a folder for its files.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "source/sim/sim.h"
#include "store/store.h"
#include "test.h"

struct sim_history {
    struct clock_manual clock;
    struct env env;
    struct source *source;
    struct gpu_id ids[GPU_MAX];
    size_t count;
    int64_t interval_ms;
};

/* 2026-03-01T00:00:00Z, a full hour. */
#define HISTORY_BEGIN ((struct wall){1772323200000})

static inline void sim_history_open(struct sim_history *h, const char *params)
{
    *h = (struct sim_history){.interval_ms = 5000};
    clock_manual_init(&h->clock, HISTORY_BEGIN);
    env_init_system(&h->env);
    h->env.clock = &h->clock.clock;
    struct error err;
    assert_int_equal(sim_source.open(&h->env, params, &h->source, &err), 0);
    int count = sim_source.list(h->source, h->ids, GPU_MAX);
    assert_true(count > 0);
    h->count = (size_t)count;
}

static inline void sim_history_close(struct sim_history *h)
{
    sim_source.close(h->source);
}

/* Everything the machine shows now; the clock goes on by one interval. */
static inline struct snapshot *sim_history_next(struct sim_history *h)
{
    struct snapshot *s = snapshot_new(h->count);
    assert_non_null(s);
    s->taken_at = clock_wall(h->env.clock);
    s->taken = clock_mono(h->env.clock);
    s->interval_s = (double)h->interval_ms / MS_PER_S;
    s->groups = GROUP_ALL;
    snprintf(s->host.name, sizeof s->host.name, "box");
    s->host.cpu_permille = reading_ok(123);
    s->host.mem_available_bytes = reading_ok(8LL << 30);
    struct error err;
    if (sim_source.refresh)
        sim_source.refresh(h->source, GROUP_ALL, &err);
    for (size_t i = 0; i < h->count; i++) {
        sim_source.sample(h->source, i, GROUP_ALL, &s->gpus[i]);
        s->gpus[i].id = h->ids[i];
        s->gpus[i].index = (int)i;
    }
    clock_manual_advance_ms(&h->clock, h->interval_ms);
    return s;
}

static char store_folder[64];
static struct env test_env;

static inline void make_store_folder(void)
{
    env_init_system(&test_env);
    /* In memory where possible: thousands of commits, each of which waits for a disk. */
    snprintf(store_folder, sizeof store_folder, "%s/whirr-store-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(store_folder));
}

static inline void remove_store_folder(void)
{
    DIR *dir = opendir(store_folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", store_folder, e->d_name);
        unlink(path);
    }
    if (dir)
        closedir(dir);
    rmdir(store_folder);
}

static inline const char *store_url(const char *name)
{
    static char url[128];
    snprintf(url, sizeof url, "sqlite:%s/%s", store_folder, name);
    return url;
}

static inline struct store *open_store(const char *name)
{
    struct store *s = NULL;
    struct error err = {0};
    const struct store_options options = {.env = &test_env, .url = store_url(name), .host = "", .limits = store_default_limits};
    if (store_open(&options, &s, &err) != 0)
        fail_msg("%s", err.text);
    return s;
}

static inline void write_one(struct store *s, const struct snapshot *snapshot)
{
    struct error err = {0};
    if (store_write(s, &snapshot, 1, NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
}

/* One step of cleaning up at a time that was seen to come. */
static inline int clean_step(struct store *s, struct wall now, struct error *err)
{
    return store_clean(s, now, (struct mono){now.ms * NS_PER_MS}, err);
}

static inline void write_samples(struct store *s, struct sim_history *h, int count)
{
    while (count > 0) {
        struct snapshot *batch[40];
        int n = MIN_OF(count, 40);
        for (int i = 0; i < n; i++)
            batch[i] = sim_history_next(h);
        struct error err = {0};
        if (store_write(s, (const struct snapshot *const *)batch, (size_t)n, NULL, 0, &err) < 0)
            fail_msg("%s", err.text);
        for (int i = 0; i < n; i++)
            snapshot_unref(batch[i]);
        count -= n;
    }
}
