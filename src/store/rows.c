/* SPDX-License-Identifier: Apache-2.0
 * What the database lists: GPUs and hosts, their raw rows page by page, runs of processes, and events with the findings among them.
 */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "host/identity.h"
#include "store/internal.h"
#include "store/query.h"

enum { SQL_MAX = 1 << 16, HOSTS_MAX = 4096 };

/* The tables record when a GPU or host was last looked up; its last minute, summed up or pending, is more recent. */
static void write_last_stored(const char *table, char subject, struct buf *sql)
{
    buf_printf(sql, "(SELECT MAX(m.id) FROM %s m WHERE m.id >= %c.id * 4294967296 AND m.id < (%c.id + 1) * 4294967296)", table,
               subject, subject);
}

/* Which partitions to search: a server takes long to plan a search of all of them. */
struct minutes_of {
    enum series series;
    const char *parts[PARTS_RECENT];
    size_t count; /* 0: all */
};

static char letter_of(enum series series)
{
    return series == SERIES_GPU ? 'g' : 'h';
}

static void write_last_minute(const struct minutes_of *of, struct buf *sql)
{
    buf_text(sql, of->count ? "COALESCE(" : "");
    for (size_t i = 0; i < MAX_OF(of->count, (size_t)1); i++) {
        buf_text(sql, i ? ", " : "");
        write_last_stored(of->count ? of->parts[i] : series_table(of->series, LEVEL_MINUTE), letter_of(of->series), sql);
    }
    buf_text(sql, of->count ? ")" : "");
}

static void write_last_seen(const struct minutes_of *of, struct buf *sql)
{
    write_last_minute(of, sql);
    buf_printf(sql, ", (SELECT MAX(p.bucket) FROM pending p WHERE p.series = %d AND p.level = 1 AND p.subject = %c.id)", of->series,
               letter_of(of->series));
}

/* The newest partitions, if every requested GPU or host has a minute in them. */
static int find_minutes(struct store *s, const char *host, enum series series, struct minutes_of *ret, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(2048);
    AUTO_STATEMENT struct db_statement *q = NULL;
    *ret = (struct minutes_of){.series = series};
    ret->count = partition_newest(s, parted_of(series, LEVEL_MINUTE), ret->parts);
    if (ret->count == 0)
        return 0;
    buf_text(&sql, series == SERIES_GPU ? "SELECT 1 FROM gpus g JOIN hosts h ON h.id = g.host_id WHERE "
                                        : "SELECT 1 FROM hosts h WHERE ");
    write_last_minute(ret, &sql);
    buf_printf(&sql, " IS NULL%s LIMIT 1", host ? " AND h.name = $1" : "");
    int rc = db_prepare_text(s->db, &sql, &q, err);
    if (rc == 0 && host)
        db_bind_text(q, 1, host);
    if (rc == 0)
        rc = db_step(q, err);
    bool lost = partition_lost(s, rc);
    if (rc == 1 || lost)
        ret->count = 0;
    return lost ? 0 : MIN_OF(rc, 0);
}

static int64_t last_seen(struct db_statement *q, int stored, int minute)
{
    int64_t at_ms = db_i64(q, stored);
    if (!db_is_null(q, minute))
        at_ms = MAX_OF(at_ms, ((db_i64(q, minute) & 0xffffffff) + 1) * MINUTE_MS - 1);
    if (!db_is_null(q, minute + 1))
        at_ms = MAX_OF(at_ms, (db_i64(q, minute + 1) + 1) * MINUTE_MS - 1);
    return at_ms;
}

