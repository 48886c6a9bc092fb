/* SPDX-License-Identifier: Apache-2.0
 * A database of every earlier version, made with that version's own statements, and what must be in it when it is up to date.
 */
#pragma once

#include "sim_history.h"
#include "store/query.h"
#include "store/schema/schema.h"

/* The tables as each version made them, frozen: @INT and the like are as in schema.c of that time. Never change one of these. */
#define TABLES_1                                                                                                              \
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) @LOOSE;"                                                   \
    "CREATE TABLE hosts (id @AUTO, name TEXT NOT NULL UNIQUE, first_seen_ms @INT, last_seen_ms @INT);"                        \
    "CREATE TABLE writers (host_id @INT NOT NULL, run @INT NOT NULL, last_number @INT NOT NULL, at_ms @INT NOT NULL,"         \
    " PRIMARY KEY (host_id, run)) @LOOSE;"                                                                                    \
    "CREATE TABLE gpus (id @AUTO, host_id @INT NOT NULL, identity TEXT NOT NULL, uuid TEXT, pci_address TEXT, name TEXT,"     \
    " vendor TEXT, simulated @INT NOT NULL, gpu_index @INT, first_seen_ms @INT, last_seen_ms @INT,"                           \
    " UNIQUE (host_id, identity));"                                                                                           \
    "CREATE TABLE facts (gpu_id @INT NOT NULL, key TEXT NOT NULL, since_ms @INT NOT NULL, value TEXT,"                        \
    " PRIMARY KEY (gpu_id, key, since_ms)) @LOOSE;"                                                                           \
    "CREATE TABLE samples (id @KEY, gpu_index @INT, temp_mdegc INTEGER, power_mw INTEGER, mem_used_bytes @INT) @PARTED;"      \
    "CREATE TABLE minutes (id @KEY, samples @INT NOT NULL, @SUMS);"                                                           \
    "CREATE TABLE hours (id @KEY, samples @INT NOT NULL, @SUMS);"                                                             \
    "CREATE TABLE host_samples (id @KEY);"                                                                                    \
    "CREATE TABLE host_minutes (id @KEY, samples @INT NOT NULL);"                                                             \
    "CREATE TABLE host_hours (id @KEY, samples @INT NOT NULL);"                                                               \
    "CREATE TABLE pending (series @INT NOT NULL, level @INT NOT NULL, subject @INT NOT NULL, bucket @INT NOT NULL,"           \
    " PRIMARY KEY (series, level, subject, bucket)) @LOOSE;"                                                                  \
    "CREATE TABLE processes (id @AUTO, gpu_id @INT NOT NULL, pid @INT NOT NULL, start_key @INT NOT NULL, started_at_ms @INT," \
    " name TEXT, user_name TEXT, command TEXT, container TEXT, model TEXT, type TEXT, first_seen_ms @INT NOT NULL,"           \
    " last_seen_ms @INT NOT NULL, ended @INT NOT NULL, samples @INT NOT NULL, memory_peak_bytes @INT,"                        \
    " memory_sum_bytes @INT NOT NULL, memory_count @INT NOT NULL, sm_sum_permille @INT NOT NULL, sm_count @INT NOT NULL,"     \
    " energy_mj @INT NOT NULL);"                                                                                              \
    "CREATE INDEX processes_by_time ON processes (last_seen_ms);"                                                             \
    "CREATE TABLE process_minutes (minute @INT NOT NULL, process_id @INT NOT NULL, samples @INT NOT NULL,"                    \
    " memory_max_bytes @INT, memory_sum_bytes @INT NOT NULL, memory_count @INT NOT NULL, sm_sum_permille @INT NOT NULL,"      \
    " sm_count @INT NOT NULL, energy_mj @INT NOT NULL, PRIMARY KEY (minute, process_id)) @LOOSE;"                             \
    "CREATE TABLE energy (minute @INT NOT NULL, gpu_id @INT NOT NULL, energy_mj @INT NOT NULL, attributed_mj @INT NOT NULL,"  \
    " counted @INT NOT NULL, PRIMARY KEY (minute, gpu_id)) @LOOSE;"                                                           \
    "CREATE TABLE events (id @AUTO, at_ms @INT NOT NULL, host_id @INT NOT NULL, gpu_id @INT, kind TEXT NOT NULL,"             \
    " severity TEXT NOT NULL, code @INT, text TEXT NOT NULL, data TEXT);"                                                     \
    "CREATE INDEX events_by_time ON events (at_ms);"
