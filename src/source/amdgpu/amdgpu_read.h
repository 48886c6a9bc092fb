/* SPDX-License-Identifier: Apache-2.0
 * Reads one AMD card from its kernel files into our units.
 */
#pragma once

#include "base/str.h"
#include "model/reading.h"
#include "source/amdgpu/gpu_metrics.h"
#include "source/sysfs/hwmon.h"
#include "source/sysfs/sysfs_card.h"

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
void amdgpu_read_static(struct amdgpu_reader *r, struct gpu *out);
/* RAS error counts and retired pages. */
void amdgpu_read_ras(struct attrs *device, struct gpu *out);

/* ---- for its settings ---- */

struct source;
const struct drm_card *amdgpu_card(struct source *source, size_t gpu, const struct env **ret_env); /* NULL: gone */

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
