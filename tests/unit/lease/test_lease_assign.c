/* SPDX-License-Identifier: Apache-2.0 */
#include "lease/lease_assign.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "test.h"

enum { ALICE = 1000, BOB = 1001, CAROL = 1002, LEASES = 32 };
static const struct wall now = {1800000000000};

/* Four GPUs of 24 GiB with 24 free, and what is leased. */
struct world {
    struct capacity_gpu cards[8];
    struct room_gpu gpus[8];
    size_t gpu_count;
    struct lease leases[LEASES];
    size_t lease_count;
    struct room_answer answer;
};

static struct world *world_new(size_t gpus)
{
    struct world *w = calloc(1, sizeof *w);
    w->gpu_count = gpus;
    for (size_t i = 0; i < gpus; i++) {
        struct capacity_gpu *card = &w->cards[i];
        *card = (struct capacity_gpu){.index = (int)i, .instance = -1, .usable = true};
        snprintf(card->id.uuid, sizeof card->id.uuid, "GPU-%zu", i);
        snprintf(card->id.vendor, sizeof card->id.vendor, "maker");
        card->total_bytes = card->free_bytes = reading_ok(24 * GIB_BYTES);
        w->gpus[i].card = card;
    }
    return w;
}

static struct lease *add_wish(struct world *w, int64_t uid, int gpus, int64_t bytes)
{
    struct lease *l = &w->leases[w->lease_count++];
    *l = (struct lease){.kind = LEASE_RUN, .state = LEASE_WAITING, .uid = uid, .gpus_wanted = gpus, .mem_bytes = bytes};
    l->exclusive = bytes == 0;
    l->ticket = (int64_t)w->lease_count;
    l->made = l->from = now;
    snprintf(l->id, sizeof l->id, "lease%zu", w->lease_count);
    snprintf(l->user, sizeof l->user, "%s", uid == ALICE ? "alice" : uid == BOB ? "bob" : "carol");
    return l;
}

static enum room_verdict ask(struct world *w, const struct lease *wish)
{
    room_find(wish, w->leases, w->lease_count, w->gpus, w->gpu_count, now, &w->answer);
    return w->answer.verdict;
}

/* As the shell does with an answer. */
static void take(struct world *w, struct lease *wish)
{
    assert_int_equal(ask(w, wish), ROOM_GRANTED);
    wish->state = LEASE_ACTIVE;
    wish->gpu_count = w->answer.count;
    for (size_t i = 0; i < w->answer.count; i++) {
        const struct capacity_gpu *card = w->gpus[w->answer.gpus[i]].card;
        wish->gpus[i] = (struct lease_gpu){.index = card->index, .free_bytes = w->answer.free_bytes[i]};
        snprintf(wish->gpus[i].uuid, sizeof wish->gpus[i].uuid, "%s", gpu_id_key(&card->id));
    }
}

static struct lease *taken(struct world *w, int64_t uid, int gpus, int64_t bytes)
{
    struct lease *l = add_wish(w, uid, gpus, bytes);
    take(w, l);
    return l;
}

static void only(struct lease *l, int gpu)
{
    l->gpu_count = 1;
    l->gpus[0] = (struct lease_gpu){.index = gpu};
    snprintf(l->gpus[0].uuid, sizeof l->gpus[0].uuid, "GPU-%d", gpu);
}

static void whole_gpus_are_given_once(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(4);
    taken(w, ALICE, 2, 0);
    struct lease *bob = taken(w, BOB, 2, 0);
    assert_int_equal(bob->gpus[0].index, 2);
    struct lease *carol = add_wish(w, CAROL, 1, 0);
    assert_int_equal(ask(w, carol), ROOM_WAITS);
    assert_string_equal(w->answer.words, "none of 4 GPUs is free; GPU 0 is leased to alice");
    bob->state = LEASE_ENDED;
    take(w, carol);
    assert_int_equal(carol->gpus[0].index, 2);
}

static void memory_is_shared_up_to_the_room(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(1);
    taken(w, ALICE, 1, 10 * GIB_BYTES);
    taken(w, BOB, 1, 10 * GIB_BYTES);
    struct lease *carol = add_wish(w, CAROL, 1, 5 * GIB_BYTES);
    assert_int_equal(ask(w, carol), ROOM_WAITS);
    assert_string_equal(w->answer.words, "GPU 0 has too little room: 1.0 GiB more are needed");
    carol->mem_bytes = 4 * GIB_BYTES;
    assert_int_equal(ask(w, carol), ROOM_GRANTED);
    /* A GPU that another one shares is not had alone. */
    carol->mem_bytes = 0;
    carol->exclusive = true;
    assert_int_equal(ask(w, carol), ROOM_WAITS);
}

