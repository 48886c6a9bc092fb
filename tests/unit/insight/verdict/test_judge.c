/* SPDX-License-Identifier: Apache-2.0
 * The judge: the same input gives the same verdict, and what it remembers reaches over samples.
 */
#include "insight/verdict/judge.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/finding_code.h"
#include "source/sim/sim.h"
#include "test.h"

#include "sim_snapshot.h"

static void assert_same(const struct verdict *a, const struct verdict *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct finding *x = &a->findings[i], *y = &b->findings[i];
        assert_int_equal(x->code, y->code);
        assert_int_equal(x->severity, y->severity);
        assert_int_equal(x->gpu_index, y->gpu_index);
        assert_int_equal(x->pid, y->pid);
        assert_int_equal(x->since.ms, y->since.ms);
        assert_string_equal(x->headline, y->headline);
    }
}

static void two_judges_of_the_same_samples_agree(void **state)
{
    (void)state;
    static const char *const scenarios[] = {"scenario=overheat,start=60", "scenario=gpu-lost,start=0", "scenario=bursty",
                                            "scenario=ecc-errors,start=0"};
    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++) {
        struct sim_machine m;
        struct judge *one = judge_new(), *other = judge_new();
        sim_machine_start(&m, scenarios[i]);
        for (int s = 0; s < 180; s += 2) {
            AUTO_SNAPSHOT const struct snapshot *again = NULL;
            struct snapshot *now = sim_machine_sample(&m, GROUP_ALL);
            struct snapshot *copy = snapshot_copy(now);
            judge_take(one, now);
            judge_take(other, copy);
            assert_same(now->verdict, copy->verdict);
            again = copy;
            snapshot_unref(now);
            clock_manual_advance_ms(&m.clock, 2000);
        }
        judge_free(one);
        judge_free(other);
        sim_machine_stop(&m);
    }
}

struct course {
    struct judge *j;
    int64_t at_ms;
};

/* A sample `after_ms` later, throttling for heat or not. Since when it does, as the verdict has it; 0: it does not. */
static int64_t since(struct course *c, int64_t after_ms, bool hot)
{
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    s->taken_at.ms = c->at_ms += after_ms;
    s->taken.ns = s->taken_at.ms * 1000000;
    s->gpus[0].processes_state = READING_OK;
    s->gpus[0].util_permille = reading_ok(980);
    s->gpus[0].temp_mdegc = reading_ok(hot ? 95000 : 60000);
    s->gpus[0].throttle_bits = reading_ok(hot ? THROTTLE_HW_THERMAL : 0);
    judge_take(c->j, s);
    const struct finding *f = verdict_find(s->verdict, 0, FINDING_HEAT_LIMIT);
    int64_t ms = f ? f->since.ms : 0;
    snapshot_unref(s);
    return ms;
}

static void a_finding_keeps_its_beginning_until_it_is_gone(void **state)
{
    (void)state;
    struct course c = {judge_new(), 1800000000000};
    int64_t first = since(&c, 1000, true), again;
    assert_int_equal(first, c.at_ms);
    for (int i = 0; i < 20; i++)
        assert_int_equal(since(&c, 5000, true), first);
    assert_int_equal(since(&c, 5000, false), 0);
    again = since(&c, 5000, true);
    assert_int_equal(again, c.at_ms); /* anew */
    judge_free(c.j);
}

/* A second later: throttled by `bits` or not, and for heat so long in all as its driver has counted. The finding of that code, or
 * one with severity info that is none. */
static struct finding second(struct course *c, int64_t bits, int64_t heat_us, enum gpu_state gpu, finding_code code)
{
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    s->taken_at.ms = c->at_ms += 1000;
    s->taken.ns = s->taken_at.ms * 1000000;
    s->interval_s = 1;
    s->gpus[0].state = gpu;
    s->gpus[0].processes_state = READING_OK;
    s->gpus[0].util_permille = reading_ok(980);
    s->gpus[0].temp_mdegc = reading_ok(heat_us ? 87000 : 60000);
    s->gpus[0].throttle_bits = reading_ok(bits);
    if (heat_us)
        s->gpus[0].throttle_thermal_us = reading_ok(heat_us);
    judge_take(c->j, s);
    const struct finding *f = verdict_find(s->verdict, 0, code);
    struct finding found = f ? *f : (struct finding){.code = FINDING_CODE_COUNT};
    snapshot_unref(s);
    return found;
}

static void what_comes_and_goes_is_there_in_between(void **state)
{
    (void)state;
    struct course c = {judge_new(), 1800000000000};
    struct finding f = {0};
    for (int i = 0; i < 10; i++)
        f = second(&c, i == 3 ? THROTTLE_POWER_BRAKE : 0, 0, GPU_OK, FINDING_SLOWDOWN);
    assert_int_equal(f.code, FINDING_CODE_COUNT); /* once is over when it is over */
    for (int i = 0; i < 290; i++)
        f = second(&c, i % 3 == 0 ? THROTTLE_POWER_BRAKE : 0, 0, GPU_OK, FINDING_SLOWDOWN);
    assert_int_equal(f.code, FINDING_SLOWDOWN); /* not in this second */
    assert_int_equal(f.severity, SEVERITY_WARNING);
    assert_int_equal(f.tense, TENSE_COMES_AND_GOES);
    assert_in_range(f.share_minute_permille.value, 320, 350);
    assert_in_range(f.share_ten_permille.value, 310, 350);
    assert_string_equal(f.headline, "GPU 0 is throttling (power brake), 33% of the last 5m");
    assert_in_range(finding_held_ms(&f, (struct wall){c.at_ms}), 85000, 105000);
    for (int i = 0; i < 40; i++)
        f = second(&c, 0, 0, GPU_OK, FINDING_SLOWDOWN);
    assert_int_equal(f.tense, TENSE_COMES_AND_GOES);
    for (int i = 0; i < 30; i++)
        f = second(&c, 0, 0, GPU_OK, FINDING_SLOWDOWN);
    assert_int_equal(f.code, FINDING_CODE_COUNT); /* it has not come back */
    for (int i = 0; i < 90; i++)
        f = second(&c, THROTTLE_POWER_BRAKE, 0, GPU_OK, FINDING_SLOWDOWN);
    assert_int_equal(f.tense, TENSE_NOW); /* it has not gone for a minute */
    assert_string_equal(f.headline, "GPU 0 is throttling (power brake)");
    judge_free(c.j);
}

