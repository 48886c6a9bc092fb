/* SPDX-License-Identifier: Apache-2.0
 * A few statements about all hosts, each answered from an index: the last row of each GPU, the last minute of each process, hours
 * of energy. "Now" is the server's time; rows carry the time of their host's clock, which may be ahead or behind.
 */
#include "store/fleet_queries.h"

#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "store/internal.h"
#include "store/query.h"

enum { SQL_MAX = 1 << 16, PROCESS_MINUTES = 3 };

/* How far a host's clock is ahead of the server's; needs JOIN_CLOCK. Hosts that never reported it count as 0. */
#define AHEAD "COALESCE(r.ahead_ms, 0)"
#define JOIN_CLOCK "LEFT JOIN retention r ON r.host_id = h.id "

/* The server's time, and the range of times at which hosts write now: as constants they let the planner skip most of a large
 * table. */
struct clocks {
    int64_t now_ms, slowest_ms, fastest_ms;
};

static int ask_now(struct store *s, int64_t *ret_ms, struct error *err)
{
    if (s->db->ops->kind != DB_POSTGRES)
        return error_set(err, -EINVAL, "a fleet is kept in PostgreSQL, not in a file");
    return db_query_i64(s->db, "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)", 0, ret_ms, err);
}

static int ask_clocks(struct store *s, struct clocks *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = ask_now(s, &ret->now_ms, err);
    if (rc == 0)
        rc = db_prepare(s->db, "SELECT COALESCE(MIN(ahead_ms), 0), COALESCE(MAX(ahead_ms), 0) FROM retention WHERE alive_ms > $1",
                        &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, ret->now_ms - HOST_ALIVE_MS);
    rc = db_step(q, err);
    ret->slowest_ms = ret->now_ms + (rc == 1 ? MIN_OF(db_i64(q, 0), (int64_t)0) : 0);
    ret->fastest_ms = ret->now_ms + (rc == 1 ? MAX_OF(db_i64(q, 1), (int64_t)0) : 0);
    return rc < 0 ? rc : 0;
}

/* Prepares a query about the present; `part` is what differs between two of a kind. */
typedef void write_fn(const struct store *s, const struct clocks *c, const char *part, struct buf *sql);
static int prepare_now(struct store *s, write_fn *write, const char *part, struct db_statement **ret, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    struct clocks clocks = {0};
    int rc = ask_clocks(s, &clocks, err);
    if (rc < 0)
        return rc;
    write(s, &clocks, part, &sql);
    return db_prepare_text(s->db, &sql, ret, err);
}

/* A column exists only once a host has had a value for it. */
static const char *column_or_null(const struct store *s, const char *name)
{
    int column = series_find(SERIES_GPU, name);
    return column >= 0 && s->schema.has[SERIES_GPU][column] ? name : "NULL";
}

/* Four columns from `first` on: user, container ID, container name, job. */
#define WHO_COLUMNS "p.user_name, p.container, p.container_name, p.job"
static void read_who(struct db_statement *q, int first, struct process *who)
{
    str_copy(who->user, sizeof who->user, db_text(q, first));
    str_copy(who->container, sizeof who->container, db_text(q, first + 1));
    str_copy(who->container_name, sizeof who->container_name, db_text(q, first + 2));
    str_copy(who->job, sizeof who->job, db_text(q, first + 3));
}

/* Hosts, how long each has been silent, and how long it may be: fifteen seconds plus twice its usual interval, as in fleets
 * from metrics. Every sample has a row of its host, whether GPUs sleep or not; without such rows last_seen_ms suffices, which is
 * written once a minute. */
