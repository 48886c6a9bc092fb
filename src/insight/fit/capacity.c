/* SPDX-License-Identifier: Apache-2.0
 * Available capacity from the driver's numbers.
 */
#include "insight/fit/capacity.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "insight/facts/levels.h"
#include "insight/facts/words.h"
#include "insight/verdict/health.h"
#include "model/finding.h"

struct capacity *capacity_alloc(size_t gpu_count)
{
    struct capacity *c = calloc(1, sizeof *c + gpu_count * sizeof c->gpus[0]);
    if (c)
        c->gpu_count = gpu_count;
    return c;
}

const char *capacity_gpu_words(const struct capacity_gpu *gpu, char out[CAPACITY_WORDS])
{
    if (gpu->instance < 0)
        snprintf(out, CAPACITY_WORDS, "GPU %d%s", gpu->index, gpu->shared ? " (host memory)" : "");
    else
        snprintf(out, CAPACITY_WORDS, "instance %d of GPU %d", gpu->instance, gpu->index);
    return out;
}

/* Workers are known by processes, and those by card: what is held in one instance cannot be told from the others. */
static struct reading reclaimable(const struct capacity *c, const struct capacity_gpu *gpu)
{
    if (!c->guard_known)
        return reading_absent(READING_UNREAD);
    int64_t bytes = 0;
    for (size_t i = 0; gpu->instance < 0 && i < c->hold_count; i++)
        if (c->holds[i].gpu_index == gpu->index && c->holds[i].evictable)
            bytes += c->holds[i].bytes;
    return reading_ok(bytes);
}

static void forbid(struct capacity_gpu *gpu, const char *why)
{
    gpu->usable = false;
    snprintf(gpu->problem, sizeof gpu->problem, "%s", why);
}

/* By identity: a GPU that is gone keeps its verdict, and another may have its index by now. */
static const struct health_verdict *verdict_on(const struct health *health, const struct capacity_gpu *card)
{
    for (size_t i = 0; health && i < health->count; i++)
        if (gpu_same(&health->verdicts[i].id, &card->id))
            return &health->verdicts[i];
    return NULL;
}

void capacity_exclude(struct capacity *c, const struct health *health)
{
    const struct health_verdict *v = NULL;
    for (size_t i = 0; i < c->gpu_count; i++) {
        struct capacity_gpu *gpu = &c->gpus[i];
        if (gpu->instance < 0)
            v = verdict_on(health, gpu);
        if (!v || v->state < HEALTH_FAILING)
            continue;
        char why[CAPACITY_WORDS + HEALTH_TEXT_SIZE];
        snprintf(why, sizeof why, "it is %s: %s", health_state_name(v->state), v->reason);
        forbid(gpu, why);
    }
}

static void judge(struct capacity_gpu *out, const struct gpu *gpu)
{
    out->usable = gpu->state == GPU_OK || gpu->state == GPU_ASLEEP;
    enum gpu_failure failure = gpu_failure(gpu);
    if (!out->usable)
        snprintf(out->problem, sizeof out->problem, "%s", gpu->error_message[0] ? gpu->error_message : gpu_state_name(gpu->state));
    else if (failure != FAILURE_NONE || reading_or(gpu->recovery_action, 0) != 0)
        forbid(out, failure == FAILURE_MEMORY   ? "its memory is failing"
                    : failure == FAILURE_REBOOT ? "the driver asks for a reboot of the host"
                    : failure == FAILURE_RESET  ? "it must be reset"
                                                : "work must be drained from it");
    else if (out->free_bytes.state == READING_ASLEEP)
        snprintf(out->problem, sizeof out->problem, "it is asleep, and asking for its memory would wake it");
    else if (out->free_bytes.state != READING_OK)
        snprintf(out->problem, sizeof out->problem, "free memory unknown: %s", words_absent(out->free_bytes.state));
}

/* What is wrong with the whole card is wrong with each of its instances. */
static void judge_card(struct capacity_gpu *instance, const struct gpu *card)
{
    struct capacity_gpu whole = {.free_bytes = instance->free_bytes};
    judge(&whole, card);
    if (!whole.usable)
        forbid(instance, whole.problem);
}

