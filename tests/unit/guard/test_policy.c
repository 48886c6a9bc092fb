/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/policy.h"

#include "test.h"

/* A guard under test: facts are set, time is moved, and each step's action is looked at. */
struct rig {
    struct guard_policy p;
    struct guard_limits limits;
    struct guard_facts f;
    struct mono now;
};

static struct rig rig(void)
{
    return (struct rig){
        .limits = guard_limits_default,
        .f = {.claim = CLAIM_NONE, .worker = WORKER_ALIVE, .drained = true, .cool = true, .memory_enough = true},
        .now = {NS_PER_S},
    };
}

static enum guard_action step(struct rig *r, int64_t after_ms)
{
    r->now.ns += after_ms * NS_PER_MS;
    enum guard_action a = guard_step(&r->p, &r->limits, &r->f, r->now);
    r->f.command = COMMAND_NONE;
    return a;
}

static void to_paused(struct rig *r)
{
    r->f.claim = CLAIM_SURE;
    assert_int_equal(step(r, 0), GUARD_DO_DRAIN);
    assert_int_equal(step(r, 10), GUARD_DO_EVICT);
    r->f.step = STEP_DONE;
    assert_int_equal(step(r, 10), GUARD_DO_VERIFY);
    r->f.step = STEP_PENDING;
    r->f.memory_freed = true;
    step(r, 10);
    assert_int_equal(r->p.state, GUARD_PAUSED);
}

static void a_claim_counts_at_its_second_sighting(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.claim = CLAIM_SEEN;
    assert_int_equal(step(&r, 0), GUARD_DO_LOOK_AGAIN);
    assert_int_equal(step(&r, 400), GUARD_DO_NOTHING);
    assert_int_equal(step(&r, 100), GUARD_DO_DRAIN);
    assert_int_equal(r.p.state, GUARD_DRAINING);
}

static void a_claim_that_vanishes_between_two_looks_is_forgotten(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.claim = CLAIM_SEEN;
    step(&r, 0);
    r.f.claim = CLAIM_NONE;
    step(&r, 500);
    r.f.claim = CLAIM_SEEN;
    assert_int_equal(step(&r, 500), GUARD_DO_LOOK_AGAIN);
}

static void a_sure_claim_counts_at_once(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.claim = CLAIM_SURE;
    assert_int_equal(step(&r, 0), GUARD_DO_DRAIN);
}

static void work_in_flight_is_waited_for_but_not_for_ever(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.claim = CLAIM_SURE;
    r.f.drained = false;
    step(&r, 0);
    assert_int_equal(step(&r, 9000), GUARD_DO_NOTHING);
    assert_int_equal(step(&r, 1000), GUARD_DO_EVICT);
}

static void a_claim_that_ends_while_draining_opens_the_gate(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.claim = CLAIM_SURE;
    r.f.drained = false;
    step(&r, 0);
    r.f.claim = CLAIM_NONE;
    assert_int_equal(step(&r, 10), GUARD_DO_OPEN_GATE);
    assert_int_equal(r.p.state, GUARD_RUNNING);
}

static void unknown_neither_evicts_nor_resumes(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.claim = CLAIM_UNKNOWN;
    for (int i = 0; i < 100; i++)
        assert_int_equal(step(&r, 5000), GUARD_DO_NOTHING);
    r.f.claim = CLAIM_SURE;
    r.f.drained = false;
    step(&r, 0);
    r.f.claim = CLAIM_UNKNOWN;
    assert_int_equal(step(&r, 60000), GUARD_DO_NOTHING); /* drained long ago, but whether that is still needed is not known */
    r = rig();
    to_paused(&r);
    r.f.claim = CLAIM_UNKNOWN;
    for (int i = 0; i < 100; i++)
        assert_int_equal(step(&r, 5000), GUARD_DO_NOTHING);
    assert_int_equal(r.p.state, GUARD_PAUSED);
}

