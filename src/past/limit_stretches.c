/* SPDX-License-Identifier: Apache-2.0
 * When each process was limited by what: consecutive minutes with the same limit form a stretch. Omits unjudged minutes.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "past/history_answer.h"

enum { MINUTES_AN_HOUR = 60 };

struct limit_stretch {
    int64_t process, gpu_id, from, to; /* minutes */
    enum limit limit;
};

struct limit_walk {
    const struct history_question *q;
    int64_t only; /* a GPU; 0: all */
    struct limit_stretch *list;
    size_t count, capacity;
    int64_t now; /* the current minute, or the first one of the current hour */
    size_t open; /* earlier stretches can't continue */
    bool full;
    struct store_gpu *gpus;
    size_t gpu_count, gpu_capacity;
};

static int add_minute(struct limit_walk *w, const struct limit_stretch *m)
{
    if (m->limit == LIMIT_UNJUDGED || (w->only && w->only != m->gpu_id) || (w->q->run && w->q->run != m->process))
        return 0;
    while (w->open < w->count && w->list[w->open].to < w->now)
        w->open++;
    for (size_t i = w->count; i > w->open; i--) {
        struct limit_stretch *last = &w->list[i - 1];
        if (last->process != m->process)
            continue;
        if (last->limit != m->limit || last->to < m->from)
            break;
        last->to = m->to;
        return 0;
    }
    if (w->count == w->q->limit) {
        w->full = true;
        return 1;
    }
    if (!ROOM_FOR_ONE(w->list, w->count, w->capacity, 256))
        return -ENOMEM;
    w->list[w->count++] = *m;
    return 0;
}

static int take_minute(void *user, const struct store_process_minute *row)
{
    struct limit_walk *w = user;
    w->now = row->minute;
    return add_minute(w, &(struct limit_stretch){row->process, row->gpu_id, row->minute, row->minute + 1, row->limit});
}

static int take_hour(void *user, const struct store_process_hour *row)
{
    struct limit_walk *w = user;
    enum limit limits[MINUTES_AN_HOUR] = {0};
    struct str rest = row->limits;
    for (struct store_limit one; store_next_limit(&rest, &one);)
        for (int i = 0; i < MINUTES_AN_HOUR; i++)
            limits[i] = one.minutes >> i & 1 ? one.limit : limits[i];
    w->now = row->hour * MINUTES_AN_HOUR;
    int rc = 0;
    for (int i = 0; rc == 0 && i < MINUTES_AN_HOUR; i++)
        rc = add_minute(w, &(struct limit_stretch){row->process, row->gpu_id, w->now + i, w->now + i + 1, limits[i]});
    return rc;
}

static int note_gpu(void *user, const struct store_gpu *gpu)
{
    struct limit_walk *w = user;
    if (!ROOM_FOR_ONE(w->gpus, w->gpu_count, w->gpu_capacity, 16))
        return -ENOMEM;
    w->gpus[w->gpu_count++] = *gpu;
    return 0;
}

ANSWER_NAMES(stretch_limits, enum limit, limit_name, LIMIT_UNJUDGED + 1, LIMIT_COUNT - 1);
ANSWER_NAMES(sides, enum limit_side, limit_side_name, 0, LIMIT_SIDE_OTHERS);

struct told_stretch {
    int64_t life;
    const char *host, *words, *doing;
    int gpu_index;
    struct wall since, until;
    enum limit limit;
    enum limit_side side;
};

ANSWER_TABLE(stretch_answer, struct told_stretch, .name = "LimitStretch",
             .about = "Consecutive minutes in which the same thing limited a process")
{
    FIELD(INT, "life", life, NULL);
    FIELD(WORD, "host", host, NULL);
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(MOMENT, "since", since, NULL);
    FIELD(MOMENT, "until", until, NULL);
    FIELD(NAME, "code", limit, NULL, NAMES(stretch_limits));
    FIELD(WORD, "words", words, "Behind \"limited by\"");
    FIELD(WORD, "doing", doing, "What the process does meanwhile");
    FIELD(NAME, "side", side, NULL, NAMES(sides));
}

static const struct store_gpu *gpu_of(const struct limit_walk *w, int64_t id)
{
    for (size_t i = 0; i < w->gpu_count; i++)
        if (w->gpus[i].id == id)
            return &w->gpus[i];
    return NULL;
}

struct told_stretches {
    const struct limit_walk *walk;
    struct wall since, until;
    size_t count;
    bool complete;
    struct told_stretch stretch; /* the one being written */
};

static const void *next_stretch(const struct answer_at *at, struct answer_step *step)
{
    struct told_stretches *told = at->context;
    const struct limit_walk *w = told->walk;
    while (w && step->at < w->count) {
        const struct limit_stretch *m = &w->list[step->at++];
        const struct store_gpu *gpu = gpu_of(w, m->gpu_id);
        if (!gpu)
            continue;
        told->stretch = (struct told_stretch){.life = m->process,
                                              .host = gpu->host,
                                              .gpu_index = gpu->index,
                                              .since = {MAX_OF(m->from * MINUTE_MS, w->q->since_ms)},
                                              .until = {MIN_OF(m->to * MINUTE_MS, w->q->until_ms)},
                                              .limit = m->limit,
                                              .words = limit_words(m->limit),
                                              .doing = limit_doing(m->limit),
                                              .side = limit_side(m->limit)};
        return &told->stretch;
    }
    return NULL;
}

SHARED_ANSWER_TABLE(past_limits_answer, struct told_stretches, .name = "PastLimits", .about = "What limited processes, and when")
{
    FIELD(MOMENT, "since", since, "null: from the beginning", OR_NULL);
    FIELD(MOMENT, "until", until, NULL);
    EACH(OBJECT, "stretches", next_stretch, NULL, FIELDS(stretch_answer));
    FIELD(INT, "count", count, NULL);
    FIELD(BOOL, "complete", complete, "False: there are more than `limit`; ask for a shorter time");
}

static void write_limits(struct json_writer *j, const struct history_question *q, const struct limit_walk *w)
{
    struct told_stretches told = {
        .walk = w, .since = {q->since_ms}, .until = {q->until_ms}, .count = w ? w->count : 0, .complete = !w || !w->full};
    answer_write(j, &past_limits_answer, &told, &told);
}

void history_no_limits(const struct history_question *q, struct json_writer *j)
{
    write_limits(j, q, NULL);
}

int history_limits_write(struct store *s, const struct history_question *q, const char *host, int64_t gpu_id, struct json_writer *j,
                         struct error *err)
{
    struct limit_walk w = {.q = q, .only = gpu_id};
    struct hour_segments segments;
    int rc = store_gpus(s, host, note_gpu, &w, err);
    if (rc == 0)
        rc =
            store_hour_segments(s, q->since_ms / MINUTE_MS, (q->until_ms + MINUTE_MS - 1) / MINUTE_MS, HOURS_WORTH, &segments, err);
    for (size_t i = 0; rc == 0 && !w.full && i < segments.count; i++) {
        const struct hour_segment *g = &segments.list[i];
        rc = g->hours ? store_process_hours(s, host, g->from / MINUTES_AN_HOUR, g->to / MINUTES_AN_HOUR, take_hour, &w, err)
                      : store_process_minutes(s, host, g->from, g->to, take_minute, &w, err);
    }
    write_limits(j, q, &w);
    free(w.list);
    free(w.gpus);
    return rc;
}
