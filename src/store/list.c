/* SPDX-License-Identifier: Apache-2.0
 * Lists: GPUs, stored rows page by page, lives of processes, energy, events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/internal.h"
#include "store/query.h"

enum { SQL_MAX = 1 << 14, MINUTE_MS = 60000 };

static void copy_column(struct db_statement *q, int column, char *to, size_t size)
{
    str_copy(to, size, db_text(q, column));
}

static struct reading read_column(struct db_statement *q, int column)
{
    return db_is_null(q, column) ? reading_absent(READING_UNREAD) : reading_ok(db_i64(q, column));
}

int store_gpus(struct store *s, const char *host, store_gpu_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = db_prepare(
        s->db,
        "SELECT g.id, g.gpu_index, g.uuid, g.pci_address, g.name, g.vendor, h.name, g.first_seen_ms, g.last_seen_ms, g.simulated "
        "FROM gpus g JOIN hosts h ON h.id = g.host_id ORDER BY h.name, g.gpu_index, g.last_seen_ms DESC",
        &q, err);
    if (rc < 0)
        return rc;
    while ((rc = db_step(q, err)) == 1) {
        struct store_gpu gpu = {.id = db_i64(q, 0), .index = (int)db_i64(q, 1)};
        copy_column(q, 2, gpu.identity.uuid, sizeof gpu.identity.uuid);
        copy_column(q, 3, gpu.identity.pci_address, sizeof gpu.identity.pci_address);
        copy_column(q, 4, gpu.identity.name, sizeof gpu.identity.name);
        copy_column(q, 5, gpu.identity.vendor, sizeof gpu.identity.vendor);
        copy_column(q, 6, gpu.host, sizeof gpu.host);
        gpu.first_seen.ms = db_i64(q, 7);
        gpu.last_seen.ms = db_i64(q, 8);
        gpu.simulated = db_i64(q, 9) != 0;
        if (host && strcmp(gpu.host, host) != 0)
            continue;
        rc = each(user, &gpu);
        if (rc != 0) {
            db_reset(q);
            return rc < 0 ? rc : 0;
        }
    }
    return rc;
}

/* All GPUs, so that rows can be joined without asking the database for each. */
struct gpu_table {
    struct store_gpu *list;
    size_t count, capacity;
};

static int remember_gpu(void *user, const struct store_gpu *gpu)
{
    struct gpu_table *t = user;
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 16;
        struct store_gpu *list = realloc(t->list, capacity * sizeof *list);
        if (!list)
            return -ENOMEM;
        t->list = list;
        t->capacity = capacity;
    }
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
        /* A slot that had another card before belongs to the one that was seen last. */
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

static int prepare_page(struct store *s, const struct store_page *page, struct db_statement **ret, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    buf_text(&sql, "SELECT id, gpu_index");
    for (size_t i = 0; i < page->column_count; i++)
        buf_printf(&sql, ", %s",
                   s->schema.has[SERIES_GPU][page->columns[i]] ? series_column(SERIES_GPU, page->columns[i]).name : "NULL");
    buf_text(&sql, " FROM samples WHERE id >= $1 AND id < $2");
    if (page->gpu_index >= 0)
        buf_printf(&sql, " AND gpu_index = %d", page->gpu_index);
    if (page->gpu_id)
        buf_printf(&sql, " AND (id & %d) = %lld", SUBJECT_MAX, (long long)page->gpu_id);
    buf_text(&sql, " ORDER BY id");
    return sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_prepare(s->db, sql.at, ret, err);
}

int store_rows(struct store *s, const struct store_page *page, store_row_fn *each, void *user, struct error *err)
{
    if (page->column_count > SERIES_COLUMNS_MAX)
        return error_set(err, -EINVAL, "too many metrics");
    CLEANUP(gpu_table_done) struct gpu_table gpus = {0};
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc = store_gpus(s, page->host, remember_gpu, &gpus, err);
    if (rc == 0)
        rc = prepare_page(s, page, &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, MAX_OF(raw_key(page->since_ms, 0), page->cursor + 1));
    db_bind_i64(q, 2, raw_key(page->until_ms, 0));
    struct reading values[SERIES_COLUMNS_MAX];
    size_t given = 0;
    while (given < page->limit && (rc = db_step(q, err)) == 1) {
        struct store_row row = {.cursor = db_i64(q, 0), .gpu_index = (int)db_i64(q, 1), .values = values};
        row.at.ms = raw_key_ms(row.cursor);
        row.gpu = gpu_by_id(&gpus, raw_key_subject(row.cursor));
        if (!row.gpu)
            continue; /* of another host */
        for (size_t i = 0; i < page->column_count; i++)
            values[i] = read_column(q, 2 + (int)i);
        given++;
        rc = each(user, &row);
        if (rc != 0)
            break;
    }
    db_reset(q);
    return rc < 0 ? rc : 0;
}

static struct reading mean_column(struct db_statement *q, int sum, int count)
{
    int64_t n = db_is_null(q, count) ? 0 : db_i64(q, count);
    return n > 0 ? reading_ok(db_i64(q, sum) / n) : reading_absent(READING_UNREAD);
}

