/* SPDX-License-Identifier: Apache-2.0
 * What happens on the simulated machine: jobs (programs that load GPUs) and conditions (the world being unkind), both plain
 * tables of a scenario. Everything here is a pure function of the world and the scenario time, so sampling changes nothing.
 */
#pragma once

#include <stdint.h>

#include "model/gpu.h"
#include "source/sim/card.h"
#include "source/sim/sim.h"

/* Which GPUs a row is about: those with index % every == nth; every = 0: all of them. */
struct sim_where {
    uint16_t every, nth;
};
#define ON_ALL \
    {          \
        0, 0   \
    }
#define ON_GPU(n)       \
    {                   \
        UINT16_MAX, (n) \
    }
#define ON_EACH(m, n) \
    {                 \
        (m), (n)      \
    }

/* When: from .. to seconds of scenario time (to = 0: for good), again each `every` seconds (0: once). Shifted by `stagger` for
 * each further GPU. */
struct sim_when {
    double from, to, every, stagger;
};

/* The course of a job's load over its life. */
enum sim_pattern {
    LOAD_HELD,      /* holds memory, does nothing, and keeps the clocks up all the same */
    LOAD_PARKED,    /* holds memory, lets the card rest */
    LOAD_STEADY,    /* the same all the time */
    LOAD_DESKTOP,   /* little, with now and then a moment of more */
    LOAD_TRAINING,  /* loads data, then full load with a dip for a checkpoint every 10 minutes */
    LOAD_INFERENCE, /* follows requests, up and down */
    LOAD_GAME,      /* loading screen, play, now and then a menu */
    LOAD_BURSTS,    /* all or nothing, about half a minute each */
};

struct sim_program {
    const char *name, *user, *command, *container, *model;
    enum process_type type;
    int cpu_permille;
    int host_mib;
    const char *launcher; /* what started it, one for all GPUs; NULL: its own */
    const char *job;      /* of which it has a rank on each GPU; NULL: none */
};

/* What a model server says of itself, in the mean: a job with it is one. */
struct sim_serving {
    double tokens, prompt_tokens; /* per second */
    double running, waiting;      /* requests */
    double kv_cache, prefix_hits; /* shares */
    double first_token_s;
    double preempted_per_min;
    bool silent; /* it has answered before, and does not now */
};

struct sim_job {
    const char *cause; /* the word of the truth: "training", "game", ... */
    struct sim_where where;
    struct sim_when when;
    const struct sim_program *program;
    enum sim_pattern pattern;
    double util;     /* level, 0 to 1 */
    double mem_util; /* memory bandwidth at that level */
    double power;    /* how power-hungry its work is: at full load, against the card's TDP */
    double tensor;   /* share of tensor work */
    double encode, decode;
    double vram_mib, vram_share; /* memory held: MiB plus a share of the card */
    double vram_wobble;          /* caches come and go: up to this share of the card more */
    double vram_saw, vram_saw_s; /* gained bit by bit up to this share of the card, then given back at once, about every so long */
    double load_s;               /* until it holds all of it */
    double leak_share_per_min;   /* and grows from there, until the card is full; 20 s later it dies and is started again */
    int instance;                /* 1 + index of the MIG instance; 0: the whole card */
    bool together;               /* one process on all its GPUs instead of one each */
    const struct sim_serving *serving; /* NULL: no model server */
};

/* The world being unkind. Also what `fault=` adds. */
enum sim_trouble_kind {
    TROUBLE_AIRFLOW,     /* value: what is left of the cooling, 0 to 1 */
    TROUBLE_FAN_STOPPED, /* the fan does not turn although told to */
    TROUBLE_ROOM,        /* value: degrees that the air is warmer */
    TROUBLE_POWER_LIMIT, /* value: limit against the default */
    TROUBLE_ASLEEP,
    TROUBLE_LOST,
    TROUBLE_XID,      /* value: its number */
    TROUBLE_ECC,      /* an uncorrectable error at once, then corrected ones every 10 s */
    TROUBLE_ERROR,    /* the GPU answers with an error; on all GPUs: the source itself fails */
    TROUBLE_DENIED,   /* privileges are missing */
    TROUBLE_SLOW,     /* each reading takes value seconds */
    TROUBLE_HANG,     /* the driver does not come back */
    TROUBLE_LINK,     /* the PCIe link has only `value` lanes */
    TROUBLE_MIG,      /* divided into instances */
    TROUBLE_MISMATCH, /* the driver can't be opened: it was upgraded and not loaded anew, is not loaded, may not be used */
    TROUBLE_NO_DRIVER,
    TROUBLE_NO_PERMISSION,
};

struct sim_condition {
    enum sim_trouble_kind kind;
    struct sim_where where;
    struct sim_when when;
    double value;
};

enum { SIM_FAULTS_MAX = 16, SIM_JOBS_MAX = 24 };

/* The simulated machine as it was asked for. */
struct sim_world {
    const struct sim_scenario *scenario;
    uint64_t seed;
    int gpus;
    const struct sim_card *card[GPU_MAX];
    double speed, start_s;
    struct sim_condition faults[SIM_FAULTS_MAX];
    size_t fault_count;
};

/* Life number `turn` of something, around a moment. */
struct sim_life {
    int64_t turn;
    double began, ends; /* scenario seconds; ends is HUGE_VAL for what stays */
};

/* The last life that ended at or before t, or false. */
bool sim_job_ended(const struct sim_world *w, size_t job, int gpu, double t, struct sim_life *ret);
int32_t sim_job_pid(const struct sim_world *w, size_t job, int gpu, int64_t turn);

/* What one job asks of one GPU at one moment. */
struct sim_load {
    double util, mem_util, power, tensor, encode, decode; /* power: in parts of the TDP */
    double vram;                                          /* bytes */
};
struct sim_share {
    size_t job;
    struct sim_life life;
    struct sim_load load;
};
/* All jobs alive on the GPU, sharing it where they ask for more than there is; sum is what the card does. Returns their number. */
size_t sim_loads(const struct sim_world *w, int gpu, double t, struct sim_share shares[SIM_JOBS_MAX], struct sim_load *sum);

/* A condition on this GPU at t: true, and its value and beginning. The last row of a kind wins. */
bool sim_has_trouble(const struct sim_world *w, enum sim_trouble_kind kind, int gpu, double t, double *ret_value,
                     double *ret_since);
/* Faults are given relative to where the scenario is entered; rows of the scenario are absolute. Number of rows in all. */
size_t sim_condition_count(const struct sim_world *w);
const struct sim_condition *sim_condition(const struct sim_world *w, size_t i);
bool sim_condition_life(const struct sim_condition *c, int gpu, double t, struct sim_life *ret);

/* Chance that is always the same: a number in [0, 1) for (seed, gpu, what, n). */
double sim_chance(uint64_t seed, uint64_t gpu, uint64_t what, int64_t n);
/* Smooth noise in [-1, 1] over time, changing within about `period` seconds. */
double sim_noise(uint64_t seed, uint64_t gpu, uint64_t what, double t, double period);

/* "gpus=8,scenario=training": -EINVAL and a sentence that names the nearest. */
int sim_world_parse(const char *params, struct sim_world *ret, struct error *err);
