/* SPDX-License-Identifier: Apache-2.0
 * Queries for explanations and reports about the past: which processes ran, what each did in each step, which settings held. Does
 * not interpret the rows.
 */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "store/internal.h"
#include "store/query.h"

int order_holds(struct row_order *o, int64_t first, int64_t second)
{
    bool holds = !o->begun || first > o->first || (first == o->first && second >= o->second);
    *o = (struct row_order){first, second, true};
    return holds ? 0 : -EPROTO;
}

int store_find_host(struct store *s, const char *name, struct store_host *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    *ret = (struct store_host){0};
    int rc = db_prepare(s->db, "SELECT id, first_seen_ms, last_seen_ms FROM hosts WHERE name = $1", &q, err);
    if (rc < 0)
        return rc;
    db_bind_text(q, 1, name);
    rc = db_step(q, err);
    if (rc == 1) {
        ret->id = db_i64(q, 0);
        str_copy(ret->name, sizeof ret->name, str_from(name));
        ret->first_seen = (struct wall){db_i64_or(q, 1, 0)};
        ret->last_seen = (struct wall){db_i64_or(q, 2, 0)};
        db_reset(q);
    }
    return rc < 0 ? rc : 0;
}

/* *ret_ms 0: none. */
static int neighbor_sample(struct store *s, int64_t host_id, int64_t at_ms, bool before, int64_t *ret_ms, struct error *err)
{
    const struct raw_words *words = raw_words(s->db->ops->kind, SERIES_HOST);
    AUTO_STATEMENT struct db_statement *q = NULL;
    char sql[512];
    snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE %s AND %s = $3 ORDER BY %s %s LIMIT 1", words->ms,
             series_table(SERIES_HOST, LEVEL_RAW), words->span, words->subject, words->time, before ? "DESC" : "ASC");
    int rc = db_prepare(s->db, sql, &q, err);
    if (rc < 0)
        return rc;
    db_bind_numbers(q, 1, before ? 0 : raw_parameter(at_ms), before ? raw_parameter(at_ms) : LATEST_MS, host_id);
    rc = db_step(q, err);
    *ret_ms = rc == 1 ? db_i64(q, 0) : 0;
    return rc < 0 ? rc : 0;
}

int store_neighbor(struct store *s, int64_t host_id, int64_t at_ms, bool before, struct wall *ret, struct error *err)
{
    int64_t best;
    int rc = neighbor_sample(s, host_id, at_ms, before, &best, err);
    if (rc < 0)
        return rc;
    for (int level = LEVEL_MINUTE; level < LEVEL_COUNT; level++) {
        char sql[256];
        int64_t id, ms;
        const char *table = series_table(SERIES_HOST, (enum level)level);
        snprintf(sql, sizeof sql, "SELECT id FROM %s WHERE id %s %lld AND id >= %lld AND id < %lld ORDER BY id %s LIMIT 1", table,
                 before ? "<" : ">", (long long)bucket_key(host_id, bucket_of((enum level)level, at_ms)),
                 (long long)bucket_key(host_id, 0), (long long)bucket_key(host_id + 1, 0), before ? "DESC" : "ASC");
        rc = db_query_i64(s->db, sql, 0, &id, err);
        if (rc < 0)
            return rc;
        if (id == 0)
            continue;
        /* Use the sample if one in this bucket was found; otherwise the bucket's end, or its start. */
        ms = (id & 0xffffffff) * level_ms((enum level)level);
        int64_t end = ms + level_ms((enum level)level) - 1;
        if (best >= ms && best <= end)
            continue;
        if (before)
            best = MAX_OF(best, end);
        else if (best == 0 || ms < best)
            best = ms;
    }
    *ret = (struct wall){best};
    return 0;
}

int store_facts(struct store *s, const char *host, int64_t until_ms, store_fact_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(s->db,
                        "SELECT f.key, f.value, f.gpu_id, f.since_ms FROM hosts h JOIN gpus g ON g.host_id = h.id JOIN facts f ON "
                        "f.gpu_id = g.id WHERE h.name = $1 AND f.since_ms <= $2 ORDER BY f.since_ms",
                        &q, err);
    if (rc < 0)
        return rc;
    db_bind_text(q, 1, host);
    db_bind_i64(q, 2, until_ms);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        char key[64], value[GPU_TEXT_SIZE];
        str_copy(key, sizeof key, db_text(q, 0));
        str_copy(value, sizeof value, db_text(q, 1));
        rc = each(user, db_i64(q, 2), (struct wall){db_i64(q, 3)}, key, value);
    }
    return MIN_OF(rc, 0);
}

