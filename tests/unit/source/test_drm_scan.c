/* SPDX-License-Identifier: Apache-2.0 */
#include "source/drm/scan.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"
#include "tree.h"

static const char amd_pci[] = "0000:03:00.0";

struct machine_and_scan {
    struct tree tree;
    struct drm_scan *scan;
    struct drm_card card;
};

static int setup(void **state)
{
    struct machine_and_scan *m = calloc(1, sizeof *m);
    tree_init(&m->tree);
    tree_card(&m->tree, "card0", "amdgpu", amd_pci, "1002:744C", 128);
    assert_int_equal(drm_card_read(&m->tree.env, "card0", &m->card), 0);
    m->scan = drm_scan_ref(&m->tree.env);
    *state = m;
    return 0;
}

static int teardown(void **state)
{
    struct machine_and_scan *m = *state;
    drm_scan_unref(m->scan);
    tree_done(&m->tree);
    free(m);
    return 0;
}

/* The next sample, a second later. The caller frees gpu. */
static void look(struct machine_and_scan *m, struct gpu *gpu, struct drm_load *load)
{
    clock_manual_advance_ms(&m->tree.clock, 1000);
    drm_scan_refresh(m->scan);
    *gpu = (struct gpu){0};
    drm_scan_fill(m->scan, &m->card, false, gpu, load);
}

#define LOOK()                        \
    CLEANUP(gpu_done) struct gpu gpu; \
    struct drm_load load;             \
    look(m, &gpu, &load)

static void look_away(struct machine_and_scan *m)
{
    LOOK();
}

static void utilization_is_engine_time_over_time(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "game");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 1000000, 2048);
    {
        LOOK();
        assert_int_equal(gpu.process_count, 1);
        assert_int_equal(gpu.processes[0].pid, 42);
        assert_int_equal(gpu.processes[0].mem_bytes.value, 2048 * 1024);
        assert_int_equal(gpu.processes[0].util_permille.state, READING_PENDING);
        assert_int_equal(load.busy_permille.state, READING_PENDING);
    }
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 1000000 + 250000000, 2048);
    LOOK();
    assert_int_equal(gpu.processes[0].util_permille.value, 250);
    assert_int_equal(load.busy_permille.value, 250);
    assert_int_equal(gpu.processes[0].type, PROCESS_GRAPHICS);
}

/* Nothing moves on a recorded machine, and an idle client is not told from a busy one. */
static void counters_that_never_moved_on_a_recorded_machine_are_no_load(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "game");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 1000000, 2048);
    for (int i = 0; i < 3; i++) {
        LOOK();
        assert_int_equal(gpu.processes[0].util_permille.state, READING_PENDING);
        assert_int_equal(load.busy_permille.state, READING_PENDING);
    }
}

static void a_client_is_counted_once_over_all_processes(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 100, "python3");
    tree_process(&m->tree, 101, "worker");
    tree_process(&m->tree, 102, "worker");
    for (int pid = 100; pid <= 102; pid++) {
        tree_amd_fd(&m->tree, pid, 5, amd_pci, 7, 0, 1024);
        tree_amd_fd(&m->tree, pid, 6, amd_pci, 7, 0, 1024);
    }
    look_away(m);
    for (int pid = 100; pid <= 102; pid++)
        for (int fd = 5; fd <= 6; fd++)
            tree_amd_fd(&m->tree, pid, fd, amd_pci, 7, 500000000, 1024);
    LOOK();
    assert_int_equal(load.clients, 1);
    assert_int_equal(gpu.process_count, 1);
    assert_int_equal(gpu.processes[0].pid, 100);
    assert_int_equal(gpu.processes[0].mem_bytes.value, 1024 * 1024);
    assert_int_equal(load.busy_permille.value, 500);
}

static void who_only_opens_devices_for_others_does_not_own_them(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 50, "systemd-logind");
    tree_process(&m->tree, 60, "kwin_wayland");
    tree_amd_fd(&m->tree, 50, 20, amd_pci, 3, 0, 10);
    tree_amd_fd(&m->tree, 60, 9, amd_pci, 3, 0, 10);
    LOOK();
    assert_int_equal(gpu.process_count, 1);
    assert_int_equal(gpu.processes[0].pid, 60);
}

