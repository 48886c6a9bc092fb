/* SPDX-License-Identifier: Apache-2.0
 * Curves through points, tracks of samples, and whether a track rises.
 */
#include "insight/forecast/trend.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"

/* ---- robust fits of a line and of an approach to a final value ---- */

enum { PAIRS_MAX = FIT_POINTS_MAX * (FIT_POINTS_MAX - 1) / 2, TAUS = 18, ROUNDS = 4 };

/* From the median of the distances to a standard deviation, for noise of the usual shape. */
#define MAD_TO_SIGMA 1.4826
/* Beyond so many standard deviations a reading pulls no stronger. */
#define HUBER 1.5

/* Moves the value that sorting would put at `nth` there, with none above it before and none below it behind: quickselect. Sorting
 * thousands of slopes to look at one of them was most of what a verdict cost. */
static void select_nth(double *values, size_t count, size_t nth)
{
    size_t first = 0, last = count - 1;
    while (first < last) {
        double pivot = values[first + (last - first) / 2];
        size_t i = first, j = last;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i >= j)
                break;
            double swapped = values[i];
            values[i++] = values[j];
            values[j--] = swapped;
        }
        if (nth <= j)
            last = j;
        else
            first = j + 1;
    }
}

/* Moves the values around. */
static double fit_quantile(double *values, size_t count, double quantile)
{
    double at = quantile * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count)
        below = count - 1;
    select_nth(values, count, below);
    if (below + 1 >= count)
        return values[below];
    double next = values[below + 1];
    for (size_t i = below + 2; i < count; i++)
        next = fmin(next, values[i]);
    return values[below] + (at - (double)below) * (next - values[below]);
}

double fit_median(double *values, size_t count)
{
    return fit_quantile(values, count, 0.5);
}

/* How many independent readings so many are worth: noise that lasts longer than an interval counts for less. */
static double independent(const double *residuals, size_t count, double sigma)
{
    double mean = 0, own = 0, shifted = 0;
    for (size_t i = 0; i < count; i++)
        mean += fmax(-4 * sigma, fmin(4 * sigma, residuals[i])) / (double)count;
    for (size_t i = 0; i < count; i++) {
        double x = fmax(-4 * sigma, fmin(4 * sigma, residuals[i])) - mean;
        own += x * x;
        if (i) {
            double before = fmax(-4 * sigma, fmin(4 * sigma, residuals[i - 1])) - mean;
            shifted += x * before;
        }
    }
    double rho = own > 0 ? fmax(0, fmin(0.92, shifted / own)) : 0;
    return fmax(3, (double)count * (1 - rho) / (1 + rho));
}

static double spread_of(const double *residuals, size_t count, double least)
{
    double distances[FIT_POINTS_MAX];
    for (size_t i = 0; i < count; i++)
        distances[i] = fabs(residuals[i]);
    return fmax(MAD_TO_SIGMA * fit_median(distances, count), least);
}

/* Between all pairs of points. Returns how many there are. */
static size_t slopes_of(const struct fit_point *p, size_t count, double slopes[PAIRS_MAX])
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (p[j].t > p[i].t)
                slopes[found++] = (p[j].y - p[i].y) / (p[j].t - p[i].t);
    return found;
}

static double median_slope(const struct fit_point *p, size_t count)
{
    double slopes[PAIRS_MAX];
    size_t found = slopes_of(p, count, slopes);
    return found ? fit_median(slopes, found) : 0;
}

bool fit_line(const struct fit_point *p, size_t count, double resolution, struct fit_line *ret)
{
    if (count > FIT_POINTS_MAX) {
        p += count - FIT_POINTS_MAX;
        count = FIT_POINTS_MAX;
    }
    if (count < FIT_POINTS_MIN || !(p[count - 1].t > p[0].t))
        return false;
    struct fit_line line = {.slope = median_slope(p, count), .span = p[count - 1].t - p[0].t};
    double values[FIT_POINTS_MAX], residuals[FIT_POINTS_MAX], mean_t = 0, spread_t = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = p[i].y - line.slope * (p[i].t - p[0].t);
        mean_t += p[i].t / (double)count;
    }
    double start = fit_median(values, count);
    for (size_t i = 0; i < count; i++) {
        residuals[i] = p[i].y - line.slope * (p[i].t - p[0].t) - start;
        spread_t += (p[i].t - mean_t) * (p[i].t - mean_t);
    }
    line.level = start + line.slope * line.span;
    line.noise = spread_of(residuals, count, 0.3 * resolution);
    double n = independent(residuals, count, line.noise);
    line.slope_error = line.noise / sqrt(spread_t) * sqrt((double)count / n);
    line.upper = fmax(0, fit_quantile(residuals, count, 0.9));
    *ret = line;
    return true;
}

/* One candidate: the best curve for a given tau, by weighted least squares with weights that tame outliers. */
struct candidate {
    double tau, final, swing, cost, final_error;
};

