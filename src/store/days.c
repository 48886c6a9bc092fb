/* SPDX-License-Identifier: Apache-2.0
 * Hours of energy, summed up to days, on a server: makes reading a month of thousands of GPUs fast. A day is updated in the same
 * transaction as its hours. For a database older than this table, the host that cleans up adds one day after the other, newest
 * first; `days_from` in meta records its progress. Until then queries read hours.
 */
#include "base/cleanup.h"
#include "store/internal.h"

enum { HOURS_A_DAY = 24 };

static const struct {
    const char *days, *hours, *subject;
    const char *owner; /* SQL that joins the subject t to its GPU g */
} kinds[] = {
    {"energy_days", "energy_hours", "gpu_id", "JOIN gpus g ON g.id = t.gpu_id"},
    {"process_days", "process_hours", "process_id", "JOIN processes p ON p.id = t.process_id JOIN gpus g ON g.id = p.gpu_id"},
};

/* Summing up a whole day takes the lock exclusively; adding an hour to a day shares it. */
int days_begin(struct store *s, struct error *err)
{
    return s->db->ops->kind == DB_SQLITE ? 0 : db_exec(s->db, "SELECT pg_advisory_xact_lock_shared(7449749)", err);
}

int days_add_hour(struct store *s, int64_t host, int64_t hour, bool take_away, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && s->db->ops->kind == DB_POSTGRES && i < ARRAY_LEN(kinds); i++)
        rc = db_execf(
            s->db, err,
            "INSERT INTO %s AS d (day, %s, energy_mj) SELECT %lld, t.%s, %st.energy_mj FROM %s t %s WHERE t.hour = %lld AND "
            "g.host_id = %lld ON CONFLICT (day, %s) DO UPDATE SET energy_mj = d.energy_mj + excluded.energy_mj",
            kinds[i].days, kinds[i].subject, (long long)(hour / HOURS_A_DAY), kinds[i].subject, take_away ? "-" : "",
            kinds[i].hours, kinds[i].owner, (long long)hour, (long long)host, kinds[i].subject);
    return rc;
}

int days_from(struct store *s, int64_t *ret, struct error *err)
{
    return db_query_i64(s->db, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'days_from'", 0, ret, err);
}

static int sum_up(struct store *s, int64_t day, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(kinds); i++)
        rc =
            db_execf(s->db, err,
                     "DELETE FROM %s WHERE day = %lld; INSERT INTO %s (day, %s, energy_mj) SELECT %lld, %s, SUM(energy_mj) FROM %s "
                     "WHERE hour >= %lld AND hour < %lld GROUP BY 2",
                     kinds[i].days, (long long)day, kinds[i].days, kinds[i].subject, (long long)day, kinds[i].subject,
                     kinds[i].hours, (long long)(day * HOURS_A_DAY), (long long)((day + 1) * HOURS_A_DAY));
    return rc;
}

int days_fill(struct store *s, struct error *err)
{
    int64_t from = 0, oldest = 0, alone = 0;
    int rc = s->db->ops->kind == DB_POSTGRES ? days_from(s, &from, err) : 0;
    if (rc < 0 || from == 0)
        return rc;
    rc = db_query_i64(s->db, "SELECT LEAST((SELECT MIN(hour) FROM energy_hours), (SELECT MIN(hour) FROM process_hours))", INT64_MAX,
                      &oldest, err);
    if (rc == 0 && from * HOURS_A_DAY <= oldest)
        return db_exec(s->db, "DELETE FROM meta WHERE key = 'days_from'", err);
    if (rc == 0)
        rc = db_query_i64(s->db, "SELECT CASE WHEN pg_try_advisory_xact_lock(7449749) THEN 1 ELSE 0 END", 0, &alone, err);
    if (rc < 0 || !alone)
        return rc;
    rc = sum_up(s, from - 1, err);
    if (rc == 0)
        rc = db_execf(s->db, err, "UPDATE meta SET value = '%lld' WHERE key = 'days_from'", (long long)(from - 1));
    return rc < 0 ? rc : 1;
}