static void what_a_program_holds_counts_once(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(1);
    struct lease *alice = taken(w, ALICE, 1, 10 * GIB_BYTES), *bob = add_wish(w, BOB, 1, 14 * GIB_BYTES);
    w->cards[0].free_bytes = reading_ok(16 * GIB_BYTES);
    alice->gpus[0].used_bytes = reading_ok(8 * GIB_BYTES);
    assert_int_equal(ask(w, bob), ROOM_GRANTED);
    /* It holds more than it asked for: what it holds counts. */
    w->cards[0].free_bytes = reading_ok(12 * GIB_BYTES);
    alice->gpus[0].used_bytes = reading_ok(12 * GIB_BYTES);
    assert_int_equal(ask(w, bob), ROOM_WAITS);
    bob->mem_bytes = 12 * GIB_BYTES;
    assert_int_equal(ask(w, bob), ROOM_GRANTED);
    /* A program without a lease holds 4 GiB of it. */
    w->cards[0].free_bytes = reading_ok(8 * GIB_BYTES);
    assert_int_equal(ask(w, bob), ROOM_WAITS);
}

static void who_came_first_is_served_first(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(4);
    struct lease *running = taken(w, ALICE, 3, 0);
    struct lease *large = add_wish(w, BOB, 4, 0), *small = add_wish(w, CAROL, 1, 0);
    assert_int_equal(ask(w, large), ROOM_WAITS);
    assert_int_equal(ask(w, small), ROOM_WAITS); /* one is free, and kept for the first */
    assert_string_equal(w->answer.words, "1 waits in front of it");
    assert_ptr_equal(room_before(small, w->leases, w->lease_count), large);
    assert_null(room_before(large, w->leases, w->lease_count));
    running->state = LEASE_ENDED;
    take(w, large);
    assert_null(room_before(small, w->leases, w->lease_count));
    assert_int_equal(ask(w, small), ROOM_WAITS);
}

static void who_waits_for_one_gpu_keeps_others_off_that_one_alone(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(2);
    struct lease *running = taken(w, ALICE, 1, 0);
    assert_int_equal(running->gpus[0].index, 0);
    struct lease *picky = add_wish(w, BOB, 1, 0), *any = add_wish(w, CAROL, 1, 0);
    only(picky, 0);
    assert_int_equal(ask(w, picky), ROOM_WAITS);
    assert_int_equal(ask(w, any), ROOM_GRANTED);
    assert_int_equal(w->answer.gpus[0], 1);
    assert_ptr_equal(room_before(any, w->leases, w->lease_count), picky);
    only(any, 1);
    assert_null(room_before(any, w->leases, w->lease_count));
}

static void what_can_never_be_is_said_at_once(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(2);
    struct lease *l = add_wish(w, ALICE, 3, 0);
    assert_int_equal(ask(w, l), ROOM_NEVER);
    assert_string_equal(w->answer.words, "3 GPUs are wanted, and there are only 2");
    l->gpus_wanted = 1;
    l->mem_bytes = 30 * GIB_BYTES;
    assert_int_equal(ask(w, l), ROOM_NEVER);
    assert_string_equal(w->answer.words, "there is no GPU with 30.0 GiB on this host");
    l->mem_bytes = 0;
    only(l, 7);
    assert_int_equal(ask(w, l), ROOM_NEVER);
    assert_string_equal(w->answer.words, "there is no GPU among those that it may use");
    /* A program gets GPUs of one vendor. */
    l->gpu_count = 0;
    l->gpus_wanted = 2;
    snprintf(w->cards[1].id.vendor, sizeof w->cards[1].id.vendor, "other");
    assert_int_equal(ask(w, l), ROOM_NEVER);
    assert_string_equal(w->answer.words, "2 GPUs of one vendor are wanted, and there is only 1");
    l->gpus_wanted = 9; /* more than there are of all makers together */
    assert_int_equal(ask(w, l), ROOM_NEVER);
    assert_string_equal(w->answer.words, "9 GPUs are wanted, and there are only 2");
}

