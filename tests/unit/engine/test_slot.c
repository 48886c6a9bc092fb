/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/internal.h"

#include "test.h"

static struct mono at(int64_t ms)
{
    return (struct mono){ms * NS_PER_MS};
}

static void ten_failures_are_borne_the_eleventh_sets_aside(void **state)
{
    (void)state;
    struct breaker b = {0};
    for (int i = 0; i < 10; i++)
        breaker_failure(&b, at(i));
    assert_false(breaker_set_aside(&b));
    assert_true(breaker_may_try(&b, at(10)));
    breaker_failure(&b, at(11));
    assert_true(breaker_set_aside(&b));
    assert_false(breaker_may_try(&b, at(12)));
    assert_true(breaker_may_try(&b, at(11 + BREAKER_PAUSE_FIRST_MS)));
}

static void pauses_grow_up_to_a_limit_and_success_forgets_them(void **state)
{
    (void)state;
    struct breaker b = {0};
    int64_t before = 0;
    for (int i = 0; i < 40; i++) {
        breaker_start_failure(&b, at(i));
        assert_true(b.pause_ms >= before && b.pause_ms <= BREAKER_PAUSE_LONGEST_MS);
        before = b.pause_ms;
    }
    assert_int_equal(b.pause_ms, BREAKER_PAUSE_LONGEST_MS);
    breaker_success(&b);
    assert_true(breaker_may_try(&b, at(41)));
    breaker_start_failure(&b, at(42));
    assert_int_equal(b.pause_ms, BREAKER_PAUSE_FIRST_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ten_failures_are_borne_the_eleventh_sets_aside),
        TEST(pauses_grow_up_to_a_limit_and_success_forgets_them),
    };
    return RUN_TESTS(tests);
}
