/* SPDX-License-Identifier: Apache-2.0
 * Plays courses: a simulated machine under a clock of our own, or a recording. At every sample all methods see the same.
 */
#include <stdlib.h>
#include <time.h>

#include "backtest.h"
#include "base/cleanup.h"
#include "sim_truth.h"
#include "source/replay/reader.h"

enum { SAMPLES_MAX = 32768, GPUS_PLAYED = 4 };

struct player {
    struct forecast_memory *memory;
    size_t gpus, sample_count;
    struct sample *samples[KINDS][GPUS_PLAYED];
    struct course *courses[KINDS][GPUS_PLAYED];
    double next_origin, origin_s;
};

static int player_start(struct player *p, const char *name, size_t gpus, double origin_s)
{
    *p = (struct player){.memory = forecast_memory_new(), .gpus = gpus < GPUS_PLAYED ? gpus : GPUS_PLAYED, .origin_s = origin_s};
    for (int k = 0; k < KINDS; k++)
        for (size_t g = 0; g < p->gpus; g++) {
            p->samples[k][g] = calloc(SAMPLES_MAX, sizeof(struct sample));
            p->courses[k][g] = calloc(1, sizeof(struct course));
            if (!p->samples[k][g] || !p->courses[k][g])
                return -1;
            p->courses[k][g]->name = name;
            p->courses[k][g]->kind = (enum kind)k;
        }
    return p->memory ? 0 : -1;
}

static void player_end(struct player *p)
{
    for (int k = 0; k < KINDS; k++)
        for (size_t g = 0; g < p->gpus; g++) {
            free(p->samples[k][g]);
            free(p->courses[k][g]);
        }
    forecast_memory_free(p->memory);
}

static struct sample vram_sample(const struct gpu *g, double t)
{
    int64_t used, room_free;
    struct sample s = {t, NAN, NAN};
    if (reading_get(g->mem_used_bytes, &used) && reading_get(g->mem_free_bytes, &room_free)) {
        s.value = (double)used;
        s.limit = FORECAST_FULL_SHARE * (double)(used + room_free);
    }
    return s;
}

static struct sample heat_sample(const struct gpu *g, double t)
{
    int64_t now, limit;
    struct sample s = {t, NAN, NAN};
    if (reading_get(g->temp_mdegc, &now) && reading_get(g->temp_limit_mdegc, &limit)) {
        s.value = (double)now / 1000;
        s.limit = (double)limit / 1000;
    }
    return s;
}

static struct cost spent;

