/* SPDX-License-Identifier: Apache-2.0
 * The views: rows in the API's names and units, for people who open the database with sqlite3 or psql.
 */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/schema.h"

enum { SQL_MAX = 1 << 18 };

/* The time of a row for people: text in SQLite, a timestamp in PostgreSQL. */
static void time_expression(enum db_kind kind, const char *milliseconds, struct buf *out)
{
    if (kind == DB_SQLITE)
        buf_printf(out, "strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', (%s) / 1000.0, 'unixepoch')", milliseconds);
    else
        buf_printf(out, "to_timestamp((%s) / 1000.0)", milliseconds);
}

/* A column in the API's unit. PostgreSQL would count in decimal numbers of any length without being told otherwise. */
static void metric_expression(enum db_kind kind, struct series_column c, struct buf *out)
{
    const char *cast = kind == DB_SQLITE ? "" : "::float8";
    if (c.scale == 1)
        buf_printf(out, "s.%s", c.name);
    else if (c.scale < 1)
        buf_printf(out, "s.%s%s / %.1f", c.name, cast, 1 / c.scale);
    else
        buf_printf(out, "s.%s%s * %.1f", c.name, cast, c.scale);
}

/* SQLite makes views anew. PostgreSQL lets columns be added at the end, and leaves alone what others have built upon the view. */
static void begin_view(enum db_kind kind, const char *view, struct buf *sql)
{
    if (kind == DB_SQLITE)
        buf_printf(sql, "DROP VIEW IF EXISTS %s; CREATE VIEW %s AS SELECT ", view, view);
    else
        buf_printf(sql, "CREATE OR REPLACE VIEW %s AS SELECT ", view);
}

/* The contract's names first; where the API calls a reading otherwise, it is there under both. */
static void view_of_samples(const struct schema *schema, struct buf *sql)
{
    static const struct {
        const char *column, *name;
    } contract[] = {
        {"temp_mdegc", "temperature_celsius"},        {"power_mw", "power_watts"},
        {"mem_used_bytes", "memory_used_mb"},         {"mem_total_bytes", "memory_total_mb"},
        {"util_permille", "gpu_utilization_percent"}, {"mem_util_permille", "memory_utilization_percent"},
    };
    enum db_kind kind = schema->db->ops->kind;
    begin_view(kind, "gpu_stats", sql);
    buf_text(sql, "s.gpu_index AS gpu_index, g.name AS gpu_name, ");
    for (size_t i = 0; i < ARRAY_LEN(contract); i++) {
        metric_expression(kind, series_column(SERIES_GPU, (size_t)series_find(SERIES_GPU, contract[i].column)), sql);
        buf_printf(sql, " AS %s, ", contract[i].name);
    }
    time_expression(kind, "s.id >> 14", sql);
    buf_text(sql, " AS recorded_at, h.name AS host, g.uuid AS gpu_uuid, g.pci_address AS pci_address, g.vendor AS vendor,"
                  " s.id >> 14 AS recorded_at_ms, s.id AS id");
    for (size_t i = 0; i < schema->count[SERIES_GPU]; i++) {
        struct series_column c = schema->columns[SERIES_GPU][i];
        bool there = false;
        for (size_t k = 0; k < ARRAY_LEN(contract); k++)
            there |= strcmp(c.json, contract[k].name) == 0;
        if (there)
            continue;
        buf_text(sql, ", ");
        metric_expression(kind, c, sql);
        buf_printf(sql, " AS %s", c.json);
    }
    buf_text(sql, " FROM samples s JOIN gpus g ON g.id = s.id & 16383 JOIN hosts h ON h.id = g.host_id;");
}

/* Mean, least, most and number of every metric; what was left out because it follows from the rest is filled in again. */
static void bucket_columns(const struct schema *schema, enum series series, struct buf *sql)
{
    const char *cast = schema->db->ops->kind == DB_SQLITE ? "" : "::float8";
    for (size_t i = 0; i < schema->count[series]; i++) {
        struct series_column c = schema->columns[series][i];
        double scale = c.bits ? 1 : c.scale;
        buf_printf(sql, ", s.%s_sum%s * %.17g / COALESCE(s.%s_count, s.samples) AS %s", c.name, cast, scale, c.name, c.json);
        for (int part = 0; part < 2; part++)
            buf_printf(sql, ", COALESCE(s.%s_%s%s * %.17g, s.%s_sum%s * %.17g / COALESCE(s.%s_count, s.samples)) AS %s_%s", c.name,
                       part ? "max" : "min", cast, scale, c.name, cast, scale, c.name, c.json, part ? "max" : "min");
        buf_printf(sql, ", CASE WHEN s.%s_sum IS NULL THEN 0 ELSE COALESCE(s.%s_count, s.samples) END AS %s_count", c.name, c.name,
                   c.json);
    }
}

static void view_of_buckets(const struct schema *schema, enum series series, enum level level, struct buf *sql)
{
    bool gpu = series == SERIES_GPU;
    char view[32], start[64];
    snprintf(view, sizeof view, "%s_stats_%s", gpu ? "gpu" : "host", level == LEVEL_MINUTE ? "minute" : "hour");
    begin_view(schema->db->ops->kind, view, sql);
    buf_text(sql, gpu ? "g.gpu_index AS gpu_index, g.name AS gpu_name, " : "h.name AS host, ");
    snprintf(start, sizeof start, "(s.id & 4294967295) * %lld", (long long)level_ms(level));
    time_expression(schema->db->ops->kind, start, sql);
    buf_printf(sql, " AS starts_at%s, s.samples AS samples", gpu ? ", h.name AS host, g.uuid AS gpu_uuid" : "");
    bucket_columns(schema, series, sql);
    buf_printf(sql, " FROM %s s %s;", series_table(series, level),
               gpu ? "JOIN gpus g ON g.id = s.id >> 32 JOIN hosts h ON h.id = g.host_id" : "JOIN hosts h ON h.id = s.id >> 32");
}

/* The same for hosts: what the machine around the cards did. */
static void view_of_host_samples(const struct schema *schema, struct buf *sql)
{
    enum db_kind kind = schema->db->ops->kind;
    begin_view(kind, "host_stats", sql);
    buf_text(sql, "h.name AS host, ");
    time_expression(kind, "s.id >> 14", sql);
    buf_text(sql, " AS recorded_at, s.id >> 14 AS recorded_at_ms, s.id AS id");
    for (size_t i = 0; i < schema->count[SERIES_HOST]; i++) {
        buf_text(sql, ", ");
        metric_expression(kind, schema->columns[SERIES_HOST][i], sql);
        buf_printf(sql, " AS %s", schema->columns[SERIES_HOST][i].json);
    }
    buf_text(sql, " FROM host_samples s JOIN hosts h ON h.id = s.id & 16383;");
}

int schema_refresh_views(struct schema *schema, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    /* The order of the columns is the tables', which another host may have added to. */
    int rc = schema->db->ops->kind == DB_POSTGRES ? schema_read_columns(schema, err) : 0;
    if (rc < 0)
        return rc;
    view_of_samples(schema, &sql);
    view_of_host_samples(schema, &sql);
    for (int series = 0; series < SERIES_COUNT; series++) {
        view_of_buckets(schema, (enum series)series, LEVEL_MINUTE, &sql);
        view_of_buckets(schema, (enum series)series, LEVEL_HOUR, &sql);
    }
    return sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_exec(schema->db, sql.at, err);
}
