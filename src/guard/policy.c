/* SPDX-License-Identifier: Apache-2.0
 * The guard's state machine.
 */
#include "guard/policy.h"

#include "base/cleanup.h"

enum { VERIFY_LOOKS_LEAST = 3 };

const struct guard_limits guard_limits_default = {
    .second_look_ms = 500,
    .drain_ms = 10000,
    .verify_ms = 5000,
    .leave_clear_ms = 30000,
    .pause_min_ms = 10000,
    .flap_window_ms = 300000,
    .leave_longest_ms = 600000,
    .retry_ms = 30000,
    .methods = 1,
};

static const char *const state_names[GUARD_STATES] = {"running", "draining",  "evicting", "verifying",
                                                      "paused",  "reserving", "resuming", "absent"};

const char *guard_state_name(enum guard_state state)
{
    return state_names[state];
}

bool guard_state_from_name(const char *name, enum guard_state *ret)
{
    size_t i = NAME_FIND(state_names, str_from(name));
    if (i < ARRAY_LEN(state_names))
        *ret = (enum guard_state)i;
    return i < ARRAY_LEN(state_names);
}

static enum guard_action enter(struct guard_policy *p, enum guard_state state, struct mono now, enum guard_action action)
{
    p->state = state;
    p->since = now;
    return action;
}

static bool waited(struct mono since, int64_t ms, struct mono now)
{
    return mono_since_ms(now, since) >= ms;
}

/* A person's command holds until it is revoked. */
static void take_command(struct guard_policy *p, enum guard_command command)
{
    switch (command) {
    case COMMAND_NONE: break;
    case COMMAND_HOLD:
    case COMMAND_EVICT:
        if (command == COMMAND_HOLD)
            p->held = true;
        else
            p->evict_wanted = true;
        p->gave_up = p->forced = false; /* try at once, regardless of earlier commands */
        break;
    case COMMAND_RESUME:
        p->held = p->evict_wanted = false;
        p->forced = true;
        break;
    case COMMAND_RELEASE: p->held = p->evict_wanted = false; break;
    }
}

/* A person or a program wants the worker off the GPU now. A claim counts when seen twice; unknown never counts. */
static bool wants_eviction(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f, struct mono now,
                           enum guard_action *look)
{
    if (p->held || p->evict_wanted || f->fault || (f->hot && limits->hot_pauses))
        return true;
    if (p->forced) /* a person resumed it despite this claim: it stays until the claim ends */
        return false;
    if (f->claim == CLAIM_NONE)
        p->seen = false;
    if (f->claim == CLAIM_SURE)
        return true;
    if (f->claim != CLAIM_SEEN)
        return false;
    if (!p->seen) {
        p->seen = true;
        p->seen_at = now;
        *look = GUARD_DO_LOOK_AGAIN;
        return false;
    }
    return waited(p->seen_at, limits->second_look_ms, now);
}

/* Whether nothing prevents the worker's return. Unknown does: the GPU may be in use. */
static bool is_clear(const struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f)
{
    if (p->held || p->evict_wanted || f->fault || (limits->hot_pauses && !f->cool))
        return false;
    return f->claim == CLAIM_NONE || (p->forced && f->claim != CLAIM_UNKNOWN);
}

static enum guard_action throttle(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f)
{
    if (limits->hot_pauses)
        return GUARD_DO_NOTHING;
    if (f->hot && !p->throttled) {
        p->throttled = true;
        return GUARD_DO_THROTTLE;
    }
    if (f->cool && p->throttled) {
        p->throttled = false;
        return GUARD_DO_UNTHROTTLE;
    }
    return GUARD_DO_NOTHING;
}

static bool other_needs_gpu(const struct guard_facts *f)
{
    return f->claim == CLAIM_SEEN || f->claim == CLAIM_SURE;
}

/* No client asks: free the memory for others, and let the GPU idle. */
static enum guard_action unload_idle(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f,
                                     struct mono now)
{
    if (!limits->idle_ms || f->unasked_ms < limits->idle_ms || f->claim != CLAIM_NONE || p->forced ||
        (p->gave_up && !waited(p->gave_up_at, limits->retry_ms, now)))
        return GUARD_DO_NOTHING;
    p->gave_up = false;
    p->idle = true;
    p->method = 0;
    p->leave_ms = limits->leave_clear_ms;
    return enter(p, GUARD_DRAINING, now, GUARD_DO_DRAIN);
}

