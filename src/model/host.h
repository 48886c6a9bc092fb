/* SPDX-License-Identifier: Apache-2.0
 * The machine around the GPUs at one moment.
 */
#pragma once

#include "model/reading.h"

enum { HOST_NAME_SIZE = 65 };

struct host {
    char name[HOST_NAME_SIZE];
    struct reading cpu_permille; /* of all cores together; PENDING on the first sample */
    struct reading cpu_count;
    struct reading mem_total_bytes, mem_available_bytes;
    struct reading swap_total_bytes, swap_used_bytes;
    struct reading load1_milli;                            /* load average * 1000 */
    struct reading net_rx_bytes_per_s, net_tx_bytes_per_s; /* all but loopback */
    struct reading disk_read_bytes_per_s, disk_write_bytes_per_s;
};
