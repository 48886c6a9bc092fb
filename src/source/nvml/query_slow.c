/* SPDX-License-Identifier: Apache-2.0
 * Queries of the slow, energy and static groups: health, links, modes, limits.
 */
#include "source/nvml/internal.h"

#include <string.h>

#include "base/cleanup.h"

enum { DEGREE = 1000, MHZ = 1000 };

/* The tables encode NVML's two ECC arguments as one kind. */
enum { ECC_OF_CORRECTED, ECC_OF_UNCORRECTED, ECC_OF_CORRECTED_LIFE, ECC_OF_UNCORRECTED_LIFE };

static int ask_ecc_total(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    if (!n->lib.ecc_total)
        return NVML_FUNCTION_NOT_FOUND;
    unsigned long long count = 0;
    int code = n->lib.ecc_total(card->handle, kind & 1, kind >> 1, &count);
    values[0] = (int64_t)count;
    return code;
}

static int ask_ecc_dram(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    if (!n->lib.ecc_location)
        return NVML_FUNCTION_NOT_FOUND;
    unsigned long long count = 0;
    int code = n->lib.ecc_location(card->handle, kind & 1, kind >> 1, NVML_LOCATION_DRAM, &count);
    values[0] = (int64_t)count;
    return code;
}

/* A query whose call fills one answer `a`, and the values that are made of it. */
#define VERSIONED(tag)                         \
    {                                          \
        .version = NVML_VERSION(struct tag, 1) \
    }
#define ASK(function, call, type, start, ...)                                              \
    static int function(struct nvml *n, struct nvml_card *card, int kind, int64_t *values) \
    {                                                                                      \
        (void)kind;                                                                        \
        type a = start;                                                                    \
        int code = n->lib.call ? n->lib.call(card->handle, &a) : NVML_FUNCTION_NOT_FOUND;  \
        const int64_t all[] = {__VA_ARGS__};                                               \
        memcpy(values, all, sizeof all);                                                   \
        return code;                                                                       \
    }
ASK(ask_ecc_sram, ecc_sram, struct nvml_sram_errors, VERSIONED(nvml_sram_errors), (int64_t)a.corrected, (int64_t)a.parity,
    (int64_t)a.secded, (int64_t)a.life_corrected, (int64_t)a.life_parity, (int64_t)a.life_secded, a.threshold_exceeded != 0,
    (int64_t)a.from_l2, (int64_t)a.from_sm, (int64_t)a.from_mcu, (int64_t)a.from_pcie, (int64_t)a.from_other)
ASK(ask_remap_histogram, remap_histogram, struct nvml_remap_histogram, {0}, a.max, a.high, a.partial, a.low, a.none)
ASK(ask_repairs, repair_status, struct nvml_repair_status, VERSIONED(nvml_repair_status), a.channel_pending != 0,
    a.tpc_pending != 0)
ASK(ask_bar1, bar1, struct nvml_bar1_memory, {0}, (int64_t)a.total, (int64_t)a.used)
ASK(ask_protected, protected_memory, struct nvml_memory, {0}, (int64_t)a.total, (int64_t)a.used)
ASK(ask_fbc_stats, fbc_stats, struct nvml_fbc_stats, {0}, a.sessions, a.fps, a.latency)
ASK(ask_energy, energy, unsigned long long, 0, (int64_t)a)
ASK(ask_margin, margin, struct nvml_margin, VERSIONED(nvml_margin), (a.margin) * DEGREE)
ASK(ask_fan_count, fan_count, unsigned, 0, a)
ASK(ask_bank_remapper, bank_remapper, struct nvml_bank_remapper, {0}, a.active, a.inactive, a.pending, a.groups_max, a.groups_none)
ASK(ask_power_mizer, power_mizer, struct nvml_power_mizer, {0}, a.now)
ASK(ask_attributes, attributes, struct nvml_attributes, {0}, a.multiprocessors)

