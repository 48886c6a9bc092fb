/* SPDX-License-Identifier: Apache-2.0
 * What no other unit test asks of a history: the numbers of what was written, a survey of the tables, cleaning up by size, and all
 * hosts of a server. So every statement of the store is prepared by some test; tests/contract/test_plans.py looks at their plans.
 */
#include <errno.h>

#include "base/units.h"
#include "own_database.h"
#include "sim_history.h"
#include "store/admin.h"
#include "store/fleet_queries.h"
#include "store/query.h"

static struct store *open_url(const char *url)
{
    struct store *s = NULL;
    struct error err = {0};
    const struct store_options options = {.env = &test_env, .url = url, .host = "box", .limits = store_default_limits};
    if (store_open(&options, &s, &err) != 0)
        fail_msg("%s", err.text);
    return s;
}

/* Five minutes, of which all samples are part number 7 of a run. */
static void write_part(struct store *s, int64_t run)
{
    struct sim_history h;
    struct error err = {0};
    const struct snapshot *list[60];
    sim_history_open(&h, "gpus=2,scenario=mixed");
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        list[i] = sim_history_next(&h);
    const struct store_part part = {.snapshots = list, .snapshot_count = ARRAY_LEN(list), .run = run, .first = 7, .last = 7};
    if (store_write_part(s, &part, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        snapshot_unref((struct snapshot *)list[i]);
    sim_history_close(&h);
}

static int count_gpu(void *user, const struct host_gpu *gpu)
{
    (void)gpu;
    ++*(int *)user;
    return 0;
}
static int count_silent(void *user, const struct silent_host *host)
{
    (void)host;
    ++*(int *)user;
    return 0;
}
static int count_clock(void *user, const char *host, int64_t ahead_ms)
{
    (void)host;
    (void)ahead_ms;
    ++*(int *)user;
    return 0;
}
static int count_forgotten(void *user, const char *host, const char *by, int64_t ago_ms)
{
    (void)by;
    return count_clock(user, host, ago_ms);
}
static int count_finding(void *user, const struct host_finding *finding)
{
    (void)finding;
    ++*(int *)user;
    return 0;
}
static int count_process(void *user, const struct host_process *process)
{
    (void)process;
    ++*(int *)user;
    return 0;
}
static int count_energy(void *user, const char *host, const struct process *who, int64_t energy_mj)
{
    (void)host;
    (void)who;
    (void)energy_mj;
    ++*(int *)user;
    return 0;
}
static int count_stored_gpu(void *user, const struct store_gpu *gpu)
{
    (void)gpu;
    ++*(int *)user;
    return 0;
}
static int count_host(void *user, const struct store_host *host)
{
    (void)host;
    ++*(int *)user;
    return 0;
}

static void number_survey_and_size(const char *url)
{
    struct store *s = open_url(url), *reader = NULL;
    struct error err = {0};
    struct store_survey survey;
    struct store_limits limits = store_default_limits;
    int64_t number = 0;
    int gpus = 0, hosts = 0, rc;
    write_part(s, 11);
    assert_int_equal(store_last_number(s, "box", 11, &number, &err), 0);
    assert_int_equal(number, 7);
    assert_int_equal(store_survey(s, &survey, &err), 0);
    assert_int_equal(survey.gpus, 2);
    assert_int_equal(survey.tables[0].rows, 120);
    assert_int_equal(store_open_read_only(&test_env, url, &reader, &err), 0);
    assert_int_equal(store_gpus(reader, NULL, count_stored_gpu, &gpus, &err), 0);
    assert_int_equal(store_hosts(reader, count_host, &hosts, &err), 0);
    assert_int_equal(gpus * 10 + hosts, 21);
    store_close(reader);
    /* Whatever it takes: all that is old enough goes. */
    limits.max_bytes = 1;
    store_set_limits(s, &limits);
    struct wall later = {HISTORY_BEGIN.ms + 40 * DAY_MS};
    for (int i = 0; i < 2; i++, later.ms += 3 * DAY_MS)
        while ((rc = clean_step(s, later, &err)) == 1)
            ;
    assert_int_equal(rc, 0);
    store_close(s);
}

static void a_file_is_numbered_surveyed_and_kept_small(void **state)
{
    (void)state;
    number_survey_and_size(store_url("statements.db"));
}

static void a_server_is_numbered_surveyed_and_kept_small(void **state)
{
    (void)state;
    const char *server = own_database("whirr_statements");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    number_survey_and_size(server);
}

static void all_hosts_of_a_server_are_listed(void **state)
{
    (void)state;
    const char *server = own_database("whirr_statements");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    struct store *s = open_url(server);
    struct error err = {0};
    int gpus = 0, others = 0;
    write_part(s, 12);
    char name[HOST_NAME_SIZE];
    assert_int_equal(store_name_host(s, "box", "0123456789abcdef", name, &err), 0);
    assert_string_equal(name, "box");
    assert_int_equal(all_hosts_gpus(s, true, count_gpu, &gpus, &err), 0);
    assert_int_equal(all_hosts_gpus(s, false, count_gpu, &gpus, &err), 0);
    assert_int_equal(all_hosts_silent(s, count_silent, &others, &err), 0);
    assert_int_equal(all_hosts_forgotten(s, count_forgotten, &others, &err), 0);
    assert_int_equal(all_hosts_clocks(s, count_clock, &others, &err), 0);
    assert_int_equal(all_hosts_findings(s, false, count_finding, &others, &err), 0);
    assert_int_equal(all_hosts_findings(s, true, count_finding, &others, &err), 0);
    assert_int_equal(all_hosts_processes(s, count_process, &others, &err), 0);
    for (int span = 0; span < 3; span++) {
        static const int64_t spans_ms[] = {HOUR_MS, 2 * DAY_MS, 40 * DAY_MS};
        assert_int_equal(all_hosts_energy(s, span % 2, spans_ms[span], count_energy, &others, &err), 0);
        assert_int_equal(all_hosts_energy(s, !(span % 2), spans_ms[span], count_energy, &others, &err), 0);
    }
    for (int undo = 0; undo < 2; undo++)
        assert_int_equal(all_hosts_forget(&test_env, server, "nowhere", "alice", undo, &err), -ENOENT);
    for (int undo = 0; undo < 2; undo++)
        assert_int_equal(all_hosts_forget(&test_env, server, "box", "alice", undo, &err), 0);
    store_close(s);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_numbered_surveyed_and_kept_small),
        TEST(a_server_is_numbered_surveyed_and_kept_small),
        TEST(all_hosts_of_a_server_are_listed),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
