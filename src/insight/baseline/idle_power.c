/* SPDX-License-Identifier: Apache-2.0
 * What a single suspect adds to the power of an idle GPU: measured, not guessed. Of a memory clock: the idle power at this clock
 * and at the lowest one that the history knows. Of a process: the idle power before it came and since, while no other came or
 * went.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "insight/baseline/internal.h"
#include "insight/facts/levels.h"

enum {
    STEP_MINUTES_LEAST = 3,   /* on each side of a step */
    LEVEL_MINUTES_LEAST = 10, /* at a clock */
};

/* ---- by memory clock ---- */

static bool same_clock(int64_t a, int64_t b)
{
    return llabs(a - b) * 50 <= MAX_OF(a, b);
}

void baseline_add_level(struct baseline_learner *l, const struct baseline_row *row)
{
    int64_t clock, power;
    if (!reading_get(row->clock_memory_khz, &clock) || clock <= 0 || !reading_get(row->power_mw, &power))
        return;
    size_t at = 0;
    while (at < l->level_count && !same_clock(l->levels[at].clock_khz, clock))
        at++;
    if (at == ARRAY_LEN(l->levels)) /* clocks come in a few steps; whatever else a mean of two of them gives is not one */
        return;
    if (at == l->level_count)
        l->levels[l->level_count++].clock_khz = clock;
    l->levels[at].power.sum += power * row->minutes;
    l->levels[at].power.minutes += row->minutes;
}

void baseline_conclude_levels(const struct baseline_learner *l, struct baseline *ret)
{
    for (size_t i = 0; i < l->level_count; i++)
        if (l->levels[i].power.minutes >= LEVEL_MINUTES_LEAST)
            ret->levels[ret->level_count++] =
                (struct baseline_level){.clock_khz = l->levels[i].clock_khz, .power_mw = mean_of(&l->levels[i].power)};
}

void baseline_judge_clock(const struct baseline *b, const struct gpu *gpu, struct usual *ret)
{
    const struct baseline_level *now = NULL, *low = NULL;
    int64_t clock;
    if (!reading_get(gpu->clock_memory_khz, &clock) || clock <= 0)
        return;
    for (size_t i = 0; i < b->level_count; i++) {
        if (same_clock(b->levels[i].clock_khz, clock))
            now = &b->levels[i];
        if (!low || b->levels[i].clock_khz < low->clock_khz)
            low = &b->levels[i];
    }
    if (!now || now == low)
        return;
    ret->at_clock = *now;
    ret->at_low_clock = *low;
}

/* ---- by process ---- */

bool baseline_step(const struct baseline_row *rows, size_t count, int64_t from_ms, int64_t came_ms, int64_t until_ms,
                   struct baseline_step *ret)
{
    struct mean before = {0}, since = {0};
    for (size_t i = 1; i < count; i++) {
        int64_t util, earlier, power, at = rows[i].at.ms;
        if (at - rows[i - 1].at.ms > 2 * MINUTE_MS) { /* no sample meanwhile: whatever else changed then is not known */
            if (rows[i - 1].at.ms >= came_ms)
                break;
            before = (struct mean){0};
        }
        /* The minute after a working one still cools down. */
        if (!reading_get(rows[i - 1].util_permille, &earlier) || earlier > IDLE_MAX || !reading_get(rows[i].util_permille, &util) ||
            util > IDLE_MAX || !reading_get(rows[i].power_mw, &power))
            continue;
        struct mean *side = at >= from_ms && at + MINUTE_MS <= came_ms                ? &before
                            : at >= came_ms + MINUTE_MS && at + MINUTE_MS <= until_ms ? &since
                                                                                      : NULL;
        if (side) {
            side->sum += power;
            side->minutes++;
        }
    }
    if (before.minutes < STEP_MINUTES_LEAST || since.minutes < STEP_MINUTES_LEAST)
        return false;
    ret->before_mw = mean_of(&before);
    ret->since_mw = mean_of(&since);
    return true;
}

const struct baseline_step *usual_step(const struct usual *u, int32_t pid)
{
    for (size_t i = 0; pid && i < u->step_count; i++)
        if (u->steps[i].pid == pid)
            return &u->steps[i];
    return NULL;
}
