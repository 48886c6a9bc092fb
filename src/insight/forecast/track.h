/* SPDX-License-Identifier: Apache-2.0
 * The recent course of one number, in bounded memory: dense for the last minutes, coarser the further back, and cut where something
 * happened (a load, an unload, another set of processes, a gap).
 *
 *   level 0   the last 64 samples              with a sample every 5 s:   5 minutes
 *   level 1   the last 64 means of 4 of them                              21 minutes
 *   level 2   and so on                                             1.4 h, 5.7 h, 23 h
 *
 * A level is also a window to look through: a trend is sought in the longest one that is straight.
 */
#pragma once

#include <stdint.h>

#include "insight/forecast/fit.h"

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

/* Forgets everything, also the stretches before. */
void track_reset(struct track *t);
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