static void several_clients_of_a_process_add_up(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "blender");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 0, 1000);
    tree_amd_fd(&m->tree, 42, 6, amd_pci, 2, 0, 2000);
    look_away(m);
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 100000000, 1000);
    tree_amd_fd(&m->tree, 42, 6, amd_pci, 2, 200000000, 2000);
    LOOK();
    assert_int_equal(gpu.process_count, 1);
    assert_int_equal(gpu.processes[0].mem_bytes.value, 3000 * 1024);
    assert_int_equal(gpu.processes[0].util_permille.value, 300);
    assert_int_equal(load.busy_permille.value, 300);
}

static void a_counter_that_falls_keeps_its_maximum(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "game");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 900000000, 10);
    look_away(m);
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 100000000, 10);
    {
        LOOK();
        assert_int_equal(load.busy_permille.value, 0);
    }
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 1000000000, 10);
    LOOK();
    assert_int_equal(load.busy_permille.value, 100);
}

static const char xe_text[] =
    "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\ndrm-cycles-rcs:\t%lld\ndrm-total-cycles-rcs:\t%lld\n"
    "drm-cycles-ccs:\t%lld\ndrm-total-cycles-ccs:\t%lld\ndrm-engine-capacity-ccs:\t4\n";

static void cycles_are_a_share_of_all_cycles_and_engines(void **state)
{
    struct machine_and_scan *m = *state;
    char text[512];
    tree_process(&m->tree, 42, "llama");
    snprintf(text, sizeof text, xe_text, 0LL, 1000LL, 0LL, 1000LL);
    tree_fd(&m->tree, 42, 5, "renderD128", text);
    look_away(m);
    snprintf(text, sizeof text, xe_text, 100LL, 2000LL, 3200LL, 2000LL);
    tree_fd(&m->tree, 42, 5, "renderD128", text);
    LOOK();
    assert_int_equal(load.busy_permille.value, 800); /* ccs: 3200 of 4 * 1000; rcs: 100 */
    assert_int_equal(gpu.processes[0].type, PROCESS_BOTH);
}

static void hidden_processes_are_counted_and_kernel_threads_are_not(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "mine");
    tree_process(&m->tree, 43, "other users");
    tree_process(&m->tree, 44, "kworker/0:1");
    tree_write(&m->tree, "/proc/44/stat", "44 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0\n");
    fault_open("43/fd", EACCES);
    fault_open("44/fd", EACCES);
    LOOK();
    assert_int_equal(load.hidden, 1);
    assert_int_equal(gpu.processes_hidden, 1);
    assert_int_equal(gpu.processes_state, READING_OK);
}

/* Another process with the pid of one that ended: both folders exist for a moment, so that they are not the same to the kernel. */
static void replace_process(struct tree *t, int pid, const char *comm)
{
    char old[PATH_SIZE], new[PATH_SIZE], path[32];
    tree_process(t, pid + 100000, comm);
    snprintf(path, sizeof path, "/proc/%d", pid);
    tree_remove(t, path);
    assert_int_equal(env_path(&t->env, old, "/proc/%d", pid + 100000), 0);
    assert_int_equal(env_path(&t->env, new, "/proc/%d", pid), 0);
    assert_int_equal(rename(old, new), 0);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "game");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 900000000, 10);
    look_away(m);
    replace_process(&m->tree, 42, "browser");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 2, 500000000, 77);
    LOOK();
    assert_int_equal(gpu.process_count, 1);
    assert_int_equal(gpu.processes[0].mem_bytes.value, 77 * 1024);
    /* 500 ms of engine time of a new client are no 50 % of the last second. */
    assert_int_equal(gpu.processes[0].util_permille.state, READING_PENDING);
}

static void a_visible_process_with_the_pid_of_a_hidden_one_is_seen_at_once(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "others");
    fault_open("42/fd", EACCES);
    {
        LOOK();
        assert_int_equal(load.hidden, 1);
    }
    fault_clear();
    replace_process(&m->tree, 42, "mine");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 2, 0, 77);
    LOOK();
    assert_int_equal(load.hidden, 0);
    assert_int_equal(gpu.process_count, 1);
}

static void remove_process(void *context)
{
    tree_remove(context, "/proc/42");
}

static void a_process_that_ends_in_mid_scan_is_left_out(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "short");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 0, 10);
    tree_process(&m->tree, 43, "long");
    tree_amd_fd(&m->tree, 43, 5, amd_pci, 2, 0, 10);
    fault_before_open("42/fdinfo/5", remove_process, &m->tree);
    LOOK();
    assert_int_equal(gpu.process_count, 1);
    assert_int_equal(gpu.processes[0].pid, 43);
}