#define TABLES_2 TABLES_1 "CREATE INDEX process_minutes_by_process ON process_minutes (process_id, minute);"
#define TABLES_3                                                                                                             \
    TABLES_2 "CREATE TABLE retention (host_id @KEY, raw_ms @INT NOT NULL, minute_ms @INT NOT NULL, hour_ms @INT NOT NULL,"   \
             " process_ms @INT NOT NULL, event_ms @INT NOT NULL, now_ms @INT NOT NULL, believed_ms @INT NOT NULL, claim_ms " \
             "@INT NOT NULL, held_ms @INT NOT NULL,"                                                                         \
             " alive_ms @INT NOT NULL);"
#define TABLES_4                                                                                                                   \
    TABLES_3 "CREATE TABLE process_hours (hour @INT NOT NULL, process_id @INT NOT NULL, samples @INT NOT NULL, memory_max_bytes "  \
             "@INT, memory_sum_bytes @INT NOT NULL, memory_count @INT NOT NULL, sm_sum_permille @INT NOT NULL, sm_count @INT NOT " \
             "NULL, energy_mj @INT NOT NULL, present_minutes @INT NOT NULL, busy_minutes @INT NOT NULL, held_minutes @INT NOT "    \
             "NULL, byte_minutes @INT NOT NULL, idle_byte_minutes @INT NOT NULL, PRIMARY KEY (hour, process_id)) @LOOSE;"          \
             "CREATE TABLE energy_hours (hour @INT NOT NULL, gpu_id @INT NOT NULL, energy_mj @INT NOT NULL, attributed_mj @INT "   \
             "NOT NULL, counter_mj @INT NOT NULL, PRIMARY KEY (hour, gpu_id)) @LOOSE;@BY_TIME"
#define TABLES_5 TABLES_4 "ALTER TABLE processes ADD COLUMN container_name TEXT; ALTER TABLE processes ADD COLUMN job TEXT;"
#define TABLES_9 TABLES_5 "CREATE INDEX processes_by_gpu ON processes (gpu_id, last_seen_ms, first_seen_ms);"
static const char *const tables_of[] = {
    [1] = TABLES_1, [2] = TABLES_2, [3] = TABLES_3, [4] = TABLES_4, [5] = TABLES_5,
    [6] = TABLES_5, [7] = TABLES_5, [8] = TABLES_5, [9] = TABLES_9, [10] = TABLES_9,
};
/* What version 6 made of a server's tables of version 5, and of the rows that are in them by then. */
#define BRIN_6(table, time) \
    "CREATE INDEX " table "_by_time ON " table " USING brin (to_timestamp(" time " / 1000.0)) WITH (autosummarize = on);"
#define SAMPLES_6(table, subject)                                                                                             \
    "ALTER TABLE " table " RENAME TO " table "_by_id; ALTER TABLE " table "_by_id RENAME CONSTRAINT " table "_pkey TO " table \
    "_by_id_pkey; CREATE TABLE " table " (recorded_at TIMESTAMPTZ NOT NULL, " subject " INTEGER NOT NULL, LIKE " table        \
    "_by_id, PRIMARY KEY (recorded_at, " subject ")) PARTITION BY RANGE (recorded_at); CREATE TABLE " table                   \
    "_2026_03_01 PARTITION OF " table " FOR VALUES FROM ('2026-03-01 00:00:00+00') TO ('2026-03-02 00:00:00+00'); INSERT "    \
    "INTO " table " SELECT to_timestamp((o.id >> 14) / 1000.0), (o.id & 16383)::integer, o.* FROM " table                     \
    "_by_id o; ALTER TABLE " table " DROP COLUMN id; DROP TABLE " table "_by_id;"
static const char server_6[] = SAMPLES_6("samples", "gpu_id") SAMPLES_6(
    "host_samples",
    "host_id") "CREATE INDEX samples_by_gpu ON samples (gpu_id, recorded_at); CREATE INDEX host_samples_by_host ON host_samples "
               "(host_id, "
               "recorded_at);" BRIN_6("minutes", "((id & 4294967295) * 60000)") BRIN_6("hours", "((id & 4294967295) * 3600000)")
                   BRIN_6("host_minutes", "((id & 4294967295) * 60000)") BRIN_6("host_hours", "((id & 4294967295) * 3600000)")
                       BRIN_6("process_minutes", "(minute * 60000)") BRIN_6("process_hours", "(hour * 3600000)")
                           BRIN_6("energy", "(minute * 60000)") BRIN_6(
                               "energy_hours",
                               "(hour * 3600000)") "CREATE INDEX processes_by_last_seen_at ON processes (to_timestamp(last_seen_ms "
                                                   "/ 1000.0));"
                                                   "CREATE INDEX events_by_occurred_at ON events (to_timestamp(at_ms / 1000.0));";
