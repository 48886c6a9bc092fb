/* SPDX-License-Identifier: Apache-2.0
 * Minutes of processes and of energy, summed up to hours: makes reading a year fast. As with samples, writing a minute marks its
 * hour pending in the same transaction, and the hour is recomputed from all of its minutes when it is over; queries read pending
 * hours from the minutes.
 *
 * For each process, one bit per minute records in which minutes of the hour it ran, computed, or only held memory: so two
 * processes of one user count once where they ran side by side, and twice where they ran one after the other.
 *
 * On a server, hours of energy are summed up to days: makes reading a month of thousands of GPUs fast. A day is updated in the
 * same transaction as its hours. For a database older than this table, the host that cleans up adds one day after the other,
 * newest first; `days_from` in meta records its progress. Until then queries read hours.
 */
#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "insight/facts/levels.h"
#include "store/internal.h"
#include "store/query.h"

/* ---- days ---- */

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

static int days_add_hour(struct store *s, int64_t host, int64_t hour, bool take_away, struct error *err)
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

static int sum_up_day(struct store *s, int64_t day, struct error *err)
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
    rc = sum_up_day(s, from - 1, err);
    if (rc == 0)
        rc = db_execf(s->db, err, "UPDATE meta SET value = '%lld' WHERE key = 'days_from'", (long long)(from - 1));
    return rc < 0 ? rc : 1;
}

/* ---- hours ---- */

enum {
    MARKED_SERIES = 2, /* in `pending`, beside the series of GPUs and hosts */
    MINUTES_AN_HOUR = 60,
    SETTLED_MS = 2 * MINUTE_MS, /* by then the last minute is summed up, too */
    HOURS_A_WRITE = 64,
    OTHERS_AFTER_HOURS = 24, /* an hour that its own host has not summed up by then is left to any host */
    PENDING_MAX = 200000,
    SQL_MAX = 1 << 14,
};

int hours_mark(struct store *s, int64_t minute, struct error *err)
{
    int64_t hour = minute / MINUTES_AN_HOUR;
    /* Behind the horizon the minutes are deleted: recomputing the hour would lose them. */
    if (hour == s->marked_hour || hour * HOUR_MS < s->horizon_ms[SERIES_GPU][LEVEL_MINUTE])
        return 0;
    int rc = store_put(s, ST_PENDING, err, MARKED_SERIES, LEVEL_HOUR, s->host_id, hour);
    if (rc == 0)
        s->marked_hour = hour;
    if (hour < s->hours_done)
        s->hours_done = 0;
    return rc;
}

/* The statements that sum up an hour. CROSS JOIN fixes SQLite's join order, so that it starts from the rows of that hour;
 * otherwise it would scan all stored processes or minutes.
 *
 * A GPU's first minute is watched from the moment at which the GPU was first seen. */
#define WATCHED_MS(minute) "CASE WHEN g.first_seen_ms / 60000 = " minute " THEN 60000 - g.first_seen_ms % 60000 ELSE 60000 END"

/* A process's activity is its own share if known, else the GPU's load. A minute in which it ran only partly is listed with its
 * samples and those of the GPU. */
