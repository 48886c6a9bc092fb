/* SPDX-License-Identifier: Apache-2.0
 * What processes held and used over time, from their minutes.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/internal.h"
#include "store/query.h"

enum { SQL_MAX = 1 << 15, MINUTE_MS = 60000, LIVES_LOOKED_UP = 500, PASSED_LEAST_MS = 20000 };

/* Lives that follow each other within a minute are joined as if they had run side by side for part of it: their samples are added,
 * and divided by those of the longest. */
static const char one_minute[] =
    "SELECT m.minute, SUM(m.memory_sum_bytes), MAX(m.memory_count), SUM(m.memory_max_bytes), SUM(m.sm_sum_permille), "
    "MAX(m.sm_count), SUM(m.energy_mj) FROM process_minutes m JOIN processes p ON p.id = m.process_id "
    "JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id WHERE m.minute >= $1 AND m.minute < $2";

/* The energy of a minute, spread over it. A minute that is not over is only spread over what has passed of it; of its beginning,
 * nothing is said, because a sample brings the energy since the one before. */
static struct aggregate power_of(int64_t energy_mj, int64_t minute, int64_t until_ms)
{
    int64_t passed_ms = MIN_OF(until_ms - minute * MINUTE_MS, (int64_t)MINUTE_MS);
    if (passed_ms < PASSED_LEAST_MS)
        return (struct aggregate){0};
    int64_t power = energy_mj * MS_PER_S / passed_ms;
    return (struct aggregate){power, power, power, 1};
}

static void read_minute(struct db_statement *q, int64_t until_ms, struct aggregate minute[PROCESS_COLUMNS])
{
    int64_t memory_count = db_i64(q, 2), sm_count = db_i64(q, 5), energy = db_i64(q, 6);
    for (int i = 0; i < PROCESS_COLUMNS; i++)
        minute[i] = (struct aggregate){0};
    if (memory_count > 0) {
        int64_t mean = db_i64(q, 1) / memory_count;
        minute[PROCESS_MEMORY_BYTES] = (struct aggregate){mean, mean, db_is_null(q, 3) ? mean : db_i64(q, 3), 1};
    }
    if (sm_count > 0) {
        int64_t mean = db_i64(q, 4) / sm_count;
        minute[PROCESS_SM_PERMILLE] = (struct aggregate){mean, mean, mean, 1};
    }
    minute[PROCESS_ENERGY_MJ] = (struct aggregate){energy, energy, energy, 1};
    minute[PROCESS_POWER_MW] = power_of(energy, db_i64(q, 0), until_ms);
}

/* The numbers of the lives that are meant. Where they are few, their minutes are looked up; else all minutes are read. */
static int which_lives(struct store *s, const struct store_process_plot *plot, struct buf *list, size_t *count, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    buf_text(&sql, "SELECT p.id FROM processes p JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id "
                   "WHERE p.last_seen_ms >= $1 AND p.first_seen_ms < $2");
    store_which_lives(s->db->ops->kind, &plot->lives, 3, &sql);
    buf_printf(&sql, " LIMIT %d", LIVES_LOOKED_UP + 1);
    int rc = sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_prepare(s->db, sql.at, &q, err);
    if (rc < 0)
        return rc;
    /* A life may have begun its minute before. */
    db_bind_i64(q, 1, plot->since_ms - MINUTE_MS);
    db_bind_i64(q, 2, plot->until_ms + MINUTE_MS);
    store_bind_lives(q, &plot->lives, 3);
    while ((rc = db_step(q, err)) == 1)
        buf_printf(list, "%s%lld", (*count)++ ? ", " : "", (long long)db_i64(q, 0));
    return rc;
}

int store_process_series(struct store *s, const struct store_process_plot *plot, store_point_fn *each, void *user,
                         struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX), lives = BUF(SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    size_t count = 0;
    int rc = which_lives(s, plot, &lives, &count, err);
    if (rc < 0 || count == 0)
        return rc;
    buf_text(&sql, one_minute);
    if (count <= LIVES_LOOKED_UP)
        buf_printf(&sql, " AND m.process_id IN (%s)", lives.at);
    store_which_lives(s->db->ops->kind, &plot->lives, 3, &sql);
    buf_text(&sql, " GROUP BY m.minute ORDER BY m.minute");
    rc = sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_prepare(s->db, sql.at, &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, plot->since_ms / MINUTE_MS);
    db_bind_i64(q, 2, (plot->until_ms + MINUTE_MS - 1) / MINUTE_MS);
    store_bind_lives(q, &plot->lives, 3);
    const struct series_column plain = {.scale = 1};
    struct aggregate step[PROCESS_COLUMNS] = {0}, minute[PROCESS_COLUMNS];
    int64_t step_ms = MAX_OF(plot->step_ms, (int64_t)MINUTE_MS), current = -1;
    while ((rc = db_step(q, err)) == 1) {
        int64_t at = db_i64(q, 0) * MINUTE_MS / step_ms;
        if (current >= 0 && at != current) {
            rc = each(user, &(struct store_point){.at = {current * step_ms}, .values = step});
            if (rc != 0)
                break;
            memset(step, 0, sizeof step);
        }
        current = at;
        read_minute(q, plot->until_ms, minute);
        for (int i = 0; i < PROCESS_COLUMNS; i++)
            aggregate_join(&step[i], &plain, &minute[i]);
    }
    if (rc == 0 && current >= 0)
        rc = each(user, &(struct store_point){.at = {current * step_ms}, .values = step});
    db_reset(q);
    return rc < 0 ? rc : 0;
}
