/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/find.h"

#include <stdio.h>

#include "../sysroot.h"
#include "base/cleanup.h"
#include "base/file.h"

static void add_process(struct sysroot *s, int pid, int parent, int group, const char *name, const char *cgroup,
                        const char *cmdline)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (%s) S %d %d 1 0 -1 4194304 0 0 0 0 1 1 0 0 20 0 1 0 %d 0 10 0\n", pid, name, parent, group,
             pid * 10);
    sysroot_write(s, path, text);
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    snprintf(text, sizeof text, "Name:\t%s\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\n", name, pid, pid);
    sysroot_write(s, path, text);
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    snprintf(text, sizeof text, "0::%s\n", cgroup);
    sysroot_write(s, path, text);
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    sysroot_write(s, path, cmdline);
}

/* 100 serves with a child 101 that forked 102; 200 is a game below Steam's reaper 199; 300 is another program. */
static void populate(struct sysroot *s)
{
    sysroot_init(s);
    add_process(s, 100, 1, 100, "ollama", "/system.slice/ollama.service", "ollama serve");
    add_process(s, 101, 100, 100, "runner", "/system.slice/ollama.service", "runner");
    add_process(s, 102, 101, 102, "llama", "/system.slice/ollama.service/sub", "llama");
    add_process(s, 199, 1, 199, "reaper", "/user.slice/x.scope", "reaper SteamLaunch AppId=570 -- game");
    add_process(s, 200, 199, 199, "game", "/user.slice/x.scope", "game");
    add_process(s, 300, 1, 300, "other", "/system.slice/ollama2.service", "other");
}

static struct snapshot *all_on_gpu(void)
{
    static const int pids[] = {200, 300, 101, 102};
    struct snapshot *s = snapshot_new(1);
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        struct process *p = gpu_add_process(&s->gpus[0], pids[i]);
        p->start_key = pids[i] * 10;
        p->visible = true;
    }
    s->gpus[0].processes_state = READING_OK;
    return s;
}

