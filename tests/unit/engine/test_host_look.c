/* SPDX-License-Identifier: Apache-2.0
 * Which programs are looked at on their host, and that what was seen is in the snapshot.
 */
#include "engine/internal.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/procfs.h"
#include "sysroot.h"
#include "test.h"

enum { STOP_MS = 5000 };

struct scene {
    struct env env;
    struct host_look *look;
    pid_t pid;
    int64_t start_key;
};

static void scene_begin(struct scene *s)
{
    char path[64], text[1024];
    struct proc_stat stat;
    *s = (struct scene){.pid = fork()};
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            be_slow(1000 * 1000);
    }
    env_init_system(&s->env);
    s->look = host_look_new(&s->env);
    assert_non_null(s->look);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)s->pid);
    ssize_t n = file_read_head(&s->env, path, text, sizeof text);
    assert_true(n > 0 && proc_stat_parse((struct str){text, (size_t)n}, &stat));
    s->start_key = stat.start_ticks;
}

static void scene_end(struct scene *s)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    host_look_free(s->look, STOP_MS);
}
#define AUTO_SCENE CLEANUP(scene_end)

static struct snapshot *sample(const struct scene *s, int64_t util, int64_t sm_active)
{
    struct snapshot *now = snapshot_new(1);
    assert_non_null(now);
    now->gpu_count = 1;
    now->gpus[0].util_permille = reading_ok(util);
    now->gpus[0].sm_active_permille = sm_active >= 0 ? reading_ok(sm_active) : reading_absent(READING_UNSUPPORTED);
    struct process *p = gpu_add_process(&now->gpus[0], s->pid);
    p->visible = true;
    p->start_key = s->start_key;
    return now;
}

/* What is known of it after one round; READING_UNREAD: it was not looked at. */
static struct host_evidence round_of(struct scene *s, struct snapshot *now, bool here, bool quick)
{
    host_look_add(s->look, now, &here, quick);
    struct host_evidence found = now->gpus[0].processes[0].host ? *now->gpus[0].processes[0].host : (struct host_evidence){0};
    snapshot_unref(now);
    return found;
}

static void a_program_that_its_gpu_leaves_waiting_is_looked_at(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    scene_begin(&s);
    struct host_evidence e;
    assert_true(EVENTUALLY(
        (e = round_of(&s, sample(&s, 20, -1), true, false), e.over_ms > 0 && reading_or(e.main_sleep_permille, 0) > 900)));
    assert_int_equal(e.state, READING_OK);
    /* 100% of the time something ran, and the units did nothing: a kernel that waits. */
    assert_true(EVENTUALLY(round_of(&s, sample(&s, 1000, 8), true, false).state == READING_OK));
}

static void what_keeps_its_gpu_busy_or_is_not_of_this_machine_is_not(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    scene_begin(&s);
    assert_int_equal(round_of(&s, sample(&s, 980, 900), true, false).state, READING_UNREAD);
    assert_int_equal(round_of(&s, sample(&s, 980, -1), true, false).state, READING_UNREAD);
    assert_int_equal(round_of(&s, sample(&s, 20, -1), false, false).state, READING_UNREAD);
    struct snapshot *hidden = sample(&s, 20, -1);
    hidden->gpus[0].processes[0].visible = false;
    assert_int_equal(round_of(&s, hidden, true, false).state, READING_UNREAD);
}

static void one_look_has_rates(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    scene_begin(&s);
    host_look_prepare(s.look);
    struct host_evidence e;
    /* On a busy machine the answer of the first may come too late for it. */
    assert_true(EVENTUALLY((e = round_of(&s, sample(&s, 20, -1), true, true), e.state == READING_OK)));
    assert_true(e.over_ms > 0 && e.looks >= 2);
    assert_int_equal(e.main_running_permille.state, READING_OK);
}

static void a_number_that_is_another_process_now_gets_nothing(void **state)
{
    (void)state;
    AUTO_SCENE struct scene s;
    scene_begin(&s);
    s.start_key++;
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(round_of(&s, sample(&s, 20, -1), true, true).state, READING_OK);
}

static void the_node_of_its_gpu_stands_beside_that_of_its_cpus(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    sysroot_init(&root);
    sysroot_write(&root, "/proc/7/stat", "7 (python) R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 9000000000 1\n");
    sysroot_write(&root, "/proc/7/status", "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n");
    sysroot_write(&root, "/sys/devices/system/node/online", "0-1\n");
    sysroot_write(&root, "/sys/devices/system/node/node0/cpulist", "0-3\n");
    sysroot_write(&root, "/sys/devices/system/node/node1/cpulist", "4-7\n");
    sysroot_write(&root, "/sys/bus/pci/devices/0000:41:00.0/numa_node", "1\n");
    struct scene s = {.env = root.env, .pid = 7, .start_key = 55, .look = host_look_new(&root.env)};
    struct host_evidence e;
    assert_true(EVENTUALLY(({
        struct snapshot *now = sample(&s, 20, -1);
        str_copy(now->gpus[0].id.pci_address, GPU_PCI_SIZE, STR("0000:41:00.0"));
        e = round_of(&s, now, true, false);
        e.state == READING_OK;
    })));
    host_look_free(s.look, STOP_MS);
    assert_int_equal(reading_or(e.cpu_node, -1), 0);
    assert_int_equal(reading_or(e.gpu_node, -1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_program_that_its_gpu_leaves_waiting_is_looked_at),
        TEST(what_keeps_its_gpu_busy_or_is_not_of_this_machine_is_not),
        TEST(one_look_has_rates),
        TEST(a_number_that_is_another_process_now_gets_nothing),
        TEST(the_node_of_its_gpu_stands_beside_that_of_its_cpus),
    };
    return RUN_TESTS(tests);
}
