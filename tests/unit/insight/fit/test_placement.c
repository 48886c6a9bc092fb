/* SPDX-License-Identifier: Apache-2.0 */
#include "insight/fit/placement.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "test.h"

static struct capacity *machine(size_t count, const int64_t *free_gib)
{
    struct capacity *c = capacity_alloc(count);
    for (size_t i = 0; i < count; i++) {
        c->gpus[i] = (struct capacity_gpu){.index = (int)i, .instance = -1, .usable = true};
        snprintf(c->gpus[i].id.vendor, sizeof c->gpus[i].id.vendor, "nvidia");
        c->gpus[i].total_bytes = reading_ok(80 * GIB_BYTES);
        c->gpus[i].free_bytes = c->gpus[i].available_bytes = reading_ok(free_gib[i] * GIB_BYTES);
    }
    return c;
}

static void hold(struct capacity *c, const char *worker, int gpu, int64_t gib, bool evictable)
{
    struct capacity_hold *h = &c->holds[c->hold_count++];
    *h = (struct capacity_hold){.gpu_index = gpu, .bytes = gib * GIB_BYTES, .evictable = evictable};
    snprintf(h->worker, sizeof h->worker, "%s", worker);
    c->guard_known = true;
}

#define ALL .only = -1

static void the_tightest_gpu_that_is_enough_is_taken(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(3, (int64_t[]){40, 24, 10});
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 20 * GIB_BYTES, ALL});
    assert_int_equal(p->verdict, PLACEMENT_FITS);
    assert_int_equal(p->copies[0].share_count, 1);
    assert_int_equal(p->copies[0].shares[0].gpu, 1);
    assert_int_equal(p->missing_bytes, 0);
    assert_string_equal(p->reason, "20.0 GiB fit on GPU 1, where 24.0 GiB are available; that is the tightest room that is enough");
}

static void a_gpu_at_rest_is_taken_before_a_busy_one(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(2, (int64_t[]){24, 40});
    c->gpus[0].util_permille = reading_ok(970);
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 20 * GIB_BYTES, ALL});
    assert_int_equal(p->copies[0].shares[0].gpu, 1);
    assert_non_null(strstr(p->reason, "GPU 0 has room too but is busy (97%)"));
}

static void what_no_gpu_can_hold_alone_is_split_over_as_few_as_possible(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(4, (int64_t[]){10, 30, 20, 5});
    AUTO_FREE struct placement *p =
        placement_find(c, &(struct placement_request){.bytes = 45 * GIB_BYTES, .fixed_bytes = GIB_BYTES, ALL});
    assert_int_equal(p->verdict, PLACEMENT_FITS);
    assert_int_equal(p->copies[0].share_count, 2);
    assert_int_equal(p->copies[0].shares[0].gpu, 1);
    assert_int_equal(p->copies[0].shares[1].gpu, 2);
    assert_true(p->copies[0].shares[0].bytes + p->copies[0].shares[1].bytes == 47 * GIB_BYTES);
    AUTO_FREE struct placement *large = placement_find(c, &(struct placement_request){.bytes = 66 * GIB_BYTES, ALL});
    assert_int_equal(large->verdict, PLACEMENT_DOES_NOT_FIT);
    assert_true(large->missing_bytes == GIB_BYTES);
}

static void layers_stay_whole(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(2, (int64_t[]){10, 10});
    int64_t layers[] = {6 * GIB_BYTES, 6 * GIB_BYTES, 6 * GIB_BYTES};
    AUTO_FREE struct placement *no =
        placement_find(c, &(struct placement_request){.bytes = 18 * GIB_BYTES, .layers = layers, .layer_count = 3, ALL});
    assert_int_equal(no->verdict, PLACEMENT_DOES_NOT_FIT); /* 20 GiB are free, but one layer has no place */
    assert_true(no->missing_bytes > 0);
    AUTO_FREE struct placement *yes =
        placement_find(c, &(struct placement_request){.bytes = 12 * GIB_BYTES, .layers = layers, .layer_count = 2, ALL});
    assert_int_equal(yes->verdict, PLACEMENT_FITS);
    assert_int_equal(yes->copies[0].shares[0].layers, 1);
    assert_int_equal(yes->copies[0].shares[1].layers, 1);
}

