/* SPDX-License-Identifier: Apache-2.0
 * How much memory an Intel card has. No file says it: the driver is asked through the render node.
 */
#pragma once

#include "source/sysfs/card.h"

/* Opens the render node for a moment. Only for awake cards of the real machine; UNSUPPORTED otherwise. */
struct reading intel_vram_total(const struct drm_card *card, const struct env *env);

/* The answers of the drivers, apart from the asking. Memory of the device, all regions; 0 when there is none. */
uint64_t intel_vram_from_i915(const void *answer, size_t size);
uint64_t intel_vram_from_xe(const void *answer, size_t size);