static int ask_remapped_rows(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    if (!n->lib.remapped_rows)
        return NVML_FUNCTION_NOT_FOUND;
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    int code = n->lib.remapped_rows(card->handle, &corrected, &uncorrected, &pending, &failed);
    values[0] = corrected;
    values[1] = uncorrected;
    values[2] = pending != 0;
    values[3] = failed != 0;
    return code;
}

/* Two layouts exist: the flag alone, or after a version word. What becomes of the word tells which. */
static int ask_unrepairable(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    if (!n->lib.unrepairable)
        return NVML_FUNCTION_NOT_FOUND;
    const unsigned version = NVML_VERSION(struct nvml_flag, 1);
    unsigned answer[4] = {version};
    int code = n->lib.unrepairable(card->handle, answer);
    values[0] = (answer[0] == version ? answer[1] : answer[0]) != 0;
    return code;
}

static int ask_dram_encryption(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    if (!n->lib.dram_encryption)
        return NVML_FUNCTION_NOT_FOUND;
    struct nvml_flag now = {.version = NVML_VERSION(struct nvml_flag, 1)}, pending = now;
    int code = n->lib.dram_encryption(card->handle, &now, &pending);
    values[0] = now.value != 0;
    return code;
}

static int ask_encoder_stats(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    if (!n->lib.encoder_stats)
        return NVML_FUNCTION_NOT_FOUND;
    unsigned sessions = 0, fps = 0, latency_us = 0;
    int code = n->lib.encoder_stats(card->handle, &sessions, &fps, &latency_us);
    values[0] = sessions;
    values[1] = fps;
    values[2] = latency_us;
    return code;
}

/* Nonexistent links answer INVALID_ARGUMENT, so query their number first. */
static int ask_nvlinks(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    if (!n->lib.nvlink_state)
        return NVML_FUNCTION_NOT_FOUND;
    int64_t links = 0, active = 0;
    int code = field_read(n, card, NVML_FIELD_NVLINK_COUNT, 0, &links);
    if (code != NVML_OK)
        return code;
    for (unsigned i = 0; i < (unsigned)links && i < NVML_NVLINKS_MAX; i++) {
        unsigned on = 0;
        code = n->lib.nvlink_state(card->handle, i, &on);
        if (nvml_is_trouble(code))
            return code;
        active += code == NVML_OK && on;
    }
    values[0] = links;
    values[1] = active;
    return NVML_OK;
}

/* A link's counters: packets sent again, recoveries, CRC errors of control and of data. Blackwell counts otherwise, and refuses. */
static int ask_nvlink_errors(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    enum { ALL, WORST, KINDS, KIND_COUNT = 4 };
    if (!n->lib.nvlink_errors)
        return NVML_FUNCTION_NOT_FOUND;
    int64_t links = 0, most = 0;
    int code = field_read(n, card, NVML_FIELD_NVLINK_COUNT, 0, &links), answered = NVML_NOT_SUPPORTED;
    for (unsigned i = WORST; i < KINDS + KIND_COUNT; i++)
        values[i] = QUERY_ABSENT;
    for (unsigned i = 0; code == NVML_OK && i < (unsigned)links && i < NVML_NVLINKS_MAX; i++) {
        int64_t sum = 0;
        for (unsigned counter = 0; counter < KIND_COUNT; counter++) {
            unsigned long long value = 0;
            int rc = n->lib.nvlink_errors(card->handle, i, counter, &value);
            if (nvml_is_trouble(rc))
                return rc;
            if (rc != NVML_OK && answered != NVML_OK && i == 0 && counter == 0)
                return rc; /* a GPU that has none is not asked for each */
            if (rc != NVML_OK)
                continue;
            answered = NVML_OK;
            int64_t count = (int64_t)MIN_OF(value, (unsigned long long)UINT32_MAX), *of_kind = &values[KINDS + counter];
            *of_kind = count + (*of_kind == QUERY_ABSENT ? 0 : *of_kind);
            sum += count;
        }
        values[ALL] += sum;
        if (sum > most) {
            most = sum;
            values[WORST] = i;
        }
    }
    return code == NVML_OK ? answered : code;
}

