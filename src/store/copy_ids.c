/* SPDX-License-Identifier: Apache-2.0
 * Hosts and GPUs of the source in the destination: found there by name and identity, or added, with what is known of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/copy_tables.h"

static int by_source(const void *a, const void *b)
{
    const struct id_pair *one = a, *other = b;
    return (one->from > other->from) - (one->from < other->from);
}

int id_map_add(struct id_map *m, int64_t from, int64_t to, struct error *err)
{
    if (!ROOM_FOR_ONE(m->list, m->count, m->capacity, 64))
        return error_set(err, -ENOMEM, "out of memory");
    m->list[m->count++] = (struct id_pair){from, to};
    return 0;
}

bool id_map_find(const struct id_map *m, int64_t *id)
{
    const struct id_pair key = {*id, 0}, *found = m->count ? bsearch(&key, m->list, m->count, sizeof key, by_source) : NULL;
    if (found)
        *id = found->to;
    return found != NULL;
}

void id_map_sort(struct id_map *m)
{
    if (m->count)
        qsort(m->list, m->count, sizeof *m->list, by_source);
}

static void list_ids(const struct id_map *m, bool from, struct buf *out)
{
    buf_text(out, m->count ? "" : "-1");
    for (size_t i = 0; i < m->count; i++)
        buf_printf(out, "%s%lld", i ? ", " : "", (long long)(from ? m->list[i].from : m->list[i].to));
}

/* Puts the ID of a host or GPU that the destination knows into *ret, else that of a new one. */
static int find_or_insert(struct store *to, struct db_statement *find, struct db_statement *insert, int64_t *ret, struct error *err)
{
    int rc = db_step(find, err);
    struct db_statement *q = rc == 1 ? find : insert;
    if (rc == 0)
        rc = db_step(insert, err);
    if (rc != 1)
        return rc < 0 ? rc : error_set(err, -EIO, "the database gave it no number");
    *ret = db_i64(q, 0);
    db_reset(q);
    int64_t max = subject_max(to->db->ops->kind);
    return *ret <= max ? 0
                       : error_set(err, -EOVERFLOW, "more than %lld hosts or GPUs in one database: copy one host with --of",
                                   (long long)max);
}

static int note_seen(struct store *to, const char *table, int64_t id, int64_t first, int64_t last, struct error *err)
{
    return db_execf(to->db, err,
                    "UPDATE %s SET first_seen_ms = CASE WHEN first_seen_ms < %lld THEN first_seen_ms ELSE %lld END, last_seen_ms = "
                    "CASE WHEN last_seen_ms > %lld THEN last_seen_ms ELSE %lld END WHERE id = %lld",
                    table, (long long)first, (long long)first, (long long)last, (long long)last, (long long)id);
}

/* What a host keeps for how long, and what it knows of the time, unless it has said so there. */
static int copy_retention(struct copier *c, int64_t from, int64_t to, struct error *err)
{
    static const char columns[] =
        "raw_ms, minute_ms, hour_ms, process_ms, event_ms, now_ms, believed_ms, claim_ms, held_ms, alive_ms";
    AUTO_STATEMENT struct db_statement *q = NULL;
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT %s, ahead_ms FROM retention WHERE host_id = %lld", columns, (long long)from);
    int rc = db_prepare(c->from->db, sql, &q, err);
    if (rc == 0)
        rc = db_step(q, err);
    if (rc != 1)
        return rc;
    AUTO_BUF struct buf values = BUF(1024);
    for (int i = 0; i < 11; i++)
        buf_printf(&values, ", %lld", (long long)(db_is_null(q, i) ? 0 : db_i64(q, i)));
    db_reset(q);
    return db_execf(c->to->db, err,
                    "INSERT INTO retention (host_id, %s, ahead_ms) VALUES (%lld%s) ON CONFLICT (host_id) DO NOTHING", columns,
                    (long long)to, values.at);
}

