/* SPDX-License-Identifier: Apache-2.0
 * The judgement of activity over time: what holds stays called the same, what changes is called so soon. Moments with a known
 * answer are in tests/golden/why.
 */
#include "insight/facts/facts.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"

struct course {
    struct recent past;
    int64_t at_ms, step_ms;
    uint64_t seed;
    bool deserted; /* no process is on the GPU any more */
};

static int64_t roll(struct course *c, int64_t sides)
{
    c->seed ^= c->seed << 13;
    c->seed ^= c->seed >> 7;
    c->seed ^= c->seed << 17;
    return (int64_t)(c->seed % (uint64_t)sides);
}

static struct course course_begin(int64_t step_ms, uint64_t seed)
{
    return (struct course){.at_ms = 1794704523000, .step_ms = step_ms, .seed = 0x9e3779b97f4a7c15u ^ (seed << 20)};
}

/* The next sample of a GPU with this load, as the engine judges and remembers it. */
static enum activity_code sample(struct course *c, int64_t permille, int64_t power_mw)
{
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    s->taken_at.ms = c->at_ms += c->step_ms;
    struct gpu *gpu = &s->gpus[0];
    snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-1");
    gpu->util_permille = reading_ok(permille < 0 ? 0 : permille > 1000 ? 1000 : permille);
    gpu->power_mw = reading_ok(power_mw);
    gpu->power_limit_mw = reading_ok(450000);
    gpu->processes_state = READING_OK;
    if (!c->deserted)
        gpu_add_process(gpu, 4242);
    activity_fill(s, &c->past);
    recent_add(&c->past, NULL, s);
    enum activity_code code = gpu->activity.code;
    snapshot_unref(s);
    return code;
}

static void a_constant_load_does_not_flip_its_word(void **state)
{
    (void)state;
    static const int64_t steps[] = {1000, 2000, 5000};
    for (size_t k = 0; k < ARRAY_LEN(steps); k++)
        for (int64_t load = 0; load <= 1000; load += 5) {
            struct course c = course_begin(steps[k], (uint64_t)load + 1);
            enum activity_code word = ACTIVITY_UNKNOWN;
            unsigned changes = 0;
            for (int64_t ms = 0; ms < 600000; ms += steps[k]) {
                enum activity_code code = sample(&c, load + roll(&c, 31) - 15, 30000);
                changes += ms > 60000 && code != word;
                /* A load right at a threshold may pass it once; it does not come back. */
                if (changes > 1)
                    fail_msg("%lld permille every %lld ms: %s, then %s again", (long long)load, (long long)steps[k],
                             activity_code_name(word), activity_code_name(code));
                word = code;
            }
            recent_done(&c.past);
        }
}

static void work_that_begins_counts_within_ten_seconds(void **state)
{
    (void)state;
    static const int64_t steps[] = {1000, 5000};
    for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
        struct course c = course_begin(steps[k], 7);
        for (int64_t ms = 0; ms < 120000; ms += steps[k])
            assert_int_equal(sample(&c, 0, 20000), ACTIVITY_IDLE);
        enum activity_code code = ACTIVITY_UNKNOWN;
        for (int64_t ms = 0; ms < 10000; ms += steps[k])
            code = sample(&c, 980, 400000);
        assert_int_equal(code, ACTIVITY_BUSY);
        recent_done(&c.past);
    }
}

static void work_that_ends_is_over_within_twenty_seconds(void **state)
{
    (void)state;
    static const int64_t steps[] = {1000, 5000};
    for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
        struct course c = course_begin(steps[k], 9);
        enum activity_code code = ACTIVITY_UNKNOWN;
        for (int64_t ms = 0; ms < 120000; ms += steps[k])
            code = sample(&c, 980, 400000);
        assert_int_equal(code, ACTIVITY_SATURATED);
        for (int64_t ms = 0; ms < 20000; ms += steps[k])
            code = sample(&c, 0, 25000);
        assert_int_equal(code, ACTIVITY_IDLE);
        recent_done(&c.past);
    }
}

static void work_whose_process_has_gone_is_over_at_once(void **state)
{
    (void)state;
    struct course c = course_begin(1000, 5);
    for (int i = 0; i < 60; i++)
        sample(&c, 990, 430000);
    assert_int_equal(sample(&c, 0, 60000), ACTIVITY_BUSY); /* a pause, for all we know */
    c.deserted = true;
    assert_int_equal(sample(&c, 0, 30000), ACTIVITY_IDLE);
    recent_done(&c.past);
}