_Static_assert(ARRAY_LEN(tables_of) == SCHEMA_VERSION, "the tables of each version before this one belong here");

/* And version 7 of those of version 6. */
#define PARTS_7(table, key, bound, primary, brin)                                                                         \
    "ALTER TABLE " table " RENAME TO " table "_old; ALTER TABLE " table "_old RENAME CONSTRAINT " table "_pkey TO " table \
    "_old_pkey; ALTER INDEX " table "_by_time RENAME TO " table "_old_by_time; CREATE TABLE " table " (LIKE " table       \
    "_old INCLUDING DEFAULTS) PARTITION BY RANGE (" key ");" primary                                                      \
    BRIN_6(table, brin) "ALTER TABLE " table " ATTACH PARTITION " table "_old FOR VALUES FROM (MINVALUE) TO (" bound      \
                        "); INSERT INTO meta (key, value) VALUES "                                                        \
                        "('old_until." table "', '4102617600000');"
#define BUCKETS_7(table, ms)                                                                                \
    PARTS_7(table, "(to_timestamp(((id & 4294967295) * " ms ") / 1000.0))", "to_timestamp(4102617600)", "", \
            "((id & 4294967295) * " ms ")")
#define KEYED_7(table, unit, ms, bound, key) \
    PARTS_7(table, unit, bound, "ALTER TABLE " table " ADD PRIMARY KEY (" unit ", " key ");", "(" unit " * " ms ")")
static const char server_7[] = BUCKETS_7("minutes", "60000") BUCKETS_7("host_minutes", "60000") BUCKETS_7("hours", "3600000")
    BUCKETS_7("host_hours", "3600000") "ALTER INDEX process_minutes_by_process RENAME TO process_minutes_old_by_process;" KEYED_7(
        "process_minutes", "minute", "60000", "68376960",
        "process_id") "CREATE INDEX process_minutes_by_process ON "
                      "process_minutes (process_id, minute);" KEYED_7("energy", "minute", "60000", "68376960", "gpu_id")
                          KEYED_7("process_hours", "hour", "3600000", "1139616", "process_id")
                              KEYED_7("energy_hours", "hour", "3600000", "1139616", "gpu_id");

/* And what version 8 put beside them. */
static const char server_8[] =
    "CREATE TABLE gpu_latest (gpu_id BIGINT PRIMARY KEY, at_ms BIGINT NOT NULL, util_most_permille INTEGER, health TEXT, "
    "health_reason TEXT) WITH (fillfactor = 50); INSERT INTO gpu_latest VALUES (1, 1772000000000, NULL, 'degraded', 'dust');"
    "CREATE TABLE energy_days (day BIGINT NOT NULL, gpu_id BIGINT NOT NULL, energy_mj BIGINT NOT NULL, PRIMARY KEY (day, gpu_id));"
    "CREATE TABLE process_days (day BIGINT NOT NULL, process_id BIGINT NOT NULL, energy_mj BIGINT NOT NULL, PRIMARY KEY (day, "
    "process_id));";

