/* SPDX-License-Identifier: Apache-2.0
 * Whose question is next, when a few clients ask more than there are readers for.
 */
#include "store/service/service.h"

#include <errno.h>

#include "base/cleanup.h"
#include "test.h"

static struct turns turns;
static struct store_question pool[QUESTIONS_MAX * 2];
static struct mono now;

static void begin(void)
{
    turns = (struct turns){0};
    memset(pool, 0, sizeof pool);
    now = (struct mono){NS_PER_S};
}

static struct store_question *ask(size_t place, uint64_t client)
{
    struct store_question *out = NULL;
    pool[place].client = client;
    assert_int_equal(turns_join(&turns, &pool[place], now, &out), 0);
    assert_null(out);
    return &pool[place];
}

static void pass(int64_t ms)
{
    now.ns += ms * NS_PER_MS;
}

static void one_client_has_a_share_and_no_more(void **state)
{
    (void)state;
    begin();
    struct store_question *out = NULL;
    for (size_t i = 0; i < QUESTIONS_OF_ONE; i++)
        ask(i, 7);
    pool[100].client = 7;
    assert_int_equal(turns_join(&turns, &pool[100], now, &out), -EDQUOT);
    ask(101, 8);
}

static void long_questions_leave_one_reader_free_for_others(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < 8; i++)
        ask(i, 1 + i / 4);
    size_t at_length = 0;
    struct store_question *running[READERS_MAX];
    for (size_t i = 0; i < READERS_MAX; i++) {
        running[i] = turns_next(&turns, now);
        assert_non_null(running[i]);
        at_length += running[i]->at_length;
    }
    assert_int_equal(at_length, READERS_MAX - 1);
    for (size_t i = 0; i < READERS_MAX; i++)
        if (!running[i]->at_length) { /* its moment was too short */
            pass(QUESTION_MOMENT_MS);
            turns_again(&turns, running[i], now);
        }
    struct store_question *other = ask(50, 9);
    struct store_question *next = turns_next(&turns, now);
    assert_ptr_equal(next, other);
    assert_false(next->at_length);
    turns_leave(&turns, next, now);
    /* What is long waits for a reader at length, however many readers there are. */
    for (struct store_question *q; (q = turns_next(&turns, now)); turns_again(&turns, q, now))
        assert_false(q->at_length);
    for (size_t i = 0; i < READERS_MAX; i++)
        if (running[i]->at_length) {
            turns_leave(&turns, running[i], now);
            break;
        }
    next = turns_next(&turns, now);
    assert_true(next && next->at_length && next->is_long);
}

static void the_client_that_used_least_goes_first(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < 20; i++)
        ask(i, 1);
    struct store_question *q = turns_next(&turns, now);
    pass(3000);
    turns_leave(&turns, q, now);
    struct store_question *quiet = ask(50, 2);
    for (size_t i = 60; i < 70; i++)
        ask(i, 1);
    assert_ptr_equal(turns_next(&turns, now), quiet);
}

static void what_was_used_is_forgotten_in_time(void **state)
{
    (void)state;
    begin();
    turns_leave(&turns, (ask(0, 1), pass(0), turns_next(&turns, now)), (struct mono){now.ns + 8 * NS_PER_S});
    assert_int_equal(turns.clients[0].used_ms, 8000);
    pass(8000 + 40LL * USE_HALVES_MS);
    ask(1, 1);
    assert_int_equal(pool[1].account->used_ms, 0);
}

static void what_was_withdrawn_goes_at_once(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < READERS_MAX; i++) {
        ask(i, 10 + i)->once = i > 0;
        turns_next(&turns, now);
    }
    ask(20, 30)->once = true;
    ask(21, 30)->canceled = true;
    struct store_question *next = turns_next(&turns, now);
    assert_ptr_equal(next, &pool[21]);
    assert_false(next->at_length);
    turns_leave(&turns, next, now);
    assert_int_equal(turns.open, READERS_MAX + 1);
}

static void the_largest_queue_makes_room(void **state)
{
    (void)state;
    begin();
    size_t place = 0;
    for (uint64_t client = 1; place < QUESTIONS_MAX; client++)
        for (size_t i = 0; i < QUESTIONS_OF_ONE && place < QUESTIONS_MAX; i++)
            ask(place++, client);
    struct store_question *out = NULL, *late = &pool[QUESTIONS_MAX];
    late->client = 99;
    assert_int_equal(turns_join(&turns, late, now, &out), 0);
    assert_true(out && out->client != 99);
    assert_int_equal(turns.open, QUESTIONS_MAX);
    assert_ptr_equal(turns_next(&turns, now), late);
    /* The daemon itself is never pushed out, nor is a client by one that has as many. */
    begin();
    for (place = 0; place < QUESTIONS_MAX; place++)
        ask(place, 1 + place);
    pool[QUESTIONS_MAX].client = 1;
    assert_int_equal(turns_join(&turns, &pool[QUESTIONS_MAX], now, &out), -EBUSY);
    assert_null(out);
}

static void every_question_is_answered_or_given_up_in_time(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < 60; i++)
        ask(i, 1 + i % 5);
    size_t done = 0;
    for (int turn = 0; turn < 1000 && done < 60; turn++) {
        struct store_question *q = turns_next(&turns, now);
        assert_non_null(q);
        pass(700);
        done++;
        turns_leave(&turns, q, now);
    }
    assert_int_equal(done, 60);
    assert_int_equal(turns.open + turns.waiting_count + turns.at_length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_client_has_a_share_and_no_more),
        TEST(long_questions_leave_one_reader_free_for_others),
        TEST(the_client_that_used_least_goes_first),
        TEST(what_was_used_is_forgotten_in_time),
        TEST(what_was_withdrawn_goes_at_once),
        TEST(the_largest_queue_makes_room),
        TEST(every_question_is_answered_or_given_up_in_time),
    };
    return RUN_TESTS(tests);
}
