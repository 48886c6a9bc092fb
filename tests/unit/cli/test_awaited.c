/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/wait/wait.h"
#include "test.h"

static struct awaited_list list_of(size_t count, const int *statuses)
{
    struct awaited_list l = {.count = count};
    for (size_t i = 0; i < count; i++)
        l.at[i] = (struct awaited){.pid = 4242 + (int32_t)i, .name = "train.py (alice)", .ended = true, .status = statuses[i]};
    return l;
}

static void assert_end(const struct awaited_list *l, const char *words)
{
    AUTO_BUF struct buf out = BUF(4096);
    awaited_end_text(l, "train.py", 7380000, &out);
    assert_string_equal(out.at, words);
}

static void one_program_ends_with_its_status(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(4096);
    struct awaited_list l = list_of(1, (const int[]){0});
    awaited_begin_text(&l, "train.py", &out);
    assert_string_equal(out.at, "Waiting for train.py (alice), PID 4242.\n");
    assert_end(&l, "train.py (alice) has ended after 2h 3m, exit status 0.\n");
    l.at[0].status = 137;
    assert_end(&l, "train.py (alice) has ended after 2h 3m, exit status 137.\n");
    assert_int_equal(awaited_status(&l), 137);
}

static void an_unknown_status_is_said_and_is_no_failure(void **state)
{
    (void)state;
    struct awaited_list l = list_of(1, (const int[]){END_STATUS_UNKNOWN});
    assert_end(&l, "train.py (alice) has ended after 2h 3m; only the program that started it knows its exit status.\n");
    assert_int_equal(awaited_status(&l), 0);
}

static void of_several_the_worst_counts(void **state)
{
    (void)state;
    struct awaited_list l = list_of(3, (const int[]){0, 1, END_STATUS_UNKNOWN});
    assert_end(&l, "All 3 programs called train.py have ended after 2h 3m; 1 of them failed, the highest exit status is 1.\n");
    assert_int_equal(awaited_status(&l), 1);
    l = list_of(2, (const int[]){0, 0});
    assert_end(&l, "All 2 programs called train.py have ended after 2h 3m, each with exit status 0.\n");
    l.at[1].status = END_STATUS_UNKNOWN;
    assert_end(&l, "All 2 programs called train.py have ended after 2h 3m; none is known to have failed.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_program_ends_with_its_status),
        TEST(an_unknown_status_is_said_and_is_no_failure),
        TEST(of_several_the_worst_counts),
    };
    return RUN_TESTS(tests);
}
