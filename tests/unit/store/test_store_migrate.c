/* SPDX-License-Identifier: Apache-2.0
 * Databases of other versions: those that were released are brought up to date, those from before the first release are refused.
 */
#include <errno.h>

#include "base/file.h"
#include "own_database.h"
#include "sql.h"
#include "store/schema/schema.h"

static int try_to_open(const char *url, struct store **ret, struct error *err)
{
    const struct store_options options = {.env = &test_env, .url = url, .host = "box", .limits = store_default_limits};
    return store_open(&options, ret, err);
}

/* Tables and indexes as plain text; the columns of samples, minutes and hours come with their values. */
static void read_tables(const char *name, char *text, size_t size)
{
    sql_text(
        name,
        "SELECT group_concat(line, char(10)) || char(10) FROM (SELECT sql || ';' AS line FROM sqlite_master WHERE type IN "
        "('table', 'index') AND sql IS NOT NULL AND name NOT IN ('samples', 'minutes', 'hours', 'host_samples', 'host_minutes', "
        "'host_hours') ORDER BY name)",
        text, size);
}

/* A file as the first release made it, from its own statements, which never change. */
static void make_first(const char *name)
{
    char path[300];
    static char statements[1 << 15];
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/golden/schema/%d.sql", root ? root : ".", SCHEMA_FIRST);
    assert_true(file_read(&test_env, path, statements, sizeof statements) > 0);
    snprintf(path, sizeof path, "%s/%s", store_folder, name);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_close(db);
    sql_run(name, statements);
    sql_run(name, "CREATE TABLE samples (id INTEGER PRIMARY KEY, gpu_index INTEGER);"
                  "CREATE TABLE minutes (id INTEGER PRIMARY KEY, samples INTEGER NOT NULL);"
                  "CREATE TABLE hours (id INTEGER PRIMARY KEY, samples INTEGER NOT NULL);"
                  "CREATE TABLE host_samples (id INTEGER PRIMARY KEY);"
                  "CREATE TABLE host_minutes (id INTEGER PRIMARY KEY, samples INTEGER NOT NULL);"
                  "CREATE TABLE host_hours (id INTEGER PRIMARY KEY, samples INTEGER NOT NULL);"
                  "INSERT INTO hosts (name, first_seen_ms, last_seen_ms) VALUES ('box', 1, 2);"
                  "INSERT INTO events (at_ms, host_id, kind, severity, text) VALUES (1772323200000, 1, 'daemon', 'info', 'began')");
    char set[160];
    snprintf(set, sizeof set, "INSERT INTO meta (key, value) VALUES ('schema_version', '%d')", SCHEMA_FIRST);
    sql_run(name, set);
}

/* A change of the tables of new databases shows here that those of old ones need a migration. */
static void a_file_of_the_first_release_gets_the_tables_of_a_new_one(void **state)
{
    (void)state;
    static char fresh[1 << 16], old[1 << 16];
    store_close(open_store("fresh.db"));
    make_first("first.db");
    struct store *s = open_store("first.db");
    struct sim_history h;
    sim_history_open(&h, "gpus=1,scenario=idle");
    write_samples(s, &h, 3);
    sim_history_close(&h);
    store_close(s);
    read_tables("fresh.db", fresh, sizeof fresh);
    read_tables("first.db", old, sizeof old);
    assert_string_equal(old, fresh);
    assert_int_equal(sql_i64("first.db", "SELECT value FROM meta WHERE key = 'schema_version'"), SCHEMA_VERSION);
    assert_int_equal(sql_i64("first.db", "SELECT COUNT(*) FROM events WHERE text = 'began'"), 1);
    assert_int_equal(sql_i64("first.db", "SELECT COUNT(*) FROM gpu_stats"), 3);
}

static const struct migration steps[] = {
    {SCHEMA_FIRST, "CREATE TABLE never (x @INT)"}, /* that is where it begins */
    {SCHEMA_FIRST + 1, "CREATE TABLE colors (id @AUTO, name TEXT NOT NULL); INSERT INTO colors (name) VALUES ('red')"},
    {SCHEMA_FIRST + 2, "ALTER TABLE colors ADD COLUMN shade @INT; UPDATE colors SET shade = 7"},
    {0, NULL},
};

/* Runs the steps in a transaction; whether they came to their end. */
static bool run_steps(struct db *db, const struct migration *list)
{
    struct error err = {0};
    assert_int_equal(db_begin(db, &err), 0);
    bool good = tables_migrate(db, list, SCHEMA_FIRST, &err) == 0 && db_commit(db, &err) == 0;
    if (!good)
        db_rollback(db);
    return good;
}

static int64_t ask(struct db *db, const char *query)
{
    struct error err = {0};
    int64_t value = -1;
    if (db_query_i64(db, query, -1, &value, &err) != 0)
        fail_msg("%s", err.text);
    return value;
}