/* $1: minutes per step, $2: the host; m: rows of minutes or hours. One query for all GPUs: a query per GPU would read everything
 * each time. */
static const char workers_sql[] =
    " SELECT w.gpu_id, m.minute / $1 AS step, w.worker, SUM(m.sm_sum_permille) AS sm, SUM(m.sm_count), "
    "SUM(m.memory_sum_bytes) AS memory, SUM(m.samples) FROM m JOIN ";
static const char workers_each[] = "(SELECT p.id, p.gpu_id, p.id AS worker FROM processes p";
/* All runs of a program by the same user are one worker, with the ID of the first run. */
static const char workers_by_program[] =
    "(SELECT p.id, p.gpu_id, MIN(p.id) OVER (PARTITION BY p.gpu_id, COALESCE(p.name, ''), COALESCE(p.user_name, '')) AS "
    "worker FROM processes p";
static const char workers_end[] = ") AS w ON w.id = m.process_id GROUP BY 1, 2, 3" ORDER_BY_GPU_AND_STEP;

static int prepare_workers(struct store *s, const struct store_workers *w, struct db_statement **ret, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(1 << 15);
    struct hour_segments segments;
    int64_t from = w->since_ms / w->step_ms * (w->step_ms / MINUTE_MS), to = (w->until_ms + MINUTE_MS - 1) / MINUTE_MS;
    int rc = store_hour_segments(s, from, to, HOURS_WORTH, &segments, err);
    if (rc < 0)
        return rc;
    /* Hours only if a step consists of whole hours. */
    if (w->step_ms % HOUR_MS)
        segments = (struct hour_segments){.list = {{from, to, false}}, .count = 1};
    /* SQLite would read the rows once per process, unless it materializes them and builds an index on them. */
    buf_printf(&sql, "WITH m AS %s ", s->db->ops->kind == DB_SQLITE ? "MATERIALIZED" : "NOT MATERIALIZED");
    if ((rc = store_process_rows(s, &segments, "$2", false, &sql, err)) < 0)
        return rc;
    buf_text(&sql, workers_sql);
    buf_text(&sql, w->by_program ? workers_by_program : workers_each);
    buf_text(&sql, " JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id AND h.name = $2");
    if (w->gpu_id)
        buf_printf(&sql, " WHERE p.gpu_id = %lld", (long long)w->gpu_id);
    buf_text(&sql, workers_end);
    return db_prepare_text(s->db, &sql, ret, err);
}

int store_workers(struct store *s, const struct store_workers *query, store_worker_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = prepare_workers(s, query, &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, query->step_ms / MINUTE_MS);
    db_bind_text(q, 2, query->host);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        const struct store_worker row = {db_i64(q, 0), db_i64(q, 1), db_i64(q, 2), db_i64(q, 3),
                                         db_i64(q, 4), db_i64(q, 5), db_i64(q, 6)};
        rc = each(user, &row);
    }
    return MIN_OF(rc, 0);
}

struct gpu_numbers {
    struct buf *sql;
    size_t count;
};

static int write_number(void *user, const struct store_gpu *gpu)
{
    struct gpu_numbers *n = user;
    buf_printf(n->sql, "%s%lld", n->count++ ? ", " : "", (long long)gpu->id);
    return 0;
}

/* A server holds the processes of many hosts and finds those of one by their index. A file holds one host: there, the time
 * condition is the selective one. */
static int write_of_host(struct store *s, const char *host, struct buf *sql, struct error *err)
{
    struct gpu_numbers numbers = {sql, 0};
    buf_printf(sql, " AND %sp.gpu_id IN (", s->db->ops->kind == DB_SQLITE ? "+" : "");
    int rc = store_known_gpus(s, host, write_number, &numbers, err);
    buf_text(sql, numbers.count ? ")" : "-1)");
    return rc;
}