static void capacity_fill(struct capacity *c, struct capacity_gpu *out, const struct gpu *card, const struct gpu *gpu, int instance,
                          const struct capacity_settings *settings)
{
    *out = (struct capacity_gpu){
        .index = card->index,
        .instance = instance,
        .id = gpu->id,
        .simulated = card->simulated,
        .total_bytes = gpu->mem_total_bytes,
        .free_bytes = gpu->mem_free_bytes,
        .reserve_bytes = settings->reserve_bytes,
        .util_permille = gpu->util_permille,
    };
    if (!out->id.vendor[0])
        str_copy(out->id.vendor, sizeof out->id.vendor, str_from(card->id.vendor));
    int64_t free_bytes;
    out->available_bytes = reading_get(out->free_bytes, &free_bytes) ? reading_ok(MAX_OF(free_bytes - out->reserve_bytes, 0))
                                                                     : reading_absent(out->free_bytes.state);
    out->reclaimable_bytes = reclaimable(c, out);
    judge(out, gpu);
    if (instance >= 0 && out->usable)
        judge_card(out, card);
}

/* Compute instances of one GPU instance see the same memory: it is offered once, by the first of them. */
static void share_memory(struct capacity_gpu *out, const struct gpu *card, size_t instance)
{
    int64_t mine, other;
    if (!reading_get(card->instances[instance].gpu_instance_id, &mine))
        return;
    for (size_t k = 0; k < instance; k++) {
        if (!reading_get(card->instances[k].gpu_instance_id, &other) || other != mine)
            continue;
        out->usable = false;
        snprintf(out->problem, sizeof out->problem, "it shares the memory of instance %zu", k);
        return;
    }
}

/* What the judge found forbids it for the whole card and each of its instances. */
static void obey_verdict(struct capacity_gpu *out, const struct verdict *v)
{
    const struct finding *f = verdict_forbids(v, out->index);
    if (!f || !out->usable)
        return;
    char who[32]; /* where it is shown, the GPU stands before it */
    snprintf(who, sizeof who, "GPU %d: ", out->index);
    struct str text = str_from(f->headline);
    forbid(out, text.at + (str_starts(text, who) ? strlen(who) : 0));
}

struct capacity *capacity_new(const struct snapshot *s, const struct capacity_settings *settings, const struct capacity_hold *holds,
                              size_t hold_count)
{
    size_t count = s->gpu_count;
    for (size_t i = 0; i < s->gpu_count; i++)
        count += s->gpus[i].instance_count;
    struct capacity *c = capacity_alloc(count);
    if (!c)
        return NULL;
    c->guard_known = holds != NULL;
    c->hold_count = holds ? MIN_OF(hold_count, (size_t)CAPACITY_HOLDS_MAX) : 0;
    for (size_t i = 0; i < c->hold_count; i++)
        c->holds[i] = holds[i];
    size_t at = 0;
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *card = &s->gpus[i];
        struct capacity_gpu *whole_card = &c->gpus[at++];
        capacity_fill(c, whole_card, card, card, -1, settings);
        obey_verdict(whole_card, s->verdict);
        whole_card->shared = gpu_shares_memory(card);
        whole_card->only_if_named = !snapshot_counts_memory(s, card);
        bool divided = card->instance_count || reading_or(card->mig_enabled, 0);
        if (divided && whole_card->usable) {
            whole_card->usable = false;
            snprintf(whole_card->problem, sizeof whole_card->problem, "it is divided into instances (MIG)");
        }
        for (size_t k = 0; k < card->instance_count; k++, at++) {
            capacity_fill(c, &c->gpus[at], card, &card->instances[k], (int)k, settings);
            obey_verdict(&c->gpus[at], s->verdict);
            share_memory(&c->gpus[at], card, k);
        }
    }
    return c;
}

/* ---- the course of free memory ---- */

enum { HOUR_MINUTES = 60, POINT_MINUTES = COURSE_MINUTES / COURSE_POINTS_MAX };

struct trend_minute {
    int64_t number; /* since 1970; 0: nothing is known */
    int64_t least_bytes;
};

struct course {
    struct gpu_id gpu;
    struct trend_minute minutes[COURSE_MINUTES]; /* minute n lies at n modulo the size */
};

