/* SPDX-License-Identifier: Apache-2.0
 * Which clock is believed, over made-up histories in which the true time is known.
 */
#include "store/internal.h"

#include "base/cleanup.h"
#include "test.h"

#define MINUTE 60000LL
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define BEGIN 1772323200000LL
#define YEAR (365 * DAY)

/* A host whose clock shows the true time and an error. */
struct test_host {
    struct clock_trust trust;
    int64_t true_ms, error_ms;
};

static struct test_host new_host(void)
{
    return (struct test_host){.trust = trust_begin(BEGIN, 0), .true_ms = BEGIN};
}

static void run(struct test_host *h, int64_t for_ms)
{
    for (int64_t left = for_ms; left > 0; left -= MINUTE) {
        int64_t step = MIN_OF(left, MINUTE);
        h->true_ms += step;
        trust_step(&h->trust, h->true_ms + h->error_ms, step);
    }
}

static void restart(struct test_host *h, int64_t off_ms)
{
    h->true_ms += off_ms;
    trust_step(&h->trust, h->true_ms + h->error_ms, 0);
}

static int64_t believed_error(const struct test_host *h)
{
    return trust_now(&h->trust, h->true_ms + h->error_ms) - h->true_ms;
}

static void a_clock_that_goes_right_is_followed(void **state)
{
    (void)state;
    struct test_host h = new_host();
    run(&h, 3 * DAY);
    assert_int_equal(believed_error(&h), 0);
    assert_int_equal(trust_wait(&h.trust, h.true_ms), 0);
    /* Also one that is being set right slowly, or drifts. */
    for (int i = 0; i < 10000; i++) {
        h.error_ms += 30; /* 500 parts in a million */
        run(&h, MINUTE);
    }
    assert_int_equal(believed_error(&h), h.error_ms);
}

static void a_leap_that_is_taken_back_is_never_believed(void **state)
{
    (void)state;
    static const int64_t leaps[] = {10000,     MINUTE, HOUR,  DAY,       30 * DAY, YEAR,
                                    12 * YEAR, -10000, -HOUR, -30 * DAY, -YEAR,    -50 * YEAR};
    for (size_t i = 0; i < ARRAY_LEN(leaps); i++) {
        for (int with_restarts = 0; with_restarts < 2; with_restarts++) {
            struct test_host h = new_host();
            run(&h, DAY);
            for (int again = 0; again < 3; again++) {
                h.error_ms = leaps[i];
                if (with_restarts)
                    restart(&h, 2000);
                run(&h, 5 * HOUR);
                assert_true(believed_error(&h) <= 0);
                h.error_ms = 0;
                if (with_restarts)
                    restart(&h, 2000);
                run(&h, 12 * HOUR);
                assert_true(believed_error(&h) <= 0);
                /* And nothing of it remains. */
                assert_true(believed_error(&h) > -10 * MINUTE);
            }
        }
    }
}

static void a_host_that_was_off_catches_up_within_a_day_of_running(void **state)
{
    (void)state;
    static const int64_t offs[] = {5000, HOUR, DAY, 21 * DAY, 2 * YEAR};
    for (size_t i = 0; i < ARRAY_LEN(offs); i++) {
        struct test_host h = new_host();
        run(&h, HOUR);
        restart(&h, offs[i]);
        assert_int_equal(believed_error(&h), -offs[i]);
        assert_true(trust_wait(&h.trust, h.true_ms) > 5 * HOUR);
        run(&h, 5 * HOUR);
        assert_true(believed_error(&h) < 0);
        run(&h, 20 * HOUR);
        assert_int_equal(believed_error(&h), 0);
    }
}

static void a_desktop_that_runs_three_hours_a_day_lags_by_two_weeks_at_most(void **state)
{
    (void)state;
    struct test_host h = new_host();
    for (int day = 0; day < 100; day++) {
        run(&h, 3 * HOUR);
        restart(&h, 21 * HOUR);
        /* It has no clock of its own: it wakes up in 1970, and is set right a minute later. */
        h.error_ms = -h.true_ms;
        run(&h, MINUTE);
        h.error_ms = 0;
        assert_true(believed_error(&h) <= 0);
        assert_true(believed_error(&h) > -15 * DAY);
    }
}