static void equal_shares_need_room_on_each(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(2, (int64_t[]){30, 10});
    struct placement_request request = {.bytes = 30 * GIB_BYTES, .gpus = 2, .even = true, ALL};
    AUTO_FREE struct placement *p = placement_find(c, &request);
    assert_int_equal(p->verdict, PLACEMENT_DOES_NOT_FIT);
    assert_true(p->missing_bytes == 5 * GIB_BYTES);
    request.even = false;
    AUTO_FREE struct placement *q = placement_find(c, &request);
    assert_int_equal(q->verdict, PLACEMENT_FITS);
    assert_int_equal(q->copies[0].share_count, 2);
}

static void copies_are_spread_before_they_share_a_gpu(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(2, (int64_t[]){30, 20});
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 10 * GIB_BYTES, .count = 3, ALL});
    assert_int_equal(p->verdict, PLACEMENT_FITS);
    assert_int_equal(p->copy_count, 3);
    assert_int_not_equal(p->copies[0].shares[0].gpu, p->copies[1].shares[0].gpu);
    AUTO_FREE struct placement *q = placement_find(c, &(struct placement_request){.bytes = 10 * GIB_BYTES, .count = 7, ALL});
    assert_int_equal(q->verdict, PLACEMENT_DOES_NOT_FIT);
    assert_true(q->missing_bytes == 20 * GIB_BYTES);
}

static void only_those_workers_are_evicted_that_must_be(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(2, (int64_t[]){10, 4});
    hold(c, "ollama", 0, 12, true);
    hold(c, "comfy", 1, 30, true);
    hold(c, "train", 0, 20, false);
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 20 * GIB_BYTES, .gpus = 1, ALL});
    assert_int_equal(p->verdict, PLACEMENT_FITS);
    assert_int_equal(p->evicted_count, 1);
    assert_string_equal(p->evicted[0], "ollama");
    assert_non_null(strstr(p->reason, "once ollama is evicted"));
    AUTO_FREE struct placement *now =
        placement_find(c, &(struct placement_request){.bytes = 20 * GIB_BYTES, .gpus = 1, .no_eviction = true, ALL});
    assert_int_equal(now->verdict, PLACEMENT_DOES_NOT_FIT);
    assert_true(now->missing_bytes == 10 * GIB_BYTES);
    AUTO_FREE struct placement *never = placement_find(c, &(struct placement_request){.bytes = 36 * GIB_BYTES, .gpus = 1, ALL});
    assert_int_equal(never->verdict, PLACEMENT_DOES_NOT_FIT); /* the one that cannot be evicted stays */
    assert_true(never->missing_bytes == 2 * GIB_BYTES);
}

static void splitting_disturbs_no_process_and_comes_before_evicting(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(2, (int64_t[]){12, 12});
    hold(c, "ollama", 0, 60, true);
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 20 * GIB_BYTES, ALL});
    assert_int_equal(p->evicted_count, 0);
    assert_int_equal(p->copies[0].share_count, 2);
}

static void the_reserve_stays_free(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(1, (int64_t[]){10});
    c->gpus[0].reserve_bytes = 2 * GIB_BYTES;
    c->gpus[0].available_bytes = reading_ok(8 * GIB_BYTES);
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 9 * GIB_BYTES, ALL});
    assert_int_equal(p->verdict, PLACEMENT_DOES_NOT_FIT);
    assert_true(p->missing_bytes == GIB_BYTES);
    assert_non_null(strstr(p->reason, "2.0 GiB are reserved"));
}

