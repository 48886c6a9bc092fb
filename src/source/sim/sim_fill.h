/* SPDX-License-Identifier: Apache-2.0
 * From the simulated card to a struct gpu.
 */
#pragma once

#include "source/sim/body.h"

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
