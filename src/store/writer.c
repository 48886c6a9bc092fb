/* SPDX-License-Identifier: Apache-2.0
 * Writes snapshots and events to the tables, and adds the columns that they need.
 */
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_writer.h"

/* ---- events: those of a snapshot, those from other rooms, changes of a GPU, and sources that fail or recover ---- */

static int put_event(struct store *s, const struct store_event *e, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_EVENT, err);
    if (!q)
        return err->code;
    int64_t gpu_id = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].index == e->gpu_index && e->gpu_index >= 0)
            gpu_id = s->gpus[i].id;
    db_bind_numbers(q, 1, e->at.ms, s->host_id);
    db_bind_id(q, 3, gpu_id);
    db_bind_text(q, 4, e->kind);
    db_bind_text(q, 5, e->severity);
    db_bind_id(q, 6, e->code);
    db_bind_text(q, 7, e->text);
    if (e->data)
        db_bind_text(q, 8, e->data);
    else
        db_bind_null(q, 8);
    return db_put(q, err);
}

static const char *event_severity(enum event_kind kind)
{
    return kind == EVENT_DRIVER_FAULT || kind == EVENT_GPU_LOST || kind == EVENT_ECC ? "critical"
           : kind == EVENT_GPU_BACK                                                  ? "info"
                                                                                     : "warning";
}

static int write_snapshot_events(struct store *s, const struct snapshot *snapshot, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < snapshot->event_count; i++) {
        const struct event *e = &snapshot->events[i];
        const struct store_event row = {.at = e->at.ms ? e->at : snapshot->taken_at,
                                        .gpu_index = e->gpu_index,
                                        .kind = event_kind_name(e->kind),
                                        .severity = event_severity(e->kind),
                                        .code = e->code,
                                        .text = e->text};
        rc = put_event(s, &row, err);
    }
    return rc;
}

/* Sources that failed or recovered since the previous snapshot. */
static int write_source_changes(struct store *s, const struct snapshot *snapshot, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < snapshot->source_count; i++) {
        const struct source_status *now = &snapshot->sources[i];
        size_t k = 0;
        while (k < s->source_count && strcmp(s->source_names[k], now->name) != 0)
            k++;
        bool known = k < s->source_count;
        if (known && s->source_states[k] == now->state)
            continue;
        bool bad = now->state == SOURCE_FAILING || now->state == SOURCE_SET_ASIDE || now->state == SOURCE_HUNG;
        char text[SOURCE_MESSAGE_SIZE + 64];
        snprintf(text, sizeof text, "%s: %s%s%s", now->name, source_state_name(now->state), now->message[0] ? ": " : "",
                 now->message);
        if (known || bad)
            rc = put_event(s,
                           &(struct store_event){.at = snapshot->taken_at,
                                                 .gpu_index = -1,
                                                 .kind = "source",
                                                 .severity = bad ? "warning" : "info",
                                                 .text = text},
                           err);
        if (!known && s->source_count < SOURCES_MAX)
            str_copy(s->source_names[s->source_count++], SOURCE_NAME_SIZE, str_from(now->name));
        if (k < s->source_count)
            s->source_states[k] = now->state;
    }
    return rc;
}

static int put_change(struct store *s, const struct gpu *gpu, const struct gpu_change *c, struct error *err)
{
    AUTO_BUF struct buf data = BUF(1024);
    struct json_writer j = JSON_WRITER(&data);
    char words[CHANGE_WORDS], text[CHANGE_WORDS + 24];
    jw_object(&j);
    jw_key_text(&j, "what", change_name(c->code));
    jw_key_text(&j, "before", c->before);
    jw_key_text(&j, "after", c->after);
    jw_end(&j);
    snprintf(text, sizeof text, "GPU %d: %s", gpu->index, change_words(c, words));
    if (data.failed)
        return error_set(err, -ENOMEM, "out of memory");
    return put_event(
        s,
        &(struct store_event){
            .at = c->since, .gpu_index = gpu->index, .kind = "change", .severity = "info", .text = text, .data = data.at},
        err);
}

int write_changes(struct store *s, const struct host *host, const struct gpu *gpu, struct known_gpu *known, int64_t at_ms,
                  struct error *err)
{
    int rc = 0;
    for (int code = 0; rc == 0 && code < CHANGE_COUNT; code++) {
        struct gpu_change change;
        const char *key = change_key((enum change_code)code);
        enum change_seen seen = change_watch_see(&known->watch, (enum change_code)code, host, gpu, (struct wall){at_ms}, &change);
        if ((seen == WATCHED_FIRST || seen == WATCHED_CHANGED) && !change_is_fact((enum change_code)code))
            rc = put_fact(s, known, key, change.after, change.since.ms, err);
        if (rc == 0 && seen == WATCHED_CHANGED)
            rc = put_change(s, gpu, &change, err);
    }
    return rc;
}

