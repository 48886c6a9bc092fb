/* SPDX-License-Identifier: Apache-2.0
 * PostgreSQL keeps samples in one table a day, so that old ones go with the table they are in. SQLite knows nothing of it.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "store/internal.h"

#define DAY_MS 86400000LL

enum { DAYS_AHEAD = 3 };

/* samples_2026_11_15: in the order of their names, they are in the order of time. */
static void name_of(enum series series, int64_t day, char name[PARTITION_NAME_SIZE])
{
    char text[WALL_TEXT_SIZE];
    wall_format((struct wall){day * DAY_MS}, text);
    snprintf(name, PARTITION_NAME_SIZE, "%s_%.4s_%.2s_%.2s", series_table(series, LEVEL_RAW), text, text + 5, text + 8);
}

static int is_there(struct db *db, enum series series, const char *name, bool *ret, struct error *err)
{
    char sql[320];
    int64_t count;
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '%s'::regclass "
             "AND c.relname = '%s'",
             series_table(series, LEVEL_RAW), name);
    int rc = db_query_i64(db, sql, 0, &count, err);
    *ret = count > 0;
    return rc;
}

/* The table is made beside the others and then attached: unlike PARTITION OF, that does not wait for whoever is reading. */
int partition_make(struct db *db, enum series series, int64_t day, struct error *err)
{
    char name[PARTITION_NAME_SIZE];
    const char *parent = series_table(series, LEVEL_RAW);
    bool there;
    name_of(series, day, name);
    int rc = is_there(db, series, name, &there, err);
    if (rc < 0 || there)
        return rc;
    rc = schema_lock(db, err);
    if (rc == 0)
        rc = is_there(db, series, name, &there, err); /* another host may have been faster */
    if (rc < 0 || there)
        return rc;
    return db_execf(db, err,
                    "CREATE TABLE IF NOT EXISTS %s (LIKE %s INCLUDING ALL);"
                    "ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (to_timestamp(%lld)) TO (to_timestamp(%lld))",
                    name, parent, parent, name, (long long)(day * DAY_MS / MS_PER_S), (long long)((day + 1) * DAY_MS / MS_PER_S));
}

/* The days to come are made ahead of time, as far as that is possible now. */
static int make_ahead(struct store *s, enum series series, int64_t day, struct error *err)
{
    int rc = db_exec(s->db, "SAVEPOINT ahead", err);
    if (rc < 0)
        return rc;
    for (int64_t i = 1; rc == 0 && i <= DAYS_AHEAD; i++)
        rc = partition_make(s->db, series, day + i, err);
    if (rc == -ENOTCONN)
        return rc;
    return db_exec(s->db, rc < 0 ? "ROLLBACK TO SAVEPOINT ahead" : "RELEASE SAVEPOINT ahead", err);
}

int partition_ready(struct store *s, enum series series, int64_t at_ms, struct error *err)
{
    int64_t day = at_ms / DAY_MS;
    if (s->db->ops->kind != DB_POSTGRES || s->partition_day[series] == day)
        return 0;
    int rc = partition_make(s->db, series, day, err);
    if (rc == 0)
        rc = make_ahead(s, series, day, err);
    if (rc == 0)
        s->partition_day[series] = day;
    return rc;
}

int partition_oldest(struct store *s, enum series series, int64_t cut_ms, char name[PARTITION_NAME_SIZE], struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    char sql[256], kept[PARTITION_NAME_SIZE];
    const char *parent = series_table(series, LEVEL_RAW);
    name[0] = '\0';
    snprintf(sql, sizeof sql,
             "SELECT MIN(c.relname::text) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = "
             "'%s'::regclass AND c.relname ~ '^%s_[0-9]{4}_[0-9]{2}_[0-9]{2}$'",
             parent, parent);
    int rc = db_prepare(s->db, sql, &q, err);
    if (rc == 0)
        rc = db_step(q, err);
    if (rc != 1)
        return rc;
    if (!db_is_null(q, 0))
        str_copy(name, PARTITION_NAME_SIZE, db_text(q, 0));
    db_reset(q);
    name_of(series, cut_ms / DAY_MS, kept);
    if (strcmp(name, kept) >= 0)
        name[0] = '\0';
    return 0;
}

int partition_drop(struct store *s, const char *name, struct error *err)
{
    int rc = schema_lock(s->db, err);
    memset(s->partition_day, 0xff, sizeof s->partition_day);
    return rc < 0 ? rc : db_execf(s->db, err, "DROP TABLE IF EXISTS %s", name);
}
