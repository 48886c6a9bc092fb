/* SPDX-License-Identifier: Apache-2.0
 * KFD, the kernel side of ROCm: compute nodes, the cards they belong to, and the processes that use them.
 *
 *   topology/nodes/2 ┐  same place on the bus, same unique id:
 *   topology/nodes/3 ├─▶ one card with three partitions
 *   topology/nodes/4 ┘
 */
#pragma once

#include "source/sysfs/sysfs_card.h"

enum { KFD_NODES_MAX = 512, KFD_PROCESSES_MAX = 4096 };

struct kfd_node {
    char card[GPU_PCI_SIZE]; /* PCI address of the card; partitions have further, nonexistent functions */
    uint32_t gpu_id;         /* 0: not in the tree */
    uint32_t device;
    uint64_t unique_id; /* 0: none */
    int64_t compute_units;
    int64_t gfx_version; /* 90402: gfx942 */
    struct reading memory_bytes;
};

struct kfd {
    struct kfd_node *nodes; /* in the order of the topology */
    size_t count;
};

/* Reads the topology; 0 nodes if there is none. -EIO: partly unreadable, k unchanged; or another -errno. */
int kfd_read(struct kfd *k, const struct env *env);
void kfd_done(struct kfd *k);

size_t kfd_count_of(const struct kfd *k, const char *card);
/* The n-th node of a card, or NULL. */
const struct kfd_node *kfd_node_of(const struct kfd *k, const char *card, size_t n);
/* The cards in the topology, each once, as drm_card with an empty name. Returns their number. */
size_t kfd_cards(const struct kfd *k, struct drm_card *cards, size_t max);

/* Sets compute_units and compute_capability. */
void kfd_fill_static(const struct kfd *k, const char *card, struct gpu *out);
/* Adds the instances of a card with several nodes. */
void kfd_fill_instances(const struct kfd *k, const struct env *env, const struct drm_card *card, const char *name, struct gpu *out);
/* Adds the processes that compute on the card, or completes those already listed. */
void kfd_fill_processes(const struct kfd *k, const struct env *env, const char *card, struct gpu *out);