static void what_is_not_known_is_not_given(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(1);
    struct lease *l = add_wish(w, ALICE, 1, GIB_BYTES);
    w->cards[0].free_bytes = reading_absent(READING_FAILED);
    assert_int_equal(ask(w, l), ROOM_WAITS);
    assert_string_equal(w->answer.words, "GPU 0: its free memory is not known");
    w->cards[0].free_bytes = reading_absent(READING_ASLEEP); /* no program is on it */
    assert_int_equal(ask(w, l), ROOM_GRANTED);
    w->cards[0].usable = false;
    snprintf(w->cards[0].problem, sizeof w->cards[0].problem, "it must be reset");
    assert_int_equal(ask(w, l), ROOM_WAITS);
    assert_string_equal(w->answer.words, "GPU 0 can't be used: it must be reset");
}

static void programs_without_a_lease_keep_it_from_being_had_alone(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(1);
    struct lease *l = add_wish(w, ALICE, 1, 0);
    snprintf(w->gpus[0].in_use_by, sizeof w->gpus[0].in_use_by, "train.py (pid 7, bob)");
    assert_int_equal(ask(w, l), ROOM_WAITS);
    assert_string_equal(w->answer.words, "GPU 0 is in use: train.py (pid 7, bob)");
    AUTO_FREE struct world *three = world_new(3);
    struct lease *of_three = add_wish(three, ALICE, 1, 0);
    for (int i = 0; i < 3; i++)
        snprintf(three->gpus[i].in_use_by, sizeof three->gpus[i].in_use_by, "train.py (pid 7, bob)");
    assert_int_equal(ask(three, of_three), ROOM_WAITS);
    assert_string_equal(three->answer.words, "none of 3 GPUs is free; GPU 0 is in use: train.py (pid 7, bob)");
    three->gpus[1].in_use_by[0] = '\0';
    of_three->gpus_wanted = 2;
    assert_int_equal(ask(three, of_three), ROOM_WAITS);
    assert_string_equal(three->answer.words, "only 1 of 3 GPUs is free; GPU 0 is in use: train.py (pid 7, bob)");
    l->exclusive = false;
    l->mem_bytes = GIB_BYTES;
    assert_int_equal(ask(w, l), ROOM_GRANTED);
}

static struct lease *reserved(struct world *w, int64_t uid, int gpus, int64_t from_h, int64_t until_h)
{
    struct lease *l = add_wish(w, uid, gpus, 0);
    l->kind = LEASE_RESERVE;
    l->from.ms = now.ms + from_h * HOUR_MS;
    l->until.ms = now.ms + until_h * HOUR_MS;
    take(w, l);
    return l;
}

static void a_reservation_is_for_its_user_and_its_time(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(1);
    reserved(w, ALICE, 1, 2, 4);
    struct lease *bob = add_wish(w, BOB, 1, 0);
    assert_int_equal(ask(w, bob), ROOM_WAITS); /* without a known end it would be there in two hours */
    assert_true(strncmp(w->answer.words, "GPU 0 is reserved for alice from ", 33) == 0);
    bob->until.ms = now.ms + 2 * HOUR_MS;
    assert_int_equal(ask(w, bob), ROOM_GRANTED);
    bob->until.ms++;
    assert_int_equal(ask(w, bob), ROOM_WAITS);
    bob->state = LEASE_ENDED;
    struct lease *own = taken(w, ALICE, 1, 0);
    assert_string_equal(own->gpus[0].uuid, "GPU-0");
    assert_int_equal(ask(w, add_wish(w, ALICE, 1, 0)), ROOM_WAITS); /* her first program has it alone */
}

static void own_reservations_are_used_first_and_not_counted_twice(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(2);
    struct lease *r = add_wish(w, ALICE, 1, 16 * GIB_BYTES);
    r->kind = LEASE_RESERVE;
    r->until.ms = now.ms + HOUR_MS;
    only(r, 1);
    take(w, r);
    struct lease *run = taken(w, ALICE, 1, 10 * GIB_BYTES);
    assert_int_equal(run->gpus[0].index, 1);
    struct lease *bob = add_wish(w, BOB, 1, 9 * GIB_BYTES);
    only(bob, 1);
    assert_int_equal(ask(w, bob), ROOM_WAITS); /* 16 of 24 are hers, used or not */
    bob->mem_bytes = 8 * GIB_BYTES;
    assert_int_equal(ask(w, bob), ROOM_GRANTED);
    bob->state = LEASE_ENDED;
    struct lease *more = add_wish(w, ALICE, 1, 14 * GIB_BYTES); /* beyond what she reserved, as far as there is room */
    only(more, 1);
    assert_int_equal(ask(w, more), ROOM_GRANTED);
    more->mem_bytes++;
    assert_int_equal(ask(w, more), ROOM_WAITS);
}

