/* SPDX-License-Identifier: Apache-2.0
 * What is known about one GPU, weighed into levels that rules can speak of: the activity and the levels beside it, who
 * does the work, and what the past minutes tell.
 */
#pragma once

#include "insight/facts/levels.h"
#include "model/activity.h"
#include "model/recent.h"
#include "model/snapshot.h"

struct changes;
struct job_waits;
struct serving_baselines;

/* The past in ms. Heat of ended work fades as exp(-t / COOLING_MS). */
enum { COOLING_MS = 120000, PAST_USEFUL_MS = 600000, CALM_LEAST_MS = 180000, STEADY_LEAST_MS = 300000 };

enum load_level { LOAD_UNKNOWN, LOAD_IDLE, LOAD_LIGHT, LOAD_BUSY };
enum load_basis { BASIS_NONE, BASIS_UTIL, BASIS_PROCESSES, BASIS_POWER };

/* Who is on the card and does the work, as far as it can be told. */
struct workers {
    const struct process *first, *second; /* by share, else by memory */
    size_t count;                         /* processes that take part in the load */
    size_t on_card;                       /* processes on the card, working or not */
    bool shares_known;                    /* first and second were chosen by their share of the load */
    bool suspected;                       /* chosen among several whose share is not known */
    const struct process *holder;         /* holds a context or memory without working */
};

/* What the past minutes tell. */
struct past_work {
    bool known;                         /* the past minutes are known, or it is known that they were busy */
    const struct recent_process *ended; /* that explains most of today's heat; NULL none */
    int64_t ended_ago_ms;
    double ended_left; /* part of its heat that should be left, 0 to 1 */
    bool fell;         /* the load fell from `fell_from` so long ago */
    int64_t fell_ago_ms, fell_from_permille;
    double fell_left;
    bool temp_falls, fan_falls;
    int64_t peak_temp_mdegc, peak_fan_permille;
    int64_t calm_ms, steady_ms; /* idle, at full load without a break, until now */
};

struct facts {
    const struct snapshot *now;
    const struct gpu *gpu;
    const struct recent *recent; /* NULL: unknown */
    bool over;                   /* a moment of the past, and told so */
    struct activity activity;    /* the one judgement; `load` follows it */
    enum load_level load;
    enum load_basis load_basis;
    int64_t load_permille; /* with BASIS_UTIL and BASIS_PROCESSES */
    enum fan_level fan;
    struct fan fan_judged;
    bool fan_missed;          /* does not turn on a card that is hot enough to need it */
    bool fan_stuck, fan_slow; /* driven but not turning; far below what the card asks for */
    enum heat_level heat;
    bool has_margin;
    int64_t margin_mdegc;
    struct reading limit_mdegc; /* where the card slows down, if it says so */
    enum power_level power;
    bool at_power_limit;
    int64_t video_permille; /* of the busier video engine; 0 unknown */
    bool encodes;           /* it is the encoder */
    bool clocks_high;       /* although there may be nothing to do */
    bool clocks_by_state;   /* told by the performance state alone */
    bool divided;           /* into instances */
    struct workers workers;
    struct past_work past;
    bool cpu_hot;                            /* and it shares its cooling with this GPU */
    const struct process *loading;           /* fills the memory right now; NULL: none */
    const struct gpu *neighbor;              /* a working card in the same machine that is hotter; NULL none */
    const struct serving_baselines *serving; /* how fast models are usually served; NULL: unknown */
    const struct changes *changes;           /* what changed on GPUs of this host; NULL: unknown */
    const struct job_waits *waits;           /* ranks that wait for another one; NULL: not judged */
    const struct verdict *verdict;           /* once everything is found: claims of calm rest on it; NULL before */
};

void facts_collect(struct facts *f, const struct snapshot *now, const struct gpu *gpu, const struct recent *recent);

/* ---- activity ----
 * The one judgement of activity: a pure function of a moment and the minute before it, used by why, status, health, alerts and API.
 *
 *     idle ──8%──▶ lightly loaded ──45%──▶ busy ──95%──▶ saturated
 *          ◀──5%──                ◀──30%──     ◀──90%──
 *
 * The load is followed through the last minute with a memory of 5 s, so that one sample changes nothing and a new job counts
 * within seconds. Going up and coming down have thresholds of their own: a constant load never changes its name. Work in bursts
 * (two rises in the minute) is judged by its mean and is never idle. Without a past the moment itself decides, halfway between.
 * The minute is that of the programs that are there: it begins anew when one that was at work has ended. */

/* `past` may be NULL. */
struct activity activity_judge(const struct snapshot *now, const struct gpu *gpu, const struct recent *past);
/* Loading: it does not compute, but memory fills while it keeps host CPU or disks busy. */
enum process_activity activity_of_process(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                                          const struct recent *past);
/* Both, written into a snapshot that is not published yet. */
void activity_fill(struct snapshot *now, const struct recent *past);

/* A fan that follows the work of a GPU that is not hot is part of that work; `a` is how the GPU was judged. */
bool activity_is_loud(const struct activity *a, const struct gpu *gpu, bool at_work);

/* The points of this GPU; NULL none. By identity, or by position where the past carries none. */
const struct recent_gpu *activity_past(const struct snapshot *now, const struct gpu *gpu, const struct recent *past);
/* Whether this process may have done the work of the last two minutes, by its own samples; one whose share is not known may have.
 */
bool activity_may_have_worked(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                              const struct recent *past);
