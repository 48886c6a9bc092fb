/* SPDX-License-Identifier: Apache-2.0
 * Clocks and temperature of a GPU inside a SoC: the kernel's devfreq and thermal zones, if they clearly belong to it. Nothing here
 * wakes a device.
 */
#pragma once

#include "model/gpu.h"
#include "source/sysfs/attrs.h"

/* The devfreq of a device ("fb000000.gpu") or, with `driver`, of the device bound to that driver. False: none. */
bool devfreq_find(const struct env *env, const char *device, const char *driver, struct attrs *ret);
/* Current (GROUP_FAST) and maximum (GROUP_STATIC) clock. */
void devfreq_read(struct attrs *devfreq, unsigned groups, struct gpu *out);

/* The hottest zone of these types (a trailing '*' matches anything); `basis` gets its type. */
struct reading thermal_zone_read(const struct env *env, const char *const *types, size_t count, char basis[GPU_TEXT_SIZE]);
/* The zone that throttles this device. */
struct reading thermal_zone_of_device(const struct env *env, const char *device, char basis[GPU_TEXT_SIZE]);