static int copy_hosts(struct copier *c, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    const char *host = c->options->host;
    int rc = db_prepare(c->from->db,
                        host ? "SELECT id, name, first_seen_ms, last_seen_ms FROM hosts WHERE name = $1"
                             : "SELECT id, name, first_seen_ms, last_seen_ms FROM hosts ORDER BY id",
                        &q, err);
    if (rc == 0 && host)
        db_bind_text(q, 1, host);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct db_statement *find = store_statement(c->to, ST_HOST_FIND, err);
        struct db_statement *insert = find ? store_statement(c->to, ST_HOST_INSERT, err) : NULL;
        char name[HOST_NAME_SIZE];
        int64_t from = db_i64(q, 0), to;
        if (!insert)
            return err->code;
        str_copy(name, sizeof name, db_text(q, 1));
        db_bind_text(find, 1, name);
        db_bind_text(insert, 1, name);
        db_bind_i64(insert, 2, db_i64(q, 2));
        rc = find_or_insert(c->to, find, insert, &to, err);
        if (rc == 0)
            rc = note_seen(c->to, "hosts", to, db_i64(q, 2), db_i64(q, 3), err);
        if (rc == 0)
            rc = copy_retention(c, from, to, err);
        if (rc == 0)
            rc = id_map_add(&c->hosts, from, to, err);
    }
    if (rc == 0 && host && !c->hosts.count)
        return error_set(err, -ENODEV, "there is no host '%s' in it", host);
    id_map_sort(&c->hosts);
    list_ids(&c->hosts, true, &c->from_scope.hosts);
    list_ids(&c->hosts, false, &c->to_scope.hosts);
    return rc;
}

static int copy_gpu(struct copier *c, struct db_statement *q, struct error *err)
{
    struct db_statement *find = store_statement(c->to, ST_GPU_FIND, err);
    struct db_statement *insert = find ? store_statement(c->to, ST_GPU_INSERT, err) : NULL;
    char texts[5][IDENTITY_SIZE]; /* identity, uuid, pci_address, name, vendor */
    int64_t host = db_i64(q, 1), to;
    if (!insert)
        return err->code;
    id_map_find(&c->hosts, &host);
    db_bind_i64(find, 1, host);
    db_bind_i64(insert, 1, host);
    for (int i = 0; i < 5; i++) {
        str_copy(texts[i], sizeof texts[i], db_is_null(q, 2 + i) ? str_from("") : db_text(q, 2 + i));
        db_bind_word(insert, 2 + i, texts[i]);
    }
    db_bind_text(find, 2, texts[0]);
    for (int i = 0; i < 3; i++) /* gpu_index, first_seen_ms, simulated */
        db_bind_i64(insert, 7 + i, db_i64(q, 7 + i));
    int rc = find_or_insert(c->to, find, insert, &to, err);
    if (rc == 0)
        rc = note_seen(c->to, "gpus", to, db_i64(q, 8), db_i64(q, 10), err);
    return rc < 0 ? rc : id_map_add(&c->gpus, db_i64(q, 0), to, err);
}

static int copy_gpus(struct copier *c, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(COPY_SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    buf_printf(&sql,
               "SELECT id, host_id, identity, uuid, pci_address, name, vendor, gpu_index, first_seen_ms, simulated, last_seen_ms "
               "FROM gpus WHERE host_id IN (%s) ORDER BY id",
               c->from_scope.hosts.at);
    int rc = db_prepare_text(c->from->db, &sql, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1)
        rc = copy_gpu(c, q, err);
    id_map_sort(&c->gpus);
    list_ids(&c->gpus, true, &c->from_scope.gpus);
    list_ids(&c->gpus, false, &c->to_scope.gpus);
    return rc;
}

/* The columns of the source, and how far back it is whole. */
static int copy_schema(struct copier *c, struct error *err)
{
    int rc = 0;
    for (int series = 0; rc == 0 && series < SERIES_COUNT; series++) {
        size_t missing[SERIES_COLUMNS_MAX], count = 0;
        for (size_t i = 0; i < series_count((enum series)series); i++)
            if (c->from->schema.has[series][i] && !c->to->schema.has[series][i])
                missing[count++] = i;
        store_forget_columns(c->to);
        if (count)
            rc = schema_add_columns(&c->to->schema, (enum series)series, missing, count, err);
        if (rc == 0 && count)
            rc = schema_refresh_views(&c->to->schema, err);
        for (int level = 0; rc == 0 && level < LEVEL_COUNT; level++)
            rc = set_horizon(c->to, (enum series)series, (enum level)level, c->from->horizon_ms[series][level], err);
    }
    return rc;
}

int copy_prepare_destination(struct copier *c, struct error *err)
{
    int rc = db_begin(c->to->db, err);
    if (rc < 0)
        return rc;
    rc = schema_lock(c->to->db, err); /* numbers are given one at a time */
    if (rc == 0)
        rc = copy_hosts(c, err);
    if (rc == 0)
        rc = copy_gpus(c, err);
    if (rc == 0)
        rc = copy_schema(c, err);
    if (rc == 0)
        return db_commit(c->to->db, err);
    db_rollback(c->to->db);
    return rc;
}