/* ---- the row of a GPU or host at one moment ---- */

enum { SQL_MAX = 1 << 16 };

/* Adds columns for values that appear for the first time. */
static int make_columns(struct store *s, enum series series, const struct reading *readings, struct error *err)
{
    size_t missing[SERIES_COLUMNS_MAX], count = 0, all = series_count(series);
    for (size_t i = s->schema.count[series]; i < all; i++)
        if (readings[s->schema.place[series][i]].state == READING_OK)
            missing[count++] = s->schema.order[series][i];
    if (count == 0)
        return 0;
    store_forget_columns(s); /* no statement may keep the tables locked */
    int rc = schema_add_columns(&s->schema, series, missing, count, err);
    return rc < 0 ? rc : schema_refresh_views(&s->schema, err);
}

static int prepare_insert(struct store *s, enum series series, struct error *err)
{
    if (s->insert_sample[series])
        return 0;
    AUTO_BUF struct buf sql = BUF(SQL_MAX);
    bool gpu = series == SERIES_GPU;
    bool server = s->db->ops->kind == DB_POSTGRES;
    size_t next = gpu ? 3 : 2, count = s->schema.count[series];
    buf_printf(&sql, "INSERT INTO %s (%s%s", series_table(series, LEVEL_RAW), server ? "recorded_at" : "id",
               gpu ? ", gpu_index" : "");
    for (size_t i = 0; i < count; i++)
        buf_printf(&sql, ", %s", s->schema.columns[series][i].name);
    if (server)
        buf_printf(&sql, ", %s", raw_words(DB_POSTGRES, series)->subject);
    buf_printf(&sql, ") VALUES (%s%s", server ? "to_timestamp(CAST($1 AS BIGINT) / 1000.0)" : "$1", gpu ? ", $2" : "");
    for (size_t i = 0; i < count + server; i++)
        buf_printf(&sql, ", $%zu", i + next);
    buf_text(&sql, ") ON CONFLICT DO NOTHING");
    s->bound_count[series] = 0;
    return db_prepare_text(s->db, &sql, &s->insert_sample[series], err);
}

/* Binds the row, in column order, and copies it to s->bound. PostgreSQL's narrow columns hold 32 bits; no sane reading in them
 * needs more. SQLite keeps bound values: most readings of a GPU equal those of the previous row. */
static void bind_row(struct store *s, enum series series, const struct reading *readings, int at)
{
    struct db_statement *q = s->insert_sample[series];
    const struct series_column *columns = s->schema.columns[series];
    const size_t *place = s->schema.place[series];
    struct reading *row = s->bound[series];
    size_t count = s->schema.count[series], known = s->db->ops->kind == DB_SQLITE ? s->bound_count[series] : 0;
    for (size_t i = 0; i < count; i++) {
        struct reading now = readings[place[i]];
        if (now.value != (int32_t)now.value && !columns[i].wide)
            now.state = READING_FAILED;
        bool there = now.state == READING_OK;
        if (i < known && there == (row[i].state == READING_OK) && (!there || now.value == row[i].value))
            continue;
        row[i] = now;
        if (there)
            db_bind_i64(q, at + (int)i, now.value);
        else
            db_bind_null(q, at + (int)i);
    }
    s->bound_count[series] = count;
}

/* A server's round trips are too slow to try one moment after the other: query it, but only if needed. */
static int find_moment(struct store *s, enum series series, int64_t subject_id, int64_t *at_ms, struct error *err)
{
    struct db_statement **q = &s->find_raw[series];
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT 1 FROM %s WHERE recorded_at = to_timestamp(CAST($1 AS BIGINT) / 1000.0) AND %s = $2",
             series_table(series, LEVEL_RAW), raw_words(DB_POSTGRES, series)->subject);
    int rc = *q ? 0 : db_prepare(s->db, sql, q, err);
    for (int tries = 0; rc == 0 && tries < SAME_MOMENT_TRIES; tries++) {
        db_bind_numbers(*q, 1, *at_ms, subject_id);
        rc = db_step(*q, err);
        if (rc == 0)
            return 0;
        db_reset(*q);
        if (rc == 1) {
            rc = 0;
            (*at_ms)++;
        }
    }
    return rc;
}