static void methods_are_tried_in_order_and_the_last_failure_gives_up(void **state)
{
    (void)state;
    struct rig r = rig();
    r.limits.methods = 2;
    r.f.claim = CLAIM_SURE;
    step(&r, 0);
    assert_int_equal(step(&r, 0), GUARD_DO_EVICT);
    r.f.step = STEP_FAILED;
    assert_int_equal(step(&r, 10), GUARD_DO_EVICT);
    assert_int_equal(r.p.method, 1);
    assert_int_equal(step(&r, 10), GUARD_DO_OPEN_GATE);
    assert_int_equal(r.p.state, GUARD_RUNNING);
    assert_true(r.p.gave_up);
    assert_int_equal(step(&r, 5000), GUARD_DO_NOTHING); /* the claim stands, but it is not hammered */
    assert_int_equal(step(&r, 30000), GUARD_DO_DRAIN);
}

static void memory_that_stays_held_leads_to_the_next_method_then_to_a_loud_pause(void **state)
{
    (void)state;
    struct rig r = rig();
    r.limits.methods = 2;
    r.f.claim = CLAIM_SURE;
    step(&r, 0);
    step(&r, 0);
    r.f.step = STEP_DONE;
    assert_int_equal(step(&r, 10), GUARD_DO_VERIFY);
    r.f.step = STEP_PENDING;
    assert_int_equal(step(&r, 4000), GUARD_DO_NOTHING);
    assert_int_equal(step(&r, 900), GUARD_DO_NOTHING);
    assert_int_equal(step(&r, 100), GUARD_DO_EVICT);
    r.f.step = STEP_DONE;
    step(&r, 10);
    r.f.step = STEP_PENDING;
    assert_int_equal(step(&r, 60000), GUARD_DO_NOTHING); /* the host stood still: one look is too few */
    assert_int_equal(step(&r, 250), GUARD_DO_NOTHING);
    step(&r, 250);
    assert_int_equal(r.p.state, GUARD_PAUSED);
    assert_true(r.p.not_freed);
}

static void it_returns_when_it_was_clear_long_enough_and_memory_suffices(void **state)
{
    (void)state;
    struct rig r = rig();
    to_paused(&r);
    r.f.claim = CLAIM_NONE;
    assert_int_equal(step(&r, 1000), GUARD_DO_NOTHING);
    assert_int_equal(step(&r, 29000), GUARD_DO_NOTHING);
    assert_int_equal(step(&r, 1000), GUARD_DO_RESERVE);
    r.f.memory_enough = false;
    for (int i = 0; i < 10; i++)
        assert_int_equal(step(&r, 60000), GUARD_DO_NOTHING);
    r.f.memory_enough = true;
    assert_int_equal(step(&r, 10), GUARD_DO_RESUME);
    r.f.step = STEP_DONE;
    assert_int_equal(step(&r, 900), GUARD_DO_OPEN_GATE);
    assert_int_equal(r.p.state, GUARD_RUNNING);
}

static void a_claim_while_reserving_goes_back_to_pause(void **state)
{
    (void)state;
    struct rig r = rig();
    to_paused(&r);
    r.f.claim = CLAIM_NONE;
    step(&r, 1);
    step(&r, 30000);
    assert_int_equal(r.p.state, GUARD_RESERVING);
    r.f.memory_enough = false;
    r.f.claim = CLAIM_SEEN;
    step(&r, 10);
    assert_int_equal(r.p.state, GUARD_PAUSED);
}

static void flapping_makes_it_more_patient(void **state)
{
    (void)state;
    struct rig r = rig();
    int64_t before = 0;
    for (int i = 0; i < 8; i++) {
        r.f.memory_freed = false;
        to_paused(&r);
        assert_true(r.p.leave_ms >= before && r.p.leave_ms <= r.limits.leave_longest_ms);
        before = r.p.leave_ms;
        r.f.claim = CLAIM_NONE;
        step(&r, 1);
        assert_int_equal(step(&r, r.p.leave_ms - 1), GUARD_DO_NOTHING);
        assert_int_equal(step(&r, 1), GUARD_DO_RESERVE);
        step(&r, 1);
        r.f.step = STEP_DONE;
        step(&r, 1);
        r.f.step = STEP_PENDING;
        step(&r, 1000);
    }
    assert_int_equal(before, r.limits.leave_longest_ms);
    step(&r, r.limits.flap_window_ms);
    r.f.memory_freed = false;
    to_paused(&r);
    assert_int_equal(r.p.leave_ms, r.limits.leave_clear_ms);
}

