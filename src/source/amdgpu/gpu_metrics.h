/* SPDX-License-Identifier: Apache-2.0
 * The binary table "gpu_metrics" from the card's firmware. Every version has its own layout:
 *
 *   u16 size | u8 format | u8 content | fields at fixed offsets (1.0 to 1.8, 2.x, 3.0)
 *                                     | s32 count, then { u64 what, values } one after the other (1.9)
 *
 * Decoding turns each into one index of fields. All ones means that the card lacks the field.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h"

enum { GPU_METRICS_MAX = 8192, GPU_METRICS_PARTITIONS = 8 };

enum gm_field {
    GM_TEMP_EDGE,
    GM_TEMP_HOTSPOT,
    GM_TEMP_MEM,
    GM_TEMP_GFX, /* APUs */
    GM_TEMP_SOC,
    GM_GFX_ACTIVITY,
    GM_UMC_ACTIVITY, /* memory controller */
    GM_MM_ACTIVITY,  /* video */
    GM_VCN_ACTIVITY,
    GM_JPEG_ACTIVITY,
    GM_SOCKET_POWER,
    GM_GFX_POWER,
    GM_ENERGY,
    GM_GFXCLK_NOW,
    GM_GFXCLK_AVERAGE,
    GM_UCLK_NOW,
    GM_UCLK_AVERAGE,
    GM_VCLK_NOW,
    GM_VCLK_AVERAGE,
    GM_THROTTLE,          /* chip-specific bits */
    GM_THROTTLE_ANY_CHIP, /* bits common to all chips */
    GM_FAN_RPM,
    GM_PCIE_WIDTH,
    GM_PCIE_SPEED,
    GM_PCIE_REPLAYS,
    GM_GFX_ACC,
    GM_VOLTAGE_GFX,
    GM_ACCUMULATIONS, /* and how many of those were spent at a limit: */
    GM_ACC_PROCHOT,
    GM_ACC_POWER,
    GM_ACC_SOCKET_HOT,
    GM_ACC_VR_HOT,
    GM_ACC_MEMORY_HOT,
    GM_APU_PROCHOT, /* the same for APUs, in units of time */
    GM_APU_SPL,
    GM_APU_FPPT,
    GM_APU_SPPT,
    GM_APU_CORE_HOT,
    GM_APU_GFX_HOT,
    GM_APU_SOC_HOT,
    GM_PARTITIONS,
    GM_PARTITION_BUSY,
    GM_COUNT
};

struct gm_slot {
    uint16_t offset, count; /* count 0: not in this table */
    uint8_t width;          /* bytes of one value */
    bool is_signed;
};

struct gpu_metrics {
    const uint8_t *bytes;
    size_t size;
    int format, content;
    bool whole_percent;        /* activity in percent, though this format uses hundredths */
    uint16_t partition_stride; /* distance between two partitions' busy values; 0: none in this table */
    struct gm_slot slots[GM_COUNT];
};

/* False: too short, unknown version, or wrong size for it. `bytes` must outlive `ret`. `device` is the chip's PCI ID (0
 * unknown): units of a version differ between chips. */
bool gpu_metrics_decode(const void *bytes, size_t size, uint32_t device, struct gpu_metrics *ret);
/* The raw number; false if the table or card lacks it. */
bool gpu_metrics_raw(const struct gpu_metrics *m, enum gm_field field, unsigned index, int64_t *ret);

/* The same in our units, whatever the version uses. */
struct reading gpu_metrics_mdegc(const struct gpu_metrics *m, enum gm_field field);
struct reading gpu_metrics_permille(const struct gpu_metrics *m, enum gm_field field); /* the busiest of several */
struct reading gpu_metrics_power_mw(const struct gpu_metrics *m);
struct reading gpu_metrics_khz(const struct gpu_metrics *m, enum gm_field now, enum gm_field average); /* the fastest of several */
struct reading gpu_metrics_pcie_generation(const struct gpu_metrics *m);
/* For one partition (XCP): the mean over its engines. */
struct reading gpu_metrics_partition_permille(const struct gpu_metrics *m, unsigned partition);
/* Integrated graphics: only those have tables of format 2 and 3. */
bool gpu_metrics_is_apu(const struct gpu_metrics *m);
