/* SPDX-License-Identifier: Apache-2.0
 * A host with every reading that there is: each GPU has all metrics, and each process is a model server that reports everything.
 */
#pragma once

#include <stdio.h>

#include "model/snapshot.h"

/* NULL: out of memory. */
static inline struct snapshot *full_host(int gpus, int processes)
{
    struct snapshot *s = snapshot_new((size_t)gpus);
    if (!s)
        return NULL;
    snprintf(s->host.name, sizeof s->host.name, "gpu-host-17");
    for (size_t m = 0; m < HOST_METRIC_COUNT; m++)
        s->host.metric[m] = reading_ok(12345);
    for (int i = 0; i < gpus; i++) {
        struct gpu *g = &s->gpus[i];
        g->index = i;
        snprintf(g->id.uuid, sizeof g->id.uuid, "GPU-05411eb7-075c-4e4d-9a84-be9dbf09ff%02x", i);
        snprintf(g->id.pci_address, sizeof g->id.pci_address, "0000:%02x:00.0", 5 + i);
        gpu_set_property(g, PROPERTY_driver_version, "570.86.15");
        snprintf(g->id.name, sizeof g->id.name, "NVIDIA H100 80GB HBM3");
        for (size_t m = 0; m < METRIC_COUNT; m++)
            g->metric[m] = reading_ok((int64_t)(1000003 * (m + 1) + 17 * (size_t)i));
        g->processes_state = READING_OK;
    }
    for (int i = 0; i < processes; i++) {
        struct process *p = gpu_add_process(&s->gpus[i % gpus], 4000 + i);
        if (!p)
            return s;
        snprintf(p->name, sizeof p->name, "python3-%d", i);
        snprintf(p->user, sizeof p->user, "user%d", i % 10);
        snprintf(p->container_name, sizeof p->container_name, "team/train-%d/worker", i);
        for (size_t m = 0; m < PROCESS_METRIC_COUNT; m++)
            p->metric[m] = reading_ok(1000 + i);
    }
    return s;
}
