/* SPDX-License-Identifier: Apache-2.0
 * The system that this runs on, whichever it is: what its own readers say must hold together. What it does not tell is absent.
 */
#include "base/cleanup.h"
#include "base/env.h"
#include "host/evidence/evidence.h"
#include "host/identity.h"
#include "host/listens.h"
#include "host/machine.h"
#include "host/tree.h"
#include "test.h"

enum { TRIES = 100 };

static struct env env;

static int set_up(void **state)
{
    (void)state;
    env_init_system(&env);
    env.own_pids = true; /* also in a container this is about its own processes */
    return 0;
}

/* So long, and busy. */
static void work(int64_t ms)
{
    struct mono start = clock_mono(env.clock);
    static volatile unsigned spins;
    while (mono_since_ms(clock_mono(env.clock), start) < ms)
        spins++;
}

static bool in_range(struct reading r, int64_t least, int64_t most)
{
    return r.state != READING_OK ? r.state != READING_UNREAD : r.value >= least && r.value <= most;
}

static void the_host_has_cpus_and_memory(void **state)
{
    (void)state;
    struct machine *m = machine_new(&env);
    struct host h;
    machine_sample(m, &h);
    work(50);
    machine_sample(m, &h);
    assert_true(h.name[0]);
    assert_int_equal(h.cpu_count.state, READING_OK);
    assert_in_range(h.cpu_count.value, 1, 100000);
    assert_int_equal(h.cpu_permille.state, READING_OK);
    assert_in_range(h.cpu_permille.value, 0, 1000);
    assert_int_equal(h.mem_total_bytes.state, READING_OK);
    assert_in_range(h.mem_total_bytes.value, 64 << 20, INT64_MAX);
    assert_in_range(h.mem_available_bytes.value, 1, h.mem_total_bytes.value);
    assert_true(in_range(h.cpu_core_max_permille, h.cpu_permille.value, 1000));
    assert_true(in_range(h.swap_used_bytes, 0, reading_or(h.swap_total_bytes, INT64_MAX)));
    assert_true(in_range(h.net_rx_bytes_per_s, 0, INT64_MAX));
    assert_true(in_range(h.disk_busy_permille, 0, 1000));
    struct host memory = {0};
    machine_read_memory(&env, &memory);
    assert_int_equal(memory.mem_total_bytes.value, h.mem_total_bytes.value);
    machine_free(m);
}

static void this_process_is_known(void **state)
{
    (void)state;
    struct identity *i = identity_new(&env, false);
    struct process p = {.pid = getpid()}, again;
    work(250);
    identity_fill(i, &p);
    assert_true(p.visible);
    assert_non_null(strstr(p.name, "test_this_host"));
    assert_non_null(strstr(p.command, "test_this_host"));
    assert_true(p.user[0]);
    assert_int_not_equal(p.start_key, 0);
    int64_t age_ms = clock_wall(env.clock).ms - p.started_at.ms;
    assert_in_range(age_ms + 2000, 0, 3600 * 1000); /* clocks of kernels are coarse */
    assert_int_equal(p.host_mem_bytes.state, READING_OK);
    assert_in_range(p.host_mem_bytes.value, 100 << 10, (int64_t)64 << 30);
    int tries = 0;
    do { /* on a busy machine it may get no tick of the clock for a while */
        identity_sweep(i);
        work(250);
        again = (struct process){.pid = getpid()};
        identity_fill(i, &again);
        assert_int_equal(again.cpu_permille.state, READING_OK);
    } while (again.cpu_permille.value == 0 && tries++ < TRIES);
    assert_in_range(again.cpu_permille.value, 1, 1100);
    assert_int_equal(process_start(&env, getpid()), p.start_key);
    assert_int_equal(process_start(&env, INT32_MAX - 3), 0);
    assert_false(process_is_stopped(&env, getpid()));
    identity_free(i);
}

static void one_that_is_not_there_is_not_visible(void **state)
{
    (void)state;
    struct identity *i = identity_new(&env, false);
    struct process p = {.pid = INT32_MAX - 3};
    AUTO_BUF struct buf out = BUF(65536);
    char text[64];
    identity_fill(i, &p);
    assert_false(p.visible);
    assert_true(process_details(&env, p.pid, 0, false, &out) < 0);
    assert_true(process_command(&env, p.pid, text, sizeof text) <= 0);
    assert_int_equal(process_details(&env, getpid(), 0, false, &out), 0);
    assert_non_null(strstr(out.at, "Command\t"));
    identity_free(i);
}

static void this_process_descends_from_its_parent(void **state)
{
    (void)state;
    int32_t parent = process_parent(&env, getpid());
    if (parent <= 0)
        SKIP("this process has no parent that can be seen");
    struct process_tree tree;
    struct tree_use use;
    assert_int_equal(tree_init(&tree, parent), 0);
    tree_look(&tree, &env, &use);
    assert_true(tree_has(&tree, getpid()));
    assert_true(use.processes >= 1);
    tree_done(&tree);
}

static void evidence_of_this_process_has_its_cpu_time(void **state)
{
    (void)state;
    struct evidence_target target = {.pid = getpid(), .start_key = process_start(&env, getpid())};
    struct evidence_round round = {.all = &target, .count = 1, .looked_at = 1, .gap_ms = 500};
    struct evidence_reader *r = evidence_new(&env);
    struct host_evidence e;
    int tries = 0;
    do {
        evidence_begin(r, &round);
        evidence_look(r, &target, &e);
        work(400);
    } while (reading_or(e.cpu_permille, 0) == 0 && tries++ < TRIES);
    assert_int_equal(e.state, READING_OK);
    assert_int_equal(e.cpu_permille.state, READING_OK);
    assert_in_range(e.cpu_permille.value, 1, 1200);
    assert_true(in_range(e.main_running_permille, 0, 1000));
    assert_true(in_range(e.child_count, 0, 10));
    evidence_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_has_cpus_and_memory),
        cmocka_unit_test(this_process_is_known),
        cmocka_unit_test(one_that_is_not_there_is_not_visible),
        cmocka_unit_test(this_process_descends_from_its_parent),
        cmocka_unit_test(evidence_of_this_process_has_its_cpu_time),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