static void work_in_bursts_is_never_idle(void **state)
{
    (void)state;
    for (int64_t period = 3; period <= 20; period++) {
        struct course c = course_begin(1000, (uint64_t)period);
        for (int64_t second = 0; second < 300; second++) {
            bool works = second % period == 0;
            enum activity_code code = sample(&c, works ? 920 : 0, works ? 250000 : 112000);
            if (second > 60 && code != ACTIVITY_LIGHTLY_LOADED && code != ACTIVITY_BUSY)
                fail_msg("a burst every %lld s: %s", (long long)period, activity_code_name(code));
        }
        recent_done(&c.past);
    }
}

/* A program on the GPU, as a driver lists it. */
struct program {
    int32_t pid;
    int64_t start_key, began_ms, share; /* share in permille; -1 unknown */
    int64_t mem_bytes, cpu_permille;
};

/* One GPU and the programs on it, second by second, as the engine follows, judges and remembers it. */
struct host_course {
    struct recent past;
    const struct snapshot *last;
    int64_t at_ms;
};

static const struct gpu *look(struct host_course *c, int64_t permille, const struct program *programs, size_t count)
{
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    s->taken_at.ms = c->at_ms += 1000;
    struct gpu *gpu = &s->gpus[0];
    snprintf(gpu->id.uuid, sizeof gpu->id.uuid, "GPU-1");
    gpu->util_permille = reading_ok(permille);
    gpu->power_mw = reading_ok(30000);
    gpu->power_limit_mw = reading_ok(450000);
    gpu->processes_state = READING_OK;
    int64_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct process *p = gpu_add_process(gpu, programs[i].pid);
        p->type = PROCESS_COMPUTE;
        p->start_key = programs[i].start_key;
        p->started_at.ms = programs[i].began_ms;
        p->cpu_permille = reading_ok(programs[i].cpu_permille);
        p->mem_bytes = reading_ok(programs[i].mem_bytes);
        if (programs[i].share >= 0)
            p->util_permille = reading_ok(programs[i].share);
        used += programs[i].mem_bytes;
    }
    gpu->mem_used_bytes = reading_ok(used);
    recent_follow(&c->past, c->last, s);
    activity_fill(s, &c->past);
    recent_add_points(&c->past, NULL, s);
    snapshot_unref(c->last);
    c->last = s;
    return gpu;
}

static void end(struct host_course *c)
{
    recent_done(&c->past);
    snapshot_unref(c->last);
}

enum { BEGAN = 1000 };

/* The work of the one that has ended came in bursts; a driver's reading may reach over its end by a second. */
static void a_program_does_not_inherit_the_work_of_the_one_before_it(void **state)
{
    (void)state;
    for (int known = 0; known <= 1; known++)
        for (int64_t share = 0; share <= 40; share += 40) {
            struct host_course c = {.at_ms = 1794704523000};
            const struct program desktop = {.pid = 3, .start_key = 1, .began_ms = BEGAN, .share = 0};
            for (int i = 0; i < 100; i++) {
                int64_t load = i % 10 < 6 ? 900 : 0;
                look(&c, load, (struct program[]){desktop, {7, 10, BEGAN, known ? load : -1, 1 << 20, 0}}, 2);
            }
            look(&c, 420, (struct program[]){desktop, {8, 20, c.at_ms, 0, 1 << 20, 0}}, 2);
            for (int i = 0; i < 60; i++) {
                const struct gpu *gpu = look(&c, share, (struct program[]){desktop, {8, 20, c.at_ms, share, 1 << 20, 0}}, 2);
                assert_false(gpu->activity.bursts);
                assert_true(gpu->activity.load_permille.value <= share);
                assert_int_equal(gpu->activity.code, ACTIVITY_IDLE);
            }
            end(&c);
        }
}

static void a_program_that_goes_on_is_judged_by_what_it_does_alone(void **state)
{
    (void)state;
    struct host_course c = {.at_ms = 1794704523000};
    for (int i = 0; i < 100; i++)
        look(&c, 970, (struct program[]){{7, 10, BEGAN, 900, 0, 0}, {8, 20, BEGAN, 70, 0, 0}}, 2);
    look(&c, 500, (struct program[]){{8, 20, BEGAN, 70, 0, 0}}, 1);
    const struct gpu *gpu = look(&c, 100, (struct program[]){{8, 20, BEGAN, 70, 0, 0}}, 1);
    assert_int_equal(gpu->activity.load_permille.value, 100);
    assert_int_equal(gpu->activity.code, ACTIVITY_LIGHTLY_LOADED);
    end(&c);
}