static enum guard_action running(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f,
                                 struct mono now)
{
    enum guard_action look = GUARD_DO_NOTHING;
    if (f->claim == CLAIM_NONE)
        p->forced = false;
    bool wanted = wants_eviction(p, limits, f, now, &look);
    if (!wanted) {
        enum guard_action action = look ? look : unload_idle(p, limits, f, now);
        return action ? action : throttle(p, limits, f);
    }
    p->idle = p->forced = false; /* a person's earlier command doesn't cover this heat or fault */
    if (p->gave_up && !waited(p->gave_up_at, limits->retry_ms, now))
        return throttle(p, limits, f);
    p->gave_up = p->seen = false;
    p->method = 0;
    if (p->resumed && !waited(p->resumed_at, limits->flap_window_ms, now))
        p->leave_ms = MIN_OF(MAX_OF(p->leave_ms, limits->leave_clear_ms) * 2, limits->leave_longest_ms);
    else
        p->leave_ms = limits->leave_clear_ms;
    return enter(p, GUARD_DRAINING, now, GUARD_DO_DRAIN);
}

static enum guard_action give_up(struct guard_policy *p, struct mono now)
{
    p->gave_up = true;
    p->gave_up_at = now;
    p->idle = false;
    p->evict_wanted = p->held = false; /* impossible: the person must ask again */
    return enter(p, GUARD_RUNNING, now, GUARD_DO_OPEN_GATE);
}

static enum guard_action draining(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f,
                                  struct mono now)
{
    bool person_or_heat = p->held || p->evict_wanted || f->fault || (f->hot && limits->hot_pauses);
    p->idle &= !person_or_heat && !other_needs_gpu(f) && !p->forced;
    if (p->idle && (f->asked || !f->drained)) { /* a client just asked */
        p->idle = false;
        return enter(p, GUARD_RUNNING, now, GUARD_DO_OPEN_GATE);
    }
    person_or_heat |= p->idle && f->claim == CLAIM_NONE;
    if (p->forced || (!person_or_heat && f->claim == CLAIM_NONE))
        return enter(p, GUARD_RUNNING, now, GUARD_DO_OPEN_GATE);
    if (!person_or_heat && f->claim == CLAIM_UNKNOWN)
        return GUARD_DO_NOTHING;
    if (!f->drained && !waited(p->since, limits->drain_ms, now))
        return GUARD_DO_NOTHING;
    if (limits->methods == 0)
        return give_up(p, now);
    return enter(p, GUARD_EVICTING, now, GUARD_DO_EVICT);
}

static enum guard_action next_method(struct guard_policy *p, const struct guard_limits *limits, struct mono now)
{
    p->method++;
    return p->method < limits->methods ? enter(p, GUARD_EVICTING, now, GUARD_DO_EVICT) : GUARD_DO_NOTHING;
}

static enum guard_action paused_now(struct guard_policy *p, bool freed, struct mono now)
{
    p->not_freed = !freed;
    p->clear = false;
    return enter(p, GUARD_PAUSED, now, GUARD_DO_NOTHING);
}

static enum guard_action evicting(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f,
                                  struct mono now)
{
    p->looks = 0;
    if (f->step == STEP_DONE)
        return enter(p, GUARD_VERIFYING, now, GUARD_DO_VERIFY);
    if (f->step == STEP_PENDING)
        return GUARD_DO_NOTHING;
    enum guard_action next = next_method(p, limits, now);
    return next ? next : give_up(p, now);
}

static enum guard_action verifying(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f,
                                   struct mono now)
{
    if (f->memory_freed)
        return paused_now(p, true, now);
    /* A single late look says nothing: on a stalled host, the worker had no time to free its memory, either. */
    if (++p->looks < VERIFY_LOOKS_LEAST || !waited(p->since, limits->verify_ms, now))
        return GUARD_DO_NOTHING;
    enum guard_action next = next_method(p, limits, now);
    /* A method acted, so the worker must be resumed through it later. Until then it is paused, with a prominent message. */
    return next ? next : paused_now(p, false, now);
}

static enum guard_action paused(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f,
                                struct mono now)
{
    if (f->memory_freed)
        p->not_freed = false;                                       /* it took a while */
    p->idle &= !other_needs_gpu(f) && !p->held && !p->evict_wanted; /* from now on it is an ordinary pause */
    bool clear = is_clear(p, limits, f);
    if (clear && !p->clear)
        p->clear_at = now;
    p->clear = clear;
    if (!clear)
        return GUARD_DO_NOTHING;
    if (p->forced)
        return enter(p, GUARD_RESERVING, now, GUARD_DO_RESERVE);
    if (p->resume_failed && !waited(p->resume_failed_at, limits->retry_ms, now))
        return GUARD_DO_NOTHING;
    if (p->idle) /* the client waits for nothing but the memory */
        return f->asked ? enter(p, GUARD_RESERVING, now, GUARD_DO_RESERVE) : GUARD_DO_NOTHING;
    int64_t leave_ms = MAX_OF(p->leave_ms, limits->leave_clear_ms);
    if (!waited(p->clear_at, leave_ms, now) || !waited(p->since, limits->pause_min_ms, now))
        return GUARD_DO_NOTHING;
    return enter(p, GUARD_RESERVING, now, GUARD_DO_RESERVE);
}

