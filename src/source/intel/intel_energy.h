/* SPDX-License-Identifier: Apache-2.0
 * Power from energy counters.
 */
#pragma once

#include "base/clock.h"
#include "model/reading.h"

enum { ENERGY_COUNTERS = 3 };

/* Counters of a card in order of preference: whole card, package, ... */
struct energy {
    bool known;
    struct mono at;
    int64_t last_uj[ENERGY_COUNTERS]; /* -1: missing */
    struct reading power_mw;
    int best; /* the counter in use; -1 none */
};

/* Updates from the counters (absent ones, too). Power is PENDING until the second read, and again after a counter fell (driver
 * reload); on a recorded host also while no counter moves, because time doesn't pass. A counter that stands still while another
 * moves is skipped: energy1 of the B580 stays 0. */
void energy_update(struct energy *e, const struct reading uj[ENERGY_COUNTERS], bool recorded, struct mono now);
