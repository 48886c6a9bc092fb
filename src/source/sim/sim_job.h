/* SPDX-License-Identifier: Apache-2.0
 * What happens on the simulated host: jobs (programs that load GPUs) and conditions (adversity), both plain tables of a scenario.
 * Everything here is a pure function of the world and the scenario time, so sampling changes nothing.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "model/gpu.h"
#include "source/sim/sim.h"

/* ---- The catalog of cards to simulate: rounded figures of real ones, with what each doesn't report ---- */

/* What this kind of card reports beyond the basics. */
enum card_ability {
    CARD_ECC = 1 << 0,
    CARD_GPM = 1 << 1,   /* profiling counters */
    CARD_VIDEO = 1 << 2, /* encoder and decoder load */
    CARD_MEM_TEMP = 1 << 3,
    CARD_HOTSPOT = 1 << 4,
    CARD_ENERGY = 1 << 5,
    CARD_MIG = 1 << 6,
    CARD_DISPLAY = 1 << 7,
    CARD_VOLTAGE = 1 << 8,
    CARD_MARGIN = 1 << 9,
};

struct sim_card {
    const char *key;  /* for model= */
    const char *name; /* the driver's name */
    const char *vendor;
    const char *driver, *architecture, *brand, *compute, *pci_id, *subsystem;
    unsigned abilities;
    int units, nvlinks;
    int pcie_generation, pcie_width;
    /* MiB */
    int vram, reserved, bar1;
    /* W */
    double idle_w, tdp_w, min_w, max_w;
    /* MHz */
    double clock_idle, clock_max, mem_clock_idle, mem_clock_max, video_clock_max;
    /* degrees C */
    double slowdown, shutdown, target;
    int fans; /* 0: passive, cooled by the chassis */
    double fan_rpm_max;
    bool fan_stops; /* zero-rpm mode */
    /* Heat: conductance of the cooler in W/K without air and with full air, excess of the die over the cooler in K/W, capacity
     * in J/K */
    double conductance, conductance_fan, die_k_per_w, capacity;
};

/* The GPUs of a row: those with index % every == nth; every = 0: all. */
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

/* From .. to seconds of scenario time (to = 0: forever), repeated each `every` seconds (0: once). Shifted by `stagger` per GPU. */
struct sim_when {
    double from, to, every, stagger;
};

/* The course of a job's load over its life. */
enum sim_pattern {
    LOAD_HELD,      /* holds memory, does nothing, but keeps the clocks up */
    LOAD_PARKED,    /* holds memory, lets the card idle */
    LOAD_STEADY,    /* constant */
    LOAD_DESKTOP,   /* little, with occasional peaks */
    LOAD_TRAINING,  /* loads data, then full load with a checkpoint dip every 10 minutes */
    LOAD_INFERENCE, /* follows requests, up and down */
    LOAD_GAME,      /* loading screen, play, occasional menus */
    LOAD_BURSTS,    /* all or nothing, about half a minute each */
};

struct sim_program {
    const char *name, *user, *command, *container, *model;
    enum process_type type;
    int cpu_permille;
    int host_mib;
    const char *launcher; /* the launcher, one for all GPUs; NULL: each its own */
    const char *job;      /* it has a rank of this job on each GPU; NULL: none */
};

/* Average metrics of a model server: a job that has them is one. */
struct sim_serving {
    double tokens, prompt_tokens; /* per second */
    double running, waiting;      /* requests */
    double kv_cache, prefix_hits; /* shares */
    double first_token_s;
    double preempted_per_min;
    bool silent; /* it answered before, but not now */
};

struct sim_job {
    const char *cause; /* the cause in the answer key: "training", "game", ... */
    struct sim_where where;
    struct sim_when when;
    const struct sim_program *program;
    enum sim_pattern pattern;
    double util;     /* level, 0 to 1 */
    double mem_util; /* memory bandwidth at that level */
    double power;    /* power at full load, relative to the card's TDP */
    double tensor;   /* share of tensor work */
    double encode, decode;
    double vram_mib, vram_share;       /* memory held: MiB plus a share of the card */
    double vram_wobble;                /* caches come and go: up to this share of the card more */
    double vram_saw, vram_saw_s;       /* grows to this share of the card, then released at once, about this often */
    double load_s;                     /* until it holds all of it */
    double leak_share_per_min;         /* then grows until the card is full; 20 s later it dies and restarts */
    int instance;                      /* 1 + index of the MIG instance; 0: the whole card */
    bool together;                     /* one process on all its GPUs, not one each */
    const struct sim_serving *serving; /* NULL: not a model server */
};