static void a_failed_resume_pauses_and_is_tried_later(void **state)
{
    (void)state;
    struct rig r = rig();
    to_paused(&r);
    r.f.claim = CLAIM_NONE;
    step(&r, 1);
    step(&r, 30000);
    step(&r, 1);
    assert_int_equal(r.p.state, GUARD_RESUMING);
    r.f.step = STEP_FAILED;
    step(&r, 1);
    assert_int_equal(r.p.state, GUARD_PAUSED);
    r.f.step = STEP_PENDING;
    step(&r, 1);
    assert_int_equal(step(&r, 30000), GUARD_DO_RESERVE);
}

static void a_person_can_hold_release_evict_and_resume(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.command = COMMAND_EVICT;
    assert_int_equal(step(&r, 0), GUARD_DO_DRAIN);
    step(&r, 1);
    r.f.step = STEP_DONE;
    step(&r, 1);
    r.f.step = STEP_PENDING;
    r.f.memory_freed = true;
    step(&r, 1);
    assert_int_equal(r.p.state, GUARD_PAUSED);
    assert_int_equal(step(&r, 3600000), GUARD_DO_NOTHING); /* stays as the person wants it */
    r.f.command = COMMAND_RESUME;
    r.f.claim = CLAIM_SEEN; /* even into a claim: a person decides */
    assert_int_equal(step(&r, 1), GUARD_DO_RESERVE);
    assert_int_equal(step(&r, 1), GUARD_DO_RESUME);
    r.f.step = STEP_DONE;
    step(&r, 1);
    r.f.step = STEP_PENDING;
    assert_int_equal(step(&r, 5000), GUARD_DO_NOTHING); /* and is not undone while that claim lasts */
    r.f.claim = CLAIM_NONE;
    step(&r, 1);
    r.f.claim = CLAIM_SURE;
    assert_int_equal(step(&r, 1), GUARD_DO_DRAIN);
}

static void heat_throttles_or_pauses_with_hysteresis(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.hot = true;
    r.f.cool = false;
    assert_int_equal(step(&r, 0), GUARD_DO_THROTTLE);
    r.f.hot = false;
    assert_int_equal(step(&r, 1), GUARD_DO_NOTHING); /* below the threshold, not yet below the hysteresis */
    r.f.cool = true;
    assert_int_equal(step(&r, 1), GUARD_DO_UNTHROTTLE);
    r.limits.hot_pauses = true;
    r.f.hot = true;
    r.f.cool = false;
    assert_int_equal(step(&r, 1), GUARD_DO_DRAIN);
}

static void a_worker_that_dies_is_noticed_in_any_resting_state(void **state)
{
    (void)state;
    struct rig r = rig();
    to_paused(&r);
    r.f.worker = WORKER_GONE;
    step(&r, 1);
    assert_int_equal(r.p.state, GUARD_ABSENT);
    r.f.worker = WORKER_ALIVE;
    step(&r, 1);
    assert_int_equal(r.p.state, GUARD_RUNNING);
}

static void a_restart_after_something_was_taken_away_is_a_pause(void **state)
{
    (void)state;
    struct guard_policy p;
    for (int s = 0; s < GUARD_STATES; s++) {
        guard_restore(&p, (enum guard_state)s, (struct mono){5});
        bool acted = s >= GUARD_EVICTING && s <= GUARD_RESUMING;
        assert_int_equal(p.state, acted ? GUARD_PAUSED : (enum guard_state)s);
    }
}

static void a_person_who_holds_after_a_resume_means_it(void **state)
{
    (void)state;
    struct rig r = rig();
    to_paused(&r);
    r.f.claim = CLAIM_SEEN;
    r.f.command = COMMAND_RESUME;
    r.f.step = STEP_DONE;
    for (int i = 0; i < 5 && r.p.state != GUARD_RUNNING; i++)
        step(&r, 10);
    assert_int_equal(r.p.state, GUARD_RUNNING); /* into the claim: a person said so */
    r.f.command = COMMAND_HOLD;
    assert_int_equal(step(&r, 10), GUARD_DO_DRAIN);
    assert_int_equal(step(&r, 10), GUARD_DO_EVICT);
}

