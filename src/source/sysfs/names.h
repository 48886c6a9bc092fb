/* SPDX-License-Identifier: Apache-2.0
 * What a card is called in the shop.
 */
#pragma once

#include "source/sysfs/card.h"

/* By device and revision from libdrm's amdgpu.ids, then from a short table of our own, then from pci.ids; at last a name made of
 * the vendor and the numbers. Always fills `name`. */
void gpu_name_find(const struct env *env, const struct drm_card *card, char name[GPU_NAME_SIZE]);
/* "amd", "intel", "nvidia", ... from the PCI vendor or the driver of a card that is not on PCI. */
const char *gpu_vendor(const struct drm_card *card);
/* The name in our own table; NULL. */
const char *gpu_known_name(const struct drm_card *card);
/* The chip family ("RDNA 3") where our table knows it; NULL otherwise. */
const char *gpu_architecture(const struct drm_card *card);