static void what_ended_is_forgotten(void **state)
{
    struct machine_and_scan *m = *state;
    for (int pid = 10; pid < 20; pid++) {
        tree_process(&m->tree, pid, "p");
        tree_amd_fd(&m->tree, pid, 5, amd_pci, pid, 0, pid);
    }
    look_away(m);
    for (int pid = 10; pid < 20; pid += 2) {
        char path[32];
        snprintf(path, sizeof path, "/proc/%d", pid);
        tree_remove(&m->tree, path);
    }
    LOOK();
    assert_int_equal(load.clients, 5);
    assert_int_equal(gpu.process_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(gpu.processes[i].mem_bytes.value, gpu.processes[i].pid * 1024);
}

static void an_old_process_that_opens_the_card_is_found_at_once(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "python3");
    look_away(m);
    look_away(m);
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 0, 10);
    LOOK();
    assert_int_equal(gpu.process_count, 1);
}

static void unchanged_processes_are_not_looked_through_again(void **state)
{
    struct machine_and_scan *m = *state;
    for (int pid = 10; pid < 60; pid++)
        tree_process(&m->tree, pid, "idle");
    tree_amd_fd(&m->tree, 10, 5, amd_pci, 9, 0, 10);
    for (int i = 0; i < 4; i++)
        look_away(m);
    struct drm_scan_stats before, after;
    drm_scan_stats(m->scan, &before);
    look_away(m);
    drm_scan_stats(m->scan, &after);
    assert_int_equal(after.scans, before.scans + 1);
    assert_int_equal(after.walks, before.walks);
    assert_int_equal(after.reads, before.reads); /* its client did nothing for a while */
    look_away(m);
    look_away(m);
    drm_scan_stats(m->scan, &after);
    assert_int_equal(after.reads, before.reads + 1); /* but is read again soon */
}

static void an_idle_client_that_wakes_up_is_measured_right(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "app");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 9, 0, 10);
    for (int i = 0; i < 3; i++)
        look_away(m); /* quiet now: read at 1, 2 and 3 s, next at 6 s */
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 9, 600000000, 10);
    {
        LOOK();
        assert_int_equal(load.busy_permille.value, 0);
    }
    look_away(m);
    LOOK();
    assert_int_equal(load.busy_permille.value, 200); /* 0.6 s of the 3 s since it was read */
}

static void sources_share_one_look(void **state)
{
    struct machine_and_scan *m = *state;
    struct drm_scan *second = drm_scan_ref(&m->tree.env);
    assert_ptr_equal(second, m->scan);
    struct drm_scan_stats before, after;
    drm_scan_refresh(m->scan);
    drm_scan_stats(m->scan, &before);
    clock_manual_advance_ms(&m->tree.clock, 100);
    drm_scan_refresh(second);
    drm_scan_stats(second, &after);
    assert_int_equal(after.scans, before.scans);
    clock_manual_advance_ms(&m->tree.clock, 150);
    drm_scan_refresh(second);
    drm_scan_stats(second, &after);
    assert_int_equal(after.scans, before.scans + 1);
    drm_scan_unref(second);
}

/* A driver that hangs in the read of an fdinfo, until the test lets it go. */
struct hang {
    sem_t reached, go_on;
};

static void hang_here(void *context)
{
    struct hang *h = context;
    sem_post(&h->reached);
    while (sem_wait(&h->go_on) != 0)
        ;
}

static void *scan_in_a_thread(void *scan)
{
    drm_scan_refresh(scan);
    return NULL;
}

static void a_read_that_hangs_stops_no_other_source(void **state)
{
    struct machine_and_scan *m = *state;
    struct hang h;
    sem_init(&h.reached, 0, 0);
    sem_init(&h.go_on, 0, 0);
    tree_process(&m->tree, 42, "game");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 1000000, 2048);
    look_away(m);
    clock_manual_advance_ms(&m->tree.clock, 1000);
    fault_before_open("fdinfo/5", hang_here, &h);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, scan_in_a_thread, m->scan), 0);
    while (sem_wait(&h.reached) != 0)
        ;
    /* Another source asks meanwhile: it gets what the last scan found, and soon that it is not known. */
    {
        CLEANUP(gpu_done) struct gpu gpu = {0};
        struct drm_load load;
        drm_scan_refresh(m->scan);
        drm_scan_fill(m->scan, &m->card, false, &gpu, &load);
        assert_int_equal(load.state, READING_OK);
        assert_int_equal(gpu.process_count, 1);
    }
    {
        clock_manual_advance_ms(&m->tree.clock, 3000);
        CLEANUP(gpu_done) struct gpu gpu = {0};
        struct drm_load load;
        drm_scan_refresh(m->scan);
        drm_scan_fill(m->scan, &m->card, false, &gpu, &load);
        assert_int_not_equal(load.state, READING_OK);
    }
    sem_post(&h.go_on);
    pthread_join(thread, NULL);
    LOOK();
    assert_int_equal(load.state, READING_OK);
    assert_int_equal(gpu.process_count, 1);
    fault_clear();
    sem_destroy(&h.reached);
    sem_destroy(&h.go_on);
}

