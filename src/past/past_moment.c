/* SPDX-License-Identifier: Apache-2.0
 * Assembles a past moment from rows.
 */
#include "past/explain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

enum { LOOK_BACK_MS = 600000, RUNS_AT_ONCE = 1024, NEAR_LEAST_MS = 60000 };

struct past_moment {
    struct store *s;
    int64_t only; /* whose processes to read; 0: of all GPUs */
    struct store_gpu gpus[GPU_MAX];
    size_t gpu_count;
    struct snapshot *snapshot;
    struct recent *recent;
    size_t columns[SERIES_COLUMNS_MAX];
    enum metric metrics[SERIES_COLUMNS_MAX]; /* of the columns */
    size_t column_count;
    enum level level;
    struct moment_rows {
        int64_t count, newest_ms, before_ms; /* rows so far, the newest and the one before */
    } rows[GPU_MAX];
    size_t gpu; /* the GPU being filled */
    struct {
        int64_t id;
        int32_t pid;
    } running[RUNS_AT_ONCE];
    size_t running_count;
};

static int moment_note_gpu(void *user, const struct store_gpu *gpu)
{
    struct past_moment *p = user;
    if (p->gpu_count < GPU_MAX)
        p->gpus[p->gpu_count++] = *gpu;
    return 0;
}

static enum metric metric_of(const char *field)
{
    size_t i = 0;
    while (i < METRIC_COUNT - 1 && strcmp(metric_table[i].field, field) != 0)
        i++;
    return (enum metric)i;
}

/* The field of a recent point for a metric, or NULL. */
static struct reading *recent_field(struct recent_point *point, enum metric metric)
{
    switch (metric) {
    case METRIC_util_permille: return &point->util_permille;
    case METRIC_power_mw: return &point->power_mw;
    case METRIC_temp_mdegc: return &point->temp_mdegc;
    case METRIC_fan_permille: return &point->fan_permille;
    case METRIC_mem_used_bytes: return &point->mem_used_bytes;
    case METRIC_clock_graphics_khz: return &point->clock_graphics_khz;
    default: return NULL;
    }
}

static struct recent_point *add_recent(struct past_moment *p, struct wall at)
{
    struct recent_gpu *past = &p->recent->gpus[p->gpu];
    if (past->count == RECENT_POINTS) {
        memmove(past->points, past->points + 1, (RECENT_POINTS - 1) * sizeof past->points[0]);
        past->count--;
    }
    past->id = p->gpus[p->gpu].identity;
    past->points[past->count] = (struct recent_point){.at = at};
    return &past->points[past->count++];
}

/* The point at that time, or NULL. */
static struct recent_point *find_recent(struct past_moment *p, struct wall at)
{
    struct recent_gpu *past = &p->recent->gpus[p->gpu];
    for (size_t i = past->count; i-- > 0;)
        if (past->points[i].at.ms == at.ms)
            return &past->points[i];
    return NULL;
}

static void set_column(struct past_moment *p, struct recent_point *point, size_t column, struct reading value)
{
    enum metric metric = p->metrics[column];
    struct reading *past = recent_field(point, metric);
    p->snapshot->gpus[p->gpu].metric[metric] = value;
    if (past)
        *past = value;
}

static void note_row(struct past_moment *p, struct wall at)
{
    struct moment_rows *r = &p->rows[p->gpu];
    r->count++;
    r->before_ms = r->newest_ms;
    r->newest_ms = at.ms;
}

/* Selects the GPU to fill. Rows and facts of one moment are usually in the order of their GPUs. */
static bool turn_to(struct past_moment *p, int64_t gpu_id)
{
    for (size_t i = 0; i < p->gpu_count; i++) {
        p->gpu = p->gpu + 1 < p->gpu_count ? p->gpu + 1 : 0;
        if (p->gpus[p->gpu].id == gpu_id)
            return true;
    }
    return false;
}

/* Each row is the state of a GPU at that time; the last one counts. */
static int moment_take_row(void *user, const struct store_row *row)
{
    struct past_moment *p = user;
    if (!turn_to(p, row->gpu->id))
        return 0;
    struct gpu *gpu = &p->snapshot->gpus[p->gpu];
    struct recent_point *point = add_recent(p, row->at);
    for (size_t i = 0; i < p->column_count; i++)
        set_column(p, point, i, row->values[i]);
    gpu->index = row->gpu_index;
    note_row(p, row->at);
    return 0;
}

/* Means of a minute or hour, if the samples have expired. Sixteen columns at a time: one plot each. */
struct mean_fill {
    struct past_moment *past;
    size_t from, count; /* of the columns */
};

