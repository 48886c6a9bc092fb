/* SPDX-License-Identifier: Apache-2.0
 * Rings of samples at several densities, and the cuts between stretches.
 */
#include "insight/forecast/internal.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"

enum { PER_POINT = 4, STEPS_KNOWN = 6 };

/* A change is a load or unload when it is that many times the usual change from sample to sample. */
#define UNUSUAL 8.0

void track_reset(struct track *t)
{
    *t = (struct track){0};
}

void track_cut(struct track *t, enum track_cut why)
{
    if (!t->samples) {
        if (why == CUT_GAP || why == CUT_PROCESSES) {
            t->stretch_count = 0;
            t->began_by = why;
        }
        return;
    }
    if (t->stretch_count == TRACK_STRETCHES) {
        memmove(t->stretches, t->stretches + 1, (TRACK_STRETCHES - 1) * sizeof *t->stretches);
        t->stretch_count--;
    }
    t->stretches[t->stretch_count++] =
        (struct track_stretch){t->began_ms, t->last.t_ms, t->first.value, t->highest, t->last.value, why};
    if (why == CUT_GAP || why == CUT_PROCESSES)
        t->stretch_count = 0;
    memset(t->levels, 0, sizeof t->levels);
    t->samples = 0;
    t->step_next = t->step_count = 0;
    t->began_by = why;
}

static void level_add(struct track_level *levels, int level, struct track_point p)
{
    struct track_level *l = &levels[level];
    l->points[l->next] = p;
    l->next = (l->next + 1) % TRACK_POINTS;
    if (l->count < TRACK_POINTS)
        l->count++;
    if (level + 1 == TRACK_LEVELS)
        return;
    l->sum.t_ms += p.t_ms / PER_POINT;
    l->sum.value += p.value / PER_POINT;
    if (++l->summed < PER_POINT)
        return;
    struct track_point mean = l->sum;
    l->sum = (struct track_point){0};
    l->summed = 0;
    level_add(levels, level + 1, mean);
}

static double usual_step(const struct track *t)
{
    double steps[TRACK_STEPS];
    if (t->step_count < STEPS_KNOWN)
        return 0;
    memcpy(steps, t->steps, t->step_count * sizeof *steps);
    return fit_median(steps, t->step_count);
}

void track_add(struct track *t, int64_t t_ms, double value, double jump)
{
    if (t->samples && t_ms <= t->last.t_ms)
        return;
    if (t->samples) {
        double step = value - t->last.value;
        if (fabs(step) > jump && fabs(step) > UNUSUAL * usual_step(t)) {
            track_cut(t, step > 0 ? CUT_UP : CUT_DOWN);
        } else {
            t->steps[t->step_next] = fabs(step);
            t->step_next = (t->step_next + 1) % TRACK_STEPS;
            if (t->step_count < TRACK_STEPS)
                t->step_count++;
        }
    }
    struct track_point p = {t_ms, value};
    if (!t->samples) {
        t->began_ms = t_ms;
        t->first = p;
        t->highest = value;
    }
    t->highest = MAX_OF(t->highest, value);
    t->samples++;
    t->last = p;
    level_add(t->levels, 0, p);
}

size_t track_window(const struct track *t, int level, struct fit_point points[FIT_POINTS_MAX])
{
    const struct track_level *l = &t->levels[level];
    size_t count = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct track_point *p = &l->points[(l->next + TRACK_POINTS - l->count + i) % TRACK_POINTS];
        points[count++] = (struct fit_point){(double)(p->t_ms - t->last.t_ms) / 1000, p->value};
    }
    if (level > 0 && t->samples && (!count || points[count - 1].t < 0))
        points[count++] = (struct fit_point){0, t->last.value};
    return count;
}
