/* SPDX-License-Identifier: Apache-2.0
 * NPUs and accelerators by the kernel's files.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "source/drm/card_source.h"
#include "source/source.h"
#include "test.h"
#include "tree.h"

#define DEVICE "/sys/class/accel/accel0/device"

static void reads_every_device_as_its_files_say(void **state)
{
    (void)state;
    static const char *const machines[] = {"npu-lunarlake-load", "npu-meteorlake-old-kernel", "npu-strix-load", "gaudi2",
                                           "tenstorrent-n150"};
    for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
        struct tree t;
        char golden[PATH_SIZE];
        tree_machine(&t, machines[i]);
        AUTO_FREE char *text = source_write(&accel_source, &t.env);
        snprintf(golden, sizeof golden, "accel-%s.txt", machines[i]);
        assert_golden(golden, text);
        tree_done(&t);
    }
}

static struct source *open_source(struct tree *t)
{
    struct source *source = NULL;
    struct error err = {0};
    struct gpu_id ids[4];
    assert_int_equal(accel_source.open(&t->env, "", &source, &err), 0);
    assert_int_equal(accel_source.list(source, ids, 4), 1);
    assert_int_equal(ids[0].kind, DEVICE_NPU);
    return source;
}

static struct gpu sample(struct tree *t, struct source *source, int64_t later_ms)
{
    struct gpu gpu = {0};
    struct error err = {0};
    clock_manual_advance_ms(&t->clock, later_ms);
    assert_int_equal(accel_source.refresh(source, GROUP_ALL, &err), 0);
    accel_source.sample(source, 0, GROUP_ALL, &gpu);
    return gpu;
}

static void load_is_busy_time_between_looks_a_second_apart(void **state)
{
    (void)state;
    struct tree t;
    tree_machine(&t, "npu-lunarlake-load");
    struct source *source = open_source(&t);
    struct gpu gpu = sample(&t, source, 1000);
    assert_int_equal(gpu.util_permille.state, READING_PENDING);
    gpu_done(&gpu);
    tree_write(&t, DEVICE "/npu_busy_time_us", "48961544\n");
    gpu = sample(&t, source, 1000);
    assert_int_equal(gpu.util_permille.state, READING_OK);
    assert_int_equal(gpu.util_permille.value, 750);
    gpu_done(&gpu);
    /* Its driver asks for a pause: in between the last value stands. */
    watch_opens();
    gpu = sample(&t, source, 200);
    assert_int_equal(gpu.util_permille.value, 750);
    assert_int_equal(opened("npu_busy_time_us"), 0);
    fault_clear();
    gpu_done(&gpu);
    gpu = sample(&t, source, 1000);
    assert_int_equal(gpu.util_permille.value, 0);
    gpu_done(&gpu);
    /* The driver was loaded again: a counter that went back is no rate. */
    tree_write(&t, DEVICE "/npu_busy_time_us", "17\n");
    gpu = sample(&t, source, 1000);
    assert_int_equal(gpu.util_permille.state, READING_PENDING);
    gpu_done(&gpu);
    accel_source.close(source);
    tree_done(&t);
}

static void one_that_sleeps_is_left_alone(void **state)
{
    (void)state;
    static const char *const untouched[] = {"npu_busy_time_us", "npu_current_frequency_mhz", "npu_memory_utilization", "fdinfo/9"};
    struct tree t;
    tree_machine(&t, "npu-lunarlake-load");
    tree_write(&t, DEVICE "/power/runtime_status", "suspended\n");
    struct source *source = open_source(&t);
    watch_opens();
    struct gpu gpu = sample(&t, source, 1000);
    assert_int_equal(gpu.state, GPU_ASLEEP);
    assert_int_equal(gpu.util_permille.state, READING_ASLEEP);
    struct drm_scan *scan = drm_scan_ref(&t.env);
    struct drm_scan_stats stats;
    drm_scan_stats(scan, &stats);
    assert_int_equal(stats.scans, 0); /* nor are processes looked through for it */
    drm_scan_unref(scan);
    for (size_t i = 0; i < ARRAY_LEN(untouched); i++)
        assert_int_equal(opened(untouched[i]), 0);
    fault_clear();
    gpu_done(&gpu);
    accel_source.close(source);
    tree_done(&t);
}