static void unknown_memory_never_makes_it_fit(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(2, (int64_t[]){10, 40});
    c->gpus[1].free_bytes = c->gpus[1].available_bytes = reading_absent(READING_ASLEEP);
    snprintf(c->gpus[1].problem, sizeof c->gpus[1].problem, "it sleeps");
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 20 * GIB_BYTES, ALL});
    assert_int_equal(p->verdict, PLACEMENT_UNKNOWN);
    assert_int_equal(p->missing_bytes, -1);
    assert_string_equal(p->reason, "it may fit on GPU 1 (it sleeps); it does not fit on the others");
    AUTO_FREE struct placement *q = placement_find(c, &(struct placement_request){.bytes = 8 * GIB_BYTES, ALL});
    assert_int_equal(q->verdict, PLACEMENT_FITS);
    AUTO_FREE struct placement *only = placement_find(c, &(struct placement_request){.bytes = 20 * GIB_BYTES, .only = 0});
    assert_int_equal(only->verdict, PLACEMENT_DOES_NOT_FIT);
}

static void what_is_larger_than_the_whole_gpu_never_may_fit(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(2, (int64_t[]){0, 0});
    for (size_t i = 0; i < 2; i++) {
        c->gpus[i].total_bytes = reading_ok(8 * GIB_BYTES);
        c->gpus[i].free_bytes = c->gpus[i].available_bytes = reading_absent(READING_DENIED);
        snprintf(c->gpus[i].problem, sizeof c->gpus[i].problem, "free memory unknown");
    }
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 40 * GIB_BYTES, ALL});
    assert_int_equal(p->verdict, PLACEMENT_DOES_NOT_FIT);
    assert_true(p->missing_bytes == 24 * GIB_BYTES);
    assert_string_equal(p->reason, "GPU 0 has 8.0 GiB in all, GPU 1 has 8.0 GiB in all");
    AUTO_FREE struct placement *split = placement_find(c, &(struct placement_request){.bytes = 12 * GIB_BYTES, ALL});
    assert_int_equal(split->verdict, PLACEMENT_UNKNOWN);
    assert_int_equal(split->copy_count, 0);
    AUTO_FREE struct placement *whole = placement_find(c, &(struct placement_request){.bytes = 12 * GIB_BYTES, .whole = true, ALL});
    assert_int_equal(whole->verdict, PLACEMENT_DOES_NOT_FIT);
    c->gpus[1].total_bytes = reading_absent(READING_DENIED); /* nothing speaks against that one */
    AUTO_FREE struct placement *any = placement_find(c, &(struct placement_request){.bytes = 40 * GIB_BYTES, ALL});
    assert_int_equal(any->verdict, PLACEMENT_UNKNOWN);
}

static void no_gpu_and_broken_gpus_are_said(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *none = machine(0, NULL);
    AUTO_FREE struct placement *p = placement_find(none, &(struct placement_request){.bytes = GIB_BYTES, ALL});
    assert_int_equal(p->verdict, PLACEMENT_DOES_NOT_FIT);
    assert_true(p->missing_bytes == GIB_BYTES);
    assert_string_equal(p->reason, "there is no GPU here");
    AUTO_FREE struct capacity *c = machine(1, (int64_t[]){10});
    c->gpus[0].usable = false;
    snprintf(c->gpus[0].problem, sizeof c->gpus[0].problem, "GPU is lost");
    AUTO_FREE struct placement *q = placement_find(c, &(struct placement_request){.bytes = GIB_BYTES, ALL});
    assert_int_equal(q->verdict, PLACEMENT_DOES_NOT_FIT);
    assert_string_equal(q->reason, "GPU 0 cannot be used (GPU is lost)");
}

static void makers_and_instances_are_not_mixed(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(3, (int64_t[]){10, 10, 10});
    snprintf(c->gpus[1].id.vendor, sizeof c->gpus[1].id.vendor, "amd");
    c->gpus[2].instance = 0;
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 15 * GIB_BYTES, ALL});
    assert_int_equal(p->verdict, PLACEMENT_DOES_NOT_FIT);
    AUTO_FREE struct placement *q = placement_find(c, &(struct placement_request){.bytes = 9 * GIB_BYTES, .count = 3, ALL});
    assert_int_equal(q->verdict, PLACEMENT_FITS);
}

