/* SPDX-License-Identifier: Apache-2.0
 * Episodes out of points.
 */
#include "insight/view/episodes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "insight/facts/facts.h"
#include "model/finding_code.h"

/* A break of this length, and no longer than a third of what it interrupts, belongs to the episode. */
enum { BREAK_MAX_MS = 300000, GAP_STEPS = 3, HELD_LEAST = 100, SLOWED_LEAST = 100 };

static enum episode_kind episodes_kind_of(const struct episode_point *p)
{
    int64_t util = 0, video = 0, value, slowed = reading_or(p->slowed_permille, 0);
    bool known = reading_get(p->util_permille, &util);
    bool any = known || p->temp_max_mdegc.state == READING_OK || p->power_mw.state == READING_OK;
    reading_get(p->video_permille, &video);
    if (!any)
        return EPISODE_DARK;
    if (slowed >= SLOWED_LEAST && (p->throttle_bits & THROTTLE_HOT))
        return EPISODE_HOT;
    bool works = util > LIGHT_MAX || video > VIDEO_LEAST || (!known && p->worker_works);
    if (works && slowed >= SLOWED_LEAST && (p->throttle_bits & THROTTLE_POWER_CAP))
        return EPISODE_LIMIT;
    if (works)
        return EPISODE_WORK;
    if ((reading_get(p->temp_max_mdegc, &value) && value >= HEAT_WARM_FROM) ||
        (reading_get(p->fan_permille, &value) && value > FAN_LOW_MAX))
        return EPISODE_NOISE;
    if (reading_get(p->mem_permille, &value) && value >= HELD_LEAST && p->worker)
        return EPISODE_HELD;
    return EPISODE_CALM;
}

static bool same_label(const struct episode *a, const struct episode *b)
{
    return a->kind == b->kind && a->worker == b->worker;
}

static int64_t lasts_ms(const struct episode *r, const struct episode_point *points, int64_t step_ms)
{
    return points[r->last].at_ms - points[r->first].at_ms + step_ms;
}

/* Points of one label in a row; their peak comes later. */
static size_t make_runs(const struct episode_point *points, size_t count, int64_t step_ms, struct episode *runs)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        enum episode_kind kind = episodes_kind_of(&points[i]);
        struct episode one = {kind, kind == EPISODE_CALM || kind == EPISODE_DARK ? 0 : points[i].worker, i, i, i};
        /* Where nothing was stored, an episode ends. */
        bool apart = i > 0 && points[i].at_ms - points[i - 1].at_ms > GAP_STEPS * step_ms;
        if (used && !apart && same_label(&runs[used - 1], &one))
            runs[used - 1].last = i;
        else
            runs[used++] = one;
    }
    return used;
}

/* Joins what a short break cut in two: the break goes, the two become one. */
static size_t join_breaks(const struct episode_point *points, int64_t step_ms, struct episode *runs, size_t count)
{
    for (bool again = true; again;) {
        size_t used = 0;
        again = false;
        for (size_t i = 0; i < count; i++) {
            struct episode *before = used ? &runs[used - 1] : NULL;
            int64_t lasts = lasts_ms(&runs[i], points, step_ms);
            bool is_break =
                before && i + 1 < count && same_label(before, &runs[i + 1]) && before->kind != EPISODE_CALM &&
                runs[i].kind <= before->kind && (runs[i].kind < EPISODE_WORK || runs[i].worker == before->worker) &&
                lasts <= BREAK_MAX_MS &&
                lasts * 3 <= lasts_ms(before, points, step_ms) + lasts_ms(&runs[i + 1], points, step_ms) + 2 * step_ms &&
                points[runs[i].first].at_ms - points[before->last].at_ms <= GAP_STEPS * step_ms &&
                points[runs[i + 1].first].at_ms - points[runs[i].last].at_ms <= GAP_STEPS * step_ms;
            if (is_break) {
                before->last = runs[i + 1].last;
                i++;
                again = true;
            } else {
                runs[used++] = runs[i];
            }
        }
        count = used;
    }
    return count;
}

/* Rates how clearly a point shows its episode. */
static double telling(const struct episode_point *p, enum episode_kind kind)
{
    double slowed = (double)reading_or(p->slowed_permille, 0) / 1000, temp = (double)reading_or(p->temp_max_mdegc, 0) / 100000;
    double util = (double)MAX_OF(reading_or(p->util_permille, 0), reading_or(p->video_permille, 0)) / 1000;
    double fan = (double)reading_or(p->fan_permille, 0) / 1000, memory = (double)reading_or(p->mem_permille, 0) / 1000;
    switch (kind) {
    case EPISODE_HOT: return 2 * slowed + temp;
    case EPISODE_LIMIT: return slowed + util;
    case EPISODE_NOISE: return temp + fan;
    case EPISODE_HELD: return memory;
    default: return util + 0.2 * temp;
    }
}

/* The first moments of a job show its loading, the last ones its end: the middle is preferred among equals. */
static size_t find_peak(const struct episode_point *points, const struct episode *r)
{
    size_t best = (r->first + r->last) / 2;
    for (size_t i = r->first; i <= r->last; i++)
        if (episodes_kind_of(&points[i]) == r->kind && telling(&points[i], r->kind) > telling(&points[best], r->kind) + 0.05)
            best = i;
    return best;
}

