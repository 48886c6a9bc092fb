/* SPDX-License-Identifier: Apache-2.0
 * The judgement of activity over time: what holds stays called the same, what changes is called so soon. Moments with a known
 * answer are in tests/golden/why.
 */
#include "insight/activity/activity.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"

struct course {
    struct recent past;
    int64_t at_ms, step_ms;
    uint64_t seed;
    bool deserted; /* nobody is on the GPU any more */
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
        TEST(the_worst_comes_first),
    };
    return RUN_TESTS(tests);
}