/* Writes the row of a GPU or host. Two rows of one subject can't share a moment: after a clock was set back, use the next free
 * millisecond. */
static int write_sample(struct store *s, enum series series, const void *subject, int64_t subject_id, int64_t at_ms,
                        struct error *err)
{
    const struct reading *readings = series_readings(series, subject);
    int rc = make_columns(s, series, readings, err);
    if (rc == 0)
        rc = partition_ready(s, parted_of(series, LEVEL_RAW), at_ms, err);
    if (rc == 0)
        rc = prepare_insert(s, series, err);
    if (rc < 0)
        return rc;
    struct db_statement *q = s->insert_sample[series];
    int at = 2;
    if (series == SERIES_GPU)
        db_bind_i64(q, at++, ((const struct gpu *)subject)->index);
    bind_row(s, series, readings, at);
    at += (int)s->schema.count[series];
    bool server = s->db->ops->kind == DB_POSTGRES;
    if (server)
        db_bind_i64(q, at, subject_id);
    bool late = at_ms < s->horizon_ms[series][LEVEL_RAW];
    if (server && (late || running_may_collide(s, series, subject_id, at_ms)))
        rc = find_moment(s, series, subject_id, &at_ms, err);
    int64_t wanted_ms = at_ms;
    while (rc == 0) {
        db_bind_i64(q, 1, server ? at_ms : raw_key(at_ms, subject_id));
        rc = db_put(q, err);
        if (rc < 0 || s->db->ops->changes(s->db) != 0 || ++at_ms == wanted_ms + SAME_MOMENT_TRIES)
            break;
    }
    if (rc < 0)
        return rc;
    const struct reading *row = s->bound[series];
    return late ? rollup_add_late(s, series, row, subject_id, at_ms, err) : running_add(s, series, row, subject_id, at_ms, err);
}

/* ---- snapshots ---- */

static void forget_findings(struct store *s)
{
    s->open_count = s->begun_count = 0;
    s->findings_loaded = false;
}

static void forget_gpus(struct store *s)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        running_done(&s->gpus[i].running);
    s->gpu_count = 0;
}

/* Forgets everything learned in a failed transaction: it was rolled back. */
static void writer_forget(struct store *s)
{
    s->host_id = 0;
    running_done(&s->host_running);
    forget_gpus(s);
    process_runs_forget(s);
    forget_findings(s);
    s->source_count = 0;
    s->rolled_bucket = s->marks_hour = 0;
    s->marked_hour = s->hours_checked = s->hours_done = 0;
    s->seen_minute = s->seen_ms = 0;
    partition_forget(s);
    store_forget_columns(s);
    struct error err;
    /* Added columns were rolled back, too. If even this fails, so will the next write. */
    schema_open_read_only(&s->schema, s->db, &err);
}

int store_name_host(struct store *s, const char *name, const char *machine, char ret[HOST_NAME_SIZE], struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    int rc =
        db_prepare(s->db,
                   "INSERT INTO meta (key, value) VALUES ('named:' || $1, $2) ON CONFLICT (key) DO UPDATE SET value = $2 WHERE "
                   "meta.value = $2 OR NOT EXISTS (SELECT 1 FROM hosts WHERE name = $3) AND (SELECT GREATEST(h.last_seen_ms, "
                   "r.alive_ms) < EXTRACT(EPOCH FROM clock_timestamp()) * 1000 - 300000 FROM hosts h LEFT JOIN retention r "
                   "ON r.host_id = h.id WHERE h.name = $4) RETURNING 1",
                   &q, err);
    if (rc < 0)
        return rc;
    snprintf(ret, HOST_NAME_SIZE, "%.*s (ID %.8s)", HOST_NAME_SIZE - 16, name, machine);
    const char *const bound[] = {name, machine, ret, name};
    for (int i = 0; i < (int)ARRAY_LEN(bound); i++)
        db_bind_text(q, i + 1, bound[i]);
    rc = db_step(q, err);
    if (rc == 1)
        str_copy(ret, HOST_NAME_SIZE, str_from(name));
    db_reset(q);
    return MIN_OF(rc, 0);
}

/* 1: found, 0: not, or -errno. */
static int ask_host(struct store *s, enum statement which, int64_t at_ms, int64_t *ret_id, struct error *err)
{
    struct db_statement *q = store_statement(s, which, err);
    if (!q)
        return err->code;
    db_bind_text(q, 1, s->host_name);
    if (which == ST_HOST_INSERT)
        db_bind_i64(q, 2, at_ms);
    int rc = db_step(q, err);
    if (rc == 1) {
        *ret_id = db_i64(q, 0);
        db_reset(q);
    }
    return rc;
}

