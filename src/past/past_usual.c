/* SPDX-License-Identifier: Apache-2.0
 * What is usual for a GPU: recent minutes, and the hours before them, pass to the learner row by row. And steps in its course: how
 * much each process raised its idle power when it started, and what came with a change of the driver, a setting or the slot.
 */
#include "past/past_usual.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "insight/baseline/serving_usual.h"
#include "store/query.h"

/* ---- what each process added to idle power ---- */

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

/* Adds by how much each running process raised the GPU's idle power when it started, if that was measured. */
static int past_idle_steps(struct store *s, int64_t gpu_id, struct wall until, struct baseline *ret, struct error *err)
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
    const struct aggregate *lanes = &point->values[2];
    struct change_row row = {
        .at = point->at, .power_mw = aggregate_mean(&point->values[0]), .util_permille = aggregate_mean(&point->values[1])};
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

/* ---- usual values ---- */

enum { REACH_DAYS = 400 };
/* Keeps a query below QUERY_POINTS_MAX. */
enum { POINTS_MAX = 6 * 1440 };
/* GPUs to learn about together: each takes memory meanwhile. */
enum { AT_ONCE = 8 };
/* As many minutes as can be read quickly, whatever is stored: three months for one GPU, twice the required days for eight.
 * Steady work, typical of many GPUs, shows in hours just as well. */
enum { MINUTES_MAX = 90 * 1440, MINUTES_DAYS_LEAST = 2 * BASELINE_DAYS_NEEDED };

enum { POWER, LIMIT, TEMP, FAN, UTIL, CLOCK_GRAPHICS, CLOCK_MEMORY, COLUMNS };
static const char *const column_names[COLUMNS] = {[POWER] = "power_mw",
                                                  [LIMIT] = "power_limit_mw",
                                                  [TEMP] = "temp_mdegc",
                                                  [FAN] = "fan_permille",
                                                  [UTIL] = "util_permille",
                                                  [CLOCK_GRAPHICS] = "clock_graphics_khz",
                                                  [CLOCK_MEMORY] = "clock_memory_khz"};

static const unsigned char wanted[COLUMNS] = {[POWER] = WANTS_MIN | WANTS_MAX};

/* One GPU. */
struct usual_course {
    struct store *s;
    struct baseline_learner *learner;
    struct store_gpu gpu;
    int64_t host_id, zone_ms;
    int64_t learned_ms;   /* learned up to here */
    int64_t minutes_from; /* from hours up to here, then from minutes */
    size_t air_next;
    int64_t concluded_ms;
    struct baselines *known; /* about this GPU only */
};

/* GPUs of one host with equal progress, while more is read about them. */
struct learning {
    struct usual_course *list;
    size_t count;
    int minutes; /* that a point represents */
    struct air {
        int64_t at_ms, mdegc;
    } * air; /* ambient temperature for the current piece, oldest first; NULL: unknown */
    size_t air_count;
    struct error *err;
};

enum { AIR_MAX = POINTS_MAX + 2 };

static int take_air(void *user, const struct store_point *point)
{
    struct learning *l = user;
    const struct aggregate *a = &point->values[0];
    if (a->count && l->air_count < AIR_MAX)
        l->air[l->air_count++] = (struct air){point->at.ms, a->sum / a->count};
    return 0;
}

/* Points of both are in order of time, with the same steps. */
static struct reading air_at(const struct learning *l, struct usual_course *c, int64_t at_ms)
{
    while (c->air_next < l->air_count && l->air[c->air_next].at_ms < at_ms)
        c->air_next++;
    return c->air_next < l->air_count && l->air[c->air_next].at_ms == at_ms ? reading_ok(l->air[c->air_next].mdegc)
                                                                            : reading_absent(READING_UNREAD);
}

