/* SPDX-License-Identifier: Apache-2.0
 * The tables of a new database, in SQL for both kinds, and the steps that migrate older ones.
 */
#include "store/schema/schema.h"

#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/schema/schema_parts.h"

enum { SQL_MAX = 1 << 18 };

/* @KEY: a key that we choose; @AUTO: one that the database generates; @INT: 64 bits; @LOOSE: keyed tables without a hidden row
 * ID. @GPU_SAMPLES, @HOST_SAMPLES, @BUCKETS and @BY_...: keys of tables that a server partitions; see raw.h and schema_parts.h. */
static const char tables[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) @LOOSE;"
    "CREATE TABLE hosts (id @AUTO, name TEXT NOT NULL UNIQUE, first_seen_ms @INT, last_seen_ms @INT);"
    /* The last number that each run of the program wrote, for writes that may have to be retried. */
    "CREATE TABLE writers (host_id @INT NOT NULL, run @INT NOT NULL, last_number @INT NOT NULL, at_ms @INT NOT NULL,"
    " PRIMARY KEY (host_id, run)) @LOOSE;"
    /* Each host's limits, and its view of the time; see retention.c. alive_ms: when it last wrote here, by the server's clock;
     * ahead_ms: how far its own clock was ahead of that. */
    "CREATE TABLE retention (host_id @KEY, raw_ms @INT NOT NULL, minute_ms @INT NOT NULL, hour_ms @INT NOT NULL,"
    " process_ms @INT NOT NULL, event_ms @INT NOT NULL, now_ms @INT NOT NULL, believed_ms @INT NOT NULL, claim_ms @INT NOT NULL,"
    " held_ms @INT NOT NULL, alive_ms @INT NOT NULL, ahead_ms @INT);"
    /* identity: the UUID, else the PCI address and the name. */
    "CREATE TABLE gpus (id @AUTO, host_id @INT NOT NULL, identity TEXT NOT NULL, uuid TEXT, pci_address TEXT, name TEXT,"
    " vendor TEXT, simulated @INT NOT NULL, gpu_index @INT, first_seen_ms @INT, last_seen_ms @INT, UNIQUE (host_id, identity));"
    /* Rarely changing values: one row per change. */
    "CREATE TABLE facts (gpu_id @INT NOT NULL, key TEXT NOT NULL, since_ms @INT NOT NULL, value TEXT,"
    " PRIMARY KEY (gpu_id, key, since_ms)) @LOOSE;"
    /* Columns of these tables are added when a value first appears. */
    "CREATE TABLE samples (@GPU_SAMPLES;"
    "CREATE TABLE minutes (@BUCKETS, samples @INT NOT NULL) @BY_MINUTES;"
    "CREATE TABLE hours (@BUCKETS, samples @INT NOT NULL) @BY_HOURS;"
    "CREATE TABLE host_samples (@HOST_SAMPLES;"
    "CREATE TABLE host_minutes (@BUCKETS, samples @INT NOT NULL) @BY_MINUTES;"
    "CREATE TABLE host_hours (@BUCKETS, samples @INT NOT NULL) @BY_HOURS;"
    /* Buckets with rows below them that are not summed up yet. */
    "CREATE TABLE pending (series @INT NOT NULL, level @INT NOT NULL, subject @INT NOT NULL, bucket @INT NOT NULL,"
    " PRIMARY KEY (series, level, subject, bucket)) @LOOSE;"
    /* One run of a process on a GPU. */
    "CREATE TABLE processes (id @AUTO, gpu_id @INT NOT NULL, pid @INT NOT NULL, start_key @INT NOT NULL, started_at_ms @INT,"
    " name TEXT, user_name TEXT, command TEXT, container TEXT, model TEXT, type TEXT, first_seen_ms @INT NOT NULL,"
    " last_seen_ms @INT NOT NULL, ended @INT NOT NULL, samples @INT NOT NULL, memory_peak_bytes @INT,"
    " memory_sum_bytes @INT NOT NULL, memory_count @INT NOT NULL, sm_sum_permille @INT NOT NULL, sm_count @INT NOT NULL,"
    " energy_mj @INT NOT NULL, container_name TEXT, job TEXT, title TEXT, parked_mj @INT);"
    "CREATE INDEX processes_by_time ON processes (last_seen_ms);"
    /* Finds the processes of a GPU at a moment long ago without reading all later ones. */
    "CREATE INDEX processes_by_gpu ON processes (gpu_id, last_seen_ms, first_seen_ms);"
    /* limit_code: the limit in most of the minute's samples, limit_samples: their number; NULL: not judged. Tokens: of a model
     * server, stored with its first process; NULL: not reported. running_sum: requests in progress, summed over the samples,
     * running_samples: samples with at least one.
     * parked_mj: the part of the energy that its context cost while the GPU rested; NULL: unknown. */
    "CREATE TABLE process_minutes (minute @INT NOT NULL, process_id @INT NOT NULL, samples @INT NOT NULL, memory_max_bytes @INT,"
    " memory_sum_bytes @INT NOT NULL, memory_count @INT NOT NULL, sm_sum_permille @INT NOT NULL, sm_count @INT NOT NULL,"
    " energy_mj @INT NOT NULL, limit_code TEXT, limit_samples @INT, generated_tokens @INT, prompt_tokens @INT,"
    " running_sum @INT, running_samples @INT, parked_mj @INT, requests @INT,"
    " PRIMARY KEY (minute, process_id)) @BY_MINUTE;"
    /* Bits: one per minute of the hour. partial_minutes: minutes in which a process ran only partly, "17:3/12" (minute, its
     * samples, the GPU's). limits: the minutes in which each limit held, and the energy used in them, "disk:7:1250". See
     * process_hours.c. */
    "CREATE TABLE process_hours (hour @INT NOT NULL, process_id @INT NOT NULL, samples @INT NOT NULL, memory_max_bytes @INT,"
    " memory_sum_bytes @INT NOT NULL, memory_count @INT NOT NULL, sm_sum_permille @INT NOT NULL, sm_count @INT NOT NULL,"
    " energy_mj @INT NOT NULL, present_minutes @INT NOT NULL, busy_minutes @INT NOT NULL, held_minutes @INT NOT NULL,"
    " byte_minutes @INT NOT NULL, idle_byte_minutes @INT NOT NULL, partial_minutes TEXT, limits TEXT,"
    " generated_tokens @INT, prompt_tokens @INT, parked_mj @INT, requests @INT,"
    " PRIMARY KEY (hour, process_id)) @BY_HOUR;"
    /* A GPU's energy in a minute, and the part attributed to processes; counted: enum energy_evidence. */
    "CREATE TABLE energy (minute @INT NOT NULL, gpu_id @INT NOT NULL, energy_mj @INT NOT NULL, attributed_mj @INT NOT NULL,"
    " counted @INT NOT NULL, PRIMARY KEY (minute, gpu_id)) @BY_MINUTE;"
    /* How long a GPU was watched, busy and idle in the hour, its idle energy, and the utilization of its minutes. */
    "CREATE TABLE energy_hours (hour @INT NOT NULL, gpu_id @INT NOT NULL, energy_mj @INT NOT NULL, attributed_mj @INT NOT NULL,"
    " counter_mj @INT NOT NULL, watched_ms @INT, busy_ms @INT, idle_ms @INT, idle_mj @INT, util_sum_permille @INT,"
    " util_minutes @INT, PRIMARY KEY (hour, gpu_id)) @BY_HOUR;"
    "CREATE TABLE events (id @AUTO, at_ms @INT NOT NULL, host_id @INT NOT NULL, gpu_id @INT, kind TEXT NOT NULL,"
    " severity TEXT NOT NULL, code @INT, text TEXT NOT NULL, data TEXT);"
    "CREATE INDEX events_by_time ON events (at_ms);"
    /* From the first sample with a finding to the last; see finding_episodes.c. since_ms: since when it held, as the finding
     * states. severity, confidence, worst_ms, headline: at its worst; severity_now: in the last sample. Sums cover only its
     * samples. */
    "CREATE TABLE finding_episodes (id @AUTO, host_id @INT NOT NULL, gpu_id @INT, process_id @INT, pid @INT NOT NULL,"
    " code TEXT NOT NULL, severity @INT NOT NULL, severity_now @INT NOT NULL, confidence_permille @INT NOT NULL,"
    " since_ms @INT NOT NULL, first_seen_ms @INT NOT NULL, last_seen_ms @INT NOT NULL, ended @INT NOT NULL,"
    " worst_ms @INT NOT NULL, headline TEXT NOT NULL, samples @INT NOT NULL, util_sum_permille @INT NOT NULL,"
    " util_count @INT NOT NULL, power_sum_mw @INT NOT NULL, power_count @INT NOT NULL, temp_max_mdegc @INT);"
    "CREATE INDEX finding_episodes_by_time ON finding_episodes (last_seen_ms);"
    "CREATE INDEX finding_episodes_open ON finding_episodes (host_id) WHERE ended = 0;"
    "@FLEET";

