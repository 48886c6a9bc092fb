/* SPDX-License-Identifier: Apache-2.0
 * The inside of struct machine: state between samples, and its parts.
 */
#pragma once

#include "base/env.h"
#include "host/machine.h"

enum { CORES_MAX = 1024, SENSORS_MAX = 8, ZONES_MAX = 16, SENSOR_PATH_SIZE = 96 };

/* In kernel ticks since boot. */
struct cpu_time {
    uint64_t total, busy, iowait, steal;
};

/* An energy counter. */
struct power_zone {
    char path[SENSOR_PATH_SIZE];
    bool platform; /* the whole host, not a CPU */
    bool seen;
    int64_t last_uj, range_uj;
};

enum rdma_count { RDMA_RETRIES, RDMA_CONGESTED, RDMA_DISORDERED, RDMA_DOWNED, RDMA_COUNTS };

/* A port of an RDMA device: of InfiniBand, or of Ethernet (RoCE), whose link is not judged. */
struct ib_port {
    struct machine_port own;
    bool is_infiniband, was_up;
    struct reading counts[RDMA_COUNTS], gained[RDMA_COUNTS]; /* totals, and since the look before (links lost: of late) */
    struct mono downed_at;
    int64_t rate, best_rate; /* Mbit/s; 0: unknown or no link */
};

struct machine {
    struct machine_window window; /* first */
    struct mono slow_at;
    struct cpu_time cpu, cores[CORES_MAX]; /* further cores count only in the total */
    struct counters net, disks;
    uint64_t swapped_in, swapped_out; /* pages */
    bool swap_known;
    char sensors[SENSORS_MAX][SENSOR_PATH_SIZE]; /* CPU temperature */
    int sensor_count;                            /* -1: not searched yet */
    struct power_zone zones[ZONES_MAX];
    int zone_count;               /* -1: not searched yet */
    char meter[SENSOR_PATH_SIZE]; /* host power; "" none */
    bool air_known;               /* the sensor was searched */
    char air[SENSOR_PATH_SIZE];   /* ambient temperature; "" none */
    struct mono node_at;          /* ns 0: not yet */
    struct ib_port ib_ports[MACHINE_PORTS_MAX];
    size_t ib_port_count;
};

/* Ambient temperature, if a sensor is labeled so. */
void machine_read_air(struct machine *m, struct host *out);
/* Network, disks and swapping since the previous call. */
void machine_read_flow(struct machine *m, struct host *out, int64_t elapsed_ms);
/* Mains, CPU governor, InfiniBand; since the previous call. */
void machine_read_node(struct machine *m, int64_t elapsed_ms, struct host *out);
/* How many ports have a link or lost it, as of the last look. */
void machine_count_ports(const struct machine *m, struct host *out);
/* Power draw since the previous call. */
void machine_read_power(struct machine *m, struct host *out, int64_t elapsed_ms);
