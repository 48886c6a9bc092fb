/* SPDX-License-Identifier: Apache-2.0
 * Steps in the course of a GPU, from the minutes around them: how much each process raised its idle power when it started, and what
 * came with a change of the driver, a setting or the slot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "past/past_usual.h"

enum { BEFORE_MS = HOUR_MS, AFTER_MS = 6 * HOUR_MS, PROCESS_RUNS_MAX = 64, ROWS_MAX = 7 * 60 + 2 };

struct quiet_span {
    int64_t from, came, until; /* range without other processes starting or ending */
    int64_t id;
};

struct rows {
    struct baseline_row list[ROWS_MAX];
    size_t count;
};

struct alive {
    struct store_process_run list[BASELINE_STEPS];
    size_t count;
};

static int take_alive(void *user, const struct store_process_run *run)
{
    struct alive *a = user;
    if (!run->ended && a->count < BASELINE_STEPS)
        a->list[a->count++] = *run;
    return 0;
}

static void narrow(struct quiet_span *s, int64_t at_ms)
{
    if (at_ms <= s->came)
        s->from = MAX_OF(s->from, at_ms);
    else
        s->until = MIN_OF(s->until, at_ms);
}

static int take_other(void *user, const struct store_process_run *run)
{
    struct quiet_span *s = user;
    if (run->id == s->id)
        return 0;
    narrow(s, run->first_seen.ms);
    if (run->ended)
        narrow(s, run->last_seen.ms);
    return 0;
}

static int idle_steps_take_row(void *user, const struct store_point *point)
{
    struct rows *r = user;
    const struct aggregate *power = &point->values[0], *util = &point->values[1];
    if (power->count && util->count && r->count < ROWS_MAX)
        r->list[r->count++] = (struct baseline_row){.at = point->at,
                                                    .minutes = 1,
                                                    .power_mw = reading_ok(power->sum / power->count),
                                                    .util_permille = reading_ok(util->sum / util->count)};
    return 0;
}

static int step_of(struct store *s, const struct store_process_run *run, struct wall until, struct rows *rows, struct baseline *ret,
                   struct error *err)
{
    struct quiet_span span = {.from = run->first_seen.ms - BEFORE_MS,
                              .came = run->first_seen.ms,
                              .until = MIN_OF(until.ms, run->first_seen.ms + AFTER_MS),
                              .id = run->id};
    const size_t columns[] = {(size_t)series_find(SERIES_GPU, "power_mw"), (size_t)series_find(SERIES_GPU, "util_permille")};
    const struct store_span others = {
        .gpu_id = run->gpu_id, .since_ms = span.from, .until_ms = span.until, .in_order = true, .limit = 100000};
    int rc = store_process_runs(s, &others, take_other, &span, err);
    if (rc < 0 || span.from >= span.came || span.until <= span.came)
        return rc < 0 ? rc : 0;
    const struct store_plot plot = {.series = SERIES_GPU,
                                    .subject = run->gpu_id,
                                    .since_ms = span.from / MINUTE_MS * MINUTE_MS,
                                    .until_ms = span.until,
                                    .step_ms = MINUTE_MS,
                                    .columns = columns,
                                    .column_count = ARRAY_LEN(columns)};
    rows->count = 0;
    rc = store_series(s, &plot, idle_steps_take_row, rows, err);
    struct baseline_step step = {.pid = run->process.pid, .since = run->first_seen};
    if (rc == 0 && baseline_step(rows->list, rows->count, span.from, span.came, span.until, &step))
        ret->steps[ret->step_count++] = step;
    return rc;
}

int past_idle_steps(struct store *s, int64_t gpu_id, struct wall until, struct baseline *ret, struct error *err)
{
    AUTO_FREE struct alive *alive = calloc(1, sizeof *alive);
    AUTO_FREE struct rows *rows = calloc(1, sizeof *rows);
    if (!alive || !rows)
        return error_set(err, -ENOMEM, "out of memory");
    /* Without minutes around its start, nothing is known about a process. */
    const struct store_span now = {
        .gpu_id = gpu_id, .since_ms = until.ms - 5 * MINUTE_MS, .until_ms = until.ms + MINUTE_MS, .limit = PROCESS_RUNS_MAX};
    int rc = store_process_runs(s, &now, take_alive, alive, err);
    for (size_t i = 0; i < alive->count && rc == 0; i++)
        if (alive->list[i].first_seen.ms - BEFORE_MS >= store_horizon(s, SERIES_GPU, LEVEL_MINUTE))
            rc = step_of(s, &alive->list[i], until, rows, ret, err);
    return rc;
}

/* ---- changes ---- */

enum { MEASURED_MAX = 16, CHANGE_ROWS_MAX = 2 * CHANGE_AROUND_MS / 60000 + 2, ONE_BOOT_MS = 600000 };

struct changes_of {
    struct changes *list;
    int64_t ids[CHANGES_MAX]; /* of the GPUs, side by side */
    int64_t only, since_ms;
    size_t gpu_count;
    struct known_values {
        int64_t id;
        struct gpu_id identity;
        int index;
        char last[CHANGE_COUNT][CHANGE_VALUE_SIZE];
    } gpus[GPU_MAX];
};

static int changes_note_gpu(void *user, const struct store_gpu *gpu)
{
    struct changes_of *c = user;
    if (c->gpu_count < GPU_MAX && (!c->only || c->only == gpu->id))
        c->gpus[c->gpu_count++] = (struct known_values){.id = gpu->id, .identity = gpu->identity, .index = gpu->index};
    return 0;
}

