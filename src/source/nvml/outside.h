/* SPDX-License-Identifier: Apache-2.0
 * What is known about NVIDIA's cards without their library, also for the nvidia-smi fallback: sysfs shows which are asleep,
 * NVIDIA_VISIBLE_DEVICES which may be shown.
 */
#pragma once

#include "base/env.h"
#include "model/gpu.h"

/* A card in sysfs. */
struct nvml_seen {
    char address[GPU_PCI_SIZE];
    bool asleep;
};

/* NVIDIA GPUs by address: their number, or -errno if unreadable. */
int sleep_scan(const struct env *env, struct nvml_seen *seen, size_t max);
void sleep_identify(const struct env *env, const char *address, struct gpu_id *id);

enum nvml_visible_kind { VISIBLE_ALL, VISIBLE_NONE, VISIBLE_LISTED };

enum nvml_visible_kind visible_kind(const char *list);
struct visible_uuids {
    const char *at[GPU_MAX];
    size_t count;
};
/* Whether the list shows the card; with an unknown uuid (""), true unless the index alone decides. `all`: the UUIDs of all
 * cards, to detect ambiguous abbreviations; NULL while unknown. */
bool visible_card(const char *list, size_t card_count, int index, const char *uuid, const struct visible_uuids *all);
bool visible_instance(const char *list, size_t card_count, int index, const char *uuid, int instance, const char *instance_uuid);
