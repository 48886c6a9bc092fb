/* SPDX-License-Identifier: Apache-2.0
 * PostgreSQL databases of every earlier version are brought up to date with all that is in them, where WHIRR_TEST_POSTGRES names a
 * server.
 */
#include <errno.h>

#include "old_versions.h"
#include "own_database.h"

static void psql_text(const char *server, const char *query, char *ret, size_t size)
{
    char command[1536];
    snprintf(command, sizeof command, "psql -X -A -t -q -v ON_ERROR_STOP=1 '%s' <<'END'\n%s\nEND\n", server, query);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    ret[fread(ret, 1, size - 1, p)] = '\0';
    assert_int_equal(pclose(p), 0);
}

static int64_t psql_i64(const char *server, const char *query)
{
    char answer[64];
    int64_t value = -1;
    psql_text(server, query, answer, sizeof answer);
    str_to_i64((struct str){answer, strcspn(answer, "\n")}, &value);
    return value;
}

/* A server's database as a version made it, and what else is in it. */
static void make_old(const char *server, int version, const char *more)
{
    AUTO_BUF struct buf sql = BUF(1 << 16);
    buf_text(&sql, "SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public;");
    write_old(&sql, version, false);
    buf_text(&sql, more);
    char command[600];
    snprintf(command, sizeof command, "psql -X -q -v ON_ERROR_STOP=1 '%s' >/dev/null", server);
    FILE *p = popen(command, "w");
    assert_non_null(p);
    fputs(sql.at, p);
    assert_int_equal(pclose(p), 0);
}

static int open_old(const char *server, struct store **ret, struct error *err)
{
    const struct store_options options = {.env = &test_env, .url = server, .host = "box", .limits = store_default_limits};
    return store_open(&options, ret, err);
}

static void make_new(const char *server)
{
    psql_i64(server, "SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; SELECT 1");
    struct store *s = NULL;
    struct error err = {0};
    if (open_old(server, &s, &err) != 0)
        fail_msg("%s", err.text);
    store_close(s);
}

static void a_new_database_of_a_server_finds_one_host_without_the_others(void **state)
{
    (void)state;
    const char *server = own_database("whirr_migrate");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    make_new(server);
    assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM pg_indexes WHERE (tablename, indexname) IN (('samples', "
                                      "'samples_by_gpu'), ('host_samples', 'host_samples_by_host'), ('process_minutes', "
                                      "'process_minutes_by_process'), ('process_hours', 'process_hours_by_process'), "
                                      "('energy_hours', 'energy_hours_by_gpu'))"),
                     5);
}

/* All tables with what they are parted by, all indexes, and the columns of tables that don't get theirs when they are needed. Parts
 * are left out. */
#define WHOLE "relnamespace = 'public'::regnamespace AND NOT relispartition AND relkind IN "
static const char whole_schema[] =
    "SELECT relkind::text || ' ' || relname || ' ' || COALESCE(pg_get_partkeydef(oid), pg_get_indexdef(oid), '') AS line FROM "
    "pg_class "
    "WHERE " WHOLE "('r', 'p', 'i', 'I') AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid WHERE "
    "i.indexrelid = pg_class.oid AND t.relispartition) UNION ALL SELECT relname || '.' || attname || ' ' || format_type(atttypid, "
    "atttypmod) || ' ' || attnotnull FROM pg_class JOIN pg_attribute ON attrelid = oid WHERE " WHOLE
    "('r', 'p') AND attnum > 0 AND NOT attisdropped AND relname !~ '^(host_)?(samples|minutes|hours)$' ORDER BY 1";

/* Roles are the server's, and may be there from an earlier database. */
#define READER "DO $$ BEGIN CREATE ROLE whirr_reader; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;"

