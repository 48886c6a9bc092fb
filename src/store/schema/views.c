/* SPDX-License-Identifier: Apache-2.0
 * The views: rows in the API's names and units, for people who open the database with sqlite3 or psql. On a server they are
 * created when the tables change, never at a mere start: replacing a view waits for all sessions that are reading it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/schema/schema.h"

/* A view under construction, column by column. Does not know which views there are. */

enum { VIEW_SQL_MAX = 1 << 18, VIEW_COLUMNS_MAX = 4 * SERIES_COLUMNS_MAX + 32 };

struct view {
    const struct schema *schema;
    const char *name;
    struct buf expressions; /* concatenated, each NUL-terminated */
    struct {
        size_t at;
        char name[64];
        bool done;
    } columns[VIEW_COLUMNS_MAX];
    size_t count;
};

/* NULL: out of memory */
static struct view *view_new(const struct schema *schema, const char *name)
{
    struct view *v = calloc(1, sizeof *v);
    if (v)
        *v = (struct view){.schema = schema, .name = name, .expressions = BUF(VIEW_SQL_MAX)};
    return v;
}

static void view_free(struct view **v)
{
    if (*v)
        buf_done(&(*v)->expressions);
    free(*v);
}

static void view_add(struct view *v, const char *name, const char *format, ...)
{
    if (v->count == VIEW_COLUMNS_MAX)
        return;
    v->columns[v->count].at = v->expressions.len;
    snprintf(v->columns[v->count++].name, sizeof v->columns[0].name, "%s", name);
    va_list args;
    va_start(args, format);
    buf_vprintf(&v->expressions, format, args);
    va_end(args);
    buf_char(&v->expressions, '\0');
}

static void view_emit(struct view *v, size_t column, bool first, struct buf *sql)
{
    buf_printf(sql, "%s%s AS %s", first ? "" : ", ", v->expressions.at + v->columns[column].at, v->columns[column].name);
    v->columns[column].done = true;
}

/* PostgreSQL can only append columns to a view: existing ones keep their place. */
static int view_emit_known(struct view *v, bool *first, struct buf *sql, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(v->schema->db, SCHEMA_COLUMNS, &q, err);
    if (rc < 0)
        return rc;
    db_bind_text(q, 1, v->name);
    while ((rc = db_step(q, err)) == 1) {
        size_t i = 0;
        while (i < v->count && !str_is(db_text(q, 0), v->columns[i].name))
            i++;
        if (i < v->count) {
            view_emit(v, i, *first, sql);
            *first = false;
        }
    }
    return rc;
}

/* Whether the file already has exactly this view. */
static int view_is_there(const struct view *v, const char *sql, bool *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(v->schema->db, "SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = $1 AND sql = $2", &q, err);
    if (rc < 0)
        return rc;
    db_bind_text(q, 1, v->name);
    db_bind_text(q, 2, sql);
    rc = db_step(q, err);
    *ret = rc == 1;
    db_reset(q);
    return rc < 0 ? rc : 0;
}

/* SQLite recreates an outdated view. PostgreSQL keeps the objects that others have built upon the view. */
static int view_make(struct view *v, const char *from, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(VIEW_SQL_MAX);
    bool sqlite = v->schema->db->ops->kind == DB_SQLITE, first = true, there = false;
    buf_printf(&sql, "CREATE %s %s AS SELECT ", sqlite ? "VIEW" : "OR REPLACE VIEW", v->name);
    int rc = sqlite || v->expressions.failed ? 0 : view_emit_known(v, &first, &sql, err);
    for (size_t i = 0; rc == 0 && i < v->count && !v->expressions.failed; i++) {
        if (v->columns[i].done)
            continue;
        view_emit(v, i, first, &sql);
        first = false;
    }
    buf_printf(&sql, " FROM %s", from);
    if (rc == 0 && (sql.failed || v->expressions.failed))
        rc = error_set(err, -ENOMEM, "out of memory");
    if (rc == 0 && sqlite)
        rc = view_is_there(v, sql.at, &there, err);
    if (rc == 0 && sqlite && !there)
        rc = db_execf(v->schema->db, err, "DROP VIEW IF EXISTS %s", v->name);
    return rc < 0 || there ? rc : db_exec(v->schema->db, sql.at, err);
}

