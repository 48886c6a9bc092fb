/* SPDX-License-Identifier: Apache-2.0
 * What a GPU does at several power limits under one load, and where less power costs little speed.
 */
#pragma once

#include "base/json_writer.h"
#include "cli/control/change.h"

enum { TUNE_POINTS_MAX = 32 };

/* What is taken for work, from best to worst. */
enum tune_work {
    TUNE_RATE,   /* the number that the program prints */
    TUNE_TOKENS, /* tokens per second of a model server */
    TUNE_SM,     /* how many multiprocessors had work, times their clock */
    TUNE_LOAD,   /* share of time with work, times the clock */
    TUNE_WORKS
};

struct tune_point {
    int64_t limit_mw;
    double work, watts; /* means */
    struct reading clock_khz;
    bool hot; /* heat slowed it: not the limit's doing */
};

struct tune_result {
    int gpu_index;
    char gpu[GPU_UUID_SIZE];
    enum tune_work kind;
    const char *rate; /* of TUNE_RATE: the text beside the number */
    size_t planned, count;
    struct tune_point points[TUNE_POINTS_MAX]; /* from the highest limit to the lowest */
    double again;                              /* work at the first limit once more, at the end; 0: not measured */
};

struct tune_plan {
    struct cli *cli;
    const struct request_setting *setting; /* of which GPU */
    bool denied;                           /* this process may not: the helper does it */
    const char *server;                    /* what runs already; NULL: a command is run */
    const char *rate;                      /* the text beside the number that the command prints; NULL: it is not read */
    int64_t warmup_ms, settle_ms, measure_ms;
    size_t count;
    int64_t limits[TUNE_POINTS_MAX];
};

/* Measures all of them. The program is stopped, and the old limit is back. */
int tune_measure(const struct tune_plan *plan, const char *const *command, struct tune_result *ret, struct error *err);

/* Limits from the present one down to the lowest, whole 5 W; how many. */
size_t tune_limits(int64_t now_mw, int64_t least_mw, size_t steps, int64_t limits[TUNE_POINTS_MAX]);
/* The lowest limit that keeps so much of the speed of the first; -1: none below it does, or heat makes the first no measure. */
int tune_knee(const struct tune_result *r, double keep);
/* Energy for the same work, as a share of that at the first limit. */
double tune_energy_share(const struct tune_result *r, size_t at);
/* The number beside `text` in a line: "12.5 it/s", "tokens/s: 88". The last one, if there are several. */
bool tune_rate(struct str line, const char *text, double *ret);

enum { TUNE_WORDS = 192 };
/* "at 330 of 450 W it keeps 96% of its speed and saves 26% of its energy" */
const char *tune_words(const struct tune_result *r, int knee, char out[TUNE_WORDS]);
void tune_table(struct buf *out, const struct page *page, const struct tune_result *r, double keep);
void tune_json(struct json_writer *j, const struct tune_result *r, double keep);