static void write_heard(const struct clocks *c, struct buf *sql)
{
    char rows[512];
    snprintf(rows, sizeof rows,
             "(SELECT CAST(EXTRACT(EPOCH FROM recorded_at) * 1000 AS BIGINT) AS at_ms FROM host_samples WHERE host_id = h.id AND "
             "recorded_at > to_timestamp(%lld / 1000.0) AND recorded_at < to_timestamp(%lld / 1000.0)",
             (long long)(c->slowest_ms - HOST_ALIVE_MS), (long long)(c->fastest_ms + HOST_ALIVE_MS));
    /* The distances are read only of hosts that are late. */
    buf_printf(
        sql,
        "WITH heard AS MATERIALIZED (SELECT h.id, h.name, " AHEAD " AS ahead_ms, %lld + " AHEAD " - "
        "GREATEST(h.last_seen_ms, n.at_ms) AS silent_ms, COALESCE(LEAST(%lld + 2 * w.gap_ms, %lld), %lld) AS allowed_ms "
        "FROM hosts h " JOIN_CLOCK "LEFT JOIN LATERAL %s ORDER BY recorded_at DESC LIMIT 1) n ON true "
        "LEFT JOIN LATERAL (SELECT MAX(y.gap_ms) AS gap_ms FROM (SELECT x.at_ms - LEAD(x.at_ms) OVER (ORDER BY x.at_ms DESC) "
        "AS gap_ms FROM %s AND %lld + " AHEAD " - n.at_ms >= %lld ORDER BY recorded_at DESC LIMIT %d) x) y) w ON true "
        "WHERE h.last_seen_ms - " AHEAD " > %lld) ",
        (long long)c->now_ms, (long long)HOST_GRACE_MS, (long long)HOST_ALIVE_MS, (long long)HOST_ALIVE_MS, rows, rows,
        (long long)c->now_ms, (long long)HOST_GRACE_MS, (int)HOST_GAPS, (long long)(c->now_ms - HOST_SILENT_MS));
}

#define FACT_OF_GPU(key) \
    "(SELECT f.value FROM facts f WHERE f.gpu_id = g.id AND f.key = '" key "' ORDER BY f.since_ms DESC LIMIT 1)"

/* A host that finds nothing wrong with a GPU has said enough of it: a hashed list costs less than a fact of each. */
#define CALM "calm"
#define STATE_OF_GPU                                                                                                             \
    "CASE WHEN g.id IN (SELECT gpu_id FROM finding_episodes WHERE ended = 0 GROUP BY gpu_id HAVING MAX(severity_now) = 0) THEN " \
    "'" CALM "' ELSE " FACT_OF_GPU(FACT_STATE) " END"

static void write_gpus(const struct store *s, const struct clocks *c, const char *instance, struct buf *sql)
{
    buf_printf(sql,
               "SELECT h.name, g.gpu_index, g.uuid, g.name, " STATE_OF_GPU ", x.util, x.used, x.total, x.free, x.temp, x.power, "
               "%s FROM gpus g JOIN hosts h ON h.id = g.host_id " JOIN_CLOCK
               "LEFT JOIN LATERAL (SELECT util_permille AS util, mem_used_bytes AS used, mem_total_bytes AS total, "
               "%s AS free, "
               "temp_mdegc AS temp, power_mw AS power FROM samples WHERE gpu_id = g.id AND recorded_at > "
               "to_timestamp(%lld / 1000.0) AND recorded_at < to_timestamp(%lld / 1000.0) AND recorded_at > "
               "to_timestamp((%lld + " AHEAD ") / 1000.0::float8) ORDER BY recorded_at DESC LIMIT 1) x ON "
               "true WHERE g.last_seen_ms - " AHEAD " > %lld",
               instance, column_or_null(s, "mem_free_bytes"), (long long)(c->slowest_ms - HOST_ALIVE_MS),
               (long long)(c->fastest_ms + HOST_ALIVE_MS), (long long)(c->now_ms - HOST_ALIVE_MS),
               (long long)(c->now_ms - HOST_ALIVE_MS));
}

