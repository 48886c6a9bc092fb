/* SPDX-License-Identifier: Apache-2.0
 * Boards that have fewer PCIe lanes than their chip: drivers name those of the chip, and a card at its best would look halved.
 */
#include <string.h>

#include "base/cleanup.h"
#include "source/source.h"

static const struct {
    const char *device;
    int lanes;
} boards[] = {
    {"10de:2507", 8}, {"10de:2582", 8}, {"10de:2584", 8},                   /* GeForce RTX 3050: 16 of 8, seen with driver 535 */
    {"10de:25b0", 8}, {"10de:25b2", 8},                                     /* RTX A1000, A400 */
    {"10de:2803", 8}, {"10de:2805", 8}, {"10de:2808", 8}, {"10de:2882", 8}, /* GeForce RTX 4060, 4060 Ti */
    {"10de:2d04", 8}, {"10de:2d05", 8},                                     /* GeForce RTX 5060, 5060 Ti */
    {"10de:1d01", 4},                                                       /* GeForce GT 1030 */
};

void board_limit_lanes(struct gpu *gpu)
{
    const struct property_text *device = &gpu->property[PROPERTY_pci_device_id];
    if (device->state != READING_OK || gpu->pcie_width_max.state != READING_OK)
        return;
    for (size_t i = 0; i < ARRAY_LEN(boards); i++)
        if (strcasecmp(device->value, boards[i].device) == 0 && gpu->pcie_width_max.value > boards[i].lanes)
            gpu->pcie_width_max.value = boards[i].lanes;
}
