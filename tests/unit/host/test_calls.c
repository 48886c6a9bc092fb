/* SPDX-License-Identifier: Apache-2.0
 * What is made of a system's calls, with a table of the test's own.
 */
#include "host/calls/calls.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "host/evidence/evidence.h"
#include "host/identity.h"
#include "host/listens.h"
#include "host/machine.h"
#include "host/tree.h"
#include "test.h"

/* ---- the system ---- */

static struct calls_cpu fake_all, fake_cores[2];
static struct calls_flow fake_net, fake_disk;
static int fake_net_count, fake_disk_rc;
static struct calls_memory fake_memory;
static struct calls_process fake_list[4];
static int fake_count, process_rc;
static struct calls_thread fake_threads[2];
static int fake_thread_count;
static struct calls_listener fake_listener;
static const char *fake_command;
static size_t fake_command_len;
static int listeners_asked, listeners_rc;

static int fake_cpu(struct calls_cpu *all, struct calls_cpu *cores, size_t max)
{
    assert_true(max >= 2);
    *all = fake_all;
    memcpy(cores, fake_cores, sizeof fake_cores);
    return 2;
}

static int tell_memory(struct calls_memory *ret)
{
    *ret = fake_memory;
    return 0;
}

static int fake_networks(struct calls_flow *list, size_t max)
{
    assert_true(max > 0);
    list[0] = fake_net;
    return fake_net_count;
}

static int fake_disks(struct calls_flow *list, size_t max)
{
    assert_true(max > 0);
    list[0] = fake_disk;
    return fake_disk_rc;
}

static int fake_process(int32_t pid, struct calls_process *ret)
{
    for (int i = 0; i < fake_count && !process_rc; i++)
        if (fake_list[i].pid == pid) {
            *ret = fake_list[i];
            return 0;
        }
    return process_rc ? process_rc : -ESRCH;
}

static int fake_processes(struct calls_process *list, size_t max)
{
    assert_true(max >= 4);
    memcpy(list, fake_list, sizeof fake_list);
    return fake_count;
}

static int fake_arguments(int32_t pid, char *text, size_t size)
{
    if (pid != 77)
        return -EACCES;
    assert_true(fake_command_len <= size);
    memcpy(text, fake_command, fake_command_len);
    return (int)fake_command_len;
}

static int fake_user(int32_t pid, char *name, size_t size)
{
    snprintf(name, size, "user%d", pid);
    return 0;
}

static int tell_threads(int32_t pid, struct calls_thread *list, size_t max)
{
    assert_true(pid > 0 && max >= 2);
    memcpy(list, fake_threads, sizeof fake_threads);
    return fake_thread_count;
}

static bool tells_locks(enum calls_wait wait)
{
    return wait == CALLS_WAIT_LOCK;
}

static int tell_listeners(struct calls_listener *list, size_t max)
{
    assert_true(max > 0);
    listeners_asked++;
    list[0] = fake_listener;
    return listeners_rc;
}

const struct system_calls host_calls = {
    .name = "Test",
    .cpu = fake_cpu,
    .memory = tell_memory,
    .networks = fake_networks,
    .disks = fake_disks,
    .process = fake_process,
    .processes = fake_processes,
    .arguments = fake_arguments,
    .user = fake_user,
    .threads = tell_threads,
    .waits_told = tells_locks,
    .listeners = tell_listeners,
};

static struct clock_manual manual;
static struct env env;

static int set_up(void **state)
{
    (void)state;
    clock_manual_init(&manual, (struct wall){1800000000000});
    env_init_system(&env);
    env.clock = &manual.clock;
    fake_all = (struct calls_cpu){1000, 400};
    fake_cores[0] = (struct calls_cpu){500, 300};
    fake_cores[1] = (struct calls_cpu){500, 100};
    fake_memory = (struct calls_memory){1000, 250, -1, -1};
    fake_net = (struct calls_flow){"eth", 1000, 2000, -1};
    fake_net_count = fake_disk_rc = 1;
    fake_disk = (struct calls_flow){"disk0", 5000, 6000, 100};
    fake_count = 3;
    process_rc = 0;
    fake_list[0] = (struct calls_process){.pid = 50, .start_key = 10, .resident_bytes = -1, .name = "shell"};
    fake_list[1] = (struct calls_process){.pid = 77,
                                          .parent = 50,
                                          .start_key = 20,
                                          .started_at = {1799999999000},
                                          .cpu_ns = 500000000,
                                          .system_ns = 100000000,
                                          .resident_bytes = 4096,
                                          .read_bytes = -1,
                                          .written_bytes = -1,
                                          .name = "python.exe"};
    fake_list[2] = (struct calls_process){.pid = 78, .parent = 77, .start_key = 30, .cpu_ns = 0, .name = "worker"};
    static const char command[] = "C:\\Python\\python.exe\0train.py\0--model\0C:\\models\\qwen3-8b.gguf\0--api-key=sk-verysecret";
    fake_command = command;
    fake_command_len = sizeof command;
    fake_threads[0] = (struct calls_thread){.id = 1, .cpu_ns = 1000, .wait = CALLS_WAIT_LOCK};
    fake_threads[1] = (struct calls_thread){.id = 2, .cpu_ns = 1000, .wait = CALLS_WAIT_RUNNING, .name = "loader"};
    fake_thread_count = 2;
    fake_listener = (struct calls_listener){77, 8000, "127.0.0.1"};
    listeners_asked = 0;
    listeners_rc = 1;
    return 0;
}

