/* SPDX-License-Identifier: Apache-2.0
 * Performance of a GPU at several power limits under one load, and where less power costs little speed.
 */
#pragma once

#include "cli/control/change.h"

enum { TUNE_POINTS_MAX = 32 };

/* Measures of work, from best to worst. */
enum tune_work {
    TUNE_RATE,   /* the number that the program prints */
    TUNE_TOKENS, /* tokens per second of a model server */
    TUNE_SM,     /* share of active multiprocessors times their clock */
    TUNE_LOAD,   /* share of busy time times the clock */
    TUNE_WORKS
};

struct tune_point {
    int64_t limit_mw;
    double work, watts; /* means */
    struct reading clock_khz;
    bool hot; /* throttled by heat, not by the limit */
};

struct tune_result {
    int gpu_index;
    char gpu[GPU_UUID_SIZE];
    enum tune_work kind;
    const char *rate; /* TUNE_RATE: the text beside the number */
    size_t planned, count;
    struct tune_point points[TUNE_POINTS_MAX]; /* from the highest to the lowest limit */
    double again;                              /* the first limit measured again at the end; 0: not measured */
};

struct tune_plan {
    struct cli *cli;
    const struct request_setting *setting; /* the limit's GPU */
    bool denied;                           /* this process lacks permission: use the helper */
    const char *server;                    /* what is already running; NULL: run a command */
    const char *rate;                      /* the text beside the number that the command prints; NULL: don't read it */
    int64_t warmup_ms, settle_ms, measure_ms;
    size_t count;
    int64_t limits[TUNE_POINTS_MAX];
};

/* Measures all limits, then stops the program and restores the old limit. */
int tune_measure(const struct tune_plan *plan, const char *const *command, struct tune_result *ret, struct error *err);