static void every_earlier_database_of_a_server_is_brought_up_to_date(void **state)
{
    (void)state;
    const char *server = own_database("whirr_migrate");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    static char fresh[1 << 15], old[1 << 15];
    make_new(server);
    psql_text(server, whole_schema, fresh, sizeof fresh);
    assert_non_null(strstr(fresh, "\nprocess_hours."));
    for (int version = 1; version < SCHEMA_VERSION; version++) {
        make_old(server, version,
                 "CREATE VIEW gpu_stats AS SELECT s.gpu_index AS gpu_index, s.power_mw::float8 / 1000.0 AS power_watts FROM "
                 "samples s; CREATE VIEW mine AS SELECT power_watts FROM gpu_stats; CREATE VIEW \"Theirs\" WITH (security_barrier "
                 "= true) AS SELECT id, samples FROM minutes; CREATE VIEW warm AS SELECT temp_mdegc FROM samples; GRANT SELECT ON "
                 "minutes, \"Theirs\" TO PUBLIC; " READER "GRANT SELECT ON samples, minutes, energy TO whirr_reader WITH "
                 "GRANT OPTION; GRANT SELECT ON hours TO whirr_reader; INSERT INTO events (at_ms, host_id, gpu_id, kind, severity, "
                 "text, data) VALUES "
                 "(1772000000000, 1, 1, 'health', 'warning', '', '{\"state\": \"degraded\", \"reason\": \"dust\"}');");
        struct store *s = NULL;
        struct error err = {0};
        if (open_old(server, &s, &err) != 0)
            fail_msg("%s", err.text);
        check_content(s);
        write_next(s);
        check_content(s);
        store_close(s);
        if (store_open_read_only(&test_env, server, &s, &err) != 0)
            fail_msg("%s", err.text);
        check_content(s);
        store_close(s);
        /* What somebody built upon a view is still there, and the view's columns are in their order. */
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM mine WHERE power_watts = 100"), 1);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 'gpu_stats' AND "
                                          "(ordinal_position, column_name) IN ((1, 'gpu_index'), (2, 'power_watts'), (3, "
                                          "'gpu_name'))"),
                         3);
        /* The tables are those of a new database. */
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM gpu_stats WHERE recorded_at >= '2026-03-01 00:59:55+00'"), 2);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM pg_class WHERE relname LIKE '%by\\_id%'"), 0);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM pg_class WHERE relkind = 'p' AND relname IN ('minutes', 'hours', "
                                          "'host_minutes', 'host_hours', 'process_minutes', 'process_hours', 'energy', "
                                          "'energy_hours', 'samples', 'host_samples')"),
                         10);
        /* The old table is a part as it was, with its rows and its indexes, and nothing about it is left to be proven. */
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM minutes_old"), 60);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM pg_index WHERE indrelid = 'process_minutes_old'::regclass"), 3);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM pg_constraint WHERE conname LIKE '%until'"), 0);
        psql_text(server, whole_schema, old, sizeof old);
        assert_string_equal(old, fresh);
        /* What a fleet asks for is there. */
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM gpu_latest WHERE health = 'degraded' AND health_reason = 'dust'"),
                         1);
        /* Other people's views of a table see the new one, with the rights and options that they had. */
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM \"Theirs\""), 60);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM warm"), 721);
        assert_int_equal(psql_i64(server, "BEGIN; ALTER TABLE minutes DETACH PARTITION minutes_old; SELECT COUNT(*) FROM "
                                          "\"Theirs\"; ROLLBACK"),
                         0);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM pg_class WHERE relname = 'Theirs' AND reloptions = "
                                          "'{security_barrier=true}' AND has_table_privilege('public', oid, 'SELECT') AND "
                                          "has_table_privilege('public', 'minutes', 'SELECT')"),
                         1);
        /* Whoever could let others read can still do so, and nobody else. */
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM pg_class WHERE relname IN ('samples', 'minutes', 'energy') AND "
                                          "has_table_privilege('whirr_reader', oid, 'SELECT WITH GRANT OPTION')"),
                         3);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM pg_class WHERE relname = 'hours' AND "
                                          "has_table_privilege('whirr_reader', oid, 'SELECT') AND NOT "
                                          "has_table_privilege('whirr_reader', oid, 'SELECT WITH GRANT OPTION')"),
                         1);
        /* A minute of the old table is summed up anew in its place. */
        psql_i64(server,
                 "INSERT INTO pending SELECT 0, 1, MIN(id) >> 32, MIN(id) & 4294967295 FROM minutes_old; UPDATE minutes_old "
                 "SET samples = 999 WHERE id = (SELECT MIN(id) FROM minutes_old); SELECT 1");
        if (open_old(server, &s, &err) != 0)
            fail_msg("%s", err.text);
        write_next(s);
        store_close(s);
        assert_int_equal(psql_i64(server, "SELECT samples FROM minutes WHERE id = (SELECT MIN(id) FROM minutes_old)"), 12);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM minutes_old"), 60);
    }
}

