/* SPDX-License-Identifier: Apache-2.0
 * Performance of a GPU at several power limits under one load, and where less power costs little speed.
 */
#pragma once

#include "base/json_writer.h"
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

/* Limits from the present one down to the lowest, in multiples of 5 W; returns how many. */
size_t tune_limits(int64_t now_mw, int64_t least_mw, size_t steps, int64_t limits[TUNE_POINTS_MAX]);
/* The number beside `text` in a line: "12.5 it/s", "tokens/s: 88". The last one if there are several. */
bool tune_rate(struct str line, const char *text, double *ret);

enum { TUNE_WORDS = 192 };
/* "at 330 of 450 W it keeps 96% of its speed and saves 26% of its energy" */
void tune_table(struct buf *out, const struct page *page, const struct tune_result *r, double keep);
void tune_json(struct json_writer *j, const struct tune_result *r, double keep);
