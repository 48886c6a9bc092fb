/* SPDX-License-Identifier: Apache-2.0
 * The energy meter.
 */
#include "model/energy.h"

/* The trapezoid between two power readings; with one of them, that one. */
static int64_t integrate(struct reading before, struct reading after, int64_t ms)
{
    int64_t a, b;
    bool has_a = reading_get(before, &a), has_b = reading_get(after, &b);
    if (!has_a && !has_b)
        return 0;
    double mw = has_a && has_b ? ((double)a + (double)b) / 2 : (double)(has_a ? a : b);
    return (int64_t)(mw * (double)ms / MS_PER_S + 0.5);
}

int64_t energy_step(struct energy_meter *m, struct mono now, struct reading power_mw, struct reading counter_mj, int64_t gap_ms,
                    enum energy_evidence *evidence)
{
    *evidence = ENERGY_FROM_POWER;
    int64_t before = 0, after = 0, used = 0;
    int64_t ms = mono_since_ms(now, m->at);
    bool moved = reading_get(m->counter_mj, &before) && reading_get(counter_mj, &after) && after > before;
    if (m->started && ms > 0 && ms <= gap_ms) {
        used = integrate(m->power_mw, power_mw, ms);
        m->uncounted_mj += used;
    }
    if (m->started && ms > 0 && (ms > gap_ms || (m->power_mw.state != READING_OK && power_mw.state != READING_OK)))
        m->unwatched = true;
    if (m->started && moved) {
        used += after - before - m->uncounted_mj;
        *evidence = m->unwatched ? ENERGY_UNWATCHED : ENERGY_COUNTED;
    }
    /* A counter that went back was reset: count from there. */
    bool fresh = counter_mj.state == READING_OK && (m->counter_mj.state != READING_OK || counter_mj.value != m->counter_mj.value);
    if (fresh) {
        m->counter_mj = counter_mj;
        m->uncounted_mj = 0;
        m->unwatched = false;
    }
    m->started = true;
    m->at = now;
    m->power_mw = power_mw;
    used -= m->debt_mj;
    m->debt_mj = used < 0 ? -used : 0;
    return used < 0 ? 0 : used;
}