/* An hour of one GPU, 12 samples a minute; the last minute is not summed up yet. 2026-03-01T00:00:00Z is minute 29538720. */
static const char *const content[] = {
    "INSERT INTO meta (key, value) VALUES ('schema_version', '@VERSION')",
    "INSERT INTO meta (key, value) VALUES ('horizon.gpu.0', '1772000000000')",
    "INSERT INTO hosts (id, name, first_seen_ms, last_seen_ms) VALUES (1, 'box', 1772323200000, 1772323200000)",
    "INSERT INTO gpus (id, host_id, identity, uuid, pci_address, name, vendor, simulated, gpu_index, first_seen_ms, last_seen_ms)"
    " VALUES (1, 1, 'GPU-1', 'GPU-1', '0000:01:00.0', 'Card', 'NVIDIA', 0, 0, 1772323200000, 1772323200000)",
    "INSERT INTO samples (id, gpu_index, temp_mdegc, power_mw, mem_used_bytes)"
    " SELECT (1772323200000 + n * 5000) * 16384 + 1, 0, 50000 + n, 100000 + n * 10, CAST(n AS @INT) * 1048576 FROM (@SERIES) AS t",
    "INSERT INTO host_samples (id) SELECT (1772323200000 + n * 5000) * 16384 + 1 FROM (@SERIES) AS t",
    "INSERT INTO minutes (id, samples, temp_mdegc_sum, temp_mdegc_min, temp_mdegc_max, power_mw_sum, power_mw_min, power_mw_max)"
    " SELECT 4294967296 + (id / 16384) / 60000, COUNT(*), SUM(temp_mdegc), MIN(temp_mdegc), MAX(temp_mdegc), SUM(power_mw),"
    " MIN(power_mw), MAX(power_mw) FROM samples WHERE (id / 16384) / 60000 < 29538779 GROUP BY 1",
    "INSERT INTO pending (series, level, subject, bucket) VALUES (0, 1, 1, 29538779), (0, 2, 1, 492312)",
    "INSERT INTO processes (id, gpu_id, pid, start_key, name, user_name, first_seen_ms, last_seen_ms, ended, samples,"
    " memory_peak_bytes, memory_sum_bytes, memory_count, sm_sum_permille, sm_count, energy_mj)"
    " VALUES (7, 1, 4711, 99, 'trainer', 'alice', 1772323200000, 1772326795000, 1, 720, 1073741824, 773094113280, 720, 360000, 720,"
    " 5000000)",
    "INSERT INTO process_minutes (minute, process_id, samples, memory_max_bytes, memory_sum_bytes, memory_count, sm_sum_permille,"
    " sm_count, energy_mj) VALUES (29538720, 7, 12, 1073741824, 12884901888, 12, 6000, 12, 80000)",
    "INSERT INTO energy (minute, gpu_id, energy_mj, attributed_mj, counted) VALUES (29538720, 1, 100000, 80000, 1)",
    "INSERT INTO events (id, at_ms, host_id, gpu_id, kind, severity, code, text) VALUES (3, 1772323300000, 1, 1, 'xid', 'critical',"
    " 79, 'XID 79')",
    "INSERT INTO facts (gpu_id, key, since_ms, value) VALUES (1, 'driver_version', 1772323200000, '580.1')",
};

#define SUMS(name) name "_sum @INT, " name "_min @INT, " name "_max @INT, " name "_count @INT"

static inline void expand(struct buf *out, const char *sql, bool sqlite, const char *version)
{
    const struct {
        const char *word, *text;
    } words[] = {
        {"@KEY", sqlite ? "INTEGER PRIMARY KEY" : "BIGINT PRIMARY KEY"},
        {"@AUTO", sqlite ? "INTEGER PRIMARY KEY" : "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"},
        {"@INT", sqlite ? "INTEGER" : "BIGINT"},
        {"@LOOSE", sqlite ? "WITHOUT ROWID" : ""},
        {"@PARTED", sqlite ? "" : "PARTITION BY RANGE (id)"},
        {"@BY_TIME", sqlite ? ""
                            : "CREATE INDEX samples_by_time ON samples USING brin (to_timestamp((id >> 14) / 1000.0));"
                              "CREATE INDEX host_samples_by_time ON host_samples USING brin (to_timestamp((id >> 14) / 1000.0));"},
        {"@VERSION", version},
        {"@SUMS", SUMS("temp_mdegc") ", " SUMS("power_mw") ", " SUMS("mem_used_bytes")},
        {"@SERIES", sqlite ? "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 719) SELECT n FROM c"
                           : "SELECT generate_series(0, 719) AS n"},
    };
    while (*sql) {
        size_t i = 0;
        while (i < ARRAY_LEN(words) && strncmp(sql, words[i].word, strlen(words[i].word)) != 0)
            i++;
        if (i == ARRAY_LEN(words)) {
            buf_char(out, *sql++);
            continue;
        }
        expand(out, words[i].text, sqlite, version);
        sql += strlen(words[i].word);
    }
}

/* What a database of that version holds, as statements. */
static inline void write_old(struct buf *out, int version, bool sqlite)
{
    char number[12];
    snprintf(number, sizeof number, "%d", version);
    expand(out, tables_of[version], sqlite, number);
    if (!sqlite)
        buf_printf(out, "CREATE TABLE samples_d20513 PARTITION OF samples FOR VALUES FROM (%lld) TO (%lld);",
                   20513LL * 86400000 * 16384, 20514LL * 86400000 * 16384);
    for (size_t i = 0; i < ARRAY_LEN(content); i++) {
        expand(out, content[i], sqlite, number);
        buf_char(out, ';');
    }
    if (!sqlite && version >= 6)
        buf_text(out, server_6);
    if (!sqlite && version >= 7)
        buf_text(out, server_7);
    if (!sqlite && version >= 8)
        buf_text(out, server_8);
}

/* ---- what must be there afterwards ---- */

