/* SPDX-License-Identifier: Apache-2.0
 * Opens and closes the store, and prepares the writer's statements.
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

static void finish_buckets(struct store *s, enum series series)
{
    db_finish(&s->read_raw[series]);
    db_finish(&s->find_raw[series]);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        db_finish(&s->read_buckets[series][level]);
        db_finish(&s->insert_bucket[series][level]);
        db_finish(&s->delete_bucket[series][level]);
    }
}

/* Drops the statements of minutes and hours, which may take 200 KB each, and those that did not run since the last call. */
static void store_drop_idle(struct store *s)
{
    for (int series = 0; series < SERIES_COUNT; series++)
        finish_buckets(s, (enum series)series);
    for (size_t i = 0; i < ST_COUNT; i++) {
        if (s->statements[i] && !s->statements[i]->used)
            db_finish(&s->statements[i]);
        else if (s->statements[i])
            s->statements[i]->used = false;
    }
}

void store_trim_memory(struct store *s)
{
    if (s->db->ops->kind != DB_SQLITE)
        return;
    store_drop_idle(s);
    db_exec(s->db, "PRAGMA shrink_memory", NULL);
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
    for (size_t i = 0; i < s->gpu_count; i++)
        running_done(&s->gpus[i].running);
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

/* ---- the writer's SQL that does not depend on the columns, prepared on first use ---- */

#define LOWEST_FREE(table)                                                                 \
    "(SELECT MIN(t.id) + 1 FROM (SELECT 0 AS id UNION ALL SELECT id FROM " table ") AS t " \
    "WHERE NOT EXISTS (SELECT 1 FROM " table " AS n WHERE n.id = t.id + 1))"

#define FINDING_STATE                                                                                                       \
    "severity = $1, severity_now = $2, confidence_permille = $3, last_seen_ms = $4, samples = $5, util_sum_permille = $6, " \
    "util_count = $7, power_sum_mw = $8, power_count = $9, temp_max_mdegc = $10, ended = $11"

static const char *const texts[ST_COUNT] = {
    [ST_GPU_FIND] = "SELECT id FROM gpus WHERE host_id = $1 AND identity = $2",
    /* A GPU whose UUID was unknown (an older driver) is still the same GPU. */
    [ST_GPU_ADOPT] = "SELECT id FROM gpus WHERE host_id = $1 AND uuid IS NULL AND pci_address = $2 AND name = $3",
    [ST_GPU_INSERT] =
        "INSERT INTO gpus (host_id, identity, uuid, pci_address, name, vendor, gpu_index, first_seen_ms, last_seen_ms, "
        "simulated, id) SELECT CAST($1 AS BIGINT), $2, $3, $4, $5, $6, CAST($7 AS BIGINT), CAST($8 AS BIGINT), CAST($8 AS BIGINT), "
        "CAST($9 AS BIGINT), " LOWEST_FREE("gpus") " RETURNING id",
    [ST_GPU_UPDATE] = "UPDATE gpus SET identity = $1, uuid = $2, pci_address = $3, name = $4, vendor = $5, gpu_index = $6, "
                      "last_seen_ms = $7 WHERE id = $8",
    [ST_HOST_FIND] = "SELECT id FROM hosts WHERE name = $1",
    /* IDs have 14 bits in the keys of samples: use the lowest free one, not a sequence, which advances with every failed
     * attempt. */
    [ST_HOST_INSERT] =
        "INSERT INTO hosts (name, first_seen_ms, last_seen_ms, id) SELECT $1, CAST($2 AS BIGINT), CAST($2 AS BIGINT), " LOWEST_FREE(
            "hosts") " RETURNING id",
    [ST_HOST_SEEN] = "UPDATE hosts SET last_seen_ms = $1 WHERE id = $2",
    [ST_GPU_SEEN] = "UPDATE gpus SET last_seen_ms = $1 WHERE id = $2",
    /* NULL violates NOT NULL, which fails the transaction: while it hung, a later one wrote the same items. */
    [ST_WRITER] = "INSERT INTO writers (host_id, run, last_number, at_ms) VALUES ($1, $2, $3, $4) "
                  "ON CONFLICT (host_id, run) DO UPDATE SET last_number = CASE WHEN writers.last_number < $5 THEN "
                  "excluded.last_number END, at_ms = excluded.at_ms",
    [ST_FACT] = "INSERT INTO facts (gpu_id, key, since_ms, value) VALUES ($1, $2, $3, $4) "
                "ON CONFLICT (gpu_id, key, since_ms) DO UPDATE SET value = excluded.value",
    [ST_PENDING] = "INSERT INTO pending (series, level, subject, bucket) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    [ST_PENDING_DONE] = "DELETE FROM pending WHERE series = $1 AND level = $2 AND subject = $3 AND bucket = $4",
    [ST_MARKS] = "SELECT series, subject, bucket FROM pending WHERE level = $1 AND bucket <> $2 AND "
                 "((series = 1 AND subject = $3) OR (series = 0 AND subject IN (SELECT id FROM gpus WHERE host_id = $3))) "
                 "ORDER BY bucket, subject LIMIT $4",
    [ST_OVERDUE] = "SELECT subject, bucket FROM pending WHERE series = $1 AND level = $2 AND bucket < $3 ORDER BY bucket, subject "
                   "LIMIT $4",
    [ST_EVENT] =
        "INSERT INTO events (at_ms, host_id, gpu_id, kind, severity, code, text, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    [ST_FINDING_BEGIN] =
        "INSERT INTO finding_episodes (severity, severity_now, confidence_permille, last_seen_ms, samples, util_sum_permille, "
        "util_count, power_sum_mw, power_count, temp_max_mdegc, host_id, gpu_id, process_id, pid, code, since_ms, first_seen_ms, "
        "worst_ms, headline, ended) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, "
        "0) RETURNING id",
    [ST_FINDING_STATE] = "UPDATE finding_episodes SET " FINDING_STATE " WHERE id = $12",
    [ST_FINDING_WORSE] = "UPDATE finding_episodes SET " FINDING_STATE ", worst_ms = $12, headline = $13 WHERE id = $14",
    [ST_RUN_FIND] = "SELECT id FROM processes WHERE last_seen_ms >= $1 AND gpu_id = $2 AND pid = $3 AND start_key = $4 "
                    "ORDER BY last_seen_ms DESC LIMIT 1",
    [ST_RUN_INSERT] =
        "INSERT INTO processes (gpu_id, pid, start_key, started_at_ms, name, user_name, command, container, model, type, "
        "container_name, job, title, first_seen_ms, last_seen_ms, ended, samples, memory_sum_bytes, memory_count, sm_sum_permille, "
        "sm_count, energy_mj) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, 0, 0, 0, 0, 0, 0, 0) RETURNING id",
    [ST_RUN_UPDATE] =
        "UPDATE processes SET last_seen_ms = $1, ended = 0, samples = samples + $2, "
        "memory_peak_bytes = CASE WHEN memory_peak_bytes IS NULL OR $3 > memory_peak_bytes THEN $3 ELSE memory_peak_bytes END, "
        "memory_sum_bytes = memory_sum_bytes + $4, memory_count = memory_count + $5, "
        "sm_sum_permille = sm_sum_permille + $6, sm_count = sm_count + $7, energy_mj = energy_mj + $8, "
        "parked_mj = COALESCE(parked_mj + $9, $9, parked_mj) WHERE id = $10",
    [ST_RUN_NAME] = "UPDATE processes SET container_name = COALESCE(container_name, $1), job = COALESCE(job, $2), model = "
                    "COALESCE(model, $3) WHERE id = $4",
    [ST_RUN_END] = "UPDATE processes SET ended = 1 WHERE id = $1",
    [ST_PROCESS_MINUTE] =
        "INSERT INTO process_minutes (minute, process_id, samples, memory_max_bytes, memory_sum_bytes, memory_count, "
        "sm_sum_permille, "
        "sm_count, energy_mj, parked_mj, limit_code, limit_samples, generated_tokens, prompt_tokens, running_sum, running_samples, "
        "requests) "
        "VALUES "
        "($1, "
        "$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) "
        "ON CONFLICT (minute, process_id) DO UPDATE SET "
        "samples = process_minutes.samples + excluded.samples, memory_max_bytes = CASE WHEN process_minutes.memory_max_bytes IS "
        "NULL OR "
        "excluded.memory_max_bytes > process_minutes.memory_max_bytes THEN excluded.memory_max_bytes ELSE "
        "process_minutes.memory_max_bytes END, memory_sum_bytes = process_minutes.memory_sum_bytes + excluded.memory_sum_bytes, "
        "memory_count = process_minutes.memory_count + excluded.memory_count, "
        "sm_sum_permille = process_minutes.sm_sum_permille + excluded.sm_sum_permille, "
        "sm_count = process_minutes.sm_count + excluded.sm_count, energy_mj = process_minutes.energy_mj + excluded.energy_mj, "
        "parked_mj = COALESCE(process_minutes.parked_mj + excluded.parked_mj, excluded.parked_mj, process_minutes.parked_mj), "
        "requests = COALESCE(process_minutes.requests + excluded.requests, excluded.requests, process_minutes.requests), "
        "generated_tokens = COALESCE(process_minutes.generated_tokens + excluded.generated_tokens, excluded.generated_tokens, "
        "process_minutes.generated_tokens), prompt_tokens = COALESCE(process_minutes.prompt_tokens + excluded.prompt_tokens, "
        "excluded.prompt_tokens, process_minutes.prompt_tokens), running_sum = COALESCE(process_minutes.running_sum + "
        "excluded.running_sum, excluded.running_sum, process_minutes.running_sum), running_samples = "
        "COALESCE(process_minutes.running_samples + excluded.running_samples, excluded.running_samples, "
        "process_minutes.running_samples), "
        /* limit_samples counts the minute so far: the larger count is the later one, or from before a restart. */
        "limit_code = CASE WHEN excluded.limit_samples >= COALESCE(process_minutes.limit_samples, 0) THEN excluded.limit_code ELSE "
        "process_minutes.limit_code END, limit_samples = CASE WHEN excluded.limit_samples >= "
        "COALESCE(process_minutes.limit_samples, 0) THEN excluded.limit_samples ELSE process_minutes.limit_samples END",
    [ST_HOURS_MARKS] = "SELECT subject, bucket FROM pending WHERE series = 2 AND level = 2 AND bucket < $1 AND (subject = $2 OR "
                       "bucket < $3) ORDER BY bucket DESC LIMIT $4",
    [ST_ENERGY] = "INSERT INTO energy (minute, gpu_id, energy_mj, attributed_mj, counted) VALUES ($1, $2, $3, $4, $5) "
                  "ON CONFLICT (minute, gpu_id) DO UPDATE SET energy_mj = energy.energy_mj + excluded.energy_mj, "
                  "attributed_mj = energy.attributed_mj + excluded.attributed_mj, "
                  "counted = CASE WHEN excluded.counted > energy.counted THEN excluded.counted ELSE energy.counted END",
};

struct db_statement *store_statement(struct store *s, enum statement which, struct error *err)
{
    if (!s->statements[which])
        db_prepare(s->db, texts[which], &s->statements[which], err);
    return s->statements[which];
}

int store_put_list(struct store *s, enum statement which, struct error *err, const int64_t *numbers, size_t count)
{
    struct db_statement *q = store_statement(s, which, err);
    if (!q)
        return err->code;
    db_bind_list(q, 1, numbers, count);
    return db_put(q, err);
}

void store_forget_columns(struct store *s)
{
    for (int series = 0; series < SERIES_COUNT; series++) {
        db_finish(&s->insert_sample[series]);
        finish_buckets(s, (enum series)series);
    }
}
