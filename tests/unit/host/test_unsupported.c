/* SPDX-License-Identifier: Apache-2.0
 * The system that tells nothing, and what systems without procfs share, linked instead of this system's own readers.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "host/calls/calls.h"
#include "host/evidence/address_samples.h"
#include "host/evidence/evidence.h"
#include "host/identity.h"
#include "host/kernel_log.h"
#include "host/listens.h"
#include "host/machine.h"
#include "host/tree.h"
#include "test.h"

static struct env system_env(void)
{
    struct env env;
    env_init_system(&env);
    return env;
}

static void every_reading_of_the_host_is_absent_with_its_reason(void **state)
{
    (void)state;
    struct env env = system_env();
    struct machine *m = machine_new(&env);
    struct host host;
    machine_set_window(m, 0);
    for (int look = 0; look < 2; look++) {
        machine_sample(m, &host);
        for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
            assert_int_equal(host.metric[i].state, READING_UNSUPPORTED);
    }
    machine_glance(m, 1000, &host);
    assert_int_equal(host.cpu_permille.state, READING_UNSUPPORTED);
    assert_int_equal(machine_left_ms(m), 0);
    assert_true(host.name[0]); /* the settings or the network say it */
    machine_free(m);
}

static void a_process_is_its_number_alone(void **state)
{
    (void)state;
    struct env env = system_env();
    struct identity *i = identity_new(&env, true);
    struct process p = {.pid = getpid()};
    identity_fill(i, &p);
    identity_sweep(i);
    assert_false(p.visible);
    assert_string_equal(p.name, "");
    assert_string_equal(p.user, "");
    assert_string_equal(p.command, "");
    assert_int_equal(p.cpu_permille.state, READING_UNREAD);
    assert_int_equal(p.host_mem_bytes.state, READING_UNREAD);
    identity_free(i);

    AUTO_BUF struct buf out = BUF(1024);
    assert_int_equal(process_details(&env, getpid(), 0, true, &out), -ENOSYS);
    char text[16];
    assert_int_equal(process_command(&env, getpid(), text, sizeof text), -ENOSYS);
    assert_int_equal(process_start(&env, getpid()), 0);
    assert_int_equal(process_parent(&env, getpid()), 0);
    struct users *users = users_new(&env);
    users_name(users, 1000, text, sizeof text);
    assert_string_equal(text, "1000");
    users_free(users);
}

static void no_process_listens_or_has_children(void **state)
{
    (void)state;
    struct env env = system_env();
    struct listening socket;
    struct listeners known = {0};
    assert_false(process_listens(&env, getpid(), 80, &socket));
    assert_false(process_still_listens(&env, getpid(), &socket));
    assert_false(process_is_server(&env, getpid(), clock_mono(env.clock), &known));
    assert_true(process_is_stopped(&env, getpid())); /* as one that may not be looked at */

    struct process_tree tree;
    struct tree_use use;
    assert_int_equal(tree_init(&tree, getpid()), 0);
    tree_look(&tree, &env, &use);
    int32_t child;
    AUTO_BUF struct buf variables = BUF(4096);
    assert_int_equal(use.processes, 0);
    assert_int_equal(process_children(&env, getpid(), &child, 1), 0);
    assert_int_equal(process_environment(&env, getpid(), &variables), -ENOSYS);
    assert_false(tree_has(&tree, getpid()));
    tree_done(&tree);
}

static void evidence_and_logs_say_why_there_are_none(void **state)
{
    (void)state;
    struct env env = system_env();
    struct evidence_target target = {.pid = getpid(), .start_key = 1};
    struct host_evidence evidence;
    struct evidence_reader *r = evidence_new(&env);
    assert_int_equal(evidence_candidates(r, &target, 1), 0);
    evidence_begin(r, &(struct evidence_round){.all = &target, .count = 1, .looked_at = 1});
    evidence_look(r, &target, &evidence);
    assert_int_equal(evidence.state, READING_UNSUPPORTED);
    evidence_free(r);

    struct kernel_log *log = kernel_log_open(&env);
    struct kernel_line line;
    assert_int_equal(kernel_log_state(log), KERNEL_LOG_ABSENT);
    assert_string_equal(kernel_log_message(log), "whirr doesn't read the kernel's log of this system yet");
    assert_false(kernel_log_next(log, &line));
    kernel_log_close(log);

    struct address_samples samples;
    char words[ADDRESS_WORDS];
    address_samples_take(&env, getpid(), 100, false, &samples);
    assert_int_equal(samples.state, READING_UNSUPPORTED);
    assert_string_equal(address_samples_words(&samples, words),
                        "where it spends its CPU time can't be sampled: whirr doesn't do that on this system yet");
}

/* The file to copy for another system has no call yet. */
static void nothing_is_filled_in(void **state)
{
    (void)state;
    struct system_calls empty = {.name = host_calls.name};
    assert_memory_equal(&empty, &host_calls, sizeof empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reading_of_the_host_is_absent_with_its_reason),
        cmocka_unit_test(a_process_is_its_number_alone),
        cmocka_unit_test(no_process_listens_or_has_children),
        cmocka_unit_test(evidence_and_logs_say_why_there_are_none),
        cmocka_unit_test(nothing_is_filled_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
