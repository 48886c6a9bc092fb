/* SPDX-License-Identifier: Apache-2.0
 * The PCIe link of a card as its slot sees it.
 */
#pragma once

#include "model/gpu.h"
#include "source/sysfs/card.h"

/* "16.0 GT/s PCIe", "8.0GT/s, x16 619Mhz" -> 4, 3; 0 when the text begins with no known speed. */
int pcie_generation(struct str speed);

/* Sets generation and width now (GROUP_FAST) and at most (GROUP_STATIC). A card with a switch of its own shows the link inside
 * itself; the link to the slot is that of the switch's upstream port, which is looked for above the card. `internal_only`: without
 * that port the card's own numbers are known to be wrong and are left out. */
void pcie_link(const struct drm_card *card, const struct env *env, bool internal_only, unsigned groups, struct gpu *out);
