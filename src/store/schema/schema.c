/* SPDX-License-Identifier: Apache-2.0
 * The tables of a new database, in SQL for both kinds, the steps that migrate older ones, and the columns that are added on demand.
 */
#include "store/schema/schema.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"

/* ---- the tables, and the steps that migrate older ones ---- */

enum { SQL_MAX = 1 << 18 };

/* @KEY: a key that we choose; @AUTO: one that the database generates; @INT: 64 bits; @LOOSE: keyed tables without a hidden row
 * ID. @GPU_SAMPLES, @HOST_SAMPLES, @BUCKETS and @BY_...: keys of tables that a server partitions; see schema.h. */
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
    /* From the first sample with a finding to the last; see findings.c. since_ms: since when it held, as the finding
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
 * see process_hours.c. */
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

/* Creates the newest version, in an empty database and a transaction. */
static int tables_create(struct db *db, struct error *err)
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

/* ---- versions and columns ---- */

/* Steps from each version to the next; SCHEMA_FIRST is the first released one. */
static const struct migration migrations[] = {
    {13, "ALTER TABLE processes ADD COLUMN title TEXT;"}, /* the title for people, which depends on its working directory */
    {14, "ALTER TABLE process_minutes ADD COLUMN limit_code TEXT;" /* the limit for most of the minute */
         "ALTER TABLE process_minutes ADD COLUMN limit_samples @INT;"
         "ALTER TABLE process_hours ADD COLUMN limits TEXT;"},
    {15, "ALTER TABLE process_minutes ADD COLUMN generated_tokens @INT;" /* of a model server, from its own counters */
         "ALTER TABLE process_minutes ADD COLUMN prompt_tokens @INT;"
         "ALTER TABLE process_hours ADD COLUMN generated_tokens @INT;"
         "ALTER TABLE process_hours ADD COLUMN prompt_tokens @INT;"},
    {16, "ALTER TABLE process_minutes ADD COLUMN running_sum @INT;" /* requests in progress, and samples with any */
         "ALTER TABLE process_minutes ADD COLUMN running_samples @INT;"},
    {17, "ALTER TABLE retention ADD COLUMN ahead_ms @INT;"}, /* its clock minus the server's, when it last wrote */
    {18, "ALTER TABLE processes ADD COLUMN parked_mj @INT;"  /* the part of its energy that its context cost while the GPU rested */
         "ALTER TABLE process_minutes ADD COLUMN parked_mj @INT;"
         "ALTER TABLE process_hours ADD COLUMN parked_mj @INT;"
         "ALTER TABLE process_minutes ADD COLUMN requests @INT;" /* that a model server answered, by its own counter */
         "ALTER TABLE process_hours ADD COLUMN requests @INT;"},
    {0, NULL},
};

static int table_exists(struct db *db, const char *table, bool *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *s = NULL;
    int rc = db_prepare(db,
                        db->ops->kind == DB_SQLITE
                            ? "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1"
                            : "SELECT 1 WHERE to_regclass(quote_ident(current_schema()) || '.' || $1) IS NOT NULL",
                        &s, err);
    if (rc < 0)
        return rc;
    db_bind_text(s, 1, table);
    rc = db_step(s, err);
    if (rc < 0)
        return rc;
    *ret = rc == 1;
    return 0;
}

int schema_lock(struct db *db, struct error *err)
{
    return db->ops->kind == DB_SQLITE ? 0 : db_exec(db, "SELECT pg_advisory_xact_lock(7449747)", err);
}

int schema_version(struct db *db, int64_t *ret, struct error *err)
{
    bool there;
    int rc = table_exists(db, "meta", &there, err);
    *ret = 0;
    if (rc < 0 || !there)
        return rc;
    AUTO_STATEMENT struct db_statement *s = NULL;
    rc = db_prepare(db, "SELECT value FROM meta WHERE key = 'schema_version'", &s, err);
    if (rc == 0)
        rc = db_step(s, err);
    if (rc == 1 && !str_to_i64(db_text(s, 0), ret))
        rc = error_set(err, -EUCLEAN, "the schema version is not a number");
    return rc < 0 ? rc : 0;
}

