/* SPDX-License-Identifier: Apache-2.0
 * Random histories: hosts with GPUs, users and processes that overlap, with pauses, suspends, restarts and a driver that does not
 * answer. What was written is counted here, sample by sample, in a way of its own, to be compared with what the program says.
 */
#pragma once

#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "store/internal.h"
#include "store/query.h"
#include "test.h"

enum {
    R_GPUS = 3,
    R_USERS = 2,
    R_PROCESSES = 14,
    R_MINUTES = 190, /* with processes; pauses and suspends come on top of that */
    R_IDLE_MINUTES = 130,
    R_MINUTES_MAX = 600,
    R_MAX_MW = 700000,
    R_IDLE_MW = 40000,
    R_BATCH = 24,
};
#define R_BEGIN 1772323200000LL /* 2026-03-01T00:00:00Z, a full hour */

struct random_process {
    int gpu, user;
    int64_t begin_ms, end_ms;
    int64_t mem_bytes, sm_permille; /* sm -1: not known */
    bool start_known;
};

/* What was written of one minute. */
struct minute_count {
    int64_t samples, util_sum, util_count;
    int64_t own[R_PROCESSES]; /* samples with the process */
};

struct random_host {
    const char *name;
    size_t gpus;
    struct random_process processes[R_PROCESSES];
    bool has_counter[R_GPUS];
    double counter_mj[R_GPUS];
    int64_t power_mw[R_GPUS]; /* at the last sample */
    int64_t now_ms, mono_ms, interval_ms, first_ms, last_ms;
    int64_t counted_from_mj[R_GPUS], counted_to_mj[R_GPUS]; /* the counter at the first and the last sample */
    int64_t silent_until_ms;                                /* the driver says nothing */
    struct minute_count minutes[R_GPUS][R_MINUTES_MAX];
};

static uint64_t random_state;

static inline int64_t random_upto(int64_t most)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return most > 0 ? (int64_t)(random_state % (uint64_t)(most + 1)) : 0;
}

static inline int64_t random_from(int64_t least, int64_t most)
{
    return least + random_upto(most - least);
}

static inline void random_seed(uint64_t seed)
{
    random_state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; i++)
        random_upto(1);
}

/* A new one each time, unless WHIRR_TEST_SEED names one: a failure is repeated with it. */
static inline uint64_t choose_seed(void)
{
    const char *given = getenv("WHIRR_TEST_SEED");
    return given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
}

static inline void random_host_init(struct random_host *h, const char *name)
{
    *h = (struct random_host){.name = name, .gpus = (size_t)random_from(1, R_GPUS), .mono_ms = 40LL * 86400 * 1000};
    h->now_ms = R_BEGIN + random_upto(3 * 60000);
    static const int64_t intervals[] = {2000, 5000, 10000, 20000, 60000};
    h->interval_ms = intervals[random_upto((int64_t)ARRAY_LEN(intervals) - 1)];
    for (size_t g = 0; g < h->gpus; g++) {
        h->has_counter[g] = random_upto(2) > 0;
        h->counter_mj[g] = (double)random_upto(1000000000);
        h->power_mw[g] = R_IDLE_MW;
    }
    for (int i = 0; i < R_PROCESSES; i++) {
        int64_t begin = R_BEGIN + random_upto(R_MINUTES * 60000LL);
        h->processes[i] = (struct random_process){
            .gpu = (int)random_upto((int64_t)h->gpus - 1),
            .user = (int)random_upto(R_USERS - 1),
            .begin_ms = begin,
            .end_ms = MIN_OF(begin + random_upto(random_upto(2) ? 5400000 : 90000), R_BEGIN + R_MINUTES * 60000LL),
            .mem_bytes = random_from(1, 8192) << 20,
            .sm_permille = random_upto(4) ? random_upto(120) : -1,
            .start_known = random_upto(1)};
    }
}

static inline void fill_process(struct gpu *gpu, const struct random_host *h, int i, int64_t own_mw)
{
    const struct random_process *from = &h->processes[i];
    struct process *p = gpu_add_process(gpu, 1000 + i);
    assert_non_null(p);
    p->type = PROCESS_COMPUTE;
    p->start_key = 77 + i;
    p->started_at.ms = from->start_known ? from->begin_ms : 0;
    snprintf(p->name, sizeof p->name, "p%d", i);
    snprintf(p->user, sizeof p->user, "user%d", from->user);
    p->mem_bytes = reading_ok(from->mem_bytes);
    p->util_permille = from->sm_permille < 0 ? reading_absent(READING_UNSUPPORTED) : reading_ok(from->sm_permille);
    p->power_mw = reading_ok(own_mw);
}

