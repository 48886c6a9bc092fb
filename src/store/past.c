/* SPDX-License-Identifier: Apache-2.0
 * Puts a moment of the past together from rows.
 */
#include "store/past.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/internal.h"

enum { LOOK_BACK_MS = 600000, MINUTE_MS = 60000, LIVES_AT_ONCE = 1024 };

struct past {
    struct store *s;
    struct store_gpu gpus[GPU_MAX];
    size_t gpu_count;
    struct snapshot *snapshot;
    struct recent *recent;
    size_t columns[SERIES_COLUMNS_MAX];
    size_t column_count;
    size_t gpu; /* being filled */
    bool found;
};

static int note_gpu(void *user, const struct store_gpu *gpu)
{
    struct past *p = user;
    if (p->gpu_count < GPU_MAX)
        p->gpus[p->gpu_count++] = *gpu;
    return 0;
}

static void set_metric(struct gpu *gpu, const char *name, int64_t value)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (strcmp(metric_table[i].field, name) == 0)
            gpu->metric[i] = reading_ok(value);
}

static void add_recent(struct past *p, const struct gpu *gpu, struct wall at)
{
    struct recent_gpu *past = &p->recent->gpus[p->gpu];
    if (past->count == RECENT_POINTS) {
        memmove(past->points, past->points + 1, (RECENT_POINTS - 1) * sizeof past->points[0]);
        past->count--;
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
    };
}

/* Each row is the state of the card then; the last one stays. */
static int take_row(void *user, const struct store_row *row)
{
    struct past *p = user;
    struct gpu *gpu = &p->snapshot->gpus[p->gpu];
    for (size_t i = 0; i < METRIC_COUNT; i++)
        gpu->metric[i] = reading_absent(READING_UNREAD);
    for (size_t i = 0; i < p->column_count; i++)
        if (row->values[i].state == READING_OK)
            set_metric(gpu, series_column(SERIES_GPU, p->columns[i]).name, row->values[i].value);
    gpu->index = row->gpu_index;
    p->found = true;
    p->snapshot->taken_at = (struct wall){MAX_OF(p->snapshot->taken_at.ms, row->at.ms)};
    add_recent(p, gpu, row->at);
    return 0;
}

/* A minute's means, where the samples are gone. Sixteen columns at a time: one plot each. */
struct minute_fill {
    struct past *past;
    const size_t *columns;
    size_t count;
    bool first;
};

static int take_minute(void *user, const struct store_point *point)
{
    struct minute_fill *f = user;
    struct gpu *gpu = &f->past->snapshot->gpus[f->past->gpu];
    for (size_t i = 0; i < f->count; i++) {
        struct series_column c = series_column(SERIES_GPU, f->columns[i]);
        const struct aggregate *a = &point->values[i];
        if (a->count)
            set_metric(gpu, c.name, c.bits ? a->max : a->sum / a->count);
    }
    f->past->found = true;
    f->past->snapshot->taken_at = (struct wall){MAX_OF(f->past->snapshot->taken_at.ms, point->at.ms)};
    if (f->first)
        add_recent(f->past, gpu, point->at);
    return 0;
}

static int fill_gpu(struct past *p, int64_t at_ms, struct error *err)
{
    const struct store_gpu *known = &p->gpus[p->gpu];
    struct gpu *gpu = &p->snapshot->gpus[p->gpu];
    gpu->id = known->identity;
    gpu->index = known->index;
    gpu->simulated = known->simulated;
    p->found = false;
    const struct store_page page = {.since_ms = at_ms - LOOK_BACK_MS,
                                    .until_ms = at_ms + 1,
                                    .gpu_index = -1,
                                    .gpu_id = known->id,
                                    .limit = SIZE_MAX,
                                    .columns = p->columns,
                                    .column_count = p->column_count};
    int rc = store_rows(p->s, &page, take_row, p, err);
    bool minutes = !p->found;
    for (size_t i = 0; rc == 0 && minutes && i < p->column_count; i += QUERY_COLUMNS_MAX) {
        struct minute_fill fill = {p, p->columns + i, MIN_OF((size_t)QUERY_COLUMNS_MAX, p->column_count - i), i == 0};
        const struct store_plot plot = {.series = SERIES_GPU,
                                        .subject = known->id,
                                        .since_ms = at_ms - LOOK_BACK_MS,
                                        .until_ms = at_ms + 1,
                                        .step_ms = MINUTE_MS,
                                        .columns = fill.columns,
                                        .column_count = fill.count};
        rc = store_series(p->s, &plot, take_minute, &fill, err);
    }
    return rc;
}