static void fit_tau(const struct fit_point *p, size_t count, double tau, double sigma, const struct fit_bounds *bounds,
                    struct candidate *ret)
{
    double prior_most = bounds->prior_sigma > 0 ? sigma * sigma / (bounds->prior_sigma * bounds->prior_sigma) : 0;
    double prior = prior_most;
    double weight[FIT_POINTS_MAX], decay[FIT_POINTS_MAX];
    for (size_t i = 0; i < count; i++) {
        weight[i] = 1;
        decay[i] = exp(-(p[i].t - p[0].t) / tau);
    }
    struct candidate c = {.tau = tau};
    for (int round = 0; round < ROUNDS; round++) {
        double s = prior, se = 0, see = 0, sy = prior * bounds->prior_final, sey = 0;
        for (size_t i = 0; i < count; i++) {
            double e = decay[i], w = weight[i];
            s += w;
            se += w * e;
            see += w * e * e;
            sy += w * p[i].y;
            sey += w * e * p[i].y;
        }
        double det = s * see - se * se;
        if (det > 1e-12 * s * see) {
            c.final = (see * sy - se * sey) / det;
            c.swing = (s * sey - se * sy) / det;
            c.final_error = sigma * sqrt(see / det);
        } else { /* settled long ago, or nothing to tell apart */
            c.final = sy / s;
            c.swing = 0;
            c.final_error = sigma / sqrt(s);
        }
        c.cost = 0;
        if (prior_most > 0) { /* with a long tail: it gives way when the readings insist */
            double off = (c.final - bounds->prior_final) / bounds->prior_sigma;
            prior = prior_most / (1 + off * off);
            c.cost = log1p(off * off);
        }
        for (size_t i = 0; i < count; i++) {
            double r = fabs(p[i].y - c.final - c.swing * decay[i]) / sigma;
            weight[i] = r > HUBER ? HUBER / r : 1;
            c.cost += r > HUBER ? 2 * HUBER * r - HUBER * HUBER : r * r;
        }
    }
    *ret = c;
}

/* Seconds until a curve that is at `level` now and ends at `final` meets the limit. */
static double crossing(double level, double final, double tau, double limit)
{
    if (level >= limit)
        return 0;
    if (final <= limit)
        return HUGE_VAL;
    return tau * log((final - level) / (final - limit));
}

bool fit_approach(const struct fit_point *p, size_t count, const struct fit_bounds *bounds, struct fit_approach *ret)
{
    if (count > FIT_POINTS_MAX) {
        p += count - FIT_POINTS_MAX;
        count = FIT_POINTS_MAX;
    }
    if (count < FIT_APPROACH_MIN || !(p[count - 1].t > p[0].t))
        return false;
    struct candidate all[TAUS];
    double sigma = 0.3 * bounds->resolution, n = (double)count;
    size_t best = 0;
    /* Twice: the noise is what is left around the best curve of the first time. */
    for (int round = 0; round < 2; round++) {
        best = 0;
        for (size_t k = 0; k < TAUS; k++) {
            double tau = bounds->tau_min * pow(bounds->tau_max / bounds->tau_min, (double)k / (TAUS - 1));
            fit_tau(p, count, tau, sigma, bounds, &all[k]);
            if (all[k].cost < all[best].cost)
                best = k;
        }
        double residuals[FIT_POINTS_MAX];
        for (size_t i = 0; i < count; i++)
            residuals[i] = p[i].y - all[best].final - all[best].swing * exp(-(p[i].t - p[0].t) / all[best].tau);
        sigma = spread_of(residuals, count, 0.3 * bounds->resolution);
        n = independent(residuals, count, sigma);
    }
    const double last = p[count - 1].t - p[0].t;
    const double worse = 1.7 * (double)count / n; /* costs that much higher fit nearly as well: about 80 % */
    struct fit_approach fit = {.final = all[best].final,
                               .tau = all[best].tau,
                               .level = all[best].final + all[best].swing * exp(-last / all[best].tau),
                               .noise = sigma,
                               .final_low = HUGE_VAL,
                               .final_high = -HUGE_VAL,
                               .cross_early = HUGE_VAL};
    fit.cross = crossing(fit.level, fit.final, fit.tau, bounds->limit);
    for (size_t k = 0; k < TAUS; k++) {
        if (all[k].cost > all[best].cost + worse)
            continue;
        double error = all[k].final_error * sqrt((double)count / n) * 0.7;
        double level = all[k].final + all[k].swing * exp(-last / all[k].tau);
        for (int side = -1; side <= 1; side++) {
            double final = all[k].final + side * error;
            double cross = crossing(level, final, all[k].tau, bounds->limit);
            fit.final_low = fmin(fit.final_low, final);
            fit.final_high = fmax(fit.final_high, final);
            fit.cross_early = fmin(fit.cross_early, cross);
            fit.cross_late = fmax(fit.cross_late, cross);
        }
    }
    *ret = fit;
    return true;
}

/* ---- tracks: rings of samples at several densities, and the cuts between stretches ---- */

enum { PER_POINT = 4, STEPS_KNOWN = 6 };

/* A change is a load or unload when it is that many times the usual change from sample to sample. */
#define UNUSUAL 8.0

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

/* ---- does a track rise, and when does it meet a limit? Shared by memory, disk and store. ---- */

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
    double slopes[PAIRS_MAX], levels[TRACK_STRETCHES];
    size_t found = slopes_of(marks, count, slopes);
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
        median_slope(feet, count) > FEET_SHARE * ret->line.slope)
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
