/* SPDX-License-Identifier: Apache-2.0
 * The readings of struct host as columns of a recording.
 */
#pragma once

#include <stddef.h>

#include "model/host.h"

static const struct {
    const char *name;
    size_t offset;
} host_fields[] = {
#define HOST_FIELD(field)                    \
    {                                        \
#field, offsetof(struct host, field) \
    }
    HOST_FIELD(cpu_permille),
    HOST_FIELD(cpu_count),
    HOST_FIELD(mem_total_bytes),
    HOST_FIELD(mem_available_bytes),
    HOST_FIELD(swap_total_bytes),
    HOST_FIELD(swap_used_bytes),
    HOST_FIELD(load1_milli),
    HOST_FIELD(net_rx_bytes_per_s),
    HOST_FIELD(net_tx_bytes_per_s),
    HOST_FIELD(disk_read_bytes_per_s),
    HOST_FIELD(disk_write_bytes_per_s),
#undef HOST_FIELD
};
enum { HOST_FIELD_COUNT = sizeof host_fields / sizeof host_fields[0] };

static inline struct reading *host_field(struct host *host, size_t i)
{
    return (struct reading *)((char *)host + host_fields[i].offset);
}
