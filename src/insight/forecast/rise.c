/* SPDX-License-Identifier: Apache-2.0
 * Does a track rise, and when does it meet a limit? Shared by memory, disk and store.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/forecast/internal.h"

enum { STAIRS_MIN = 6, PEAKS_MIN = 3 };

#define SPAN_MIN_S 10.0
/* Memory breathes: what is seen for less long says nothing against a longer look. */
#define BREATH_S 90.0
/* A rise is believed when its slope is so many standard errors from none, and goes beyond the noise and a trifle. */
#define SURE 3.0
#define ABOVE_NOISE 3.0
#define TRIFLE 0.0015
#define FEET_SHARE 0.4
/* The interval: so many standard errors of the slope, and a share for what a line does not know. */
#define INTERVAL 2.0
#define MODEL_SHARE 0.1
/* A forecast cannot look further ahead than so many times as far as was looked back. */
#define REACH 4.0
#define REACH_MAX_S (7 * 86400.0)
/* Readings above the line bring the limit nearer by at most so much of the way. */
#define SWING_MAX 0.5

static bool is_rise(const struct fit_line *l, double scale)
{
    double gained = l->slope * l->span;
    return l->slope > SURE * l->slope_error && gained > ABOVE_NOISE * l->noise && gained > TRIFLE * scale;
}

/* Looks at the current stretch through windows of different length, the shortest first: the newest samples, then the levels. */
enum { CLOSE_LOOKS = 2, LOOKS = CLOSE_LOOKS + TRACK_LEVELS };

static size_t look_through(const struct track *t, int look, struct fit_point points[FIT_POINTS_MAX])
{
    size_t count = track_window(t, MAX_OF(look - CLOSE_LOOKS, 0), points);
    size_t part = look < CLOSE_LOOKS ? (size_t)TRACK_POINTS >> (CLOSE_LOOKS - look) : count;
    if (part >= count)
        return look < CLOSE_LOOKS ? 0 : count; /* nothing closer than the level itself */
    memmove(points, points + count - part, part * sizeof *points);
    return part;
}

/* Does the end go on like the whole? A difference counts when it is beyond the error of the shorter look and could be seen in its
 * noise. Those of the longer one are no measure: where it is bent, they are large. */
static bool agree(const struct fit_line *shorter, const struct fit_line *longer)
{
    double apart = fabs(shorter->slope - longer->slope);
    if (shorter->span < BREATH_S)
        return true;
    return apart <= 4 * shorter->slope_error + 0.1 * fabs(longer->slope) || apart * shorter->span <= 4 * shorter->noise;
}

/* The longest look that all shorter ones agree with: something may have changed on the way. */
static bool look(const struct track *t, double resolution, struct fit_line *ret)
{
    struct fit_point points[FIT_POINTS_MAX];
    struct fit_line lines[LOOKS];
    size_t count = 0;
    for (int i = 0; i < LOOKS; i++) {
        size_t found = look_through(t, i, points);
        struct fit_line *line = &lines[count];
        if (found < FIT_POINTS_MIN + 2 || !fit_line(points, found, resolution, line) || line->span < SPAN_MIN_S)
            continue;
        for (size_t k = 0; k < count; k++)
            if (!agree(&lines[k], line))
                return true; /* *ret is the one before */
        *ret = *line;
        count++;
    }
    return count > 0;
}

/* For how long the course has been on this line: a longer look may be bent because it has a beginning from before the rise. */
static double held_for(const struct track *t, const struct fit_line *line, double resolution)
{
    struct fit_point points[FIT_POINTS_MAX];
    double held = line->span;
    for (int level = 0; level < TRACK_LEVELS; level++) {
        size_t count = track_window(t, level, points);
        for (size_t i = count; i-- > 0;) {
            double off = fabs(points[i].y - (line->level + line->slope * points[i].t));
            if (off > 4 * line->noise + 2 * resolution + 0.1 * fabs(line->slope * points[i].t))
                return held;
            held = MAX_OF(held, -points[i].t);
        }
    }
    return held;
}

/* A line through a few marks (peaks, stairs): slopes between all of them, whose range is the interval. */
static bool through_marks(const struct fit_point *marks, size_t count, struct rise *ret)
{
    double slopes[TRACK_STRETCHES * TRACK_STRETCHES / 2], levels[TRACK_STRETCHES];
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (marks[j].t > marks[i].t)
                slopes[found++] = (marks[j].y - marks[i].y) / (marks[j].t - marks[i].t);
    if (found < 3)
        return false;
    struct rise r = {.cyclic = true};
    r.line.slope = fit_median(slopes, found);
    r.low = fit_quantile(slopes, found, 0.1);
    r.high = fit_quantile(slopes, found, 0.9);
    if (r.low <= 0)
        return false;
    for (size_t i = 0; i < count; i++)
        levels[i] = marks[i].y - r.line.slope * marks[i].t; /* times are before now, which is 0 */
    r.line.level = fit_median(levels, count);
    r.basis_s = r.line.span = -marks[0].t;
    *ret = r;
    return true;
}