/* The text of the error says which, and nothing was changed. Without the view, what was begun is brought to its end. */
static void a_view_that_is_in_the_way_is_named(void **state)
{
    (void)state;
    static const struct {
        int version;
        const char *make, *name, *drop;
    } views[] = {
        {5, "CREATE VIEW numbers AS SELECT id FROM samples;", "the view 'numbers'", "DROP VIEW numbers; SELECT 1"},
        {6, "CREATE MATERIALIZED VIEW sums AS SELECT SUM(samples) FROM minutes;",
         "the materialized view 'sums' reads the table 'minutes'", "DROP MATERIALIZED VIEW sums; SELECT 1"},
    };
    const char *server = own_database("whirr_migrate");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    for (size_t i = 0; i < ARRAY_LEN(views); i++) {
        make_old(server, views[i].version, views[i].make);
        struct store *s = NULL;
        struct error err = {0};
        assert_int_equal(open_old(server, &s, &err), -EEXIST);
        assert_non_null(strstr(err.text, views[i].name));
        assert_non_null(strstr(err.text, "whirr db migrate"));
        assert_int_equal(psql_i64(server, "SELECT value FROM meta WHERE key = 'schema_version'"), views[i].version);
        assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM samples"), 720);
        assert_int_equal(psql_i64(server, views[i].drop), 1);
        if (open_old(server, &s, &err) != 0)
            fail_msg("%s", err.text);
        check_content(s);
        store_close(s);
    }
}

/* Somebody began to move a database, was killed, and the moment up to which the old table was to reach has come meanwhile. */
static void a_migration_that_was_begun_long_ago_is_begun_anew(void **state)
{
    (void)state;
    const char *server = own_database("whirr_migrate");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    make_old(server, 6,
             "INSERT INTO meta (key, value) VALUES ('old_until.energy', '1772000000000'); ALTER TABLE energy ADD CONSTRAINT "
             "energy_until CHECK (minute < 29540000) NOT VALID; UPDATE energy SET energy_mj = energy_mj;");
    struct store *s = NULL;
    struct error err = {0};
    if (open_old(server, &s, &err) != 0)
        fail_msg("%s", err.text);
    check_content(s);
    store_close(s);
    assert_int_equal(psql_i64(server, "SELECT COUNT(*) FROM meta WHERE key = 'old_until.energy' AND CAST(value AS BIGINT) > "
                                      "EXTRACT(EPOCH FROM now()) * 1000"),
                     1);
}

int main(void)
{
    env_init_system(&test_env);
    const struct CMUnitTest tests[] = {
        TEST(every_earlier_database_of_a_server_is_brought_up_to_date),
        TEST(a_new_database_of_a_server_finds_one_host_without_the_others),
        TEST(a_view_that_is_in_the_way_is_named),
        TEST(a_migration_that_was_begun_long_ago_is_begun_anew),
    };
    return RUN_TESTS(tests);
}
