/* SPDX-License-Identifier: Apache-2.0
 * Lists: runs of processes, energy, events with the findings among them.
 */

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "host/identity.h"
#include "store/internal.h"
#include "store/query.h"

enum { SQL_MAX = 1 << 15 };

static void copy_column(struct db_statement *q, int column, char *to, size_t size)
{
    str_copy(to, size, db_text(q, column));
}

static struct reading read_column(struct db_statement *q, int column)
{
    return db_is_null(q, column) ? reading_absent(READING_UNREAD) : reading_ok(db_i64(q, column));
}

static struct reading mean_column(struct db_statement *q, int sum, int count)
{
    int64_t n = db_is_null(q, count) ? 0 : db_i64(q, count);
    return n > 0 ? reading_ok(db_i64(q, sum) / n) : reading_absent(READING_UNREAD);
}

static void read_run(struct db_statement *q, struct store_process_run *run)
{
    *run = (struct store_process_run){.id = db_i64(q, 0), .gpu_id = db_i64(q, 1), .gpu_index = (int)db_i64(q, 2)};
    struct process *p = &run->process;
    p->pid = (int32_t)db_i64(q, 3);
    p->start_key = db_i64(q, 4);
    p->started_at.ms = db_is_null(q, 5) ? 0 : db_i64(q, 5);
    copy_column(q, 6, p->name, sizeof p->name);
    copy_column(q, 7, p->user, sizeof p->user);
    copy_column(q, 8, p->command, sizeof p->command);
    copy_column(q, 9, p->container, sizeof p->container);
    copy_column(q, 10, p->model, sizeof p->model);
    struct str type = db_text(q, 11);
    p->type = str_is(type, process_type_name(PROCESS_GRAPHICS)) ? PROCESS_GRAPHICS
              : str_is(type, process_type_name(PROCESS_BOTH))   ? PROCESS_BOTH
                                                                : PROCESS_COMPUTE;
    p->visible = p->name[0] != '\0';
    p->instance = -1;
    run->first_seen.ms = db_i64(q, 12);
    run->last_seen.ms = db_i64(q, 13);
    run->ended = db_i64(q, 14) != 0;
    run->samples = db_i64(q, 15);
    run->memory_peak_bytes = read_column(q, 16);
    run->memory_mean_bytes = mean_column(q, 17, 18);
    run->sm_mean_permille = mean_column(q, 19, 20);
    run->energy_mj = db_i64(q, 21);
    copy_column(q, 22, run->host, sizeof run->host);
    copy_column(q, 23, run->gpu_uuid, sizeof run->gpu_uuid);
    copy_column(q, 24, p->container_name, sizeof p->container_name);
    copy_column(q, 25, p->job, sizeof p->job);
    copy_column(q, 26, p->title, sizeof p->title);
    run->simulated = db_i64(q, 27) != 0;
    run->parked_mj = read_column(q, 28);
    if (!p->title[0]) /* an older history doesn't store the title, or the name implies it */
        process_find_title(p);
    p->mem_bytes = run->memory_mean_bytes;
    p->util_permille = run->sm_mean_permille;
}

static void read_limits(struct str limits, struct store_process_run *run)
{
    struct store_limit one;
    run->limits_known = true;
    while (store_next_limit(&limits, &one))
        run->limit_minutes[one.limit] += (uint32_t)__builtin_popcountll(one.minutes);
}

static const char run_columns[] =
    "SELECT p.id, p.gpu_id, g.gpu_index, p.pid, p.start_key, p.started_at_ms, p.name, p.user_name, p.command,"
    " p.container, p.model, p.type, p.first_seen_ms, p.last_seen_ms, p.ended";

/* A process with a minute in the range ran close to it, even if the clock was set by hours in between: this lets a server find
 * those few by the index of their GPU. */
static void write_around(const struct store_span *span, struct buf *sql)
{
    buf_printf(sql, " AND p.last_seen_ms >= %lld AND p.first_seen_ms < %lld", (long long)(span->since_ms - DAY_MS),
               (long long)(span->until_ms + DAY_MS));
}