static int take_point(void *user, const struct store_point *point)
{
    struct learning *l = user;
    const struct aggregate *v = point->values;
    struct usual_course *c = &l->list[point->place];
    const struct baseline_row row = {.at = point->at,
                                     .minutes = l->minutes,
                                     .power_mw = aggregate_mean(&v[POWER]),
                                     .power_min_mw = v[POWER].count ? reading_ok(v[POWER].min) : aggregate_mean(&v[POWER]),
                                     .power_max_mw = v[POWER].count ? reading_ok(v[POWER].max) : aggregate_mean(&v[POWER]),
                                     .power_limit_mw = aggregate_mean(&v[LIMIT]),
                                     .temp_mdegc = aggregate_mean(&v[TEMP]),
                                     .fan_permille = aggregate_mean(&v[FAN]),
                                     .util_permille = aggregate_mean(&v[UTIL]),
                                     .clock_graphics_khz = aggregate_mean(&v[CLOCK_GRAPHICS]),
                                     .clock_memory_khz = aggregate_mean(&v[CLOCK_MEMORY]),
                                     .ambient_mdegc = air_at(l, c, point->at.ms)};
    baseline_learn(c->learner, &row);
    return 0;
}

static int read_air(struct learning *l, const struct store_plot *of)
{
    size_t column = (size_t)series_find(SERIES_HOST, "ambient_temp_mdegc");
    struct store_plot plot = *of;
    plot.series = SERIES_HOST;
    plot.subjects = NULL;
    plot.subject = l->list[0].host_id;
    plot.columns = &column;
    plot.column_count = 1;
    plot.wanted = NULL;
    l->air_count = 0;
    for (size_t i = 0; i < l->count; i++)
        l->list[i].air_next = 0;
    if (!store_has(l->list[0].s, SERIES_HOST, column))
        return 0;
    l->air = l->air ? l->air : calloc(AIR_MAX, sizeof *l->air);
    return l->air ? store_series(l->list[0].s, &plot, take_air, l, l->err) : error_set(l->err, -ENOMEM, "out of memory");
}

