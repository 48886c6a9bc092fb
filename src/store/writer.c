/* SPDX-License-Identifier: Apache-2.0
 * Opens the store, and writes snapshots to the tables.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "store/internal.h"

const struct store_limits store_default_limits = {
    .raw_ms = 7 * DAY_MS,
    .minute_ms = 90 * DAY_MS,
    .hour_ms = 1825 * DAY_MS,
    .process_ms = 365 * DAY_MS,
    .event_ms = 365 * DAY_MS,
    .max_bytes = 4LL << 30,
};

static int open_database(const struct env *env, const char *url, bool read_only, struct store *s, struct error *err)
{
    s->env = env;
    s->url = strdup(url);
    if (strncmp(url, "sqlite:", 7) == 0) {
        if (strlen(url + 7) >= sizeof s->path)
            return error_set(err, -ENAMETOOLONG, "the path of the history database is longer than %zu bytes", sizeof s->path - 1);
        str_copy(s->path, sizeof s->path, str_from(url + 7));
        int rc = db_open_sqlite(s->path, read_only, &s->db, err);
        return rc < 0 ? error_prefix(err, "cannot open '%s'", s->path) : 0;
    }
    if (strncmp(url, "postgresql://", 13) == 0 || strncmp(url, "postgres://", 11) == 0)
        return db_open_postgres(env, url, read_only, &s->db, err);
    return error_set(err, -EINVAL, "'%s' is neither sqlite:PATH nor postgresql://...", url);
}

/* Remembers which file was opened; without a stat, there is nothing to compare. */
static void note_file(struct store *s)
{
    struct stat file;
    if (s->path[0] && stat(s->path, &file) == 0) {
        s->device = file.st_dev;
        s->inode = file.st_ino;
        s->file_bytes = file.st_size;
    }
}