static void a_clock_that_stays_wrong_is_believed_after_a_day_and_forgotten_again(void **state)
{
    (void)state;
    struct test_host h = new_host();
    run(&h, DAY);
    h.error_ms = 30 * DAY;
    run(&h, 23 * HOUR);
    assert_true(believed_error(&h) <= 0);
    run(&h, 2 * HOUR);
    assert_int_equal(believed_error(&h), 30 * DAY); /* a host that keeps saying so for a day means it */
    h.error_ms = 0;
    run(&h, MINUTE);
    assert_true(believed_error(&h) <= 0); /* what the clock shows is never exceeded */
    run(&h, 25 * HOUR);
    assert_int_equal(h.trust.believed_ms, h.true_ms);
}

/* Errors of all sizes, each shorter than the hours it would take to be believed; restarts and times off in between. */
static void over_any_history_of_short_errors_nothing_is_judged_too_old(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        uint32_t random = seed;
        struct test_host h = new_host();
        for (int i = 0; i < 60; i++) {
            int64_t size = 1000LL << next_random(&random) % 30;
            h.error_ms = next_random(&random) % 3 ? 0 : next_random(&random) % 2 ? size : -MIN_OF(size, h.true_ms - DAY);
            if (next_random(&random) % 3 == 0)
                restart(&h, 1000LL << next_random(&random) % 22);
            int64_t most = h.error_ms ? 120 : 2000;
            run(&h, MINUTE * (1 + next_random(&random) % most));
            if (believed_error(&h) > MINUTE)
                fail_msg("seed %u, step %d: %lld ms ahead", seed, i, (long long)believed_error(&h));
            if (h.error_ms) { /* and right again for longer than it was wrong */
                h.error_ms = 0;
                run(&h, 3 * HOUR);
            }
        }
        run(&h, 60 * HOUR);
        assert_int_equal(believed_error(&h), 0);
    }
}

static void a_database_with_rows_is_not_older_than_they_say(void **state)
{
    (void)state;
    struct clock_trust t = trust_begin(BEGIN + 30 * DAY, BEGIN);
    assert_int_equal(trust_now(&t, BEGIN + 30 * DAY), BEGIN);
    t = trust_begin(BEGIN, BEGIN + 30 * DAY); /* rows of a clock that was ahead */
    assert_int_equal(trust_now(&t, BEGIN), BEGIN);
}

static void of_several_hosts_no_single_one_decides(void **state)
{
    (void)state;
    assert_int_equal(trust_of_many((int64_t[]){BEGIN}, 1), BEGIN);
    assert_int_equal(trust_of_many((int64_t[]){BEGIN + YEAR, BEGIN}, 2), BEGIN);
    assert_int_equal(trust_of_many((int64_t[]){BEGIN + YEAR, 0, BEGIN}, 3), BEGIN);
    assert_int_equal(trust_of_many((int64_t[]){BEGIN + YEAR, BEGIN, BEGIN + 1, BEGIN + 2 * YEAR}, 4), BEGIN + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_clock_that_goes_right_is_followed),
        TEST(a_leap_that_is_taken_back_is_never_believed),
        TEST(a_host_that_was_off_catches_up_within_a_day_of_running),
        TEST(a_desktop_that_runs_three_hours_a_day_lags_by_two_weeks_at_most),
        TEST(a_clock_that_stays_wrong_is_believed_after_a_day_and_forgotten_again),
        TEST(over_any_history_of_short_errors_nothing_is_judged_too_old),
        TEST(a_database_with_rows_is_not_older_than_they_say),
        TEST(of_several_hosts_no_single_one_decides),
    };
    return RUN_TESTS(tests);
}
