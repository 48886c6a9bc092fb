/* SPDX-License-Identifier: Apache-2.0
 * One AMD card, read from its kernel files into our units.
 */
#pragma once

#include "base/str.h"
#include "model/reading.h"
#include "source/amdgpu/gpu_metrics.h"
#include "source/sysfs/card.h"
#include "source/sysfs/hwmon.h"

/* ---- Why an AMD card runs slower than it could, from gpu_metrics, in the words that all vendors share. ---- */

/* What the counters of the newer tables stood at last time. */
struct throttle_memory {
    bool known;
    int64_t accumulations;
    int64_t counters[7];
};

/* Bits of enum throttle. hotspot and its limit are needed because RDNA 3 reports "hotspot" at idle as well. Tables that count
 * give PENDING the first time: what matters is what was added since. */
struct reading amdgpu_throttle(const struct gpu_metrics *m, struct reading hotspot_mdegc, struct reading hotspot_limit_mdegc,
                               struct throttle_memory *memory);

/* Which sensor is which. Labels do not change while the hwmon directory is the same. -1: not there. */
struct amdgpu_channels {
    char hwmon[PATH_SIZE - ATTR_NAME_SIZE];
    int edge, junction, memory; /* temp */
    int vddgfx, vddnb;          /* in */
    int sclk, mclk;             /* freq */
};

/* What is kept of a card from sample to sample. */
struct amdgpu_memory {
    struct throttle_memory throttle;
    struct amdgpu_channels channels;
    bool is_apu; /* its memory is the host's: found out when first seen awake, and kept while asleep */
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

/* The card must be awake: opens nothing else than its attributes. */
void amdgpu_reader_init(struct amdgpu_reader *r, const struct env *env, const struct drm_card *card, struct amdgpu_memory *memory);
void amdgpu_read(struct amdgpu_reader *r, unsigned groups, struct gpu *out);
/* Memory alone: these files never wake a card. */
void amdgpu_read_memory(struct attrs *device, const struct amdgpu_memory *memory, struct gpu *out);
void amdgpu_read_static(struct amdgpu_reader *r, struct gpu *out);
/* Errors counted by RAS, and retired pages. */
void amdgpu_read_ras(struct attrs *device, struct gpu *out);

/* ---- For its settings ---- */

struct source;
const struct drm_card *amdgpu_card(struct source *source, size_t gpu, const struct env **ret_env); /* NULL: gone */

/* ---- The tables of clock states: pp_dpm_sclk and its siblings, rows like "1: 789Mhz *". ---- */

struct dpm_clock {
    struct reading now_khz; /* of the starred row; absent when no row, or several different ones, are starred */
    struct reading max_khz; /* of the fastest row */
};
void dpm_parse_clock(struct str text, struct dpm_clock *ret);

struct dpm_link {
    struct reading generation, width; /* of the starred rows, if they agree */
    struct reading generation_max, width_max;
};
void dpm_parse_link(struct str text, struct dpm_link *ret);
