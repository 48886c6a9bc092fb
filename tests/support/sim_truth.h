/* SPDX-License-Identifier: Apache-2.0
 * The answer key of the simulator, for tests that score answers. The program itself never uses it.
 */
#pragma once

#include "source/sim/sim.h"

/* Conditions that explain heat, noise or slowness without a process. Bits. */
enum sim_trouble {
    SIM_BAD_AIRFLOW = 1 << 0,
    SIM_FAN_STOPPED = 1 << 1,
    SIM_WARM_ROOM = 1 << 2,
    SIM_POWER_LIMITED = 1 << 3, /* the limit is below the GPU's default */
    SIM_SLOWED_BY_HEAT = 1 << 4,
    SIM_SLOWED_BY_POWER = 1 << 5,
    SIM_LOST = 1 << 6,
    SIM_ASLEEP = 1 << 7,
    SIM_VRAM_LEAK = 1 << 8,
};

/* What the simulator knows it did on one GPU at one moment. */
struct sim_truth {
    double at_s;       /* scenario time */
    const char *cause; /* "training", "game", "miner", ...: what loads the GPU; "idle": nothing */
    int32_t pid;       /* of the process behind it; 0: none */
    char name[PROCESS_NAME_SIZE], user[PROCESS_USER_SIZE];
    double util;        /* 0 to 1, of the whole GPU */
    double cause_util;  /* the share of that process */
    const char *holder; /* cause of the idle process that holds most of the memory; NULL: none */
    int32_t holder_pid;
    const char *ended; /* the last job that ended in the 10 minutes before; NULL: none */
    int32_t ended_pid;
    double ended_ago_s;
    unsigned trouble;             /* enum sim_trouble */
    double temp_c, final_temp_c;  /* now, and where it would settle if nothing changed */
    double vram_used, vram_total; /* bytes */
};

/* The truth about GPU `gpu` (its position in list()) at a moment after the source was opened, or before, as far as the scenario
 * reaches back. Needs no sampling in between. -EINVAL: not a simulated source, or no such GPU; -ERANGE: before the scenario began.
 */
int sim_truth(struct source *s, size_t gpu, struct wall at, struct sim_truth *ret);

/* The answer key of a forecast: scenario seconds from `at` until the memory is full, or the GPU is throttling for heat.
 * -ENOENT: not within horizon_s. */
int sim_truth_vram_full(struct source *s, size_t gpu, struct wall at, double horizon_s, double *ret_s);
int sim_truth_throttle(struct source *s, size_t gpu, struct wall at, double horizon_s, double *ret_s);