static void read_gpu(struct db_statement *q, struct host_gpu *g)
{
    str_copy(g->host, sizeof g->host, db_text(q, 0));
    g->index = (int)db_i64_or(q, 1, -1);
    str_copy(g->uuid, sizeof g->uuid, db_text(q, 2));
    str_copy(g->name, sizeof g->name, db_text(q, 3));
    g->calm = str_is(db_text(q, 4), CALM);
    /* A sleeping GPU counts as up. */
    g->up = !str_is(db_text(q, 4), gpu_state_name(GPU_LOST)) && !str_is(db_text(q, 4), gpu_state_name(GPU_ERROR));
    struct reading *const to[] = {&g->util_permille, &g->used_bytes, &g->total_bytes, &g->free_bytes, &g->temp_mdegc, &g->power_mw};
    for (int i = 0; i < (int)ARRAY_LEN(to); i++)
        *to[i] = db_reading(q, 5 + i);
    int64_t bytes;
    if (str_to_i64(db_text(q, 11), &bytes))
        g->instance_max_bytes = reading_ok(bytes);
}

int all_hosts_gpus(struct store *s, bool rooms, host_gpu_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = prepare_now(s, write_gpus, rooms ? FACT_OF_GPU(FACT_INSTANCES) : "NULL", &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct host_gpu g = {0};
        read_gpu(q, &g);
        rc = each(user, &g);
    }
    return rc;
}

static void write_silent(const struct store *s, const struct clocks *c, const char *part, struct buf *sql)
{
    (void)s, (void)part;
    write_heard(c, sql);
    /* Of the last minute before, in which every GPU that was awake has a sample. */
    buf_printf(
        sql,
        "SELECT h.name, h.silent_ms, z.gpus, z.util, z.used, z.total, z.temp, z.power, LEAST(h.silent_ms, u.up_ms) FROM heard h "
        "CROSS JOIN (SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp() - pg_postmaster_start_time()) * 1000 AS BIGINT) AS up_ms) u "
        "LEFT JOIN LATERAL ("
        "SELECT COUNT(*) AS gpus, CAST(AVG(y.util_permille) AS BIGINT) AS util, SUM(y.mem_used_bytes)::bigint AS used, "
        "SUM(y.mem_total_bytes)::bigint AS total, MAX(y.temp_mdegc) AS temp, SUM(y.power_mw)::bigint AS power FROM "
        "(SELECT DISTINCT ON (x.gpu_id) x.* FROM gpus g JOIN samples x ON x.gpu_id = g.id WHERE g.host_id = h.id AND "
        "x.recorded_at > to_timestamp(%lld / 1000.0) AND "
        "x.recorded_at > to_timestamp((%lld + h.ahead_ms - h.silent_ms - 60000) / 1000.0) AND "
        "x.recorded_at < to_timestamp((%lld + h.ahead_ms - h.silent_ms + 1000) / 1000.0) "
        "ORDER BY x.gpu_id, x.recorded_at DESC) y) z ON true WHERE h.silent_ms >= h.allowed_ms",
        (long long)(c->slowest_ms - HOST_SILENT_MS), (long long)c->now_ms, (long long)c->now_ms);
}

int all_hosts_silent(struct store *s, silent_host_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = prepare_now(s, write_silent, NULL, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct silent_host h = {.silent_ms = db_i64(q, 1), .waited_ms = db_i64(q, 8)};
        struct reading *const to[] = {&h.gpus, &h.util_permille, &h.used_bytes, &h.total_bytes, &h.temp_mdegc, &h.power_mw};
        str_copy(h.host, sizeof h.host, db_text(q, 0));
        for (int i = 0; i < (int)ARRAY_LEN(to) && db_i64(q, 2); i++)
            *to[i] = db_reading(q, 2 + i);
        rc = each(user, &h);
    }
    return rc;
}

/* ---- forgotten hosts: a row of `meta` for each, "1700000000000 alice" ---- */

#define FORGOTTEN "forgotten:"

int all_hosts_forgotten(struct store *s, forgotten_host_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int64_t now_ms = 0;
    int rc = ask_now(s, &now_ms, err);
    if (rc == 0)
        rc = db_prepare(s->db, "SELECT key, value FROM meta WHERE key LIKE '" FORGOTTEN "%'", &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        char host[HOST_NAME_SIZE], by[PROCESS_USER_SIZE];
        struct str key = db_text(q, 0), value = db_text(q, 1), at;
        int64_t at_ms;
        str_copy(host, sizeof host, (struct str){key.at + strlen(FORGOTTEN), key.len - strlen(FORGOTTEN)});
        bool known = str_cut(&value, ' ', &at) && str_to_i64(at, &at_ms);
        str_copy(by, sizeof by, value);
        rc = known ? each(user, host, by, now_ms - at_ms) : 0;
    }
    return rc;
}

