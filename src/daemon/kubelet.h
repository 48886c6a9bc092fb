/* SPDX-License-Identifier: Apache-2.0
 * Which pods have which devices, as the kubelet says it on its socket (PodResourcesLister, v1): gRPC, which is HTTP/2 with a frame
 * of five bytes around a message.
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
    char resource[64];      /* "VENDOR.com/gpu"; of a claim the name of its driver: "gpu.VENDOR.com" */
    char id[80];            /* as the device plugin or the driver calls it, see kubelet.c */
    char pci[GPU_PCI_SIZE]; /* where that names a device file of DRM: the address behind it; "" otherwise */
    char space[64], pod[160], container[64];
};

struct kubelet_devices {
    struct kubelet_device *list;
    size_t count;
    size_t left_out; /* over the most */
};
void kubelet_devices_done(struct kubelet_devices *d);

/* Asks; 0 or -errno with a sentence. -ENOENT: there is no kubelet here. */
int kubelet_ask(const struct env *env, const _Atomic bool *cancel, struct kubelet_devices *ret, struct error *err);

/* Pure, for the above: the body of the answer. Only resources whose names have "gpu" or "mig" in them count. -EBADMSG, -ENOMEM. */
int kubelet_take(struct str body, struct kubelet_devices *ret);

/* Finds the addresses of devices that are named by their files, for the above. */
void kubelet_find_files(const struct env *env, struct kubelet_devices *d);

/* Whether the device is this GPU, or a part of it. */
bool kubelet_device_is(const struct kubelet_device *d, const struct gpu *gpu);
