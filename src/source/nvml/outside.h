/* SPDX-License-Identifier: Apache-2.0
 * What can be known of NVIDIA's cards without their library, for the fallback nvidia-smi too: sysfs says which are asleep
 * (sleep.c), NVIDIA_VISIBLE_DEVICES which may be shown (visible.c).
 */
#pragma once

#include "base/env.h"
#include "model/gpu.h"

/* A card as sysfs shows it. */
struct nvml_seen {
    char address[GPU_PCI_SIZE];
    bool asleep;
};

/* NVIDIA GPUs, by address: how many, or -errno where that could not be looked at. */
int sleep_scan(const struct env *env, struct nvml_seen *seen, size_t max);
void sleep_identify(const struct env *env, const char *address, struct gpu_id *id);

enum nvml_visible_kind { VISIBLE_ALL, VISIBLE_NONE, VISIBLE_LISTED };

enum nvml_visible_kind visible_kind(const char *list);
struct visible_uuids {
    const char *at[GPU_MAX];
    size_t count;
};
/* Whether the list shows the card; uuid "" while unknown: then true unless the index alone decides. `all`: the UUIDs of the cards,
 * which tell whether an abbreviation is unique; NULL while they are not known. */
bool visible_card(const char *list, size_t card_count, int index, const char *uuid, const struct visible_uuids *all);
bool visible_instance(const char *list, size_t card_count, int index, const char *uuid, int instance, const char *instance_uuid);
