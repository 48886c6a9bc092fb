/* SPDX-License-Identifier: Apache-2.0
 * The binary table "gpu_metrics" that the firmware of the card fills. Every version has its own layout:
 *
 *   u16 size | u8 format | u8 content | fields at fixed offsets (1.0 to 1.8, 2.x, 3.0)
 *                                     | s32 count, then { u64 what, values } one after the other (1.9)
 *
 * Decoding makes one index of fields out of any of them. All ones means that the card does not have the field.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h"

enum { GPU_METRICS_MAX = 8192, GPU_METRICS_PARTITIONS = 8 };

#define GM_FIELDS(X)                                                                                                             \
    X(TEMP_EDGE)                                                                                                                 \
    X(TEMP_HOTSPOT)                                                                                                              \
    X(TEMP_MEM)                                                                                                                  \
    X(TEMP_GFX)                                                                                                                  \
    X(TEMP_SOC)                                                                                                                  \
    X(GFX_ACTIVITY) X(UMC_ACTIVITY) X(MM_ACTIVITY) X(VCN_ACTIVITY) X(JPEG_ACTIVITY) X(SOCKET_POWER) X(GFX_POWER) X(ENERGY)       \
        X(GFXCLK_NOW) X(GFXCLK_AVERAGE) X(UCLK_NOW) X(UCLK_AVERAGE) X(VCLK_NOW) X(VCLK_AVERAGE) X(THROTTLE) X(THROTTLE_ANY_CHIP) \
            X(FAN_RPM) X(PCIE_WIDTH) X(PCIE_SPEED) X(PCIE_REPLAYS) X(GFX_ACC) X(VOLTAGE_GFX) X(ACCUMULATIONS) X(ACC_PROCHOT)     \
                X(ACC_POWER) X(ACC_SOCKET_HOT) X(ACC_VR_HOT) X(ACC_MEMORY_HOT) X(APU_PROCHOT) X(APU_SPL) X(APU_FPPT) X(APU_SPPT) \
                    X(APU_CORE_HOT) X(APU_GFX_HOT) X(APU_SOC_HOT) X(PARTITIONS) X(PARTITION_BUSY)

enum gm_field {
#define X(name) GM_##name,
    GM_FIELDS(X)
#undef X
        GM_COUNT
};

struct gm_slot {
    uint16_t offset, count; /* count 0: this table does not have the field */
    uint8_t width;          /* bytes of one value */
    bool is_signed;
};

struct gpu_metrics {
    const uint8_t *bytes;
    size_t size;
    int format, content;
    uint16_t partition_stride; /* from one partition's busy values to the next one's; 0: none in this table */
    struct gm_slot slots[GM_COUNT];
};

/* False: too short, an unknown version, or a size that does not belong to it. `bytes` must live as long as `ret` is used. */
bool gpu_metrics_decode(const void *bytes, size_t size, struct gpu_metrics *ret);
/* The raw number; false when the table or the card does not have it. */
bool gpu_metrics_raw(const struct gpu_metrics *m, enum gm_field field, unsigned index, int64_t *ret);

/* The same in our units, whatever the version's are. */
struct reading gpu_metrics_mdegc(const struct gpu_metrics *m, enum gm_field field);
struct reading gpu_metrics_permille(const struct gpu_metrics *m, enum gm_field field); /* the busiest of several */
struct reading gpu_metrics_power_mw(const struct gpu_metrics *m);
struct reading gpu_metrics_khz(const struct gpu_metrics *m, enum gm_field now, enum gm_field average); /* the fastest of several */
struct reading gpu_metrics_pcie_generation(const struct gpu_metrics *m);
/* Of one partition (XCP): the mean over its engines. */
struct reading gpu_metrics_partition_permille(const struct gpu_metrics *m, unsigned partition);
/* Graphics on the processor's die: only those have tables of format 2 and 3. */
bool gpu_metrics_is_apu(const struct gpu_metrics *m);
