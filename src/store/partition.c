/* SPDX-License-Identifier: Apache-2.0
 * The lifecycle of a server's partitions (schema/schema_parts.h): created before they are needed, found when they are old,
 * dropped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "store/internal.h"

/* Creates the partitions of the next periods ahead of time, as far as possible now. */
static int make_ahead(struct store *s, enum parted which, int64_t period_ms, struct error *err)
{
    const struct parted_table *t = &parted_tables[which];
    int rc = db_exec(s->db, "SAVEPOINT ahead", err);
    if (rc < 0)
        return rc;
    for (int64_t i = 1; rc == 0 && i <= t->ahead; i++)
        rc = parts_make(s->db, which, period_ms + i * t->days * DAY_MS, err);
    if (rc == -ENOTCONN)
        return rc;
    return db_exec(s->db, rc < 0 ? "ROLLBACK TO SAVEPOINT ahead" : "RELEASE SAVEPOINT ahead", err);
}

int partition_ready(struct store *s, enum parted which, int64_t at_ms, struct error *err)
{
    if (s->db->ops->kind != DB_POSTGRES)
        return 0;
    int64_t period_ms = parts_period(which, at_ms);
    if (s->partition_ms[which] == period_ms)
        return 0;
    int rc = parts_make(s->db, which, period_ms, err);
    if (rc == 0)
        rc = make_ahead(s, which, period_ms, err);
    if (rc == 0)
        s->partition_ms[which] = period_ms;
    return rc;
}

int partition_all_ready(struct store *s, int64_t at_ms, struct error *err)
{
    int rc = 0;
    for (int which = 0; rc == 0 && which < PARTED_COUNT; which++)
        rc = partition_ready(s, (enum parted)which, at_ms, err);
    return rc;
}

void partition_forget(struct store *s)
{
    memset(s->partition_ms, 0xff, sizeof s->partition_ms);
}

int partition_oldest(struct store *s, enum parted which, int64_t cut_ms, char name[PART_NAME_SIZE], struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    char sql[256], kept[PART_NAME_SIZE];
    const char *parent = parted_tables[which].name;
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
        str_copy(name, PART_NAME_SIZE, db_text(q, 0));
    db_reset(q);
    parts_name(which, parts_period(which, cut_ms), kept);
    if (strcmp(name, kept) >= 0)
        name[0] = '\0';
    return 0;
}

int partition_drop(struct store *s, const char *name, struct error *err)
{
    int rc = schema_lock(s->db, err);
    partition_forget(s);
    return rc < 0 ? rc : db_execf(s->db, err, "DROP TABLE IF EXISTS %s", name);
}

int partition_load(struct store *s, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    s->part_count = 0;
    if (s->db->ops->kind != DB_POSTGRES)
        return 0;
    /* A role that may read a table need not be allowed to read its partitions by name. Check the newest one only: checking each
     * takes longer than most queries. */
    int rc = db_prepare(s->db,
                        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = "
                        "i.inhparent AND p.relnamespace = c.relnamespace WHERE p.oid IN (SELECT to_regclass(t) FROM unnest(ARRAY["
                        "'samples', 'host_samples', 'minutes', 'host_minutes', 'hours', 'host_hours']) AS t) AND (SELECT "
                        "has_table_privilege(MAX(n.inhrelid), 'SELECT') FROM pg_inherits n WHERE n.inhparent = "
                        "to_regclass('minutes')) ORDER BY c.relname::text COLLATE \"C\"",
                        &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        if (!ROOM_FOR_ONE(s->parts, s->part_count, s->part_capacity, 64))
            return error_set(err, -ENOMEM, "out of memory");
        str_copy(s->parts[s->part_count++], PART_NAME_SIZE, db_text(q, 0));
        rc = 0;
    }
    return rc;
}

bool partition_lost(struct store *s, int rc)
{
    if (s->part_count == 0 || (rc != -ESTALE && rc != -EACCES))
        return false;
    s->part_count = 0;
    return true;
}

static int partition_by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool is_known(const struct store *s, const char *name)
{
    return s->part_count && bsearch(name, s->parts, s->part_count, PART_NAME_SIZE, partition_by_name);
}

size_t partition_newest(const struct store *s, enum parted which, const char *names[PARTS_RECENT])
{
    size_t count = 0, len = strlen(parted_tables[which].name);
    for (size_t i = s->part_count; i-- > 0 && count < PARTS_RECENT;)
        if (strncmp(s->parts[i], parted_tables[which].name, len) == 0 && s->parts[i][len] == '_' && s->parts[i][len + 1] == '2')
            names[count++] = s->parts[i];
    return count;
}

bool partition_find(const struct store *s, enum parted which, int64_t from_ms, int64_t *to_ms, char name[PART_NAME_SIZE])
{
    int64_t length_ms = parted_tables[which].days * DAY_MS, end_ms = parts_period(which, from_ms) + length_ms;
    if (s->part_count == 0)
        return false;
    parts_name(which, end_ms - length_ms, name);
    bool known = is_known(s, name);
    for (char next[PART_NAME_SIZE]; !known && end_ms < *to_ms; end_ms += length_ms) {
        parts_name(which, end_ms, next);
        if (is_known(s, next))
            break;
    }
    *to_ms = MIN_OF(*to_ms, end_ms);
    return known;
}