/* Adds the time of a row for people: text in SQLite, a timestamp in PostgreSQL. */
static void view_add_time(struct view *v, const char *name, const char *milliseconds)
{
    if (v->schema->db->ops->kind == DB_SQLITE)
        view_add(v, name, "strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', (%s) / 1000.0, 'unixepoch')", milliseconds);
    else
        view_add(v, name, "to_timestamp((%s) / 1000.0)", milliseconds);
}

/* When a row was recorded: for people, in milliseconds, and as an ID that grows with time and is unique per row. */
static void add_moment(struct view *v, const char *subject)
{
    static const char server_ms[] = "CAST(EXTRACT(EPOCH FROM s.recorded_at) * 1000 AS BIGINT)";
    bool sqlite = v->schema->db->ops->kind == DB_SQLITE;
    if (sqlite)
        view_add_time(v, "recorded_at", "s.id >> 14");
    else
        view_add(v, "recorded_at", "s.recorded_at"); /* unchanged, so that a condition on it prunes partitions and uses their key */
    view_add(v, "recorded_at_ms", "%s", sqlite ? "s.id >> 14" : server_ms);
    if (sqlite)
        view_add(v, "id", "s.id");
    else
        view_add(v, "id", "(%s << %d) + s.%s", server_ms, CURSOR_SUBJECT_BITS, subject);
}

/* Adds a column in the API's unit. Without the cast, PostgreSQL would calculate with arbitrary-precision decimals. */
static void add_metric(struct view *v, const char *name, struct series_column c)
{
    const char *cast = v->schema->db->ops->kind == DB_SQLITE ? "" : "::float8";
    if (c.scale == 1)
        view_add(v, name, "s.%s", c.name);
    else if (c.scale < 1)
        view_add(v, name, "s.%s%s / %.1f", c.name, cast, 1 / c.scale);
    else
        view_add(v, name, "s.%s%s * %.1f", c.name, cast, c.scale);
}

/* "power cap, memory hot": the bits in the API's words. */
static void add_throttle_words(struct view *v)
{
    AUTO_BUF struct buf words = BUF(4096);
    for (unsigned bit = 0; bit < THROTTLE_COUNT; bit++)
        buf_printf(&words, "%sCASE WHEN (s.throttle_bits & %u) <> 0 THEN '%s, ' ELSE '' END", bit ? " || " : "", 1u << bit,
                   throttle_name(bit));
    view_add(v, "throttle_words", "CASE WHEN s.throttle_bits IS NOT NULL THEN rtrim(%s, ', ') END", words.failed ? "''" : words.at);
}

