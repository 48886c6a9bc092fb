/* SPDX-License-Identifier: Apache-2.0
 * Memory, load and energy of processes over time, from their minutes. Means cover the time in which their GPU was watched: a
 * minute without the process counts as zero, so that the processes of a GPU add up to no more than the GPU itself; a minute that
 * was not recorded does not count.
 */

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "store/internal.h"
#include "store/query.h"

enum { SQL_MAX = 1 << 15, RUN_LOOKUPS_MAX = 500 };

/* known: samples of the GPU in that minute, once it is summed up. Samples of a run without a reading count with the mean of its
 * others. */
static const char by_minute[] = "SELECT minute, MAX(known), MAX(samples), SUM(memory), SUM(memory_most), SUM(sm), SUM(energy), "
                                "MAX(seen_ms), MAX(limit_code), SUM(generated), SUM(prompt), SUM(running) FROM (";
static const char of_gpu[] = "SELECT c.id & 4294967295 AS minute, c.samples AS known, 0 AS samples, NULL AS memory, NULL AS "
                             "memory_most, NULL AS sm, 0 AS energy, 0 AS seen_ms, NULL AS limit_code, NULL AS generated, NULL AS "
                             "prompt, NULL AS running FROM minutes c WHERE c.id >= %lld AND c.id < "
                             "%lld";
static const char of_runs[] =
    "SELECT m.minute AS minute, 0 AS known, m.samples AS samples, CASE WHEN m.memory_count > 0 THEN m.memory_sum_bytes * m.samples "
    "/ m.memory_count END AS memory, m.memory_max_bytes AS memory_most, CASE WHEN m.sm_count > 0 THEN m.sm_sum_permille * "
    "m.samples "
    "/ m.sm_count END AS sm, m.energy_mj AS energy, p.last_seen_ms AS seen_ms, m.limit_code, m.generated_tokens AS generated, "
    "m.prompt_tokens AS prompt, CASE WHEN m.samples > 0 THEN "
    /* CROSS JOIN keeps SQLite to this order: a GPU has had more runs than a plot has minutes. */
    "m.running_sum * 1000 / m.samples END AS running FROM process_minutes m CROSS JOIN processes p CROSS JOIN gpus g CROSS JOIN "
    "hosts h WHERE m.minute >= $1 AND m.minute < $2 AND p.id = m.process_id AND g.id = p.gpu_id AND h.id = g.host_id";

/* The step whose minutes are being read. */
struct process_step {
    int64_t at; /* time / step; -1: none yet */
    bool there; /* some run had a minute in it */
    bool known[PROCESS_COLUMNS];
    struct aggregate values[PROCESS_COLUMNS];
    uint32_t limits[LIMIT_COUNT]; /* minutes */
};

/* Adds the mean of one minute, weighted by `samples` of the GPU. */
static void add_mean(struct process_step *step, enum process_column column, int64_t mean, int64_t max, int64_t samples)
{
    const struct series_column plain = {.scale = 1};
    const struct aggregate minute = {mean * samples, mean, max, samples};
    aggregate_join(&step->values[column], &plain, &minute);
}

/* The watched length of a minute: all of it once the GPU's minute is summed up; else up to the last sample of its processes.
 * Energy is booked to the minute in which it was used, so this is its divisor. */
static int64_t watched_ms(int64_t known, int64_t minute, int64_t seen_ms)
{
    return known > 0 ? MINUTE_MS : MIN_OF(seen_ms - minute * MINUTE_MS, (int64_t)MINUTE_MS);
}

static void add_reported(struct process_step *step, struct db_statement *q, int from, enum process_column column, int64_t per_ms)
{
    if (db_is_null(q, from))
        return;
    int64_t value = per_ms ? (int64_t)((double)db_i64(q, from) * 1000 * MS_PER_S / (double)per_ms) : db_i64(q, from);
    add_mean(step, column, value, value, 1);
    step->known[column] = true;
}

static void add_minute(struct process_step *step, struct db_statement *q)
{
    int64_t minute = db_i64(q, 0), known = db_i64(q, 1), own = db_i64(q, 2), energy = db_i64(q, 6);
    int64_t samples = MAX_OF(known, own), passed_ms = watched_ms(known, minute, db_i64(q, 7));
    bool there = own > 0 || energy > 0, memory = !db_is_null(q, 3), sm = !db_is_null(q, 5);
    if (samples <= 0)
        return;
    step->there |= there;
    struct str limits = db_text(q, 8);
    for (struct store_limit one; store_next_limit(&limits, &one);)
        step->limits[one.limit]++;
    int64_t held = memory ? db_i64(q, 3) / samples : 0, share = sm ? db_i64(q, 5) / samples : 0;
    add_mean(step, PROCESS_MEMORY_BYTES, held, memory ? db_i64(q, 4) : 0, samples);
    add_mean(step, PROCESS_SM_PERMILLE, share, share, samples);
    step->known[PROCESS_MEMORY_BYTES] |= memory;
    step->known[PROCESS_SM_PERMILLE] |= sm;
    if (there) {
        const struct series_column plain = {.scale = 1};
        aggregate_join(&step->values[PROCESS_ENERGY_MJ], &plain, &(struct aggregate){energy, energy, energy, 1});
        step->known[PROCESS_ENERGY_MJ] = true;
    }
    /* No power from the first seconds of a minute: they are too short for a mean. */
    if (passed_ms < PASSED_MIN_MS)
        return;
    int64_t power = energy * MS_PER_S / passed_ms;
    add_mean(step, PROCESS_POWER_MW, power, power, samples);
    step->known[PROCESS_POWER_MW] |= there;
    add_reported(step, q, 9, PROCESS_TOKENS_MILLI, passed_ms);
    add_reported(step, q, 10, PROCESS_PROMPT_MILLI, passed_ms);
    add_reported(step, q, 11, PROCESS_RUNNING_MILLI, 0);
}

