/* SPDX-License-Identifier: Apache-2.0
 * The PCI bus as a witness: which GPUs are plugged in, with a driver or without. These files never wake a device.
 */
#pragma once

#include "model/gpu.h"
#include "source/sysfs/attrs.h"

struct bus_gpu {
    char pci_address[GPU_PCI_SIZE];
    char vendor_id[8], device_id[8]; /* "10de" */
    char driver[32];                 /* kernel driver; "" none is bound */
    char power_state[16];            /* "active", "suspended"; "" unknown */
};

/* All display controllers and accelerator cards, by their addresses; how many, or -errno when there is a bus that can't be read. */
int bus_gpus(const struct env *env, struct bus_gpu *list, size_t max);

/* A GPU that a source should show: it is plugged in, of a vendor that whirr reads, and not given away on purpose. */
struct bus_expected {
    struct gpu_id id;
    const char *source;          /* that should read it */
    char reason[GPU_ERROR_SIZE]; /* why the kernel can't use it; "" its driver has it */
};

/* Of a host on which no source shows any GPU. Displays of server boards, GPUs that belong to a virtual machine, and the bus of a
 * host that a container sees are no such GPUs. */
size_t bus_expected_gpus(const struct env *env, struct bus_expected *list, size_t max);

/* What the bus says of a GPU that was there; a word of it in `reason`, "" where that is nothing that keeps it from being read. */
enum bus_place { BUS_UNKNOWN, BUS_GONE, BUS_NO_DRIVER, BUS_GIVEN_AWAY, BUS_DRIVEN };
enum bus_place bus_find(const struct env *env, const char *pci_address, char reason[GPU_ERROR_SIZE]);

/* The name of the container that this process runs in; "" none was recognized. */
const char *bus_container(const struct env *env);
