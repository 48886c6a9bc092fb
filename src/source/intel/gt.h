/* SPDX-License-Identifier: Apache-2.0
 * The GT, the part of an Intel GPU that works: its clock, why it is slowed down, how long it was idle. i915 and xe show the same
 * under different names.
 */
#pragma once

#include "source/sysfs/card.h"

enum { GTS_MAX = 8 };

struct gt_reading {
    size_t count; /* GTs found */
    struct reading graphics_khz, graphics_max_khz;
    struct reading media_khz, media_max_khz;
    struct reading throttle_bits;
    struct reading idle_ms; /* of the GT that was idle least; counts up */
};

void gt_read(const struct drm_card *card, const struct env *env, struct gt_reading *ret);
