/* SPDX-License-Identifier: Apache-2.0
 * When each process was limited by what: consecutive minutes with the same limit form a stretch. Omits unjudged minutes.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/json/json.h"
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

static void write_stretch(const struct limit_walk *w, const struct limit_stretch *m, struct json_writer *j)
{
    const struct store_gpu *gpu = NULL;
    for (size_t i = 0; i < w->gpu_count && !gpu; i++)
        gpu = w->gpus[i].id == m->gpu_id ? &w->gpus[i] : NULL;
    if (!gpu)
        return;
    jw_object(j);
    jw_key_int(j, "life", m->process);
    jw_key_text(j, "host", gpu->host);
    jw_key_int(j, "gpu_index", gpu->index);
    json_time(j, "since", (struct wall){MAX_OF(m->from * MINUTE_MS, w->q->since_ms)});
    json_time(j, "until", (struct wall){MIN_OF(m->to * MINUTE_MS, w->q->until_ms)});
    jw_key_text(j, "code", limit_name(m->limit));
    jw_key_text(j, "words", limit_words(m->limit));
    jw_key_text(j, "doing", limit_doing(m->limit));
    jw_key_text(j, "side", limit_side_name(limit_side(m->limit)));
    jw_end(j);
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
    jw_key_array(j, "stretches");
    for (size_t i = 0; i < w.count; i++)
        write_stretch(&w, &w.list[i], j);
    jw_end(j);
    jw_key_int(j, "count", (int64_t)w.count);
    jw_key_bool(j, "complete", !w.full);
    free(w.list);
    free(w.gpus);
    return rc;
}