static void assert_found(struct sysroot *root, const struct guard_match *match, const int *pids, size_t count)
{
    AUTO_SNAPSHOT const struct snapshot *s = all_on_gpu();
    struct finder *f = finder_new(&root->env, match, true);
    struct claim_worker w = {0};
    struct claim_signals signals = {0};
    for (int again = 0; again < 2; again++) {
        assert_int_equal(finder_look(f, s, &w, &signals), WORKER_ALIVE);
        assert_int_equal(w.pid_count, count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(w.pids[i].pid, pids[i]);
        assert_int_equal(signals.game_count, 1);
        assert_int_equal(signals.games[0].pid, 200);
    }
    finder_free(f);
}

static void descendants_belong_to_the_worker_however_it_is_named(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    populate(&root);
    assert_found(&root, &(struct guard_match){.leader = {.pid = 100}}, (int[]){100, 101, 102}, 3);
    assert_found(&root, &(struct guard_match){.name = "ollama"}, (int[]){101, 102}, 2);
    assert_found(&root, &(struct guard_match){.unit = "ollama"}, (int[]){101, 102}, 2);
    assert_found(&root, &(struct guard_match){.unit = "ollama.service"}, (int[]){101, 102}, 2);
    assert_found(&root, &(struct guard_match){.cgroup = "/system.slice/ollama.service"}, (int[]){101, 102}, 2);
}

/* As after its restart: what was its child before is another program's now. */
static void with_a_new_leader_every_process_is_looked_at_anew(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    populate(&root);
    AUTO_SNAPSHOT const struct snapshot *s = all_on_gpu();
    const struct guard_match match = {.leader = {.pid = 100}};
    struct finder *f = finder_new(&root.env, &match, true);
    struct claim_worker w = {0};
    struct claim_signals signals = {0};
    assert_int_equal(finder_look(f, s, &w, &signals), WORKER_ALIVE);
    assert_true(claim_has_pid(&w, 101));
    finder_set_leader(f, (struct claim_identity){300, 3000});
    w = (struct claim_worker){0};
    assert_int_equal(finder_look(f, s, &w, &signals), WORKER_ALIVE);
    assert_false(claim_has_pid(&w, 101));
    assert_true(claim_has_pid(&w, 300));
    finder_free(f);
}

static void who_listens_on_a_port_leads(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    populate(&root);
    sysroot_write(&root, "/proc/net/tcp",
                  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
                  "   0: 0100007F:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7777 1 0\n");
    sysroot_link(&root, "/proc/100/fd/3", "socket:[7777]");
    assert_found(&root, &(struct guard_match){.port = 11434}, (int[]){100, 101, 102}, 3);
}

static void a_pid_that_was_taken_by_another_is_not_the_worker(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    populate(&root);
    AUTO_SNAPSHOT const struct snapshot *s = all_on_gpu();
    struct finder *f = finder_new(&root.env, &(struct guard_match){.leader = {.pid = 100, .start_key = 5}}, false);
    struct claim_worker w = {0};
    struct claim_signals signals = {0};
    assert_int_equal(finder_look(f, s, &w, &signals), WORKER_GONE);
    assert_int_equal(w.pid_count, 0); /* nor are its children and its group */
    finder_free(f);
}

/* Between two looks the worker ended, and another program got its number and the GPU. */
static void a_pid_that_is_reused_within_an_interval_is_not_the_worker(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    populate(&root);
    struct finder *f = finder_new(&root.env, &(struct guard_match){.leader = {.pid = 300}}, false);
    struct claim_worker w = {0};
    struct claim_signals signals = {0};
    AUTO_SNAPSHOT const struct snapshot *before = all_on_gpu();
    assert_int_equal(finder_look(f, before, &w, &signals), WORKER_ALIVE);
    assert_int_equal(w.pid_count, 1);
    sysroot_write(&root, "/proc/300/stat", "300 (else) S 1 300 1 0 -1 4194304 0 0 0 0 1 1 0 0 20 0 1 0 9999 0 10 0\n");
    struct snapshot *after = all_on_gpu();
    after->gpus[0].processes[1].start_key = 9999;
    assert_int_equal(finder_look(f, after, &w, &signals), WORKER_GONE);
    assert_int_equal(w.pid_count, 0);
    snapshot_unref(after);
    finder_free(f);
}

static void a_worker_off_the_gpu_is_alive_while_its_processes_are(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    populate(&root);
    struct finder *f = finder_new(&root.env, &(struct guard_match){.name = "ollama"}, false);
    struct claim_worker w = {0};
    struct claim_signals signals = {0};
    AUTO_SNAPSHOT const struct snapshot *empty = snapshot_new(1);
    assert_int_equal(finder_look(f, empty, &w, &signals), WORKER_GONE);
    finder_remember(f, &(struct claim_identity){101, 1010}, 1);
    assert_int_equal(finder_look(f, empty, &w, &signals), WORKER_ALIVE);
    sysroot_remove(&root, "/proc/101");
    assert_int_equal(finder_look(f, empty, &w, &signals), WORKER_GONE);
    finder_free(f);
}

/* ---- reads that fail ---- */

static struct {
    int at, error, calls; /* the call that fails, and how; all from the first on if `at` is negative */
} fault;

static bool fails(void)
{
    fault.calls++;
    errno = fault.error;
    return fault.at == fault.calls || fault.at < 0;
}

static int faulty_openat(int dir, const char *path, int flags)
{
    return fails() ? -1 : file_calls_system.openat(dir, path, flags);
}

static ssize_t faulty_read(int fd, void *to, size_t size)
{
    return fails() ? -1 : file_calls_system.read(fd, to, size);
}

static void look_with_fault(struct sysroot *root, const struct guard_match *match, const struct snapshot *s, int at, int error,
                            size_t whole)
{
    struct finder *f = finder_new(&root->env, match, true);
    struct claim_worker w = {0};
    struct claim_signals signals = {0};
    fault.at = at;
    fault.error = error;
    fault.calls = 0;
    enum worker_presence there = finder_look(f, s, &w, &signals);
    assert_int_not_equal(there, WORKER_GONE);
    /* A process that is not found to be the worker's is not known to be another program's. */
    assert_true(w.pid_count == whole || signals.unsure == -error);
    fault.at = 0;
    assert_int_equal(finder_look(f, s, &w, &signals), WORKER_ALIVE);
    assert_int_equal(w.pid_count, whole);
    assert_int_equal(signals.unsure, 0);
    finder_free(f);
}

static void what_cannot_be_read_is_neither_gone_nor_foreign(void **state)
{
    (void)state;
    static const int errors[] = {EMFILE, ENOMEM, EIO, EACCES};
    static const struct file_calls faulty = {.openat = faulty_openat, .read = faulty_read};
    static const struct {
        struct guard_match match;
        size_t count;
    } ways[] = {{{.leader = {.pid = 100}}, 3}, {{.name = "ollama"}, 2}, {{.unit = "ollama"}, 2}, {{.port = 11434}, 3}};
    AUTO_SYSROOT struct sysroot root;
    populate(&root);
    sysroot_write(&root, "/proc/net/tcp",
                  "   0: 0100007F:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7777 1 0\n");
    sysroot_link(&root, "/proc/100/fd/3", "socket:[7777]");
    AUTO_SNAPSHOT const struct snapshot *s = all_on_gpu();
    file_calls_replace(&faulty);
    for (size_t i = 0; i < ARRAY_LEN(ways) * ARRAY_LEN(errors); i++) {
        const struct guard_match *match = &ways[i / ARRAY_LEN(errors)].match;
        size_t count = ways[i / ARRAY_LEN(errors)].count;
        look_with_fault(&root, match, s, 0, 0, count);
        int calls = fault.calls;
        assert_true(calls > 4);
        for (int at = -1; at <= calls; at++)
            if (at)
                look_with_fault(&root, match, s, at, errors[i % ARRAY_LEN(errors)], count);
    }
    file_calls_replace(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(descendants_belong_to_the_worker_however_it_is_named),
        TEST(with_a_new_leader_every_process_is_looked_at_anew),
        TEST(who_listens_on_a_port_leads),
        TEST(a_pid_that_was_taken_by_another_is_not_the_worker),
        TEST(a_pid_that_is_reused_within_an_interval_is_not_the_worker),
        TEST(a_worker_off_the_gpu_is_alive_while_its_processes_are),
        TEST(what_cannot_be_read_is_neither_gone_nor_foreign),
    };
    return RUN_TESTS(tests);
}
