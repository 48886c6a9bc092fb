/* SPDX-License-Identifier: Apache-2.0
 * The queue: one row per item. Snapshots are encoded as in recordings; the names of their columns are stored with them, so that a
 * newer program can read what an older one left.
 */
#include "store/service/internal.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "source/replay/codec.h"
#include "store/db/db.h"

enum { KIND_SNAPSHOT, KIND_EVENT };
enum { SCHEMA_SIZE_MAX = 65536, DROP_AT_ONCE = 64 };

struct queue {
    struct db *db;
    int64_t max_bytes;
    int64_t count, schema_id, page_size;
    uint64_t dropped;
    struct db_statement *insert;
};

static const char tables[] =
    "CREATE TABLE IF NOT EXISTS schemas (id INTEGER PRIMARY KEY, body BLOB NOT NULL UNIQUE);"
    "CREATE TABLE IF NOT EXISTS queue (place INTEGER PRIMARY KEY, run INTEGER NOT NULL, number INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, schema INTEGER, body BLOB);";

static const char *put_text(char **at, const char *text)
{
    if (!text)
        return NULL;
    size_t len = strlen(text) + 1;
    const char *copy = memcpy(*at, text, len);
    *at += len;
    return copy;
}

struct store_event *store_event_copy(const struct store_event *event)
{
    const char *const texts[] = {event->kind, event->severity, event->text, event->data};
    size_t size = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        size += texts[i] ? strlen(texts[i]) + 1 : 0;
    struct store_event *copy = malloc(sizeof *copy + size);
    if (!copy)
        return NULL;
    *copy = *event;
    char *at = (char *)(copy + 1);
    copy->kind = put_text(&at, event->kind);
    copy->severity = put_text(&at, event->severity);
    copy->text = put_text(&at, event->text);
    copy->data = put_text(&at, event->data);
    return copy;
}

static int find_schema(struct queue *q, struct error *err)
{
    AUTO_BUF struct buf names = BUF(SCHEMA_SIZE_MAX);
    AUTO_STATEMENT struct db_statement *s = NULL;
    schema_write(&names);
    /* The update changes nothing, but makes RETURNING include an existing row. */
    int rc = db_prepare(q->db,
                        "INSERT INTO schemas (body) VALUES ($1) ON CONFLICT (body) DO UPDATE SET body = excluded.body RETURNING id",
                        &s, err);
    if (rc < 0)
        return rc;
    s->db->ops->bind_text(s, 1, buf_view(&names));
    rc = db_step(s, err);
    if (rc != 1)
        return rc < 0 ? rc : error_set(err, -EIO, "the queue gave no number");
    q->schema_id = db_i64(s, 0);
    db_reset(s);
    return 0;
}

int queue_open(const char *path, int64_t max_bytes, struct queue **ret, struct error *err)
{
    struct queue *q = calloc(1, sizeof *q);
    if (!q)
        return error_set(err, -ENOMEM, "out of memory");
    q->max_bytes = max_bytes;
    int rc = db_open_sqlite(path, false, &q->db, err);
    if (rc == 0)
        rc = db_exec(q->db, tables, err);
    if (rc == 0)
        rc = find_schema(q, err);
    if (rc == 0)
        rc = db_query_i64(q->db, "SELECT COUNT(*) FROM queue", 0, &q->count, err);
    if (rc == 0)
        rc = db_query_i64(q->db, "PRAGMA page_size", 0, &q->page_size, err);
    if (rc == 0)
        rc = db_prepare(q->db, "INSERT INTO queue (run, number, kind, schema, body) VALUES ($1, $2, $3, $4, $5)", &q->insert, err);
    if (rc < 0) {
        queue_close(q);
        return error_prefix(err, "cannot open the queue '%s'", path);
    }
    *ret = q;
    return 0;
}

void queue_close(struct queue *q)
{
    if (!q)
        return;
    if (q->insert)
        db_finish(&q->insert);
    db_close(q->db);
    free(q);
}

int64_t queue_count(const struct queue *q)
{
    return q->count;
}

uint64_t queue_dropped(const struct queue *q)
{
    return q->dropped;
}

/* The encoder truncates long lists in place, and snapshots are shared: give it a copy. */
static int encode_snapshot(const struct snapshot *s, struct buf *out)
{
    struct snapshot *own = snapshot_copy(s);
    if (own)
        snapshot_encode(out, own, NULL);
    snapshot_unref(own);
    return own && !out->failed ? 0 : -ENOMEM;
}

static int encode_event(const struct store_event *e, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    jw_object(&j);
    jw_key_int(&j, "at", e->at.ms);
    jw_key_int(&j, "gpu", e->gpu_index);
    jw_key_text(&j, "kind", e->kind);
    jw_key_text(&j, "severity", e->severity);
    jw_key_int(&j, "code", e->code);
    jw_key_text(&j, "text", e->text);
    jw_key_text(&j, "data", e->data);
    jw_end(&j);
    return out->failed ? -ENOMEM : 0;
}

static int put_one(struct queue *q, const struct queue_item *item, struct error *err)
{
    AUTO_BUF struct buf body = BUF(FRAME_MAX);
    int rc = item->snapshot ? encode_snapshot(item->snapshot, &body) : encode_event(item->event, &body);
    if (rc < 0)
        return error_set(err, rc, "out of memory");
    db_bind_i64(q->insert, 1, item->run);
    db_bind_i64(q->insert, 2, item->number);
    db_bind_i64(q->insert, 3, item->snapshot ? KIND_SNAPSHOT : KIND_EVENT);
    db_bind_i64(q->insert, 4, q->schema_id);
    q->insert->db->ops->bind_text(q->insert, 5, buf_view(&body));
    return db_put(q->insert, err);
}

