/* SPDX-License-Identifier: Apache-2.0
 * The backtest of the forecasts: courses that are played, what each method says on the way, and how it is scored.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "insight/forecast/forecast.h"

enum kind { KIND_VRAM, KIND_HEAT, KINDS };
enum method { METHOD_WHIRR, METHOD_LINE, METHOD_PERSISTENCE, METHODS };

/* What a method says at one moment: seconds from then, HUGE_VAL for "not as far as I see". */
struct guess {
    double likely, early, late;
};

/* A moment at which all methods were asked. */
struct origin {
    double t;   /* seconds from the beginning of the course */
    bool there; /* it is full, or slowed down, at this moment: nothing to foresee */
    bool blind; /* the card could not be read */
    struct guess guess[METHODS];
};

enum { ORIGINS_MAX = 4096, EVENTS_PER_COURSE = 64 };

/* One GPU in one course. */
struct course {
    const char *name;
    enum kind kind;
    size_t origin_count;
    struct origin origins[ORIGINS_MAX];
    size_t event_count;
    double events[EVENTS_PER_COURSE]; /* when it became full or slow */
    double length_s;
};

struct score {
    size_t events, foreseen;    /* foreseen: the alarm stood when it came */
    size_t alarms, true_alarms; /* episodes */
    size_t intervals, held;     /* of the moments at which a time was said and an event came */
    double seconds;             /* watched */
    size_t lead_count;
    double leads[4096]; /* seconds between the alarm and the event */
    size_t error_count;
    double errors[65536]; /* |said - true| / true */
};

/* An alarm is a likely time within the horizon. */
double horizon_of(enum kind kind);
void score_course(const struct course *c, struct score scores[METHODS]);

/* Baselines: see the file. */
struct sample {
    double t, value, limit; /* NAN: not readable */
};
struct guess guess_line(const struct sample *samples, size_t count);
struct guess guess_persistence(const struct sample *samples, size_t count);
struct guess guess_whirr(const struct forecast_when *when);

/* Plays a simulated machine, or a recording; calls `done` with each GPU's course of each kind. */
typedef void course_fn(void *user, const struct course *c);
int play_sim(const char *name, const char *params, double length_s, double interval_s, course_fn *done, void *user);
int play_recording(const char *name, const char *path, course_fn *done, void *user);

/* CPU time of whirr's own forecasts. */
struct cost {
    double see_s, make_s;
    size_t seen, made; /* GPUs */
};
struct cost cost_so_far(void);