/* ---- the machine ---- */

static void the_first_sample_has_levels_and_the_second_rates(void **state)
{
    (void)state;
    struct machine *m = machine_new(&env);
    struct host h;
    machine_sample(m, &h);
    assert_int_equal(h.cpu_count.value, 2);
    assert_int_equal(h.cpu_permille.state, READING_PENDING);
    assert_int_equal(h.cpu_core_max_permille.state, READING_PENDING);
    assert_int_equal(h.mem_used_permille.value, 750);
    assert_int_equal(h.swap_used_bytes.state, READING_UNSUPPORTED);
    assert_int_equal(h.net_rx_bytes_per_s.state, READING_PENDING);
    assert_int_equal(h.load1_milli.state, READING_UNSUPPORTED); /* this system has no such call */

    clock_manual_advance_ms(&manual, 1000);
    fake_all = (struct calls_cpu){1200, 450};
    fake_cores[0] = (struct calls_cpu){600, 390};
    fake_cores[1] = (struct calls_cpu){600, 110};
    fake_net.in_bytes += 300;
    fake_net.out_bytes += 40;
    fake_disk.in_bytes += 7;
    fake_disk.busy_ms += 500;
    fake_memory.swap_total_bytes = fake_memory.swap_used_bytes = 0; /* there is none */
    machine_sample(m, &h);
    assert_int_equal(h.swap_total_bytes.state, READING_OK);
    assert_int_equal(h.swap_total_bytes.value, 0);
    assert_int_equal(h.cpu_permille.value, 250);
    assert_int_equal(h.cpu_core_max_permille.value, 900);
    assert_int_equal(h.net_rx_bytes_per_s.value, 300);
    assert_int_equal(h.net_tx_bytes_per_s.value, 40);
    assert_int_equal(h.disk_read_bytes_per_s.value, 7);
    assert_int_equal(h.disk_busy_permille.value, 500);

    clock_manual_advance_ms(&manual, 10); /* too soon for new rates */
    fake_all = (struct calls_cpu){1300, 550};
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.value, 250);
    assert_int_equal(h.net_rx_bytes_per_s.value, 300);
    machine_free(m);
}

static void what_comes_and_goes_is_not_counted_as_traffic(void **state)
{
    (void)state;
    struct machine *m = machine_new(&env);
    struct host h;
    fake_net_count = 0;
    fake_disk_rc = -ENODEV;
    machine_sample(m, &h);
    clock_manual_advance_ms(&manual, 1000);
    fake_net_count = 1; /* a card that was plugged in brings its count */
    machine_sample(m, &h);
    assert_int_equal(h.net_rx_bytes_per_s.value, 0);
    assert_int_equal(h.disk_read_bytes_per_s.state, READING_UNSUPPORTED);
    assert_int_equal(h.disk_busy_permille.state, READING_UNSUPPORTED);
    machine_free(m);
}

static void a_core_that_runs_backwards_is_no_share(void **state)
{
    (void)state;
    struct machine *m = machine_new(&env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&manual, 1000);
    fake_all = (struct calls_cpu){900, 300};
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.state, READING_FAILED);
    machine_free(m);
}

/* A recorded machine is another one: this system's calls say nothing of it. */
static void below_a_sysroot_nothing_is_asked(void **state)
{
    (void)state;
    struct env recorded = env;
    recorded.sysroot = "/nowhere";
    struct machine *m = machine_new(&recorded);
    struct host h;
    machine_sample(m, &h);
    assert_int_equal(h.mem_total_bytes.state, READING_UNSUPPORTED);
    assert_int_equal(process_start(&recorded, 77), 0);
    machine_free(m);
}

/* ---- processes ---- */