/* NULL (older rows) and unknown names (a later version) count as not judged. */
static enum limit limit_in(struct db_statement *q, int column)
{
    char name[LIMIT_NAME_SIZE];
    enum limit limit = LIMIT_UNJUDGED;
    str_copy(name, sizeof name, db_text(q, column));
    return limit_from_name(name, &limit) ? limit : LIMIT_UNJUDGED;
}

/* A column of a query, and the field of the row that it fills. */
struct query_column {
    const char *sql;
    size_t offset;
    enum { WHOLE, OR_ZERO, OR_UNKNOWN, OR_ABSENT, TEXT, LIMIT } kind;
};
#define MINUTE(sql, field, kind)                                \
    {                                                           \
        sql, offsetof(struct store_process_minute, field), kind \
    }
#define HOUR(sql, field, kind)                                \
    {                                                         \
        sql, offsetof(struct store_process_hour, field), kind \
    }
#define SERVING(sql, field, kind)                               \
    {                                                           \
        sql, offsetof(struct store_serving_minute, field), kind \
    }

static void write_columns(struct buf *sql, const struct query_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(sql, "%s%s", i ? ", " : "SELECT ", columns[i].sql);
}

static void read_columns(struct db_statement *q, const struct query_column *columns, size_t count, void *row)
{
    for (size_t i = 0; i < count; i++) {
        char *to = (char *)row + columns[i].offset;
        int n = (int)i;
        switch (columns[i].kind) {
        case WHOLE: *(int64_t *)to = db_i64(q, n); break;
        case OR_ZERO: *(int64_t *)to = db_i64_or(q, n, 0); break;
        case OR_UNKNOWN: *(int64_t *)to = db_i64_or(q, n, -1); break;
        case OR_ABSENT:
            *(struct reading *)to = db_is_null(q, n) ? reading_absent(READING_UNSUPPORTED) : reading_ok(db_i64(q, n));
            break;
        case TEXT: *(struct str *)to = db_text(q, n); break;
        case LIMIT: *(enum limit *)to = limit_in(q, n); break;
        }
    }
}

/* A walk over the minute or hour rows of a host's processes. */
struct walked_rows {
    const char *host;
    int64_t from, to;
    const char *end; /* SQL after the conditions */
    int (*row)(struct db_statement *q, const struct walked_rows *rows);
    void *user;
    union {
        store_process_minute_fn *minute;
        store_process_hour_fn *hour;
        store_serving_minute_fn *serving;
    } each;
};

/* `sql` ends in the conditions; $1 and $2 are the time range. */
static int walk(struct store *s, struct buf *sql, const struct walked_rows *rows, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = write_of_host(s, rows->host, sql, err);
    if (rc < 0)
        return rc;
    buf_text(sql, rows->end);
    rc = db_prepare_between(s->db, sql, rows->from, rows->to, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1)
        if ((rc = rows->row(q, rows)))
            return MIN_OF(rc, 0);
    return rc;
}

static const struct query_column minute_columns[] = {
    MINUTE("m.minute", minute, WHOLE),
    MINUTE("p.gpu_id", gpu_id, WHOLE),
    MINUTE("m.process_id", process, WHOLE),
    MINUTE("m.samples", samples, WHOLE),
    MINUTE("g.samples", gpu_samples, OR_UNKNOWN),
    MINUTE("m.sm_sum_permille", sm_sum_permille, WHOLE),
    MINUTE("m.sm_count", sm_count, WHOLE),
    MINUTE("m.memory_sum_bytes", memory_sum_bytes, WHOLE),
    MINUTE("m.memory_count", memory_count, WHOLE),
    MINUTE("m.memory_max_bytes", memory_max_bytes, OR_ZERO),
    MINUTE("m.energy_mj", energy_mj, WHOLE),
    MINUTE("m.parked_mj", parked_mj, OR_ABSENT),
    MINUTE("g.util_permille_sum", gpu_util_sum_permille, OR_UNKNOWN),
    MINUTE("g.util_permille_count", gpu_util_count, OR_UNKNOWN),
    MINUTE("m.limit_code", limit, LIMIT),
    MINUTE("COALESCE(e.energy_mj - e.attributed_mj, 0)", unattributed_mj, WHOLE),
    MINUTE("m.generated_tokens", generated_tokens, OR_ABSENT),
    MINUTE("m.prompt_tokens", prompt_tokens, OR_ABSENT),
    MINUTE("m.requests", requests, OR_ABSENT),
};

