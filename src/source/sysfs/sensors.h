/* SPDX-License-Identifier: Apache-2.0
 * Sensors: the hwmon directory of a device and its labeled channels; devfreq and thermal zones of a SoC, if they clearly belong to
 * the GPU; and the fans and sensors of the host around it. Nothing here wakes a device.
 */
#pragma once

#include "model/gpu.h"
#include "source/sysfs/attrs.h"

/* The hwmon directory of a device (hwmonN changes with every boot). False, with an empty directory: none. */
bool hwmon_find(const struct attrs *device, struct attrs *ret);
/* The channel "KIND<n>" with this label ("temp", "junction"), -1: none. */
int hwmon_channel(struct attrs *hwmon, const char *kind, const char *label);
/* "KIND<n>SUFFIX" as a scaled reading. */
struct reading hwmon_reading(struct attrs *hwmon, const char *kind, int channel, const char *suffix, int64_t multiply,
                             int64_t divide);

/* The devfreq of a device ("fb000000.gpu") or, with `driver`, of the device bound to that driver. False: none. */
bool devfreq_find(const struct env *env, const char *device, const char *driver, struct attrs *ret);
/* Current (GROUP_FAST) and maximum (GROUP_STATIC) clock. */
void devfreq_read(struct attrs *devfreq, unsigned groups, struct gpu *out);

/* The hottest zone of these types (a trailing '*' matches anything); `basis` gets its type. */
struct reading thermal_zone_read(const struct env *env, const char *const *types, size_t count, char basis[GPU_TEXT_SIZE]);
/* The zone that throttles this device. */
struct reading thermal_zone_of_device(const struct env *env, const char *device, char basis[GPU_TEXT_SIZE]);

/* The host's fan that cools a GPU without its own: a laptop's fan with "GPU" in its label, else the fastest fan of a laptop's
 * embedded controller. Fans on a desktop's board don't count. */
struct platform_fan {
    struct reading rpm, permille;
    char basis[GPU_TEXT_SIZE]; /* "platform: thinkpad fan2" */
};

/* CPU temperature, for integrated graphics. */
struct platform_temperature {
    struct reading mdegc;
    char basis[GPU_TEXT_SIZE]; /* "platform: coretemp Package id 0" */
};

/* Both, cached for 10 s: embedded controllers answer slowly, and frequent queries make some laptops stutter. */
struct platform {
    struct mono looked;
    bool known, has_fan, has_temperature;
    struct platform_fan fan;
    struct platform_temperature temperature;
};
void platform_update(struct platform *p, const struct env *env);
/* Assigns the host's fan to a card without its own, and says so in fan_basis. */
void platform_fill_fan(const struct platform *p, struct gpu *out);

enum { LAPTOP_FAN_SIZE = 96 };
/* The file of the fan of a laptop's only GPU, by its label; "": none. False: it couldn't be searched this time. */
bool laptop_fan_find(const struct env *env, char path[LAPTOP_FAN_SIZE]);