static void descriptors_of_a_sleeping_card_are_not_read(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "app");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 0, 10);
    tree_device(&m->tree, "card0", "power/runtime_status", "suspended\n");
    watch_opens();
    look_away(m);
    assert_int_equal(opened("fdinfo/5"), 0);
    tree_device(&m->tree, "card0", "power/runtime_status", "active\n");
    LOOK();
    assert_int_equal(opened("fdinfo/5"), 1);
    assert_int_equal(gpu.process_count, 1);
}

static void cards_do_not_see_each_others_clients(void **state)
{
    struct machine_and_scan *m = *state;
    tree_process(&m->tree, 42, "app");
    tree_amd_fd(&m->tree, 42, 5, amd_pci, 1, 0, 10);
    tree_amd_fd(&m->tree, 42, 6, "0000:04:00.0", 1, 0, 20);
    tree_fd(&m->tree, 42, 7, "renderD130", "pos:\t0\nflags:\t0\n"); /* a driver that says nothing */
    LOOK();
    assert_int_equal(load.clients, 1);
    assert_int_equal(load.vram_bytes, 10 * 1024);
}

static void a_machine_without_proc_says_so(void **state)
{
    struct machine_and_scan *m = *state;
    LOOK();
    assert_int_equal(load.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.processes_state, READING_UNSUPPORTED);
}

static void more_processes_than_fit_are_counted(void **state)
{
    struct machine_and_scan *m = *state;
    for (int pid = 1000; pid < 1000 + GPU_PROCESSES_MAX + 6; pid++) {
        char path[64], text[256];
        snprintf(path, sizeof path, "/proc/%d/fdinfo/5", pid);
        snprintf(text, sizeof text, "drm-driver:\tamdgpu\ndrm-client-id:\t%d\ndrm-pdev:\t%s\n", pid, amd_pci);
        tree_write(&m->tree, path, text);
        snprintf(path, sizeof path, "/proc/%d/fd/5", pid);
        tree_link(&m->tree, path, "/dev/dri/renderD128");
    }
    LOOK();
    assert_int_equal(load.clients, GPU_PROCESSES_MAX + 6);
    assert_int_equal(gpu.process_count, GPU_PROCESSES_MAX);
    assert_int_equal(gpu.processes_left_out, 6);
}

#define SCAN_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCAN_TEST(utilization_is_engine_time_over_time),
        SCAN_TEST(counters_that_never_moved_on_a_recorded_machine_are_no_load),
        SCAN_TEST(a_client_is_counted_once_over_all_processes),
        SCAN_TEST(who_only_opens_devices_for_others_does_not_own_them),
        SCAN_TEST(several_clients_of_a_process_add_up),
        SCAN_TEST(a_counter_that_falls_keeps_its_maximum),
        SCAN_TEST(cycles_are_a_share_of_all_cycles_and_engines),
        SCAN_TEST(hidden_processes_are_counted_and_kernel_threads_are_not),
        SCAN_TEST(a_pid_that_is_used_again_is_another_process),
        SCAN_TEST(a_visible_process_with_the_pid_of_a_hidden_one_is_seen_at_once),
        SCAN_TEST(a_process_that_ends_in_mid_scan_is_left_out),
        SCAN_TEST(what_ended_is_forgotten),
        SCAN_TEST(an_old_process_that_opens_the_card_is_found_at_once),
        SCAN_TEST(unchanged_processes_are_not_looked_through_again),
        SCAN_TEST(an_idle_client_that_wakes_up_is_measured_right),
        SCAN_TEST(sources_share_one_look),
        SCAN_TEST(a_read_that_hangs_stops_no_other_source),
        SCAN_TEST(descriptors_of_a_sleeping_card_are_not_read),
        SCAN_TEST(cards_do_not_see_each_others_clients),
        SCAN_TEST(a_machine_without_proc_says_so),
        SCAN_TEST(more_processes_than_fit_are_counted),
    };
    return RUN_TESTS(tests);
}