static int minute_row(struct db_statement *q, const struct walked_rows *rows)
{
    struct store_process_minute row = {0};
    read_columns(q, minute_columns, ARRAY_LEN(minute_columns), &row);
    return rows->each.minute(rows->user, &row);
}

static int process_minutes(struct store *s, const char *host, int64_t from_minute, int64_t to_minute, store_process_minute_fn *each,
                           void *user, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(1 << 14);
    write_columns(&sql, minute_columns, ARRAY_LEN(minute_columns));
    buf_text(&sql, " FROM process_minutes m JOIN processes p ON p.id = m.process_id"
                   " LEFT JOIN energy e ON e.minute = m.minute AND e.gpu_id = p.gpu_id"
                   " LEFT JOIN minutes g ON g.id = p.gpu_id * 4294967296 + m.minute");
    parts_among(s->db->ops->kind, LEVEL_MINUTE, "g", from_minute, to_minute, &sql);
    buf_text(&sql, " WHERE m.minute >= $1 AND m.minute < $2");
    return walk(s, &sql,
                &(struct walked_rows){host, from_minute, to_minute, ORDER_BY_TIME_AND_GPU, minute_row, user, {.minute = each}},
                err);
}

static const struct query_column hour_columns[] = {
    HOUR("m.hour", hour, WHOLE),
    HOUR("p.gpu_id", gpu_id, WHOLE),
    HOUR("m.process_id", process, WHOLE),
    HOUR("m.present_minutes", present_minutes, WHOLE),
    HOUR("m.busy_minutes", busy_minutes, WHOLE),
    HOUR("m.held_minutes", held_minutes, WHOLE),
    HOUR("m.byte_minutes", byte_minutes, WHOLE),
    HOUR("m.idle_byte_minutes", idle_byte_minutes, WHOLE),
    HOUR("m.memory_max_bytes", memory_max_bytes, OR_ZERO),
    HOUR("m.energy_mj", energy_mj, WHOLE),
    HOUR("m.parked_mj", parked_mj, OR_ABSENT),
    HOUR("m.partial_minutes", partial_minutes, TEXT),
    HOUR("m.limits", limits, TEXT),
    HOUR("COALESCE(e.energy_mj - e.attributed_mj, 0)", unattributed_mj, WHOLE),
    HOUR("COALESCE(e.watched_ms, 0)", watched_ms, WHOLE),
    HOUR("m.generated_tokens", generated_tokens, OR_ABSENT),
    HOUR("m.prompt_tokens", prompt_tokens, OR_ABSENT),
    HOUR("m.requests", requests, OR_ABSENT),
};

static int hour_row(struct db_statement *q, const struct walked_rows *rows)
{
    struct store_process_hour row = {0};
    read_columns(q, hour_columns, ARRAY_LEN(hour_columns), &row);
    return rows->each.hour(rows->user, &row);
}

static int process_hours(struct store *s, const char *host, int64_t from_hour, int64_t to_hour, store_process_hour_fn *each,
                         void *user, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(1 << 14);
    write_columns(&sql, hour_columns, ARRAY_LEN(hour_columns));
    buf_text(&sql, " FROM process_hours m JOIN processes p ON p.id = m.process_id LEFT JOIN energy_hours e ON e.hour = m.hour AND "
                   "e.gpu_id = p.gpu_id WHERE m.hour >= $1 AND m.hour < $2");
    return walk(s, &sql, &(struct walked_rows){host, from_hour, to_hour, ORDER_BY_TIME_AND_GPU, hour_row, user, {.hour = each}},
                err);
}

int store_process_times(struct store *s, const char *host, int64_t since_ms, int64_t until_ms, store_process_minute_fn *minute,
                        store_process_hour_fn *hour, void *user, struct error *err)
{
    struct hour_segments segments;
    int rc = store_hour_segments(s, since_ms / MINUTE_MS, (until_ms + MINUTE_MS - 1) / MINUTE_MS, HOURS_WORTH, &segments, err);
    for (size_t i = 0; rc == 0 && i < segments.count; i++) {
        const struct hour_segment *g = &segments.list[i];
        rc = g->hours ? process_hours(s, host, g->from / 60, g->to / 60, hour, user, err)
                      : process_minutes(s, host, g->from, g->to, minute, user, err);
    }
    return rc;
}