/* Writes conditions on p (processes), g (gpus) and h (hosts); texts are parameters from `first` on. */
void store_which_runs(enum db_kind kind, const struct store_span *span, int first, struct buf *sql)
{
    /* In a file, rows within a time range are few and those of a GPU are many: "+" keeps SQLite from using the GPU's index. */
    bool by_time = span->within && kind == DB_SQLITE;
    if (span->gpu_id)
        buf_printf(sql, " AND %s = %lld", by_time ? "+p.gpu_id" : "p.gpu_id", (long long)span->gpu_id);
    if (span->run)
        buf_printf(sql, " AND p.id = %lld", (long long)span->run);
    if (span->pid)
        buf_printf(sql, " AND p.pid = %d", (int)span->pid);
    if (span->in_order && span->cursor)
        buf_printf(sql, " AND p.id > %lld", (long long)span->cursor);
    if (span->host)
        buf_printf(sql, " AND h.name = $%d", first++);
    if (span->name)
        buf_printf(sql, " AND p.name = $%d", first++);
}

void store_bind_runs(struct db_statement *q, const struct store_span *span, int first)
{
    if (span->host)
        db_bind_text(q, first++, span->host);
    if (span->name)
        db_bind_text(q, first++, span->name);
}

static int within(struct store *s, const struct store_span *span, struct buf *sql, struct error *err)
{
    struct hour_segments segments;
    int rc = store_hour_segments(s, span->since_ms / MINUTE_MS, (span->until_ms + MINUTE_MS - 1) / MINUTE_MS, HOURS_WORTH,
                                 &segments, err);
    if (rc == 0)
        rc = store_process_rows(s, &segments, span->host ? "$3" : NULL, span->limits, sql,
                                err); /* $3: the first parameter of store_which_runs */
    return rc;
}

int store_process_runs(struct store *s, const struct store_span *span, store_process_run_fn *each, void *user, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = 0;
    buf_text(&sql, run_columns);
    if (span->within)
        buf_text(&sql,
                 ", SUM(m.samples), MAX(m.memory_max_bytes), SUM(m.memory_sum_bytes), SUM(m.memory_count), SUM(m.sm_sum_permille),"
                 " SUM(m.sm_count), SUM(m.energy_mj) AS energy, h.name, g.uuid, p.container_name, p.job, p.title, g.simulated,"
                 " SUM(m.parked_mj)");
    if (span->within && span->limits)
        buf_printf(&sql, ", %s(m.limits, ' ')", s->db->ops->kind == DB_SQLITE ? "GROUP_CONCAT" : "STRING_AGG");
    if (span->within)
        buf_text(&sql, " FROM ");
    if (span->within && (rc = within(s, span, &sql, err)) < 0)
        return rc;
    if (span->within)
        buf_text(&sql, " AS m JOIN processes p ON p.id = m.process_id JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = "
                       "g.host_id WHERE m.minute >= $1 AND m.minute < $2");
    else
        buf_text(
            &sql,
            ", p.samples, p.memory_peak_bytes, p.memory_sum_bytes, p.memory_count, p.sm_sum_permille, p.sm_count,"
            " p.energy_mj AS energy, h.name, g.uuid, p.container_name, p.job, p.title, g.simulated, p.parked_mj FROM processes p "
            "JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id WHERE p.last_seen_ms >= $1 AND p.first_seen_ms < $2");
    store_which_runs(s->db->ops->kind, span, 3, &sql);
    if (span->within && span->gpu_id && s->db->ops->kind == DB_POSTGRES)
        write_around(span, &sql);
    if (span->within)
        buf_text(&sql, " GROUP BY p.id, g.gpu_index, h.name, g.uuid, g.simulated");
    buf_printf(&sql, " ORDER BY %s LIMIT %zu", span->in_order ? "p.id" : "energy DESC, p.id",
               MIN_OF(span->limit, (size_t)INT32_MAX));
    rc = db_prepare_between(s->db, &sql, span->within ? span->since_ms / MINUTE_MS : span->since_ms,
                            span->within ? (span->until_ms + MINUTE_MS - 1) / MINUTE_MS : span->until_ms, &q, err);
    if (rc < 0)
        return rc;
    store_bind_runs(q, span, 3);
    while ((rc = db_step(q, err)) == 1) {
        struct store_process_run run;
        read_run(q, &run);
        if (span->within && span->limits)
            read_limits(db_text(q, 29), &run);
        rc = each(user, &run);
        if (rc != 0)
            break;
    }
    db_reset(q);
    return rc < 0 ? rc : 0;
}