/* host NULL: all; gpu_id 0: all. `seen` costs a search of all partitions of minutes, of which a server has many. */
static int list_gpus(struct store *s, const char *host, int64_t gpu_id, bool seen, store_gpu_fn *each, void *user,
                     struct error *err)
{
    AUTO_BUF struct buf sql = BUF(2048);
    AUTO_STATEMENT struct db_statement *q = NULL;
    struct minutes_of minutes;
    int rc = seen ? find_minutes(s, host, SERIES_GPU, &minutes, err) : 0;
    if (rc < 0)
        return rc;
    buf_text(&sql, "SELECT g.id, g.gpu_index, g.uuid, g.pci_address, g.name, g.vendor, h.name, g.first_seen_ms, g.last_seen_ms, "
                   "g.simulated, ");
    if (seen)
        write_last_seen(&minutes, &sql);
    buf_text(&sql, seen ? " FROM gpus g JOIN hosts h ON h.id = g.host_id WHERE 1 = 1"
                        : "NULL, NULL FROM gpus g JOIN hosts h ON h.id = g.host_id WHERE 1 = 1");
    if (gpu_id)
        buf_printf(&sql, " AND g.id = %lld", (long long)gpu_id);
    if (host)
        buf_text(&sql, " AND h.name = $1");
    buf_text(&sql, " ORDER BY h.name, g.gpu_index, g.last_seen_ms DESC");
    rc = db_prepare_text(s->db, &sql, &q, err);
    if (rc < 0)
        return rc;
    if (host)
        db_bind_text(q, 1, host);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct store_gpu gpu = {.id = db_i64(q, 0), .index = (int)db_i64(q, 1)};
        str_copy(gpu.identity.uuid, sizeof gpu.identity.uuid, db_text(q, 2));
        str_copy(gpu.identity.pci_address, sizeof gpu.identity.pci_address, db_text(q, 3));
        str_copy(gpu.identity.name, sizeof gpu.identity.name, db_text(q, 4));
        str_copy(gpu.identity.vendor, sizeof gpu.identity.vendor, db_text(q, 5));
        str_copy(gpu.host, sizeof gpu.host, db_text(q, 6));
        gpu.first_seen.ms = db_i64(q, 7);
        gpu.last_seen.ms = last_seen(q, 8, 10);
        gpu.simulated = db_i64(q, 9) != 0;
        rc = each(user, &gpu);
    }
    return MIN_OF(rc, 0);
}

int store_gpus(struct store *s, const char *host, store_gpu_fn *each, void *user, struct error *err)
{
    return list_gpus(s, host, 0, true, each, user, err);
}

int store_known_gpus(struct store *s, const char *host, store_gpu_fn *each, void *user, struct error *err)
{
    return list_gpus(s, host, 0, false, each, user, err);
}

/* All GPUs, so that rows can be joined without a query each. */
struct gpu_table {
    struct store_gpu *list;
    size_t count, capacity;
};

static int remember_gpu(void *user, const struct store_gpu *gpu)
{
    struct gpu_table *t = user;
    if (!ROOM_FOR_ONE(t->list, t->count, t->capacity, 16))
        return -ENOMEM;
    t->list[t->count++] = *gpu;
    return 0;
}

static void gpu_table_done(struct gpu_table *t)
{
    free(t->list);
}

static const struct store_gpu *gpu_by_id(const struct gpu_table *t, int64_t id)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].id == id)
            return &t->list[i];
    return NULL;
}

static bool uuid_begins(const char *uuid, const char *which)
{
    size_t len = strlen(which);
    bool plain = strncasecmp(uuid, which, len) == 0;
    return len >= 4 && (plain || (strncasecmp(uuid, "GPU-", 4) == 0 && strncasecmp(uuid + 4, which, len) == 0));
}

int store_find_gpu(struct store *s, const char *host, const char *which, struct store_gpu *ret, struct error *err)
{
    CLEANUP(gpu_table_done) struct gpu_table gpus = {0};
    int rc = store_gpus(s, host, remember_gpu, &gpus, err);
    if (rc < 0)
        return rc;
    int64_t index;
    bool by_index = str_to_i64(str_from(which), &index);
    const struct store_gpu *found = NULL;
    for (size_t i = 0; i < gpus.count; i++) {
        const struct store_gpu *g = &gpus.list[i];
        bool match =
            by_index ? g->index == index : uuid_begins(g->identity.uuid, which) || strcasecmp(g->identity.pci_address, which) == 0;
        /* An index that several GPUs have had belongs to the one seen last. */
        if (match && found && by_index) {
            if (g->last_seen.ms > found->last_seen.ms)
                found = g;
        } else if (match && found) {
            return error_set(err, -ENODEV, "'%s' could be several GPUs of the history", which);
        } else if (match) {
            found = g;
        }
    }
    if (!found)
        return error_set(err, -ENODEV, "the history knows no GPU '%s'", which);
    *ret = *found;
    return 0;
}

