/* SPDX-License-Identifier: Apache-2.0
 * Clocks and temperature of a GPU that is part of a chip: the kernel's devfreq and thermal zones, as far as they belong to it
 * without doubt. Nothing here wakes a device.
 */
#pragma once

#include "model/gpu.h"
#include "source/sysfs/attrs.h"

/* The devfreq of a device ("fb000000.gpu"), or, with `driver`, the one whose device that driver has. False: there is none. */
bool devfreq_find(const struct env *env, const char *device, const char *driver, struct attrs *ret);
/* Clock now (GROUP_FAST) and at most (GROUP_STATIC). */
void devfreq_read(struct attrs *devfreq, unsigned groups, struct gpu *out);

/* The hottest of the zones with one of these types ('*' at the end of one stands for anything); the zone's type in `basis`. */
struct reading thermal_zone_read(const struct env *env, const char *const *types, size_t count, char basis[GPU_TEXT_SIZE]);
/* The zone that throttles this device. */
struct reading thermal_zone_of_device(const struct env *env, const char *device, char basis[GPU_TEXT_SIZE]);
