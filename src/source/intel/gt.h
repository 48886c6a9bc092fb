/* SPDX-License-Identifier: Apache-2.0
 * The GT, the part of an Intel GPU that works: its clock, why it is slowed down, how long it was idle. i915 and xe show the same
 * under different names.
 */
#pragma once

#include "source/sysfs/card.h"

struct gt_reading {
    size_t count; /* GTs found */
    struct reading graphics_khz, graphics_max_khz;
    struct reading media_khz, media_max_khz;
    struct reading throttle_bits;
    struct reading idle_ms; /* of the GT that was idle least; counts up */
};

void gt_read(const struct drm_card *card, const struct env *env, struct gt_reading *ret);

/* ---- For its settings ---- */

struct source;
const struct drm_card *intel_card(struct source *source, size_t gpu, const struct env **ret_env); /* NULL: gone */

/* ---- How much memory an Intel card has. No file says it: the driver is asked through the render node. ---- */

/* Opens the render node for a moment. Only for awake cards of the real machine; UNSUPPORTED otherwise. */
struct reading intel_vram_total(const struct drm_card *card, const struct env *env);

/* The answers of the drivers, apart from the asking. Memory of the device, all regions; 0 when there is none. */
uint64_t intel_vram_from_i915(const void *answer, size_t size);
uint64_t intel_vram_from_xe(const void *answer, size_t size);
