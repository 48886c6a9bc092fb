/* SPDX-License-Identifier: Apache-2.0
 * Tables, migrations, columns that come when they are needed, views.
 */
#include "store/schema/schema.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "store/schema/others.h"
#include "store/schema/parts.h"

enum { SQL_MAX = 1 << 18 };

/* @KEY: a key given by us; @AUTO: one given by the database; @INT: 64 bits; @LOOSE: keyed tables without a hidden row number. */
static const char tables_1[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) @LOOSE;"
    "CREATE TABLE hosts (id @AUTO, name TEXT NOT NULL UNIQUE, first_seen_ms @INT, last_seen_ms @INT);"
    /* The last thing that each run of the program wrote, where writing may have to be tried again. */
    "CREATE TABLE writers (host_id @INT NOT NULL, run @INT NOT NULL, last_number @INT NOT NULL, at_ms @INT NOT NULL,"
    " PRIMARY KEY (host_id, run)) @LOOSE;"
    /* identity: the UUID, else the PCI address and the name. */
    "CREATE TABLE gpus (id @AUTO, host_id @INT NOT NULL, identity TEXT NOT NULL, uuid TEXT, pci_address TEXT, name TEXT, vendor "
    "TEXT, simulated @INT NOT NULL,"
    " gpu_index @INT, first_seen_ms @INT, last_seen_ms @INT, UNIQUE (host_id, identity));"
    /* What seldom changes: a row when it does. */
    "CREATE TABLE facts (gpu_id @INT NOT NULL, key TEXT NOT NULL, since_ms @INT NOT NULL, value TEXT, PRIMARY KEY (gpu_id, key, "
    "since_ms))"
    " @LOOSE;"
    "CREATE TABLE samples (id @KEY, gpu_index @INT) @PARTED;"
    "CREATE TABLE minutes (id @KEY, samples @INT NOT NULL);"
    "CREATE TABLE hours (id @KEY, samples @INT NOT NULL);"
    "CREATE TABLE host_samples (id @KEY);"
    "CREATE TABLE host_minutes (id @KEY, samples @INT NOT NULL);"
    "CREATE TABLE host_hours (id @KEY, samples @INT NOT NULL);"
    /* Buckets that have rows below them which are not summed up yet. */
    "CREATE TABLE pending (series @INT NOT NULL, level @INT NOT NULL, subject @INT NOT NULL, bucket @INT NOT NULL,"
    " PRIMARY KEY (series, level, subject, bucket)) @LOOSE;"
    /* One life of a process on a GPU. */
    "CREATE TABLE processes (id @AUTO, gpu_id @INT NOT NULL, pid @INT NOT NULL, start_key @INT NOT NULL, started_at_ms @INT, name "
    "TEXT,"
    " user_name TEXT, command TEXT, container TEXT, model TEXT, type TEXT, first_seen_ms @INT NOT NULL, last_seen_ms @INT NOT NULL,"
    " ended @INT NOT NULL, samples @INT NOT NULL, memory_peak_bytes @INT, memory_sum_bytes @INT NOT NULL, memory_count @INT NOT "
    "NULL,"
    " sm_sum_permille @INT NOT NULL, sm_count @INT NOT NULL, energy_mj @INT NOT NULL);"
    "CREATE INDEX processes_by_time ON processes (last_seen_ms);"
    "CREATE TABLE process_minutes (minute @INT NOT NULL, process_id @INT NOT NULL, samples @INT NOT NULL, memory_max_bytes @INT,"
    " memory_sum_bytes @INT NOT NULL, memory_count @INT NOT NULL, sm_sum_permille @INT NOT NULL, sm_count @INT NOT NULL,"
    " energy_mj @INT NOT NULL, PRIMARY KEY (minute, process_id)) @LOOSE;"
    /* What a card used in a minute, and how much of it could be given to processes; counted: enum energy_evidence. */
    "CREATE TABLE energy (minute @INT NOT NULL, gpu_id @INT NOT NULL, energy_mj @INT NOT NULL, attributed_mj @INT NOT NULL,"
    " counted @INT NOT NULL, PRIMARY KEY (minute, gpu_id)) @LOOSE;"
    "CREATE TABLE events (id @AUTO, at_ms @INT NOT NULL, host_id @INT NOT NULL, gpu_id @INT, kind TEXT NOT NULL, severity TEXT NOT "
    "NULL,"
    " code @INT, text TEXT NOT NULL, data TEXT);"
    "CREATE INDEX events_by_time ON events (at_ms);";

