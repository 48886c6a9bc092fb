/* SPDX-License-Identifier: Apache-2.0
 * What is usual for one GPU, learned from its own history: pure functions of rows, oldest first. Knows no store and no clock.
 *
 *   minutes, hours ─▶ steady for 10 minutes? ─▶ a value for each day, by power ─▶ median and band of the days ─▶ "74 °C is usual"
 *
 * A day counts once, however long the GPU worked: a week of evidence is seven days, not one long run. Below BASELINE_DAYS_NEEDED
 * days nothing is called usual. Another power limit, or another fan speed at the same power that no heat explains, starts a new
 * baseline.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "insight/baseline/changes.h"
#include "model/snapshot.h"

enum {
    BASELINE_BINS = 10, /* of power, each a tenth of the limit */
    BASELINE_DAYS_NEEDED = 7,
    BASELINE_DAYS_MAX = 400,       /* older days are forgotten */
    BASELINE_STEADY_MINUTES = 10,  /* of the same power, after which the temperature has settled */
    BASELINE_DRIFT_DAYS = 20,      /* with steady work, for a trend, */
    BASELINE_DRIFT_SPAN_DAYS = 45, /* over at least so long */
    BASELINE_LEVELS = 8,           /* memory clocks of an idle GPU */
    BASELINE_STEPS = 8,            /* processes whose idle power is known */
};

/* One row of the history: means, and for hours the extremes of power that tell whether it was steady. */
struct baseline_row {
    struct wall at;
    int minutes; /* 1 or 60 */
    struct reading power_mw, power_min_mw, power_max_mw, power_limit_mw, temp_mdegc, fan_permille, util_permille,
        clock_graphics_khz, clock_memory_khz, ambient_mdegc;
};

/* A value over the days: the middle, and where most days lie. */
struct baseline_band {
    int days; /* below BASELINE_DAYS_NEEDED the rest is 0 */
    int64_t low, typical, high;
};

/* Gets hotter, or its fan faster, at the same power: dust, old paste. A warmer room is taken off where a sensor of the air or idle
 * days tell of it. */
struct baseline_drift {
    bool rising, strong;      /* strong: enough to call the cooling degraded */
    bool air_known;           /* the air around the host was taken off */
    bool elsewhere;           /* another GPU of the host does alike, and nothing is known of the air: it may be the room */
    int days;                 /* with a value */
    struct wall since, until; /* the first and the last of them, at midnight UTC of the local date */
    int64_t power_mw;
    int64_t mdegc_per_month, fan_permille_per_month; /* 0: no trend that can be told from noise */
};

/* The power of an idle GPU at a memory clock. */
struct baseline_level {
    int64_t clock_khz, power_mw;
};

/* The power of an idle GPU before a process came, and since. */
struct baseline_step {
    int32_t pid;
    struct wall since;
    int64_t before_mw, since_mw;
};

enum baseline_start { BASELINE_FIRST, BASELINE_NEW_LIMIT, BASELINE_NEW_FAN_CURVE };

struct baseline {
    struct gpu_id id;
    enum baseline_start start; /* why it begins there */
    struct wall since, until;
    int days;               /* with any row */
    int64_t power_limit_mw; /* 0: the GPU gives none, then nothing is known by power */
    struct baseline_band temp_mdegc[BASELINE_BINS], fan_permille[BASELINE_BINS];
    struct baseline_band rise_mdegc[BASELINE_BINS]; /* above the air around the host, on days that have it */
    struct baseline_band idle_power_mw, idle_temp_mdegc, idle_clock_graphics_khz, idle_clock_memory_khz;
    struct baseline_band util_permille[24]; /* by hour of the day */
    struct baseline_drift drift;
    size_t level_count, step_count;
    struct baseline_level levels[BASELINE_LEVELS];
    struct baseline_step steps[BASELINE_STEPS]; /* of processes that are there; not learned from rows */
};