static void one_second_in_ten_minutes_is_no_finding(void **state)
{
    (void)state;
    struct course c = {judge_new(), 1800000000000};
    for (int i = 0; i < 1300; i++)
        assert_int_equal(second(&c, i % 590 == 5 ? THROTTLE_POWER_BRAKE : 0, 0, GPU_OK, FINDING_SLOWDOWN).code == FINDING_SLOWDOWN,
                         i % 590 == 5);
    judge_free(c.j);
}

static void a_driver_that_counts_throttling_is_believed(void **state)
{
    (void)state;
    struct course c = {judge_new(), 1800000000000};
    struct finding f = {0};
    int64_t us = 5000000;
    for (int i = 0; i < 120; i++)
        f = second(&c, 0, us, GPU_OK, FINDING_HEAT_LIMIT);
    assert_int_equal(f.code, FINDING_CODE_COUNT);
    for (int i = 0; i < 300; i++)
        f = second(&c, 0, us += 250000, GPU_OK, FINDING_HEAT_LIMIT); /* between any two samples */
    assert_int_equal(f.code, FINDING_HEAT_LIMIT);
    assert_int_equal(f.tense, TENSE_COMES_AND_GOES);
    assert_in_range(f.share_minute_permille.value, 240, 260);
    assert_non_null(strstr(f.headline, "GPU 0 is throttling for heat, 1"));
    judge_free(c.j);
}

/* For longer than counts are kept; what one GPU counts is no other's. */
static void the_last_ten_minutes_are_counted_for_each_gpu(void **state)
{
    (void)state;
    struct judge *j = judge_new();
    for (int64_t i = 0; i < 1500; i++) {
        struct snapshot *s = snapshot_new(2);
        assert_non_null(s);
        s->taken_at.ms = 1800000000000 + i * 1000;
        s->taken.ns = s->taken_at.ms * 1000000;
        s->interval_s = 1;
        for (int gpu = 0; gpu < 2; gpu++) {
            s->gpus[gpu].index = gpu;
            s->gpus[gpu].temp_mdegc = reading_ok(87000);
            s->gpus[gpu].throttle_thermal_us = reading_ok(5000000 + i * (gpu ? 500000 : 250000));
        }
        judge_take(j, s);
        for (int gpu = 0; gpu < 2 && i > 700; gpu++) {
            const struct finding *f = verdict_find(s->verdict, gpu, FINDING_HEAT_LIMIT);
            assert_non_null(f);
            assert_int_equal(f->share_ten_permille.value, gpu ? 500 : 250);
        }
        snapshot_unref(s);
    }
    judge_free(j);
}

static void what_was_lost_and_came_back_was(void **state)
{
    (void)state;
    struct course c = {judge_new(), 1800000000000};
    for (int i = 0; i < 5; i++)
        second(&c, 0, 0, GPU_OK, FINDING_LOST);
    struct finding f = second(&c, 0, 0, GPU_LOST, FINDING_LOST);
    assert_int_equal(f.tense, TENSE_NOW);
    assert_true(finding_forbids(&f));
    assert_string_equal(finding_label(&f), "LOST");
    int64_t end = c.at_ms;
    for (int i = 0; i < 20; i++)
        f = second(&c, 0, 0, GPU_OK, FINDING_LOST);
    assert_int_equal(f.code, FINDING_LOST);
    assert_int_equal(f.tense, TENSE_WAS);
    assert_int_equal(f.until.ms, end);
    assert_false(finding_forbids(&f));
    assert_string_equal(finding_label(&f), "");
    f = second(&c, 0, 0, GPU_LOST, FINDING_LOST);
    assert_int_equal(f.tense, TENSE_NOW);
    assert_int_equal(f.until.ms, 0);
    judge_free(c.j);
}

static void the_kernel_log_is_named_where_it_was_not_read(void **state)
{
    (void)state;
    for (int unread = 0; unread < 2; unread++) {
        struct judge *j = judge_new();
        struct snapshot *s = snapshot_new(2);
        assert_true(j && s);
        s->taken_at.ms = 1800000000000;
        s->gpus[1].index = 1;
        s->gpus[1].simulated = true; /* this host's log is not about it */
        judge_set_log_unread(j, unread);
        judge_take(j, s);
        assert_int_equal(strstr(verdict_looked(s->verdict, 0)->missing, "kernel log") != NULL, unread);
        assert_null(strstr(verdict_looked(s->verdict, 1)->missing, "kernel log"));
        snapshot_unref(s);
        judge_free(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_judges_of_the_same_samples_agree),          TEST(a_finding_keeps_its_beginning_until_it_is_gone),
        TEST(what_comes_and_goes_is_there_in_between),       TEST(one_second_in_ten_minutes_is_no_finding),
        TEST(a_driver_that_counts_throttling_is_believed),   TEST(what_was_lost_and_came_back_was),
        TEST(the_last_ten_minutes_are_counted_for_each_gpu), TEST(the_kernel_log_is_named_where_it_was_not_read),
    };
    return RUN_TESTS(tests);
}