/* migrations[i] leads from version i + 1 to i + 2; a new database goes the same way. A new version adds one here, and the tables of
 * the one before to old_versions.h of the tests, which start from each. */
static const char *const migrations[] = {
    /* The minutes of one process are found without reading those of all. */
    "CREATE INDEX process_minutes_by_process ON process_minutes (process_id, minute);",
    /* What each host wants kept, and what it knows of the time; see retention.c. alive_ms: when it last wrote here. */
    "CREATE TABLE retention (host_id @KEY, raw_ms @INT NOT NULL, minute_ms @INT NOT NULL, hour_ms @INT NOT NULL,"
    " process_ms @INT NOT NULL, event_ms @INT NOT NULL, now_ms @INT NOT NULL, believed_ms @INT NOT NULL, claim_ms @INT NOT NULL, "
    "held_ms @INT NOT NULL,"
    " alive_ms @INT NOT NULL);",
    /* Hours of processes and of energy; see process_hours.c. Bits: one for each minute of the hour. */
    "CREATE TABLE process_hours (hour @INT NOT NULL, process_id @INT NOT NULL, samples @INT NOT NULL, memory_max_bytes @INT,"
    " memory_sum_bytes @INT NOT NULL, memory_count @INT NOT NULL, sm_sum_permille @INT NOT NULL, sm_count @INT NOT NULL,"
    " energy_mj @INT NOT NULL, present_minutes @INT NOT NULL, busy_minutes @INT NOT NULL, held_minutes @INT NOT NULL,"
    " byte_minutes @INT NOT NULL, idle_byte_minutes @INT NOT NULL, PRIMARY KEY (hour, process_id)) @LOOSE;"
    "CREATE TABLE energy_hours (hour @INT NOT NULL, gpu_id @INT NOT NULL, energy_mj @INT NOT NULL, attributed_mj @INT NOT NULL,"
    " counter_mj @INT NOT NULL, PRIMARY KEY (hour, gpu_id)) @LOOSE;"
    "INSERT INTO pending (series, level, subject, bucket) SELECT 2, 2, host_id, hour FROM (SELECT g.host_id, e.minute / 60 AS hour"
    " FROM energy e JOIN gpus g ON g.id = e.gpu_id UNION SELECT g.host_id, m.minute / 60 FROM process_minutes m JOIN processes p"
    " ON p.id = m.process_id JOIN gpus g ON g.id = p.gpu_id) AS t WHERE true ON CONFLICT DO NOTHING;",
    /* What the container is called, and the Slurm job: reports by pod and by job. */
    "ALTER TABLE processes ADD COLUMN container_name TEXT;"
    "ALTER TABLE processes ADD COLUMN job TEXT;",
    /* A server's samples have their time and their GPU in columns; see raw.h and move_samples. A file's stay as they are. */
    "@BY_TIME",
    /* A server's minutes and hours are in parts; see parts.h. A file's stay as they are. */
    "",
    /* A server has many hosts: what is asked about all of them is kept ready. See latest.c and days.c. */
    "@FLEET",
    /* Who was on a GPU at a moment long ago is found without looking at everybody who came later. */
    "CREATE INDEX processes_by_gpu ON processes (gpu_id, last_seen_ms, first_seen_ms);",
    /* A server's hours of one host are found without those of the others; see parts_index. */
    "",
    /* Sums of hours are those of their minutes: when a process was there for part of a minute, "17:3/12" (minute, its samples, the
     * GPU's); how long the GPU was watched, busy and idle, what it drew then, and its minutes' utilization. NULL: from before. */
    "ALTER TABLE process_hours ADD COLUMN partial_minutes TEXT;"
    "ALTER TABLE energy_hours ADD COLUMN watched_ms @INT;"
    "ALTER TABLE energy_hours ADD COLUMN busy_ms @INT;"
    "ALTER TABLE energy_hours ADD COLUMN idle_ms @INT;"
    "ALTER TABLE energy_hours ADD COLUMN idle_mj @INT;"
    "ALTER TABLE energy_hours ADD COLUMN util_sum_permille @INT;"
    "ALTER TABLE energy_hours ADD COLUMN util_minutes @INT;",
};
_Static_assert(ARRAY_LEN(migrations) == SCHEMA_VERSION - 1, "each version but the first has its migration");

