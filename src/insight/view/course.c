/* SPDX-License-Identifier: Apache-2.0
 * Totals as they come.
 */
#include "insight/view/course.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/metric.h"

int course_init(struct run_course *c)
{
    *c = (struct run_course){.keep_every = 1, .moments = calloc(COURSE_MOMENTS_MAX, sizeof *c->moments)};
    return c->moments ? 0 : -ENOMEM;
}

void course_done(struct run_course *c)
{
    free(c->moments);
    c->moments = NULL;
}

enum limit course_limited_by(const struct run_course *c)
{
    enum limit best = LIMIT_NONE;
    for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++)
        if (c->limited_s[l] > c->limited_s[best])
            best = (enum limit)l;
    return best;
}

/* ---- totals ---- */

void course_note(struct course_level *l, struct reading r, double seconds)
{
    int64_t value;
    if (!reading_get(r, &value))
        return;
    l->peak = l->known ? MAX_OF(l->peak, value) : value;
    l->known = true;
    l->area += (double)value * seconds;
    l->seconds += seconds;
}

static void keep(struct run_course *c, const struct course_moment *m)
{
    if (++c->skipped < c->keep_every)
        return;
    c->skipped = 0;
    if (c->moment_count == COURSE_MOMENTS_MAX) {
        for (size_t i = 0; i < COURSE_MOMENTS_MAX / 2; i++)
            c->moments[i] = c->moments[2 * i + 1];
        c->moment_count = COURSE_MOMENTS_MAX / 2;
        c->keep_every *= 2;
    }
    c->moments[c->moment_count++] = *m;
}

void course_see(struct run_course *c, const struct course_moment *m)
{
    double seconds = MAX_OF(m->at_s - c->seconds, 0.0);
    course_note(&c->vram_bytes, m->vram_bytes, seconds);
    course_note(&c->util_permille, m->util_permille, seconds);
    course_note(&c->power_mw, m->power_mw, seconds);
    course_note(&c->temp_mdegc, m->temp_mdegc, seconds);
    course_note(&c->cpu_permille, reading_ok(m->cpu_permille), seconds);
    for (unsigned bit = 0; bit < THROTTLE_COUNT; bit++)
        if (m->throttle & THROTTLE_SLOWED & (1 << bit))
            c->throttled_s[bit] += seconds;
    if (m->throttle & THROTTLE_SLOWED)
        c->slowed_s += seconds;
    if (m->on_gpu)
        c->limited_s[m->limit] += seconds;
    c->on_gpu |= m->on_gpu;
    c->seconds = MAX_OF(c->seconds, m->at_s);
    c->seen++;
    keep(c, m);
}

/* ---- words ---- */

const char *course_kind_name(enum course_kind kind)
{
    static const char *const names[] = {"starting", "loading", "computing", "saving", "waiting", "ending"};
    return names[kind];
}
