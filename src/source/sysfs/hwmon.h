/* SPDX-License-Identifier: Apache-2.0
 * Sensors: the hwmon directory of a device, its labelled channels, and the fans and sensors of the machine around it.
 */
#pragma once

#include "model/gpu.h"
#include "source/sysfs/attrs.h"

/* The hwmon directory of a device (hwmonN is renumbered at every boot). False, and an empty directory, when there is none. */
bool hwmon_find(const struct attrs *device, struct attrs *ret);
/* The number of the channel "KIND<n>" with this label ("temp", "junction"), -1 when there is none. */
int hwmon_channel(struct attrs *hwmon, const char *kind, const char *label);
/* "KIND<n>SUFFIX" as a scaled reading. */
struct reading hwmon_reading(struct attrs *hwmon, const char *kind, int channel, const char *suffix, int64_t multiply,
                             int64_t divide);

/* The fan of the machine that cools a GPU which has none of its own: a laptop's fan with "GPU" in its label, else the fastest fan
 * of a laptop's embedded controller. Fans of a desktop's board are not taken for a GPU's. */
struct platform_fan {
    struct reading rpm, permille;
    char basis[GPU_TEXT_SIZE]; /* "platform: thinkpad fan2" */
};

/* The temperature of the processor, for graphics on the same die. */
struct platform_temperature {
    struct reading mdegc;
    char basis[GPU_TEXT_SIZE]; /* "platform: coretemp Package id 0" */
};

/* Both, remembered for 10 s: an embedded controller answers slowly, and asking it often makes some laptops stutter. */
struct platform {
    struct mono looked;
    bool known, has_fan, has_temperature;
    struct platform_fan fan;
    struct platform_temperature temperature;
};
void platform_update(struct platform *p, const struct env *env);
/* Gives the machine's fan to a card that has none of its own; says so in fan_basis. */
void platform_fill_fan(const struct platform *p, struct gpu *out);