struct found {
    int64_t rows, power, points, point_power, lives, events;
    double process_memory;
};

static inline int count_row(void *user, const struct store_row *row)
{
    struct found *f = user;
    f->rows++;
    f->power += row->values[0].value;
    assert_string_equal(row->gpu->identity.uuid, "GPU-1");
    assert_string_equal(row->host->name, "box");
    return 0;
}

static inline int count_point(void *user, const struct store_point *point)
{
    struct found *f = user;
    f->points++;
    f->point_power += point->values[0].sum;
    return 0;
}

static inline int count_life(void *user, const struct store_life *life)
{
    struct found *f = user;
    f->lives++;
    assert_string_equal(life->process.name, "trainer");
    assert_int_equal(life->energy_mj, 5000000);
    return 0;
}

static inline int count_event(void *user, const struct store_event_row *event)
{
    struct found *f = user;
    f->events++;
    assert_int_equal(event->code, 79);
    return 0;
}

static inline int take_memory(void *user, const struct store_point *point)
{
    const struct aggregate *memory = &point->values[PROCESS_MEMORY_BYTES];
    ((struct found *)user)->process_memory = (double)memory->sum / (double)memory->count;
    return 0;
}

static inline void check_content(struct store *s)
{
    struct found f = {0};
    struct error err = {0};
    size_t column = (size_t)series_find(SERIES_GPU, "power_mw");
    const int64_t since = HISTORY_BEGIN.ms, until = since + 3600000;
    const int64_t power = 720 * 100000 + 10 * 719 * 720 / 2;
    assert_int_equal(
        store_rows(
            s,
            &(struct store_page){
                .since_ms = since, .until_ms = until, .gpu_index = -1, .limit = 10000, .columns = &column, .column_count = 1},
            count_row, &f, &err),
        0);
    assert_int_equal(f.rows, 720);
    struct wall last = {0};
    assert_int_equal(store_neighbour(s, 1, HISTORY_BEGIN.ms + 3600000, true, &last, &err), 0);
    assert_int_equal(last.ms, HISTORY_BEGIN.ms + 719 * 5000);
    assert_int_equal(f.power, power);
    for (int64_t step = 60000; step <= 3600000; step *= 60) {
        f.points = f.point_power = 0;
        const struct store_plot plot = {.series = SERIES_GPU,
                                        .subject = 1,
                                        .since_ms = since,
                                        .until_ms = until,
                                        .step_ms = step,
                                        .columns = &column,
                                        .column_count = 1};
        assert_int_equal(store_series(s, &plot, count_point, &f, &err), 0);
        assert_int_equal(f.points, 3600000 / step);
        assert_int_equal(f.point_power, power);
    }
    const struct store_span span = {.since_ms = since, .until_ms = until, .limit = 10};
    assert_int_equal(store_lives(s, &span, count_life, &f, &err), 0);
    assert_int_equal(
        store_events(s, &(struct store_event_page){.since_ms = since, .until_ms = until, .limit = 10}, count_event, &f, &err), 0);
    assert_int_equal(f.lives, 1);
    assert_int_equal(f.events, 1);
    const struct store_process_plot process = {
        .lives = {.name = "trainer"}, .since_ms = since, .until_ms = until, .step_ms = 60000};
    assert_int_equal(store_process_series(s, &process, take_memory, &f, &err), 0);
    assert_true(f.process_memory == 1073741824);
    struct store_energy energy;
    assert_int_equal(store_energy_of(s, &(int64_t){1}, 1, since, until, &energy, &err), 0);
    assert_int_equal(energy.energy_mj, 100000);
    assert_int_equal(store_horizon(s, SERIES_GPU, LEVEL_RAW), 1772000000000);
}

/* A new sample of the same card goes on where the old version stopped. */
static inline void write_next(struct store *s)
{
    struct snapshot *snapshot = snapshot_new(1);
    snapshot->taken_at.ms = HISTORY_BEGIN.ms + 3600000 + 30000;
    snprintf(snapshot->host.name, sizeof snapshot->host.name, "box");
    snapshot->gpu_count = 1;
    struct gpu *gpu = &snapshot->gpus[0];
    snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-1");
    snprintf(gpu->id.name, sizeof gpu->id.name, "Card");
    gpu->power_mw = reading_ok(123456);
    gpu->fan_permille = reading_ok(300); /* a column that was not there */
    struct error err = {0};
    if (store_write(s, (const struct snapshot *const *)&snapshot, 1, NULL, 0, &err) != 0)
        fail_msg("%s", err.text);
    snapshot_unref(snapshot);
}
