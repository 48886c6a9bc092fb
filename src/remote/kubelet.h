/* SPDX-License-Identifier: Apache-2.0
 * Which pods have which devices, from the kubelet's socket (PodResourcesLister, v1): gRPC, which is HTTP/2 with a five-byte frame
 * header before a message.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/str.h"
#include "model/gpu.h"

#define KUBELET_SOCKET "/var/lib/kubelet/pod-resources/kubelet.sock"

enum { KUBELET_DEVICES_MAX = 4096, KUBELET_ANSWER_MAX = 64 << 20 };

/* A device of one container. */
struct kubelet_device {
    char resource[64];      /* "VENDOR.com/gpu"; for a claim, the name of its driver: "gpu.VENDOR.com" */
    char id[80];            /* as named by the device plugin or driver, see kubelet.c */
    char pci[GPU_PCI_SIZE]; /* if that names a DRM device file: its PCI address; otherwise "" */
    char space[64], pod[160], container[64];
};

struct kubelet_devices {
    struct kubelet_device *list;
    size_t count;
    size_t left_out; /* beyond the maximum */
};
void kubelet_devices_done(struct kubelet_devices *d);

/* Queries the kubelet; 0 or -errno with a message. -ENOENT: there is no kubelet here. */
int kubelet_ask(const struct env *env, const _Atomic bool *cancel, struct kubelet_devices *ret, struct error *err);

/* Pure, for the above: parses the body. Counts only resources with "gpu" or "mig" in their names. -EBADMSG, -ENOMEM. */
int kubelet_take(struct str body, struct kubelet_devices *ret);

/* Finds the addresses of devices that are named by files, for the above. */
void kubelet_find_files(const struct env *env, struct kubelet_devices *d);

/* Whether the device is this GPU or a part of it. */
bool kubelet_device_is(const struct kubelet_device *d, const struct gpu *gpu);
