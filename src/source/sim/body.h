/* SPDX-License-Identifier: Apache-2.0
 * The physics of a simulated card: power from load and clocks, heat from power, a fan that follows the heat, clocks that give way.
 *
 * First order: one lump of heat (the cooler) that loses it to the air, and a die that is warmer than it in proportion to the
 * power. It advances in steps of exactly one second from scenario time 0, and what lies between is computed on a copy: the
 * readings at a moment do not depend on how often samples were taken.
 */
#pragma once

#include "source/sim/job.h"

struct body {
    int64_t second; /* state below is that of this moment */
    double sink_c;
    double fan, fan_set; /* turning, and told to; 0 to 1 */
    double clock_cap;    /* what heat leaves of the clock */
    double energy_j;
    double busy_s; /* seconds times load */
    double slowed_power_s, slowed_heat_s;
};

/* What can be read off the card at one moment. */
struct body_view {
    double die_c, sink_c, final_c, ambient_c;
    double power_w, limit_w;
    double clock_mhz, mem_clock_mhz;
    double fan, fan_set;
    bool busy; /* awake enough for its high clocks */
    unsigned throttle;
    double energy_j, busy_s, slowed_power_s, slowed_heat_s;
    struct sim_load load;
    struct sim_share shares[SIM_JOBS_MAX];
    size_t share_count;
};

/* What the energy counter showed at scenario time 0. */
double body_energy_start(const struct sim_world *w, int gpu);
void body_init(struct body *b, const struct sim_world *w, int gpu);
/* Brings b to the last whole second at or before t (from the start when it is already further), and views the card at t. */
void body_at(struct body *b, const struct sim_world *w, int gpu, double t, struct body_view *ret);

/* ---- The opened simulator: its world, its clock, and the state of each card. ---- */

struct sim {
    struct source base;
    const struct env *env;
    struct sim_world world;
    struct mono opened;
    struct wall origin;
    double told_until; /* events up to this scenario time were handed out */
    struct body bodies[];
};
