/* SPDX-License-Identifier: Apache-2.0
 * Brings a snapshot, what is remembered, and the detectors together.
 */
#include "insight/verdict/judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/area/ranks.h"
#include "insight/facts/facts.h"
#include "insight/verdict/health.h"
#include "insight/verdict/verdict.h"

/* Samples for requests come as often as clients ask: the past needs a point a second at most. */
enum { POINT_MS = 900, XID_RECENT_MS = 600000 };

struct judge {
    struct recent recent;
    int64_t recent_ms;           /* when a point was added last */
    const struct snapshot *last; /* the one before: its processes that are gone have ended */
    struct health_history *health;
    struct health *last_health; /* of the last snapshot; NULL before the first */
    struct limit_memory *limits;
    struct forecast_memory *forecast;
    struct forecast *last_forecast;
    struct baselines *usual; /* NULL: nothing is known */
    struct finding_settings settings;
    bool log_unread; /* the kernel log, where there is one to read */
    struct finding_presence *presence;
};

struct judge *judge_new(void)
{
    struct judge *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->health = health_history_new();
    j->forecast = forecast_memory_new();
    j->limits = limit_memory_new();
    j->presence = presence_new();
    if (j->health && j->forecast && j->limits && j->presence)
        return j;
    judge_free(j);
    return NULL;
}

void judge_free(struct judge *j)
{
    if (!j)
        return;
    recent_done(&j->recent);
    snapshot_unref(j->last);
    health_free(j->last_health);
    health_history_free(j->health);
    limit_memory_free(j->limits);
    presence_free(j->presence);
    forecast_free(j->last_forecast);
    forecast_memory_free(j->forecast);
    free(j->usual);
    free(j);
}

static void remember(struct judge *j, const struct snapshot *s)
{
    if (s->taken_at.ms - j->recent_ms < POINT_MS && s->taken_at.ms >= j->recent_ms)
        return;
    recent_add_points(&j->recent, j->last, s);
    j->recent_ms = s->taken_at.ms;
}

struct health_history *judge_health(struct judge *j)
{
    return j->health;
}

void judge_set_usual(struct judge *j, const struct baselines *usual)
{
    free(TAKE(j->usual));
    if (!usual)
        return;
    j->usual = calloc(1, sizeof *j->usual);
    if (j->usual) /* the GPUs that are known; there is room for many more */
        memcpy(j->usual, usual, offsetof(struct baselines, list) + usual->count * sizeof usual->list[0]);
}

void judge_set_settings(struct judge *j, const struct finding_settings *settings)
{
    j->settings = *settings;
}

void judge_set_log_unread(struct judge *j, bool unread)
{
    j->log_unread = unread;
}

/* 0 is only said of a GPU whose driver has such errors. */
static struct reading recent_xid(const struct health_verdict *v, const struct gpu *gpu, struct wall now)
{
    int64_t code = 0, newest = now.ms - XID_RECENT_MS;
    for (size_t i = 0; i < v->xid_count; i++)
        if (v->xids[i].last_at.ms >= newest) {
            newest = v->xids[i].last_at.ms;
            code = v->xids[i].code;
        }
    return code || gpu->xid_last.state != READING_UNSUPPORTED ? reading_ok(code) : gpu->xid_last;
}

/* The numbers behind the findings. */
static void note_numbers(const struct judge *j, const struct snapshot *s, struct verdict *v)
{
    const struct health *health = j->last_health;
    const struct forecast *forecast = j->last_forecast;
    for (size_t i = 0; i < v->gpu_count; i++) {
        struct gpu_looked *l = &v->gpus[i];
        if (health && i < health->count) {
            const struct health_verdict *card = &health->verdicts[i];
            l->xid = recent_xid(card, &s->gpus[i], s->taken_at);
            if (card->state >= HEALTH_HEALTHY)
                l->health_level = reading_ok(card->state - HEALTH_HEALTHY);
        }
        for (size_t k = 0; forecast && k < forecast->count; k++)
            if (forecast->gpus[k].gpu_index == l->gpu_index) {
                l->vram_full_seconds = forecast_seconds(&forecast->gpus[k].vram.when);
                l->throttle_seconds = forecast_seconds(&forecast->gpus[k].heat.when);
            }
    }
    for (size_t i = 0; health && i < health->count; i++)
        v->missing_count += health->verdicts[i].state == HEALTH_LOST;
}

/* Without memory the one before stays. */
static void judge_ahead(struct judge *j, const struct snapshot *s)
{
    forecast_see(j->forecast, s);
    struct forecast *forecast = forecast_make(j->forecast, s);
    if (forecast) {
        forecast_free(j->last_forecast);
        j->last_forecast = forecast;
    }
}

static void judge_health_of(struct judge *j, const struct snapshot *s)
{
    struct health *health = health_view(j->health, s);
    if (!health)
        return;
    health_free(j->last_health);
    j->last_health = health;
}

void judge_take(struct judge *j, struct snapshot *s)
{
    recent_begin(&j->recent, s);
    recent_follow(&j->recent, j->last, s);
    activity_fill(s, &j->recent);
    limit_memory_judge(j->limits, s);
    AUTO_JOB_WAITS struct job_waits waits = {0};
    if (job_waits_find(&waits, s) == 0)
        job_waits_mark(&waits, s);
    j->health->usual = j->usual;
    judge_ahead(j, s);
    const struct judge_basis basis = {.past = &j->recent,
                                      .usual = j->usual,
                                      .cards = j->health,
                                      .forecast = j->last_forecast,
                                      .waits = &waits,
                                      .presence = j->presence,
                                      .log_unread = j->log_unread};
    s->verdict = verdict_make(s, &basis, NULL);
    if (s->verdict) {
        verdict_apply(s->verdict, &j->settings);
        judge_health_of(j, s);
        note_numbers(j, s, s->verdict);
    }
    remember(j, s);
    snapshot_unref(j->last);
    j->last = snapshot_ref(s);
}

const struct recent *judge_recent(const struct judge *j)
{
    return &j->recent;
}

const struct baselines *judge_usual(const struct judge *j)
{
    return j->usual;
}

struct health *judge_copy_health(const struct judge *j)
{
    return j->last_health ? health_copy(j->last_health) : NULL;
}

struct forecast *judge_copy_forecast(const struct judge *j)
{
    return j->last_forecast ? forecast_copy(j->last_forecast) : NULL;
}

struct forecast_memory *judge_forecast(struct judge *j)
{
    return j->forecast;
}