/* What `whirr wait` gave away: used by programs that have no lease. */
static void room_that_was_given_away_is_counted_until_it_is_used(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(1);
    struct lease *first = taken(w, ALICE, 1, 10 * GIB_BYTES), *second = taken(w, ALICE, 1, 10 * GIB_BYTES);
    first->kind = second->kind = LEASE_WAIT;
    struct lease *bob = add_wish(w, BOB, 1, 5 * GIB_BYTES);
    assert_int_equal(ask(w, bob), ROOM_WAITS);
    /* The first has taken its 10 GiB and the second 5: of 9 that are free, 5 are given away. */
    w->cards[0].free_bytes = reading_ok(9 * GIB_BYTES);
    assert_int_equal(ask(w, bob), ROOM_WAITS);
    bob->mem_bytes = 4 * GIB_BYTES;
    assert_int_equal(ask(w, bob), ROOM_GRANTED);
}

static void instances_are_gpus_of_their_own(void **state)
{
    (void)state;
    AUTO_FREE struct world *w = world_new(3);
    w->cards[0].usable = false;
    for (int i = 1; i < 3; i++) {
        w->cards[i].index = 0;
        w->cards[i].instance = i - 1;
        w->cards[i].total_bytes = w->cards[i].free_bytes = reading_ok(10 * GIB_BYTES);
    }
    taken(w, ALICE, 1, 0);
    struct lease *bob = taken(w, BOB, 1, 0);
    assert_string_equal(bob->gpus[0].uuid, "GPU-2");
    assert_int_equal(ask(w, add_wish(w, CAROL, 3, 0)), ROOM_NEVER);
    assert_int_equal(ask(w, add_wish(w, CAROL, 1, 20 * GIB_BYTES)), ROOM_NEVER);
}

/* Whatever comes and goes: no GPU is had by two, no more memory is given than there is, and who is first gets it in the end. */
static void no_room_is_given_twice(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 300; round++) {
        AUTO_FREE struct world *w = world_new(4);
        for (int step = 0; step < LEASES; step++) {
            struct lease *l = add_wish(w, ALICE + rand() % 3, 1 + rand() % 4, rand() % 2 ? 0 : (1 + rand() % 20) * GIB_BYTES);
            if (rand() % 3 == 0)
                w->leases[(size_t)rand() % w->lease_count].state = LEASE_ENDED;
            for (size_t i = 0; i < w->lease_count; i++)
                if (w->leases[i].state == LEASE_WAITING && ask(w, &w->leases[i]) == ROOM_GRANTED)
                    take(w, &w->leases[i]);
            (void)l;
            for (int g = 0; g < 4; g++) {
                int64_t sum = 0;
                int alone = 0, holders = 0;
                for (size_t i = 0; i < w->lease_count; i++) {
                    bool has = w->leases[i].state == LEASE_ACTIVE && lease_gpu_at(&w->leases[i], w->cards[g].id.uuid) >= 0;
                    holders += has;
                    alone += has && w->leases[i].exclusive;
                    sum += has ? w->leases[i].mem_bytes : 0;
                }
                assert_true(sum <= 24 * GIB_BYTES);
                assert_true(alone == 0 || holders == 1);
            }
        }
        for (size_t turn = 0; turn < w->lease_count; turn++) { /* each program ends: the next in line is served */
            for (size_t i = 0; i < w->lease_count; i++)
                if (w->leases[i].state == LEASE_ACTIVE)
                    w->leases[i].state = LEASE_ENDED;
            for (size_t i = 0; i < w->lease_count; i++)
                if (w->leases[i].state == LEASE_WAITING && ask(w, &w->leases[i]) == ROOM_GRANTED)
                    take(w, &w->leases[i]);
        }
        for (size_t i = 0; i < w->lease_count; i++)
            assert_int_not_equal(w->leases[i].state, LEASE_WAITING);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whole_gpus_are_given_once),
        TEST(memory_is_shared_up_to_the_room),
        TEST(what_a_program_holds_counts_once),
        TEST(who_came_first_is_served_first),
        TEST(who_waits_for_one_gpu_keeps_others_off_that_one_alone),
        TEST(what_can_never_be_is_said_at_once),
        TEST(what_is_not_known_is_not_given),
        TEST(programs_without_a_lease_keep_it_from_being_had_alone),
        TEST(a_reservation_is_for_its_user_and_its_time),
        TEST(own_reservations_are_used_first_and_not_counted_twice),
        TEST(room_that_was_given_away_is_counted_until_it_is_used),
        TEST(instances_are_gpus_of_their_own),
        TEST(no_room_is_given_twice),
    };
    return RUN_TESTS(tests);
}