struct cost cost_so_far(void)
{
    return spent;
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void see(struct player *p, const struct snapshot *s, double t)
{
    if (p->sample_count == SAMPLES_MAX)
        return;
    double began = cpu_s();
    forecast_see(p->memory, s);
    spent.see_s += cpu_s() - began;
    spent.seen += s->gpu_count;
    for (size_t g = 0; g < p->gpus && g < s->gpu_count; g++) {
        p->samples[KIND_VRAM][g][p->sample_count] = vram_sample(&s->gpus[g], t);
        p->samples[KIND_HEAT][g][p->sample_count] = heat_sample(&s->gpus[g], t);
    }
    p->sample_count++;
    if (t < p->next_origin)
        return;
    p->next_origin = t + p->origin_s;
    began = cpu_s();
    struct forecast *f = forecast_make(p->memory, s);
    spent.make_s += cpu_s() - began;
    spent.made += s->gpu_count;
    for (size_t g = 0; f && g < p->gpus && g < s->gpu_count; g++)
        for (int k = 0; k < KINDS; k++) {
            struct course *c = p->courses[k][g];
            if (c->origin_count == ORIGINS_MAX)
                continue;
            const struct sample *seen = p->samples[k][g];
            const struct sample *last = &seen[p->sample_count - 1];
            struct origin *o = &c->origins[c->origin_count++];
            o->t = t;
            o->blind = isnan(last->value) || isnan(last->limit);
            o->guess[METHOD_WHIRR] = guess_whirr(k == KIND_VRAM ? &f->gpus[g].vram.when : &f->gpus[g].heat.when);
            o->guess[METHOD_LINE] = guess_line(seen, p->sample_count);
            o->guess[METHOD_PERSISTENCE] = guess_persistence(seen, p->sample_count);
            if (getenv("BACKTEST_TRACE"))
                fprintf(stderr, "%s gpu %zu %s t=%.0f value=%.4g limit=%.4g: %s %.0f [%.0f %.0f] line %.0f: %s\n", c->name, g,
                        k == KIND_VRAM ? "vram" : "heat", t, last->value, last->limit,
                        forecast_verdict_name(k == KIND_VRAM ? f->gpus[g].vram.when.verdict : f->gpus[g].heat.when.verdict),
                        o->guess[0].likely, o->guess[0].early, o->guess[0].late, o->guess[1].likely,
                        k == KIND_VRAM ? f->gpus[g].vram.when.reason : f->gpus[g].heat.when.reason);
        }
    forecast_free(f);
}

static void finish(struct player *p, double length_s, course_fn *done, void *user)
{
    for (int k = 0; k < KINDS; k++)
        for (size_t g = 0; g < p->gpus; g++) {
            p->courses[k][g]->length_s = length_s;
            done(user, p->courses[k][g]);
        }
}

/* Around the limit it comes and goes: within so many seconds that is one event. */
#define SAME_EVENT_S 180.0

static void join_events(struct course *c)
{
    size_t kept = 0;
    double last = -HUGE_VAL;
    for (size_t i = 0, e = 0; i < c->origin_count; i++) {
        struct origin *o = &c->origins[i];
        for (; e < c->event_count && c->events[e] <= o->t; e++) {
            if (c->events[e] - last > SAME_EVENT_S)
                c->events[kept++] = c->events[e];
            last = c->events[e];
        }
        if (o->there)
            last = o->t;
    }
    c->event_count = kept;
    /* Nothing to foresee between two of the same. */
    last = -HUGE_VAL;
    for (size_t i = c->origin_count; i-- > 0;) {
        struct origin *o = &c->origins[i];
        if (o->there)
            last = o->t;
        else if (last - o->t <= SAME_EVENT_S && last > 0) {
            bool before = false;
            for (size_t e = 0; e < c->event_count; e++)
                before |= c->events[e] > o->t && c->events[e] <= last;
            o->there = !before;
        }
    }
}

/* The answer key: when each event begins, and which moments lie within one. */
static void add_truth(struct source *source, struct wall from, double length_s, struct course *c, size_t gpu)
{
    int (*truth)(struct source *, size_t, struct wall, double, double *) =
        c->kind == KIND_VRAM ? sim_truth_vram_full : sim_truth_throttle;
    double known_until = -1, event = HUGE_VAL;
    for (size_t i = 0; i < c->origin_count; i++) {
        struct origin *o = &c->origins[i];
        if (o->t > known_until) {
            double ahead;
            struct wall at = {from.ms + (int64_t)(o->t * 1000)};
            if (truth(source, gpu, at, 3600, &ahead) == 0) {
                event = o->t + ahead;
                known_until = event;
                o->there = ahead <= 0;
                if (ahead > 0 && event <= length_s && c->event_count < EVENTS_PER_COURSE)
                    c->events[c->event_count++] = event;
            } else {
                known_until = o->t + 3600;
            }
        }
    }
}

int play_sim(const char *name, const char *params, double length_s, double interval_s, course_fn *done, void *user)
{
    struct clock_manual clock;
    clock_manual_init(&clock, (struct wall){1800000000000});
    struct env env = {.sysroot = "", .clock = &clock.clock};
    struct wall began = clock_wall(&clock.clock);
    struct source *source;
    struct error err = {0};
    if (sim_source.open(&env, params, &source, &err) < 0) {
        fprintf(stderr, "%s: %s\n", params, err.text);
        return -1;
    }
    static struct gpu_id ids[GPU_MAX];
    int count = sim_source.list(source, ids, GPU_MAX);
    struct player p;
    int r = player_start(&p, name, (size_t)count, 15);
    for (double t = 0; r == 0 && t < length_s; t += interval_s) {
        struct snapshot *s = snapshot_new((size_t)count);
        if (!s)
            break;
        s->taken = clock_mono(&clock.clock);
        s->taken_at = clock_wall(&clock.clock);
        sim_source.refresh(source, GROUP_ALL, &err);
        for (int i = 0; i < count; i++) {
            sim_source.sample(source, (size_t)i, GROUP_ALL, &s->gpus[i]);
            s->gpus[i].index = i;
            s->gpus[i].id = ids[i];
        }
        see(&p, s, t);
        snapshot_unref(s);
        clock_manual_advance_ms(&clock, (int64_t)(interval_s * 1000));
    }
    if (r == 0) {
        for (int k = 0; k < KINDS; k++)
            for (size_t g = 0; g < p.gpus; g++) {
                add_truth(source, began, length_s, p.courses[k][g], g);
                join_events(p.courses[k][g]);
            }
        finish(&p, length_s, done, user);
    }
    player_end(&p);
    sim_source.close(source);
    return r;
}

/* In a recording the truth is what it shows later. */
static void add_seen_truth(struct course *c, const struct sample *samples, size_t count)
{
    bool before = false;
    for (size_t i = 0, next = 0; i < count; i++) {
        bool there = !isnan(samples[i].value) && samples[i].value >= samples[i].limit;
        if (there && !before && i && c->event_count < EVENTS_PER_COURSE)
            c->events[c->event_count++] = samples[i].t;
        before = there;
        while (next < c->origin_count && c->origins[next].t <= samples[i].t)
            c->origins[next++].there = there;
    }
}

int play_recording(const char *name, const char *path, course_fn *done, void *user)
{
    struct error err = {0};
    struct replay_reader *reader;
    if (replay_reader_open(path, &reader, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        return -1;
    }
    struct player p = {0};
    const struct snapshot *s;
    struct wall began = {0};
    double t = 0;
    while (replay_reader_next(reader, &s, &err) == 1) {
        if (!p.memory) {
            began = s->taken_at;
            if (player_start(&p, name, s->gpu_count, 1) < 0)
                break;
        }
        t = (double)(s->taken_at.ms - began.ms) / 1000;
        see(&p, s, t);
        snapshot_unref(s);
    }
    for (int k = 0; k < KINDS && p.memory; k++)
        for (size_t g = 0; g < p.gpus; g++) {
            add_seen_truth(p.courses[k][g], p.samples[k][g], p.sample_count);
            join_events(p.courses[k][g]);
        }
    if (p.memory)
        finish(&p, t, done, user);
    player_end(&p);
    replay_reader_close(reader);
    return p.memory ? 0 : -1;
}
