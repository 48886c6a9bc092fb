/* SPDX-License-Identifier: Apache-2.0
 * The inside of struct machine: what is remembered between two samples, and the parts that read it.
 */
#pragma once

#include "base/env.h"
#include "host/counters.h"
#include "host/machine.h"

enum { CORES_MAX = 1024, SENSORS_MAX = 8, IB_PORTS_MAX = 32, ZONES_MAX = 16, SENSOR_PATH_SIZE = 96 };

/* In the kernel's ticks, since the start of the machine. */
struct cpu_time {
    uint64_t total, busy, iowait, steal;
};

/* A counter of energy. */
struct power_zone {
    char path[SENSOR_PATH_SIZE];
    bool platform; /* the whole host, rather than a CPU */
    bool seen;
    int64_t last_uj, range_uj;
};

/* A port of InfiniBand, as it was seen. */
struct ib_port {
    char name[48], model[48]; /* "mlx5_0/ports/1", "MT4129" */
    bool was_up;
    int64_t rate, best_rate; /* Mbit/s; 0 unknown or without a link */
};

struct machine {
    struct machine_window window; /* first */
    struct mono slow_at;
    struct cpu_time cpu, cores[CORES_MAX]; /* further cores count in the sum only */
    struct counters net, disks;
    uint64_t swapped_in, swapped_out; /* pages */
    bool swap_known;
    char sensors[SENSORS_MAX][SENSOR_PATH_SIZE]; /* of the CPU's temperature */
    int sensor_count;                            /* -1: not looked for yet */
    struct power_zone zones[ZONES_MAX];
    int zone_count;               /* -1: not looked for yet */
    char meter[SENSOR_PATH_SIZE]; /* of the host's power; "" none */
    bool air_known;               /* the sensor was looked for */
    char air[SENSOR_PATH_SIZE];   /* of the air around the host; "" none */
    struct mono node_at;          /* ns 0: not read yet */
    struct ib_port ib_ports[IB_PORTS_MAX];
    size_t ib_port_count;
};

void machine_read_cpu(struct machine *m, struct host *out, bool new_window);
void machine_read_temperature(struct machine *m, struct host *out);
/* The air around the host, where a sensor is labeled so. */
void machine_read_air(struct machine *m, struct host *out);
void machine_read_load(const struct env *env, struct host *out);
void machine_read_pressure(const struct env *env, struct host *out);
/* Network, disks and swapping, since the last call of it. */
void machine_read_flow(struct machine *m, struct host *out, int64_t elapsed_ms);
/* Mains, the CPU's governor, InfiniBand. */
void machine_read_node(struct machine *m, struct host *out);
/* What the host draws, since the last call of it. */
void machine_read_power(struct machine *m, struct host *out, int64_t elapsed_ms);
