/* SPDX-License-Identifier: Apache-2.0
 * The course of one program on the GPUs: what it used, the phases it went through, and what limited it. A pure function of the
 * moments that were seen.
 *
 *   a moment is ...     when
 *   computing           its GPUs were at 10% or more, over three seconds
 *   loading             they were not, and its VRAM was growing or it was reading from disk
 *   saving              they were not, and it was writing to disk
 *   starting, ending    it held no VRAM, before and after the others
 *   waiting             none of that: it held VRAM and did nothing
 *
 * What limits a moment is what area/limit finds of its processes on their GPUs, as everywhere else; a program that is not on a
 * GPU is limited by nothing that counts here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/limit.h"
#include "model/reading.h"

/* One look; shares and rates are those since the look before. Readings of several GPUs are put together (usage.c). */
struct course_moment {
    double at_s;                  /* since the program was started */
    bool on_gpu;                  /* it holds memory of a GPU, or works on one */
    struct reading vram_bytes;    /* of all its processes on all GPUs */
    struct reading util_permille; /* its own, mean of the GPUs that it uses */
    struct reading gpu_util_permille;
    struct reading power_mw;                            /* of these GPUs together */
    struct reading temp_mdegc;                          /* the hottest */
    int64_t throttle;                                   /* THROTTLE_ bits of any of them */
    int64_t cpu_permille;                               /* of all its processes; 1000 is one core */
    int64_t cpu_busiest_permille;                       /* of the busiest of them */
    struct reading read_bytes_per_s, write_bytes_per_s; /* from and to disks */
    enum limit limit;                                   /* of the process that matters most */
};

enum course_kind { COURSE_STARTING, COURSE_LOADING, COURSE_COMPUTING, COURSE_SAVING, COURSE_WAITING, COURSE_ENDING };

enum { COURSE_MOMENTS_MAX = 4096, COURSE_PHASES_MAX = 24 };

struct course_phase {
    enum course_kind kind;
    double from_s, seconds;
    enum limit limit;                       /* of most of it */
    struct reading util_permille, power_mw; /* means */
    struct reading vram_peak_bytes;
};

/* Peak, and the mean over time. */
struct course_level {
    bool known;
    int64_t peak;
    double area, seconds;
};

struct run_course {
    double seconds; /* so far */
    size_t seen;
    bool on_gpu; /* at any time */
    struct course_level vram_bytes, util_permille, power_mw, temp_mdegc, cpu_permille;
    double throttled_s[14];        /* by THROTTLE_ bit */
    double slowed_s;               /* any of those that slow a GPU down */
    double limited_s[LIMIT_COUNT]; /* while it was on a GPU */
    /* The moments, thinned out by half whenever there are too many. */
    struct course_moment *moments;
    size_t moment_count, keep_every, skipped;
};

int course_init(struct run_course *c); /* -ENOMEM */
void course_done(struct run_course *c);
void course_see(struct run_course *c, const struct course_moment *m);
/* How many; at most COURSE_PHASES_MAX. */
size_t course_phases(const struct run_course *c, struct course_phase *phases);
/* What limited it for most of its time on GPUs; LIMIT_NONE: nothing did. */
enum limit course_limited_by(const struct run_course *c);

void course_note(struct course_level *l, struct reading r, double seconds);
static inline double course_mean(const struct course_level *l)
{
    return l->seconds > 0 ? l->area / l->seconds : (double)l->peak;
}

const char *course_kind_name(enum course_kind kind); /* "computing" */