static double middle_slope(const struct fit_point *marks, size_t count)
{
    double slopes[TRACK_STRETCHES * TRACK_STRETCHES / 2];
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (marks[j].t > marks[i].t)
                slopes[found++] = (marks[j].y - marks[i].y) / (marks[j].t - marks[i].t);
    return found ? fit_median(slopes, found) : 0;
}

/* A sawtooth: memory is gained bit by bit and given back at once, again and again. It grows where its peaks do. */
static enum rise_result in_peaks(const struct track *t, double scale, struct rise *ret)
{
    struct fit_point peaks[TRACK_STRETCHES], feet[TRACK_STRETCHES];
    size_t count = 0;
    double highest = 0, swing = 0;
    for (size_t i = 0; i < t->stretch_count; i++) {
        const struct track_stretch *s = &t->stretches[i];
        double gained = s->last - s->first;
        if (s->ended_by != CUT_DOWN || gained < 0.01 * scale)
            continue;
        feet[count] = (struct fit_point){(double)(s->began_ms - t->last.t_ms) / 1000, s->first};
        peaks[count++] = (struct fit_point){(double)(s->ended_ms - t->last.t_ms) / 1000, s->highest};
        highest = MAX_OF(highest, s->highest);
        swing = MAX_OF(swing, gained);
    }
    if (!count || t->last.value > highest + 0.5 * swing)
        return RISE_NONE; /* none, or it has left its range: the stretch itself tells */
    /* Three teeth may rise by chance; what is never given back rises with them. */
    if (count >= PEAKS_MIN && through_marks(peaks, count, ret) && ret->line.slope * ret->basis_s > 0.005 * scale &&
        middle_slope(feet, count) > FEET_SHARE * ret->line.slope)
        return RISE_FOUND;
    return RISE_SWINGS;
}

/* Stairs: each step is a jump, one after the other, none down. */
static bool in_stairs(const struct track *t, struct rise *ret)
{
    struct fit_point stairs[TRACK_STRETCHES];
    size_t count = 0;
    double longest = 0;
    for (size_t i = t->stretch_count; i-- > 0;) {
        const struct track_stretch *s = &t->stretches[i];
        if (s->ended_by != CUT_UP)
            break;
        stairs[count++] = (struct fit_point){(double)(s->ended_ms - t->last.t_ms) / 1000, s->last};
        longest = MAX_OF(longest, (double)(s->ended_ms - s->began_ms) / 1000);
    }
    for (size_t i = 0; i < count / 2; i++) {
        struct fit_point swap = stairs[i];
        stairs[i] = stairs[count - 1 - i];
        stairs[count - 1 - i] = swap;
    }
    if (count < STAIRS_MIN || -stairs[0].t < 60 || track_span_s(t) > 2 * longest + 5)
        return false;
    return through_marks(stairs, count, ret);
}

enum rise_result rise_find(const struct track *t, double scale, double resolution, struct rise *ret)
{
    enum rise_result swings = in_peaks(t, scale, ret);
    if (swings == RISE_FOUND || swings == RISE_SWINGS)
        return swings;
    if (in_stairs(t, ret))
        return RISE_FOUND;
    struct rise r = {0};
    if (!look(t, resolution, &r.line))
        return RISE_UNKNOWN;
    r.basis_s = held_for(t, &r.line, resolution);
    r.low = r.line.slope - INTERVAL * r.line.slope_error;
    r.high = r.line.slope + INTERVAL * r.line.slope_error;
    *ret = r;
    return is_rise(&r.line, scale) ? RISE_FOUND : RISE_NONE;
}

void rise_when(const struct rise *rise, const struct track *t, double limit, struct forecast_when *ret)
{
    const struct fit_line *l = &rise->line;
    /* The first reading at the limit is one of those above the line; but what is far from it is not there with the next swing. */
    double left = limit - MAX_OF(l->level, rise->cyclic ? l->level : t->last.value - l->upper);
    double swing = MIN_OF(l->upper, SWING_MAX * MAX_OF(left, 0.0));
    ret->likely_s = MAX_OF(0.0, left - 0.8 * swing) / l->slope;
    ret->earliest_s = MAX_OF(0.0, left - 1.3 * swing - l->noise) / (rise->high * (1 + MODEL_SHARE));
    ret->latest_s = MAX_OF(0.0, left + l->noise) / (rise->low * (1 - MODEL_SHARE));
    ret->basis_s = rise->basis_s;
    ret->verdict = ret->likely_s > MIN_OF(REACH * rise->basis_s, REACH_MAX_S) ? FORECAST_NO_TREND : FORECAST_EXPECTED;
}
