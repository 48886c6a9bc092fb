/* SPDX-License-Identifier: Apache-2.0
 * The catalog itself. Thermal figures make a card under full load settle where reviews measured it.
 */
#include "source/sim/sim_job.h"

#include <strings.h>

#include "base/cleanup.h"
#include "source/sim/sim.h"

/* clang-format off */
static const struct sim_card catalogue[] = {
    {.key = "rtx4090", .name = "NVIDIA GeForce RTX 4090", .vendor = "nvidia", .driver = "nvidia", .architecture = "Ada Lovelace",
     .brand = "GeForce", .compute = "8.9", .pci_id = "10de:2684", .subsystem = "10de:16f4",
     .units = 128, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_VIDEO | CARD_ENERGY | CARD_DISPLAY,
     .vram = 24564, .reserved = 432, .bar1 = 32768, .idle_w = 21, .tdp_w = 450, .min_w = 150, .max_w = 600,
     .clock_idle = 210, .clock_max = 3105, .mem_clock_idle = 405, .mem_clock_max = 10501, .video_clock_max = 2415,
     .slowdown = 95, .shutdown = 98, .target = 84, .fans = 2, .fan_rpm_max = 3200, .fan_stops = true,
     .conductance = 2.4, .conductance_fan = 14.5, .die_k_per_w = 0.022, .capacity = 560},
    {.key = "h100", .name = "NVIDIA H100 80GB HBM3", .vendor = "nvidia", .driver = "nvidia", .architecture = "Hopper",
     .brand = "NVIDIA", .compute = "9.0", .pci_id = "10de:2330", .subsystem = "10de:16c1",
     .units = 132, .nvlinks = 18, .pcie_generation = 5, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_GPM | CARD_VIDEO | CARD_MEM_TEMP | CARD_ENERGY | CARD_MIG | CARD_MARGIN,
     .vram = 81559, .reserved = 540, .bar1 = 131072, .idle_w = 69, .tdp_w = 700, .min_w = 200, .max_w = 700,
     .clock_idle = 345, .clock_max = 1980, .mem_clock_idle = 2619, .mem_clock_max = 2619, .video_clock_max = 1545,
     .slowdown = 89, .shutdown = 95, .target = 87, .conductance = 17.5, .die_k_per_w = 0.010, .capacity = 1250},
    {.key = "rtx3060", .name = "NVIDIA GeForce RTX 3060", .vendor = "nvidia", .driver = "nvidia", .architecture = "Ampere",
     .brand = "GeForce", .compute = "8.6", .pci_id = "10de:2504", .subsystem = "1462:397d",
     .units = 28, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_VIDEO | CARD_ENERGY | CARD_DISPLAY,
     .vram = 12288, .reserved = 318, .bar1 = 16384, .idle_w = 13, .tdp_w = 170, .min_w = 100, .max_w = 212,
     .clock_idle = 210, .clock_max = 2130, .mem_clock_idle = 405, .mem_clock_max = 7501, .video_clock_max = 1950,
     .slowdown = 95, .shutdown = 98, .target = 83, .fans = 2, .fan_rpm_max = 3000, .fan_stops = true,
     .conductance = 1.1, .conductance_fan = 5.4, .die_k_per_w = 0.035, .capacity = 260},
    {.key = "h200", .name = "NVIDIA H200", .vendor = "nvidia", .driver = "nvidia", .architecture = "Hopper",
     .brand = "NVIDIA", .compute = "9.0", .pci_id = "10de:2335", .subsystem = "10de:18bf",
     .units = 132, .nvlinks = 18, .pcie_generation = 5, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_GPM | CARD_VIDEO | CARD_MEM_TEMP | CARD_ENERGY | CARD_MIG | CARD_MARGIN,
     .vram = 143771, .reserved = 615, .bar1 = 262144, .idle_w = 76, .tdp_w = 700, .min_w = 200, .max_w = 700,
     .clock_idle = 345, .clock_max = 1980, .mem_clock_idle = 3201, .mem_clock_max = 3201, .video_clock_max = 1545,
     .slowdown = 89, .shutdown = 95, .target = 87, .conductance = 17.0, .die_k_per_w = 0.010, .capacity = 1300},
    {.key = "a100", .name = "NVIDIA A100-SXM4-80GB", .vendor = "nvidia", .driver = "nvidia", .architecture = "Ampere",
     .brand = "NVIDIA", .compute = "8.0", .pci_id = "10de:20b2", .subsystem = "10de:147f",
     .units = 108, .nvlinks = 12, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_VIDEO | CARD_MEM_TEMP | CARD_ENERGY | CARD_MIG,
     .vram = 81920, .reserved = 680, .bar1 = 131072, .idle_w = 62, .tdp_w = 400, .min_w = 100, .max_w = 400,
     .clock_idle = 210, .clock_max = 1410, .mem_clock_idle = 1593, .mem_clock_max = 1593, .video_clock_max = 1275,
     .slowdown = 92, .shutdown = 95, .target = 85, .conductance = 11.5, .die_k_per_w = 0.012, .capacity = 900},
    {.key = "l4", .name = "NVIDIA L4", .vendor = "nvidia", .driver = "nvidia", .architecture = "Ada Lovelace",
     .brand = "NVIDIA", .compute = "8.9", .pci_id = "10de:27b8", .subsystem = "10de:16ca",
     .units = 58, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_VIDEO | CARD_ENERGY,
     .vram = 23034, .reserved = 372, .bar1 = 32768, .idle_w = 13, .tdp_w = 72, .min_w = 40, .max_w = 72,
     .clock_idle = 210, .clock_max = 2040, .mem_clock_idle = 405, .mem_clock_max = 6251, .video_clock_max = 1770,
     .slowdown = 90, .shutdown = 97, .target = 83, .conductance = 1.75, .die_k_per_w = 0.05, .capacity = 160},
    {.key = "rx7900xtx", .name = "AMD Radeon RX 7900 XTX", .vendor = "amd", .driver = "amdgpu", .architecture = "RDNA 3",
     .brand = "Radeon", .compute = "gfx1100", .pci_id = "1002:744c", .subsystem = "1da2:471e",
     .units = 96, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_MEM_TEMP | CARD_HOTSPOT | CARD_DISPLAY | CARD_VOLTAGE,
     .vram = 24560, .idle_w = 16, .tdp_w = 327, .min_w = 294, .max_w = 376,
     .clock_idle = 33, .clock_max = 2680, .mem_clock_idle = 96, .mem_clock_max = 1249, .video_clock_max = 2200,
     .slowdown = 100, .shutdown = 105, .target = 85, .fans = 1, .fan_rpm_max = 3200, .fan_stops = true,
     .conductance = 2.0, .conductance_fan = 13.0, .die_k_per_w = 0.016, .capacity = 480},
    {.key = "mi300x", .name = "AMD Instinct MI300X", .vendor = "amd", .driver = "amdgpu", .architecture = "CDNA 3",
     .brand = "Instinct", .compute = "gfx942", .pci_id = "1002:74a1", .subsystem = "1002:74a1",
     .units = 304, .pcie_generation = 5, .pcie_width = 16,
     .abilities = CARD_ECC | CARD_MEM_TEMP | CARD_HOTSPOT | CARD_ENERGY | CARD_VOLTAGE,
     .vram = 196592, .idle_w = 138, .tdp_w = 750, .min_w = 0, .max_w = 750,
     .clock_idle = 132, .clock_max = 2100, .mem_clock_idle = 900, .mem_clock_max = 1300, .video_clock_max = 1700,
     .slowdown = 100, .shutdown = 105, .target = 95, .conductance = 18.0, .die_k_per_w = 0.012, .capacity = 1500},
    {.key = "rx6600", .name = "AMD Radeon RX 6600", .vendor = "amd", .driver = "amdgpu", .architecture = "RDNA 2",
     .brand = "Radeon", .compute = "gfx1032", .pci_id = "1002:73ff", .subsystem = "1849:5219",
     .units = 28, .pcie_generation = 4, .pcie_width = 8,
     .abilities = CARD_MEM_TEMP | CARD_HOTSPOT | CARD_DISPLAY | CARD_VOLTAGE,
     .vram = 8176, .idle_w = 5, .tdp_w = 100, .min_w = 94, .max_w = 120,
     .clock_idle = 0, .clock_max = 2750, .mem_clock_idle = 96, .mem_clock_max = 875, .video_clock_max = 2100,
     .slowdown = 100, .shutdown = 105, .target = 80, .fans = 1, .fan_rpm_max = 3100, .fan_stops = true,
     .conductance = 0.8, .conductance_fan = 3.4, .die_k_per_w = 0.05, .capacity = 170},
    {.key = "a770", .name = "Intel Arc A770", .vendor = "intel", .driver = "i915", .architecture = "Alchemist",
     .brand = "Arc", .compute = "", .pci_id = "8086:56a0", .subsystem = "8086:1020",
     .units = 512, .pcie_generation = 4, .pcie_width = 16,
     .abilities = CARD_ENERGY | CARD_DISPLAY,
     .vram = 16288, .idle_w = 38, .tdp_w = 190, .min_w = 0, .max_w = 228,
     .clock_idle = 600, .clock_max = 2400, .mem_clock_idle = 0, .mem_clock_max = 0, .video_clock_max = 0,
     .slowdown = 100, .shutdown = 105, .target = 85, .fans = 1, .fan_rpm_max = 3400,
     .conductance = 1.3, .conductance_fan = 6.2, .die_k_per_w = 0.03, .capacity = 300},
    {.key = "b580", .name = "Intel Arc B580", .vendor = "intel", .driver = "xe", .architecture = "Battlemage",
     .brand = "Arc", .compute = "", .pci_id = "8086:e20b", .subsystem = "8086:1100",
     .units = 160, .pcie_generation = 4, .pcie_width = 8,
     .abilities = CARD_ENERGY | CARD_MEM_TEMP | CARD_DISPLAY,
     .vram = 12216, .idle_w = 14, .tdp_w = 190, .min_w = 0, .max_w = 190,
     .clock_idle = 400, .clock_max = 2850, .mem_clock_idle = 0, .mem_clock_max = 0, .video_clock_max = 0,
     .slowdown = 100, .shutdown = 105, .target = 85, .fans = 1, .fan_rpm_max = 3300, .fan_stops = true,
     .conductance = 1.3, .conductance_fan = 6.4, .die_k_per_w = 0.03, .capacity = 290},
};
/* clang-format on */

size_t cards(const struct sim_card **ret)
{
    *ret = catalogue;
    return ARRAY_LEN(catalogue);
}

const struct sim_card *card_find(struct str what)
{
    char text[64];
    str_copy(text, sizeof text, what);
    for (size_t i = 0; i < ARRAY_LEN(catalogue); i++)
        if (strcasecmp(catalogue[i].key, text) == 0)
            return &catalogue[i];
    for (size_t i = 0; what.len >= 3 && i < ARRAY_LEN(catalogue); i++)
        if (strcasestr(catalogue[i].name, text))
            return &catalogue[i];
    return NULL;
}

const char *sim_card(size_t number, const char **full_name)
{
    if (number >= ARRAY_LEN(catalogue))
        return NULL;
    if (full_name)
        *full_name = catalogue[number].name;
    return catalogue[number].key;
}