static int write_act(struct db *db, int64_t host_id, int64_t now_ms, const char *host, const char *by, bool undo, struct error *err)
{
    char key[HOST_NAME_SIZE + 16], value[PROCESS_USER_SIZE + 32], text[HOST_NAME_SIZE + PROCESS_USER_SIZE + 64];
    AUTO_STATEMENT struct db_statement *fact = NULL;
    AUTO_STATEMENT struct db_statement *event = NULL;
    snprintf(key, sizeof key, FORGOTTEN "%s", host);
    snprintf(value, sizeof value, "%lld %s", (long long)now_ms, by);
    snprintf(text, sizeof text, "%s %s this host", words_person(by), undo ? "expects" : "no longer expects");
    int rc = db_prepare(db,
                        undo ? "DELETE FROM meta WHERE key = $1"
                             : "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = $2",
                        &fact, err);
    if (rc == 0)
        rc = db_prepare(db, "INSERT INTO events (at_ms, host_id, kind, severity, text) VALUES ($1, $2, 'audit', 'info', $3)",
                        &event, err);
    if (rc < 0)
        return rc;
    db_bind_text(fact, 1, key);
    if (!undo)
        db_bind_text(fact, 2, value);
    rc = db_put(fact, err);
    if (rc < 0)
        return rc;
    db_bind_numbers(event, 1, now_ms, host_id);
    db_bind_text(event, 3, text);
    return db_put(event, err);
}

int all_hosts_forget(const struct env *env, const char *url, const char *host, const char *by, bool undo, struct error *err)
{
    struct store s = {0};
    int64_t now_ms = 0, host_id = 0;
    int rc = db_open_postgres(env, url, false, &s.db, err);
    AUTO_STATEMENT struct db_statement *q = NULL;
    if (rc == 0)
        rc = ask_now(&s, &now_ms, err);
    if (rc == 0)
        rc = db_prepare(s.db, "SELECT id FROM hosts WHERE name = $1", &q, err);
    if (rc == 0) {
        db_bind_text(q, 1, host);
        rc = db_step(q, err);
        host_id = rc == 1 ? db_i64(q, 0) : 0;
        rc = rc == 1 ? 0 : rc < 0 ? rc : error_set(err, -ENOENT, "%s has never written into this database", host);
        db_reset(q);
    }
    if (rc == 0)
        rc = db_begin(s.db, err);
    if (rc == 0)
        rc = write_act(s.db, host_id, now_ms, host, by, undo, err);
    if (rc == 0)
        rc = db_commit(s.db, err);
    db_finish(&q);
    db_close(s.db);
    return rc;
}

/* The clocks of live hosts. */
static void write_ahead(const struct store *s, const struct clocks *c, const char *part, struct buf *sql)
{
    (void)s, (void)part;
    buf_printf(sql, "SELECT h.name, r.ahead_ms FROM hosts h JOIN retention r ON r.host_id = h.id WHERE r.alive_ms > %lld",
               (long long)(c->now_ms - HOST_ALIVE_MS));
}

int all_hosts_clocks(struct store *s, host_clock_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = prepare_now(s, write_ahead, NULL, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        char host[HOST_NAME_SIZE];
        str_copy(host, sizeof host, db_text(q, 0));
        rc = db_is_null(q, 1) ? 0 : each(user, host, db_i64(q, 1));
    }
    return rc;
}