/* name NULL: all. */
static int list_hosts(struct store *s, const char *name, bool seen, store_host_fn *each, void *user, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(2048);
    AUTO_STATEMENT struct db_statement *q = NULL;
    struct minutes_of minutes;
    int rc = seen ? find_minutes(s, name, SERIES_HOST, &minutes, err) : 0;
    if (rc < 0)
        return rc;
    buf_text(&sql, "SELECT h.id, h.name, h.first_seen_ms, h.last_seen_ms, ");
    if (seen)
        write_last_seen(&minutes, &sql);
    buf_printf(&sql, "%s FROM hosts h%s ORDER BY h.name", seen ? "" : "NULL, NULL", name ? " WHERE h.name = $1" : "");
    rc = db_prepare_text(s->db, &sql, &q, err);
    if (rc == 0 && name)
        db_bind_text(q, 1, name);
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct store_host host = {.id = db_i64(q, 0), .first_seen = {db_i64(q, 2)}, .last_seen = {last_seen(q, 3, 4)}};
        str_copy(host.name, sizeof host.name, db_text(q, 1));
        rc = each(user, &host);
    }
    return MIN_OF(rc, 0);
}

int store_hosts(struct store *s, store_host_fn *each, void *user, struct error *err)
{
    return list_hosts(s, NULL, true, each, user, err);
}

struct host_table {
    struct store_host *list;
    size_t count;
};

static int remember_host(void *user, const struct store_host *host)
{
    struct host_table *t = user;
    if (!t->list)
        t->list = malloc(HOSTS_MAX * sizeof *t->list);
    if (!t->list)
        return -ENOMEM;
    t->list[t->count++] = *host;
    return t->count == HOSTS_MAX;
}

static void host_table_done(struct host_table *t)
{
    free(t->list);
}

/* The GPUs and hosts that the rows of a page may belong to. */
struct owners {
    const struct store_page *page;
    struct gpu_table gpus;
    struct host_table hosts;
};

static void owners_done(struct owners *o)
{
    gpu_table_done(&o->gpus);
    host_table_done(&o->hosts);
}

/* Restricts the query to the GPUs, or hosts, of the page's host: rows of other hosts are not even read. */
static void list_owners(const struct owners *o, const struct raw_words *words, struct buf *sql)
{
    size_t count = 0;
    buf_printf(sql, " AND %s IN (", words->subject);
    for (size_t i = 0; o->page->series == SERIES_GPU && i < o->gpus.count; i++)
        buf_printf(sql, "%s%lld", count++ ? ", " : "", (long long)o->gpus.list[i].id);
    for (size_t i = 0; o->page->series == SERIES_HOST && i < o->hosts.count; i++)
        if (strcmp(o->hosts.list[i].name, o->page->host) == 0)
            buf_printf(sql, "%s%lld", count++ ? ", " : "", (long long)o->hosts.list[i].id);
    buf_text(sql, count ? ")" : "-1)");
}

/* The day's partition if the page is within one day; else the whole table. */
static void find_table(const struct store *s, const struct store_page *page, char table[PART_NAME_SIZE])
{
    int64_t until_ms = page->until_ms;
    if (page->until_ms / DAY_MS - page->since_ms / DAY_MS > 1 ||
        !partition_find(s, parted_of(page->series, LEVEL_RAW), page->since_ms, &until_ms, table) || until_ms < page->until_ms)
        str_copy(table, PART_NAME_SIZE, str_from(series_table(page->series, LEVEL_RAW)));
}

