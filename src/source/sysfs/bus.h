/* SPDX-License-Identifier: Apache-2.0
 * The PCI bus as a witness: which GPUs are plugged in, with or without a driver. These files never wake a device.
 */
#pragma once

#include "model/gpu.h"
#include "source/sysfs/attrs.h"

struct bus_gpu {
    char pci_address[GPU_PCI_SIZE];
    char vendor_id[8], device_id[8]; /* "10de" */
    char driver[32];                 /* kernel driver; "" none */
    char power_state[16];            /* "active", "suspended"; "" unknown */
};

/* All display controllers and accelerator cards by address; their number, or -errno if the bus is unreadable. */
int bus_gpus(const struct env *env, struct bus_gpu *list, size_t max);

/* A GPU that a source should show: plugged in, of a supported vendor, and not passed through on purpose. */
struct bus_expected {
    struct gpu_id id;
    const char *source;          /* the source that should read it */
    char reason[GPU_ERROR_SIZE]; /* why the kernel can't use it; "": its driver has it */
};

/* For a host on which no source shows a GPU. Excludes displays of server boards, GPUs passed through to a VM, and the host's bus
 * seen from a container. */
size_t bus_expected_gpus(const struct env *env, struct bus_expected *list, size_t max);

/* What the bus says about a GPU that was there; `reason` is a word about it, "" if nothing keeps it from being read. */
enum bus_place { BUS_UNKNOWN, BUS_GONE, BUS_NO_DRIVER, BUS_GIVEN_AWAY, BUS_DRIVEN };
enum bus_place bus_find(const struct env *env, const char *pci_address, char reason[GPU_ERROR_SIZE]);

/* The device cgroup refuses a device file that is here: what a container meets that had GPUs until systemd on its host read its
 * units again, and forgot devices that the container's runtime had allowed by other means. Opens nothing. */
bool bus_is_cut_off(const struct env *env, const char *node);

/* The container this process runs in; "" none recognized. */
const char *bus_container(const struct env *env);