/* The names of StatsRow come first; a reading that the API names differently appears under both names. */
static int view_of_samples(const struct schema *schema, struct error *err)
{
    static const struct {
        const char *column, *name;
    } stats_row[] = {
        {"temp_mdegc", "temperature_celsius"},        {"power_mw", "power_watts"},
        {"mem_used_bytes", "memory_used_mb"},         {"mem_total_bytes", "memory_total_mb"},
        {"util_permille", "gpu_utilization_percent"}, {"mem_util_permille", "memory_utilization_percent"},
    };
    CLEANUP(view_free) struct view *v = view_new(schema, "gpu_stats");
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    view_add(v, "gpu_index", "s.gpu_index");
    view_add(v, "gpu_name", "g.name");
    for (size_t i = 0; i < ARRAY_LEN(stats_row); i++)
        add_metric(v, stats_row[i].name, series_column(SERIES_GPU, (size_t)series_find(SERIES_GPU, stats_row[i].column)));
    add_moment(v, "gpu_id");
    view_add(v, "host", "h.name");
    view_add(v, "gpu_uuid", "g.uuid");
    view_add(v, "pci_address", "g.pci_address");
    view_add(v, "vendor", "g.vendor");
    view_add(v, "simulated", "g.simulated");
    for (size_t i = 0; i < schema->count[SERIES_GPU]; i++) {
        struct series_column c = schema->columns[SERIES_GPU][i];
        bool there = false;
        for (size_t k = 0; k < ARRAY_LEN(stats_row); k++)
            there |= strcmp(c.json, stats_row[k].name) == 0;
        if (!there)
            add_metric(v, c.json, c);
        if (strcmp(c.name, "throttle_bits") == 0)
            add_throttle_words(v);
    }
    return view_make(v,
                     schema->db->ops->kind == DB_SQLITE
                         ? "samples s JOIN gpus g ON g.id = s.id & 16383 JOIN hosts h ON h.id = g.host_id"
                         : "samples s JOIN gpus g ON g.id = s.gpu_id JOIN hosts h ON h.id = g.host_id",
                     err);
}

/* Mean, min, max and count of every metric; fills in the redundant values that are not stored. SQLite parses all views whenever
 * a database is opened and keeps them in memory: there, repeated expressions come from bucket_rows. */
static void add_buckets(struct view *v, enum series series)
{
    bool sqlite = v->schema->db->ops->kind == DB_SQLITE;
    for (size_t i = 0; i < v->schema->count[series]; i++) {
        struct series_column c = v->schema->columns[series][i];
        double scale = c.bits ? 1 : c.scale;
        char name[64], mean[256], count[128];
        snprintf(count, sizeof count, sqlite ? "%s_n" : "COALESCE(s.%s_count, s.samples)", c.name);
        if (sqlite)
            snprintf(mean, sizeof mean, "%s_mean", c.name);
        else
            snprintf(mean, sizeof mean, "s.%s_sum::float8 * %.17g / %s", c.name, scale, count);
        view_add(v, c.json, "%s", mean);
        for (int part = 0; part < 2; part++) {
            const char *which = part ? "max" : "min";
            snprintf(name, sizeof name, "%s_%s", c.json, which);
            view_add(v, name, sqlite ? "COALESCE(%s_%s * %.17g, %s)" : "COALESCE(s.%s_%s::float8 * %.17g, %s)", c.name, which,
                     scale, mean);
        }
        snprintf(name, sizeof name, "%s_count", c.json);
        if (sqlite)
            view_add(v, name, "(%s_sum IS NOT NULL) * %s", c.name, count);
        else
            view_add(v, name, "CASE WHEN s.%s_sum IS NULL THEN 0 ELSE %s END", c.name, count);
    }
}

/* The table's rows with the count and the mean of every metric. */
static void bucket_rows(const struct schema *schema, enum series series, enum level level, struct buf *sql)
{
    buf_text(sql, "(SELECT *");
    for (size_t i = 0; i < schema->count[series]; i++) {
        struct series_column c = schema->columns[series][i];
        buf_printf(sql, ", %s_sum * %.17g / %s_n AS %s_mean", c.name, c.bits ? 1 : c.scale, c.name, c.name);
    }
    buf_text(sql, " FROM (SELECT *");
    for (size_t i = 0; i < schema->count[series]; i++) {
        const char *name = schema->columns[series][i].name;
        buf_printf(sql, ", COALESCE(%s_count, samples) AS %s_n", name, name);
    }
    buf_printf(sql, " FROM %s))", series_table(series, level));
}

