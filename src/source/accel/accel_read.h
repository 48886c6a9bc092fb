/* SPDX-License-Identifier: Apache-2.0
 * Driver-specific files of NPUs and accelerators.
 */
#pragma once

#include "source/sysfs/sysfs_card.h"

/* A busy-time counter between two reads. */
struct busy_time {
    bool known, moved;
    int64_t us;
    struct mono at;
    struct reading permille;
};

struct accel_driver {
    const char *name; /* kernel driver; NULL: any other */
    enum device_kind kind;
    bool shares_memory; /* it has no memory of its own */
    /* `own`: files of the class; `device`: files of the device behind it. */
    void (*read)(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out);
};

const struct accel_driver *accel_driver_of(const char *name);

/* "Tenstorrent n150": the board's own name, if it has one. */
void accel_board_name(struct attrs *own, char name[GPU_NAME_SIZE]);

/* Adds processes from a driver's list of PIDs, one per line. */
void accel_take_pids(struct str text, struct gpu *out);