/* Those who are there share the power above idle by random. */
static inline void fill_gpu(struct gpu *gpu, struct random_host *h, size_t g, struct minute_count *minute)
{
    int64_t power = h->power_mw[g], left = power - R_IDLE_MW, used = 100 << 20, util = 0;
    gpu->index = (int)g;
    snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-%s-%zu", h->name, g);
    snprintf(gpu->id.name, sizeof gpu->id.name, "Card");
    gpu->processes_state = READING_OK;
    minute->samples++;
    for (int i = 0; i < R_PROCESSES; i++) {
        const struct random_process *p = &h->processes[i];
        if (p->gpu != (int)g || h->now_ms < p->begin_ms || h->now_ms >= p->end_ms)
            continue;
        int64_t own = random_upto(left);
        left -= own;
        used += p->mem_bytes;
        util += MAX_OF(p->sm_permille, (int64_t)0);
        fill_process(gpu, h, i, own);
        minute->own[i]++;
    }
    util = MIN_OF(util + random_upto(10), (int64_t)1000);
    gpu->mem_used_bytes = reading_ok(used);
    gpu->mem_total_bytes = reading_ok(160LL << 30);
    gpu->util_permille = reading_ok(util);
    gpu->power_limit_max_mw = reading_ok(R_MAX_MW);
    minute->util_sum += util;
    minute->util_count++;
    if (h->now_ms < h->silent_until_ms)
        return;
    gpu->power_mw = reading_ok(power);
    if (h->has_counter[g])
        gpu->energy_mj = reading_ok((int64_t)h->counter_mj[g]);
}

static inline struct snapshot *random_sample(struct random_host *h)
{
    struct snapshot *s = snapshot_new(h->gpus);
    assert_non_null(s);
    s->taken_at.ms = h->now_ms;
    s->taken.ns = h->mono_ms * NS_PER_MS;
    s->interval_s = (double)h->interval_ms / MS_PER_S;
    s->groups = GROUP_ALL;
    snprintf(s->host.name, sizeof s->host.name, "%s", h->name);
    s->host.cpu_permille = reading_ok(100);
    for (size_t g = 0; g < h->gpus; g++) {
        fill_gpu(&s->gpus[g], h, g, &h->minutes[g][(h->now_ms - R_BEGIN) / 60000]);
        if (!h->first_ms)
            h->counted_from_mj[g] = (int64_t)h->counter_mj[g];
        h->counted_to_mj[g] = (int64_t)h->counter_mj[g];
    }
    h->first_ms = h->first_ms ? h->first_ms : h->now_ms;
    h->last_ms = h->now_ms;
    return s;
}

/* Time goes on, and every GPU draws some power meanwhile: evenly more or less from one sample to the next, or anything in a time
 * in which it is not looked at. */
static inline void pass_time(struct random_host *h, int64_t wall_ms, int64_t mono_ms, bool watched)
{
    for (size_t g = 0; g < h->gpus; g++) {
        int64_t before = h->power_mw[g], after = random_upto(3) ? before : random_from(R_IDLE_MW, R_MAX_MW);
        double mean = watched ? ((double)before + (double)after) / 2 : (double)random_from(R_IDLE_MW, R_MAX_MW);
        h->counter_mj[g] += mean * (double)(watched ? mono_ms : wall_ms) / MS_PER_S;
        h->power_mw[g] = after;
    }
    h->now_ms += wall_ms;
    h->mono_ms += mono_ms;
}

/* Something that is not the next sample. True: the program is started anew. */
static inline bool random_trouble(struct random_host *h)
{
    int64_t ms = random_from(70, 400) * 1000;
    switch (random_upto(600)) {
    case 0: /* stopped and continued */
    case 1: pass_time(h, ms, ms, false); return false;
    case 2: /* suspended: the clock of the boot stands still */ pass_time(h, ms * 4, h->interval_ms, false); return false;
    case 3: /* stopped and started again */
    case 4: pass_time(h, ms, ms, false); return true;
    case 5: return true;
    case 6: h->silent_until_ms = h->now_ms + ms; return false;
    default: return false;
    }
}

static inline struct store *random_store(const struct env *env, const char *url)
{
    struct store *s = NULL;
    struct error err = {0};
    const struct store_options options = {.env = env, .url = url, .host = "", .limits = store_default_limits};
    if (store_open(&options, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static inline void write_batch(struct store *s, const struct snapshot *batch[], size_t *count)
{
    struct error err = {0};
    if (*count && store_write(s, batch, *count, NULL, 0, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < *count; i++)
        snapshot_unref(batch[i]);
    *count = 0;
}

/* The whole of it, and a while without processes, so that every hour is over. */
static inline void random_history_write(struct random_host *h, const struct env *env, const char *url)
{
    struct store *s = random_store(env, url);
    const struct snapshot *batch[R_BATCH];
    size_t count = 0;
    while (h->now_ms < R_BEGIN + (R_MINUTES + R_IDLE_MINUTES) * 60000LL) {
        batch[count++] = random_sample(h);
        bool again = random_trouble(h);
        if (again || count == R_BATCH || !random_upto(9))
            write_batch(s, batch, &count);
        if (again) {
            store_close(s);
            s = random_store(env, url);
        }
        int64_t ms = h->interval_ms + random_upto(h->interval_ms / 5) - h->interval_ms / 10;
        pass_time(h, ms, ms, h->now_ms >= h->silent_until_ms);
    }
    write_batch(s, batch, &count);
    store_close(s);
}
