/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/reserve.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "test.h"

static const struct wall now = {1800000000000};

static struct wall later(int64_t seconds)
{
    return (struct wall){now.ms + seconds * 1000};
}

static void room_is_given_once(void **state)
{
    (void)state;
    AUTO_FREE struct reservations *r = calloc(1, sizeof *r);
    assert_true(reservations_take(r, "GPU-0", 20 * GIB_BYTES, 48 * GIB_BYTES, now));
    assert_true(reservations_take(r, "GPU-0", 20 * GIB_BYTES, 48 * GIB_BYTES, now));
    assert_false(reservations_take(r, "GPU-0", 20 * GIB_BYTES, 48 * GIB_BYTES, now));
    assert_true(reservations_take(r, "GPU-0", 8 * GIB_BYTES, 48 * GIB_BYTES, now));
    assert_true(reservations_take(r, "GPU-1", 20 * GIB_BYTES, 24 * GIB_BYTES, now));
}

static void what_is_used_by_now_counts_once(void **state)
{
    (void)state;
    AUTO_FREE struct reservations *r = calloc(1, sizeof *r);
    assert_true(reservations_take(r, "GPU-0", 20 * GIB_BYTES, 80 * GIB_BYTES, now));
    assert_true(reservations_take(r, "GPU-0", 20 * GIB_BYTES, 80 * GIB_BYTES, now));
    /* The first has taken its 20 GiB and the second 5: of 55 that are free, 15 are reserved. */
    assert_false(reservations_take(r, "GPU-0", 41 * GIB_BYTES, 55 * GIB_BYTES, later(10)));
    assert_true(reservations_take(r, "GPU-0", 40 * GIB_BYTES, 55 * GIB_BYTES, later(10)));
}

static void what_is_not_used_is_given_again(void **state)
{
    (void)state;
    AUTO_FREE struct reservations *r = calloc(1, sizeof *r);
    assert_true(reservations_take(r, "GPU-0", 20 * GIB_BYTES, 24 * GIB_BYTES, now));
    assert_false(reservations_take(r, "GPU-0", 20 * GIB_BYTES, 24 * GIB_BYTES, later(RESERVE_MS / 1000 - 1)));
    assert_true(reservations_take(r, "GPU-0", 20 * GIB_BYTES, 24 * GIB_BYTES, later(RESERVE_MS / 1000)));
    /* A clock that was set back reserves nothing for ever. */
    assert_true(reservations_take(r, "GPU-0", 20 * GIB_BYTES, 24 * GIB_BYTES, later(-3600)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(room_is_given_once),
        TEST(what_is_used_by_now_counts_once),
        TEST(what_is_not_used_is_given_again),
    };
    return RUN_TESTS(tests);
}
