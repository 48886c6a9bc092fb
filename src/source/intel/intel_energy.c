/* SPDX-License-Identifier: Apache-2.0
 * Energy differences over time.
 */
#include "source/intel/gt.h"

enum { LEAST_MS = 50 };

static int choose(const struct energy *e, const int64_t now[ENERGY_COUNTERS])
{
    int there = -1;
    for (int i = 0; i < ENERGY_COUNTERS; i++) {
        if (now[i] < 0)
            continue;
        if (e->last_uj[i] >= 0 && now[i] > e->last_uj[i])
            return i;
        if (there < 0 || (now[there] == 0 && now[i] > 0))
            there = i;
    }
    return there;
}

void energy_update(struct energy *e, const struct reading uj[ENERGY_COUNTERS], bool recorded, struct mono now)
{
    int64_t values[ENERGY_COUNTERS], elapsed_ms = mono_since_ms(now, e->at);
    enum reading_state why = READING_UNSUPPORTED;
    for (int i = 0; i < ENERGY_COUNTERS; i++) {
        values[i] = uj[i].state == READING_OK && uj[i].value >= 0 ? uj[i].value : -1;
        if (uj[i].state != READING_OK && uj[i].state != READING_UNSUPPORTED && uj[i].state != READING_UNREAD)
            why = uj[i].state;
    }
    if (e->known && elapsed_ms < LEAST_MS)
        return; /* too soon: keep the last value */
    for (int i = 0; i < ENERGY_COUNTERS && !e->known; i++)
        e->last_uj[i] = -1;
    int best = choose(e, values);
    bool any = best >= 0;
    if (!any)
        e->power_mw = reading_absent(why);
    else if (e->last_uj[best] < 0 || values[best] < e->last_uj[best] || (recorded && values[best] == e->last_uj[best]))
        e->power_mw = reading_absent(READING_PENDING);
    else
        e->power_mw = reading_ok((values[best] - e->last_uj[best]) / elapsed_ms);
    for (int i = 0; i < ENERGY_COUNTERS; i++)
        e->last_uj[i] = values[i];
    e->best = best;
    e->at = now;
    e->known = any;
}