static const char processes_sql[] =
    "INSERT INTO process_hours (hour, process_id, samples, memory_max_bytes, memory_sum_bytes, memory_count, sm_sum_permille, "
    "sm_count, energy_mj, present_minutes, busy_minutes, held_minutes, byte_minutes, idle_byte_minutes, partial_minutes, limits, "
    "generated_tokens, prompt_tokens, parked_mj, requests) "
    "SELECT {hour}, process_id, SUM(samples), MAX(memory_max_bytes), SUM(memory_sum_bytes), SUM(memory_count), "
    "SUM(sm_sum_permille), SUM(sm_count), SUM(energy_mj), SUM(bit), SUM(CASE WHEN sm >= {busy} THEN bit ELSE 0 END), "
    "SUM(CASE WHEN sm < {idle} AND memory >= {held} THEN bit ELSE 0 END), COALESCE(SUM(memory * (samples * ms * 100 / "
    "NULLIF(known, "
    "0)) / 6000000), 0), "
    "COALESCE(SUM(CASE WHEN sm < {idle} THEN memory * (samples * ms * 100 / NULLIF(known, 0)) / 6000000 END), 0), "
    "{list}(CASE WHEN samples > 0 AND samples < known THEN CAST(minute - {hour} * 60 AS TEXT) || ':' || CAST(samples AS TEXT) || "
    "'/' || CAST(known AS TEXT) END, ' '), "
    "(SELECT {list}(l.limit_code || ':' || CAST(l.bits AS TEXT) || ':' || CAST(l.mj AS TEXT), ' ') FROM (SELECT n.limit_code, "
    "SUM(CAST(1 AS BIGINT) << CAST(n.minute - {hour} * 60 AS INTEGER)) AS bits, SUM(n.energy_mj) AS mj FROM process_minutes n "
    "WHERE n.process_id = t.process_id AND n.minute >= {hour} * 60 AND n.minute < ({hour} + 1) * 60 AND n.limit_code IS NOT NULL "
    "GROUP BY n.limit_code) AS l), SUM(generated_tokens), SUM(prompt_tokens), SUM(parked_mj), SUM(requests) FROM "
    "(SELECT m.*, CASE WHEN m.samples > 0 THEN CAST(1 AS BIGINT) << CAST(m.minute - {hour} * 60 AS INTEGER) ELSE 0 END AS bit, "
    "CASE WHEN c.samples > m.samples THEN c.samples ELSE m.samples END AS known, " WATCHED_MS(
        "m.minute") " AS ms, "
                    "CASE WHEN m.memory_count > 0 THEN m.memory_sum_bytes / m.memory_count ELSE 0 END AS memory, "
                    "CASE WHEN m.sm_count > 0 THEN m.sm_sum_permille / m.sm_count WHEN c.samples > 0 THEN "
                    "c.util_permille_sum / COALESCE(c.util_permille_count, c.samples) END AS sm "
                    "FROM process_minutes m CROSS JOIN processes p CROSS JOIN gpus g "
                    "LEFT JOIN minutes c ON c.id = p.gpu_id * 4294967296 + m.minute{parts} "
                    "WHERE m.minute >= {hour} * 60 AND m.minute < ({hour} + 1) * 60 AND p.id = m.process_id AND g.id = p.gpu_id "
                    "AND g.host_id = {host}) AS t GROUP BY process_id";

/* Beside the energy, how long the GPU was watched, busy and idle: an hour may contain minutes that were not recorded. */
static const char energy_sql[] =
    "INSERT INTO energy_hours (hour, gpu_id, energy_mj, attributed_mj, counter_mj, watched_ms, busy_ms, idle_ms, idle_mj, "
    "util_sum_permille, util_minutes) "
    "SELECT {hour}, t.gpu_id, t.mj, t.attributed, t.counter, w.watched, w.busy, w.idle, w.idle_mj, w.util, w.utils "
    "FROM (SELECT e.gpu_id, SUM(e.energy_mj) AS mj, SUM(e.attributed_mj) AS attributed, "
    "SUM(CASE WHEN e.counted <> 0 THEN e.energy_mj ELSE 0 END) AS counter FROM energy e CROSS JOIN gpus g WHERE e.minute >= "
    "{hour} * 60 AND e.minute < ({hour} + 1) * 60 AND g.id = e.gpu_id AND g.host_id = {host} GROUP BY e.gpu_id) AS t LEFT JOIN "
    "(SELECT gpu_id, SUM(ms) AS watched, SUM(CASE WHEN util >= {busy} THEN ms ELSE 0 END) AS busy, "
    "SUM(CASE WHEN util < {idle} AND power IS NOT NULL THEN ms ELSE 0 END) AS idle, "
    "SUM(CASE WHEN util < {idle} AND power IS NOT NULL THEN power * ms / 1000 ELSE 0 END) AS idle_mj, "
    "COALESCE(SUM(util), 0) AS util, COUNT(util) AS utils FROM (SELECT g.id AS gpu_id, " WATCHED_MS(
        "(c.id & 4294967295)") " AS ms, "
                               "c.util_permille_sum / NULLIF(COALESCE(c.util_permille_count, c.samples), 0) AS util, "
                               "c.power_mw_sum / NULLIF(COALESCE(c.power_mw_count, c.samples), 0) AS power FROM gpus g CROSS "
                               "JOIN minutes c WHERE g.host_id = {host} AND c.id >= g.id * 4294967296 + {hour} * 60 AND "
                               "c.id < g.id * 4294967296 + ({hour} + 1) * 60{parts}) AS m "
                               "GROUP BY gpu_id) AS w ON w.gpu_id = t.gpu_id";

