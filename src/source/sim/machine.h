/* SPDX-License-Identifier: Apache-2.0
 * The opened simulator: its world, its clock, and the state of each card.
 */
#pragma once

#include "source/sim/body.h"

struct sim {
    struct source base;
    const struct env *env;
    struct sim_world world;
    struct mono opened;
    struct wall origin;
    double told_until; /* events up to this scenario time were handed out */
    struct body bodies[];
};

double sim_now(const struct sim *s); /* scenario seconds */