static void write_findings(const struct store *s, const struct clocks *c, const char *which, struct buf *sql)
{
    (void)s;
    buf_printf(sql,
               "SELECT h.name, g.gpu_index, g.uuid, e.code, e.severity_now, e.confidence_permille, %lld + " AHEAD
               " - e.since_ms, p.name, "
               "p.title, p.model, "
               "e.headline FROM finding_episodes e JOIN hosts h ON h.id = e.host_id " JOIN_CLOCK
               "LEFT JOIN gpus g ON g.id = e.gpu_id LEFT JOIN "
               "processes p ON p.id = e.process_id WHERE e.ended = 0 AND h.last_seen_ms - " AHEAD " > %lld%s",
               (long long)c->now_ms, (long long)(c->now_ms - HOST_ALIVE_MS), which);
}

#define TROUBLE " AND (e.severity_now > 0 OR e.code IN ('context_held', 'vram_held'))"

static void read_finding(struct db_statement *q, struct host_finding *f)
{
    str_copy(f->host, sizeof f->host, db_text(q, 0));
    f->gpu_index = (int)db_i64_or(q, 1, -1);
    str_copy(f->uuid, sizeof f->uuid, db_text(q, 2));
    str_copy(f->code, sizeof f->code, db_text(q, 3));
    f->severity = (enum severity)MIN_OF(MAX_OF(db_i64(q, 4), (int64_t)SEVERITY_INFO), (int64_t)SEVERITY_CRITICAL);
    f->confidence = (double)db_i64(q, 5) / 1000;
    f->since_ms = db_i64(q, 6);
    struct process about = {0};
    str_copy(about.name, sizeof about.name, db_text(q, 7));
    str_copy(about.title, sizeof about.title, db_text(q, 8));
    str_copy(about.model, sizeof about.model, db_text(q, 9));
    if (about.name[0])
        process_words(&about, SHORT_NAME, f->process);
    str_copy(f->headline, sizeof f->headline, db_text(q, 10));
}

int all_hosts_findings(struct store *s, bool trouble, host_finding_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = prepare_now(s, write_findings, trouble ? TROUBLE : "", &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct host_finding f = {0};
        read_finding(q, &f);
        rc = each(user, &f);
    }
    return rc;
}

/* The last minute of each process that still runs, once it is long enough for a mean. A process's power is its energy over the
 * watched part of that minute, whenever the energy was booked: never more than the GPU drew. */
static void write_processes(const struct store *s, const struct clocks *c, const char *part, struct buf *sql)
{
    (void)s, (void)part;
    buf_printf(sql,
               "SELECT h.name, g.gpu_index, p.name, " WHO_COLUMNS ", CASE WHEN m.memory_count > 0 "
               "THEN m.memory_sum_bytes / m.memory_count END, CASE WHEN m.sm_count > 0 THEN m.sm_sum_permille / m.sm_count END, "
               "CASE WHEN m.ms >= %d THEN m.energy_mj * 1000 / m.ms END, m.limit_code FROM (SELECT DISTINCT ON (x.process_id) x.*, "
               "LEAST(y.last_seen_ms - x.minute * 60000, 60000) AS ms "
               "FROM process_minutes x JOIN processes y ON y.id = x.process_id JOIN gpus h ON h.id = y.gpu_id "
               "LEFT JOIN retention r ON r.host_id = h.host_id "
               "WHERE x.minute > %lld AND x.minute > (%lld + " AHEAD ") / 60000 - %d AND x.samples > 0 AND y.ended = 0 "
               "ORDER BY x.process_id, y.last_seen_ms - x.minute * 60000 >= %d DESC, x.minute DESC) m JOIN processes p ON p.id = "
               "m.process_id "
               "JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id ORDER BY h.name, g.gpu_index",
               PASSED_MIN_MS, (long long)(c->slowest_ms / MINUTE_MS - PROCESS_MINUTES), (long long)c->now_ms, PROCESS_MINUTES,
               PASSED_MIN_MS);
}

