/* SPDX-License-Identifier: Apache-2.0
 * The limits of a process over time: shares, changes, and the end of a process.
 */
#include "insight/verdict/judge.h"

#include "base/cleanup.h"
#include "test.h"

struct second {
    int32_t pid;
    int64_t start_key;
    int64_t util, dram; /* permille */
    bool sleeps;
};

/* One snapshot of one GPU with one process; the caller's. */
static struct snapshot *snapshot_at(int64_t second, const struct second *of)
{
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    s->taken_at.ms = 1000000 + second * 1000;
    s->interval_s = 1;
    struct gpu *gpu = &s->gpus[0];
    gpu->processes_state = READING_OK;
    gpu->util_permille = gpu->graphics_active_permille = gpu->sm_active_permille = reading_ok(of->util);
    gpu->dram_active_permille = reading_ok(of->dram);
    struct process *p = gpu_add_process(gpu, of->pid);
    p->start_key = of->start_key;
    struct host_evidence *h = process_evidence(p);
    h->state = READING_OK;
    h->main_sleep_permille = reading_ok(of->sleeps ? 1000 : 0);
    h->main_running_permille = reading_ok(of->sleeps ? 0 : 1000);
    return s;
}

static struct process_limit limit_after(struct limit_memory *m, int64_t second, const struct second *of)
{
    AUTO_SNAPSHOT const struct snapshot *s = snapshot_at(second, of);
    limit_memory_judge(m, (struct snapshot *)s);
    return s->gpus[0].processes[0].limit;
}

static const struct second copies = {.pid = 42, .start_key = 1, .util = 1000, .dram = 850};
static const struct second prepares = {.pid = 42, .start_key = 1, .util = 150, .dram = 10};
static const struct second sleeps = {.pid = 43, .start_key = 2, .sleeps = true};

static void a_change_shows_within_three_seconds(void **state)
{
    (void)state;
    struct limit_memory *m = limit_memory_new();
    int64_t t = 0;
    for (; t < 60; t++)
        assert_int_equal(limit_after(m, t, &copies).code, LIMIT_BANDWIDTH);
    int64_t change = t;
    while (limit_after(m, t, &prepares).code != LIMIT_HOST_CPU)
        t++;
    assert_in_range(t - change, 1, 3); /* one look is no change */
    struct process_limit limit = limit_after(m, t + 1, &prepares);
    assert_int_equal(limit.share_permille, 1000);
    assert_in_range(limit.over_ms, 1000, 4000); /* of the time since */
    assert_int_equal(limit.second, LIMIT_UNJUDGED);
    limit_memory_free(m);
}

/* It loads its libraries for half a minute, and then keeps the GPU busy. */
static void the_start_of_a_program_is_over_when_it_works(void **state)
{
    (void)state;
    struct limit_memory *m = limit_memory_new();
    static const struct second loads = {.pid = 42, .start_key = 1};
    for (int64_t t = 0; t < 30; t++)
        assert_int_equal(limit_after(m, t, &loads).code, LIMIT_HOST_CPU);
    for (int64_t t = 30; t < 33; t++)
        limit_after(m, t, &copies);
    struct process_limit limit = limit_after(m, 33, &copies);
    assert_int_equal(limit.code, LIMIT_BANDWIDTH);
    assert_int_equal(limit.second, LIMIT_UNJUDGED);
    limit_memory_free(m);
}

static void what_comes_and_goes_has_a_share_of_the_time(void **state)
{
    (void)state;
    struct limit_memory *m = limit_memory_new();
    struct process_limit limit = {0};
    for (int64_t t = 0; t < 40; t++)
        limit = limit_after(m, t, t % 5 < 3 ? &copies : &prepares);
    assert_int_equal(limit.code, LIMIT_BANDWIDTH);
    assert_in_range(limit.share_permille, 550, 700);
    assert_int_equal(limit.second, LIMIT_HOST_CPU);
    assert_in_range(limit.second_permille, 300, 450);
    assert_in_range(limit.over_ms, 9000, 11000);
    limit_memory_free(m);
}

static void a_program_leaves_nothing_in_the_next_one(void **state)
{
    (void)state;
    struct limit_memory *m = limit_memory_new();
    for (int64_t t = 0; t < 60; t++)
        limit_after(m, t, &copies);
    /* The same PID at once is another program. */
    struct second again = {.pid = copies.pid, .start_key = 9, .sleeps = true};
    assert_int_equal(limit_after(m, 60, &again).code, LIMIT_NONE);
    for (int64_t t = 61; t < 120; t++)
        limit_after(m, t, &copies);
    struct process_limit limit = limit_after(m, 120, &sleeps);
    assert_int_equal(limit.code, LIMIT_NONE);
    assert_int_equal(limit.share_permille, 1000);
    assert_int_equal(limit.over_ms, 0);
    limit_memory_free(m);
}

static void a_gap_begins_anew(void **state)
{
    (void)state;
    struct limit_memory *m = limit_memory_new();
    for (int64_t t = 0; t < 10; t++)
        limit_after(m, t, &copies);
    struct process_limit limit = limit_after(m, 100, &prepares);
    assert_int_equal(limit.code, LIMIT_HOST_CPU);
    assert_int_equal(limit.over_ms, 0);
    limit_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_change_shows_within_three_seconds),
        TEST(the_start_of_a_program_is_over_when_it_works),
        TEST(what_comes_and_goes_has_a_share_of_the_time),
        TEST(a_program_leaves_nothing_in_the_next_one),
        TEST(a_gap_begins_anew),
    };
    return RUN_TESTS(tests);
}
