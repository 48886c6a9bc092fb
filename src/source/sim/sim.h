/* SPDX-License-Identifier: Apache-2.0
 * The simulated host beyond being a source: its scenarios (for `whirr sim list`), and the truth about what it did (for tests that
 * score explanations and forecasts).
 */
#pragma once

#include "model/finding.h"
#include "source/source.h"

struct sim_job;
struct sim_condition;

/* An abnormal reading: value in the metric's unit, and its change per second. */
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
    int gpus;             /* default */
    const char *cards;    /* "nvidia", "amd", "intel", "mixed", or the name of a card */
    double begin_s;       /* default starting point */
    const struct sim_job *jobs;
    size_t job_count;
    const struct sim_condition *conditions;
    size_t condition_count;
    const struct sim_reading *readings; /* what GPU 0 shows, regardless of its load */
    size_t reading_count;
    const struct sim_reading *others; /* what all other GPUs show */
    size_t other_count;
    const struct sim_evidence *evidence; /* what the program on GPU 0 does on its host */
    size_t evidence_count;
    const char *child, *compiler, *mount, *code, *peer; /* for the same: busiest child, compiler, file system, file whose code it
                                                         * runs, peer it waits for; NULL: none */
    const char *fan_control;                            /* of GPU 0; NULL: the card's own */
    const char *reserved_for;                           /* a user with a lease on all GPUs; NULL: no lease */
    bool hides;                                         /* GPU 0 lists no processes */
    enum limit limit;                                   /* of the process on GPU 0; LIMIT_UNJUDGED: not in the answer key */
    finding_code finding; /* the first finding whirr must report after watching, on the host or GPU 0 */
    double shows_after_s; /* watching time; 0: two minutes */
};

/* The lease ID of a scenario, which no directory has. */
#define SIM_LEASE "paperdue"

size_t sim_scenarios(const struct sim_scenario **ret);
/* The cards for `model=`, by number: "h100"; NULL after the last. full_name may be NULL. */
const char *sim_card(size_t number, const char **full_name);

/* A fault that `fault=` adds to any scenario. */
#define SIM_ANY_FINDING FINDING_CODES_MAX /* it depends on the scenario, or comes later */
struct sim_fault {
    const char *name, *what;
    finding_code finding; /* the first finding whirr must report on a GPU at work */
};
const struct sim_fault *sim_fault(size_t number); /* NULL after the last */

/* The simulated machines of this user whose settings were changed: "sim:scenario=training". */
enum { SIM_SPEC_SIZE = 256 };
size_t sim_changed_machines(char specs[][SIM_SPEC_SIZE], size_t max);