int all_hosts_processes(struct store *s, host_process_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = prepare_now(s, write_processes, NULL, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct host_process p = {.gpu_index = (int)db_i64_or(q, 1, -1)};
        str_copy(p.host, sizeof p.host, db_text(q, 0));
        str_copy(p.who.name, sizeof p.who.name, db_text(q, 2));
        read_who(q, 3, &p.who);
        p.mem_bytes = db_reading(q, 7);
        p.util_permille = db_reading(q, 8);
        p.power_mw = db_reading(q, 9);
        char limit[32];
        str_copy(limit, sizeof limit, db_text(q, 10));
        limit_from_name(limit, &p.limit);
        rc = each(user, &p);
    }
    return rc;
}

/* The tables with the energy of GPUs and of processes. */
static const struct energy_tables {
    const char *subject, *minutes, *hours, *days;
} energy_tables[] = {{"gpu_id", "energy", "energy_hours", "energy_days"},
                     {"process_id", "process_minutes", "process_hours", "process_days"}};

static void write_rows(const struct energy_tables *t, const char *table, const char *unit, int64_t from, int64_t to,
                       struct buf *sql)
{
    if (from < to)
        buf_printf(sql, "%sSELECT %s AS subject, energy_mj FROM %s WHERE %s >= %lld AND %s < %lld", sql->len ? " UNION ALL " : "",
                   t->subject, table, unit, (long long)from, unit, (long long)to);
}

/* Whole days come from the table of days, their edges from hours, and the edges of those from minutes. */
static void write_segments(const struct energy_tables *t, const struct hour_segments *segments, int64_t first_day, struct buf *sql)
{
    for (size_t i = 0; i < segments->count; i++) {
        const struct hour_segment *g = &segments->list[i];
        int64_t hour = g->from / 60, last = g->to / 60;
        int64_t day = MAX_OF((hour + 23) / 24, first_day), days = MAX_OF(last / 24 - day, (int64_t)0);
        if (!g->hours) {
            write_rows(t, t->minutes, "minute", g->from, g->to, sql);
            continue;
        }
        write_rows(t, t->hours, "hour", hour, days ? day * 24 : last, sql);
        write_rows(t, t->days, "day", day, day + days, sql);
        if (days)
            write_rows(t, t->hours, "hour", (day + days) * 24, last, sql);
    }
    if (!sql->len)
        buf_printf(sql, "SELECT %s AS subject, energy_mj FROM %s WHERE false", t->subject, t->minutes);
}

/* Sum by GPU or process before joining the names: there are few of them, and names are long. */
static void write_energy(bool processes, const struct hour_segments *segments, int64_t first_day, struct buf *sql)
{
    AUTO_BUF struct buf rows = BUF(SQL_MAX);
    write_segments(&energy_tables[processes], segments, first_day, &rows);
    buf_printf(sql, "SELECT SUM(t.mj), %s FROM (SELECT subject, SUM(energy_mj) AS mj FROM (", processes ? WHO_COLUMNS : "h.name");
    buf_text(sql, rows.failed ? "" : rows.at);
    buf_text(sql, ") AS e GROUP BY 1) AS t ");
    buf_text(sql, processes ? "JOIN processes p ON p.id = t.subject GROUP BY 2, 3, 4, 5"
                            : "JOIN gpus g ON g.id = t.subject JOIN hosts h ON h.id = g.host_id GROUP BY 2");
}

int all_hosts_energy(struct store *s, bool processes, int64_t span_ms, host_energy_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    struct hour_segments segments;
    int64_t now_ms = 0, first_day = 0;
    int rc = ask_now(s, &now_ms, err);
    if (rc == 0)
        rc = days_from(s, &first_day, err);
    if (rc == 0)
        rc = store_hour_segments(s, (now_ms - span_ms) / MINUTE_MS, now_ms / MINUTE_MS + 1, HOURS_WORTH_OF_MANY, &segments, err);
    if (rc < 0)
        return rc;
    write_energy(processes, &segments, first_day, &sql);
    rc = db_prepare_text(s->db, &sql, &q, err);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        char host[HOST_NAME_SIZE] = "";
        struct process who = {0};
        if (processes)
            read_who(q, 1, &who);
        else
            str_copy(host, sizeof host, db_text(q, 1));
        rc = each(user, host, &who, db_i64(q, 0));
    }
    return rc;
}
