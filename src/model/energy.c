/* SPDX-License-Identifier: Apache-2.0
 * The energy meter.
 */
#include "model/energy.h"

#include "base/cleanup.h"

/* The trapezoid between two power readings, or the only one of them. */
static int64_t integrate(struct reading before, struct reading after, int64_t ms)
{
    int64_t a, b;
    bool has_a = reading_get(before, &a), has_b = reading_get(after, &b);
    if (!has_a && !has_b)
        return 0;
    double mw = has_a && has_b ? ((double)a + (double)b) / 2 : (double)(has_a ? a : b);
    return (int64_t)(mw * (double)ms / MS_PER_S + 0.5);
}

/* The monotonic clock stops while the host sleeps or a VM is paused; the wall clock doesn't. A step with a missing power reading
 * counts as unobserved, too. */
static bool was_away(const struct energy_meter *m, const struct energy_sample *now, int64_t ms, int64_t gap_ms)
{
    bool both = m->last.wall.ms && now->wall.ms;
    return ms > gap_ms || (both && now->wall.ms - m->last.wall.ms - ms > gap_ms) || m->last.power_mw.state != READING_OK ||
           now->power_mw.state != READING_OK;
}

static void note_unwatched(struct energy_meter *m, const struct energy_sample *now)
{
    if (!m->unwatched)
        m->unwatched_from = m->last.wall;
    m->unwatched_to = now->wall;
    m->unwatched = true;
}

/* Assigns the counter's excess over the integral. */
static void put_right(const struct energy_meter *m, int64_t more_mj, struct energy_used *used)
{
    if (m->unwatched && more_mj > 0) {
        used->unwatched_mj = more_mj;
        used->unwatched_from = m->unwatched_from;
        used->unwatched_to = m->unwatched_to;
    } else {
        used->mj += more_mj;
    }
    used->evidence = ENERGY_COUNTED;
}

struct energy_used energy_step(struct energy_meter *m, const struct energy_sample *now, int64_t gap_ms)
{
    struct energy_used used = {.ms = m->started ? MAX_OF(mono_since_ms(now->at, m->last.at), (int64_t)0) : 0};
    int64_t before = 0, after = 0;
    bool moved = reading_get(m->counter_mj, &before) && reading_get(now->counter_mj, &after) && after > before;
    bool away = used.ms > 0 && was_away(m, now, used.ms, gap_ms);
    if (away)
        note_unwatched(m, now);
    /* Prefer a counter to a guess. */
    bool counts = m->counter_mj.state == READING_OK || now->counter_mj.state == READING_OK;
    if (used.ms > 0 && used.ms <= gap_ms && !(away && counts)) {
        used.mj = integrate(m->last.power_mw, now->power_mw, used.ms);
        m->uncounted_mj += used.mj;
    }
    if (m->started && moved)
        put_right(m, after - before - m->uncounted_mj, &used);
    /* A counter that decreased was reset: restart from its value. */
    bool fresh =
        now->counter_mj.state == READING_OK && (m->counter_mj.state != READING_OK || now->counter_mj.value != m->counter_mj.value);
    if (fresh) {
        m->counter_mj = now->counter_mj;
        m->uncounted_mj = 0;
        m->unwatched = false;
    }
    m->started = true;
    m->last = *now;
    used.mj -= m->debt_mj;
    m->debt_mj = used.mj < 0 ? -used.mj : 0;
    used.mj = MAX_OF(used.mj, (int64_t)0);
    return used;
}

int64_t energy_upto(int64_t mj, int64_t passed_ms, int64_t of_ms)
{
    return passed_ms >= of_ms ? mj : (int64_t)((double)mj * (double)passed_ms / (double)of_ms + 0.5);
}
