/* SPDX-License-Identifier: Apache-2.0
 * Keeps the recent past: thins its points so that RECENT_POINTS always cover at least ten minutes.
 */
#include "model/recent.h"

#include <stdlib.h>
#include <string.h>

void recent_done(struct recent *r)
{
    free(r->gpus);
    *r = (struct recent){0};
}

static bool recent_make_room(struct recent *r, size_t gpu_count)
{
    if (gpu_count <= r->gpu_count)
        return true;
    struct recent_gpu *more = realloc(r->gpus, gpu_count * sizeof *more);
    if (!more)
        return false;
    memset(more + r->gpu_count, 0, (gpu_count - r->gpu_count) * sizeof *more);
    r->gpus = more;
    r->gpu_count = gpu_count;
    return true;
}

/* Points from the driver's own buffer, for a GPU not watched before. */
static void add_before(struct recent_gpu *past, const struct gpu *gpu)
{
    size_t first = gpu->before_count > RECENT_POINTS / 2 ? gpu->before_count - RECENT_POINTS / 2 : 0;
    past->id = gpu->id;
    for (size_t i = first; i < gpu->before_count; i++)
        past->points[past->count++] = (struct recent_point){
            .at = gpu->before[i].at, .util_permille = gpu->before[i].util_permille, .power_mw = gpu->before[i].power_mw};
}

static void add_point(struct recent_gpu *past, const struct gpu *gpu, struct wall at)
{
    if (past->count == RECENT_POINTS) {
        /* Keep every second point of the older half, and all of the newer half. */
        size_t quarter = RECENT_POINTS / 4;
        for (size_t i = 0; i < quarter; i++)
            past->points[i] = past->points[2 * i];
        memmove(past->points + quarter, past->points + 2 * quarter, 2 * quarter * sizeof past->points[0]);
        past->count = 3 * quarter;
    }
    past->id = gpu->id;
    past->points[past->count++] = (struct recent_point){
        .at = at,
        .util_permille = gpu->util_permille,
        .power_mw = gpu->power_mw,
        .temp_mdegc = gpu->temp_mdegc,
        .fan_permille = gpu->fan_permille,
        .mem_used_bytes = gpu->mem_used_bytes,
        .clock_graphics_khz = gpu->clock_graphics_khz,
        .activity = gpu->activity.code,
    };
}

const struct recent_share *recent_share_of(const struct recent_gpu *past, const struct process *p)
{
    for (size_t i = 0; past && i < past->share_count; i++)
        if (past->shares[i].pid == p->pid && past->shares[i].start_key == p->start_key)
            return &past->shares[i];
    return NULL;
}

/* An unknown share may be anything. */
static bool may_work(const struct process *p)
{
    int64_t share;
    return !reading_get(p->util_permille, &share) || share >= RECENT_WORK_LEAST;
}

static void add_ended(struct recent *r, const struct gpu *gpu, const struct process *p, const struct snapshot *previous,
                      const struct snapshot *now)
{
    const struct recent_share *share = recent_share_of(&r->gpus[gpu - previous->gpus], p);
    if (r->ended_count == RECENT_ENDED) {
        memmove(r->ended, r->ended + 1, (RECENT_ENDED - 1) * sizeof r->ended[0]);
        r->ended_count--;
    }
    r->ended[r->ended_count++] = (struct recent_process){
        .gpu_index = gpu->index,
        .last = *p,
        .first_seen = p->started_at,
        .last_seen = previous->taken_at,
        .missed_at = now->taken_at,
        .worked_at = share         ? share->worked_at
                     : may_work(p) ? previous->taken_at
                                   : (struct wall){0},
        .mean_util_permille = share && share->samples ? reading_ok(share->sum_permille / share->samples) : p->util_permille,
    };
}

static bool is_still_there(const struct gpu *gpu, int32_t pid, int64_t start_key)
{
    const struct process *p = gpu_find_process(gpu, pid);
    return p && p->start_key == start_key;
}

static struct recent_share *begin_share(struct recent_gpu *past, const struct process *p, struct wall at)
{
    if (past->share_count == RECENT_SHARES)
        return NULL;
    struct recent_share *share = &past->shares[past->share_count++];
    /* A process that appeared while we watched started from zero. */
    struct recent_mark mark = {.at = at, .mem_bytes = past->watched ? 0 : reading_or(p->mem_bytes, 0)};
    *share = (struct recent_share){.pid = p->pid, .start_key = p->start_key, .first_seen = at, .older = mark, .newer = mark};
    return share;
}

/* ---- model servers ---- */

static void follow_counter(struct reading *last, struct reading now, int64_t *sum, bool *known)
{
    int64_t before, count;
    if (!reading_get(now, &count))
        return;
    if (reading_get(*last, &before)) {
        *sum += count >= before ? count - before : count; /* lower: the counter restarted */
        *known = true;
    }
    *last = now;
}

