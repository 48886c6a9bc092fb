/* SPDX-License-Identifier: Apache-2.0
 * What is read of an Intel GPU. Its working part is the GT with clock, throttling, idle time: i915 and xe offer the same under
 * different names.
 */
#pragma once

#include "base/clock.h"
#include "model/reading.h"
#include "source/sysfs/sysfs_card.h"

struct gt_reading {
    size_t count; /* GTs found */
    struct reading graphics_khz, graphics_max_khz;
    struct reading media_khz, media_max_khz;
    struct reading throttle_bits;
    struct reading idle_ms; /* of the busiest GT; increases */
};

void gt_read(const struct drm_card *card, const struct env *env, struct gt_reading *ret);

/* ---- Memory size of an Intel card. No file has it: ask the driver through the render node. ---- */

/* Opens the render node briefly. Only for awake cards of the real host; otherwise UNSUPPORTED. */
struct reading intel_vram_total(const struct drm_card *card, const struct env *env);

/* Parse the drivers' answers. Device memory of all regions; 0: none. */
uint64_t intel_vram_from_i915(const void *answer, size_t size);
uint64_t intel_vram_from_xe(const void *answer, size_t size);

/* ---- Power from energy counters ---- */

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