#define BY_TIME(table, milliseconds) \
    "CREATE INDEX " table "_by_time ON " table " USING brin (to_timestamp(" milliseconds " / 1000.0)) WITH (autosummarize = on);"

static void expand(const char *sql, enum db_kind kind, struct buf *out)
{
    static const struct {
        const char *word, *text[2];
    } words[] = {
        {"@KEY", {"INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY"}},
        {"@AUTO", {"INTEGER PRIMARY KEY", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"}},
        {"@INT", {"INTEGER", "BIGINT"}},
        {"@LOOSE", {"WITHOUT ROWID", ""}},
        {"@PARTED", {"", "PARTITION BY RANGE (id)"}},
        /* What the views call starts_at and the like is found without reading everything: summaries are written in the order of
         * time, so an index of a few pages is enough. SQLite has nothing so small. */
        {"@BY_TIME",
         {"", BY_TIME("minutes", "((id & 4294967295) * 60000)") BY_TIME("hours", "((id & 4294967295) * 3600000)")
                  BY_TIME("host_minutes", "((id & 4294967295) * 60000)") BY_TIME("host_hours", "((id & 4294967295) * 3600000)")
                      BY_TIME("process_minutes", "(minute * 60000)") BY_TIME("process_hours", "(hour * 3600000)")
                          BY_TIME("energy", "(minute * 60000)") BY_TIME("energy_hours", "(hour * 3600000)")
          /* Rows of processes change as long as these run. */
          "CREATE INDEX processes_by_last_seen_at ON processes (to_timestamp(last_seen_ms / 1000.0));"
          "CREATE INDEX events_by_occurred_at ON events (to_timestamp(at_ms / 1000.0));"}},
        {"@FLEET",
         {"",
          /* Rows are changed where they are: nothing that changes is in an index. */
          "CREATE TABLE gpu_latest (gpu_id BIGINT PRIMARY KEY, at_ms BIGINT NOT NULL, util_most_permille INTEGER, health TEXT, "
          "health_reason TEXT) WITH (fillfactor = 50);"
          "INSERT INTO gpu_latest (gpu_id, at_ms, health, health_reason) SELECT DISTINCT ON (gpu_id) gpu_id, at_ms, data::json ->> "
          "'state', data::json ->> 'reason' FROM events WHERE kind = 'health' AND gpu_id IS NOT NULL AND data IS NOT NULL ORDER BY "
          "gpu_id, at_ms DESC;"
          "CREATE TABLE energy_days (day BIGINT NOT NULL, gpu_id BIGINT NOT NULL, energy_mj BIGINT NOT NULL, PRIMARY KEY (day, "
          "gpu_id));"
          "CREATE TABLE process_days (day BIGINT NOT NULL, process_id BIGINT NOT NULL, energy_mj BIGINT NOT NULL, PRIMARY KEY "
          "(day, "
          "process_id));"
          /* Hours that are there already are summed up later, day by day. */
          "INSERT INTO meta (key, value) SELECT 'days_from', CAST(hour / 24 + 1 AS TEXT) FROM (SELECT GREATEST((SELECT MAX(hour) "
          "FROM "
          "energy_hours), (SELECT MAX(hour) FROM process_hours)) AS hour) AS t WHERE hour IS NOT NULL;"}},
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

/* Rows of one series into a table with the columns of raw.h, day by day. The old one goes when no view has it any more. */
static int move_samples(struct db *db, enum series series, struct error *err)
{
    const char *table = series_table(series, LEVEL_RAW), *subject = raw_words(DB_POSTGRES, series)->subject;
    AUTO_STATEMENT struct db_statement *days = NULL;
    char sql[160];
    int rc = db_execf(db, err,
                      "ALTER TABLE %s RENAME TO %s_by_id; ALTER TABLE %s_by_id RENAME CONSTRAINT %s_pkey TO %s_by_id_pkey;"
                      "CREATE TABLE %s (recorded_at TIMESTAMPTZ NOT NULL, %s INTEGER NOT NULL, LIKE %s_by_id, PRIMARY KEY "
                      "(recorded_at, %s)) PARTITION BY RANGE (recorded_at)",
                      table, table, table, table, table, table, subject, table, subject);
    snprintf(sql, sizeof sql, "SELECT DISTINCT (id >> 14) / 86400000 FROM %s_by_id ORDER BY 1", table);
    if (rc == 0)
        rc = db_prepare(db, sql, &days, err);
    while (rc == 0 && (rc = db_step(days, err)) == 1)
        rc = parts_make(db, parted_of(series, LEVEL_RAW), db_i64(days, 0) * DAY_MS, err);
    if (rc == 0)
        rc = db_execf(db, err,
                      "INSERT INTO %s SELECT to_timestamp((o.id >> 14) / 1000.0), (o.id & 16383)::integer, o.* FROM %s_by_id o;"
                      "ALTER TABLE %s DROP COLUMN id",
                      table, table, table);
    snprintf(sql, sizeof sql, "%s_by_id", table);
    return rc < 0 ? rc : parts_copy_rights(db, sql, table, err);
}

static int drop_moved(struct db *db, struct error *err)
{
    return db_exec(db, "DROP TABLE samples_by_id, host_samples_by_id", err);
}

static int table_exists(struct db *db, const char *table, bool *ret, struct error *err)
{
    AUTO_STATEMENT struct db_statement *s = NULL;
    int rc =
        db_prepare(db,
                   db->ops->kind == DB_SQLITE ? "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1"
                                              : "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1",
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

static int create_or_migrate(struct db *db, int64_t version, struct error *err)
{
    int rc = db_take_time(db, err);
    if (rc == 0 && version == 0)
        rc = exec_expanded(db, tables_1, err);
    for (int64_t v = MAX_OF(version, (int64_t)1); rc == 0 && v < SCHEMA_VERSION; v++)
        rc = exec_expanded(db, migrations[v - 1], err);
    /* What the other hosts of a server want kept is not known before each of them has said so. */
    if (rc == 0 && version > 0 && version < 3 && db->ops->kind == DB_POSTGRES)
        rc = db_exec(db, "INSERT INTO retention SELECT id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM hosts", err);
    for (int series = 0; rc == 0 && version < 6 && db->ops->kind == DB_POSTGRES && series < SERIES_COUNT; series++)
        rc = move_samples(db, (enum series)series, err);
    if (rc == 0 && version < 7 && db->ops->kind == DB_POSTGRES)
        rc = parts_take_over(db, version == 0, err);
    if (rc == 0 && db->ops->kind == DB_POSTGRES)
        rc = parts_index(db, err);
    static const char *const fleet[] = {"gpu_latest", "energy_days", "process_days"};
    for (size_t i = 0; rc == 0 && version > 0 && version < 8 && db->ops->kind == DB_POSTGRES && i < ARRAY_LEN(fleet); i++)
        rc = parts_copy_rights(db, "energy_hours", fleet[i], err);
    return rc < 0 ? rc : set_version(db, SCHEMA_VERSION, err);
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

/* Which columns of the series the tables have, in their order. */
static int read_columns(struct schema *schema, enum series series, struct error *err)
{
    AUTO_STATEMENT struct db_statement *s = NULL;
    int rc = db_prepare(schema->db,
                        schema->db->ops->kind == DB_SQLITE
                            ? "SELECT name FROM pragma_table_info($1) ORDER BY cid"
                            : "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() "
                              "AND table_name = $1 ORDER BY ordinal_position",
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

/* "power_mw" for samples; "power_mw_sum", ... for buckets. Each with its type, behind `before`. */
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

/* SQLite adds one column at a time, and reads the whole schema again for each. Tables without rows are made anew instead. */
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
        /* "ALTER TABLE t, ADD" is not what was meant: the first comma goes. */
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
    /* Other hosts may be adding theirs. */
    if (rc == 0)
        rc = schema_lock(schema->db, err);
    /* In SQLite, views hold on to the columns; they are made again when all are there. */
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

static int check_version(int64_t version, struct error *err)
{
    if (version > SCHEMA_VERSION)
        return error_set(err, -EPROTO,
                         "the database was created by a newer version of whirr (its schema is %lld, this program knows %d)",
                         (long long)version, SCHEMA_VERSION);
    return 0;
}

/* The eight numbers of the StatsRow are always there, whatever the card knows. */
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

/* Tables and views of the version at hand, in a transaction. */
static int bring_up(struct schema *schema, int64_t version, struct error *err)
{
    struct db *db = schema->db;
    bool moves = version > 0 && version < 7 && db->ops->kind == DB_POSTGRES;
    CLEANUP(others_done) struct others others = {0};
    int rc = moves ? others_note(db, &others, err) : 0;
    if (rc == 0 && version < SCHEMA_VERSION)
        rc = create_or_migrate(db, version, err);
    if (rc == 0)
        rc = schema_read_columns(schema, err);
    unsigned before = schema->generation;
    if (rc == 0)
        rc = add_stats_columns(schema, err);
    /* In a file of one's own, looking costs nothing: views of an earlier program are made anew. */
    if (rc == 0 && (version < SCHEMA_VERSION || db->ops->kind == DB_SQLITE))
        rc = schema_make_views(schema, err);
    else if (rc == 0 && schema->generation != before)
        rc = schema_refresh_views(schema, err);
    if (rc == 0 && moves)
        rc = others_restore(db, &others, err);
    if (rc == 0 && version < 6 && db->ops->kind == DB_POSTGRES)
        rc = drop_moved(db, err);
    return rc;
}

/* What takes long in a large database, before anybody has to wait for us. */
static int prepare_migration(struct db *db, struct error *err)
{
    int64_t version = 0;
    int rc = db->ops->kind == DB_POSTGRES ? schema_version(db, &version, err) : 0;
    return rc < 0 || version == 0 || version >= 7 ? rc : parts_look_through(db, err);
}

int schema_open(struct schema *schema, struct db *db, struct error *err)
{
    *schema = (struct schema){.db = db};
    int64_t version;
    int rc = prepare_migration(db, err);
    if (rc == 0)
        rc = db_begin(db, err);
    if (rc < 0)
        return rc;
    rc = schema_lock(db, err);
    if (rc == 0)
        rc = schema_version(db, &version, err);
    if (rc == 0)
        rc = check_version(version, err);
    if (rc == 0)
        rc = bring_up(schema, version, err);
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
        rc = check_version(version, err);
    if (rc < 0)
        return rc;
    if (version == 0)
        return error_set(err, -ENOENT, "nothing was ever stored here");
    if (version < SCHEMA_VERSION)
        return error_set(err, -EPROTO, "the database is of an older version: `whirr db migrate` brings it up to date");
    return schema_read_columns(schema, err);
}
