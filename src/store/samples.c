/* SPDX-License-Identifier: Apache-2.0
 * Writes the row of a GPU or host at one moment, and adds the columns it needs.
 */
#include <stdio.h>

#include "base/buf.h"
#include "store/internal.h"

enum { SQL_MAX = 1 << 16 };

/* Adds columns for values that appear for the first time. */
static int make_columns(struct store *s, enum series series, const struct reading *readings, struct error *err)
{
    size_t missing[SERIES_COLUMNS_MAX], count = 0, all = series_count(series);
    for (size_t i = s->schema.count[series]; i < all; i++)
        if (readings[s->schema.place[series][i]].state == READING_OK)
            missing[count++] = s->schema.order[series][i];
    if (count == 0)
        return 0;
    store_forget_columns(s); /* no statement may keep the tables locked */
    int rc = schema_add_columns(&s->schema, series, missing, count, err);
    return rc < 0 ? rc : schema_refresh_views(&s->schema, err);
}

static int prepare_insert(struct store *s, enum series series, struct error *err)
{
    if (s->insert_sample[series])
        return 0;
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    bool gpu = series == SERIES_GPU;
    bool server = s->db->ops->kind == DB_POSTGRES;
    size_t next = gpu ? 3 : 2, count = s->schema.count[series];
    buf_printf(&sql, "INSERT INTO %s (%s%s", series_table(series, LEVEL_RAW), server ? "recorded_at" : "id",
               gpu ? ", gpu_index" : "");
    for (size_t i = 0; i < count; i++)
        buf_printf(&sql, ", %s", s->schema.columns[series][i].name);
    if (server)
        buf_printf(&sql, ", %s", raw_words(DB_POSTGRES, series)->subject);
    buf_printf(&sql, ") VALUES (%s%s", server ? "to_timestamp(CAST($1 AS BIGINT) / 1000.0)" : "$1", gpu ? ", $2" : "");
    for (size_t i = 0; i < count + server; i++)
        buf_printf(&sql, ", $%zu", i + next);
    buf_text(&sql, ") ON CONFLICT DO NOTHING");
    s->bound_count[series] = 0;
    return db_prepare_text(s->db, &sql, &s->insert_sample[series], err);
}

/* Binds the row, in column order, and copies it to s->bound. PostgreSQL's narrow columns hold 32 bits; no sane reading in them
 * needs more. SQLite keeps bound values: most readings of a GPU equal those of the previous row. */
static void bind_row(struct store *s, enum series series, const struct reading *readings, int at)
{
    struct db_statement *q = s->insert_sample[series];
    const struct series_column *columns = s->schema.columns[series];
    const size_t *place = s->schema.place[series];
    struct reading *row = s->bound[series];
    size_t count = s->schema.count[series], known = s->db->ops->kind == DB_SQLITE ? s->bound_count[series] : 0;
    for (size_t i = 0; i < count; i++) {
        struct reading now = readings[place[i]];
        if (now.value != (int32_t)now.value && !columns[i].wide)
            now.state = READING_FAILED;
        bool there = now.state == READING_OK;
        if (i < known && there == (row[i].state == READING_OK) && (!there || now.value == row[i].value))
            continue;
        row[i] = now;
        if (there)
            db_bind_i64(q, at + (int)i, now.value);
        else
            db_bind_null(q, at + (int)i);
    }
    s->bound_count[series] = count;
}

/* A server's round trips are too slow to try one moment after the other: query it, but only if needed. */
static int find_moment(struct store *s, enum series series, int64_t subject_id, int64_t *at_ms, struct error *err)
{
    struct db_statement **q = &s->find_raw[series];
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT 1 FROM %s WHERE recorded_at = to_timestamp(CAST($1 AS BIGINT) / 1000.0) AND %s = $2",
             series_table(series, LEVEL_RAW), raw_words(DB_POSTGRES, series)->subject);
    int rc = *q ? 0 : db_prepare(s->db, sql, q, err);
    for (int tries = 0; rc == 0 && tries < SAME_MOMENT_TRIES; tries++) {
        db_bind_i64(*q, 1, *at_ms);
        db_bind_i64(*q, 2, subject_id);
        rc = db_step(*q, err);
        if (rc == 0)
            return 0;
        db_reset(*q);
        if (rc == 1) {
            rc = 0;
            (*at_ms)++;
        }
    }
    return rc;
}

/* Writes the row of a GPU or host. Two rows of one subject can't share a moment: after a clock was set back, use the next free
 * millisecond. */
int write_sample(struct store *s, enum series series, const void *subject, int64_t subject_id, int64_t at_ms, struct error *err)
{
    const struct reading *readings = series_readings(series, subject);
    int rc = make_columns(s, series, readings, err);
    if (rc == 0)
        rc = partition_ready(s, parted_of(series, LEVEL_RAW), at_ms, err);
    if (rc == 0)
        rc = prepare_insert(s, series, err);
    if (rc < 0)
        return rc;
    struct db_statement *q = s->insert_sample[series];
    int at = 2;
    if (series == SERIES_GPU)
        db_bind_i64(q, at++, ((const struct gpu *)subject)->index);
    bind_row(s, series, readings, at);
    at += (int)s->schema.count[series];
    bool server = s->db->ops->kind == DB_POSTGRES;
    if (server)
        db_bind_i64(q, at, subject_id);
    bool late = at_ms < s->horizon_ms[series][LEVEL_RAW];
    if (server && (late || running_may_collide(s, series, subject_id, at_ms)))
        rc = find_moment(s, series, subject_id, &at_ms, err);
    int64_t wanted_ms = at_ms;
    while (rc == 0) {
        db_bind_i64(q, 1, server ? at_ms : raw_key(at_ms, subject_id));
        rc = db_put(q, err);
        if (rc < 0 || s->db->ops->changes(s->db) != 0 || ++at_ms == wanted_ms + SAME_MOMENT_TRIES)
            break;
    }
    if (rc < 0)
        return rc;
    const struct reading *row = s->bound[series];
    return late ? rollup_add_late(s, series, row, subject_id, at_ms, err) : running_add(s, series, row, subject_id, at_ms, err);
}
