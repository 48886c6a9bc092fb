/* SPDX-License-Identifier: Apache-2.0
 * SQLite files of every earlier version are brought up to date with all that is in them.
 */
#include <errno.h>

#include "old_versions.h"
#include "sql.h"

static void every_earlier_file_is_brought_up_to_date(void **state)
{
    (void)state;
    for (int version = 1; version < SCHEMA_VERSION; version++) {
        char name[32], path[300];
        snprintf(name, sizeof name, "old-%d.db", version);
        snprintf(path, sizeof path, "%s/%s", store_folder, name);
        AUTO_BUF struct buf sql = BUF(1 << 16);
        write_old(&sql, version, true);
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        sqlite3_close(db);
        sql_run(name, sql.at);
        /* A reader does not touch it. */
        char url[320];
        snprintf(url, sizeof url, "sqlite:%s", path);
        struct store *s = NULL;
        struct error err = {0};
        assert_int_equal(store_open_read_only(&test_env, url, &s, &err), -EPROTO);
        assert_non_null(strstr(err.text, "whirr db migrate"));
        s = open_store(name);
        check_content(s);
        write_next(s);
        check_content(s);
        store_close(s);
        assert_int_equal(sql_i64(name, "SELECT value FROM meta WHERE key = 'schema_version'"), SCHEMA_VERSION);
        assert_int_equal(sql_i64(name, "SELECT COUNT(*) FROM gpus"), 1);
        assert_int_equal(sql_i64(name, "SELECT COUNT(*) FROM gpu_stats"), 721);
        assert_int_equal(sql_i64(name, "SELECT COUNT(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    }
}

static void a_migrated_file_has_the_tables_and_indexes_of_a_new_one(void **state)
{
    (void)state;
    struct store *s = open_store("fresh.db");
    store_close(s);
    char fresh[4096], old[4096];
    static const char query[] =
        "SELECT group_concat(type || ' ' || name, ', ') FROM (SELECT type, name FROM sqlite_master WHERE type "
        "<> 'view' ORDER BY 1, 2)";
    sql_text("fresh.db", query, fresh, sizeof fresh);
    for (int version = 1; version < SCHEMA_VERSION; version++) {
        char name[32];
        snprintf(name, sizeof name, "old-%d.db", version);
        sql_text(name, query, old, sizeof old);
        assert_string_equal(old, fresh);
    }
}

/* Half of a migration is none: the version says what the tables are. */
static void a_migration_that_fails_leaves_everything_as_it_was(void **state)
{
    (void)state;
    char path[300];
    AUTO_BUF struct buf sql = BUF(1 << 16);
    snprintf(path, sizeof path, "%s/stuck.db", store_folder);
    write_old(&sql, 1, true);
    /* Something of that name is there already. */
    buf_text(&sql, "CREATE TABLE process_minutes_by_process (x INTEGER);");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_close(db);
    sql_run("stuck.db", sql.at);
    struct store *s = NULL;
    struct error err = {0};
    char url[320];
    snprintf(url, sizeof url, "sqlite:%s", path);
    const struct store_options options = {.env = &test_env, .url = url, .host = "", .limits = store_default_limits};
    assert_true(store_open(&options, &s, &err) < 0);
    assert_int_equal(sql_i64("stuck.db", "SELECT value FROM meta WHERE key = 'schema_version'"), 1);
    assert_int_equal(sql_i64("stuck.db", "SELECT COUNT(*) FROM samples"), 720);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(every_earlier_file_is_brought_up_to_date),
        TEST(a_migrated_file_has_the_tables_and_indexes_of_a_new_one),
        TEST(a_migration_that_fails_leaves_everything_as_it_was),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