static void check_steps(struct db *db, const char *tables_called)
{
    static const struct migration broken[] = {
        {SCHEMA_FIRST + 1, "DROP TABLE colors; CREATE TABLE shapes (x @INT)"}, {SCHEMA_FIRST + 2, "NOT SQL"}, {0, NULL}};
    char query[200];
    assert_true(run_steps(db, steps));
    assert_int_equal(ask(db, "SELECT shade FROM colors WHERE name = 'red'"), 7);
    snprintf(query, sizeof query, "%s'never'", tables_called);
    assert_int_equal(ask(db, query), 0);
    /* Half of a migration is none. */
    assert_false(run_steps(db, broken));
    assert_int_equal(ask(db, "SELECT COUNT(*) FROM colors"), 1);
    snprintf(query, sizeof query, "%s'shapes'", tables_called);
    assert_int_equal(ask(db, query), 0);
}

static void steps_beyond_the_version_run_in_order_and_wholly_or_not_at_all(void **state)
{
    (void)state;
    struct db *db = NULL;
    struct error err = {0};
    char path[300];
    store_close(open_store("steps.db"));
    snprintf(path, sizeof path, "%s/steps.db", store_folder);
    assert_int_equal(db_open_sqlite(path, false, &db, &err), 0);
    check_steps(db, "SELECT COUNT(*) FROM sqlite_master WHERE name = ");
    db_close(db);
}

static void steps_run_on_a_server_too(void **state)
{
    (void)state;
    const char *server = own_database("whirr_migrate");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    struct db *db = NULL;
    struct error err = {0};
    assert_int_equal(db_open_postgres(&test_env, server, false, &db, &err), 0);
    check_steps(db, "SELECT COUNT(*) FROM pg_class WHERE relname = ");
    db_close(db);
}

static void check_refused(const char *url)
{
    struct store *s = NULL;
    struct error err = {0};
    assert_int_equal(try_to_open(url, &s, &err), -EPROTO);
    assert_non_null(strstr(err.text, "before the first release"));
    assert_non_null(strstr(err.text, "store.url"));
    assert_int_equal(store_open_read_only(&test_env, url, &s, &err), -EPROTO);
}

static void a_file_from_before_the_first_release_is_refused_and_kept(void **state)
{
    (void)state;
    store_close(open_store("before.db"));
    sql_run("before.db", "UPDATE meta SET value = '11' WHERE key = 'schema_version'; DROP TABLE finding_episodes;"
                         "INSERT INTO hosts (name) VALUES ('mine')");
    check_refused(store_url("before.db"));
    assert_int_equal(sql_i64("before.db", "SELECT value FROM meta WHERE key = 'schema_version'"), 11);
    assert_int_equal(sql_i64("before.db", "SELECT COUNT(*) FROM hosts"), 1);
    assert_int_equal(sql_i64("before.db", "SELECT COUNT(*) FROM sqlite_master WHERE name = 'finding_episodes'"), 0);
}

static void so_is_a_database_of_a_server(void **state)
{
    (void)state;
    const char *server = own_database("whirr_migrate");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    struct store *s = NULL;
    struct db *db = NULL;
    struct error err = {0};
    if (try_to_open(server, &s, &err) != 0)
        fail_msg("%s", err.text);
    store_close(s);
    assert_int_equal(db_open_postgres(&test_env, server, false, &db, &err), 0);
    assert_int_equal(ask(db, "SELECT COUNT(*) FROM pg_indexes WHERE (tablename, indexname) IN (('samples', 'samples_by_gpu'), "
                             "('host_samples', 'host_samples_by_host'), ('process_minutes', 'process_minutes_by_process'), "
                             "('process_hours', 'process_hours_by_process'), ('energy_hours', 'energy_hours_by_gpu'), "
                             "('minutes', 'minutes_by_time'), ('energy', 'energy_by_time'))"),
                     7);
    assert_int_equal(db_exec(db, "UPDATE meta SET value = '11' WHERE key = 'schema_version'", &err), 0);
    check_refused(server);
    assert_int_equal(ask(db, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'schema_version'"), 11);
    db_close(db);
}

/* What earlier calls leave where those of later ones will be. */
static void fill_the_stack(void)
{
    volatile char left[8192];
    for (size_t i = 0; i < sizeof left; i++)
        left[i] = 1;
}

static void a_file_without_tables_has_no_version(void **state)
{
    (void)state;
    struct db *db = NULL;
    struct error err = {0};
    int64_t version = -1;
    assert_int_equal(db_open_sqlite(store_url("empty.db") + strlen("sqlite:"), false, &db, &err), 0);
    fill_the_stack();
    assert_int_equal(schema_version(db, &version, &err), 0);
    assert_int_equal(version, 0);
    db_close(db);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(a_file_of_the_first_release_gets_the_tables_of_a_new_one),
        TEST(steps_beyond_the_version_run_in_order_and_wholly_or_not_at_all),
        TEST(steps_run_on_a_server_too),
        TEST(a_file_from_before_the_first_release_is_refused_and_kept),
        TEST(so_is_a_database_of_a_server),
        TEST(a_file_without_tables_has_no_version),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
