/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/attribution.h"

#include "test.h"

static struct process *add(struct gpu *gpu, int pid, int load_permille, int64_t mib)
{
    struct process *p = gpu_add_process(gpu, pid);
    if (load_permille >= 0)
        p->util_permille = reading_ok(load_permille);
    if (mib >= 0)
        p->mem_bytes = reading_ok(mib << 20);
    return p;
}

static int64_t sum_mw(const struct gpu *gpu)
{
    int64_t sum = 0;
    for (size_t i = 0; i < gpu->process_count; i++)
        sum += reading_or(gpu->processes[i].power_mw, 0);
    return sum;
}

static void shares_follow_the_load_and_add_up(void **state)
{
    (void)state;
    struct gpu gpu = {.power_mw = reading_ok(280001)};
    add(&gpu, 1, 333, 100);
    add(&gpu, 2, 333, 9000);
    add(&gpu, 3, 333, 1);
    add(&gpu, 4, 0, 5000);
    attribute_power(&gpu);
    assert_int_equal(sum_mw(&gpu), 280001);
    assert_int_equal(gpu.processes[3].power_mw.value, 0);
    assert_int_equal(gpu.processes[0].power_basis, POWER_BASIS_UTILIZATION);
    gpu_done(&gpu);
}

static void without_loads_memory_decides(void **state)
{
    (void)state;
    struct gpu gpu = {.power_mw = reading_ok(90000)};
    add(&gpu, 1, -1, 1000);
    add(&gpu, 2, -1, 2000);
    attribute_power(&gpu);
    assert_int_equal(gpu.processes[0].power_mw.value, 30000);
    assert_int_equal(gpu.processes[1].power_mw.value, 60000);
    assert_int_equal(gpu.processes[1].power_basis, POWER_BASIS_MEMORY);
    gpu_done(&gpu);
}

static void a_lonely_process_gets_all_and_unknown_power_stays_unknown(void **state)
{
    (void)state;
    struct gpu gpu = {.power_mw = reading_ok(50000)};
    add(&gpu, 1, -1, -1);
    attribute_power(&gpu);
    assert_int_equal(gpu.processes[0].power_mw.value, 50000);
    gpu.power_mw = reading_absent(READING_DENIED);
    attribute_power(&gpu);
    assert_int_equal(gpu.processes[0].power_mw.state, READING_DENIED);
    gpu_done(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shares_follow_the_load_and_add_up),
        TEST(without_loads_memory_decides),
        TEST(a_lonely_process_gets_all_and_unknown_power_stays_unknown),
    };
    return RUN_TESTS(tests);
}