int episodes_find(const struct episode_point *points, size_t count, int64_t step_ms, struct episode *ret, size_t max,
                  size_t *ret_count, size_t *left_out)
{
    *ret_count = *left_out = 0;
    if (count == 0)
        return 0;
    AUTO_FREE struct episode *runs = calloc(count, sizeof *runs);
    if (!runs)
        return -ENOMEM;
    size_t run_count = join_breaks(points, step_ms, runs, make_runs(points, count, step_ms, runs));
    for (size_t i = 0; i < run_count; i++) {
        if (runs[i].kind == EPISODE_CALM)
            continue;
        if (*ret_count == max) {
            ++*left_out;
            continue;
        }
        runs[i].peak = find_peak(points, &runs[i]);
        ret[(*ret_count)++] = runs[i];
    }
    return 0;
}

static void episodes_measure(const struct episode_point *points, const struct episode *e, struct episode_numbers *n)
{
    int64_t value;
    for (size_t i = e->first; i <= e->last; i++) {
        if (reading_get(points[i].util_permille, &value)) {
            n->util_sum_permille += value;
            n->utils++;
        }
        if (reading_get(points[i].power_mw, &value)) {
            n->power_sum_mw += value;
            n->powers++;
        }
        if (reading_get(points[i].temp_max_mdegc, &value))
            n->temp_max_mdegc = reading_ok(MAX_OF(reading_or(n->temp_max_mdegc, INT64_MIN), value));
    }
}

/* How much an episode may matter, before it is explained. */
static double promise(const struct episode_group *g)
{
    static const double of_kind[EPISODE_KIND_COUNT] = {[EPISODE_HELD] = 10,  [EPISODE_WORK] = 30, [EPISODE_LIMIT] = 35,
                                                       [EPISODE_NOISE] = 40, [EPISODE_DARK] = 60, [EPISODE_HOT] = 80};
    return of_kind[g->shown.kind] * log2(2 + (double)g->total_ms / 60000);
}

static int by_promise(const void *a, const void *b)
{
    double left = promise(a), right = promise(b);
    return (left < right) - (left > right);
}

size_t episodes_group(const struct episode *found, size_t count, const struct episode_point *points, int64_t step_ms, bool again,
                      struct episode_group *ret)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct episode *e = &found[i];
        int64_t since = points[e->first].at_ms, until = points[e->last].at_ms + step_ms;
        size_t k = again ? 0 : used;
        while (k < used && (ret[k].shown.kind != e->kind || ret[k].shown.worker != e->worker))
            k++;
        struct episode_group *g = &ret[k];
        if (k == used) {
            ret[used++] = (struct episode_group){*e, since, until, until - since, 1, {0}};
            episodes_measure(points, e, &g->numbers);
            continue;
        }
        episodes_measure(points, e, &g->numbers);
        g->until_ms = until;
        g->total_ms += until - since;
        g->times++;
        if (until - since > points[g->shown.last].at_ms - points[g->shown.first].at_ms + step_ms)
            g->shown = *e;
    }
    qsort(ret, used, sizeof *ret, by_promise);
    return used;
}

static double weight_of_code(finding_code code)
{
    switch (code) {
    case FINDING_LOST:
    case FINDING_ERROR: return 100;
    case FINDING_FAN_STOPPED:
    case FINDING_FAN_FAILING:
    case FINDING_HEAT_LIMIT: return 80;
    case FINDING_MINING: return 75;
    case FINDING_HOTSPOT:
    case FINDING_MEMORY_HOT: return 70;
    case FINDING_AIRFLOW: return 65;
    case FINDING_HIDDEN_LOAD: return 60;
    case FINDING_POWER_LIMIT: return 40;
    case FINDING_COMPUTE_LOAD:
    case FINDING_GRAPHICS_LOAD:
    case FINDING_VIDEO_LOAD:
    case FINDING_SHARED_LOAD:
    case FINDING_INSTANCE_LOAD:
    case FINDING_MEMORY_TRAFFIC: return 30;
    case FINDING_CONTEXT_HELD: return 25;
    case FINDING_FAN_SETTING:
    case FINDING_CLOCKS_HELD: return 20;
    case FINDING_VRAM_HELD: return 15;
    case FINDING_NEIGHBOUR_HEAT:
    case FINDING_CANNOT_KNOW: return 8;
    case FINDING_RECENT_LOAD: return 4;
    default: return 0; /* calm, asleep, screens */
    }
}

bool episode_is_about(finding_code code)
{
    return weight_of_code(code) > 0;
}

double episode_weight(const struct why_part *part, int64_t lasted_ms)
{
    double most = 0;
    for (size_t i = 0; i < part->cause_count; i++)
        if (i == 0 || part->causes[i].confidence >= 0.5)
            most = fmax(most, weight_of_code(part->causes[i].code) * part->causes[i].confidence);
    return most * log2(2 + (double)lasted_ms / 60000);
}
