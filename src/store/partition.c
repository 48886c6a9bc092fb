/* SPDX-License-Identifier: Apache-2.0
 * PostgreSQL keeps samples in one table a day, so that old ones go with the table they are in. SQLite knows nothing of it.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "store/internal.h"

#define DAY_MS 86400000LL

enum { DAYS_AHEAD = 3 };

/* A day is written with its number since 1970: samples_d20513. The table is made beside the others and then attached: unlike
 * PARTITION OF, that does not wait for whoever is reading. */
static int make(struct store *s, int64_t day, struct error *err)
{
    char sql[256];
    int64_t there;
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'samples'::regclass "
             "AND c.relname = 'samples_d%lld'",
             (long long)day);
    int rc = db_query_i64(s->db, sql, 0, &there, err);
    if (rc < 0 || there)
        return rc;
    rc = schema_lock(s->db, err);
    if (rc == 0)
        rc = db_query_i64(s->db, sql, 0, &there, err); /* another host may have been faster */
    if (rc < 0 || there)
        return rc;
    return db_execf(s->db, err,
                    "CREATE TABLE IF NOT EXISTS samples_d%lld (LIKE samples INCLUDING ALL);"
                    "ALTER TABLE samples ATTACH PARTITION samples_d%lld FOR VALUES FROM (%lld) TO (%lld)",
                    (long long)day, (long long)day, (long long)raw_key(day * DAY_MS, 0), (long long)raw_key((day + 1) * DAY_MS, 0));
}

/* The days to come are made ahead of time, as far as that is possible now. */
static int make_ahead(struct store *s, int64_t day, struct error *err)
{
    int rc = db_exec(s->db, "SAVEPOINT ahead", err);
    if (rc < 0)
        return rc;
    for (int64_t i = 1; rc == 0 && i <= DAYS_AHEAD; i++)
        rc = make(s, day + i, err);
    if (rc == -ENOTCONN)
        return rc;
    return db_exec(s->db, rc < 0 ? "ROLLBACK TO SAVEPOINT ahead" : "RELEASE SAVEPOINT ahead", err);
}

int partition_ready(struct store *s, int64_t at_ms, struct error *err)
{
    int64_t day = at_ms / DAY_MS;
    if (s->db->ops->kind != DB_POSTGRES || s->partition_day == day)
        return 0;
    int rc = make(s, day, err);
    if (rc == 0)
        rc = make_ahead(s, day, err);
    if (rc == 0)
        s->partition_day = day;
    return rc;
}

int partition_drop(struct store *s, int64_t cut_ms, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(s->db,
                        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
                        "WHERE i.inhparent = 'samples'::regclass ORDER BY length(c.relname), c.relname LIMIT 1",
                        &q, err);
    if (rc < 0)
        return rc;
    rc = db_step(q, err);
    if (rc != 1)
        return rc;
    char name[64];
    int64_t day;
    str_copy(name, sizeof name, db_text(q, 0));
    db_reset(q);
    if (!str_starts(str_from(name), "samples_d") || !str_to_i64(str_from(name + 9), &day) || (day + 1) * DAY_MS > cut_ms)
        return 0;
    rc = schema_lock(s->db, err);
    if (rc == 0)
        rc = db_execf(s->db, err, "DROP TABLE IF EXISTS %s", name);
    s->partition_day = -1;
    return rc < 0 ? rc : 1;
}
