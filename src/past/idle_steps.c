/* SPDX-License-Identifier: Apache-2.0
 * How much each process on a GPU raised its idle power when it started, from the minutes around that time.
 */
#include <errno.h>
#include <stdlib.h>

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
