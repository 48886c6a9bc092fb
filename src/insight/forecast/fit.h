/* SPDX-License-Identifier: Apache-2.0
 * The curves of a forecast, fitted so that outliers do not carry them: a straight line, and an approach to a final value. Numbers
 * in, numbers out; what they mean is forecast_vram.c's and forecast_heat.c's business.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { FIT_POINTS_MAX = 80, FIT_POINTS_MIN = 8, FIT_APPROACH_MIN = 5 };

struct fit_point {
    double t, y; /* seconds, and anything */
};

/* Theil-Sen: the median of the slopes between all pairs of points. */
struct fit_line {
    double slope;
    double slope_error; /* standard error, with regard to noise that has a memory */
    double level;       /* of the line at the last point */
    double noise;       /* robust standard deviation around the line */
    double upper;       /* how far above the line readings go: their 90th percentile */
    double span;        /* seconds */
};

/* resolution: the smallest step of y. False: too few points, or no time between them. */
bool fit_line(const struct fit_point *points, size_t count, double resolution, struct fit_line *ret);

/* y = final + swing * exp(-t / tau). */
struct fit_approach {
    double final, final_low, final_high; /* likely, and the range that fits nearly as well */
    double tau;
    double level; /* of the curve at the last point */
    double noise;
    /* Seconds from the last point until the curve meets the limit: HUGE_VAL for never. */
    double cross, cross_early, cross_late;
};

struct fit_bounds {
    double tau_min, tau_max;
    double resolution;
    double limit;
    /* Where it should end by what is known beforehand, give or take: weighs little once there are readings, and nothing
     * when they lead elsewhere. sigma 0: nothing is known */
    double prior_final, prior_sigma;
};
/* False: too few points. A curve that is all but straight within tau_max has a final value as far away as tau_max allows. */
bool fit_approach(const struct fit_point *points, size_t count, const struct fit_bounds *bounds, struct fit_approach *ret);

double fit_median(double *values, size_t count);                    /* moves the values around */
double fit_quantile(double *values, size_t count, double quantile); /* moves the values around */