/* A vGPU without a license works slowly after a while; any other GPU has none to show. */
static int ask_license(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    unsigned mode = 0;
    struct nvml_licenses all = {0};
    if (!n->lib.licenses || !n->lib.virtualization)
        return NVML_FUNCTION_NOT_FOUND;
    int code = n->lib.virtualization(card->handle, &mode);
    if (code == NVML_OK && mode != NVML_VIRTUAL_GUEST)
        return NVML_NOT_SUPPORTED;
    if (code == NVML_OK)
        code = n->lib.licenses(card->handle, &all);
    for (size_t i = 0; i < all.count && i < ARRAY_LEN(all.features); i++)
        values[0] |= all.features[i].licensed != 0;
    return code == NVML_OK && (!all.supported || !all.count) ? NVML_NOT_SUPPORTED : code;
}

static int ask_fabric(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    enum { FABRIC_NONE = 0, FABRIC_COMPLETE = 3 };
    if (!n->lib.fabric)
        return NVML_FUNCTION_NOT_FOUND;
    struct nvml_fabric_v2 fabric = {.version = NVML_VERSION(struct nvml_fabric_v2, 2)};
    int code = n->lib.fabric(card->handle, &fabric);
    if (code == NVML_OK && fabric.state == FABRIC_NONE)
        return NVML_NOT_SUPPORTED;
    bool ready = fabric.state == FABRIC_COMPLETE && fabric.status == NVML_OK;
    values[0] = ready;
    values[1] = ready ? (int64_t)fabric.clique : QUERY_ABSENT;
    return code;
}

/* Newer cards may give the slowdown threshold only as a distance: temperature + margin, and the slowdown follows a few degrees
 * beyond (at a margin of -2, say). */
static int derive_slowdown(struct nvml *n, struct nvml_card *card, int64_t *limit)
{
    unsigned degrees = 0;
    int64_t margin = 0, beyond = 0;
    int code = n->lib.temperature ? n->lib.temperature(card->handle, 0, &degrees) : NVML_FUNCTION_NOT_FOUND;
    if (code == NVML_OK)
        code = ask_margin(n, card, 0, &margin);
    if (code == NVML_OK && field_read(n, card, NVML_FIELD_SLOWDOWN_TLIMIT, 0, &beyond) != NVML_OK)
        beyond = 0;
    *limit = ((int64_t)(int)degrees - beyond) * DEGREE + margin;
    return code;
}

static int ask_slowdown(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    unsigned degrees = 0;
    int code = n->lib.threshold ? n->lib.threshold(card->handle, kind, &degrees) : NVML_FUNCTION_NOT_FOUND;
    values[0] = (int64_t)degrees * DEGREE;
    bool told = code == NVML_OK && degrees > 0;
    return told || nvml_is_trouble(code) ? code : derive_slowdown(n, card, &values[0]);
}

static int ask_fan_target(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    if (card->fan_count == 0)
        return NVML_NOT_SUPPORTED;
    unsigned percent = 0;
    int code = n->lib.fan_target ? n->lib.fan_target(card->handle, 0, &percent) : NVML_FUNCTION_NOT_FOUND;
    values[0] = (int64_t)percent * 10;
    return code;
}

static int ask_platform(struct nvml *n, struct nvml_card *card, int kind, int64_t *values)
{
    (void)kind;
    struct nvml_platform_v1 platform = {.version = NVML_VERSION(struct nvml_platform_v1, 1)};
    int code = n->lib.platform ? n->lib.platform(card->handle, &platform) : NVML_FUNCTION_NOT_FOUND;
    /* Outside a rack with an identity the numbers are filler (an H200 in a VM says slot 0, host 1). */
    static const unsigned char nameless[sizeof platform.rack_guid];
    if (code == NVML_OK && memcmp(platform.rack_guid, nameless, sizeof nameless) == 0)
        return NVML_NOT_SUPPORTED;
    values[0] = platform.slot;
    values[1] = platform.tray;
    values[2] = platform.host;
    return code;
}