static int take_means(void *user, const struct store_point *point)
{
    struct mean_fill *f = user;
    struct past_moment *p = f->past;
    struct recent_point *recent = f->from == 0 ? add_recent(p, point->at) : find_recent(p, point->at);
    for (size_t i = 0; recent && i < f->count; i++) {
        struct series_column c = series_column(SERIES_GPU, p->columns[f->from + i]);
        const struct aggregate *a = &point->values[i];
        struct reading value = a->count ? reading_ok(c.bits ? a->max : a->sum / a->count) : reading_absent(READING_UNREAD);
        set_column(p, recent, f->from + i, value);
    }
    if (f->from == 0)
        note_row(p, point->at);
    return 0;
}

static int fill_from_means(struct past_moment *p, int64_t at_ms, int64_t *ret_step_ms, struct error *err)
{
    struct store_plot plot = {.series = SERIES_GPU,
                              .subject = p->gpus[p->gpu].id,
                              .since_ms = at_ms - LOOK_BACK_MS,
                              .until_ms = at_ms + 1,
                              .step_ms = MINUTE_MS};
    enum level level;
    int rc = 0;
    store_plan(p->s, &plot, ret_step_ms, &level);
    for (size_t i = 0; rc == 0 && i < p->column_count; i += QUERY_COLUMNS_MAX) {
        struct mean_fill fill = {p, i, MIN_OF((size_t)QUERY_COLUMNS_MAX, p->column_count - i)};
        plot.columns = p->columns + i;
        plot.column_count = fill.count;
        rc = store_series(p->s, &plot, take_means, &fill, err);
    }
    if (p->rows[p->gpu].count)
        p->level = MAX_OF(p->level, level);
    return rc;
}

/* Whether the newest row can represent the moment: not if samples that should have followed are missing. */
static bool is_near(const struct moment_rows *r, int64_t at_ms, int64_t step_ms)
{
    int64_t usual = r->count > 1 ? r->newest_ms - r->before_ms : 0;
    return r->count > 0 && at_ms - r->newest_ms <= step_ms + MAX_OF(3 * usual, (int64_t)NEAR_LEAST_MS);
}

/* One query for all GPUs: a server takes longer to receive a query than to answer it. */
static int fill_from_samples(struct past_moment *p, const char *host, int64_t at_ms, struct error *err)
{
    const struct store_page page = {.host = host,
                                    .since_ms = at_ms - LOOK_BACK_MS,
                                    .until_ms = at_ms + 1,
                                    .gpu_index = -1,
                                    .limit = SIZE_MAX,
                                    .columns = p->columns,
                                    .column_count = p->column_count};
    for (size_t i = 0; i < p->gpu_count; i++) {
        struct gpu *gpu = &p->snapshot->gpus[i];
        gpu->id = p->gpus[i].identity;
        gpu->index = p->gpus[i].index;
        gpu->simulated = p->gpus[i].simulated;
    }
    return store_rows(p->s, &page, moment_take_row, p, err);
}

/* Completes a GPU whose samples were read. */
static int finish_gpu(struct past_moment *p, int64_t at_ms, bool *ret_there, struct error *err)
{
    struct moment_rows *r = &p->rows[p->gpu];
    int64_t step_ms = 0;
    int rc = 0;
    /* While samples are kept, none means that there was nothing: a mean of the rest of the minute can't represent it. */
    if (r->count == 0 && at_ms < store_horizon(p->s, SERIES_GPU, LEVEL_RAW))
        rc = fill_from_means(p, at_ms, &step_ms, err);
    *ret_there = rc == 0 && is_near(r, at_ms, step_ms);
    if (!*ret_there) {
        p->recent->gpus[p->gpu].count = 0;
        return rc;
    }
    /* A mean covers the time up to its end, or up to the moment itself. */
    r->newest_ms = step_ms ? MIN_OF(at_ms, r->newest_ms + step_ms - 1) : r->newest_ms;
    p->snapshot->taken_at = (struct wall){MAX_OF(p->snapshot->taken_at.ms, r->newest_ms)};
    return rc;
}

static int take_fact(void *user, int64_t gpu_id, struct wall since, const char *key, const char *value)
{
    struct past_moment *p = user;
    (void)since;
    if (!turn_to(p, gpu_id))
        return 0;
    struct gpu *gpu = &p->snapshot->gpus[p->gpu];
    double number;
    enum metric metric = metric_from_json(key);
    enum reading_state list;
    if (metric < METRIC_COUNT && metric_table[metric].group == GROUP_STATIC && str_to_double(str_from(value), &number))
        gpu->metric[metric] = reading_ok((int64_t)llround(number / metric_table[metric].json_scale));
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (strcmp(property_table[i].json, key) == 0)
            gpu_set_property(gpu, (enum property)i, value);
    for (int i = GPU_OK; i <= GPU_LOST; i++)
        if (strcmp(key, FACT_STATE) == 0 && strcmp(value, gpu_state_name((enum gpu_state)i)) == 0)
            gpu->state = (enum gpu_state)i;
    if (strcmp(key, FACT_PROCESSES) == 0 && reading_state_from_name(value, &list))
        gpu->processes_state = list;
    return 0;
}

