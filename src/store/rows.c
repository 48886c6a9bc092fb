/* SPDX-License-Identifier: Apache-2.0
 * GPUs and hosts in the database, and their raw rows, page by page.
 */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "store/internal.h"
#include "store/query.h"

enum { SQL_MAX = 1 << 16, HOSTS_MAX = 4096 };

static void copy_column(struct db_statement *q, int column, char *to, size_t size)
{
    str_copy(to, size, db_text(q, column));
}

static struct reading read_column(struct db_statement *q, int column)
{
    return db_is_null(q, column) ? reading_absent(READING_UNREAD) : reading_ok(db_i64(q, column));
}

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
    while ((rc = db_step(q, err)) == 1) {
        struct store_gpu gpu = {.id = db_i64(q, 0), .index = (int)db_i64(q, 1)};
        copy_column(q, 2, gpu.identity.uuid, sizeof gpu.identity.uuid);
        copy_column(q, 3, gpu.identity.pci_address, sizeof gpu.identity.pci_address);
        copy_column(q, 4, gpu.identity.name, sizeof gpu.identity.name);
        copy_column(q, 5, gpu.identity.vendor, sizeof gpu.identity.vendor);
        copy_column(q, 6, gpu.host, sizeof gpu.host);
        gpu.first_seen.ms = db_i64(q, 7);
        gpu.last_seen.ms = last_seen(q, 8, 10);
        gpu.simulated = db_i64(q, 9) != 0;
        rc = each(user, &gpu);
        if (rc != 0) {
            db_reset(q);
            return rc < 0 ? rc : 0;
        }
    }
    return rc;
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
        copy_column(q, 1, host.name, sizeof host.name);
        rc = each(user, &host);
        if (rc != 0) {
            db_reset(q);
            return rc < 0 ? rc : 0;
        }
    }
    return rc;
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
    db_bind_i64(q, 1, raw_parameter(first ? page->since_ms : MAX_OF(page->since_ms, cursor_ms(page->cursor))));
    db_bind_i64(q, 2, raw_parameter(page->until_ms));
    db_bind_i64(q, 3, first ? -1 : cursor_ms(page->cursor));
    db_bind_i64(q, 4, first ? -1 : cursor_subject(page->cursor));
    struct reading values[SERIES_COLUMNS_MAX];
    size_t given = 0;
    while (given < page->limit && (rc = db_step(q, err)) == 1) {
        int64_t subject = db_i64(q, 1);
        struct store_row row = {.at = {db_i64(q, 0)}, .gpu_index = (int)db_i64(q, 2), .values = values};
        row.cursor = cursor_at(row.at.ms, subject);
        if (!find_owner(&owners, subject, &row))
            continue;
        for (size_t i = 0; i < page->column_count; i++)
            values[i] = read_column(q, 3 + (int)i);
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