/* Adversity. Also what `fault=` adds. */
enum sim_trouble_kind {
    TROUBLE_AIRFLOW,     /* value: remaining cooling, 0 to 1 */
    TROUBLE_FAN_STOPPED, /* the fan doesn't turn although it should */
    TROUBLE_ROOM,        /* value: degrees of warmer air */
    TROUBLE_POWER_LIMIT, /* value: limit relative to the default */
    TROUBLE_ASLEEP,
    TROUBLE_LOST,
    TROUBLE_ABSENT,   /* not listed */
    TROUBLE_REPLACED, /* another one is in its slot */
    TROUBLE_XID,      /* value: its number */
    TROUBLE_ECC,      /* an uncorrectable error at once, then corrected ones every 10 s */
    TROUBLE_ERROR,    /* the GPU answers with an error; on all GPUs: the source itself fails */
    TROUBLE_DENIED,   /* privileges are missing */
    TROUBLE_SLOW,     /* each read takes `value` seconds */
    TROUBLE_HANG,     /* the driver doesn't return */
    TROUBLE_LINK,     /* the PCIe link has only `value` lanes */
    TROUBLE_MIG,      /* partitioned into instances */
    TROUBLE_MISMATCH, /* the driver can't be opened: upgraded but not reloaded, not loaded, not permitted */
    TROUBLE_NO_DRIVER,
    TROUBLE_NO_PERMISSION,
};

struct sim_condition {
    enum sim_trouble_kind kind;
    struct sim_where where;
    struct sim_when when;
    double value;
};

struct sim_settings;

enum { SIM_FAULTS_MAX = 16, SIM_JOBS_MAX = 24 };

/* The simulated host as requested. */
struct sim_world {
    const struct sim_scenario *scenario;
    uint64_t seed;
    int gpus, npus; /* numbered one after the other */
    const struct sim_card *card[GPU_MAX];
    double speed, start_s;
    struct sim_condition faults[SIM_FAULTS_MAX];
    size_t fault_count;
    const struct sim_settings *settings; /* of each GPU; NULL: nothing was changed */
};

/* Life number `turn` of something. */
struct sim_life {
    int64_t turn;
    double began, ends; /* scenario seconds; ends is HUGE_VAL if it never does */
};

/* The last life that ended at or before t, or false. */
bool sim_job_ended(const struct sim_world *w, size_t job, int gpu, double t, struct sim_life *ret);
int32_t sim_job_pid(const struct sim_world *w, size_t job, int gpu, int64_t turn);

/* The demand of one job on one GPU at one moment. */
struct sim_load {
    double util, mem_util, power, tensor, encode, decode; /* power: relative to the TDP */
    double vram;                                          /* bytes */
};
struct sim_share {
    size_t job;
    struct sim_life life;
    struct sim_load load;
};
/* All jobs alive on the GPU, scaled down if they demand more than there is; sum is the card's load. Returns their number. */
size_t sim_loads(const struct sim_world *w, int gpu, double t, struct sim_share shares[SIM_JOBS_MAX], struct sim_load *sum);

/* A condition on this GPU at t: true, with its value and start. The last row of a kind wins. */
bool sim_has_trouble(const struct sim_world *w, enum sim_trouble_kind kind, int gpu, double t, double *ret_value,
                     double *ret_since);
/* What kind of advice a person has followed by t (CONTROL_ADVICE), and whether that ends this trouble. */
enum sim_advice {
    ADVICE_NONE,
    ADVICE_ON_AIR,
    ADVICE_ON_FAN,
    ADVICE_ON_POWER,
    ADVICE_ON_SLOT,
    ADVICE_ON_CONTEXT,
    ADVICE_ON_PROGRAM
};
enum sim_advice sim_advice(const struct sim_world *w, int gpu, double t);
bool sim_advice_ends(const struct sim_world *w, enum sim_trouble_kind kind, int gpu, double t);
/* All conditions: fault times are relative to where the scenario is entered, rows of the scenario absolute. */
size_t sim_condition_count(const struct sim_world *w);
const struct sim_condition *sim_condition(const struct sim_world *w, size_t i);
bool sim_condition_life(const struct sim_condition *c, int gpu, double t, struct sim_life *ret);

/* Deterministic chance: a number in [0, 1) for (seed, gpu, what, n). */
double sim_chance(uint64_t seed, uint64_t gpu, uint64_t what, int64_t n);
/* Smooth noise in [-1, 1] over time, changing within about `period` seconds. */
double sim_noise(uint64_t seed, uint64_t gpu, uint64_t what, double t, double period);

/* A fault of the parameters: KIND[NUMBER][@GPU][:AT[-UNTIL]]. */
int sim_add_fault(struct sim_world *w, struct str text, struct error *err);
/* "unknown scenario 'trainnig' of the simulator; did you mean 'training'?" */
int sim_refuse(struct error *err, const char *what, struct str given, const char *const *names, size_t count);
int sim_number(struct error *err, const char *name, struct str text, double least, double most, double *ret);

/* "gpus=8,scenario=training": -EINVAL with a sentence that names the nearest. */
int sim_world_parse(const char *params, struct sim_world *ret, struct error *err);