static void a_fault_after_a_resume_is_not_answered_by_it(void **state)
{
    (void)state;
    struct rig r = rig();
    to_paused(&r);
    r.f.claim = CLAIM_SEEN;
    r.f.command = COMMAND_RESUME;
    r.f.step = STEP_DONE;
    for (int i = 0; i < 5 && r.p.state != GUARD_RUNNING; i++)
        step(&r, 10);
    assert_int_equal(r.p.state, GUARD_RUNNING);
    r.f.fault = true;
    assert_int_equal(step(&r, 10), GUARD_DO_DRAIN);
    assert_int_equal(step(&r, 10), GUARD_DO_EVICT);
    assert_false(r.p.forced);
}

static void a_person_who_holds_does_not_wait_for_the_next_try(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.claim = CLAIM_SURE;
    step(&r, 0);
    step(&r, 10);
    r.f.step = STEP_FAILED;
    step(&r, 10);
    assert_true(r.p.gave_up);
    assert_int_equal(step(&r, 10), GUARD_DO_NOTHING);
    r.f.command = COMMAND_HOLD;
    assert_int_equal(step(&r, 10), GUARD_DO_DRAIN);
}

static void memory_that_is_freed_late_is_free(void **state)
{
    (void)state;
    struct rig r = rig();
    r.f.claim = CLAIM_SURE;
    step(&r, 0);
    step(&r, 10);
    r.f.step = STEP_DONE;
    step(&r, 10);
    for (int i = 0; i < 3; i++)
        step(&r, r.limits.verify_ms);
    assert_int_equal(r.p.state, GUARD_PAUSED);
    assert_true(r.p.not_freed);
    r.f.memory_freed = true;
    assert_int_equal(step(&r, 10), GUARD_DO_NOTHING);
    assert_false(r.p.not_freed);
}

static void without_any_method_it_gives_up_and_says_so(void **state)
{
    (void)state;
    struct rig r = rig();
    r.limits.methods = 0;
    r.f.claim = CLAIM_SURE;
    step(&r, 0);
    assert_int_equal(step(&r, 10), GUARD_DO_OPEN_GATE);
    assert_true(r.p.state == GUARD_RUNNING && r.p.gave_up);
}

static void a_paused_worker_that_loaded_again_is_evicted_again(void **state)
{
    (void)state;
    struct rig r = rig();
    guard_evict_again(&r.p, r.now);
    assert_int_equal(r.p.state, GUARD_RUNNING); /* only a paused one */
    to_paused(&r);
    guard_evict_again(&r.p, r.now);
    assert_true(r.p.state == GUARD_EVICTING && r.p.method == 0);
    r.f.step = STEP_FAILED;
    step(&r, 10);
    assert_true(r.p.state == GUARD_RUNNING && r.p.gave_up);
}

/* ---- random histories ---- */

/* The drawing in policy.h, as a table: from (row) to (column), in the order of the states. */
static const char *const drawn[GUARD_STATES] = {
    [GUARD_RUNNING] = "rD.....A", [GUARD_DRAINING] = "RdE....A",  [GUARD_EVICTING] = "R.eV....", [GUARD_VERIFYING] = "..EvP..A",
    [GUARD_PAUSED] = "....pS.A",  [GUARD_RESERVING] = "....PsMA", [GUARD_RESUMING] = "R...P.m.", [GUARD_ABSENT] = "R......a",
};
static unsigned walked[GUARD_STATES][GUARD_STATES];

static uint32_t dice_state;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (dice_state >> 8) % sides;
}

static void random_facts(struct guard_facts *f)
{
    if (dice(3) == 0)
        f->claim = (enum claim_verdict)dice(4);
    f->worker = dice(60) == 0 ? WORKER_GONE : WORKER_ALIVE;
    f->drained = dice(2);
    f->step = (enum step_result)dice(3);
    f->memory_freed = dice(2);
    f->memory_enough = dice(2);
    uint32_t heat = dice(20);
    f->hot = heat == 0;
    f->cool = heat > 3;
    f->fault = dice(200) == 0;
    f->command = dice(40) == 0 ? (enum guard_command)dice(5) : COMMAND_NONE;
}

