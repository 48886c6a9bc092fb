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

#include "host/tree.h"
#include "model/energy.h"
#include "model/limit.h"
#include "model/snapshot.h"

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
    enum reading_state state; /* READING_OK: known, at least once */
    int64_t peak;
    double mean, seconds;
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

const char *course_kind_name(enum course_kind kind); /* "computing" */

/* ---- from snapshots: GPU by GPU, and put together to the course of the program ---- */

/* What the program has of one GPU at a moment. */
struct own_part {
    bool on_gpu;
    struct reading vram_bytes, util_permille, attributed_mw;
    struct reading power_mw, temp_mdegc; /* of the whole GPU */
};

struct run_gpu {
    int index;
    char name[GPU_NAME_SIZE], uuid[GPU_UUID_SIZE];
    bool used; /* at any time */
    bool simulated;
    struct course_level vram_bytes, util_permille, power_mw, temp_mdegc;
    double energy_j, attributed_j; /* of the GPU while the program ran; the part that its own use explains */
    struct reading vram_before;    /* in use when it was started */
    struct energy_meter meter;
    struct own_part last;
};

struct run_usage {
    struct run_course course;
    struct run_gpu *gpus;
    size_t gpu_count;
    int only;                     /* position of a GPU that counts as a whole, for any user; -1: processes tell */
    enum reading_state processes; /* READING_OK: on some GPU their list was read while it ran */
    struct mono began;
    struct course_moment last;
};

/* `first` was taken just before the program was started, at `now`. -ENOMEM. */
int usage_init(struct run_usage *u, const struct snapshot *first, struct mono now, int only);
void usage_done(struct run_usage *u);
/* `tree` knows the program's processes; `use` is what they used of the host. */
void usage_see(struct run_usage *u, const struct snapshot *s, struct mono now, const struct process_tree *tree,
               const struct tree_use *use);
/* The program has ended, and its processes are gone: what was seen last held until now. `s` may be NULL. */
void usage_end(struct run_usage *u, const struct snapshot *s, struct mono now);
double usage_energy_j(const struct run_usage *u); /* of the GPUs that it used */
double usage_attributed_j(const struct run_usage *u);
