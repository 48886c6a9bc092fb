/* SPDX-License-Identifier: Apache-2.0
 * The simulated machine: what may be asked of it beyond being a source. Its scenarios (for `whirr sim list`), and the truth about
 * what it did (for tests that score explanations and forecasts).
 */
#pragma once

#include "source/source.h"

struct sim_job;
struct sim_condition;

/* A reading that is not what it should be: in the metric's own unit, and what it gains in a second. */
struct sim_reading {
    enum metric metric;
    int64_t value, per_second;
};

/* A scripted course of events. */
struct sim_evidence {
    enum evidence which;
    int64_t value;
};

struct sim_scenario {
    const char *name;
    const char *what;     /* one line */
    const char *timeline; /* what happens when, for people */
    int gpus;             /* unless asked for otherwise */
    const char *cards;    /* "nvidia", "amd", "intel", "mixed", or the name of a card */
    double begin_s;       /* how far in it is entered unless asked for otherwise */
    const struct sim_job *jobs;
    size_t job_count;
    const struct sim_condition *conditions;
    size_t condition_count;
    const struct sim_reading *readings; /* what GPU 0 shows instead of what follows from its load */
    size_t reading_count;
    const struct sim_reading *others; /* what all other GPUs show */
    size_t other_count;
    const struct sim_evidence *evidence; /* what the program on GPU 0 does on its host */
    size_t evidence_count;
    const char *child, *compiler, *mount; /* of the same: busiest child, compiler, file system; NULL: none */
    const char *fan_control;              /* of GPU 0; NULL: as the card has it */
    bool hides;                           /* no process is listed on GPU 0 */
    enum limit limit;                     /* of the process on GPU 0; LIMIT_UNJUDGED: not in the answer key */
    enum finding_code finding;            /* what whirr must find first when it has watched, on the host or on GPU 0 */
    double shows_after_s;                 /* for so long; 0: two minutes */
};

size_t sim_scenarios(const struct sim_scenario **ret);
/* The cards that `model=` knows, by number: "h100"; NULL behind the last. full_name may be NULL. */
const char *sim_card(size_t number, const char **full_name);

/* A fault that `fault=` adds to any scenario. */
#define SIM_ANY_FINDING FINDING_CODE_COUNT /* what is found depends on the scenario, or comes later */
struct sim_fault {
    const char *name, *what;
    enum finding_code finding; /* what whirr must find first on a GPU at work */
};
const struct sim_fault *sim_fault(size_t number); /* NULL behind the last */

extern const struct source_ops sim_source;

/* Conditions that explain heat, noise or slowness without a process. Bits. */
enum sim_trouble {
    SIM_BAD_AIRFLOW = 1 << 0,
    SIM_FAN_STOPPED = 1 << 1,
    SIM_WARM_ROOM = 1 << 2,
    SIM_POWER_LIMITED = 1 << 3, /* the limit was set below the card's default */
    SIM_SLOWED_BY_HEAT = 1 << 4,
    SIM_SLOWED_BY_POWER = 1 << 5,
    SIM_LOST = 1 << 6,
    SIM_ASLEEP = 1 << 7,
    SIM_VRAM_LEAK = 1 << 8,
};

/* What the simulator knows it did on one GPU at one moment. */
struct sim_truth {
    double at_s;       /* scenario time */
    const char *cause; /* "training", "game", "miner", ...: what loads the card; "idle" when nothing does */
    int32_t pid;       /* of the process behind it; 0: none */
    char name[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE];
    double util;        /* 0 to 1, of the whole card */
    double cause_util;  /* and the part of that process */
    const char *holder; /* who holds most of the memory while it does nothing: its cause; NULL: no process */
    int32_t holder_pid;
    const char *ended; /* the last job that ended in the 10 minutes before; NULL: none */
    int32_t ended_pid;
    double ended_ago_s;
    unsigned trouble;             /* enum sim_trouble */
    double temp_c, final_temp_c;  /* now, and where it would settle if everything stayed as it is */
    double vram_used, vram_total; /* bytes */
};

/* About GPU `gpu` (its position in list()) at a moment from the opening of the source on, or before it as far as the scenario
 * reaches back. Needs no sampling in between. -EINVAL: not a simulated source, or there is no such GPU; -ERANGE: before time began.
 */
int sim_truth(struct source *s, size_t gpu, struct wall at, struct sim_truth *ret);

/* The answer key of a forecast: scenario seconds from `at` until the memory is full / the card slows itself down for heat.
 * -ENOENT: not within horizon_s. */
int sim_truth_vram_full(struct source *s, size_t gpu, struct wall at, double horizon_s, double *ret_s);
int sim_truth_throttle(struct source *s, size_t gpu, struct wall at, double horizon_s, double *ret_s);