static int end_step(struct process_step *step, int64_t step_ms, store_point_fn *each, void *user)
{
    for (int i = 0; i < PROCESS_COLUMNS; i++)
        if (!step->known[i])
            step->values[i] = (struct aggregate){0};
    struct store_point point = {.at = {step->at * step_ms}, .values = step->values};
    for (int i = LIMIT_UNJUDGED + 1; i < LIMIT_COUNT; i++)
        if (step->limits[i] > step->limits[point.limit])
            point.limit = (enum limit)i;
    return step->there ? each(user, &point) : 0;
}

/* Lists the IDs of the selected runs. If they are few, their minutes are looked up; otherwise all minutes are read. */
static int which_runs(struct store *s, const struct store_process_plot *plot, struct buf *list, size_t *count, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    buf_text(&sql, "SELECT p.id FROM processes p JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id "
                   "WHERE p.last_seen_ms >= $1 AND p.first_seen_ms < $2");
    store_which_runs(s->db->ops->kind, &plot->runs, 3, &sql);
    buf_printf(&sql, " LIMIT %d", RUN_LOOKUPS_MAX + 1);
    int rc = db_prepare_text(s->db, &sql, &q, err);
    if (rc < 0)
        return rc;
    /* A run may begin or end in another part of the first and the last step, or have its first energy in the minute before its
     * first sample. */
    int64_t around_ms = MAX_OF(plot->step_ms, (int64_t)HOUR_MS);
    db_bind_i64(q, 1, plot->since_ms - around_ms);
    db_bind_i64(q, 2, plot->until_ms + around_ms);
    store_bind_runs(q, &plot->runs, 3);
    while ((rc = db_step(q, err)) == 1)
        buf_printf(list, "%s%lld", (*count)++ ? ", " : "", (long long)db_i64(q, 0));
    return rc;
}

static int prepare_minutes(struct store *s, const struct store_process_plot *plot, const char *runs, struct db_statement **ret,
                           struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    /* Steps of whole hours read whole hours of the GPU, so read whole hours of its processes, too. */
    int64_t whole_ms = plot->step_ms >= HOUR_MS && plot->step_ms % HOUR_MS == 0 ? HOUR_MS : MINUTE_MS, gpu_id = plot->runs.gpu_id;
    int64_t from = plot->since_ms / whole_ms * (whole_ms / MINUTE_MS);
    int64_t to = (plot->until_ms + whole_ms - 1) / whole_ms * (whole_ms / MINUTE_MS);
    buf_text(&sql, by_minute);
    if (gpu_id) {
        buf_printf(&sql, of_gpu, (long long)bucket_key(gpu_id, from), (long long)bucket_key(gpu_id, to));
        parts_among(s->db->ops->kind, LEVEL_MINUTE, "c", from, to, &sql);
        buf_text(&sql, " UNION ALL ");
    }
    buf_text(&sql, of_runs);
    if (runs)
        buf_printf(&sql, " AND m.process_id IN (%s)", runs);
    store_which_runs(s->db->ops->kind, &plot->runs, 3, &sql);
    buf_text(&sql, ") AS t GROUP BY minute ORDER BY minute");
    int rc = db_prepare_between(s->db, &sql, from, to, ret, err);
    if (rc < 0)
        return rc;
    store_bind_runs(*ret, &plot->runs, 3);
    return 0;
}

int store_process_series(struct store *s, const struct store_process_plot *plot, store_point_fn *each, void *user,
                         struct error *err)
{
    AUTO_BUF struct buf runs = BUF(SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    size_t count = 0;
    int rc = which_runs(s, plot, &runs, &count, err);
    if (rc == 0 && count > 0)
        rc = prepare_minutes(s, plot, count <= RUN_LOOKUPS_MAX ? runs.at : NULL, &q, err);
    if (rc < 0 || count == 0)
        return rc;
    struct process_step step = {.at = -1};
    int64_t step_ms = MAX_OF(plot->step_ms, (int64_t)MINUTE_MS);
    while ((rc = db_step(q, err)) == 1) {
        int64_t at = db_i64(q, 0) * MINUTE_MS / step_ms;
        if (at != step.at) {
            rc = end_step(&step, step_ms, each, user);
            if (rc != 0)
                break;
            step = (struct process_step){.at = at};
        }
        add_minute(&step, q);
    }
    if (rc == 0)
        rc = end_step(&step, step_ms, each, user);
    db_reset(q);
    return rc < 0 ? rc : 0;
}