static void read_life(struct db_statement *q, struct store_life *life)
{
    *life = (struct store_life){.id = db_i64(q, 0), .gpu_id = db_i64(q, 1), .gpu_index = (int)db_i64(q, 2)};
    struct process *p = &life->process;
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
    life->first_seen.ms = db_i64(q, 12);
    life->last_seen.ms = db_i64(q, 13);
    life->ended = db_i64(q, 14) != 0;
    life->samples = db_i64(q, 15);
    life->memory_peak_bytes = read_column(q, 16);
    life->memory_mean_bytes = mean_column(q, 17, 18);
    life->sm_mean_permille = mean_column(q, 19, 20);
    life->energy_mj = db_i64(q, 21);
    p->mem_bytes = life->memory_mean_bytes;
    p->util_permille = life->sm_mean_permille;
}

static const char life_columns[] =
    "SELECT p.id, p.gpu_id, g.gpu_index, p.pid, p.start_key, p.started_at_ms, p.name, p.user_name, p.command,"
    " p.container, p.model, p.type, p.first_seen_ms, p.last_seen_ms, p.ended";

int store_lives(struct store *s, const struct store_span *span, store_life_fn *each, void *user, struct error *err)
{
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    AUTO_STATEMENT struct db_statement *q = NULL;
    buf_text(&sql, life_columns);
    if (span->within)
        buf_text(&sql,
                 ", SUM(m.samples), MAX(m.memory_max_bytes), SUM(m.memory_sum_bytes), SUM(m.memory_count), SUM(m.sm_sum_permille),"
                 " SUM(m.sm_count), SUM(m.energy_mj) AS energy FROM process_minutes m JOIN processes p ON p.id = m.process_id"
                 " JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id WHERE m.minute >= $1 AND m.minute < $2");
    else
        buf_text(&sql, ", p.samples, p.memory_peak_bytes, p.memory_sum_bytes, p.memory_count, p.sm_sum_permille, p.sm_count,"
                       " p.energy_mj AS energy FROM processes p JOIN gpus g ON g.id = p.gpu_id JOIN hosts h ON h.id = g.host_id"
                       " WHERE p.last_seen_ms >= $1 AND p.first_seen_ms < $2");
    if (span->gpu_id)
        buf_printf(&sql, " AND p.gpu_id = %lld", (long long)span->gpu_id);
    if (span->host)
        buf_text(&sql, " AND h.name = $3");
    if (span->within)
        buf_text(&sql, " GROUP BY p.id, g.gpu_index");
    buf_printf(&sql, " ORDER BY energy DESC, p.id LIMIT %zu", span->limit);
    int rc = sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_prepare(s->db, sql.at, &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, span->within ? span->since_ms / MINUTE_MS : span->since_ms);
    db_bind_i64(q, 2, span->within ? (span->until_ms + MINUTE_MS - 1) / MINUTE_MS : span->until_ms);
    if (span->host)
        db_bind_text(q, 3, span->host);
    while ((rc = db_step(q, err)) == 1) {
        struct store_life life;
        read_life(q, &life);
        rc = each(user, &life);
        if (rc != 0)
            break;
    }
    db_reset(q);
    return rc < 0 ? rc : 0;
}

int store_energy(struct store *s, int64_t gpu_id, int64_t since_ms, int64_t until_ms, struct store_energy *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc =
        db_prepare(s->db,
                   "SELECT COALESCE(SUM(energy_mj), 0), COALESCE(SUM(attributed_mj), 0), COALESCE(MAX(counted), 0) FROM energy "
                   "WHERE minute >= $1 AND minute < $2 AND gpu_id = $3",
                   &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, since_ms / MINUTE_MS);
    db_bind_i64(q, 2, (until_ms + MINUTE_MS - 1) / MINUTE_MS);
    db_bind_i64(q, 3, gpu_id);
    rc = db_step(q, err);
    if (rc == 1) {
        *ret = (struct store_energy){db_i64(q, 0), db_i64(q, 1), db_i64(q, 2) != 0};
        db_reset(q);
    }
    return rc < 0 ? rc : 0;
}

int store_events(struct store *s, const struct store_event_page *page, store_event_fn *each, void *user, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc =
        db_prepare(s->db,
                   "SELECT e.id, e.at_ms, e.gpu_id, g.gpu_index, h.name, e.kind, e.severity, e.text, e.data, e.code FROM events e "
                   "JOIN hosts h ON h.id = e.host_id LEFT JOIN gpus g ON g.id = e.gpu_id WHERE e.at_ms >= $1 AND e.at_ms < $2 "
                   "AND e.id > $3 AND ($4 = '' OR e.kind = $4) AND ($5 = '' OR h.name = $5) ORDER BY e.id LIMIT $6",
                   &q, err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, page->since_ms);
    db_bind_i64(q, 2, page->until_ms);
    db_bind_i64(q, 3, page->cursor);
    db_bind_text(q, 4, page->kind ? page->kind : "");
    db_bind_text(q, 5, page->host ? page->host : "");
    db_bind_i64(q, 6, (int64_t)page->limit);
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