static void note_change(struct changes_of *c, const struct known_values *gpu, const struct gpu_change *change)
{
    if (c->list->count == CHANGES_MAX)
        memmove(&c->ids[0], &c->ids[1], (CHANGES_MAX - 1) * sizeof c->ids[0]);
    changes_add(c->list, change);
    c->ids[c->list->count - 1] = gpu->id;
}

/* A value that is other than the one before it. */
static int changes_take_fact(void *user, int64_t gpu_id, struct wall since, const char *key, const char *value)
{
    struct changes_of *c = user;
    size_t at = 0, code = 0;
    while (at < c->gpu_count && c->gpus[at].id != gpu_id)
        at++;
    while (code < CHANGE_COUNT && strcmp(change_key((enum change_code)code), key) != 0)
        code++;
    if (at == c->gpu_count || code == CHANGE_COUNT)
        return 0;
    struct gpu_change change = {
        .id = c->gpus[at].identity, .gpu_index = c->gpus[at].index, .code = (enum change_code)code, .since = since};
    str_copy(change.before, sizeof change.before, str_from(c->gpus[at].last[code]));
    str_copy(change.after, sizeof change.after, str_from(value));
    if (change.before[0] && strcmp(change.before, change.after) != 0 && since.ms >= c->since_ms)
        note_change(c, &c->gpus[at], &change);
    str_copy(c->gpus[at].last[code], CHANGE_VALUE_SIZE, str_from(change.after));
    return 0;
}

static int read_changes(struct store *s, const char *host, struct wall until, struct changes_of *c, struct error *err)
{
    int rc = store_known_gpus(s, host, changes_note_gpu, c, err);
    return rc < 0 ? rc : store_facts(s, host, until.ms, changes_take_fact, c, err);
}

int past_changes_within(struct store *s, const char *host, int64_t gpu_id, struct wall since, struct wall until,
                        struct changes *ret, struct error *err)
{
    AUTO_FREE struct changes_of *c = calloc(1, sizeof *c);
    *ret = (struct changes){0};
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    c->list = ret;
    c->only = gpu_id;
    c->since_ms = since.ms;
    return read_changes(s, host, until, c, err);
}

/* ---- what came with it ---- */

struct change_rows {
    size_t count;
    struct change_row list[CHANGE_ROWS_MAX];
};

static int changes_take_row(void *user, const struct store_point *point)
{
    struct change_rows *r = user;
    const struct aggregate *power = &point->values[0], *util = &point->values[1], *lanes = &point->values[2];
    struct change_row row = {.at = point->at};
    if (power->count)
        row.power_mw = reading_ok(power->sum / power->count);
    if (util->count)
        row.util_permille = reading_ok(util->sum / util->count);
    if (lanes->count)
        row.lanes = reading_ok(lanes->max);
    if (r->count < CHANGE_ROWS_MAX)
        r->list[r->count++] = row;
    return 0;
}

/* Another change before or after it would be measured with it. */
static void narrow_to_neighbors(const struct changes_of *c, size_t which, int64_t *since_ms, int64_t *until_ms)
{
    int64_t at = c->list->list[which].since.ms;
    for (size_t i = 0; i < c->list->count; i++) {
        int64_t other = c->list->list[i].since.ms;
        if (c->ids[i] != c->ids[which])
            continue;
        if (other < at - ONE_BOOT_MS)
            *since_ms = MAX_OF(*since_ms, other);
        if (other > at + ONE_BOOT_MS)
            *until_ms = MIN_OF(*until_ms, other);
    }
}

static int measure(struct store *s, const struct changes_of *c, size_t which, struct wall until, struct change_rows *rows,
                   struct error *err)
{
    struct gpu_change *change = &c->list->list[which];
    static const unsigned char wanted[] = {0, 0, WANTS_MAX};
    const size_t columns[] = {(size_t)series_find(SERIES_GPU, "power_mw"), (size_t)series_find(SERIES_GPU, "util_permille"),
                              (size_t)series_find(SERIES_GPU, "pcie_width")};
    int64_t since_ms = MAX_OF(change->since.ms - CHANGE_AROUND_MS, store_horizon(s, SERIES_GPU, LEVEL_MINUTE));
    int64_t until_ms = MIN_OF(change->since.ms + CHANGE_AROUND_MS, until.ms);
    narrow_to_neighbors(c, which, &since_ms, &until_ms);
    const struct store_plot plot = {.series = SERIES_GPU,
                                    .subject = c->ids[which],
                                    .since_ms = since_ms / MINUTE_MS * MINUTE_MS,
                                    .until_ms = until_ms,
                                    .step_ms = MINUTE_MS,
                                    .columns = columns,
                                    .column_count = ARRAY_LEN(columns),
                                    .wanted = wanted};
    rows->count = 0;
    if (since_ms >= until_ms)
        return 0;
    int rc = store_series(s, &plot, changes_take_row, rows, err);
    if (rc == 0)
        change_measure(change, rows->list, rows->count);
    return rc;
}

int past_changes(struct store *s, const char *host, struct wall until, struct changes *ret, struct error *err)
{
    AUTO_FREE struct changes_of *c = calloc(1, sizeof *c);
    AUTO_FREE struct change_rows *rows = malloc(sizeof *rows);
    *ret = (struct changes){0};
    if (!c || !rows)
        return error_set(err, -ENOMEM, "out of memory");
    c->list = ret;
    c->since_ms = until.ms - CHANGES_DAYS * DAY_MS;
    int rc = read_changes(s, host, until, c, err);
    size_t first = ret->count > MEASURED_MAX ? ret->count - MEASURED_MAX : 0;
    for (size_t i = first; rc == 0 && i < ret->count; i++)
        rc = measure(s, c, i, until, rows, err);
    return rc;
}