static int set_version(struct db *db, int version, struct error *err)
{
    return db_execf(db, err,
                    "INSERT INTO meta (key, value) VALUES ('schema_version', '%d') "
                    "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                    version);
}

static void note_column(struct schema *schema, enum series series, size_t column)
{
    size_t at = schema->count[series]++, *order = schema->order[series], *place = schema->place[series], was = at;
    while (order[was] != column)
        was++;
    memmove(order + at + 1, order + at, (was - at) * sizeof *order);
    memmove(place + at + 1, place + at, (was - at) * sizeof *place);
    order[at] = column;
    place[at] = series_place(series, column);
    schema->has[series][column] = true;
    schema->columns[series][at] = series_column(series, column);
}

/* Reads which columns of the series the tables have, in their order. */
static int read_columns(struct schema *schema, enum series series, struct error *err)
{
    AUTO_STATEMENT struct db_statement *s = NULL;
    int rc = db_prepare(schema->db,
                        schema->db->ops->kind == DB_SQLITE ? "SELECT name FROM pragma_table_info($1) ORDER BY cid" : SCHEMA_COLUMNS,
                        &s, err);
    if (rc < 0)
        return rc;
    db_bind_text(s, 1, series_table(series, LEVEL_RAW));
    while ((rc = db_step(s, err)) == 1) {
        char name[64];
        str_copy(name, sizeof name, db_text(s, 0));
        int column = series_find(series, name);
        if (column >= 0 && !schema->has[series][column])
            note_column(schema, series, (size_t)column);
    }
    return rc;
}

int schema_read_columns(struct schema *schema, struct error *err)
{
    memset(schema->has, 0, sizeof schema->has);
    memset(schema->count, 0, sizeof schema->count);
    int rc = 0;
    for (int series = 0; rc == 0 && series < SERIES_COUNT; series++) {
        for (size_t i = 0; i < series_count((enum series)series); i++) {
            schema->order[series][i] = i;
            schema->place[series][i] = series_place((enum series)series, i);
        }
        rc = read_columns(schema, (enum series)series, err);
    }
    return rc;
}

/* "power_mw" for samples; "power_mw_sum", ... for buckets. Each with its type, after `before`. */
static void column_definitions(const struct schema *schema, enum series series, enum level level, size_t column, const char *before,
                               struct buf *out)
{
    static const char *const parts[] = {"_sum", "_min", "_max", "_count"};
    struct series_column c = series_column(series, column);
    bool sqlite = schema->db->ops->kind == DB_SQLITE;
    const char *type = sqlite || !c.wide ? "INTEGER" : "BIGINT";
    for (size_t i = 0; i < (level == LEVEL_RAW ? 1 : ARRAY_LEN(parts)); i++)
        buf_printf(out, "%s%s%s %s", before, c.name, level == LEVEL_RAW ? "" : parts[i],
                   i == 0 && level && !sqlite ? "BIGINT" : type);
}

/* SQLite adds one column at a time, and parses the whole schema again for each. Recreate empty tables instead. */
static int make_anew(struct schema *schema, enum series series, const size_t *columns, size_t count, struct error *err)
{
    int rc = 0;
    for (int level = 0; rc == 0 && level < LEVEL_COUNT; level++) {
        AUTO_BUF struct buf sql = BUF(SQL_MAX);
        const char *table = series_table(series, (enum level)level);
        const char *first = level ? ", samples INTEGER NOT NULL" : series == SERIES_GPU ? ", gpu_index INTEGER" : "";
        buf_printf(&sql, "DROP TABLE %s; CREATE TABLE %s (id INTEGER PRIMARY KEY%s", table, table, first);
        for (size_t i = 0; i < schema->count[series]; i++)
            column_definitions(schema, series, (enum level)level, schema->order[series][i], ", ", &sql);
        for (size_t i = 0; i < count; i++)
            column_definitions(schema, series, (enum level)level, columns[i], ", ", &sql);
        buf_char(&sql, ')');
        rc = sql.failed ? error_set(err, -ENOMEM, "out of memory") : db_exec(schema->db, sql.at, err);
    }
    return rc;
}

static int add_to_tables(struct schema *schema, enum series series, size_t column, struct error *err)
{
    int rc = 0;
    for (int level = 0; rc == 0 && level < LEVEL_COUNT; level++) {
        AUTO_BUF struct buf sql = BUF(SQL_MAX), before = BUF(128);
        const char *table = series_table(series, (enum level)level);
        if (schema->db->ops->kind == DB_SQLITE) {
            buf_printf(&before, "; ALTER TABLE %s ADD COLUMN ", table);
        } else {
            buf_printf(&sql, "ALTER TABLE %s", table);
            buf_text(&before, ", ADD COLUMN IF NOT EXISTS ");
        }
        column_definitions(schema, series, (enum level)level, column, before.at, &sql);
        if (sql.failed)
            return error_set(err, -ENOMEM, "out of memory");
        /* Replace the first comma of "ALTER TABLE t, ADD". */
        char *comma = schema->db->ops->kind == DB_SQLITE ? sql.at : strchr(sql.at, ',');
        *comma = ' ';
        rc = db_exec(schema->db, sql.at, err);
    }
    return rc;
}

int schema_add_columns(struct schema *schema, enum series series, const size_t *columns, size_t count, struct error *err)
{
    int64_t rows = 1;
    int rc = 0;
    if (schema->db->ops->kind == DB_SQLITE) {
        char sql[96];
        snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT 1)", series_table(series, LEVEL_RAW));
        rc = db_query_i64(schema->db, sql, 0, &rows, err);
        for (int level = LEVEL_MINUTE; rc == 0 && rows == 0 && level < LEVEL_COUNT; level++) {
            snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT 1)", series_table(series, (enum level)level));
            rc = db_query_i64(schema->db, sql, 0, &rows, err);
        }
    }
    /* Other hosts may be adding columns, too. */
    if (rc == 0)
        rc = schema_lock(schema->db, err);
    /* SQLite's views depend on the columns; they are recreated when all columns are there. */
    if (rc == 0 && schema->db->ops->kind == DB_SQLITE)
        rc = db_exec(schema->db,
                     "DROP VIEW IF EXISTS gpu_stats; DROP VIEW IF EXISTS gpu_stats_minute; DROP VIEW IF EXISTS gpu_stats_hour;"
                     "DROP VIEW IF EXISTS host_stats; DROP VIEW IF EXISTS host_stats_minute; DROP VIEW IF EXISTS host_stats_hour",
                     err);
    if (rc == 0 && rows == 0)
        rc = make_anew(schema, series, columns, count, err);
    for (size_t i = 0; rc == 0 && rows && i < count; i++)
        rc = add_to_tables(schema, series, columns[i], err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        note_column(schema, series, columns[i]);
    schema->generation++;
    return rc;
}