static const char forget_processes_sql[] =
    "DELETE FROM process_hours WHERE hour = {hour} AND EXISTS (SELECT 1 FROM processes p CROSS JOIN gpus g WHERE p.id = "
    "process_hours.process_id AND g.id = p.gpu_id AND g.host_id = {host})";
static const char forget_energy_sql[] =
    "DELETE FROM energy_hours WHERE hour = {hour} AND gpu_id IN (SELECT id FROM gpus WHERE host_id = {host})";
static const char hour_done_sql[] = "DELETE FROM pending WHERE series = 2 AND level = 2 AND bucket = {hour} AND subject = {host}";

static const char *const hour_sql[ST_COUNT] = {
    [ST_HOUR_FORGET_PROCESSES] = forget_processes_sql,
    [ST_HOUR_FORGET_ENERGY] = forget_energy_sql,
    [ST_HOUR_PROCESSES] = processes_sql,
    [ST_HOUR_ENERGY] = energy_sql,
    [ST_HOUR_DONE] = hour_done_sql,
};

/* Values for the {names} in a statement: not every C library supports numbered printf arguments. */
struct sql_word {
    const char *name, *text;
};

static void fill(const char *sql, const struct sql_word *words, size_t count, struct buf *out)
{
    while (*sql) {
        size_t plain = strcspn(sql, "{"), len = strcspn(sql + plain, "}");
        buf_add(out, sql, plain);
        for (size_t i = 0; i < count; i++)
            if (str_is((struct str){sql + plain + 1, len ? len - 1 : 0}, words[i].name))
                buf_text(out, words[i].text);
        sql += plain + len + (sql[plain + len] == '}');
    }
}

/* A file keeps the statement prepared; a server plans it anew, for the partitions with that hour. Parameters are numbered by
 * first use: {hour} comes before {host}. */
static int put_hour(struct store *s, enum statement which, int64_t host, int64_t hour, struct error *err)
{
    const bool server = s->db->ops->kind == DB_POSTGRES;
    struct db_statement **q = &s->statements[which];
    if (!*q) {
        AUTO_BUF struct buf text = BUF(SQL_MAX), parts = BUF(SQL_MAX);
        parts_among(s->db->ops->kind, LEVEL_MINUTE, "c", hour * MINUTES_AN_HOUR, (hour + 1) * MINUTES_AN_HOUR, &parts);
        char numbers[5][24];
        const long long values[] = {hour, host, PROCESS_BUSY_LEAST, PROCESS_IDLE_MAX, PROCESS_HELD_LEAST_BYTES};
        for (size_t i = 0; i < ARRAY_LEN(values); i++)
            snprintf(numbers[i], sizeof numbers[i], "%lld", values[i]);
        const struct sql_word words[] = {{"hour", server ? numbers[0] : "$1"},
                                         {"host", server ? numbers[1] : "$2"},
                                         {"busy", numbers[2]},
                                         {"idle", numbers[3]},
                                         {"held", numbers[4]},
                                         {"parts", parts.at ? parts.at : ""},
                                         {"list", server ? "STRING_AGG" : "GROUP_CONCAT"}};
        fill(hour_sql[which], words, ARRAY_LEN(words), &text);
        if (text.failed || parts.failed)
            return error_set(err, -ENOMEM, "out of memory");
        if (server)
            return db_exec(s->db, text.at, err);
        int rc = db_prepare(s->db, text.at, q, err);
        if (rc < 0)
            return rc;
    }
    db_bind_numbers(*q, 1, hour, host);
    return db_put(*q, err);
}

