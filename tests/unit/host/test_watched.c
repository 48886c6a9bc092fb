/* SPDX-License-Identifier: Apache-2.0 */
#include "host/evidence/watched.h"

#include "test.h"

static int ended;

static void count_end(struct watched_process *w, void *user)
{
    (void)w;
    assert_ptr_equal(user, &ended);
    ended++;
}

static struct watch_list empty(void)
{
    ended = 0;
    return (struct watch_list){.done = count_end, .user = &ended};
}

static struct mono at_ms(int64_t ms)
{
    return (struct mono){ms * 1000000};
}

static struct watched_process *add(struct watch_list *l, int32_t pid, int64_t start_key)
{
    struct watched_process *w = calloc(1, sizeof *w);
    assert_non_null(w);
    assert_true(watched_has_room(l));
    w->target = (struct evidence_target){pid, start_key};
    watched_add(l, w);
    return w;
}

static void a_number_that_is_given_again_is_another_process(void **state)
{
    (void)state;
    struct watch_list l = empty();
    struct watched_process *first = add(&l, 10, 1), *other = add(&l, 11, 1);
    assert_ptr_equal(watched_find(&l, &(struct evidence_target){10, 1}), first);
    assert_null(watched_find(&l, &(struct evidence_target){10, 2}));
    assert_int_equal(ended, 1);
    assert_int_equal(l.count, 1);
    assert_ptr_equal(watched_find(&l, &(struct evidence_target){11, 1}), other);
    watched_done(&l);
    assert_int_equal(ended, 2);
}

static void what_is_not_looked_at_any_more_is_forgotten_after_rounds_and_seconds(void **state)
{
    (void)state;
    struct watch_list l = empty();
    add(&l, 10, 1)->looked_at = at_ms(1000);
    add(&l, 11, 1); /* its first look is still to come */
    watched_forget_old(&l, at_ms(1000 + 3000 + 3 * 500 - 1), 500);
    assert_int_equal(l.count, 2);
    watched_forget_old(&l, at_ms(1000 + 3000 + 3 * 500), 500);
    assert_int_equal(l.count, 1);
    assert_int_equal(l.list[0]->target.pid, 11);
    watched_done(&l);
}

static void a_look_is_answered_from_the_last_one_for_a_while(void **state)
{
    (void)state;
    struct watched_process w = {0};
    assert_false(watched_is_recent(&w, at_ms(1), false));
    w.looked_at = at_ms(1000);
    assert_true(watched_is_recent(&w, at_ms(1299), false));
    assert_false(watched_is_recent(&w, at_ms(1300), false));
    assert_true(watched_is_recent(&w, at_ms(1003), true));
    assert_false(watched_is_recent(&w, at_ms(1004), true));
}

static void no_more_are_remembered_than_there_may_be(void **state)
{
    (void)state;
    struct watch_list l = empty();
    for (int32_t i = 0; i < EVIDENCE_TARGETS_MAX; i++)
        add(&l, i + 1, 1);
    assert_false(watched_has_room(&l));
    watched_forget(&l, l.list[7]);
    assert_int_equal(ended, 1);
    assert_true(watched_has_room(&l));
    watched_done(&l);
    assert_int_equal(ended, EVIDENCE_TARGETS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_number_that_is_given_again_is_another_process),
        TEST(what_is_not_looked_at_any_more_is_forgotten_after_rounds_and_seconds),
        TEST(a_look_is_answered_from_the_last_one_for_a_while),
        TEST(no_more_are_remembered_than_there_may_be),
    };
    return RUN_TESTS(tests);
}
