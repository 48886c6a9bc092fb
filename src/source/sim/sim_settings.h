/* SPDX-License-Identifier: Apache-2.0
 * Settings of simulated GPUs: a file for each GPU in the user's runtime directory, with every change and its moment. So commands, a
 * daemon and tests that simulate the same GPU see one GPU, and each computes from the log what the change has done so far. No
 * device is behind it.
 *
 *   source sim:scenario=training          the machine, for readers who have only the file
 *   1763485265123 power_limit 315000 315000
 *   1763485301977 power_limit before      as the scenario has it
 */
#pragma once

#include "source/sim/sim_job.h"
#include "source/source_control.h"

enum { SIM_CHANGES_MAX = 64 };

enum sim_set { SET_BEFORE, SET_STOCK, SET_NUMBERS };

struct sim_change {
    int64_t at_ms; /* wall time */
    double t;      /* scenario time for this process */
    enum control_kind kind;
    enum sim_set set;
    int64_t low, high;
};

struct sim_settings {
    size_t count;
    struct sim_change list[SIM_CHANGES_MAX]; /* oldest first */
};

/* Reads a GPU's file; without one nothing was changed. */
void sim_settings_read(const struct gpu_id *id, struct sim_settings *ret);
/* Adds a change, and writes the file. */
int sim_settings_add(const struct gpu_id *id, const char *params, const struct sim_change *change, struct error *err);
/* A number that changes when any file does; 0: there are none. */
int64_t sim_settings_mark(void);
/* The last change of this kind up to t; NULL: none, or it was taken back. */
const struct sim_change *sim_setting(const struct sim_world *w, int gpu, enum control_kind kind, double t);
bool sim_was_set(const struct sim_world *w, int gpu, double t); /* any */