/* Episodes of findings appear among the events, read from their own table: each fact is stored once. Events of the same
 * millisecond need an order, too, so that a page begins where the previous one ended: the cursor has PLACES per millisecond, and
 * the row's ID selects among them. */
enum { PLACES = 1 << 20 };

static const char events_query[] =
    "SELECT t.place, t.at_ms, t.gpu_id, g.gpu_index, h.name, t.kind, t.severity, t.text, t.data, t.code, t.id FROM ("
    "SELECT at_ms * 1048576 + id % 524288 * 2 AS place, id, at_ms, host_id, gpu_id, kind, severity, text, data, code FROM events "
    "WHERE at_ms >= $1 AND at_ms < $2 UNION ALL "
    "SELECT first_seen_ms * 1048576 + id % 524288 * 2 + 1, id, first_seen_ms, host_id, gpu_id, 'finding', CASE severity WHEN 1 "
    "THEN "
    "'notice' WHEN 2 THEN 'warning' ELSE 'critical' END, headline, '{\"code\":\"' || code || '\",\"duration_seconds\":' || "
    "((last_seen_ms - first_seen_ms) / 1000) || ',\"ended\":' || CASE ended WHEN 0 THEN 'false' ELSE 'true' END || '}', NULL FROM "
    "finding_episodes WHERE severity >= 1 AND last_seen_ms >= $1 AND "
    "first_seen_ms >= $1 AND first_seen_ms < $2) t JOIN hosts h ON h.id = t.host_id LEFT JOIN gpus g ON g.id = t.gpu_id WHERE "
    "t.place > $3 AND ($4 = '' OR t.kind = $4) AND ($5 = '' OR h.name = $5) AND ($6 = 0 OR t.gpu_id = $6) ORDER BY t.place LIMIT "
    "$7";

int store_events(struct store *s, const struct store_event_page *page, store_event_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(s->db, events_query, &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, MAX_OF(page->since_ms, page->cursor / PLACES));
    db_bind_i64(q, 2, page->until_ms);
    db_bind_i64(q, 3, page->cursor);
    db_bind_text(q, 4, page->kind ? page->kind : "");
    db_bind_text(q, 5, page->host ? page->host : "");
    db_bind_i64(q, 6, page->gpu_id);
    db_bind_i64(q, 7, (int64_t)MIN_OF(page->limit, (size_t)INT32_MAX));
    while ((rc = db_step(q, err)) == 1) {
        char host[HOST_NAME_SIZE], kind[32], severity[16];
        AUTO_BUF struct buf text = BUF(65536), data = BUF(1 << 20);
        copy_column(q, 4, host, sizeof host);
        copy_column(q, 5, kind, sizeof kind);
        copy_column(q, 6, severity, sizeof severity);
        buf_str(&text, db_text(q, 7));
        bool has_data = !db_is_null(q, 8);
        buf_str(&data, db_text(q, 8));
        struct store_event_row row = {.cursor = db_i64(q, 0),
                                      .id = db_i64(q, 10),
                                      .at = {db_i64(q, 1)},
                                      .gpu_id = db_is_null(q, 2) ? 0 : db_i64(q, 2),
                                      .gpu_index = db_is_null(q, 3) ? -1 : (int)db_i64(q, 3),
                                      .host = host,
                                      .kind = kind,
                                      .severity = severity,
                                      .text = text.at ? text.at : "",
                                      .data = has_data && data.at ? data.at : NULL,
                                      .code = db_is_null(q, 9) ? 0 : db_i64(q, 9)};
        rc = each(user, &row);
        if (rc != 0)
            break;
    }
    db_reset(q);
    return rc < 0 ? rc : 0;
}