/* The columns after these are the names of the model and the GPU. */
static const struct query_column serving_columns[] = {
    SERVING("m.minute", minute, WHOLE),
    SERVING("COUNT(m.running_sum)", servers, WHOLE),
    SERVING("COUNT(*)", processes, WHOLE),
    SERVING("SUM(CASE WHEN m.running_sum IS NOT NULL THEN m.samples ELSE 0 END)", samples, WHOLE),
    SERVING("SUM(m.running_sum)", running_sum, WHOLE),
    SERVING("SUM(m.running_samples)", running_samples, WHOLE),
    SERVING("SUM(m.generated_tokens)", generated_tokens, WHOLE),
    SERVING("SUM(m.energy_mj)", energy_mj, WHOLE),
    SERVING("SUM(m.prompt_tokens)", prompt_tokens, OR_ABSENT),
};

static int serving_row(struct db_statement *q, const struct walked_rows *rows)
{
    char model[PROCESS_MODEL_SIZE], name[GPU_NAME_SIZE];
    struct store_serving_minute row = {.model = model, .gpu_name = name};
    read_columns(q, serving_columns, ARRAY_LEN(serving_columns), &row);
    str_copy(model, sizeof model, db_text(q, (int)ARRAY_LEN(serving_columns)));
    str_copy(name, sizeof name, db_text(q, (int)ARRAY_LEN(serving_columns) + 1));
    return rows->each.serving(rows->user, &row);
}

/* Most histories have none: check that on the minutes alone, before joining and sorting them. */
static int any_served(struct store *s, int64_t from_minute, int64_t to_minute, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    AUTO_BUF struct buf sql = BUF(256);
    buf_text(&sql, "SELECT 1 FROM process_minutes WHERE minute >= $1 AND minute < $2 AND running_sum IS NOT NULL LIMIT 1");
    int rc = db_prepare_between(s->db, &sql, from_minute, to_minute, &q, err);
    return rc < 0 ? rc : db_step(q, err);
}

/* The sum can't separate servers of one model on different GPUs: such minutes are left out. */
int store_serving_minutes(struct store *s, const char *host, int64_t from_minute, int64_t to_minute, store_serving_minute_fn *each,
                          void *user, struct error *err)
{
    static const char end[] = " GROUP BY m.minute, p.model HAVING COUNT(m.running_sum) > 0 AND COUNT(m.generated_tokens) = "
                              "COUNT(m.running_sum) AND MIN(g.name) = MAX(g.name) ORDER BY m.minute";
    AUTO_BUF struct buf sql = BUF(1 << 14);
    int rc = any_served(s, from_minute, to_minute, err);
    if (rc != 1)
        return rc;
    write_columns(&sql, serving_columns, ARRAY_LEN(serving_columns));
    buf_text(&sql, ", p.model, MAX(g.name) FROM process_minutes m JOIN processes p ON p.id = m.process_id JOIN gpus g ON "
                   "g.id = p.gpu_id WHERE m.minute >= $1 AND m.minute < $2 AND p.model <> ''");
    return walk(s, &sql, &(struct walked_rows){host, from_minute, to_minute, end, serving_row, user, {.serving = each}}, err);
}

int store_process_horizon(struct store *s, int64_t *ret_energy_ms, int64_t *ret_processes_ms, struct error *err)
{
    int64_t minute, hour;
    int rc = db_query_i64(s->db, "SELECT MIN(minute) FROM energy", 0, &minute, err);
    if (rc == 0)
        rc = db_query_i64(s->db, "SELECT MIN(hour) FROM process_hours", INT64_MAX / HOUR_MS, &hour, err);
    if (rc < 0)
        return rc;
    *ret_energy_ms = minute * MINUTE_MS;
    *ret_processes_ms = MIN_OF(store_horizon(s, SERIES_GPU, LEVEL_MINUTE), hour * HOUR_MS);
    return 0;
}

size_t store_columns(const struct store *s, enum series series, size_t columns[SERIES_COLUMNS_MAX])
{
    for (size_t i = 0; i < s->schema.count[series]; i++)
        columns[i] = s->schema.order[series][i];
    return s->schema.count[series];
}