static void a_process_has_its_names_and_no_secret(void **state)
{
    (void)state;
    struct identity *i = identity_new(&env, false);
    struct process p = {.pid = 77};
    identity_fill(i, &p);
    assert_true(p.visible);
    assert_string_equal(p.name, "python.exe");
    assert_string_equal(p.title, "train.py");
    assert_string_equal(p.model, "qwen3-8b");
    assert_string_equal(p.user, "user77");
    assert_string_equal(p.parent_name, "shell");
    assert_int_equal(p.started_at.ms, 1799999999000);
    assert_int_equal(p.start_key, 20);
    assert_int_equal(p.host_mem_bytes.value, 4096);
    assert_int_equal(p.cpu_permille.value, 500); /* half of the second that it lives */
    assert_non_null(strstr(p.command, "C:\\Python\\python.exe train.py --model"));
    assert_null(strstr(p.command, "verysecret"));

    identity_sweep(i);
    clock_manual_advance_ms(&manual, 1000);
    fake_list[1].cpu_ns += 250000000;
    p = (struct process){.pid = 77};
    identity_fill(i, &p);
    assert_int_equal(p.cpu_permille.value, 250);
    identity_free(i);
}

static void what_is_not_known_of_a_process_is_not_zero(void **state)
{
    (void)state;
    struct identity *i = identity_new(&env, false);
    struct process p = {.pid = 50};
    fake_list[0].cpu_ns = -1;
    identity_fill(i, &p);
    assert_true(p.visible);
    assert_string_equal(p.command, ""); /* it may not be read */
    assert_int_equal(p.cpu_permille.state, READING_UNSUPPORTED);
    assert_int_equal(p.host_mem_bytes.state, READING_UNSUPPORTED);
    p = (struct process){.pid = 999};
    identity_fill(i, &p);
    assert_false(p.visible);
    identity_free(i);
}

static void details_are_of_the_process_that_is_meant(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(4096);
    assert_int_equal(process_details(&env, 77, 21, false, &out), -ESRCH);
    assert_int_equal(process_details(&env, 77, 20, false, &out), 0);
    assert_non_null(strstr(out.at, "Command\tC:\\Python\\python.exe train.py"));
    assert_null(strstr(out.at, "verysecret"));
    assert_non_null(strstr(out.at, "Environment\tthis system does not show it"));
}

static void a_tree_has_all_descendants_and_what_they_used(void **state)
{
    (void)state;
    struct process_tree tree;
    struct tree_use use;
    assert_int_equal(tree_init(&tree, 50), 0);
    tree_look(&tree, &env, &use);
    assert_int_equal(use.processes, 2);
    assert_true(tree_has(&tree, 78));
    assert_false(tree_has(&tree, 50));
    int32_t children[4];
    assert_int_equal(process_children(&env, 50, children, 4), 1); /* not those of its children */
    assert_int_equal(children[0], 77);
    clock_manual_advance_ms(&manual, 1000);
    fake_list[1].cpu_ns += 200000000;
    fake_list[2].cpu_ns += 700000000;
    for (size_t i = 0; i < 4; i++)
        fake_list[i].written_bytes = -1; /* not known, which is not 0 */
    tree_look(&tree, &env, &use);
    assert_int_equal(use.cpu_permille, 900);
    assert_int_equal(use.cpu_busiest_permille, 700);
    assert_int_equal(reading_or(use.read_bytes_per_s, -1), 0);
    assert_int_equal(use.write_bytes_per_s.state, READING_UNSUPPORTED);
    tree_done(&tree);
}

static void a_listener_is_found_by_its_process_and_port(void **state)
{
    (void)state;
    struct listening socket;
    struct listeners known = {0};
    assert_true(process_listens(&env, 77, 8000, &socket));
    assert_string_equal(socket.address, "127.0.0.1");
    assert_true(process_still_listens(&env, 77, &socket));
    assert_false(process_listens(&env, 78, 8000, &socket));
    assert_false(process_listens(&env, 77, 8001, &socket));
    listeners_asked = 0;
    assert_true(process_is_server(&env, 77, clock_mono(env.clock), &known));
    assert_false(process_is_server(&env, 78, clock_mono(env.clock), &known));
    assert_int_equal(listeners_asked, 1);
    fake_listener.address[0] = '\0'; /* of the network alone */
    assert_false(process_listens(&env, 77, 8000, &socket));
    fake_listener = (struct calls_listener){77, 8000, "127.0.0.1"};
    fake_threads[0].wait = fake_threads[1].wait = CALLS_WAIT_STOPPED;
    assert_false(process_listens(&env, 77, 8000, &socket));
}

/* ---- evidence ---- */