int64_t guard_resume_in_ms(const struct guard_policy *p, const struct guard_limits *limits, struct mono now)
{
    if (p->state != GUARD_PAUSED || !p->clear || (p->idle && !p->forced))
        return -1;
    int64_t left = MAX_OF(p->leave_ms, limits->leave_clear_ms) - mono_since_ms(now, p->clear_at);
    left = MAX_OF(left, limits->pause_min_ms - mono_since_ms(now, p->since));
    if (p->resume_failed)
        left = MAX_OF(left, limits->retry_ms - mono_since_ms(now, p->resume_failed_at));
    return p->forced ? 0 : MAX_OF(left, (int64_t)0);
}

static enum guard_action reserving(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f,
                                   struct mono now)
{
    if (f->claim == CLAIM_UNKNOWN)
        return GUARD_DO_NOTHING;
    if (!is_clear(p, limits, f))
        return paused_now(p, !p->not_freed, now);
    if (!f->memory_enough && !p->not_freed)
        return GUARD_DO_NOTHING; /* wait as long as it takes: a restore without enough memory destroys the worker */
    return enter(p, GUARD_RESUMING, now, GUARD_DO_RESUME);
}

static enum guard_action resuming(struct guard_policy *p, const struct guard_facts *f, struct mono now)
{
    if (f->step == STEP_PENDING)
        return GUARD_DO_NOTHING;
    if (f->step == STEP_FAILED) {
        p->resume_failed = true;
        p->resume_failed_at = now;
        p->forced = false;
        return paused_now(p, !p->not_freed, now);
    }
    /* A return for a client's request isn't flapping: don't delay the return after the next claim. */
    p->resumed = p->resumed || !p->idle;
    p->resume_failed = p->not_freed = p->clear = p->seen = p->idle = false;
    p->resumed_at = now;
    return enter(p, GUARD_RUNNING, now, GUARD_DO_OPEN_GATE);
}

/* Without a worker there is nothing to guard; but one that we stopped or put to sleep isn't absent. */
static bool worker_left(const struct guard_policy *p, const struct guard_facts *f)
{
    return f->worker == WORKER_GONE && p->state != GUARD_ABSENT && p->state != GUARD_EVICTING && p->state != GUARD_RESUMING;
}

enum guard_action guard_step(struct guard_policy *p, const struct guard_limits *limits, const struct guard_facts *f,
                             struct mono now)
{
    take_command(p, f->command);
    if (worker_left(p, f)) {
        p->seen = p->throttled = p->not_freed = p->forced = p->resume_failed = p->idle = false;
        return enter(p, GUARD_ABSENT, now, GUARD_DO_OPEN_GATE);
    }
    switch (p->state) {
    case GUARD_RUNNING: return running(p, limits, f, now);
    case GUARD_DRAINING: return draining(p, limits, f, now);
    case GUARD_EVICTING: return evicting(p, limits, f, now);
    case GUARD_VERIFYING: return verifying(p, limits, f, now);
    case GUARD_PAUSED: return paused(p, limits, f, now);
    case GUARD_RESERVING: return reserving(p, limits, f, now);
    case GUARD_RESUMING: return resuming(p, f, now);
    case GUARD_ABSENT: return f->worker == WORKER_ALIVE ? enter(p, GUARD_RUNNING, now, GUARD_DO_NOTHING) : GUARD_DO_NOTHING;
    }
    return GUARD_DO_NOTHING;
}

void guard_restore(struct guard_policy *p, enum guard_state found, struct mono now)
{
    *p = (struct guard_policy){.since = now};
    switch (found) {
    case GUARD_RUNNING:
    case GUARD_DRAINING: /* nothing was taken away yet: it continues */
    case GUARD_ABSENT: p->state = found; break;
    /* In the middle of an eviction or a resume the progress is unknown: as paused, the worker is resumed when clear. */
    case GUARD_EVICTING:
    case GUARD_VERIFYING:
    case GUARD_PAUSED:
    case GUARD_RESERVING:
    case GUARD_RESUMING: p->state = GUARD_PAUSED; break;
    }
}

void guard_evict_again(struct guard_policy *p, struct mono now)
{
    if (p->state != GUARD_PAUSED)
        return;
    p->method = 0;
    enter(p, GUARD_EVICTING, now, GUARD_DO_EVICT);
}