static int view_of_buckets(const struct schema *schema, enum series series, enum level level, struct error *err)
{
    bool gpu = series == SERIES_GPU;
    char name[32], start[64];
    AUTO_BUF struct buf from = BUF(VIEW_SQL_MAX);
    snprintf(name, sizeof name, "%s_stats_%s", gpu ? "gpu" : "host", level == LEVEL_MINUTE ? "minute" : "hour");
    CLEANUP(view_free) struct view *v = view_new(schema, name);
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    if (gpu) {
        view_add(v, "gpu_index", "g.gpu_index");
        view_add(v, "gpu_name", "g.name");
    } else {
        view_add(v, "host", "h.name");
    }
    snprintf(start, sizeof start, "(s.id & 4294967295) * %lld", (long long)level_ms(level));
    view_add_time(v, "starts_at", start);
    if (gpu) {
        view_add(v, "host", "h.name");
        view_add(v, "gpu_uuid", "g.uuid");
    }
    view_add(v, "samples", "s.samples");
    if (gpu)
        view_add(v, "simulated", "g.simulated");
    add_buckets(v, series);
    if (schema->db->ops->kind == DB_SQLITE)
        bucket_rows(schema, series, level, &from);
    else
        buf_text(&from, series_table(series, level));
    buf_printf(&from, " s %s",
               gpu ? "JOIN gpus g ON g.id = s.id >> 32 JOIN hosts h ON h.id = g.host_id" : "JOIN hosts h ON h.id = s.id >> 32");
    return from.failed ? error_set(err, -ENOMEM, "out of memory") : view_make(v, from.at, err);
}

/* The same for hosts: the machine around the GPUs. */
static int view_of_host_samples(const struct schema *schema, struct error *err)
{
    CLEANUP(view_free) struct view *v = view_new(schema, "host_stats");
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    view_add(v, "host", "h.name");
    add_moment(v, "host_id");
    for (size_t i = 0; i < schema->count[SERIES_HOST]; i++)
        add_metric(v, schema->columns[SERIES_HOST][i].json, schema->columns[SERIES_HOST][i]);
    return view_make(v,
                     schema->db->ops->kind == DB_SQLITE ? "host_samples s JOIN hosts h ON h.id = s.id & 16383"
                                                        : "host_samples s JOIN hosts h ON h.id = s.host_id",
                     err);
}

/* ---- views of tables with fixed columns ---- */

static void add_gpu(struct view *v)
{
    view_add(v, "host", "h.name");
    view_add(v, "gpu_index", "g.gpu_index");
    view_add(v, "gpu_name", "g.name");
    view_add(v, "gpu_uuid", "g.uuid");
}

/* sum / count in another unit; NULL if the count is 0. */
static void add_mean(struct view *v, const char *name, const char *sum, const char *count, const char *unit)
{
    const char *cast = v->schema->db->ops->kind == DB_SQLITE ? "" : "::float8";
    view_add(v, name, "CASE WHEN t.%s > 0 THEN t.%s%s / %s / t.%s END", count, sum, cast, unit, count);
}

static void add_unit(struct view *v, const char *name, const char *column, const char *unit)
{
    view_add(v, name, "t.%s%s / %s", column, v->schema->db->ops->kind == DB_SQLITE ? "" : "::float8", unit);
}

static void add_use(struct view *v, const char *peak_name, const char *peak)
{
    view_add(v, "samples", "t.samples");
    add_unit(v, peak_name, peak, "1048576.0");
    add_mean(v, "memory_mean_mb", "memory_sum_bytes", "memory_count", "1048576.0");
    add_mean(v, "utilization_percent", "sm_sum_permille", "sm_count", "10.0");
    add_unit(v, "energy_joules", "energy_mj", "1000.0");
    add_unit(v, "parked_joules", "parked_mj", "1000.0");
}

static int view_of_processes(const struct schema *schema, struct error *err)
{
    static const char *const words[] = {"pid",       "name",           "title", "user_name", "command",
                                        "container", "container_name", "job",   "model",     "type"};
    CLEANUP(view_free) struct view *v = view_new(schema, "process_stats");
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    view_add(v, "id", "t.id");
    add_gpu(v);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        view_add(v, words[i], "t.%s", words[i]);
    view_add_time(v, "started_at", "t.started_at_ms");
    view_add_time(v, "first_seen_at", "t.first_seen_ms");
    view_add_time(v, "last_seen_at", "t.last_seen_ms");
    view_add(v, "ended", "t.ended");
    add_use(v, "memory_peak_mb", "memory_peak_bytes");
    view_add(v, "simulated", "g.simulated");
    return view_make(v, "processes t JOIN gpus g ON g.id = t.gpu_id JOIN hosts h ON h.id = g.host_id", err);
}