static void look(struct evidence_reader *r, struct host_evidence *ret)
{
    struct evidence_target target = {.pid = 77, .start_key = 20};
    evidence_begin(r, &(struct evidence_round){.all = &target, .count = 1, .looked_at = 1, .gap_ms = 1000});
    evidence_look(r, &target, ret);
}

static void evidence_has_what_the_system_tells_and_no_more(void **state)
{
    (void)state;
    struct evidence_reader *r = evidence_new(&env);
    struct host_evidence e;
    look(r, &e);
    assert_int_equal(e.state, READING_OK);
    assert_int_equal(e.cpu_permille.state, READING_PENDING);
    assert_int_equal(e.main_lock_permille.value, 1000);
    clock_manual_advance_ms(&manual, 1000);
    fake_list[1].cpu_ns += 800000000;
    fake_list[1].system_ns += 50000000;
    fake_threads[0].cpu_ns += 100000000;
    fake_threads[1].cpu_ns += 700000000;
    fake_list[2].cpu_ns += 300000000;
    fake_threads[0].wait = CALLS_WAIT_RUNNING;
    look(r, &e);
    assert_int_equal(e.looks, 2);
    assert_int_equal(e.cpu_permille.value, 800);
    assert_int_equal(e.system_permille.value, 50);
    assert_int_equal(e.main_cpu_permille.value, 100);
    assert_int_equal(e.main_running_permille.value, 500);
    assert_int_equal(e.main_lock_permille.value, 500);
    assert_int_equal(e.busiest_thread_permille.value, 700);
    assert_string_equal(e.busiest_thread, "loader");
    assert_int_equal(e.child_count.value, 1);
    assert_int_equal(e.child_busiest_permille.value, 300);
    assert_int_equal(e.listens.value, 1);
    /* What this system does not tell apart, or does not count. */
    assert_int_equal(e.main_sleep_permille.state, READING_UNSUPPORTED);
    assert_int_equal(e.main_disk_permille.state, READING_UNSUPPORTED);
    assert_int_equal(e.read_bytes_per_s.state, READING_UNSUPPORTED);
    assert_int_equal(e.throttled_permille.state, READING_UNSUPPORTED);
    evidence_free(r);
}

static void evidence_of_another_process_is_refused(void **state)
{
    (void)state;
    struct evidence_reader *r = evidence_new(&env);
    struct host_evidence e;
    look(r, &e);
    clock_manual_advance_ms(&manual, 1000);
    fake_list[1].start_key = 99; /* the number was given again */
    look(r, &e);
    assert_int_not_equal(e.state, READING_OK);
    process_rc = -EACCES;
    look(r, &e);
    assert_int_equal(e.state, READING_DENIED);
    evidence_free(r);
}

static void threads_that_may_not_be_seen_leave_the_rest(void **state)
{
    (void)state;
    struct evidence_reader *r = evidence_new(&env);
    struct host_evidence e;
    fake_thread_count = -EACCES;
    listeners_rc = -ENOSYS;
    look(r, &e);
    clock_manual_advance_ms(&manual, 1000);
    fake_list[1].cpu_ns += 800000000;
    look(r, &e);
    assert_int_equal(e.cpu_permille.value, 800);
    assert_int_equal(e.main_running_permille.state, READING_DENIED);
    assert_int_not_equal(e.busiest_thread_permille.state, READING_OK);
    assert_int_equal(e.main_lock_permille.state, READING_UNSUPPORTED);
    assert_int_equal(e.listens.state, READING_UNSUPPORTED);
    evidence_free(r);
}

int main(void)
{
#define WITH_SYSTEM(test) cmocka_unit_test_setup(test, set_up)
    const struct CMUnitTest tests[] = {
        WITH_SYSTEM(the_first_sample_has_levels_and_the_second_rates),
        WITH_SYSTEM(what_comes_and_goes_is_not_counted_as_traffic),
        WITH_SYSTEM(a_core_that_runs_backwards_is_no_share),
        WITH_SYSTEM(below_a_sysroot_nothing_is_asked),
        WITH_SYSTEM(a_process_has_its_names_and_no_secret),
        WITH_SYSTEM(what_is_not_known_of_a_process_is_not_zero),
        WITH_SYSTEM(details_are_of_the_process_that_is_meant),
        WITH_SYSTEM(a_tree_has_all_descendants_and_what_they_used),
        WITH_SYSTEM(a_listener_is_found_by_its_process_and_port),
        WITH_SYSTEM(evidence_has_what_the_system_tells_and_no_more),
        WITH_SYSTEM(evidence_of_another_process_is_refused),
        WITH_SYSTEM(threads_that_may_not_be_seen_leave_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
