/* SPDX-License-Identifier: Apache-2.0
 * The simulated machine: what may be asked of it beyond being a source. Its scenarios (for `whirr sim list`), and the truth about
 * what it did (for tests that score explanations and forecasts).
 */
#pragma once

#include "model/finding.h"
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
    const char *child, *compiler, *mount, *code, *peer; /* of the same: busiest child, compiler, file system, file whose code
                                                         * it runs, whom it waits for; NULL: none */
    const char *fan_control;                            /* of GPU 0; NULL: as the card has it */
    const char *reserved_for;                           /* a user: all of its GPUs are; NULL: there is no lease */
    bool hides;                                         /* no process is listed on GPU 0 */
    enum limit limit;                                   /* of the process on GPU 0; LIMIT_UNJUDGED: not in the answer key */
    enum finding_code finding; /* what whirr must find first when it has watched, on the host or on GPU 0 */
    double shows_after_s;      /* for so long; 0: two minutes */
};

/* The id of the lease of a scenario, which is in no directory. */
#define SIM_LEASE "paperdue"

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
