/* SPDX-License-Identifier: Apache-2.0
 * The physics of a simulated card: power from load and clocks, heat from power, a fan that follows the heat, clocks that throttle.
 *
 * First order: one thermal mass (the cooler) that loses heat to the air, and a die that is warmer in proportion to the power. It
 * advances in steps of exactly one second from scenario time 0, and moments in between are computed on a copy: readings don't
 * depend on how often samples are taken.
 */
#pragma once

#include "source/sim/sim_job.h"
#include "source/source_control.h"

/* Settings of simulated GPUs: a file for each GPU in the user's runtime directory, with every change and its moment. So commands, a
 * daemon and tests that simulate the same GPU see one GPU, and each computes from the log what the change has done so far. No
 * device is behind it.
 *
 *   source sim:scenario=training          the machine, for readers who have only the file
 *   1763485265123 power_limit 315000 315000
 *   1763485301977 power_limit before      as the scenario has it */

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
/* A number that changes when any file does; 0: there are none. */
int64_t sim_settings_mark(void);
/* The last change of this kind up to t; NULL: none, or it was taken back. */
const struct sim_change *sim_setting(const struct sim_world *w, int gpu, enum control_kind kind, double t);
bool sim_was_set(const struct sim_world *w, int gpu, double t); /* any */

struct body {
    int64_t second; /* time of the state below */
    double sink_c;
    double fan, fan_set; /* actual and target speed; 0 to 1 */
    double clock_cap;    /* the share of the clock that heat allows */
    double energy_j;
    double busy_s; /* seconds times load */
    double slowed_power_s, slowed_heat_s;
    double lost_s; /* of work, by changed settings */
};

/* Readings of the card at one moment. */
struct body_view {
    double die_c, sink_c, final_c, ambient_c;
    double power_w, limit_w;
    double clock_mhz, mem_clock_mhz;
    double fan, fan_set;
    bool busy;    /* active enough for high clocks */
    double speed; /* of the clocks; 1: as without changed settings */
    unsigned throttle;
    double energy_j, busy_s, slowed_power_s, slowed_heat_s, lost_s;
    struct sim_load load;
    struct sim_share shares[SIM_JOBS_MAX];
    size_t share_count;
};

/* The energy counter at scenario time 0. */
double body_energy_start(const struct sim_world *w, int gpu);
void body_init(struct body *b, const struct sim_world *w, int gpu);
/* Advances b to the last whole second at or before t (from the start if it is already past it), and views the card at t. */
void body_at(struct body *b, const struct sim_world *w, int gpu, double t, struct body_view *ret);

/* ---- The opened simulator: its world, its clock, and the state of each card. ---- */

struct sim {
    struct source base;
    const struct env *env;
    struct sim_world world;
    struct mono opened;
    struct wall origin;
    char params[SIM_SPEC_SIZE];
    struct sim_settings *settings; /* of each GPU; NULL: nothing was changed */
    int64_t settings_mark, settings_read_ms;
    double told_until;   /* events up to this scenario time were returned */
    int listed[GPU_MAX]; /* the card at each position of the list: some may be absent */
    size_t listed_count;
    struct body bodies[];
};

/* ---- From the simulated card to a struct gpu ---- */

#define SIM_DRIVER_VERSION "580.95.05"

struct fill {
    const struct sim_world *world;
    int gpu;
    double t;
    double energy_start_j;
    struct wall origin; /* wall time when the scenario was entered */
    struct body_view view;
};

void fill_id(const struct sim_world *w, int gpu, struct gpu_id *id);
/* Metrics of the groups, properties, processes and instances; what the card lacks becomes UNSUPPORTED. */
void fill_gpu(const struct fill *f, unsigned groups, struct gpu *g);

/* Wall time of a scenario moment. */
struct wall fill_wall(struct wall origin, const struct sim_world *w, double t);