static int sum_up_hour(struct store *s, int64_t host, int64_t hour, struct error *err)
{
    if (hour == s->marked_hour)
        s->marked_hour = 0; /* later minutes mark it again */
    int rc = partition_ready(s, PARTED_PROCESS_HOURS, hour * HOUR_MS, err);
    if (rc == 0)
        rc = partition_ready(s, PARTED_ENERGY_HOURS, hour * HOUR_MS, err);
    if (rc == 0)
        rc = days_add_hour(s, host, hour, true, err);
    for (int i = ST_HOUR_FORGET_PROCESSES; rc == 0 && i <= ST_HOUR_ENERGY; i++)
        rc = put_hour(s, (enum statement)i, host, hour, err);
    if (rc == 0)
        rc = days_add_hour(s, host, hour, false, err);
    return rc < 0 ? rc : put_hour(s, ST_HOUR_DONE, host, hour, err);
}

int hours_rollup(struct store *s, int64_t now_ms, struct error *err)
{
    int64_t marks[HOURS_A_WRITE][2], minute = now_ms / MINUTE_MS, hour = (now_ms - SETTLED_MS) / HOUR_MS;
    size_t count = 0;
    if (s->hours_checked == minute || s->hours_done == hour)
        return 0;
    struct db_statement *q = store_statement(s, ST_HOURS_MARKS, err);
    if (!q)
        return err->code;
    db_bind_numbers(q, 1, hour, s->host_id, hour - OTHERS_AFTER_HOURS, HOURS_A_WRITE);
    int rc;
    while ((rc = db_step(q, err)) == 1) {
        marks[count][0] = db_i64(q, 0);
        marks[count++][1] = db_i64(q, 1);
    }
    if (rc == 0 && count)
        rc = days_begin(s, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = sum_up_hour(s, marks[i][0], marks[i][1], err);
    if (rc == 0) {
        s->hours_checked = minute;
        s->hours_done = count < HOURS_A_WRITE ? hour : 0;
    }
    return rc;
}

/* ---- for queries ---- */

static void add_segment(struct hour_segments *ret, int64_t from, int64_t to, bool hours)
{
    struct hour_segment *last = ret->count ? &ret->list[ret->count - 1] : NULL;
    if (from >= to)
        return;
    if (last && last->hours == hours && last->to == from)
        last->to = to;
    else if (ret->count < HOUR_SEGMENTS_MAX)
        ret->list[ret->count++] = (struct hour_segment){from, to, hours};
    else
        ret->full = true;
}

static int64_t next_hour(int64_t minute)
{
    return (minute + MINUTES_AN_HOUR - 1) / MINUTES_AN_HOUR;
}

/* Where minutes are deleted, only hours remain: take those that begin in the range, so that adjacent ranges share none. Returns
 * the first minute that still exists. */
static int64_t add_hours_alone(const struct store *s, int64_t from, int64_t to, struct hour_segments *ret)
{
    int64_t gone = MIN_OF(to, next_hour(store_horizon(s, SERIES_GPU, LEVEL_MINUTE) / MINUTE_MS) * MINUTES_AN_HOUR);
    if (from >= gone)
        return from;
    add_segment(ret, next_hour(from) * MINUTES_AN_HOUR, next_hour(gone) * MINUTES_AN_HOUR, true);
    return gone;
}

int store_hour_segments(struct store *s, int64_t from, int64_t to, int64_t worth, struct hour_segments *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    *ret = (struct hour_segments){0};
    from = add_hours_alone(s, from, to, ret);
    const struct hour_segments alone = *ret;
    int64_t first = next_hour(from), last = to / MINUTES_AN_HOUR, done = from;
    if (last - first < worth) {
        add_segment(ret, from, to, false);
        return 0;
    }
    int rc = db_prepare(s->db,
                        "SELECT DISTINCT bucket FROM pending WHERE series = 2 AND level = 2 AND bucket >= $1 AND bucket < $2 "
                        "ORDER BY bucket LIMIT $3",
                        &q, err);
    if (rc < 0)
        return rc;
    db_bind_numbers(q, 1, first, last, PENDING_MAX);
    add_segment(ret, from, first * MINUTES_AN_HOUR, false);
    done = first * MINUTES_AN_HOUR;
    while ((rc = db_step(q, err)) == 1) {
        int64_t pending = db_i64(q, 0) * MINUTES_AN_HOUR;
        add_segment(ret, done, pending, true);
        add_segment(ret, pending, pending + MINUTES_AN_HOUR, false);
        done = pending + MINUTES_AN_HOUR;
    }
    add_segment(ret, done, last * MINUTES_AN_HOUR, true);
    add_segment(ret, last * MINUTES_AN_HOUR, to, false);
    if (rc == 0 && ret->full) { /* pending hours split it into too many segments */
        *ret = alone;
        add_segment(ret, from, to, false);
    }
    return rc;
}

int store_process_rows(struct store *s, const struct hour_segments *segments, const char *host, bool with_limits, struct buf *sql,
                       struct error *err)
{
    static const char of_host[] = " AND process_id IN (SELECT p.id FROM processes p JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON "
                                  "h.id = g.host_id AND h.name = ";
    int64_t hosts = 0;
    int rc = host && s->db->ops->kind == DB_POSTGRES
                 ? db_query_i64(s->db, "SELECT COUNT(*) FROM (SELECT 1 FROM hosts LIMIT 2) AS t", 0, &hosts, err)
                 : 0;
    if (rc < 0)
        return rc;
    /* Filter inside each subquery, or a server would first read the rows of all hosts. With a single host the filter would only
     * double the work. */
    const bool narrow = hosts > 1;
    const char *filter = narrow ? of_host : "", *name = narrow ? host : "", *end = narrow ? ")" : "";
    static const char rest[] = "process_id, samples, memory_max_bytes, memory_sum_bytes, memory_count, sm_sum_permille, sm_count, "
                               "energy_mj, parked_mj";
    const char *of_hour = with_limits ? ", limits" : "", *of_minute = with_limits ? ", limit_code AS limits" : "";
    buf_char(sql, '(');
    if (segments->count == 0)
        buf_printf(sql, "SELECT minute, %s%s FROM process_minutes WHERE minute < 0", rest, of_minute);
    for (size_t i = 0; i < segments->count; i++) {
        const struct hour_segment *g = &segments->list[i];
        if (g->hours)
            buf_printf(sql, "%sSELECT hour * 60 AS minute, %s%s FROM process_hours WHERE hour >= %lld AND hour < %lld%s%s%s",
                       i ? " UNION ALL " : "", rest, of_hour, (long long)g->from / MINUTES_AN_HOUR,
                       (long long)g->to / MINUTES_AN_HOUR, filter, name, end);
        else
            buf_printf(sql, "%sSELECT minute, %s%s FROM process_minutes WHERE minute >= %lld AND minute < %lld%s%s%s",
                       i ? " UNION ALL " : "", rest, of_minute, (long long)g->from, (long long)g->to, filter, name, end);
    }
    buf_char(sql, ')');
    return 0;
}

bool store_next_limit(struct str *limits, struct store_limit *ret)
{
    struct str word, part;
    char name[LIMIT_NAME_SIZE];
    while (str_cut(limits, ' ', &word)) {
        int64_t bits = 1;
        *ret = (struct store_limit){0};
        str_cut(&word, ':', &part);
        str_copy(name, sizeof name, part);
        bool whole = !word.len || (str_cut(&word, ':', &part) && str_to_i64(part, &bits) && str_to_i64(word, &ret->energy_mj));
        ret->minutes = (uint64_t)bits;
        if (whole && limit_from_name(name, &ret->limit))
            return true;
    }
    return false;
}

struct energy_of {
    const int64_t *gpu_ids;
    size_t count;
    struct store_energy *ret;
    store_energy_hour_fn *each; /* instead of `ret`, hour by hour */
    void *user;
};

static void add_row_energy(const struct energy_of *of, struct db_statement *q)
{
    if (of->each)
        of->each(of->user, db_i64(q, 0), db_i64(q, 4), db_i64(q, 1));
    for (size_t i = 0; !of->each && i < of->count; i++) {
        if (of->gpu_ids[i] != db_i64(q, 0))
            continue;
        of->ret[i].energy_mj += db_i64(q, 1);
        of->ret[i].attributed_mj += db_i64(q, 2);
        of->ret[i].counter_mj += db_i64(q, 3);
    }
}

/* Adds the sums of a segment, from hours or minutes. */
static int add_energy(struct store *s, const struct hour_segment *g, const struct energy_of *of, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    const char *hour = !of->each ? "" : g->hours ? ", hour" : ", minute / 60";
    if (g->hours)
        buf_printf(&sql,
                   "SELECT gpu_id, SUM(energy_mj), SUM(attributed_mj), SUM(counter_mj)%s FROM energy_hours WHERE hour >= $1 "
                   "AND hour < $2",
                   hour);
    else
        buf_printf(&sql,
                   "SELECT gpu_id, SUM(energy_mj), SUM(attributed_mj), SUM(CASE WHEN counted <> 0 THEN energy_mj ELSE 0 "
                   "END)%s FROM energy WHERE minute >= $1 AND minute < $2",
                   hour);
    for (size_t i = 0; i < of->count; i++)
        buf_printf(&sql, "%s%lld", i ? ", " : " AND gpu_id IN (", (long long)of->gpu_ids[i]);
    buf_printf(&sql, ") GROUP BY gpu_id%s", hour);
    int rc = db_prepare_between(s->db, &sql, g->hours ? g->from / MINUTES_AN_HOUR : g->from,
                                g->hours ? g->to / MINUTES_AN_HOUR : g->to, &q, err);
    if (rc < 0)
        return rc;
    while ((rc = db_step(q, err)) == 1)
        add_row_energy(of, q);
    return rc;
}

static int sum_energy(struct store *s, const struct energy_of *of, int64_t since_ms, int64_t until_ms, struct error *err)
{
    struct hour_segments segments;
    if (of->count == 0)
        return 0;
    int rc = store_hour_segments(s, since_ms / MINUTE_MS, (until_ms + MINUTE_MS - 1) / MINUTE_MS, HOURS_WORTH, &segments, err);
    for (size_t i = 0; rc == 0 && i < segments.count; i++)
        rc = add_energy(s, &segments.list[i], of, err);
    return rc;
}

int store_energy_of(struct store *s, const int64_t *gpu_ids, size_t count, int64_t since_ms, int64_t until_ms,
                    struct store_energy *ret, struct error *err)
{
    memset(ret, 0, count * sizeof *ret);
    return sum_energy(s, &(struct energy_of){.gpu_ids = gpu_ids, .count = count, .ret = ret}, since_ms, until_ms, err);
}

int store_energy_by_hour(struct store *s, const int64_t *gpu_ids, size_t count, int64_t since_ms, int64_t until_ms,
                         store_energy_hour_fn *each, void *user, struct error *err)
{
    return sum_energy(s, &(struct energy_of){.gpu_ids = gpu_ids, .count = count, .each = each, .user = user}, since_ms, until_ms,
                      err);
}

int store_watched_hours(struct store *s, const int64_t *gpu_ids, size_t count, int64_t from_hour, int64_t to_hour,
                        store_watched_hour_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    if (count == 0 || from_hour >= to_hour)
        return 0;
    buf_text(&sql, "SELECT gpu_id, hour, watched_ms, busy_ms, idle_ms, idle_mj, util_sum_permille, util_minutes FROM energy_hours "
                   "WHERE hour >= $1 AND hour < $2 AND watched_ms IS NOT NULL AND gpu_id IN (");
    for (size_t i = 0; i < count; i++)
        buf_printf(&sql, "%s%lld", i ? ", " : "", (long long)gpu_ids[i]);
    buf_char(&sql, ')');
    int rc = db_prepare_between(s->db, &sql, from_hour, to_hour, &q, err);
    if (rc < 0)
        return rc;
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        const struct store_watched_hour row = {db_i64(q, 0), db_i64(q, 1), db_i64(q, 2), db_i64(q, 3),
                                               db_i64(q, 4), db_i64(q, 5), db_i64(q, 6), db_i64(q, 7)};
        rc = each(user, &row);
    }
    return MIN_OF(rc, 0);
}
