/* SPDX-License-Identifier: Apache-2.0
 * The catalog of cards to simulate: rounded figures of real ones, with what each doesn't report.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

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

size_t cards(const struct sim_card **ret);
/* By key, or by part of the name; NULL: unknown. */
const struct sim_card *card_find(struct str what);