/* How fast a model is served on GPUs of one name, by the number of requests at once: 1, 2, 3 to 4, 5 to 8, ...; see serving.h. */
enum { SERVING_BINS = 10, SERVING_MODELS_MAX = 16 };
struct serving_baseline {
    char model[PROCESS_MODEL_SIZE], gpu_name[GPU_NAME_SIZE];
    int gpus;                                        /* that one server works on */
    struct baseline_band tokens_milli[SERVING_BINS]; /* per second, of one server */
    struct baseline_band running_milli[SERVING_BINS], prompt_permille[SERVING_BINS], per_kilojoule_milli[SERVING_BINS];
};
struct serving_baselines {
    size_t count;
    struct serving_baseline list[SERVING_MODELS_MAX];
};

/* All GPUs of a host. */
struct baselines {
    int64_t zone_ms; /* local time less UTC */
    struct serving_baselines serving;
    struct changes changes; /* of the last weeks */
    size_t count;
    struct baseline list[GPU_MAX];
};

struct baseline_learner;

/* zone_ms: local time less UTC, for days and hours of the day. NULL: out of memory. */
struct baseline_learner *baseline_learner_new(int64_t zone_ms);
void baseline_learner_free(struct baseline_learner *l); /* NULL is fine */
void baseline_learn(struct baseline_learner *l, const struct baseline_row *row);
void baseline_conclude(struct baseline_learner *l, struct baseline *ret);

/* Rows of minutes around the time at which a process came, from..until without any other that came or went. False: too few idle
 * minutes on either side. */
bool baseline_step(const struct baseline_row *rows, size_t count, int64_t from_ms, int64_t came_ms, int64_t until_ms,
                   struct baseline_step *ret);

/* 0 below the days that are needed, then 0.6 to 0.95 with four weeks. */
double baseline_confidence(int days);

/* ---- A moment held against it. ---- */

struct usual {
    int days;          /* at this power; else when idle; else of the whole baseline */
    double confidence; /* 0: nothing can be called usual yet */
    struct wall since;
    enum baseline_start start;
    struct reading temp_low_mdegc, temp_mdegc, temp_high_mdegc, fan_permille; /* at the power of this moment */
    struct reading ambient_mdegc; /* these are of air so warm; absent: of whatever the air was */
    bool at_more_power;           /* it never worked at this power for long: these are of the next higher one that is known */
    struct reading idle_power_mw, idle_power_high_mw;
    struct reading util_permille;       /* at this hour of the day */
    bool too_hot, too_fast, fan_behind; /* hotter than usual; fan faster; fan slower, so that heat is no wonder */
    bool warm_room;                     /* hotter than usual like all other GPUs of the host: then too_hot is not said */
    bool idle_excess;                   /* idle, and draws more than usual */
    struct baseline_drift drift;
    struct baseline_level at_clock, at_low_clock; /* idle at the memory clock of this moment, and at the lowest; clock 0: unknown */
    size_t step_count;
    struct baseline_step steps[BASELINE_STEPS];
};

const struct baseline_step *usual_step(const struct usual *u, int32_t pid); /* NULL: not measured */

/* b may be NULL: nothing is known. hour: of local time, -1 unknown. ambient: of the air now. */
void baseline_judge(const struct baseline *b, const struct gpu *gpu, int hour, struct reading ambient, struct usual *ret);
/* The same for a GPU of a snapshot, held against its neighbors; all may be NULL. */
void baselines_judge(const struct baselines *all, const struct snapshot *now, const struct gpu *gpu, struct usual *ret);

/* "2 °C more each month at 300 W since August"; "" without a rise. */
enum { DRIFT_WORDS = 120 };
const char *baseline_drift_words(const struct baseline_drift *d, char out[DRIFT_WORDS]);
const char *baseline_start_name(enum baseline_start start); /* "first", "power_limit", "fan_curve" */
/* Sorts them; so many days. */
void baseline_band_of(int64_t *values, int days, struct baseline_band *ret);