static int prepare_page(struct store *s, const struct owners *owners, struct db_statement **ret, struct error *err)
{
    char table[PART_NAME_SIZE];
    const struct store_page *page = owners->page;
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    const struct raw_words *words = raw_words(s->db->ops->kind, page->series);
    buf_printf(&sql, "SELECT %s, %s, %s", words->ms, words->subject, page->series == SERIES_GPU ? "gpu_index" : "-1");
    for (size_t i = 0; i < page->column_count; i++)
        buf_printf(&sql, ", %s",
                   s->schema.has[page->series][page->columns[i]] ? series_column(page->series, page->columns[i]).name : "NULL");
    find_table(s, page, table);
    buf_printf(&sql, " FROM %s WHERE %s AND (%s > $3 OR %s > $4)", table, words->span, words->ms, words->subject);
    if (page->gpu_index >= 0 && page->series == SERIES_GPU)
        buf_printf(&sql, " AND gpu_index = %d", page->gpu_index);
    if (page->gpu_id)
        buf_printf(&sql, " AND %s = %lld", words->subject, (long long)page->gpu_id);
    else if (page->host)
        list_owners(owners, words, &sql);
    buf_printf(&sql, " ORDER BY %s", words->order);
    if (page->limit < INT32_MAX)
        buf_printf(&sql, " LIMIT %zu", page->limit);
    return db_prepare_text(s->db, &sql, ret, err);
}

static const struct store_host *host_named(const struct host_table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->list[i].name, name) == 0)
            return &t->list[i];
    return NULL;
}

static const struct store_host *host_by_id(const struct host_table *t, int64_t id)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].id == id)
            return &t->list[i];
    return NULL;
}

static bool find_owner(const struct owners *o, int64_t subject, struct store_row *row)
{
    if (o->page->series == SERIES_GPU) {
        row->gpu = gpu_by_id(&o->gpus, subject);
        row->host = row->gpu ? host_named(&o->hosts, row->gpu->host) : NULL;
    } else {
        row->host = host_by_id(&o->hosts, subject);
    }
    return row->host != NULL;
}

static int read_page(struct store *s, const struct store_page *page, store_row_fn *each, void *user, struct error *err)
{
    CLEANUP(owners_done) struct owners owners = {.page = page};
    AUTO_STATEMENT struct db_statement *q = NULL;
    bool one = page->gpu_id && page->series == SERIES_GPU;
    int rc = list_gpus(s, page->host, one ? page->gpu_id : 0, false, remember_gpu, &owners.gpus, err);
    if (rc == 0)
        rc = list_hosts(s, one && owners.gpus.count ? owners.gpus.list[0].host : page->host, false, remember_host, &owners.hosts,
                        err);
    if (rc == 0)
        rc = prepare_page(s, &owners, &q, err);
    if (rc < 0)
        return rc;
    /* Rows after the cursor: later, or at the same moment with a higher ID. */
    bool first = page->cursor <= 0;
    db_bind_numbers(q, 1, raw_parameter(first ? page->since_ms : MAX_OF(page->since_ms, cursor_ms(page->cursor))),
                    raw_parameter(page->until_ms), first ? -1 : cursor_ms(page->cursor), first ? -1 : cursor_subject(page->cursor));
    struct reading values[SERIES_COLUMNS_MAX];
    size_t given = 0;
    while (given < page->limit && (rc = db_step(q, err)) == 1) {
        int64_t subject = db_i64(q, 1);
        struct store_row row = {.at = {db_i64(q, 0)}, .gpu_index = (int)db_i64(q, 2), .values = values};
        row.cursor = cursor_at(row.at.ms, subject);
        if (!find_owner(&owners, subject, &row))
            continue;
        for (size_t i = 0; i < page->column_count; i++)
            values[i] = db_reading(q, 3 + (int)i);
        given++;
        rc = each(user, &row);
        if (rc != 0)
            break;
    }
    db_reset(q);
    return rc < 0 ? rc : 0;
}