static int note_seen(struct store *s, enum statement which, int64_t id, int64_t *at_ms, struct error *err)
{
    int rc = *at_ms ? store_put(s, which, err, *at_ms, id) : 0;
    *at_ms = 0;
    return rc;
}

/* Writes what changes once per transaction, however many snapshots it has. */
static int settle(struct store *s, struct error *err)
{
    int rc = note_seen(s, ST_HOST_SEEN, s->host_id, &s->seen_ms, err);
    for (size_t i = 0; rc == 0 && i < s->gpu_count; i++)
        rc = note_seen(s, ST_GPU_SEEN, s->gpus[i].id, &s->gpus[i].seen_ms, err);
    if (rc == 0)
        rc = findings_flush(s, err);
    return rc < 0 ? rc : running_mark(s, err);
}

/* Gives the row of this host's previous name its new one. 1: done, 0: there is none. */
static int rename_host(struct store *s, int64_t *ret_id, struct error *err)
{
    char now[HOST_NAME_SIZE];
    AUTO_STATEMENT struct db_statement *q = NULL;
    if (!s->was_name[0] || strcmp(s->was_name, s->host_name) == 0)
        return 0;
    memcpy(now, s->host_name, sizeof now);
    memcpy(s->host_name, s->was_name, sizeof now);
    int rc = ask_host(s, ST_HOST_FIND, 0, ret_id, err);
    memcpy(s->host_name, now, sizeof now);
    if (rc == 1)
        rc = db_prepare(s->db, "UPDATE hosts SET name = $1 WHERE id = $2", &q, err);
    if (!q)
        return rc;
    db_bind_text(q, 1, now);
    db_bind_i64(q, 2, *ret_id);
    rc = db_put(q, err);
    return rc < 0 ? rc : 1;
}

static int identify_host(struct store *s, const struct snapshot *snapshot, struct error *err)
{
    if (s->host_id && (s->host_given || strcmp(s->host_name, snapshot->host.name) == 0))
        return 0;
    int rc = settle(s, err); /* for the host's previous name */
    if (rc < 0)
        return rc;
    if (!s->host_given) {
        if (s->one_host && s->host_id)
            memcpy(s->was_name, s->host_name, sizeof s->was_name);
        str_copy(s->host_name, sizeof s->host_name, str_from(snapshot->host.name));
    }
    int64_t id = 0;
    rc = ask_host(s, ST_HOST_FIND, 0, &id, err);
    if (rc == 0) {
        rc = schema_lock(s->db, err); /* one new ID at a time; another host may have added the name meanwhile */
        if (rc == 0)
            rc = ask_host(s, ST_HOST_FIND, 0, &id, err);
        if (rc == 0)
            rc = rename_host(s, &id, err);
        if (rc == 0)
            rc = ask_host(s, ST_HOST_INSERT, snapshot->taken_at.ms, &id, err);
    }
    if (rc != 1)
        return rc < 0 ? rc : error_set(err, -EIO, "the database gave the host no number");
    if (id > subject_max(s->db->ops->kind))
        return error_set(err, -EOVERFLOW, "more than %lld hosts in one database", (long long)subject_max(s->db->ops->kind));
    s->host_id = id;
    s->seen_minute = s->rolled_bucket = s->marks_hour = 0;
    running_done(&s->host_running);
    forget_gpus(s); /* their IDs belong to the host */
    forget_findings(s);
    return 0;
}

/* The time of a snapshot. A server doesn't report whether a key exists, so two snapshots within a millisecond are separated
 * here; a file tries the next free millisecond. */
static int64_t moment_of(struct store *s, const struct snapshot *snapshot)
{
    int64_t at_ms = snapshot->taken_at.ms;
    bool taken = s->db->ops->kind == DB_POSTGRES && at_ms <= s->last_moment_ms && s->last_moment_ms - at_ms < SAME_MOMENT_TRIES;
    s->last_moment_ms = taken ? s->last_moment_ms + 1 : at_ms;
    return s->last_moment_ms;
}