static void engine_time_of_clients_is_the_load(void **state)
{
    (void)state;
    struct tree t;
    tree_machine(&t, "npu-strix-load");
    struct source *source = open_source(&t);
    struct gpu gpu = sample(&t, source, 1000);
    gpu_done(&gpu);
    tree_write(&t, "/proc/2201/fdinfo/11",
               "drm-driver:\tamdxdna\ndrm-client-id:\t7\ndrm-pdev:\t0000:c5:00.1\ndrm-engine-amdxdna:\t9400000000 ns\n"
               "amdxdna-internal-alloc:\t1 MiB\namdxdna-external-alloc:\t3 MiB\ndrm-total-memory:\t64 MiB\n");
    gpu = sample(&t, source, 1000);
    assert_int_equal(gpu.util_permille.state, READING_OK);
    assert_int_equal(gpu.util_permille.value, 400);
    assert_int_equal(gpu.mem_used_bytes.value, (4 + 1) << 20);
    struct process *p = gpu_find_process(&gpu, 2201);
    assert_non_null(p);
    assert_int_equal(p->util_permille.value, 400);
    assert_int_equal(p->mem_bytes.value, 4 << 20);
    assert_int_equal(p->type, PROCESS_COMPUTE);
    gpu_done(&gpu);
    accel_source.close(source);
    tree_done(&t);
}

static void what_is_missing_or_odd_is_absent(void **state)
{
    (void)state;
    struct tree t;
    tree_machine(&t, "npu-lunarlake-load");
    tree_write(&t, DEVICE "/npu_busy_time_us", "soon\n");
    tree_write(&t, DEVICE "/npu_memory_utilization", "");
    tree_write(&t, DEVICE "/npu_current_frequency_mhz", "0\n");
    tree_remove(&t, DEVICE "/npu_max_frequency_mhz");
    struct source *source = open_source(&t);
    struct gpu gpu = sample(&t, source, 1000);
    assert_int_equal(gpu.state, GPU_OK);
    assert_int_not_equal(gpu.util_permille.state, READING_OK);
    assert_int_equal(gpu.mem_used_bytes.value, 436207616); /* what its clients hold */
    assert_int_equal(gpu.clock_graphics_khz.state, READING_ASLEEP);
    assert_int_equal(gpu.clock_graphics_max_khz.state, READING_UNSUPPORTED);
    gpu_done(&gpu);
    tree_remove(&t, "/sys/class/accel/accel0");
    assert_true(accel_source.changed(source));
    struct gpu_id ids[4];
    assert_int_equal(accel_source.list(source, ids, 4), 1); /* it keeps its place */
    gpu = sample(&t, source, 1000);
    assert_int_equal(gpu.state, GPU_LOST);
    gpu_done(&gpu);
    accel_source.close(source);
    tree_done(&t);
}

static void pids_that_are_none_are_left_out(void **state)
{
    (void)state;
    struct gpu gpu = {0};
    card_take_pids(STR("\n12\nx\n-3\n0\n99999999999\n12\n 13 \n"), &gpu);
    assert_int_equal(gpu.process_count, 2);
    assert_int_equal(gpu.processes_state, READING_OK);
    assert_non_null(gpu_find_process(&gpu, 13));
    gpu_done(&gpu);
}

static void gpus_and_accelerators_stay_apart(void **state)
{
    (void)state;
    struct tree t;
    struct source *source = NULL;
    struct error err = {0};
    tree_machine(&t, "npu-lunarlake-load");
    tree_card(&t, "card0", "xe", "0000:00:02.0", "8086:64A0", 128);
    assert_int_equal(drm_source.open(&t.env, "all", &source, &err), 0);
    struct gpu_id ids[4];
    assert_int_equal(drm_source.list(source, ids, 4), 1);
    assert_string_equal(ids[0].pci_address, "0000:00:02.0");
    assert_int_equal(ids[0].kind, DEVICE_GPU);
    drm_source.close(source);
    tree_done(&t);
    tree_machine(&t, "no-gpu");
    assert_int_equal(accel_source.open(&t.env, "", &source, &err), -ENODEV);
    assert_int_equal(accel_source.open(&t.env, "all", &source, &err), -EINVAL);
    tree_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_every_device_as_its_files_say), TEST(load_is_busy_time_between_looks_a_second_apart),
        TEST(one_that_sleeps_is_left_alone),       TEST(engine_time_of_clients_is_the_load),
        TEST(what_is_missing_or_odd_is_absent),    TEST(pids_that_are_none_are_left_out),
        TEST(gpus_and_accelerators_stay_apart),
    };
    return RUN_TESTS(tests);
}