static void requests_without_sense_are_refused(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(1, (int64_t[]){10});
    assert_null(placement_find(c, &(struct placement_request){.bytes = -1, ALL}));
    assert_null(placement_find(c, &(struct placement_request){.bytes = INT64_MAX, ALL}));
    assert_null(placement_find(c, &(struct placement_request){.bytes = 1, .count = PLACEMENT_COPIES_MAX + 1, ALL}));
    assert_null(placement_find(c, &(struct placement_request){.bytes = 1, .gpus = PLACEMENT_GPUS_MAX + 1, ALL}));
}

/* ---- what holds for every machine and every request ---- */

static uint64_t dice_state;

static int64_t dice(int64_t sides)
{
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return (int64_t)(dice_state % (uint64_t)sides);
}

static struct capacity *random_machine(void)
{
    size_t count = (size_t)dice(7);
    struct capacity *c = capacity_alloc(count);
    for (size_t i = 0; i < count; i++) {
        struct capacity_gpu *g = &c->gpus[i];
        *g = (struct capacity_gpu){.index = (int)i, .instance = dice(10) ? -1 : 0, .usable = dice(8) != 0};
        snprintf(g->id.vendor, sizeof g->id.vendor, "%s", dice(4) ? "nvidia" : "amd");
        int64_t total = (dice(80) + 8) * GIB_BYTES, used = dice(total);
        g->total_bytes = reading_ok(total);
        g->reserve_bytes = dice(3) ? 0 : dice(4 * GIB_BYTES);
        g->free_bytes = dice(9) ? reading_ok(total - used) : reading_absent(READING_FAILED);
        g->available_bytes = g->free_bytes;
        if (g->free_bytes.state == READING_OK)
            g->available_bytes.value = MAX_OF(g->free_bytes.value - g->reserve_bytes, 0);
        g->util_permille = dice(3) ? reading_ok(dice(1001)) : reading_absent(READING_UNSUPPORTED);
        int64_t left = used;
        for (int w = 0; w < 2 && left > 0 && dice(2); w++) {
            char name[16];
            snprintf(name, sizeof name, "w%d", (int)dice(4));
            struct capacity_hold *h = &c->holds[c->hold_count++];
            *h = (struct capacity_hold){.gpu_index = (int)i, .bytes = dice(left), .evictable = dice(4) != 0};
            snprintf(h->worker, sizeof h->worker, "%s", name);
            left -= h->bytes;
        }
    }
    c->guard_known = true;
    return c;
}

/* A worker is evictable on all of its GPUs or on none. */
static void settle_workers(struct capacity *c)
{
    for (size_t i = 0; i < c->hold_count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(c->holds[i].worker, c->holds[k].worker) == 0)
                c->holds[i].evictable = c->holds[k].evictable;
}

static bool gone(const struct placement *p, const char *worker)
{
    for (size_t i = 0; i < p->evicted_count; i++)
        if (strcmp(p->evicted[i], worker) == 0)
            return true;
    return false;
}

