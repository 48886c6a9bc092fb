/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot.h"

#include "base/cleanup.h"
#include "test.h"

/* The garbage that drivers, firmware and files have: all bits set in 16, 32 and 64 bits, the smallest and the largest numbers. */
static const int64_t garbage[] = {
    INT64_MIN, INT64_MIN + 1, INT32_MIN, (int64_t)INT32_MIN * 1000, INT64_MAX, UINT32_MAX * 1000LL * 1000LL};

static void no_metric_takes_garbage(void **state)
{
    (void)state;
    for (size_t g = 0; g < ARRAY_LEN(garbage); g++) {
        struct gpu gpu = {0};
        struct host host = {0};
        struct process *p = gpu_add_process(&gpu, 1);
        assert_non_null(p);
        for (size_t i = 0; i < METRIC_COUNT; i++)
            gpu.metric[i] = reading_ok(garbage[g]);
        for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
            p->metric[i] = reading_ok(garbage[g]);
        for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
            host.metric[i] = reading_ok(garbage[g]);
        gpu_drop_implausible(&gpu);
        host_drop_implausible(&host);
        bool large = garbage[g] > 0 && garbage[g] < INT64_MAX; /* bytes a second, energy and tokens may be that large */
        for (size_t i = 0; i < METRIC_COUNT && !large; i++)
            if (gpu.metric[i].state != READING_IMPLAUSIBLE)
                fail_msg("%s takes %lld", metric_table[i].field, (long long)garbage[g]);
        for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
            if (p->metric[i].state != READING_IMPLAUSIBLE && (!large || i < PROCESS_METRIC_tokens_milli))
                fail_msg("%s takes %lld", process_metric_table[i].field, (long long)garbage[g]);
        for (size_t i = 0; i < HOST_METRIC_COUNT && garbage[g] <= 0; i++)
            assert_int_equal(host.metric[i].state, READING_IMPLAUSIBLE);
        gpu_done(&gpu);
    }
}

static void what_is_usual_stays_and_nothing_is_counted(void **state)
{
    (void)state;
    struct gpu gpu = {.util_permille = reading_ok(1000),
                      .temp_mdegc = reading_ok(-5000),
                      .power_mw = reading_ok(1200000),
                      .mem_total_bytes = reading_ok(288LL << 30),
                      .mem_used_bytes = reading_ok(288LL << 30),
                      .clock_memory_khz = reading_ok(14001000),
                      .fan_permille = reading_ok(1040),
                      .energy_mj = reading_ok(900000000000000),
                      .ecc_corrected = reading_ok(1000000000)};
    assert_int_equal(gpu_drop_implausible(&gpu), 0);
    assert_int_equal(gpu.temp_mdegc.value, -5000);
}

static void a_part_is_no_more_than_the_whole(void **state)
{
    (void)state;
    struct gpu gpu = {.mem_total_bytes = reading_ok(16LL << 30), .mem_used_bytes = reading_ok(18LL << 30)};
    struct process *p = gpu_add_process(&gpu, 1);
    p->mem_bytes = reading_ok(20LL << 30);
    assert_int_equal(gpu_drop_implausible(&gpu), 2);
    assert_int_equal(gpu.mem_used_bytes.state, READING_IMPLAUSIBLE);
    assert_int_equal(p->mem_bytes.state, READING_IMPLAUSIBLE);
    /* The host's memory is within reach of graphics on the processor. */
    gpu.gtt_total_bytes = reading_ok(8LL << 30);
    p->mem_bytes = reading_ok(20LL << 30);
    gpu_drop_implausible(&gpu);
    assert_int_equal(p->mem_bytes.state, READING_OK);
    gpu_done(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_metric_takes_garbage),
        TEST(what_is_usual_stays_and_nothing_is_counted),
        TEST(a_part_is_no_more_than_the_whole),
    };
    return RUN_TESTS(tests);
}
