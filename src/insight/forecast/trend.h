/* SPDX-License-Identifier: Apache-2.0
 * Tracks of numbers, the curves through them, and when a rising one meets a limit. What the numbers mean is the forecast's
 * business.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insight/forecast/forecast.h"

/* ---- curves, fitted so that outliers do not carry them: a straight line, and an approach to a final value. Numbers in, numbers
 * out. ---- */

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

double fit_median(double *values, size_t count); /* moves the values around */

/* ---- tracks ----
 * The recent course of one number, in bounded memory: dense for the last minutes, coarser the further back, and cut where something
 * happened (a load, an unload, another set of processes, a gap).
 *
 *   level 0   the last 64 samples              with a sample every 5 s:   5 minutes
 *   level 1   the last 64 means of 4 of them                              21 minutes
 *   level 2   and so on                                             1.4 h, 5.7 h, 23 h
 *
 * A level is also a window to look through: a trend is sought in the longest one that is straight. */

enum { TRACK_LEVELS = 5, TRACK_POINTS = 64, TRACK_STRETCHES = 16, TRACK_STEPS = 15 };

enum track_cut { CUT_START, CUT_UP, CUT_DOWN, CUT_PROCESSES, CUT_GAP };

struct track_point {
    int64_t t_ms;
    double value;
};

struct track_level {
    struct track_point points[TRACK_POINTS]; /* a ring */
    uint32_t next, count;
    struct track_point sum; /* being averaged for the next level */
    uint32_t summed;
};

/* A stretch between two cuts that is over. */
struct track_stretch {
    int64_t began_ms, ended_ms;
    double first, highest, last;
    enum track_cut ended_by;
};

struct track {
    struct track_level levels[TRACK_LEVELS];
    struct track_point first, last; /* of the current stretch */
    int64_t began_ms;               /* of the current stretch */
    double highest;
    uint64_t samples; /* of the current stretch */
    enum track_cut began_by;
    double steps[TRACK_STEPS]; /* recent sizes of change between two samples, a ring */
    uint32_t step_next, step_count;
    struct track_stretch stretches[TRACK_STRETCHES]; /* oldest first */
    size_t stretch_count;
};

/* Ends the current stretch; the next sample begins another. CUT_GAP and CUT_PROCESSES also forget the stretches before: they
 * tell nothing about what comes. */
void track_cut(struct track *t, enum track_cut why);
/* Samples come in the order of time; one that is not later than the last is left out. A change of more than `jump` (and of more
 * than is usual here) cuts; HUGE_VAL: nothing does. */
void track_add(struct track *t, int64_t t_ms, double value, double jump);

static inline double track_span_s(const struct track *t)
{
    return t->samples ? (double)(t->last.t_ms - t->began_ms) / 1000 : 0;
}

/* The points of a level, oldest first, with the newest sample as the last. Time is in seconds before the newest. */
size_t track_window(const struct track *t, int level, struct fit_point points[FIT_POINTS_MAX]);

/* ---- rises ---- */

/* A rising line on a track: how it was found. */
struct rise {
    struct fit_line line;
    double basis_s;
    double low, high; /* slopes of the interval */
    bool cyclic;      /* from the peaks of a sawtooth, not from the stretch */
};

enum rise_result { RISE_UNKNOWN, RISE_NONE, RISE_SWINGS, RISE_FOUND };
/* Seeks a rise in the current stretch or, where it goes up and down, in its peaks. `scale`: what counts as large (the room). */
enum rise_result rise_find(const struct track *t, double scale, double resolution, struct rise *ret);
/* When the rise meets the limit. */
void rise_when(const struct rise *rise, const struct track *t, double limit, struct forecast_when *ret);