/* Nowhere more than the driver's free memory, less the reserve, plus what the named workers give back. */
static void assert_not_overcommitted(const struct capacity *c, const struct placement_request *request, const struct placement *p)
{
    int64_t taken[8] = {0};
    for (size_t k = 0; k < p->copy_count; k++) {
        int64_t sum = 0;
        for (size_t i = 0; i < p->copies[k].share_count; i++) {
            const struct placement_share *s = &p->copies[k].shares[i];
            assert_true(c->gpus[s->gpu].usable);
            assert_int_equal(c->gpus[s->gpu].free_bytes.state, READING_OK);
            assert_true(s->bytes >= request->fixed_bytes);
            taken[s->gpu] += s->bytes;
            sum += s->bytes;
            assert_string_equal(c->gpus[s->gpu].id.vendor, c->gpus[p->copies[k].shares[0].gpu].id.vendor);
        }
        assert_true(sum >= request->bytes + (int64_t)p->copies[k].share_count * request->fixed_bytes);
        if (request->gpus)
            assert_int_equal(p->copies[k].share_count, request->gpus);
    }
    for (size_t i = 0; i < c->gpu_count; i++) {
        int64_t room = reading_or(c->gpus[i].free_bytes, 0) - c->gpus[i].reserve_bytes;
        for (size_t h = 0; c->gpus[i].instance < 0 && h < c->hold_count; h++)
            if (c->holds[h].gpu_index == c->gpus[i].index && gone(p, c->holds[h].worker)) {
                assert_true(c->holds[h].evictable);
                room += c->holds[h].bytes;
            }
        assert_true(taken[i] <= MAX_OF(room, 0));
    }
}

static struct placement_request random_request(void)
{
    return (struct placement_request){
        .bytes = dice(120 * GIB_BYTES),
        .fixed_bytes = dice(2) ? dice(GIB_BYTES) : 0,
        .gpus = dice(3) ? 0 : (int)dice(4),
        .count = (int)dice(4),
        .even = dice(4) == 0,
        .no_eviction = dice(3) == 0,
        .only = -1,
    };
}

static void nothing_is_ever_overcommitted(void **state)
{
    (void)state;
    dice_state = 20261115;
    size_t fits = 0, evicted = 0, unknown = 0;
    for (int i = 0; i < 20000; i++) {
        AUTO_FREE struct capacity *c = random_machine();
        settle_workers(c);
        struct placement_request request = random_request();
        AUTO_FREE struct placement *p = placement_find(c, &request);
        assert_non_null(p);
        assert_true(p->reason[0] != '\0');
        assert_not_overcommitted(c, &request, p);
        assert_true((p->verdict == PLACEMENT_FITS) == (p->missing_bytes == 0));
        assert_true((p->verdict == PLACEMENT_FITS) == (p->copy_count == (size_t)MAX_OF(request.count, 1)));
        assert_false(request.no_eviction && p->evicted_count);
        fits += p->verdict == PLACEMENT_FITS;
        evicted += p->evicted_count > 0;
        unknown += p->verdict == PLACEMENT_UNKNOWN;
    }
    /* The dice reach every kind of answer. */
    assert_true(fits > 2000 && evicted > 300 && unknown > 500);
}

static void what_fits_also_fits_when_it_is_smaller(void **state)
{
    (void)state;
    dice_state = 777;
    for (int i = 0; i < 5000; i++) {
        AUTO_FREE struct capacity *c = random_machine();
        settle_workers(c);
        struct placement_request request = random_request();
        AUTO_FREE struct placement *p = placement_find(c, &request);
        struct placement_request less = request;
        less.bytes = request.bytes ? dice(request.bytes) : 0;
        AUTO_FREE struct placement *q = placement_find(c, &less);
        if (p->verdict == PLACEMENT_FITS) {
            assert_int_equal(q->verdict, PLACEMENT_FITS);
            if (!p->evicted_count) {
                assert_int_equal(q->evicted_count, 0);
                assert_true(q->copies[0].share_count <= p->copies[0].share_count);
            }
        }
        /* With what is said to be missing added to the roomiest GPU, a single copy on one GPU does fit. */
        if (p->verdict == PLACEMENT_DOES_NOT_FIT && request.count <= 1 && request.gpus == 1 && q->verdict != PLACEMENT_FITS)
            assert_true(q->missing_bytes <= p->missing_bytes);
    }
}