/* What the driver kept of the seconds before the first look may be of a program that was never seen. */
static void readings_from_before_a_program_began_are_not_its_own(void **state)
{
    (void)state;
    struct host_course c = {.at_ms = 1794704523000};
    for (int i = 0; i < 14; i++)
        look(&c, 1000, NULL, 0);
    const struct gpu *gpu = look(&c, 0, (struct program[]){{8, 20, c.at_ms, 0, 1 << 20, 0}}, 1);
    assert_int_equal(gpu->activity.code, ACTIVITY_IDLE);
    end(&c);
}

static void one_that_ended_long_after_its_work_changes_nothing(void **state)
{
    (void)state;
    struct host_course c = {.at_ms = 1794704523000};
    const struct gpu *gpu = NULL;
    for (int i = 0; i < 300; i++)
        gpu = look(&c, i % 10 < 6 ? 900 : 0,
                   (struct program[]){{8, 20, BEGAN, i % 10 < 6 ? 900 : 0, 0, 0}, {7, 10, BEGAN, i < 20 ? 100 : 0, 0, 0}},
                   i < 290 ? 2 : 1);
    assert_true(gpu->activity.bursts);
    end(&c);
}

static void memory_that_another_program_takes_is_not_loading(void **state)
{
    (void)state;
    struct host_course c = {.at_ms = 1794704523000};
    const struct gpu *gpu = NULL;
    for (int64_t i = 0; i < 20; i++)
        gpu = look(&c, 0, (struct program[]){{7, 10, BEGAN, 0, i << 28, 900}, {8, 20, BEGAN, 0, 8LL << 30, 900}}, 2);
    assert_int_equal(gpu_find_process(gpu, 7)->activity, PROCESS_LOADING);
    assert_int_equal(gpu_find_process(gpu, 8)->activity, PROCESS_HOLDING);
    end(&c);
}

static void an_ended_program_has_the_mean_of_its_own_samples(void **state)
{
    (void)state;
    struct host_course c = {.at_ms = 1794704523000};
    for (int i = 0; i < 10; i++)
        look(&c, 800, (struct program[]){{7, 10, BEGAN, i < 9 ? 800 : 0, 0, 0}}, 1);
    look(&c, 0, NULL, 0);
    assert_int_equal(c.past.ended_count, 1);
    assert_int_equal(c.past.ended[0].mean_util_permille.value, 720);
    end(&c);
}

static void the_worst_comes_first(void **state)
{
    (void)state;
    const struct activity in_order[] = {
        {.code = ACTIVITY_LOST},
        {.code = ACTIVITY_FAILING},
        {.code = ACTIVITY_BUSY, .throttled_by = THROTTLE_SW_THERMAL},
        {.code = ACTIVITY_IDLE, .symptoms = 1u << SYMPTOM_LOUD},
        {.code = ACTIVITY_SATURATED, .symptoms = 1u << SYMPTOM_HOT},
        {.code = ACTIVITY_SATURATED},
        {.code = ACTIVITY_BUSY},
        {.code = ACTIVITY_LIGHTLY_LOADED},
        {.code = ACTIVITY_KEPT_FROM_IDLING},
        {.code = ACTIVITY_IDLE},
        {.code = ACTIVITY_ASLEEP},
    };
    for (size_t i = 1; i < ARRAY_LEN(in_order); i++)
        assert_true(activity_rank(&in_order[i - 1]) < activity_rank(&in_order[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_constant_load_does_not_flip_its_word),
        TEST(work_that_begins_counts_within_ten_seconds),
        TEST(work_that_ends_is_over_within_twenty_seconds),
        TEST(work_whose_process_has_gone_is_over_at_once),
        TEST(work_in_bursts_is_never_idle),
        TEST(a_program_does_not_inherit_the_work_of_the_one_before_it),
        TEST(a_program_that_goes_on_is_judged_by_what_it_does_alone),
        TEST(readings_from_before_a_program_began_are_not_its_own),
        TEST(one_that_ended_long_after_its_work_changes_nothing),
        TEST(memory_that_another_program_takes_is_not_loading),
        TEST(an_ended_program_has_the_mean_of_its_own_samples),
        TEST(the_worst_comes_first),
    };
    return RUN_TESTS(tests);
}