static int used_bytes(struct queue *q, int64_t *ret, struct error *err)
{
    int64_t pages, unused;
    int rc = db_query_i64(q->db, "PRAGMA page_count", 0, &pages, err);
    if (rc == 0)
        rc = db_query_i64(q->db, "PRAGMA freelist_count", 0, &unused, err);
    if (rc == 0)
        *ret = (pages - unused) * q->page_size;
    return rc;
}

/* Makes room for new items by deleting the oldest. */
static int queue_make_room(struct queue *q, int64_t *removed, struct error *err)
{
    int64_t used = 0, before = -1;
    *removed = 0;
    int rc = used_bytes(q, &used, err);
    while (rc == 0 && used > q->max_bytes && before != *removed) {
        before = *removed;
        rc = db_execf(q->db, err, "DELETE FROM queue WHERE place IN (SELECT place FROM queue ORDER BY place LIMIT %d)",
                      DROP_AT_ONCE);
        if (rc == 0)
            *removed += q->db->ops->changes(q->db);
        if (rc == 0)
            rc = used_bytes(q, &used, err);
    }
    return rc;
}

int queue_put(struct queue *q, const struct queue_item *items, size_t count, struct error *err)
{
    int rc = db_begin(q->db, err);
    if (rc < 0)
        return rc;
    int64_t removed = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = put_one(q, &items[i], err);
    if (rc == 0)
        rc = queue_make_room(q, &removed, err);
    if (rc < 0) {
        db_rollback(q->db);
        return rc;
    }
    rc = db_commit(q->db, err);
    if (rc == 0) {
        q->count += (int64_t)count - removed;
        q->dropped += (uint64_t)removed;
    }
    return rc;
}

static const char *decode_text(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static struct store_event *decode_event(struct str body)
{
    AUTO_JSON json_t *json = json_loadb(body.at, body.len, 0, NULL);
    const struct store_event e = {.at.ms = json_integer_value(json_object_get(json, "at")),
                                  .gpu_index = (int)json_integer_value(json_object_get(json, "gpu")),
                                  .code = json_integer_value(json_object_get(json, "code")),
                                  .kind = decode_text(json, "kind"),
                                  .severity = decode_text(json, "severity"),
                                  .text = decode_text(json, "text"),
                                  .data = decode_text(json, "data")};
    return e.kind && e.severity && e.text ? store_event_copy(&e) : NULL;
}

int queue_first(struct queue *q, struct queued *items, size_t max, struct error *err)
{
    AUTO_STATEMENT struct db_statement *s = NULL;
    AUTO_FREE struct recorded_columns *names = malloc(sizeof *names);
    int rc = names
                 ? db_prepare(q->db,
                              "SELECT q.run, q.number, q.kind, s.body, q.body FROM queue q LEFT JOIN schemas s ON s.id = q.schema "
                              "ORDER BY q.place LIMIT $1",
                              &s, err)
                 : error_set(err, -ENOMEM, "out of memory");
    if (rc < 0)
        return rc;
    db_bind_i64(s, 1, (int64_t)max);
    size_t count = 0;
    while ((rc = db_step(s, err)) == 1) {
        struct queued *item = &items[count];
        *item = (struct queued){.run = db_i64(s, 0), .number = db_i64(s, 1)};
        if (item->run != items[0].run) {
            db_reset(s);
            break;
        }
        bool snapshot = db_i64(s, 2) == KIND_SNAPSHOT;
        struct str schema = db_text(s, 3), body;
        if (snapshot && schema_read((const unsigned char *)schema.at, schema.len, names) == 0) {
            body = db_text(s, 4);
            snapshot_decode((const unsigned char *)body.at, body.len, names, NULL, &item->snapshot);
        } else if (!snapshot) {
            item->event = decode_event(db_text(s, 4));
        }
        if (!item->snapshot && !item->event)
            q->dropped++;
        count++; /* count unreadable items, too: so that they are removed */
    }
    if (rc < 0) {
        for (size_t i = 0; i < count; i++)
            queued_done(&items[i]);
        return rc;
    }
    return (int)count;
}

void queued_done(struct queued *item)
{
    snapshot_unref(item->snapshot);
    free(item->event);
    *item = (struct queued){0};
}

/* These rows are at the front: reads only those to delete, however long the queue is. */
int queue_remove(struct queue *q, int64_t run, int64_t up_to, struct error *err)
{
    char sql[256];
    int64_t kept;
    snprintf(sql, sizeof sql, "SELECT place FROM queue WHERE run <> %lld OR number > %lld ORDER BY place LIMIT 1", (long long)run,
             (long long)up_to);
    int rc = db_query_i64(q->db, sql, INT64_MAX, &kept, err);
    if (rc == 0)
        rc = db_execf(q->db, err, "DELETE FROM queue WHERE place < %lld", (long long)kept);
    if (rc < 0)
        return rc;
    q->count -= q->db->ops->changes(q->db);
    return q->count == 0 ? db_exec(q->db, "PRAGMA incremental_vacuum", err) : 0;
}
