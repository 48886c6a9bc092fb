/* SPDX-License-Identifier: Apache-2.0
 * What the driver of an NPU or accelerator says in files of its own.
 */
#pragma once

#include "source/sysfs/card.h"

/* A counter of busy time between two looks. */
struct busy_time {
    bool known, moved;
    int64_t us;
    struct mono at;
    struct reading permille;
};

struct accel_driver {
    const char *name; /* of the kernel's driver; NULL: any other */
    enum device_kind kind;
    bool shares_memory; /* it has none of its own */
    /* `own` are the files of the class, `device` those of the device behind it. */
    void (*read)(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out);
};

const struct accel_driver *accel_driver_of(const char *name);

/* "Tenstorrent n150": what the board calls itself, where it does. */
void accel_board_name(struct attrs *own, char name[GPU_NAME_SIZE]);

/* Processes by the list of pids that a driver keeps, one a line. */
void accel_take_pids(struct str text, struct gpu *out);