static void fewer_gpus_would_not_have_been_enough(void **state)
{
    (void)state;
    dice_state = 4711;
    for (int i = 0; i < 5000; i++) {
        AUTO_FREE struct capacity *c = random_machine();
        settle_workers(c);
        struct placement_request request = random_request();
        request.gpus = 0;
        request.count = 1;
        request.no_eviction = true;
        AUTO_FREE struct placement *p = placement_find(c, &request);
        for (int n = 1; p->verdict == PLACEMENT_FITS && n < (int)p->copies[0].share_count; n++) {
            request.gpus = n;
            AUTO_FREE struct placement *fewer = placement_find(c, &request);
            assert_int_not_equal(fewer->verdict, PLACEMENT_FITS);
        }
    }
}

static void no_worker_is_evicted_without_need(void **state)
{
    (void)state;
    dice_state = 99;
    for (int i = 0; i < 5000; i++) {
        AUTO_FREE struct capacity *c = random_machine();
        settle_workers(c);
        struct placement_request request = random_request();
        request.no_eviction = false;
        AUTO_FREE struct placement *p = placement_find(c, &request);
        for (size_t e = 0; e < p->evicted_count; e++) {
            /* The same machine, on which this worker cannot be evicted and which has no processes but those named. */
            AUTO_FREE struct capacity *without = machine(0, NULL);
            free(without);
            without = capacity_alloc(c->gpu_count);
            memcpy(without, c, sizeof *c + c->gpu_count * sizeof c->gpus[0]);
            for (size_t h = 0; h < without->hold_count; h++)
                without->holds[h].evictable =
                    gone(p, without->holds[h].worker) && strcmp(without->holds[h].worker, p->evicted[e]) != 0;
            AUTO_FREE struct placement *q = placement_find(without, &request);
            assert_int_not_equal(q->verdict, PLACEMENT_FITS);
        }
    }
}

static void without_a_word_about_division_a_request_stays_whole(void **state)
{
    (void)state;
    AUTO_FREE struct capacity *c = machine(2, (int64_t[]){20, 16});
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = 24 * GIB_BYTES, .whole = true, ALL});
    assert_int_equal(p->verdict, PLACEMENT_DOES_NOT_FIT);
    assert_int_equal(p->missing_bytes, 4 * GIB_BYTES); /* on the roomiest one */
    assert_int_equal(p->could_split, 2);
    assert_non_null(strstr(p->reason, "4.0 GiB are missing on one GPU"));
    assert_non_null(strstr(p->reason, "split over 2 GPUs it would fit"));
    AUTO_FREE struct placement *large = placement_find(c, &(struct placement_request){.bytes = 40 * GIB_BYTES, .whole = true, ALL});
    assert_int_equal(large->could_split, 0);
    AUTO_FREE struct placement *small = placement_find(c, &(struct placement_request){.bytes = 18 * GIB_BYTES, .whole = true, ALL});
    assert_int_equal(small->verdict, PLACEMENT_FITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_word_about_division_a_request_stays_whole),
        TEST(the_tightest_gpu_that_is_enough_is_taken),
        TEST(a_gpu_at_rest_is_taken_before_a_busy_one),
        TEST(what_no_gpu_can_hold_alone_is_split_over_as_few_as_possible),
        TEST(layers_stay_whole),
        TEST(equal_shares_need_room_on_each),
        TEST(copies_are_spread_before_they_share_a_gpu),
        TEST(only_those_workers_are_evicted_that_must_be),
        TEST(splitting_disturbs_no_process_and_comes_before_evicting),
        TEST(the_reserve_stays_free),
        TEST(unknown_memory_never_makes_it_fit),
        TEST(what_is_larger_than_the_whole_gpu_never_may_fit),
        TEST(no_gpu_and_broken_gpus_are_said),
        TEST(makers_and_instances_are_not_mixed),
        TEST(requests_without_sense_are_refused),
        TEST(nothing_is_ever_overcommitted),
        TEST(what_fits_also_fits_when_it_is_smaller),
        TEST(fewer_gpus_would_not_have_been_enough),
        TEST(no_worker_is_evicted_without_need),
    };
    return RUN_TESTS(tests);
}