struct capacity_courses {
    size_t count;
    struct course *courses[GPU_MAX];
};

struct capacity_courses *courses_new(void)
{
    return calloc(1, sizeof(struct capacity_courses));
}

void courses_forget(struct capacity_courses *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->courses[i]);
    c->count = 0;
}

void courses_free(struct capacity_courses *c)
{
    if (c)
        courses_forget(c);
    free(c);
}

static struct course *capacity_trend_find(const struct capacity_courses *c, const struct gpu_id *gpu)
{
    for (size_t i = 0; i < c->count; i++)
        if (gpu_same(&c->courses[i]->gpu, gpu))
            return c->courses[i];
    return NULL;
}

bool courses_add(struct capacity_courses *c, const struct gpu_id *gpu, struct wall at, int64_t free_bytes)
{
    struct course *course = capacity_trend_find(c, gpu);
    if (!course && c->count < GPU_MAX && (course = calloc(1, sizeof *course))) {
        course->gpu = *gpu;
        c->courses[c->count++] = course;
    }
    if (!course || at.ms < MINUTE_MS)
        return course != NULL;
    int64_t number = at.ms / MINUTE_MS;
    struct trend_minute *m = &course->minutes[number % COURSE_MINUTES];
    if (m->number == number)
        m->least_bytes = MIN_OF(m->least_bytes, free_bytes);
    else if (m->number < number) /* a minute of yesterday gives way; one that came too late does not push a later one out */
        *m = (struct trend_minute){number, free_bytes};
    return true;
}

void courses_add_snapshot(struct capacity_courses *c, const struct snapshot *s)
{
    for (size_t i = 0; i < s->gpu_count; i++) {
        int64_t free_bytes;
        if (reading_get(s->gpus[i].mem_free_bytes, &free_bytes))
            courses_add(c, &s->gpus[i].id, s->taken_at, free_bytes);
    }
}

/* Over the last so many minutes, this one included; *known: how many of them have a sample. */
static struct reading least(const struct course *course, int64_t now, int64_t minutes, int64_t *known)
{
    struct reading result = reading_absent(READING_UNREAD);
    *known = 0;
    for (size_t i = 0; i < COURSE_MINUTES; i++) {
        const struct trend_minute *m = &course->minutes[i];
        if (m->number <= now - minutes || m->number > now)
            continue;
        if (result.state != READING_OK || m->least_bytes < result.value)
            result = reading_ok(m->least_bytes);
        (*known)++;
    }
    return result;
}

void courses_fill(const struct capacity_courses *c, struct wall now, struct capacity *capacity)
{
    for (size_t i = 0; i < capacity->gpu_count; i++) {
        struct capacity_gpu *gpu = &capacity->gpus[i];
        const struct course *course = gpu->instance < 0 ? capacity_trend_find(c, &gpu->id) : NULL;
        int64_t known;
        if (!course)
            continue;
        gpu->least_hour_bytes = least(course, now.ms / MINUTE_MS, HOUR_MINUTES, &known);
        gpu->least_day_bytes = least(course, now.ms / MINUTE_MS, COURSE_MINUTES, &known);
        gpu->watched_ms = known * MINUTE_MS;
    }
}

size_t courses_points(const struct capacity_courses *c, const struct gpu_id *gpu, struct wall now,
                      struct course_point points[COURSE_POINTS_MAX])
{
    const struct course *course = capacity_trend_find(c, gpu);
    int64_t last = now.ms / MINUTE_MS / POINT_MINUTES;
    size_t count = 0;
    for (int64_t quarter = last - COURSE_POINTS_MAX + 1; course && quarter <= last; quarter++) {
        struct course_point point = {.at.ms = quarter * POINT_MINUTES * MINUTE_MS, .least_bytes = INT64_MAX};
        for (int64_t n = quarter * POINT_MINUTES; n < (quarter + 1) * POINT_MINUTES; n++) {
            const struct trend_minute *m = n > 0 ? &course->minutes[n % COURSE_MINUTES] : NULL;
            if (m && m->number == n)
                point.least_bytes = MIN_OF(point.least_bytes, m->least_bytes);
        }
        if (point.least_bytes != INT64_MAX)
            points[count++] = point;
    }
    return count;
}