bool store_file_is_gone(const struct store *s)
{
    struct stat file;
    if (!s->inode)
        return false;
    if (stat(s->path, &file) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return file.st_dev != s->device || file.st_ino != s->inode;
}

static int open_store(const struct env *env, const char *url, bool read_only, struct store **ret, struct error *err)
{
    struct store *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->limits = store_default_limits;
    running_init(&s->host_running);
    partition_forget(s);
    s->gpus = read_only ? NULL : calloc(GPU_MAX, sizeof *s->gpus);
    s->runs = read_only ? NULL : calloc(PROCESS_RUNS_MAX, sizeof *s->runs);
    s->open_findings = read_only ? NULL : calloc(OPEN_FINDINGS_MAX, sizeof *s->open_findings);
    int rc = !read_only && (!s->gpus || !s->runs || !s->open_findings) ? error_set(err, -ENOMEM, "out of memory") : 0;
    if (rc == 0)
        rc = open_database(env, url, read_only, s, err);
    if (rc == 0)
        rc = read_only ? schema_open_read_only(&s->schema, s->db, err) : schema_open(&s->schema, s->db, err);
    if (rc == 0)
        rc = load_horizons(s, err);
    if (rc == 0)
        rc = read_only ? partition_load(s, err) : retention_open(s, err);
    if (rc < 0) {
        store_close(s);
        return rc;
    }
    note_file(s);
    *ret = s;
    return 0;
}

int store_open(const struct store_options *options, struct store **ret, struct error *err)
{
    struct store *s = NULL;
    int rc = open_store(options->env, options->url, false, &s, err);
    if (rc < 0)
        return rc;
    s->limits = options->limits;
    s->one_host = options->one_host;
    if (options->was)
        str_copy(s->was_name, sizeof s->was_name, str_from(options->was));
    if (options->host && options->host[0]) {
        s->host_given = true;
        str_copy(s->host_name, sizeof s->host_name, str_from(options->host));
    }
    *ret = s;
    return 0;
}

int store_open_read_only(const struct env *env, const char *url, struct store **ret, struct error *err)
{
    return open_store(env, url, true, ret, err);
}

bool store_is_server(const struct store *s)
{
    return s->db->ops->kind == DB_POSTGRES;
}

int64_t store_file_bytes(const struct store *s)
{
    return s->file_bytes;
}

int store_open_again(const struct store *s, struct store **ret, struct error *err)
{
    if (!s->url)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = store_open_read_only(s->env, s->url, ret, err);
    if (rc == 0)
        store_set_cancel(*ret, s->db->cancel, s->db->until);
    return rc;
}

int store_refresh(struct store *s, struct error *err)
{
    int rc = schema_open_read_only(&s->schema, s->db, err);
    if (rc == 0)
        rc = load_horizons(s, err);
    return rc < 0 ? rc : partition_load(s, err);
}

void store_set_cancel(struct store *s, const _Atomic bool *cancel, struct mono until)
{
    s->db->cancel = cancel;
    s->db->until = until;
}

void store_trim_memory(struct store *s)
{
    if (s->db->ops->kind != DB_SQLITE)
        return;
    store_drop_idle(s);
    db_exec(s->db, "PRAGMA shrink_memory", NULL);
}

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

void store_close(struct store *s)
{
    if (!s)
        return;
    if (s->db)
        store_forget_columns(s);
    for (size_t i = 0; i < ST_COUNT; i++)
        db_finish(&s->statements[i]);
    db_close(s->db);
    running_done(&s->host_running);
    forget_gpus(s);
    free(s->gpus);
    free(s->runs);
    free(s->open_findings);
    free(s->parts);
    free(s->url);
    free(s);
}

void store_set_limits(struct store *s, const struct store_limits *limits)
{
    if (memcmp(&s->limits, limits, sizeof *limits) == 0)
        return;
    s->limits = *limits;
    s->retention.due = true;
    s->retention.cleaned_ms = 0;
}

uint64_t store_rejected(const struct store *s)
{
    return s->rejected;
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
    if (*at_ms == 0)
        return 0;
    struct db_statement *q = store_statement(s, which, err);
    if (!q)
        return err->code;
    db_bind_i64(q, 1, *at_ms);
    db_bind_i64(q, 2, id);
    *at_ms = 0;
    return db_put(q, err);
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

static int put_number(struct store *s, const struct store_part *part, int64_t at_ms, struct error *err)
{
    struct db_statement *q = store_statement(s, ST_WRITER, err);
    if (!q)
        return err->code;
    db_bind_i64(q, 1, s->host_id);
    db_bind_i64(q, 2, part->run);
    db_bind_i64(q, 3, part->last);
    db_bind_i64(q, 4, at_ms);
    db_bind_i64(q, 5, part->first);
    return db_put(q, err);
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
    return rc == 0 && part->run ? put_number(s, part, at_ms, err) : rc;
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

int store_move_aside(const char *url, struct wall now, char *moved_to, size_t size, struct error *err)
{
    const char *path = strncmp(url, "sqlite:", 7) == 0 ? url + 7 : NULL;
    if (!path)
        return error_set(err, -EINVAL, "'%s' is not a file", url);
    char stamp[WALL_TEXT_SIZE], compact[WALL_TEXT_SIZE];
    wall_format(now, stamp);
    size_t used = 0;
    for (const char *p = stamp; *p && *p != '.'; p++)
        if (*p != '-' && *p != ':')
            compact[used++] = *p;
    compact[used] = '\0';
    snprintf(moved_to, size, "%s.damaged-%sZ", path, compact);
    if (rename(path, moved_to) < 0)
        return error_set(err, -errno, "cannot move '%s' aside: %s", path, strerror(errno));
    /* They may hold the last writes; they mean nothing without their file, and would corrupt a new one. */
    static const char *const tails[] = {"-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        char from[640], to[640];
        snprintf(from, sizeof from, "%s%s", path, tails[i]);
        snprintf(to, sizeof to, "%s%s", moved_to, tails[i]);
        if (rename(from, to) < 0 && errno != ENOENT)
            return error_set(err, -errno, "cannot move '%s' aside: %s", from, strerror(errno));
    }
    return 0;
}