static void follow_serving(struct recent_share *share, const struct process *p, struct wall at)
{
    int64_t passed_ms = share->followed.ms ? at.ms - share->followed.ms : 0, value;
    struct recent_serving *s = &share->current;
    if (share->generated.state == READING_OK && p->generated_tokens.state != READING_OK && passed_ms <= RECENT_SERVING_GAP_MS)
        return; /* the next answer includes what it counts meanwhile */
    share->followed = at;
    if (passed_ms < 0 || passed_ms > RECENT_SERVING_GAP_MS) { /* the time in between is unknown */
        share->before = share->current = (struct recent_serving){0};
        share->generated = share->prompt = reading_absent(READING_UNREAD);
        passed_ms = 0;
    }
    follow_counter(&share->generated, p->generated_tokens, &s->generated, &s->counted);
    follow_counter(&share->prompt, p->prompt_tokens, &s->prompt, &s->prompted);
    s->ms += passed_ms;
    if (reading_get(p->requests_running, &value) && value > 0) {
        s->busy_ms += passed_ms;
        s->request_ms += passed_ms * value;
    }
    if (reading_get(p->power_mw, &value)) {
        s->energy_uj += passed_ms * value;
        s->powered_ms += passed_ms;
    }
    if (s->ms >= RECENT_SERVING_MS) {
        share->before = *s;
        *s = (struct recent_serving){0};
    }
}

bool recent_serving_of(const struct recent_share *share, struct recent_serving *ret)
{
    const struct recent_serving *a = &share->before, *b = &share->current;
    *ret = (struct recent_serving){a->ms + b->ms,
                                   a->busy_ms + b->busy_ms,
                                   a->request_ms + b->request_ms,
                                   a->generated + b->generated,
                                   a->prompt + b->prompt,
                                   a->energy_uj + b->energy_uj,
                                   a->powered_ms + b->powered_ms,
                                   a->counted,
                                   a->prompted};
    return a->ms > 0;
}

static void follow_process(struct recent_gpu *past, const struct process *p, struct wall at)
{
    struct recent_share *share = (struct recent_share *)recent_share_of(past, p);
    if (!share)
        share = begin_share(past, p, at);
    if (!share)
        return;
    int64_t permille;
    if (reading_get(p->util_permille, &permille)) {
        share->sum_permille += permille;
        share->samples++;
    }
    if (may_work(p))
        share->worked_at = at;
    follow_serving(share, p, at);
    if (at.ms - share->newer.at.ms >= RECENT_GROWTH_MS) {
        share->older = share->newer;
        share->newer = (struct recent_mark){.at = at, .mem_bytes = reading_or(p->mem_bytes, 0)};
    }
}

static void follow_gpu(struct recent_gpu *past, const struct gpu *gpu, struct wall at)
{
    size_t kept = 0;
    for (size_t i = 0; i < past->share_count; i++)
        if (is_still_there(gpu, past->shares[i].pid, past->shares[i].start_key))
            past->shares[kept++] = past->shares[i];
    past->share_count = kept;
    for (size_t i = 0; i < gpu->process_count; i++)
        follow_process(past, &gpu->processes[i], at);
    past->watched = true;
}

void recent_settings_of(const struct gpu *gpu, struct recent_settings *ret)
{
    *ret = (struct recent_settings){.power_limit_mw = gpu->power_limit_mw,
                                    .clock_app_graphics_khz = gpu->clock_app_graphics_khz,
                                    .clock_app_memory_khz = gpu->clock_app_memory_khz,
                                    .clock_graphics_max_khz = gpu->clock_graphics_max_khz,
                                    .persistence_mode = gpu->persistence_mode};
    if (gpu->fan_control.state == READING_OK)
        memcpy(ret->fan_control, gpu->fan_control.value, sizeof ret->fan_control);
}

/* Settings before the suspend; before the first one if several follow quickly. */
static void add_resume(struct recent *r, const struct snapshot *previous, const struct snapshot *now)
{
    for (size_t i = 0; i < previous->gpu_count && i < now->gpu_count; i++) {
        r->gpus[i].resumed_at = now->taken_at;
        if (previous->gpus[i].state == GPU_OK)
            recent_settings_of(&previous->gpus[i], &r->gpus[i].before_suspend);
    }
}

void recent_begin(struct recent *r, const struct snapshot *now)
{
    if (!recent_make_room(r, now->gpu_count))
        return;
    for (size_t i = 0; i < now->gpu_count; i++)
        if (r->gpus[i].count == 0 && now->gpus[i].before_count)
            add_before(&r->gpus[i], &now->gpus[i]);
}

void recent_follow(struct recent *r, const struct snapshot *previous, const struct snapshot *now)
{
    if (!recent_make_room(r, now->gpu_count))
        return;
    for (size_t i = 0; previous && i < previous->gpu_count && i < now->gpu_count; i++) {
        const struct gpu *before = &previous->gpus[i];
        for (size_t p = 0; now->gpus[i].processes_state == READING_OK && p < before->process_count; p++)
            if (!is_still_there(&now->gpus[i], before->processes[p].pid, before->processes[p].start_key))
                add_ended(r, before, &before->processes[p], previous, now);
    }
    for (size_t i = 0; i < now->gpu_count; i++)
        if (now->gpus[i].processes_state == READING_OK)
            follow_gpu(&r->gpus[i], &now->gpus[i], now->taken_at);
}

void recent_add_points(struct recent *r, const struct snapshot *previous, const struct snapshot *now)
{
    if (!recent_make_room(r, now->gpu_count))
        return;
    for (size_t i = 0; i < now->gpu_count; i++)
        if (now->gpus[i].state == GPU_OK)
            add_point(&r->gpus[i], &now->gpus[i], now->taken_at);
    if (previous && now->suspended_ms)
        add_resume(r, previous, now);
}

void recent_add(struct recent *r, const struct snapshot *previous, const struct snapshot *now)
{
    recent_follow(r, previous, now);
    recent_add_points(r, previous, now);
}
