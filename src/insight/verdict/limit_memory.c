/* SPDX-License-Identifier: Apache-2.0
 * A short course of limits for each process. Processes that are not in a snapshot are forgotten with it.
 */
#include "insight/verdict/judge.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/area/limit.h"

/* What comes and goes has a share of the window. What was not there before and stays is a change: the window begins with it. */
enum { WINDOW_MS = 10000, MOMENTS = 32, SECOND_LEAST = 100, CHANGE_MS = 1500, CHANGE_LOOKS = 2, KNOWN_MS = 20000 };

struct moment {
    int64_t at_ms, lasts_ms;
    struct limit_look look;
};

struct limit_course {
    int gpu_index;
    int32_t pid;
    int64_t start_key;
    uint64_t seen;
    size_t count; /* moments, oldest first */
    struct moment moments[MOMENTS];
    int64_t seen_ms[LIMIT_COUNT]; /* when each was seen last; of the newest, before it began */
};

struct limit_memory {
    uint64_t turn;
    size_t count, capacity, next; /* next: behind the one that was found last */
    struct limit_course *courses;
};

struct limit_memory *limit_memory_new(void)
{
    return calloc(1, sizeof(struct limit_memory));
}

void limit_memory_free(struct limit_memory *m)
{
    if (!m)
        return;
    free(m->courses);
    free(m);
}

/* Courses are in the order in which processes are listed, which changes little: try the next one first. */
static struct limit_course *course_of(struct limit_memory *m, int gpu_index, const struct process *p)
{
    for (size_t i = 0; i < m->count; i++) {
        size_t at = (m->next + i) % m->count;
        struct limit_course *c = &m->courses[at];
        if (c->pid == p->pid && c->gpu_index == gpu_index && c->start_key == p->start_key) {
            m->next = at + 1;
            return c;
        }
    }
    if (!ROOM_FOR_ONE(m->courses, m->count, m->capacity, 8))
        return NULL;
    m->courses[m->count] = (struct limit_course){.gpu_index = gpu_index, .pid = p->pid, .start_key = p->start_key};
    return &m->courses[m->count++];
}

static void drop_oldest(struct limit_course *c, size_t drop)
{
    c->count -= drop;
    for (size_t i = 0; i < c->count; i++)
        c->moments[i] = c->moments[i + drop];
}

/* A look stands for the time since the one before it; the first, and one after a gap, for one interval. */
static void note(struct limit_course *c, int64_t now_ms, int64_t interval_ms, struct limit_look look)
{
    int64_t since = c->count ? now_ms - c->moments[c->count - 1].at_ms : 0;
    size_t old = 0;
    if (since < 0 || since > WINDOW_MS)
        c->count = 0;
    while (old < c->count && c->moments[old].at_ms <= now_ms - WINDOW_MS)
        old++;
    drop_oldest(c, old);
    if (c->count == MOMENTS)
        drop_oldest(c, 1);
    int64_t lasts = c->count && since > 0 ? since : MAX_OF(interval_ms, (int64_t)1);
    c->moments[c->count++] = (struct moment){now_ms, lasts, look};
}

/* A program that has begun to do something else leaves what it did before. */
static void begin_anew(struct limit_course *c)
{
    const struct moment *newest = &c->moments[c->count - 1];
    size_t first = c->count - 1;
    while (first > 0 && c->moments[first - 1].look.code == newest->look.code)
        first--;
    if (first > 0)
        c->seen_ms[c->moments[first - 1].look.code] = c->moments[first - 1].at_ms;
    int64_t began_ms = c->moments[first].at_ms - c->moments[first].lasts_ms, seen_ms = c->seen_ms[newest->look.code];
    if (first > 0 && c->count - first >= CHANGE_LOOKS && newest->at_ms - began_ms >= CHANGE_MS &&
        (!seen_ms || began_ms - seen_ms > KNOWN_MS))
        drop_oldest(c, first);
}

/* ---- the answer ---- */

struct limit_tally {
    int64_t ms[LIMIT_COUNT];
    double sure_ms[LIMIT_COUNT]; /* weighted by confidence */
    int64_t all_ms;
};

/* Among equals the one that was seen last. */
static enum limit most_of(const struct limit_course *c, const struct limit_tally *t, enum limit but)
{
    enum limit best = LIMIT_UNJUDGED;
    for (size_t i = c->count; i-- > 0;) {
        enum limit code = c->moments[i].look.code;
        if (code != but && code != LIMIT_UNJUDGED && (best == LIMIT_UNJUDGED || t->sure_ms[code] > t->sure_ms[best]))
            best = code;
    }
    return best;
}

static struct process_limit conclude(const struct limit_course *c)
{
    struct limit_tally t = {0};
    for (size_t i = 0; i < c->count; i++) {
        const struct moment *m = &c->moments[i];
        t.ms[m->look.code] += m->lasts_ms;
        t.sure_ms[m->look.code] += (double)m->lasts_ms * m->look.confidence;
        t.all_ms += m->lasts_ms;
    }
    enum limit first = most_of(c, &t, LIMIT_UNJUDGED);
    if (!first)
        return (struct process_limit){0};
    struct process_limit limit = {.code = first,
                                  .share_permille = t.ms[first] * 1000 / t.all_ms,
                                  .over_ms = c->count > 1 ? t.all_ms : 0,
                                  .confidence = t.sure_ms[first] / (double)t.ms[first]};
    enum limit second = most_of(c, &t, first);
    if (second && t.ms[second] * 1000 / t.all_ms >= SECOND_LEAST) {
        limit.second = second;
        limit.second_permille = t.ms[second] * 1000 / t.all_ms;
    }
    return limit;
}

/* ---- snapshots ---- */

static void judge_process(struct limit_memory *m, const struct snapshot *s, const struct gpu *gpu, struct process *p)
{
    struct limit_course *c = course_of(m, gpu->index, p);
    if (!c)
        return;
    if (c->seen != m->turn) /* one process may be listed twice: in two instances */
        note(c, s->taken_at.ms, (int64_t)(s->interval_s * MS_PER_S), limit_detect(gpu, p, &s->host));
    begin_anew(c);
    c->seen = m->turn;
    p->limit = conclude(c);
}

void limit_memory_judge(struct limit_memory *m, struct snapshot *s)
{
    size_t kept = 0;
    m->turn++;
    m->next = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        for (size_t k = 0; k < s->gpus[i].process_count; k++)
            judge_process(m, s, &s->gpus[i], &s->gpus[i].processes[k]);
    for (size_t i = 0; i < m->count; i++)
        if (m->courses[i].seen == m->turn && kept++ != i)
            m->courses[kept - 1] = m->courses[i];
    m->count = kept;
}
