/* SPDX-License-Identifier: Apache-2.0
 * Capacity as a part of the daemon: tracks free memory (worker.enable_capacity_tracking), and answers where things fit. Queries the
 * history once.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "daemon/part.h"
#include "format/capacity_forms.h"
#include "store/query.h"

enum { ASK_AGAIN_MS = 10000, PAST_MAX = COURSE_MINUTES * 64 };

/* The previous day, from the history. */
struct capacity_past {
    struct recall recall;
    size_t gpu_count, count, gpu; /* gpu: being read */
    struct gpu_id gpus[GPU_MAX];
    int64_t ids[GPU_MAX]; /* in the database */
    struct past_minute {
        size_t gpu; /* for these */
        struct wall at;
        int64_t least_bytes;
    } minutes[PAST_MAX];
};

struct capacity_part {
    const struct config *config;
    struct guard_part *guard; /* NULL: there is none */
    const struct health_part *health;
    struct store_service *store;
    struct capacity_courses *courses;
    struct capacity_past *past; /* asked; NULL: none */
    bool past_known;
    int64_t asked_at_ms;
};

static void close_capacity(void *part)
{
    struct capacity_part *p = part;
    if (!p)
        return;
    courses_free(p->courses);
    if (p->past)
        recall_unref(&p->past->recall);
    free(p);
}

static void *open_capacity(const struct part_host *host, struct error *err)
{
    (void)err;
    struct capacity_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->config = host->config;
    p->store = host->store;
    p->guard = part_find(host, &guard_part_ops);
    p->health = part_find(host, &health_part_ops);
    p->courses = courses_new();
    if (p->courses)
        return p;
    close_capacity(p);
    return NULL;
}

static void capacity_part_reload(void *part, const struct config *config)
{
    ((struct capacity_part *)part)->config = config;
}

/* ---- the previous day, from the history; in the store's thread ---- */

static int on_gpu(void *user, const struct store_gpu *gpu)
{
    struct capacity_past *past = user;
    if (past->gpu_count == GPU_MAX)
        return 1;
    past->gpus[past->gpu_count] = gpu->identity;
    past->ids[past->gpu_count++] = gpu->id;
    return 0;
}

static int on_point(void *user, const struct store_point *point)
{
    struct capacity_past *past = user;
    if (point->values[0].count && past->count < PAST_MAX)
        past->minutes[past->count++] = (struct past_minute){past->gpu, point->at, point->values[0].min};
    return 0;
}

static int find_past(struct recall *r, struct store *s, struct error *err)
{
    struct capacity_past *past = (struct capacity_past *)r;
    int column = series_find(SERIES_GPU, "mem_free_bytes");
    past->gpu_count = past->count = 0;
    int rc = store_gpus(s, r->host, on_gpu, past, err);
    for (past->gpu = 0; rc == 0 && column >= 0 && past->gpu < past->gpu_count; past->gpu++) {
        const struct store_plot plot = {.series = SERIES_GPU,
                                        .subject = past->ids[past->gpu],
                                        .since_ms = r->until.ms - DAY_MS,
                                        .until_ms = r->until.ms,
                                        .step_ms = MINUTE_MS,
                                        .points = COURSE_MINUTES + 2,
                                        .columns = &(size_t){(size_t)column},
                                        .column_count = 1};
        rc = store_series(s, &plot, on_point, past, err);
    }
    return rc;
}

static void take_past(struct capacity_part *p, const struct snapshot *s)
{
    struct capacity_past *past = p->past;
    if (past && recall_is_over(&past->recall)) {
        p->past_known = past->recall.rc == 0 || past->recall.rc == -ENOENT; /* nothing was ever stored */
        for (size_t i = 0; past->recall.rc == 0 && i < past->count; i++)
            courses_add(p->courses, &past->gpus[past->minutes[i].gpu], past->minutes[i].at, past->minutes[i].least_bytes);
        recall_unref(&TAKE(p->past)->recall);
    }
    bool due = !p->asked_at_ms || s->taken_at.ms - p->asked_at_ms >= ASK_AGAIN_MS;
    past = !p->past && !p->past_known && p->store && due ? calloc(1, sizeof *past) : NULL;
    if (!past)
        return;
    p->asked_at_ms = s->taken_at.ms;
    past->recall.find = find_past;
    if (recall_ask(&past->recall, p->store, s))
        p->past = past;
}

