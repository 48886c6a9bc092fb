/* SPDX-License-Identifier: Apache-2.0
 * The state machine of one alert.
 */
#include "alert/alert.h"

#include <string.h>

#include "base/cleanup.h"

const char *alert_phase_name(enum alert_phase phase)
{
    static const char *const names[] = {"inactive", "pending", "firing", "resolved"};
    return names[phase];
}

static enum alert_change fire(struct alert_state *s, struct wall now)
{
    memmove(&s->fired[1], &s->fired[0], sizeof s->fired - sizeof s->fired[0]);
    s->fired[0] = now;
    struct wall oldest = s->fired[ALERT_FLAPS - 1];
    s->flapping = oldest.ms && now.ms - oldest.ms <= ALERT_FLAP_WINDOW_MS;
    s->phase = ALERT_FIRING;
    s->started_at = now;
    s->ended_at = s->calm_at = (struct wall){0};
    s->lapsed = false;
    return CHANGE_FIRED;
}

static enum alert_change resolve(struct alert_state *s, struct wall now)
{
    s->phase = ALERT_RESOLVED;
    s->ended_at = now;
    s->pending_at = s->calm_at = (struct wall){0};
    return CHANGE_RESOLVED;
}

/* Returns to the state before it was pending. */
static enum alert_change give_up(struct alert_state *s)
{
    s->phase = s->ended_at.ms ? ALERT_RESOLVED : ALERT_INACTIVE;
    s->pending_at = (struct wall){0};
    return CHANGE_CALMED;
}

static enum alert_change unknown_step(struct alert_state *s, const struct alert_moment *m)
{
    if (s->phase != ALERT_PENDING && s->phase != ALERT_FIRING)
        return CHANGE_NONE;
    if (!s->known_at.ms || m->gap)
        s->known_at = m->before.ms && !m->gap ? m->before : m->now;
    if (m->now.ms - s->known_at.ms < ALERT_UNKNOWN_MS)
        return CHANGE_NONE;
    s->known_at = (struct wall){0};
    if (s->phase == ALERT_PENDING)
        return give_up(s);
    s->lapsed = true;
    return resolve(s, m->now);
}

/* Excludes the unknown time: shifts the starting points by it. */
static void resume_clocks(struct alert_state *s, const struct alert_moment *m)
{
    if (s->known_at.ms && m->before.ms > s->known_at.ms) {
        int64_t lost = m->before.ms - s->known_at.ms;
        s->pending_at.ms += s->pending_at.ms ? lost : 0;
        s->calm_at.ms += s->calm_at.ms ? lost : 0;
    }
    s->known_at = (struct wall){0};
    if (m->gap) {
        s->calm_at = (struct wall){0};
        if (s->phase == ALERT_PENDING)
            s->pending_at = m->now;
    }
}

static enum alert_change firing_step(struct alert_state *s, const struct alert_timing *t, enum truth calm, struct wall now)
{
    if (calm == TRUTH_FALSE) {
        s->calm_at = (struct wall){0};
        return CHANGE_NONE;
    }
    if (!s->calm_at.ms)
        s->calm_at = now;
    int64_t needed = s->flapping ? MAX_OF(t->clear_hold_ms, ALERT_FLAP_CLEAR_MS) : t->clear_hold_ms;
    return now.ms - s->calm_at.ms >= needed ? resolve(s, now) : CHANGE_NONE;
}

enum alert_change alert_step(struct alert_state *s, const struct alert_timing *t, enum truth when, enum truth calm,
                             const struct alert_moment *m)
{
    enum truth heeded = s->phase == ALERT_FIRING ? calm : when;
    if (heeded == TRUTH_UNKNOWN)
        return unknown_step(s, m);
    resume_clocks(s, m);
    if (s->phase == ALERT_FIRING)
        return firing_step(s, t, calm, m->now);
    if (when == TRUTH_FALSE)
        return s->phase == ALERT_PENDING ? give_up(s) : CHANGE_NONE;
    bool begins = s->phase != ALERT_PENDING;
    if (begins) {
        s->phase = ALERT_PENDING;
        s->pending_at = m->now;
    }
    if (m->now.ms - s->pending_at.ms >= t->hold_ms)
        return fire(s, m->now);
    return begins ? CHANGE_PENDING : CHANGE_NONE;
}

enum alert_change alert_end(struct alert_state *s, struct wall now)
{
    s->known_at = (struct wall){0};
    return s->phase == ALERT_FIRING ? resolve(s, now) : s->phase == ALERT_PENDING ? give_up(s) : CHANGE_NONE;
}