int store_rows(struct store *s, const struct store_page *page, store_row_fn *each, void *user, struct error *err)
{
    if (page->column_count > SERIES_COLUMNS_MAX)
        return error_set(err, -EINVAL, "too many metrics");
    int rc = read_page(s, page, each, user, err);
    return partition_lost(s, rc) ? read_page(s, page, each, user, err) : rc;
}

/* ---- runs of processes ---- */

static struct reading mean_column(struct db_statement *q, int sum, int count)
{
    int64_t n = db_i64_or(q, count, 0);
    return n > 0 ? reading_ok(db_i64(q, sum) / n) : reading_absent(READING_UNREAD);
}

static void read_run(struct db_statement *q, struct store_process_run *run)
{
    *run = (struct store_process_run){.id = db_i64(q, 0), .gpu_id = db_i64(q, 1), .gpu_index = (int)db_i64(q, 2)};
    struct process *p = &run->process;
    p->pid = (int32_t)db_i64(q, 3);
    p->start_key = db_i64(q, 4);
    p->started_at.ms = db_i64_or(q, 5, 0);
    str_copy(p->name, sizeof p->name, db_text(q, 6));
    str_copy(p->user, sizeof p->user, db_text(q, 7));
    str_copy(p->command, sizeof p->command, db_text(q, 8));
    str_copy(p->container, sizeof p->container, db_text(q, 9));
    str_copy(p->model, sizeof p->model, db_text(q, 10));
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
    run->memory_peak_bytes = db_reading(q, 16);
    run->memory_mean_bytes = mean_column(q, 17, 18);
    run->sm_mean_permille = mean_column(q, 19, 20);
    run->energy_mj = db_i64(q, 21);
    str_copy(run->host, sizeof run->host, db_text(q, 22));
    str_copy(run->gpu_uuid, sizeof run->gpu_uuid, db_text(q, 23));
    str_copy(p->container_name, sizeof p->container_name, db_text(q, 24));
    str_copy(p->job, sizeof p->job, db_text(q, 25));
    str_copy(p->title, sizeof p->title, db_text(q, 26));
    run->simulated = db_i64(q, 27) != 0;
    run->parked_mj = db_reading(q, 28);
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
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        struct store_process_run run;
        read_run(q, &run);
        if (span->within && span->limits)
            read_limits(db_text(q, 29), &run);
        rc = each(user, &run);
    }
    return MIN_OF(rc, 0);
}

/* ---- events ---- */

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
    db_bind_numbers(q, 1, MAX_OF(page->since_ms, page->cursor / PLACES), page->until_ms, page->cursor);
    db_bind_text(q, 4, page->kind ? page->kind : "");
    db_bind_text(q, 5, page->host ? page->host : "");
    db_bind_numbers(q, 6, page->gpu_id, (int64_t)MIN_OF(page->limit, (size_t)INT32_MAX));
    while (rc == 0 && (rc = db_step(q, err)) == 1) {
        char host[HOST_NAME_SIZE], kind[32], severity[16];
        AUTO_BUF struct buf text = BUF(65536), data = BUF(1 << 20);
        str_copy(host, sizeof host, db_text(q, 4));
        str_copy(kind, sizeof kind, db_text(q, 5));
        str_copy(severity, sizeof severity, db_text(q, 6));
        buf_str(&text, db_text(q, 7));
        bool has_data = !db_is_null(q, 8);
        buf_str(&data, db_text(q, 8));
        struct store_event_row row = {.cursor = db_i64(q, 0),
                                      .id = db_i64(q, 10),
                                      .at = {db_i64(q, 1)},
                                      .gpu_id = db_i64_or(q, 2, 0),
                                      .gpu_index = (int)db_i64_or(q, 3, -1),
                                      .host = host,
                                      .kind = kind,
                                      .severity = severity,
                                      .text = text.at ? text.at : "",
                                      .data = has_data && data.at ? data.at : NULL,
                                      .code = db_i64_or(q, 9, 0)};
        rc = each(user, &row);
    }
    return MIN_OF(rc, 0);
}
