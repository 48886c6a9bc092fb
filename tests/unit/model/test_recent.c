/* SPDX-License-Identifier: Apache-2.0
 * The recent past of a GPU: points that are thinned, processes that are followed, settings from before a suspend.
 */
#include "model/recent.h"

#include "test.h"

static struct snapshot *sample(int64_t at_s)
{
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    s->taken_at.ms = at_s * 1000;
    s->gpus[0].processes_state = READING_OK;
    s->gpus[0].util_permille = reading_ok(at_s);
    return s;
}

static struct process *with_process(struct snapshot *s, int32_t pid, int64_t start_key, int64_t share, int64_t mem_bytes)
{
    struct process *p = gpu_add_process(&s->gpus[0], pid);
    assert_non_null(p);
    p->start_key = start_key;
    p->util_permille = reading_ok(share);
    p->mem_bytes = reading_ok(mem_bytes);
    return p;
}

static void points_are_thinned_and_reach_back_ten_minutes(void **state)
{
    (void)state;
    struct recent r = {0};
    enum { SECONDS = 1000 };
    for (int at = 1; at <= SECONDS; at++) {
        AUTO_SNAPSHOT const struct snapshot *s = sample(at);
        recent_add(&r, NULL, s);
        assert_true(r.gpus[0].count <= RECENT_POINTS);
    }
    const struct recent_gpu *past = &r.gpus[0];
    assert_int_equal(past->points[past->count - 1].at.ms, SECONDS * 1000);
    assert_true(past->points[0].at.ms <= (SECONDS - 600) * 1000);
    for (size_t i = 1; i < past->count; i++)
        assert_true(past->points[i].at.ms > past->points[i - 1].at.ms);
    for (size_t i = past->count - RECENT_POINTS / 4; i < past->count; i++) /* the newest are all there */
        assert_int_equal(past->points[i].at.ms, past->points[i - 1].at.ms + 1000);
    recent_done(&r);
}

static void a_gpu_that_cannot_be_read_adds_no_point(void **state)
{
    (void)state;
    struct recent r = {0};
    struct snapshot *s = sample(1);
    gpu_mark_state(&s->gpus[0], GPU_LOST, "fell off the bus");
    recent_add(&r, NULL, s);
    assert_int_equal(r.gpus[0].count, 0);
    snapshot_unref(s);
    recent_done(&r);
}

static void a_process_that_ended_keeps_what_it_did(void **state)
{
    (void)state;
    struct recent r = {0};
    struct snapshot *a = sample(1), *b = sample(2), *c = sample(3);
    with_process(a, 10, 7, 800, 1);
    with_process(b, 10, 7, 20, 1);
    recent_add(&r, NULL, a);
    recent_add(&r, a, b);
    assert_int_equal(r.ended_count, 0);
    recent_add(&r, b, c);
    assert_int_equal(r.ended_count, 1);
    const struct recent_process *ended = &r.ended[0];
    assert_int_equal(ended->last.pid, 10);
    assert_int_equal(ended->last_seen.ms, 2000);
    assert_int_equal(ended->missed_at.ms, 3000);
    assert_int_equal(ended->worked_at.ms, 1000); /* 2% of a GPU is no work */
    assert_int_equal(ended->mean_util_permille.value, 410);
    assert_int_equal(r.gpus[0].share_count, 0);
    snapshot_unref(a), snapshot_unref(b), snapshot_unref(c);
    recent_done(&r);
}

static void a_pid_of_another_process_is_not_the_same(void **state)
{
    (void)state;
    struct recent r = {0};
    struct snapshot *a = sample(1), *b = sample(2);
    with_process(a, 10, 7, 800, 1);
    const struct process *fresh = with_process(b, 10, 8, 100, 1);
    recent_add(&r, NULL, a);
    recent_add(&r, a, b);
    assert_int_equal(r.ended_count, 1);
    const struct recent_share *share = recent_share_of(&r.gpus[0], fresh);
    assert_non_null(share);
    assert_int_equal(share->first_seen.ms, 2000);
    assert_int_equal(share->sum_permille, 100);
    assert_null(recent_share_of(NULL, fresh));
    snapshot_unref(a), snapshot_unref(b);
    recent_done(&r);
}

/* A list that could not be read says nothing about who left. */
static void without_a_list_no_process_has_ended(void **state)
{
    (void)state;
    struct recent r = {0};
    struct snapshot *a = sample(1), *b = sample(2);
    const struct process *p = with_process(a, 10, 7, 800, 1);
    b->gpus[0].processes_state = READING_DENIED;
    recent_add(&r, NULL, a);
    recent_add(&r, a, b);
    assert_int_equal(r.ended_count, 0);
    assert_non_null(recent_share_of(&r.gpus[0], p));
    snapshot_unref(a), snapshot_unref(b);
    recent_done(&r);
}

static void memory_is_marked_from_the_beginning_only_of_a_process_that_came(void **state)
{
    (void)state;
    struct recent r = {0};
    struct snapshot *a = sample(1), *b = sample(2);
    with_process(a, 10, 7, 0, 5000);
    const struct process *old = with_process(b, 10, 7, 0, 5000), *came = with_process(b, 11, 8, 0, 3000);
    old = gpu_find_process(&b->gpus[0], 10); /* the list may have moved */
    recent_add(&r, NULL, a);
    recent_add(&r, a, b);
    assert_int_equal(recent_share_of(&r.gpus[0], old)->older.mem_bytes, 5000);
    assert_int_equal(recent_share_of(&r.gpus[0], came)->older.mem_bytes, 0);
    snapshot_unref(a), snapshot_unref(b);
    recent_done(&r);
}

static void only_the_newest_of_many_that_ended_are_kept(void **state)
{
    (void)state;
    struct recent r = {0};
    const struct snapshot *previous = NULL;
    for (int at = 1; at <= RECENT_ENDED + 10; at++) {
        struct snapshot *s = sample(at);
        with_process(s, 100 + at, at, 500, 1);
        recent_follow(&r, previous, s);
        snapshot_unref(previous);
        previous = s;
    }
    snapshot_unref(previous);
    assert_int_equal(r.ended_count, RECENT_ENDED);
    assert_int_equal(r.ended[RECENT_ENDED - 1].last.pid, 100 + RECENT_ENDED + 9);
    recent_done(&r);
}

static void settings_from_before_a_suspend_are_kept(void **state)
{
    (void)state;
    struct recent r = {0};
    struct snapshot *a = sample(1), *b = sample(4000);
    a->gpus[0].power_limit_mw = reading_ok(250000);
    b->gpus[0].power_limit_mw = reading_ok(450000);
    b->suspended_ms = 3000000;
    recent_add(&r, NULL, a);
    assert_int_equal(r.gpus[0].resumed_at.ms, 0);
    recent_add(&r, a, b);
    assert_int_equal(r.gpus[0].resumed_at.ms, 4000000);
    assert_int_equal(r.gpus[0].before_suspend.power_limit_mw.value, 250000);
    snapshot_unref(a), snapshot_unref(b);
    recent_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(points_are_thinned_and_reach_back_ten_minutes), TEST(a_gpu_that_cannot_be_read_adds_no_point),
        TEST(a_process_that_ended_keeps_what_it_did),        TEST(a_pid_of_another_process_is_not_the_same),
        TEST(without_a_list_no_process_has_ended),           TEST(memory_is_marked_from_the_beginning_only_of_a_process_that_came),
        TEST(only_the_newest_of_many_that_ended_are_kept),   TEST(settings_from_before_a_suspend_are_kept),
    };
    return RUN_TESTS(tests);
}