static int write_snapshot(struct store *s, const struct snapshot *snapshot, struct error *err)
{
    int64_t at_ms = moment_of(s, snapshot);
    int rc = identify_host(s, snapshot, err);
    if (rc < 0)
        return rc;
    if (at_ms <= 0 || at_ms > LATEST_MS) {
        s->rejected++;
        return 0;
    }
    bool seen = s->seen_minute != bucket_of(LEVEL_MINUTE, at_ms);
    if (seen)
        s->seen_ms = at_ms;
    s->seen_minute = bucket_of(LEVEL_MINUTE, at_ms);
    /* First roll up finished buckets while they are still in memory. */
    rc = rollup_pending(s, at_ms, err);
    if (rc == 0 && !s->rollup_left)
        rc = hours_rollup(s, at_ms, err);
    if (rc == 0)
        rc = write_sample(s, SERIES_HOST, &snapshot->host, s->host_id, at_ms, err);
    for (size_t i = 0; rc == 0 && i < snapshot->gpu_count; i++) {
        const struct gpu *gpu = &snapshot->gpus[i];
        struct known_gpu *known = NULL;
        rc = identify_gpu(s, &snapshot->host, gpu, at_ms, &known, err);
        if (rc == 0 && !gpu_is_unread(gpu))
            rc = write_sample(s, SERIES_GPU, gpu, known->id, at_ms, err);
        if (rc == 0 && seen)
            known->seen_ms = at_ms;
        if (rc == 0)
            rc = process_runs_write(s, snapshot, gpu, known, err);
    }
    if (rc == 0)
        rc = findings_write(s, snapshot, at_ms, err); /* before their processes' runs end */
    if (rc == 0)
        rc = process_runs_end_missing(s, snapshot, err);
    if (rc == 0) /* after adding columns, which touches every partition */
        rc = partition_all_ready(s, at_ms, err);
    if (rc == 0)
        rc = write_snapshot_events(s, snapshot, err);
    if (rc == 0)
        rc = write_source_changes(s, snapshot, err);
    return rc;
}

/* An event may come before the first snapshot has named the host. */
static int ensure_host(struct store *s, struct wall at, struct error *err)
{
    if (s->host_id)
        return 0;
    AUTO_FREE struct snapshot *empty = snapshot_new(0);
    if (!empty)
        return error_set(err, -ENOMEM, "out of memory");
    empty->taken_at = at;
    env_host_name(empty->host.name, sizeof empty->host.name);
    if (s->host_name[0] || !empty->host.name[0])
        str_copy(empty->host.name, sizeof empty->host.name, str_from(s->host_name[0] ? s->host_name : "localhost"));
    return identify_host(s, empty, err);
}

static int write_part(struct store *s, const struct store_part *part, struct error *err)
{
    int64_t at_ms = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < part->snapshot_count; i++) {
        rc = write_snapshot(s, part->snapshots[i], err);
        at_ms = part->snapshots[i]->taken_at.ms;
    }
    for (size_t i = 0; rc == 0 && i < part->event_count; i++) {
        rc = ensure_host(s, part->events[i].at, err);
        if (rc == 0)
            rc = put_event(s, &part->events[i], err);
        at_ms = MAX_OF(at_ms, part->events[i].at.ms);
    }
    if (rc == 0)
        rc = process_runs_flush(s, err);
    if (rc == 0)
        rc = settle(s, err);
    if (rc < 0 || !part->run)
        return rc;
    return store_put(s, ST_WRITER, err, s->host_id, part->run, part->last, at_ms, part->first);
}

int store_write_part(struct store *s, const struct store_part *part, struct error *err)
{
    int rc = db_begin(s->db, err);
    if (rc < 0)
        return rc;
    rc = write_part(s, part, err);
    if (rc == 0)
        rc = db_commit(s->db, err);
    else
        db_rollback(s->db);
    if (rc < 0)
        writer_forget(s);
    return rc;
}

int store_write(struct store *s, const struct snapshot *const *snapshots, size_t snapshot_count, const struct store_event *events,
                size_t event_count, struct error *err)
{
    const struct store_part part = {
        .snapshots = snapshots, .snapshot_count = snapshot_count, .events = events, .event_count = event_count};
    return store_write_part(s, &part, err);
}

int store_last_number(struct store *s, const char *host, int64_t run, int64_t *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *q = NULL;
    *ret = 0;
    int rc = db_prepare(
        s->db, "SELECT MAX(w.last_number) FROM writers w JOIN hosts h ON h.id = w.host_id WHERE w.run = $1 AND h.name = $2", &q,
        err);
    if (rc < 0)
        return rc;
    db_bind_i64(q, 1, run);
    db_bind_text(q, 2, host);
    rc = db_step(q, err);
    if (rc == 1 && !db_is_null(q, 0))
        *ret = db_i64(q, 0);
    db_reset(q);
    return rc < 0 ? rc : 0;
}