static int view_of_process_buckets(const struct schema *schema, bool hours, struct error *err)
{
    CLEANUP(view_free) struct view *v = view_new(schema, hours ? "process_stats_hour" : "process_stats_minute");
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    view_add(v, "process_id", "t.process_id");
    view_add_time(v, "starts_at", hours ? "t.hour * 3600000" : "t.minute * 60000");
    add_gpu(v);
    view_add(v, "pid", "p.pid");
    view_add(v, "name", "p.name");
    view_add(v, "user_name", "p.user_name");
    add_use(v, "memory_max_mb", "memory_max_bytes");
    view_add(v, "generated_tokens", "t.generated_tokens");
    view_add(v, "prompt_tokens", "t.prompt_tokens");
    view_add(v, hours ? "hour" : "minute", hours ? "t.hour" : "t.minute");
    if (!hours) {
        view_add(v, "requests_running", "CASE WHEN t.samples > 0 THEN 1.0 * t.running_sum / t.samples END");
        view_add(v, "limited_by", "t.limit_code");
        view_add(v, "limited_percent", "CASE WHEN t.samples > 0 THEN 100.0 * t.limit_samples / t.samples END");
    }
    return view_make(
        v,
        hours ? "process_hours t JOIN processes p ON p.id = t.process_id JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON "
                "h.id = g.host_id"
              : "process_minutes t JOIN processes p ON p.id = t.process_id JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON "
                "h.id = g.host_id",
        err);
}

static int view_of_energy(const struct schema *schema, bool hours, struct error *err)
{
    CLEANUP(view_free) struct view *v = view_new(schema, hours ? "energy_stats_hour" : "energy_stats_minute");
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    view_add_time(v, "starts_at", hours ? "t.hour * 3600000" : "t.minute * 60000");
    add_gpu(v);
    add_unit(v, "energy_joules", "energy_mj", "1000.0");
    add_unit(v, "attributed_joules", "attributed_mj", "1000.0");
    if (hours)
        add_unit(v, "counter_joules", "counter_mj", "1000.0");
    else
        view_add(v, "counted", "t.counted");
    view_add(v, hours ? "hour" : "minute", hours ? "t.hour" : "t.minute");
    return view_make(v,
                     hours ? "energy_hours t JOIN gpus g ON g.id = t.gpu_id JOIN hosts h ON h.id = g.host_id"
                           : "energy t JOIN gpus g ON g.id = t.gpu_id JOIN hosts h ON h.id = g.host_id",
                     err);
}

static int view_of_events(const struct schema *schema, struct error *err)
{
    static const char *const words[] = {"kind", "severity", "code", "text", "data"};
    CLEANUP(view_free) struct view *v = view_new(schema, "event_log");
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    view_add(v, "id", "t.id");
    view_add_time(v, "occurred_at", "t.at_ms");
    add_gpu(v);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        view_add(v, words[i], "t.%s", words[i]);
    return view_make(v, "events t JOIN hosts h ON h.id = t.host_id LEFT JOIN gpus g ON g.id = t.gpu_id", err);
}