/* What rarely changes, as it was then: limits, driver, ... */
static int fill_facts(struct past_moment *p, const char *host, int64_t at_ms, struct error *err)
{
    for (size_t i = 0; i < p->gpu_count; i++)
        p->snapshot->gpus[i].processes_state = READING_OK; /* default for histories without this fact */
    return store_facts(p->s, host, at_ms, take_fact, p, err);
}

static void take_running(struct past_moment *p, const struct store_process_run *run)
{
    struct process *process = gpu_add_process(&p->snapshot->gpus[p->gpu], run->process.pid);
    if (!process)
        return;
    *process = run->process;
    if (p->running_count < RUNS_AT_ONCE) {
        p->running[p->running_count].id = run->id;
        p->running[p->running_count++].pid = run->process.pid;
    }
}

/* A process that was seen up to the newest row was running; otherwise it had ended. */
static int take_run(void *user, const struct store_process_run *run)
{
    struct past_moment *p = user;
    int64_t newest_ms = p->rows[p->gpu].newest_ms;
    int64_t slack_ms = p->level == LEVEL_RAW ? 0 : newest_ms % MINUTE_MS; /* of a mean: any process of that minute */
    if (run->first_seen.ms > newest_ms)
        return 0;
    if (run->last_seen.ms >= newest_ms - slack_ms)
        take_running(p, run);
    else if (p->recent->ended_count < RECENT_ENDED)
        p->recent->ended[p->recent->ended_count++] = (struct recent_process){.gpu_index = p->snapshot->gpus[p->gpu].index,
                                                                             .last = run->process,
                                                                             .first_seen = run->first_seen,
                                                                             .last_seen = run->last_seen,
                                                                             .mean_util_permille = run->sm_mean_permille};
    return 0;
}

/* Its memory and usage in that minute instead of the whole run. */
static int refine(void *user, const struct store_process_run *run)
{
    struct past_moment *p = user;
    for (size_t i = 0; i < p->running_count; i++) {
        struct process *process =
            p->running[i].id == run->id ? gpu_find_process(&p->snapshot->gpus[p->gpu], p->running[i].pid) : NULL;
        if (process) {
            process->mem_bytes = run->memory_mean_bytes;
            process->util_permille = run->sm_mean_permille;
        }
    }
    return 0;
}

static int fill_processes(struct past_moment *p, struct error *err)
{
    int64_t at_ms = p->rows[p->gpu].newest_ms;
    p->running_count = 0;
    struct store_span span = {
        .gpu_id = p->gpus[p->gpu].id, .since_ms = at_ms - LOOK_BACK_MS, .until_ms = at_ms + 1, .limit = RUNS_AT_ONCE};
    int rc = store_process_runs(p->s, &span, take_run, p, err);
    if (rc < 0)
        return rc;
    span.since_ms = at_ms - at_ms % MINUTE_MS;
    span.within = true;
    return store_process_runs(p->s, &span, refine, p, err);
}

/* Removes GPUs without a row, which did not exist then. */
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

static int moment_fill(struct past_moment *p, const char *host, int64_t at_ms, struct error *err)
{
    int rc = fill_from_samples(p, host, at_ms, err);
    if (rc == 0)
        rc = fill_facts(p, host, at_ms, err);
    for (p->gpu = 0; rc == 0 && p->gpu < p->gpu_count; p->gpu++) {
        bool there;
        rc = finish_gpu(p, at_ms, &there, err);
        if (rc == 0 && there && (!p->only || p->only == p->gpus[p->gpu].id))
            rc = fill_processes(p, err);
    }
    return rc;
}

int store_past(struct store *s, const char *host, struct wall at, int64_t only, struct snapshot **ret, struct recent *recent,
               enum level *level, struct error *err)
{
    AUTO_FREE struct past_moment *p = calloc(1, sizeof *p);
    if (!p)
        return error_set(err, -ENOMEM, "out of memory");
    p->s = s;
    p->only = only;
    p->recent = recent;
    *recent = (struct recent){0};
    p->column_count = store_columns(s, SERIES_GPU, p->columns);
    for (size_t i = 0; i < p->column_count; i++)
        p->metrics[i] = metric_of(series_column(SERIES_GPU, p->columns[i]).name);
    int rc = store_known_gpus(s, host, moment_note_gpu, p, err);
    if (rc < 0)
        return rc;
    p->snapshot = snapshot_new(p->gpu_count);
    recent->gpus = calloc(p->gpu_count ? p->gpu_count : 1, sizeof *recent->gpus);
    recent->gpu_count = p->gpu_count;
    if (!p->snapshot || !recent->gpus)
        rc = error_set(err, -ENOMEM, "out of memory");
    if (rc == 0) {
        str_copy(p->snapshot->host.name, sizeof p->snapshot->host.name, str_from(host ? host : ""));
        rc = moment_fill(p, host, at.ms, err);
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
    *level = p->level;
    return 0;
}