/* ---- samples ---- */

static bool tracks(const struct capacity_part *p)
{
    return p->config->worker.capacity_tracking;
}

static void capacity_part_sampled(void *part, const struct snapshot *s)
{
    struct capacity_part *p = part;
    if (!tracks(p)) {
        courses_forget(p->courses);
        p->past_known = false;
        return;
    }
    take_past(p, s);
    courses_add_snapshot(p->courses, s);
}

static struct capacity *capacity_part_measure(struct capacity_part *p, const struct snapshot *s)
{
    AUTO_FREE struct capacity_hold *holds = calloc(CAPACITY_HOLDS_MAX, sizeof *holds);
    size_t count = holds && p->guard ? guard_part_holds(p->guard, s, holds, CAPACITY_HOLDS_MAX) : 0;
    const struct capacity_settings settings = {.reserve_bytes = p->config->worker.reserve_bytes};
    struct capacity *c = capacity_new(s, &settings, p->guard ? holds : NULL, count);
    if (c)
        capacity_exclude(c, health_part_latest(p->health));
    if (c && tracks(p))
        courses_fill(p->courses, s->taken_at, c);
    return c;
}

static void capacity_part_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    AUTO_FREE struct capacity *c = capacity_part_measure(part, s);
    if (c)
        prometheus_capacity(out, s, c);
}

/* ---- requests ---- */

static int place(const struct part_request *r, const struct capacity *c, struct buf *out)
{
    struct placement_request request = {.count = 1, .only = -1};
    char text[GPU_UUID_SIZE];
    int64_t number;
    if (!part_query(r, "bytes", text, sizeof text))
        return part_error(out, 400, "bad_parameter", "bytes is missing: the size of what is to be placed, in bytes or like 24GiB.");
    if (!bytes_parse(str_from(text), &request.bytes) || request.bytes <= 0 || request.bytes > MODEL_BYTES_MAX)
        return part_error(out, 400, "bad_parameter", "bytes must be a number above 0, or an amount like 24GiB.");
    if (part_query(r, "gpus", text, sizeof text) && str_to_i64(str_from(text), &number))
        request.gpus = (int)number;
    if (part_query(r, "count", text, sizeof text) && str_to_i64(str_from(text), &number))
        request.count = (int)number;
    request.whole = request.gpus == 0; /* the request does not allow splitting */
    request.no_eviction = part_query(r, "evict", text, sizeof text) && (text[0] == 'f' || text[0] == '0');
    int at, status = part_which_gpu(r, r->latest, &at, out);
    if (status != 200)
        return status;
    if (at != ALL_GPUS)
        request.only = r->latest->gpus[at].index;
    AUTO_FREE struct placement *found = placement_find(c, &request);
    if (!found)
        return part_error(out, 500, "out_of_memory", "Out of memory.");
    json_placement(JSON_LINE(out), c, &request, found, &(struct fit_subject){.context_wanted = -1});
    return 200;
}

static int get_capacity(void *part, const struct part_request *r, struct buf *out)
{
    struct capacity_part *p = part;
    AUTO_FREE struct capacity *c = capacity_part_measure(p, r->latest);
    int only, status = part_which_gpu(r, r->latest, &only, out);
    if (status != 200)
        return status;
    if (!c)
        return part_error(out, 500, "out_of_memory", "Out of memory.");
    json_capacity(JSON_LINE(out), r->latest, c, tracks(p) ? p->courses : NULL, only);
    return 200;
}

static int get_placement(void *part, const struct part_request *r, struct buf *out)
{
    AUTO_FREE struct capacity *c = capacity_part_measure(part, r->latest);
    return c ? place(r, c, out) : part_error(out, 500, "out_of_memory", "Out of memory.");
}

static const struct route routes_of_capacity[] = {
    {"/api/capacity", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_capacity, .fresh = true},
    {"/api/placement", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_placement, .fresh = true},
};

const struct part_ops capacity_part_ops = {.name = "capacity",
                                           .routes = routes_of_capacity,
                                           .route_count = ARRAY_LEN(routes_of_capacity),
                                           .open = open_capacity,
                                           .sampled = capacity_part_sampled,
                                           .metrics = capacity_part_metrics,
                                           .reload = capacity_part_reload,
                                           .close = close_capacity};
