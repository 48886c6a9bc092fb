/* SPDX-License-Identifier: Apache-2.0
 * Moments to phases: each moment with what is around it gets a kind; equal neighbors become one; short ones go to the longer side.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/view/course.h"
#include "insight/view/course_levels.h"

struct phase_span {
    enum course_kind kind;
    size_t first, last; /* moments, both included */
};

static double begin_of(const struct run_course *c, size_t i)
{
    return i ? c->moments[i - 1].at_s : 0;
}

static double seconds_of(const struct run_course *c, const struct phase_span *s)
{
    return c->moments[s->last].at_s - begin_of(c, s->first);
}

/* The mean over the seconds around a moment; -1 when nothing is known. */
static double around(const struct run_course *c, size_t at, size_t *first, size_t *last)
{
    double area = 0, seconds = 0;
    *first = *last = at;
    while (*first > 0 && c->moments[at].at_s - c->moments[*first - 1].at_s <= SMOOTH_S / 2)
        --*first;
    while (*last + 1 < c->moment_count && c->moments[*last + 1].at_s - c->moments[at].at_s <= SMOOTH_S / 2)
        ++*last;
    for (size_t i = *first; i <= *last; i++) {
        double step = MAX_OF(c->moments[i].at_s - begin_of(c, i), 1e-6);
        int64_t util;
        if (!reading_get(c->moments[i].util_permille, &util) && !reading_get(c->moments[i].gpu_util_permille, &util))
            continue;
        area += c->moments[i].on_gpu ? (double)util * step : 0;
        seconds += step;
    }
    return seconds > 0 ? area / seconds : -1;
}

static bool memory_grows(const struct run_course *c, size_t first, size_t last)
{
    int64_t before = first ? reading_or(c->moments[first - 1].vram_bytes, 0) : 0, after = 0;
    for (size_t i = first; i <= last; i++)
        after = MAX_OF(after, reading_or(c->moments[i].vram_bytes, 0));
    return after - before >= MAX_OF((int64_t)GROWS_LEAST, c->vram_bytes.peak / 50);
}

static enum course_kind phases_kind_of(const struct run_course *c, size_t at)
{
    const struct course_moment *m = &c->moments[at];
    size_t first, last;
    if (around(c, at, &first, &last) >= COMPUTING_LEAST)
        return COURSE_COMPUTING;
    int64_t reads = reading_or(m->read_bytes_per_s, 0), writes = reading_or(m->write_bytes_per_s, 0);
    if (writes >= WRITES_LEAST && writes > reads)
        return COURSE_SAVING;
    if (reads >= READS_LEAST || memory_grows(c, at, last))
        return COURSE_LOADING;
    return m->on_gpu ? COURSE_WAITING : COURSE_STARTING;
}

static size_t remove_span(struct phase_span *spans, size_t count, size_t at)
{
    for (size_t i = at; i + 1 < count; i++)
        spans[i] = spans[i + 1];
    return count - 1;
}

static size_t join_equal(struct phase_span *spans, size_t count)
{
    for (size_t i = 1; i < count;) {
        if (spans[i].kind != spans[i - 1].kind) {
            i++;
            continue;
        }
        spans[i - 1].last = spans[i].last;
        count = remove_span(spans, count, i);
    }
    return count;
}

/* Gives the shortest phase to the longer of its neighbors while it is too short, or there are too many. */
static size_t drop_short(const struct run_course *c, struct phase_span *spans, size_t count)
{
    double least = MAX_OF(PHASE_LEAST_S, c->seconds * PHASE_SHARE);
    while (count > 1) {
        size_t at = 0;
        for (size_t i = 1; i < count; i++)
            if (seconds_of(c, &spans[i]) < seconds_of(c, &spans[at]))
                at = i;
        if (seconds_of(c, &spans[at]) >= least && count <= COURSE_PHASES_MAX)
            break;
        bool back = at + 1 == count || (at > 0 && seconds_of(c, &spans[at - 1]) > seconds_of(c, &spans[at + 1]));
        if (back)
            spans[at - 1].last = spans[at].last;
        else
            spans[at + 1].first = spans[at].first;
        count = join_equal(spans, remove_span(spans, count, at));
    }
    return count;
}

static void phases_fill(const struct run_course *c, const struct phase_span *s, struct course_phase *p)
{
    double limited[LIMIT_COUNT] = {0}, util = 0, util_s = 0, power = 0, power_s = 0;
    *p = (struct course_phase){.kind = s->kind, .from_s = begin_of(c, s->first), .seconds = seconds_of(c, s)};
    for (size_t i = s->first; i <= s->last; i++) {
        const struct course_moment *m = &c->moments[i];
        double step = m->at_s - begin_of(c, i);
        int64_t value;
        limited[m->on_gpu && m->limit ? m->limit : LIMIT_NONE] += step;
        if (reading_get(m->util_permille, &value)) {
            util += (double)value * step;
            util_s += step;
        }
        if (reading_get(m->power_mw, &value)) {
            power += (double)value * step;
            power_s += step;
        }
        if (reading_get(m->vram_bytes, &value))
            p->vram_peak_bytes = reading_ok(MAX_OF(reading_or(p->vram_peak_bytes, 0), value));
    }
    p->limit = LIMIT_NONE;
    for (int l = 0; l < LIMIT_COUNT; l++)
        if (limited[l] > limited[p->limit])
            p->limit = (enum limit)l;
    if (util_s > 0)
        p->util_permille = reading_ok(llround(util / util_s));
    if (power_s > 0)
        p->power_mw = reading_ok(llround(power / power_s));
}

size_t course_phases(const struct run_course *c, struct course_phase *phases)
{
    struct phase_span *spans = c->moment_count ? calloc(c->moment_count, sizeof *spans) : NULL;
    size_t count = 0;
    if (!spans)
        return 0;
    for (size_t i = 0; i < c->moment_count; i++)
        spans[count++] = (struct phase_span){phases_kind_of(c, i), i, i};
    count = drop_short(c, spans, join_equal(spans, count));
    for (size_t i = 0; i < count; i++) {
        phases_fill(c, &spans[i], &phases[i]);
        if (i > 0 && phases[i].kind == COURSE_STARTING)
            phases[i].kind = i + 1 == count ? COURSE_ENDING : COURSE_WAITING;
    }
    free(spans);
    return count;
}
