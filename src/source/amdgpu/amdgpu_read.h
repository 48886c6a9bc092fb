/* SPDX-License-Identifier: Apache-2.0
 * Reads one AMD card from its kernel files into our units.
 */
#pragma once

#include "base/str.h"
#include "model/reading.h"
#include "source/sysfs/sensors.h"
#include "source/sysfs/sysfs_card.h"

/* The binary table "gpu_metrics" from the card's firmware. Every version has its own layout:
 *
 *   u16 size | u8 format | u8 content | fields at fixed offsets (1.0 to 1.8, 2.x, 3.0)
 *                                     | s32 count, then { u64 what, values } one after the other (1.9)
 *
 * Decoding turns each into one index of fields. All ones means that the card lacks the field. */

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

/* ---- Why an AMD card runs slower than it could, from gpu_metrics, in the terms all vendors share ---- */

/* Previous counter values of the newer tables. */
struct throttle_memory {
    bool known;
    int64_t accumulations;
    int64_t counters[7];
};

/* Bits of enum throttle. The hotspot and its limit are needed because RDNA 3 reports "hotspot" even when idle. Tables with
 * counters give PENDING the first time: only increments matter. */
struct reading amdgpu_throttle(const struct gpu_metrics *m, struct reading hotspot_mdegc, struct reading hotspot_limit_mdegc,
                               struct throttle_memory *memory);

/* Sensor channels. Labels don't change while the hwmon directory is the same. -1: missing. */
struct amdgpu_channels {
    char hwmon[PATH_SIZE - ATTR_NAME_SIZE];
    int edge, junction, memory; /* temp */
    int vddgfx, vddnb;          /* in */
    int sclk, mclk;             /* freq */
};

/* State of a card between samples. */
struct amdgpu_memory {
    struct throttle_memory throttle;
    struct amdgpu_channels channels;
    bool is_apu; /* its memory is the host's: determined when first seen awake, and kept while asleep */
    bool kind_known;
};

struct amdgpu_reader {
    const struct env *env;
    const struct drm_card *card;
    struct amdgpu_memory *memory;
    struct attrs device, hwmon;
    bool has_metrics;
    struct gpu_metrics metrics;
    uint8_t blob[GPU_METRICS_MAX + 1];
};

/* The card must be awake: opens only its attributes. */
void amdgpu_reader_init(struct amdgpu_reader *r, const struct env *env, const struct drm_card *card, struct amdgpu_memory *memory);
void amdgpu_read(struct amdgpu_reader *r, unsigned groups, struct gpu *out);
/* Memory only: these files never wake a card. */
void amdgpu_read_memory(struct attrs *device, const struct amdgpu_memory *memory, struct gpu *out);

/* ---- Tables of clock states: pp_dpm_sclk and its siblings, rows like "1: 789Mhz *" ---- */

struct dpm_clock {
    struct reading now_khz; /* the starred row; absent if no row is starred, or several different ones */
    struct reading max_khz; /* the fastest row */
};
void dpm_parse_clock(struct str text, struct dpm_clock *ret);

struct dpm_link {
    struct reading generation, width; /* the starred rows, if they agree */
    struct reading generation_max, width_max;
};
void dpm_parse_link(struct str text, struct dpm_link *ret);