int schema_check_version(int64_t version, struct error *err)
{
    if (version > SCHEMA_VERSION)
        return error_set(err, -EPROTO,
                         "the database was created by a newer version of whirr (its schema is %lld, this program knows %d)",
                         (long long)version, SCHEMA_VERSION);
    if (version > 0 && version < SCHEMA_FIRST)
        return error_set(err, -EPROTO,
                         "the database was created by a version of whirr from before the first release (its schema is %lld, the "
                         "first is %d) and is left as it is: move it away, or set store.url to another one",
                         (long long)version, SCHEMA_FIRST);
    return 0;
}

/* The eight numbers of StatsRow always exist, even if the GPU lacks some of them. */
static int add_stats_columns(struct schema *schema, struct error *err)
{
    static const char *const names[] = {"temp_mdegc",      "power_mw",      "mem_used_bytes",
                                        "mem_total_bytes", "util_permille", "mem_util_permille"};
    size_t missing[ARRAY_LEN(names)], count = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t column = (size_t)series_find(SERIES_GPU, names[i]);
        if (!schema->has[SERIES_GPU][column])
            missing[count++] = column;
    }
    return count ? schema_add_columns(schema, SERIES_GPU, missing, count, err) : 0;
}

/* Creates or migrates tables and views to the current version, in a transaction. */
static int create_or_migrate(struct schema *schema, int64_t version, struct error *err)
{
    struct db *db = schema->db;
    int rc = 0;
    if (version == 0)
        rc = tables_create(db, err);
    else if (version < SCHEMA_VERSION)
        rc = tables_migrate(db, migrations, version, err);
    if (rc == 0 && version < SCHEMA_VERSION)
        rc = set_version(db, SCHEMA_VERSION, err);
    if (rc == 0)
        rc = schema_read_columns(schema, err);
    unsigned before = schema->generation;
    if (rc == 0)
        rc = add_stats_columns(schema, err);
    /* Checking a local file costs nothing: recreate the views of an earlier program. */
    if (rc == 0 && (version < SCHEMA_VERSION || db->ops->kind == DB_SQLITE))
        rc = schema_make_views(schema, err);
    else if (rc == 0 && schema->generation != before)
        rc = schema_refresh_views(schema, err);
    return rc;
}

int schema_open(struct schema *schema, struct db *db, struct error *err)
{
    *schema = (struct schema){.db = db};
    int64_t version;
    int rc = db_begin(db, err);
    if (rc < 0)
        return rc;
    rc = schema_lock(db, err);
    if (rc == 0)
        rc = schema_version(db, &version, err);
    if (rc == 0)
        rc = schema_check_version(version, err);
    if (rc == 0)
        rc = create_or_migrate(schema, version, err);
    if (rc < 0) {
        db_rollback(db);
        return rc;
    }
    return db_commit(db, err);
}

int schema_open_read_only(struct schema *schema, struct db *db, struct error *err)
{
    *schema = (struct schema){.db = db};
    int64_t version;
    int rc = schema_version(db, &version, err);
    if (rc == 0)
        rc = schema_check_version(version, err);
    if (rc < 0)
        return rc;
    if (version == 0)
        return error_set(err, -ENOENT, "nothing was ever stored here");
    if (version < SCHEMA_VERSION)
        return error_set(err, -EPROTO, "the database is of an older version: `whirr db migrate` brings it up to date");
    return schema_read_columns(schema, err);
}