static void check_step(const struct guard_policy *before, const struct rig *r, enum guard_action a)
{
    const struct guard_facts *f = &r->f;
    bool person = before->held || before->evict_wanted || f->command == COMMAND_EVICT || f->command == COMMAND_HOLD;
    bool other_reason = person || f->fault || (f->hot && r->limits.hot_pauses);
    if (a == GUARD_DO_EVICT && before->state == GUARD_DRAINING && !other_reason)
        assert_true(f->claim == CLAIM_SEEN || f->claim == CLAIM_SURE); /* never evict on unknown, nor for nothing */
    if (a == GUARD_DO_RESUME) {
        bool forced = before->forced || f->command == COMMAND_RESUME;
        assert_true(f->claim == CLAIM_NONE ||
                    (forced && f->claim != CLAIM_UNKNOWN)); /* never into a claim unless a person says so */
        assert_true(f->memory_enough || before->not_freed);
    }
    /* Never two at once: while an action is under way no other begins. */
    if ((before->state == GUARD_EVICTING || before->state == GUARD_RESUMING) && f->step == STEP_PENDING)
        assert_int_equal(a, GUARD_DO_NOTHING);
    assert_true(r->p.method <= r->limits.methods);
    assert_true(r->p.leave_ms <= r->limits.leave_longest_ms);
}

/* From any state, a person who asks for it gets the worker back (or sees that it is gone). */
static void check_person_can_leave(struct rig r)
{
    r.f = (struct guard_facts){.claim = CLAIM_SEEN,
                               .worker = WORKER_ALIVE,
                               .drained = true,
                               .step = STEP_DONE,
                               .memory_freed = true,
                               .memory_enough = true,
                               .cool = true,
                               .command = COMMAND_RESUME};
    for (int i = 0; i < 20 && !(r.p.state == GUARD_RUNNING && i > 0); i++) {
        step(&r, 1000);
        if (r.p.state == GUARD_PAUSED) /* a step that was under way first came to its end */
            r.f.command = COMMAND_RESUME;
    }
    assert_int_equal(r.p.state, GUARD_RUNNING);
}

static void random_histories_keep_every_promise(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 1000; seed++) {
        dice_state = seed;
        struct rig r = rig();
        r.limits.methods = dice(4);
        r.limits.hot_pauses = dice(2);
        for (int i = 0; i < 300; i++) {
            random_facts(&r.f);
            struct guard_policy before = r.p;
            r.now.ns += (int64_t)(1 + dice(20000)) * NS_PER_MS;
            enum guard_action a = guard_step(&r.p, &r.limits, &r.f, r.now);
            check_step(&before, &r, a);
            assert_true(drawn[before.state][r.p.state] != '.');
            walked[before.state][r.p.state]++;
            if (dice(25) == 0)
                check_person_can_leave(r);
        }
    }
    for (int from = 0; from < GUARD_STATES; from++) /* none is only on paper */
        for (int to = 0; to < GUARD_STATES; to++)
            assert_true((drawn[from][to] != '.') == (walked[from][to] > 0));
}

static void to_idle(struct rig *r)
{
    r->limits.idle_ms = 20 * 60000;
    r->f.unasked_ms = 20 * 60000 - 1;
    assert_int_equal(step(r, 0), GUARD_DO_NOTHING);
    r->f.unasked_ms = 20 * 60000;
    assert_int_equal(step(r, 1), GUARD_DO_DRAIN);
    assert_int_equal(step(r, 1), GUARD_DO_EVICT);
    r->f.step = STEP_DONE;
    assert_int_equal(step(r, 10), GUARD_DO_VERIFY);
    r->f.step = STEP_PENDING;
    r->f.memory_freed = true;
    step(r, 10);
    assert_int_equal(r->p.state, GUARD_PAUSED);
    assert_true(r->p.idle);
}

static void a_worker_without_requests_is_unloaded_until_the_next_one(void **state)
{
    (void)state;
    struct rig r = rig();
    to_idle(&r);
    for (int i = 0; i < 100; i++)
        assert_int_equal(step(&r, 60000), GUARD_DO_NOTHING); /* free memory is no reason to come back */
    assert_int_equal(guard_resume_in_ms(&r.p, &r.limits, r.now), -1);
    r.f.asked = true;
    assert_int_equal(step(&r, 1), GUARD_DO_RESERVE); /* without clear_for and minimum_pause */
    assert_int_equal(step(&r, 1), GUARD_DO_RESUME);
    r.f.step = STEP_DONE;
    assert_int_equal(step(&r, 1), GUARD_DO_OPEN_GATE);
    assert_int_equal(r.p.state, GUARD_RUNNING);
    assert_false(r.p.idle || r.p.resumed); /* no flapping */
}

