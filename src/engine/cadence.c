/* SPDX-License-Identifier: Apache-2.0
 * The cadence of metric groups.
 */
#include "engine/cadence.h"

enum { GAME_LOAD_PERMILLE = 200, JITTER_MS = 250 };

static bool due(bool done, struct mono at, int64_t every_ms, struct mono now)
{
    /* A timer that fires slightly early must not delay a group to the next sample. */
    return !done || mono_since_ms(now, at) >= every_ms - JITTER_MS;
}

unsigned cadence_due(const struct cadence *c, bool game_runs, struct mono now)
{
    unsigned groups = GROUP_FAST;
    if (!game_runs || due(c->process_done, c->process_at, CADENCE_GAME_PROCESS_MS, now))
        groups |= GROUP_PROCESS;
    if (!c->static_done)
        groups |= GROUP_STATIC;
    if (due(c->slow_done, c->slow_at, CADENCE_SLOW_MS, now))
        groups |= GROUP_SLOW;
    if (due(c->rare_done, c->rare_at, CADENCE_RARE_MS, now))
        groups |= GROUP_RARE | GROUP_SLOW; /* some sources can read these only together */
    return groups;
}

void cadence_read(struct cadence *c, unsigned groups, struct mono now)
{
    if (groups & GROUP_STATIC)
        c->static_done = true;
    if (groups & GROUP_PROCESS) {
        c->process_done = true;
        c->process_at = now;
    }
    if (groups & GROUP_SLOW) {
        c->slow_done = true;
        c->slow_at = now;
    }
    if (groups & GROUP_RARE) {
        c->rare_done = true;
        c->rare_at = now;
    }
}

bool cadence_game_runs(const struct gpu *gpus, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < gpus[i].process_count; p++)
            if ((gpus[i].processes[p].type & PROCESS_GRAPHICS) &&
                reading_or(gpus[i].processes[p].util_permille, 0) >= GAME_LOAD_PERMILLE)
                return true;
    return false;
}
