/* SPDX-License-Identifier: Apache-2.0
 * Power out of counters of energy.
 */
#pragma once

#include "base/clock.h"
#include "model/reading.h"

enum { ENERGY_COUNTERS = 3 };

/* Counters of one card in the order of preference: whole card, package, ... */
struct energy {
    bool known;
    struct mono at;
    int64_t last_uj[ENERGY_COUNTERS]; /* -1: not there */
    struct reading power_mw;
    int best; /* the counter that counts; -1 none */
};

/* Takes the counters (absent ones too) into account. Power is PENDING until the second reading, and again after a counter fell
 * (the driver was loaded again); on a recorded machine also while no counter moves, since time did not pass there. A counter that
 * stands still while another one counts is passed over: energy1 of the B580 stays 0.
 */
void energy_update(struct energy *e, const struct reading uj[ENERGY_COUNTERS], bool recorded, struct mono now);