static int view_of_findings(const struct schema *schema, struct error *err)
{
    CLEANUP(view_free) struct view *v = view_new(schema, "finding_log");
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    view_add(v, "id", "t.id");
    add_gpu(v);
    view_add(v, "code", "t.code");
    view_add(v, "severity", "CASE t.severity WHEN 3 THEN 'critical' WHEN 2 THEN 'warning' WHEN 1 THEN 'notice' ELSE 'info' END");
    add_unit(v, "confidence", "confidence_permille", "1000.0");
    view_add(v, "headline", "t.headline");
    view_add_time(v, "since", "t.since_ms");
    view_add_time(v, "first_seen_at", "t.first_seen_ms");
    view_add_time(v, "last_seen_at", "t.last_seen_ms");
    view_add_time(v, "worst_at", "t.worst_ms");
    view_add(v, "ended", "t.ended");
    view_add(v, "pid", "NULLIF(t.pid, 0)");
    view_add(v, "process", "p.name");
    view_add(v, "user_name", "p.user_name");
    view_add(v, "samples", "t.samples");
    add_mean(v, "utilization_percent", "util_sum_permille", "util_count", "10.0");
    add_mean(v, "power_watts", "power_sum_mw", "power_count", "1000.0");
    add_unit(v, "temperature_max_celsius", "temp_max_mdegc", "1000.0");
    return view_make(
        v,
        "finding_episodes t JOIN hosts h ON h.id = t.host_id LEFT JOIN gpus g ON g.id = t.gpu_id LEFT JOIN processes p ON "
        "p.id = t.process_id",
        err);
}

/* A field of an event's data. */
static void add_field(struct view *v, const char *name, const char *key, const char *type)
{
    if (v->schema->db->ops->kind == DB_SQLITE)
        view_add(v, name, "json_extract(t.data, '$.%s')", key);
    else
        view_add(v, name, "(t.data::json ->> '%s')%s", key, type);
}

static int view_of_alerts(const struct schema *schema, struct error *err)
{
    CLEANUP(view_free) struct view *v = view_new(schema, "alert_log");
    if (!v)
        return error_set(err, -ENOMEM, "out of memory");
    view_add_time(v, "occurred_at", "t.at_ms");
    add_gpu(v);
    add_field(v, "alert", "alert", "");
    add_field(v, "state", "state", "");
    view_add(v, "severity", "t.severity");
    add_field(v, "summary", "summary", "");
    add_field(v, "value", "value", "::float8");
    add_field(v, "process", "process", "");
    add_field(v, "user_name", "user", "");
    add_field(v, "started_at", "started_at", "::timestamptz");
    add_field(v, "ended_at", "ended_at", "::timestamptz");
    add_field(v, "fingerprint", "fingerprint", "");
    view_add(v, "id", "t.id");
    return view_make(
        v,
        "events t JOIN hosts h ON h.id = t.host_id LEFT JOIN gpus g ON g.id = t.gpu_id WHERE t.kind = 'alert' AND t.data IS "
        "NOT NULL",
        err);
}

int schema_make_views(struct schema *schema, struct error *err)
{
    int rc = view_of_processes(schema, err);
    for (int hours = 0; rc == 0 && hours < 2; hours++) {
        rc = view_of_process_buckets(schema, hours, err);
        if (rc == 0)
            rc = view_of_energy(schema, hours, err);
    }
    if (rc == 0)
        rc = view_of_events(schema, err);
    if (rc == 0)
        rc = view_of_alerts(schema, err);
    if (rc == 0)
        rc = view_of_findings(schema, err);
    return rc < 0 ? rc : schema_refresh_views(schema, err);
}

int schema_refresh_views(struct schema *schema, struct error *err)
{
    /* Columns come in the order of the tables, which another host may have extended. */
    int rc = schema->db->ops->kind == DB_POSTGRES ? schema_read_columns(schema, err) : 0;
    if (rc == 0)
        rc = view_of_samples(schema, err);
    if (rc == 0)
        rc = view_of_host_samples(schema, err);
    for (int series = 0; rc == 0 && series < SERIES_COUNT; series++) {
        rc = view_of_buckets(schema, (enum series)series, LEVEL_MINUTE, err);
        if (rc == 0)
            rc = view_of_buckets(schema, (enum series)series, LEVEL_HOUR, err);
    }
    return rc;
}
