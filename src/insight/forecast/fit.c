/* SPDX-License-Identifier: Apache-2.0
 * Robust fits of a line and of an approach to a final value.
 */
#include "insight/forecast/internal.h"

#include <math.h>

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

double fit_quantile(double *values, size_t count, double quantile)
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

static double median_slope(const struct fit_point *p, size_t count)
{
    double slopes[PAIRS_MAX];
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (p[j].t > p[i].t)
                slopes[found++] = (p[j].y - p[i].y) / (p[j].t - p[i].t);
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