const struct nvml_query query_slow[] = {
    OWN("energy", ask_energy, 0, METRIC_energy_mj),

    OWN("ecc_total", ask_ecc_total, ECC_OF_CORRECTED, METRIC_ecc_corrected),
    OWN("ecc_total", ask_ecc_total, ECC_OF_UNCORRECTED, METRIC_ecc_uncorrected),
    OWN("ecc_total", ask_ecc_total, ECC_OF_CORRECTED_LIFE, METRIC_ecc_corrected_lifetime),
    OWN("ecc_total", ask_ecc_total, ECC_OF_UNCORRECTED_LIFE, METRIC_ecc_uncorrected_lifetime),
    OWN("ecc_location", ask_ecc_dram, ECC_OF_CORRECTED, METRIC_ecc_dram_corrected),
    OWN("ecc_location", ask_ecc_dram, ECC_OF_UNCORRECTED, METRIC_ecc_dram_uncorrected),
    OWN("ecc_location", ask_ecc_dram, ECC_OF_CORRECTED_LIFE, METRIC_ecc_dram_corrected_lifetime),
    OWN("ecc_location", ask_ecc_dram, ECC_OF_UNCORRECTED_LIFE, METRIC_ecc_dram_uncorrected_lifetime),
    OWN("ecc_sram", ask_ecc_sram, 0, METRIC_ecc_sram_corrected, METRIC_ecc_sram_parity, METRIC_ecc_sram_secded,
        METRIC_ecc_sram_corrected_lifetime, METRIC_ecc_sram_parity_lifetime, METRIC_ecc_sram_secded_lifetime,
        METRIC_ecc_sram_threshold, METRIC_ecc_sram_from_l2, METRIC_ecc_sram_from_sm, METRIC_ecc_sram_from_mcu,
        METRIC_ecc_sram_from_pcie, METRIC_ecc_sram_from_other),
    PAIR(ecc_mode, 1, METRIC_ecc_enabled, METRIC_ecc_pending),
    OWN("remapped_rows", ask_remapped_rows, 0, METRIC_remapped_rows_corrected, METRIC_remapped_rows_uncorrected,
        METRIC_remapped_rows_pending, METRIC_remapped_rows_failed),
    OWN("remap_histogram", ask_remap_histogram, 0, METRIC_remap_banks_max, METRIC_remap_banks_high, METRIC_remap_banks_partial,
        METRIC_remap_banks_low, METRIC_remap_banks_none),
    OWN("bank_remapper", ask_bank_remapper, 0, METRIC_bank_remap_active, METRIC_bank_remap_inactive, METRIC_bank_remap_pending,
        METRIC_bank_remap_groups_max, METRIC_bank_remap_groups_none),
    OWN("repair_status", ask_repairs, 0, METRIC_channel_repair_pending, METRIC_tpc_repair_pending),
    OWN("unrepairable", ask_unrepairable, 0, METRIC_unrepairable_memory),

    OWN("bar1", ask_bar1, 0, METRIC_bar1_total_bytes, METRIC_bar1_used_bytes),
    OWN("protected_memory", ask_protected, 0, METRIC_protected_total_bytes, METRIC_protected_used_bytes),
    OWN("dram_encryption", ask_dram_encryption, 0, METRIC_dram_encryption),
    OWN("encoder_stats", ask_encoder_stats, 0, METRIC_encoder_sessions, METRIC_encoder_fps, METRIC_encoder_latency_us),
    OWN("fbc_stats", ask_fbc_stats, 0, METRIC_capture_sessions, METRIC_capture_fps, METRIC_capture_latency_us),
    OWN("nvlink_state", ask_nvlinks, 0, METRIC_nvlink_links, METRIC_nvlink_links_active),
    OWN("nvlink_errors", ask_nvlink_errors, 0, METRIC_nvlink_errors, METRIC_nvlink_worst_link, METRIC_nvlink_replays,
        METRIC_nvlink_recoveries, METRIC_nvlink_crc_flit_errors, METRIC_nvlink_crc_data_errors),
    OWN("licenses", ask_license, 0, METRIC_vgpu_licensed),
    OWN("fabric", ask_fabric, 0, METRIC_fabric_ready, METRIC_fabric_clique),
    PLAIN(c2c_mode, 1, METRIC_c2c_enabled),

    PLAIN(display_active, 1, METRIC_display_active),
    PLAIN(persistence, 1, METRIC_persistence_mode),
    PLAIN(compute_mode, 1, METRIC_compute_mode),
    PLAIN(accounting, 1, METRIC_accounting_mode),
    OWN("power_mizer", ask_power_mizer, 0, METRIC_power_mizer),
    PLAIN(multi_gpu_board, 1, METRIC_multi_gpu_board),
    PLAIN(minor_number, 1, METRIC_device_minor),
    PLAIN(module_id, 1, METRIC_module_id),
    OWN("platform", ask_platform, 0, METRIC_platform_slot, METRIC_platform_tray, METRIC_platform_host),
    OWN("attributes", ask_attributes, 0, METRIC_compute_units),

    OWN("fan_count", ask_fan_count, 0, METRIC_fan_count),
    OWN("fan_target", ask_fan_target, 0, METRIC_fan_target_permille),
    OWN("margin", ask_margin, 0, METRIC_temp_margin_mdegc),
    OWN("threshold", ask_slowdown, NVML_THRESHOLD_SLOWDOWN, METRIC_temp_limit_mdegc),
    KIND(threshold, NVML_THRESHOLD_SHUTDOWN, DEGREE, METRIC_temp_shutdown_mdegc),
    KIND(threshold, NVML_THRESHOLD_GPU_MAX, DEGREE, METRIC_temp_max_operating_mdegc),
    KIND(threshold, NVML_THRESHOLD_MEM_MAX, DEGREE, METRIC_temp_memory_limit_mdegc),
    KIND(threshold, NVML_THRESHOLD_ACOUSTIC_CURRENT, DEGREE, METRIC_temp_target_mdegc),

    PLAIN(power_limit_default, 1, METRIC_power_limit_default_mw),
    PAIR(power_limit_range, 1, METRIC_power_limit_min_mw, METRIC_power_limit_max_mw),
    KIND(clock_max, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_graphics_max_khz),
    KIND(clock_max, NVML_CLOCK_SM, MHZ, METRIC_clock_sm_max_khz),
    KIND(clock_max, NVML_CLOCK_MEM, MHZ, METRIC_clock_memory_max_khz),
    KIND(clock_max, NVML_CLOCK_VIDEO, MHZ, METRIC_clock_video_max_khz),
    KIND(clock_boost_max, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_boost_max_khz),
    KIND(clock_app, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_app_graphics_khz),
    KIND(clock_app, NVML_CLOCK_MEM, MHZ, METRIC_clock_app_memory_khz),
    KIND(clock_app_default, NVML_CLOCK_GRAPHICS, MHZ, METRIC_clock_app_graphics_default_khz),
    KIND(clock_app_default, NVML_CLOCK_MEM, MHZ, METRIC_clock_app_memory_default_khz),
    PLAIN(pcie_generation, 1, METRIC_pcie_generation),
    PLAIN(pcie_width, 1, METRIC_pcie_width),
    PLAIN(pcie_generation_max, 1, METRIC_pcie_generation_max),
    PLAIN(pcie_generation_card, 1, METRIC_pcie_generation_card_max),
    PLAIN(pcie_width_max, 1, METRIC_pcie_width_max),
    PLAIN(pcie_replays, 1, METRIC_pcie_replays),
    PLAIN(power_limit_set, 1, METRIC_power_limit_requested_mw),
};
static_assert(ARRAY_LEN(query_slow) <= NVML_SLOW_MAX, "more queries than a GPU has room for");
const size_t query_slow_count = ARRAY_LEN(query_slow);
