/* SPDX-License-Identifier: Apache-2.0
 * Plays simulated hosts and recordings, and assembles rows of the history into snapshots.
 */
#include "cli/alert/alert.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/replay/reader.h"
#include "source/source.h"
#include "store/query.h"

bool course_plays(const char *source)
{
    const struct source_ops *ops = source_of_spec(source, NULL);
    return ops && (ops->simulated || ops->recorded);
}

/* ---- a simulated host ---- */

static struct snapshot *sample(struct source *source, const struct clock *clock, double interval_s)
{
    static struct gpu_id ids[GPU_MAX];
    struct error ignored;
    int count = source->ops->list(source, ids, GPU_MAX);
    struct snapshot *s = snapshot_new(count > 0 ? (size_t)count : 0);
    if (!s)
        return NULL;
    s->taken = clock_mono(clock);
    s->taken_at = clock_wall(clock);
    s->interval_s = interval_s;
    s->groups = GROUP_ALL;
    s->source_count = 1;
    str_copy(s->sources[0].name, sizeof s->sources[0].name, str_from(source->ops->name));
    bool failed = source->ops->refresh && source->ops->refresh(source, GROUP_ALL, &ignored) < 0;
    s->sources[0].state = failed ? SOURCE_FAILING : SOURCE_OK;
    for (size_t i = 0; i < s->gpu_count; i++) {
        struct gpu *g = &s->gpus[i];
        if (!failed)
            source->ops->sample(source, i, GROUP_ALL, g);
        g->id = ids[i];
        g->index = (int)i;
        g->simulated = source->ops->simulated;
        str_copy(g->source, sizeof g->source, str_from(source->ops->name));
    }
    if (source->ops->host)
        source->ops->host(source, &s->host);
    if (source->ops->events)
        s->event_count = source->ops->events(source, s->events, EVENTS_MAX);
    return s;
}

static int play_sim(const struct env *env, const struct source_ops *ops, const char *params, int64_t duration_ms,
                    int64_t interval_ms, course_fn *each, void *user, struct error *err)
{
    struct clock_manual clock;
    struct env own = *env;
    struct source *source = NULL;
    if (str_contains(str_from(params), "fault=hang"))
        return error_set(err, -EINVAL, "a hanging driver takes real time; try it with `whirr serve`");
    clock_manual_init(&clock, clock_wall(env->clock));
    clock_manual_advance_ms(&clock, MS_PER_S); /* a monotonic time of 0 would mean "none" */
    own.clock = &clock.clock;
    int result = ops->open(&own, params, &source, err);
    for (int64_t at = 0; result == 0 && at <= duration_ms; at += interval_ms) {
        AUTO_SNAPSHOT const struct snapshot *s = sample(source, &clock.clock, (double)interval_ms / MS_PER_S);
        if (s)
            each(user, s);
        else
            result = error_set(err, -ENOMEM, "out of memory");
        clock_manual_advance_ms(&clock, interval_ms);
    }
    if (source)
        ops->close(source);
    return result;
}

/* ---- a recording ---- */

static int play_recording(const char *params, course_fn *each, void *user, struct error *err)
{
    struct replay_reader *reader = NULL;
    char path[4096];
    const char *comma = access(params, F_OK) == 0 ? NULL : strchr(params, ',');
    str_copy(path, sizeof path, (struct str){params, comma ? (size_t)(comma - params) : strlen(params)});
    int result = replay_reader_open(path, &reader, err);
    const struct snapshot *s = NULL;
    while (result >= 0 && (result = replay_reader_next(reader, &s, err)) == 1) {
        each(user, s);
        snapshot_unref(TAKE(s));
    }
    replay_reader_close(reader);
    return result;
}

int course_play(const struct env *env, const char *source, int64_t duration_ms, int64_t interval_ms, course_fn *each, void *user,
                struct error *err)
{
    const char *params;
    const struct source_ops *ops = source_of_spec(source, &params);
    if (ops->recorded)
        return play_recording(params, each, user, err);
    return play_sim(env, ops, params, duration_ms, interval_ms, each, user, err);
}

/* ---- the history ---- */

struct replayed_rows {
    const size_t *columns;
    size_t count;
    struct snapshot *now; /* the rows of one moment; reused for the next */
    course_fn *each;
    void *user;
    int64_t cursor;
    size_t rows;
};

static void give_moment(struct replayed_rows *p)
{
    if (p->now->gpu_count)
        p->each(p->user, p->now);
    for (size_t i = 0; i < p->now->gpu_count; i++)
        p->now->gpus[i] = (struct gpu){0};
    p->now->gpu_count = 0;
}

static int on_row(void *user, const struct store_row *row)
{
    struct replayed_rows *p = user;
    p->cursor = row->cursor;
    p->rows++;
    if (p->now->taken_at.ms != row->at.ms)
        give_moment(p);
    p->now->taken_at = row->at;
    str_copy(p->now->host.name, sizeof p->now->host.name, str_from(row->gpu->host));
    if (p->now->gpu_count == GPU_MAX)
        return 0;
    struct gpu *g = &p->now->gpus[p->now->gpu_count++];
    g->id = row->gpu->identity;
    g->index = row->gpu_index;
    g->simulated = row->gpu->simulated;
    for (size_t i = 0; i < p->count; i++) {
        enum metric m = metric_from_json(series_column(SERIES_GPU, p->columns[i]).json);
        if (m != METRIC_COUNT)
            g->metric[m] = row->values[i];
    }
    return 0;
}

int course_past(struct store *store, const char *host, struct wall since, struct wall until, const size_t *columns, size_t count,
                course_fn *each, void *user, struct error *err)
{
    enum { PAGE = 10000 };
    struct replayed_rows p = {.columns = columns, .count = count, .each = each, .user = user, .now = snapshot_new(GPU_MAX)};
    if (!p.now)
        return error_set(err, -ENOMEM, "out of memory");
    p.now->gpu_count = 0;
    struct store_page page = {.host = host,
                              .since_ms = since.ms,
                              .until_ms = until.ms,
                              .gpu_index = -1,
                              .limit = PAGE,
                              .columns = columns,
                              .column_count = count};
    int result = 0;
    do {
        page.cursor = p.cursor;
        p.rows = 0;
        result = store_rows(store, &page, on_row, &p, err);
    } while (result >= 0 && p.rows == PAGE);
    if (result >= 0)
        give_moment(&p);
    snapshot_unref(p.now);
    return result < 0 ? result : 0;
}