static int learn_span(struct learning *l, int64_t since_ms, int64_t until_ms, int64_t step_ms)
{
    const int64_t piece_ms = POINTS_MAX * step_ms;
    int64_t subjects[AT_ONCE];
    size_t columns[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        columns[i] = (size_t)series_find(SERIES_GPU, column_names[i]);
    for (size_t i = 0; i < l->count; i++)
        subjects[i] = l->list[i].gpu.id;
    l->minutes = (int)(step_ms / MINUTE_MS);
    for (int64_t at = since_ms; at < until_ms; at += piece_ms) {
        const struct store_plot plot = {.series = SERIES_GPU,
                                        .subjects = subjects,
                                        .subject_count = l->count,
                                        .since_ms = at,
                                        .until_ms = MIN_OF(at + piece_ms, until_ms),
                                        .step_ms = step_ms,
                                        .columns = columns,
                                        .column_count = COLUMNS,
                                        .wanted = wanted};
        int rc = read_air(l, &plot);
        if (rc == 0)
            rc = store_series(l->list[0].s, &plot, take_point, l, l->err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Where minutes begin for that many GPUs. */
static int64_t first_minute(const struct store *s, struct wall until, size_t gpus)
{
    int64_t most_ms = MAX_OF(MINUTES_MAX / (int64_t)MAX_OF(gpus, (size_t)1) * MINUTE_MS, MINUTES_DAYS_LEAST * (int64_t)DAY_MS);
    int64_t from = MAX_OF(store_horizon(s, SERIES_GPU, LEVEL_MINUTE), until.ms - most_ms);
    return (from + HOUR_MS - 1) / HOUR_MS * HOUR_MS;
}

static void have_learned(struct learning *l, int64_t until_ms)
{
    for (size_t i = 0; i < l->count; i++)
        l->list[i].learned_ms = MAX_OF(l->list[i].learned_ms, until_ms);
}

/* Continues learning up to that time. */
static int learn_until(struct usual_course *list, size_t count, int64_t until_ms, struct error *err)
{
    struct learning l = {.list = list, .count = count, .err = err};
    int64_t hours_until = MIN_OF(until_ms / HOUR_MS * HOUR_MS, list->minutes_from);
    int rc = learn_span(&l, list->learned_ms, hours_until, HOUR_MS);
    have_learned(&l, hours_until);
    if (rc == 0 && until_ms > list->minutes_from) {
        rc = learn_span(&l, list->learned_ms, until_ms, MINUTE_MS);
        have_learned(&l, (until_ms + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS);
    }
    free(l.air);
    return rc;
}

static int conclude(struct usual_course *c, struct wall at, struct baseline *ret, struct error *err)
{
    baseline_conclude(c->learner, ret);
    ret->id = c->gpu.identity;
    return past_idle_steps(c->s, c->gpu.id, at, ret, err);
}

static int64_t zone_at(struct wall at)
{
    time_t seconds = (time_t)(at.ms / MS_PER_S);
    struct tm tm = {0};
    return localtime_r(&seconds, &tm) ? (int64_t)(timegm(&tm) - seconds) * MS_PER_S : 0;
}

static int usual_begin(struct usual_course *c, struct store *s, const struct store_gpu *gpu, size_t gpus, struct wall until,
                       struct error *err)
{
    struct store_host known = {0};
    *c = (struct usual_course){.s = s, .gpu = *gpu, .zone_ms = zone_at(until)};
    c->learner = baseline_learner_new(c->zone_ms);
    if (!c->learner)
        return error_set(err, -ENOMEM, "out of memory");
    /* Whole hours, so that no row is learned twice. */
    c->learned_ms = MAX_OF(gpu->first_seen.ms, until.ms - REACH_DAYS * (int64_t)DAY_MS) / HOUR_MS * HOUR_MS;
    c->minutes_from = MAX_OF(first_minute(s, until, gpus), c->learned_ms);
    int rc = store_find_host(s, gpu->host, &known, err);
    c->host_id = known.id;
    return rc;
}

/* ---- successive moments of a long span ---- */

int usual_course_new(struct store *s, const struct store_gpu *gpu, size_t gpus, struct wall until, struct usual_course **ret,
                     struct error *err)
{
    struct usual_course *c = malloc(sizeof *c);
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = usual_begin(c, s, gpu, gpus, until, err);
    c->known = rc == 0 ? calloc(1, sizeof *c->known) : NULL;
    if (rc == 0 && !c->known)
        rc = error_set(err, -ENOMEM, "out of memory");
    if (rc < 0) {
        usual_course_free(c);
        return rc;
    }
    c->known->zone_ms = c->zone_ms;
    *ret = c;
    return 0;
}

int usual_course_at(struct usual_course *c, struct wall at, const struct baselines **ret, struct error *err)
{
    int rc = 0;
    *ret = c->known;
    if (c->known->count && at.ms < c->concluded_ms + DAY_MS)
        return 0;
    rc = learn_until(c, 1, at.ms, err);
    if (rc == 0)
        rc = conclude(c, at, &c->known->list[0], err);
    c->known->count = 1;
    c->concluded_ms = at.ms;
    return rc;
}

void usual_course_free(struct usual_course *c)
{
    if (!c)
        return;
    baseline_learner_free(c->learner);
    free(c->known);
    free(c);
}

/* ---- one moment ---- */

struct usual_gpus {
    struct wall until;
    size_t count;
    struct store_gpu list[GPU_MAX];
};

static int usual_note_gpu(void *user, const struct store_gpu *gpu)
{
    struct usual_gpus *gpus = user;
    if (gpus->count < GPU_MAX && gpu->last_seen.ms >= gpus->until.ms - REACH_DAYS * (int64_t)DAY_MS)
        gpus->list[gpus->count++] = *gpu;
    return 0;
}

/* Learns about one group; `from` then points after it. */
static int conclude_group(struct store *s, const struct usual_gpus *gpus, size_t *from, size_t to, struct baselines *all,
                          struct error *err)
{
    struct usual_course list[AT_ONCE];
    size_t count = 0;
    int rc = 0;
    for (bool with = true; rc == 0 && with && count < AT_ONCE && *from < to;) {
        rc = usual_begin(&list[count], s, &gpus->list[*from], gpus->count, gpus->until, err);
        with = rc < 0 || (strcmp(list[count].gpu.host, list[0].gpu.host) == 0 && list[count].learned_ms == list[0].learned_ms);
        if (!with)
            baseline_learner_free(list[count].learner);
        *from += with;
        count += with;
    }
    if (rc == 0)
        rc = learn_until(list, count, gpus->until.ms, err);
    for (size_t i = 0; i < count; i++) {
        if (rc == 0)
            rc = conclude(&list[i], gpus->until, &all->list[all->count++], err);
        baseline_learner_free(list[i].learner);
    }
    return rc;
}

struct usual_share {
    const struct usual_gpus *gpus;
    size_t from, to;
    struct baselines *all;
};

static int conclude_share(struct store *s, void *user, struct error *err)
{
    struct usual_share *share = user;
    int rc = 0;
    while (rc == 0 && share->from < share->to)
        rc = conclude_group(s, share->gpus, &share->from, share->to, share->all, err);
    return rc;
}

/* Two connections handle half of the GPUs each. */
static int conclude_halves(struct store *s, const struct usual_gpus *gpus, struct baselines *all, struct error *err)
{
    size_t middle = (gpus->count + 1) / 2;
    struct usual_share first = {gpus, 0, middle, all}, second = {gpus, middle, gpus->count, calloc(1, sizeof *all)};
    AUTO_FREE struct baselines *rest = second.all;
    if (!rest)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = parallel_query_both(s, conclude_share, &first, conclude_share, &second, err);
    for (size_t i = 0; i < rest->count; i++)
        all->list[all->count++] = rest->list[i];
    return rc;
}

/* ---- models ---- */

static int take_serving(void *user, const struct store_serving_minute *m)
{
    struct serving_learner *l = user;
    int64_t samples = MAX_OF(m->samples, (int64_t)1), prompt; /* of all servers; dividing by it gives the value of one */
    struct serving_row row = {.at = {m->minute * MINUTE_MS},
                              .model = m->model,
                              .gpu_name = m->gpu_name,
                              .gpus = (int)(m->processes / m->servers),
                              .ms = MINUTE_MS,
                              .busy_ms = MINUTE_MS * m->running_samples / samples,
                              .request_ms = MINUTE_MS * m->running_sum / samples,
                              .generated_milli = m->generated_tokens * 1000 / m->servers,
                              .energy_uj = reading_ok(m->energy_mj * 1000 / m->servers)};
    if (reading_get(m->prompt_tokens, &prompt))
        row.prompt_milli = reading_ok(prompt * 1000 / m->servers);
    serving_learn(l, &row);
    return 0;
}

static void usual_forget(struct serving_learner **l)
{
    serving_learner_free(*l);
}

static int usual_of_models(struct store *s, const char *host, struct wall until, struct baselines *ret, struct error *err)
{
    CLEANUP(usual_forget) struct serving_learner *l = serving_learner_new(ret->zone_ms);
    if (!l)
        return error_set(err, -ENOMEM, "out of memory");
    /* Skip the current minute. */
    int rc = store_serving_minutes(s, host, (until.ms - SERVING_DAYS_MAX * (int64_t)DAY_MS) / MINUTE_MS, until.ms / MINUTE_MS,
                                   take_serving, l, err);
    if (rc == 0)
        serving_conclude(l, &ret->serving);
    return rc;
}

int past_usual(struct store *s, const char *host, struct wall until, struct baselines **ret, struct error *err)
{
    AUTO_FREE struct baselines *all = calloc(1, sizeof *all);
    AUTO_FREE struct usual_gpus *gpus = calloc(1, sizeof *gpus);
    if (!all || !gpus)
        return error_set(err, -ENOMEM, "out of memory");
    all->zone_ms = zone_at(until);
    gpus->until = until;
    int rc = store_gpus(s, host, usual_note_gpu, gpus, err);
    if (rc == 0 && gpus->count > 1 && parallel_query_is_faster(s))
        rc = conclude_halves(s, gpus, all, err);
    else if (rc == 0)
        rc = conclude_share(s, &(struct usual_share){gpus, 0, gpus->count, all}, err);
    if (rc == 0)
        rc = usual_of_models(s, host, until, all, err);
    if (rc == 0)
        rc = past_changes(s, host, until, &all->changes, err);
    if (rc < 0)
        return rc;
    *ret = TAKE(all);
    return 0;
}