/* A server indexes occurred_at and the like of the views. Many hosts share it, so it keeps sums for queries about all of them;
 * see days.c. */
#define SERVER_TABLES                                                                                                      \
    "CREATE INDEX processes_by_last_seen_at ON processes (to_timestamp(last_seen_ms / 1000.0));"                           \
    "CREATE INDEX events_by_occurred_at ON events (to_timestamp(at_ms / 1000.0));"                                         \
    "CREATE TABLE energy_days (day BIGINT NOT NULL, gpu_id BIGINT NOT NULL, energy_mj BIGINT NOT NULL, PRIMARY KEY (day, " \
    "gpu_id));"                                                                                                            \
    "CREATE TABLE process_days (day BIGINT NOT NULL, process_id BIGINT NOT NULL, energy_mj BIGINT NOT NULL,"               \
    " PRIMARY KEY (day, process_id));"

#define SAMPLES_OF(subject)                                                                              \
    "recorded_at TIMESTAMPTZ NOT NULL, " subject " INTEGER NOT NULL, PRIMARY KEY (recorded_at, " subject \
    ")) PARTITION BY RANGE (recorded_at)"

static void expand(const char *sql, enum db_kind kind, struct buf *out)
{
    static const struct {
        const char *word, *text[2];
    } words[] = {
        {"@KEY", {"INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY"}},
        {"@AUTO", {"INTEGER PRIMARY KEY", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"}},
        {"@INT", {"INTEGER", "BIGINT"}},
        {"@LOOSE", {"WITHOUT ROWID", ""}},
        {"@GPU_SAMPLES", {"id INTEGER PRIMARY KEY, gpu_index INTEGER)", "gpu_index BIGINT, " SAMPLES_OF("gpu_id")}},
        {"@HOST_SAMPLES", {"id INTEGER PRIMARY KEY)", SAMPLES_OF("host_id")}},
        {"@BUCKETS", {"id INTEGER PRIMARY KEY", "id BIGINT NOT NULL"}},
        {"@BY_MINUTES", {"", "PARTITION BY RANGE ((" MINUTES_KEY "))"}},
        {"@BY_HOURS", {"", "PARTITION BY RANGE ((" HOURS_KEY "))"}},
        {"@BY_MINUTE", {"WITHOUT ROWID", "PARTITION BY RANGE (minute)"}},
        {"@BY_HOUR", {"WITHOUT ROWID", "PARTITION BY RANGE (hour)"}},
        /* A server gets this index from parts_index. */
        {"@FLEET", {"CREATE INDEX process_minutes_by_process ON process_minutes (process_id, minute);", SERVER_TABLES}},
    };
    while (*sql) {
        size_t i = 0;
        while (i < ARRAY_LEN(words) && strncmp(sql, words[i].word, strlen(words[i].word)) != 0)
            i++;
        if (i < ARRAY_LEN(words)) {
            buf_text(out, words[i].text[kind]);
            sql += strlen(words[i].word);
        } else {
            buf_char(out, *sql++);
        }
    }
}

static int exec_expanded(struct db *db, const char *sql, struct error *err)
{
    AUTO_BUF struct buf text = BUF(SQL_MAX);
    expand(sql, db->ops->kind, &text);
    if (!text.len && !text.failed)
        return 0;
    return text.failed ? error_set(err, -ENOMEM, "out of memory") : db_exec(db, text.at, err);
}

int tables_create(struct db *db, struct error *err)
{
    int rc = exec_expanded(db, tables, err);
    return rc == 0 && db->ops->kind == DB_POSTGRES ? parts_index(db, err) : rc;
}

int tables_migrate(struct db *db, const struct migration *steps, int64_t from, struct error *err)
{
    int rc = db_take_time(db, err);
    for (; rc == 0 && steps->sql; steps++)
        if (steps->to > from)
            rc = exec_expanded(db, steps->sql, err);
    return rc;
}
