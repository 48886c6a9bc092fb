/* SPDX-License-Identifier: Apache-2.0
 * A stand-in for libnvidia-ml.so.1 that answers from a script (see README.md). The state it answers from.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/nvml/abi.h"

/* The release whose exports and layouts this library imitates: major * 1000 + minor. */
extern const unsigned fake_release;

enum {
    FAKE_GPUS = 256,
    FAKE_PROCESSES = 4096, /* of all GPUs together */
    FAKE_ROWS = 256,
    FAKE_FIELDS = 512,
    FAKE_RULES = 256,
    FAKE_INSTANCES = 8, /* of each GPU */
    FAKE_EVENTS = 64,
    FAKE_CALLS = 256,
    FAKE_NA = -0x7fffffff, /* "na": not supported */
};

/* Numbers that a script may set for a GPU, in NVML's own units, and what they are unless set. */
/* clang-format off */
#define FAKE_KEYS(KEY) \
    KEY(temperature, 45) KEY(shutdown, 95) KEY(slowdown, 90) KEY(mem_max, FAKE_NA) KEY(gpu_max, 88) KEY(target, 83) \
    KEY(margin, FAKE_NA) KEY(power, 60000) KEY(power_limit, 450000) KEY(power_default, 450000) KEY(power_min, 150000) \
    KEY(power_max, 600000) KEY(energy, 123456789) KEY(gpu_util, 0) KEY(mem_util, 0) KEY(encoder, 0) KEY(decoder, 0) \
    KEY(jpeg, FAKE_NA) KEY(ofa, FAKE_NA) KEY(total, 24564) KEY(reserved, 500) KEY(used, 1000) KEY(bar1_total, 32768) \
    KEY(bar1_used, 20) KEY(fans, 2) KEY(fan, 30) KEY(rpm, 1200) KEY(pstate, 8) KEY(graphics, 210) KEY(sm, 210) KEY(memory, 405) \
    KEY(video, 1185) KEY(graphics_max, 3105) KEY(sm_max, 3105) KEY(memory_max, 10501) KEY(video_max, 2415) KEY(throttle, 1) \
    KEY(pcie_gen, 1) KEY(pcie_width, 16) KEY(pcie_gen_max, 4) KEY(pcie_width_max, 16) KEY(replays, 0) KEY(persistence, 0) \
    KEY(compute_mode, 0) KEY(display_active, 1) KEY(ecc, FAKE_NA) KEY(ecc_corrected, FAKE_NA) KEY(ecc_uncorrected, FAKE_NA) \
    KEY(ecc_corrected_life, FAKE_NA) KEY(ecc_uncorrected_life, FAKE_NA) KEY(remapped, FAKE_NA) KEY(remap_pending, 0) \
    KEY(remap_failed, 0) KEY(nvlinks_active, 0) KEY(nvlink_errors, FAKE_NA) KEY(license, FAKE_NA) KEY(mig, FAKE_NA) KEY(brand, 15) KEY(architecture, 8) KEY(cc_major, 8) \
    KEY(cc_minor, 9) KEY(virtualization, 0) KEY(gpm, 0) KEY(gone, 0) KEY(process_utilization, 1) KEY(addressing, 0) \
    KEY(app_graphics, FAKE_NA) KEY(app_memory, FAKE_NA) KEY(boost_max, FAKE_NA) KEY(pcie_gen_card, 4) KEY(sessions, 0) \
    KEY(fps, 0) KEY(latency, 0) KEY(captures, FAKE_NA) KEY(protected_total, FAKE_NA) KEY(protected_used, 0) \
    KEY(encryption, FAKE_NA) KEY(sram, FAKE_NA) KEY(banks, FAKE_NA) KEY(repair, FAKE_NA) KEY(unrepairable, FAKE_NA) \
    KEY(board, 0x100) KEY(multi, 0) KEY(module, FAKE_NA) KEY(slot, FAKE_NA) KEY(accounting, 0) KEY(c2c, FAKE_NA) KEY(fabric, 0) \
    KEY(clique, 0) KEY(sms, FAKE_NA) KEY(mig_private, 0) KEY(power_held, FAKE_NA) KEY(target_min, 65) KEY(target_max, 90) \
    KEY(fan_min, 30) KEY(clock_min, 210) KEY(settable, 1) KEY(hottest, FAKE_NA) \
    KEY(mizer, FAKE_NA) KEY(bank_remaps, FAKE_NA) KEY(bank_pending, 0)
/* clang-format on */

enum fake_key {
#define KEY(name, value) FAKE_##name,
    FAKE_KEYS(KEY)
#undef KEY
        FAKE_KEY_COUNT
};

struct fake_instance {
    char uuid[96], name[96];
    unsigned gpu_instance, compute_instance;
    int64_t total_mib, used_mib;
};

struct fake_gpu {
    char name[128], uuid[96], pci[32], serial[32];
    int64_t value[FAKE_KEY_COUNT];
    struct fake_instance instances[FAKE_INSTANCES];
    unsigned instance_count;
};

enum { FAKE_COMPUTE = 1, FAKE_GRAPHICS = 2, FAKE_MPS = 4 };
struct fake_process {
    int gpu;
    unsigned pid, lists, gpu_instance, compute_instance;
    unsigned long long bytes;
    bool has_load;
    unsigned sm, mem, enc, dec;
};
struct fake_row { /* a row of process utilization as it stands in the script, sane or not */
    int gpu;
    unsigned pid, sm, mem, enc, dec;
    int64_t age_ms;
};
struct fake_field { /* also GPM values: field = 1000 + id */
    int gpu;
    unsigned field;
    int64_t scope; /* -1: any */
    int result;
    bool narrow; /* given in 32 bits */
    double value;
};
struct fake_rule {
    int gpu; /* -1: all */
    char call[64];
    int code;    /* fail */
    double hang; /* seconds; 0: no hang */
};
struct fake_event {
    int gpu;
    unsigned long long type, data;
};

struct fake_state {
    char driver[80], nvml[80];
    int cuda;
    unsigned gpu_count;
    struct fake_gpu gpus[FAKE_GPUS];
    unsigned process_count, row_count, field_count, rule_count, event_count;
    struct fake_process processes[FAKE_PROCESSES];
    struct fake_row rows[FAKE_ROWS];
    struct fake_field fields[FAKE_FIELDS];
    struct fake_rule rules[FAKE_RULES];
    struct fake_event events[FAKE_EVENTS];
    unsigned events_taken;
};

/* The state as of now: the script is read again when the file changed or a later `at` section began. */
struct fake_state *fake_now(void);

/* For tests in the same process, through dlsym. */
void fake_nvml_script(const char *text);         /* answers from this text instead of a file; NULL: from the file again */
unsigned long fake_nvml_calls(const char *call); /* how often; NULL: all calls together */
void fake_nvml_reset_calls(void);
int fake_nvml_open_count(void); /* nvmlInit minus nvmlShutdown */

void fake_count(const char *call);

/* settings.c */
int64_t fake_setting(int gpu, const char *key, int64_t otherwise);
void fake_setting_put(int gpu, const char *key, int64_t value);
void fake_nvml_forget_settings(void); /* as a driver that is loaded anew; for tests in the same process */