static void an_idle_worker_is_not_unloaded_under_a_request_that_just_came(void **state)
{
    (void)state;
    struct rig r = rig();
    r.limits.idle_ms = 1000;
    r.f.unasked_ms = 1000;
    assert_int_equal(step(&r, 0), GUARD_DO_DRAIN);
    r.f.asked = true;
    assert_int_equal(step(&r, 1), GUARD_DO_OPEN_GATE);
    assert_int_equal(r.p.state, GUARD_RUNNING);
    r.f.asked = false;
    assert_int_equal(step(&r, 1), GUARD_DO_DRAIN);
    r.f.drained = false;
    assert_int_equal(step(&r, 1), GUARD_DO_OPEN_GATE);
}

static void a_claim_on_the_gpu_makes_an_idle_pause_a_plain_one(void **state)
{
    (void)state;
    struct rig r = rig();
    to_idle(&r);
    r.f.claim = CLAIM_SEEN;
    r.f.asked = true;
    assert_int_equal(step(&r, 1), GUARD_DO_NOTHING); /* who asks waits for the other one */
    assert_false(r.p.idle);
    r.f.claim = CLAIM_NONE;
    r.f.asked = false;
    assert_int_equal(step(&r, 1), GUARD_DO_NOTHING);
    assert_int_equal(step(&r, r.limits.leave_clear_ms), GUARD_DO_RESERVE);
}

static void a_person_brings_an_idle_worker_back_and_unknown_unloads_nothing(void **state)
{
    (void)state;
    struct rig r = rig();
    to_idle(&r);
    r.f.command = COMMAND_RESUME;
    assert_int_equal(step(&r, 1), GUARD_DO_RESERVE);
    struct rig other = rig();
    other.limits.idle_ms = 1000;
    other.f.unasked_ms = 5000;
    other.f.claim = CLAIM_UNKNOWN;
    assert_int_equal(step(&other, 0), GUARD_DO_NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_claim_counts_at_its_second_sighting),
        TEST(a_claim_that_vanishes_between_two_looks_is_forgotten),
        TEST(a_sure_claim_counts_at_once),
        TEST(work_in_flight_is_waited_for_but_not_for_ever),
        TEST(a_claim_that_ends_while_draining_opens_the_gate),
        TEST(unknown_neither_evicts_nor_resumes),
        TEST(methods_are_tried_in_order_and_the_last_failure_gives_up),
        TEST(memory_that_stays_held_leads_to_the_next_method_then_to_a_loud_pause),
        TEST(it_returns_when_it_was_clear_long_enough_and_memory_suffices),
        TEST(a_claim_while_reserving_goes_back_to_pause),
        TEST(flapping_makes_it_more_patient),
        TEST(a_failed_resume_pauses_and_is_tried_later),
        TEST(a_person_can_hold_release_evict_and_resume),
        TEST(heat_throttles_or_pauses_with_hysteresis),
        TEST(a_worker_that_dies_is_noticed_in_any_resting_state),
        TEST(a_restart_after_something_was_taken_away_is_a_pause),
        TEST(a_person_who_holds_after_a_resume_means_it),
        TEST(a_fault_after_a_resume_is_not_answered_by_it),
        TEST(a_person_who_holds_does_not_wait_for_the_next_try),
        TEST(memory_that_is_freed_late_is_free),
        TEST(without_any_method_it_gives_up_and_says_so),
        TEST(a_paused_worker_that_loaded_again_is_evicted_again),
        TEST(a_worker_without_requests_is_unloaded_until_the_next_one),
        TEST(an_idle_worker_is_not_unloaded_under_a_request_that_just_came),
        TEST(a_claim_on_the_gpu_makes_an_idle_pause_a_plain_one),
        TEST(a_person_brings_an_idle_worker_back_and_unknown_unloads_nothing),
        TEST(random_histories_keep_every_promise),
    };
    return RUN_TESTS(tests);
}