/* What seldom changes, as it was then: limits, driver, ... */
static int fill_facts(struct past *p, int64_t at_ms, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    struct gpu *gpu = &p->snapshot->gpus[p->gpu];
    int rc = db_prepare(p->s->db, "SELECT key, value FROM facts WHERE gpu_id = $1 AND since_ms <= $2 ORDER BY since_ms", &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, p->gpus[p->gpu].id);
    db_bind_i64(q, 2, at_ms);
    while ((rc = db_step(q, err)) == 1) {
        char key[64], value[GPU_TEXT_SIZE];
        double number;
        str_copy(key, sizeof key, db_text(q, 0));
        str_copy(value, sizeof value, db_text(q, 1));
        enum metric metric = metric_from_json(key);
        if (metric < METRIC_COUNT && str_to_double(str_from(value), &number))
            gpu->metric[metric] = reading_ok((int64_t)llround(number / metric_table[metric].json_scale));
        for (size_t i = 0; i < PROPERTY_COUNT; i++)
            if (strcmp(property_table[i].json, key) == 0)
                gpu_set_property(gpu, (enum property)i, value);
    }
    return rc;
}

static int take_running(void *user, const struct store_life *life)
{
    struct past *p = user;
    struct process *process = gpu_add_process(&p->snapshot->gpus[p->gpu], life->process.pid);
    if (process)
        *process = life->process;
    return 0;
}

static int take_ended(void *user, const struct store_life *life)
{
    struct past *p = user;
    const struct gpu *gpu = &p->snapshot->gpus[p->gpu];
    const struct process *still = gpu_find_process(gpu, life->process.pid);
    bool running = still && still->start_key == life->process.start_key;
    if (!running && p->recent->ended_count < RECENT_ENDED && life->last_seen.ms <= p->snapshot->taken_at.ms)
        p->recent->ended[p->recent->ended_count++] = (struct recent_process){.gpu_index = gpu->index,
                                                                             .last = life->process,
                                                                             .first_seen = life->first_seen,
                                                                             .last_seen = life->last_seen,
                                                                             .mean_util_permille = life->sm_mean_permille};
    return 0;
}

/* Who was there in the minute, with what was held and used in it, and who ended in the ten minutes before. */
static int fill_processes(struct past *p, int64_t at_ms, struct error *err)
{
    p->snapshot->gpus[p->gpu].processes_state = READING_OK;
    struct store_span span = {.gpu_id = p->gpus[p->gpu].id,
                              .since_ms = at_ms - at_ms % MINUTE_MS,
                              .until_ms = at_ms + 1,
                              .within = true,
                              .limit = LIVES_AT_ONCE};
    int rc = store_lives(p->s, &span, take_running, p, err);
    if (rc < 0)
        return rc;
    span.since_ms = at_ms - LOOK_BACK_MS;
    span.within = false;
    return store_lives(p->s, &span, take_ended, p, err);
}

/* A card that was not there then has no row; the others move up. */
static void drop_unknown_gpus(struct snapshot *s, struct recent *recent)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (recent->gpus[i].count == 0) {
            gpu_done(&s->gpus[i]);
            continue;
        }
        if (kept != i) {
            s->gpus[kept] = s->gpus[i];
            recent->gpus[kept] = recent->gpus[i];
            s->gpus[i] = (struct gpu){0};
        }
        kept++;
    }
    s->gpu_count = recent->gpu_count = kept;
}

static int fill(struct past *p, int64_t at_ms, struct error *err)
{
    int rc = 0;
    for (p->gpu = 0; rc == 0 && p->gpu < p->gpu_count; p->gpu++) {
        rc = fill_gpu(p, at_ms, err);
        if (rc == 0 && p->found)
            rc = fill_facts(p, at_ms, err);
        if (rc == 0 && p->found)
            rc = fill_processes(p, at_ms, err);
    }
    return rc;
}

int store_past(struct store *s, const char *host, struct wall at, struct snapshot **ret, struct recent *recent, struct error *err)
{
    AUTO_FREE struct past *p = calloc(1, sizeof *p);
    if (!p)
        return error_set(err, -ENOMEM, "out of memory");
    p->s = s;
    p->recent = recent;
    *recent = (struct recent){0};
    for (size_t i = 0; i < s->schema.count[SERIES_GPU]; i++)
        p->columns[p->column_count++] = s->schema.order[SERIES_GPU][i];
    int rc = store_gpus(s, host, note_gpu, p, err);
    if (rc < 0)
        return rc;
    p->snapshot = snapshot_new(p->gpu_count);
    recent->gpus = calloc(p->gpu_count ? p->gpu_count : 1, sizeof *recent->gpus);
    recent->gpu_count = p->gpu_count;
    if (!p->snapshot || !recent->gpus)
        rc = error_set(err, -ENOMEM, "out of memory");
    if (rc == 0) {
        str_copy(p->snapshot->host.name, sizeof p->snapshot->host.name, str_from(host ? host : ""));
        rc = fill(p, at.ms, err);
    }
    if (rc == 0)
        drop_unknown_gpus(p->snapshot, recent);
    if (rc == 0 && p->snapshot->gpu_count == 0)
        rc = error_set(err, -ENODATA, "nothing was stored at that time");
    if (rc < 0) {
        snapshot_unref(p->snapshot);
        recent_done(recent);
        return rc;
    }
    *ret = p->snapshot;
    return 0;
}
