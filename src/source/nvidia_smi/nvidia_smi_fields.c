/* SPDX-License-Identifier: Apache-2.0
 * The two tables of nvidia-smi's names. A new metric is one line in each.
 */
#include "source/nvidia_smi/nvidia_smi_report.h"

#include "base/cleanup.h"

#define M(csv, old, metric, cell)                                      \
    {                                                                  \
        csv, old, FIELD_METRIC, METRIC_##metric, CELL_##cell, false, 0 \
    }
#define ADD(csv, old, metric, cell)                                   \
    {                                                                 \
        csv, old, FIELD_METRIC, METRIC_##metric, CELL_##cell, true, 0 \
    }
#define P(csv, old, property, cell)                                          \
    {                                                                        \
        csv, old, FIELD_PROPERTY, PROPERTY_##property, CELL_##cell, false, 0 \
    }
#define ID(csv, old, what)                             \
    {                                                  \
        csv, old, FIELD_##what, 0, CELL_TEXT, false, 0 \
    }
#define MARGIN(xml, metric)                                              \
    {                                                                    \
        xml, NULL, FIELD_MARGIN, METRIC_##metric, CELL_CELSIUS, false, 0 \
    }
#define BIT(bit, ...)                                                         \
    {                                                                         \
        __VA_ARGS__, FIELD_METRIC, METRIC_throttle_bits, CELL_BOOL, true, bit \
    }

/* clang-format off */
const struct smi_field smi_columns[] = {
    ID("index", NULL, INDEX),
    ID("name", "gpu_name", NAME),
    M("temperature.gpu", NULL, temp_mdegc, CELSIUS),
    M("power.draw", NULL, power_mw, WATT),
    M("memory.used", NULL, mem_used_bytes, MIB),
    M("memory.total", NULL, mem_total_bytes, MIB),
    M("utilization.gpu", NULL, util_permille, PERCENT),
    M("utilization.memory", NULL, mem_util_permille, PERCENT),
    /* Beyond the eight columns always queried: if the driver knows them. */
    ID("uuid", "gpu_uuid", UUID),
    ID("pci.bus_id", "gpu_bus_id", PCI),
    M("memory.free", NULL, mem_free_bytes, MIB),
    M("memory.reserved", NULL, mem_reserved_bytes, MIB),
    M("utilization.encoder", NULL, encoder_permille, PERCENT),
    M("utilization.decoder", NULL, decoder_permille, PERCENT),
    M("utilization.jpeg", NULL, jpeg_permille, PERCENT),
    M("utilization.ofa", NULL, ofa_permille, PERCENT),
    M("temperature.memory", NULL, temp_memory_mdegc, CELSIUS),
    M("temperature.gpu.tlimit", NULL, temp_margin_mdegc, CELSIUS),
    M("fan.speed", NULL, fan_permille, FAN),
    M("enforced.power.limit", NULL, power_limit_mw, WATT),
    M("pstate", NULL, pstate, PSTATE),
    M("clocks.current.graphics", "clocks.gr", clock_graphics_khz, MHZ),
    M("clocks.current.sm", "clocks.sm", clock_sm_khz, MHZ),
    M("clocks.current.memory", "clocks.mem", clock_memory_khz, MHZ),
    M("clocks.current.video", "clocks.video", clock_video_khz, MHZ),
    M("clocks_event_reasons.active", "clocks_throttle_reasons.active", throttle_bits, THROTTLE),
    M("pcie.link.gen.current", NULL, pcie_generation, COUNT),
    M("pcie.link.width.current", NULL, pcie_width, LANES),
    /* slow */
    M("power.draw.instant", NULL, power_instant_mw, WATT),
    M("module.power.draw.average", NULL, power_module_mw, WATT),
    M("power.limit", NULL, power_limit_requested_mw, WATT),
    M("clocks_event_reasons_counters.sw_power_cap", NULL, throttle_power_us, MICROSECONDS),
    M("clocks_event_reasons_counters.sw_thermal_slowdown", NULL, throttle_thermal_us, MICROSECONDS),
    M("ecc.mode.current", NULL, ecc_enabled, BOOL),
    M("ecc.errors.corrected.volatile.total", NULL, ecc_corrected, COUNT),
    M("ecc.errors.uncorrected.volatile.total", NULL, ecc_uncorrected, COUNT),
    M("ecc.errors.corrected.aggregate.total", NULL, ecc_corrected_lifetime, COUNT),
    M("ecc.errors.uncorrected.aggregate.total", NULL, ecc_uncorrected_lifetime, COUNT),
    M("retired_pages.single_bit_ecc.count", NULL, retired_pages_sbe, COUNT),
    M("retired_pages.double_bit.count", NULL, retired_pages_dbe, COUNT),
    M("retired_pages.pending", NULL, retired_pages_pending, BOOL),
    M("remapped_rows.correctable", NULL, remapped_rows_corrected, COUNT),
    M("remapped_rows.uncorrectable", NULL, remapped_rows_uncorrected, COUNT),
    M("remapped_rows.pending", NULL, remapped_rows_pending, BOOL),
    M("remapped_rows.failure", NULL, remapped_rows_failed, BOOL),
    M("gpu_recovery_action", NULL, recovery_action, RECOVERY),
    M("mig.mode.current", NULL, mig_enabled, BOOL),
    M("display_active", NULL, display_active, BOOL),
    M("encoder.stats.sessionCount", NULL, encoder_sessions, COUNT),
    /* static */
    M("power.default_limit", NULL, power_limit_default_mw, WATT),
    M("power.min_limit", NULL, power_limit_min_mw, WATT),
    M("power.max_limit", NULL, power_limit_max_mw, WATT),
    M("clocks.max.graphics", "clocks.max.gr", clock_graphics_max_khz, MHZ),
    M("clocks.max.sm", NULL, clock_sm_max_khz, MHZ),
    M("clocks.max.memory", "clocks.max.mem", clock_memory_max_khz, MHZ),
    M("pcie.link.gen.max", NULL, pcie_generation_max, COUNT),
    M("pcie.link.width.max", NULL, pcie_width_max, LANES),
    M("persistence_mode", NULL, persistence_mode, BOOL),
    M("compute_mode", NULL, compute_mode, COMPUTE_MODE),
    P("driver_version", NULL, driver_version, TEXT),
    P("serial", "gpu_serial", serial, TEXT),
    P("vbios_version", NULL, vbios_version, TEXT),
    P("compute_cap", NULL, compute_capability, TEXT),
    P("pci.device_id", NULL, pci_device_id, PCI_ID),
    P("pci.sub_device_id", NULL, pci_subsystem_id, PCI_ID),
};
const size_t smi_column_count = ARRAY_LEN(smi_columns);
_Static_assert(ARRAY_LEN(smi_columns) <= COLUMN_COUNT_MAX, "the set of columns has room for all");

#define REASON(rest) "clocks_event_reasons/clocks_event_reason_" rest, "clocks_throttle_reasons/clocks_throttle_reason_" rest

const struct smi_field smi_elements[] = {
    ID("product_name", NULL, NAME),
    ID("uuid", NULL, UUID),
    ID("pci/pci_bus_id", NULL, PCI),
    M("fan_speed", NULL, fan_permille, FAN),
    M("performance_state", NULL, pstate, PSTATE),
    M("fb_memory_usage/total", "memory_usage/total", mem_total_bytes, MIB),
    M("fb_memory_usage/used", "memory_usage/used", mem_used_bytes, MIB),
    M("fb_memory_usage/free", "memory_usage/free", mem_free_bytes, MIB),
    M("fb_memory_usage/reserved", NULL, mem_reserved_bytes, MIB),
    M("bar1_memory_usage/total", NULL, bar1_total_bytes, MIB),
    M("bar1_memory_usage/used", NULL, bar1_used_bytes, MIB),
    M("utilization/gpu_util", NULL, util_permille, PERCENT),
    M("utilization/memory_util", NULL, mem_util_permille, PERCENT),
    M("utilization/encoder_util", NULL, encoder_permille, PERCENT),
    M("utilization/decoder_util", NULL, decoder_permille, PERCENT),
    M("utilization/jpeg_util", NULL, jpeg_permille, PERCENT),
    M("utilization/ofa_util", NULL, ofa_permille, PERCENT),
    M("temperature/gpu_temp", NULL, temp_mdegc, CELSIUS),
    M("temperature/gpu_temp_tlimit", NULL, temp_margin_mdegc, CELSIUS),
    M("temperature/memory_temp", NULL, temp_memory_mdegc, CELSIUS),
    M("temperature/gpu_temp_slow_threshold", NULL, temp_limit_mdegc, CELSIUS),
    M("temperature/gpu_temp_max_threshold", NULL, temp_shutdown_mdegc, CELSIUS),
    M("temperature/gpu_temp_max_gpu_threshold", NULL, temp_max_operating_mdegc, CELSIUS),
    M("temperature/gpu_temp_max_mem_threshold", NULL, temp_memory_limit_mdegc, CELSIUS),
    M("temperature/gpu_target_temperature", NULL, temp_target_mdegc, CELSIUS),
    MARGIN("temperature/gpu_temp_slow_tlimit_threshold", temp_limit_mdegc),
    MARGIN("temperature/gpu_temp_max_tlimit_threshold", temp_shutdown_mdegc),
    MARGIN("temperature/gpu_temp_max_gpu_tlimit_threshold", temp_max_operating_mdegc),
    M("power_readings/power_draw", "gpu_power_readings/power_draw", power_mw, WATT),
    M("gpu_power_readings/average_power_draw", NULL, power_mw, WATT),
    M("gpu_power_readings/instant_power_draw", NULL, power_instant_mw, WATT),
    M("power_readings/enforced_power_limit", "gpu_power_readings/current_power_limit", power_limit_mw, WATT),
    M("power_readings/power_limit", "gpu_power_readings/requested_power_limit", power_limit_requested_mw, WATT),
    M("power_readings/default_power_limit", "gpu_power_readings/default_power_limit", power_limit_default_mw, WATT),
    M("power_readings/min_power_limit", "gpu_power_readings/min_power_limit", power_limit_min_mw, WATT),
    M("power_readings/max_power_limit", "gpu_power_readings/max_power_limit", power_limit_max_mw, WATT),
    M("gpu_memory_power_readings/average_power_draw", NULL, power_memory_mw, WATT),
    M("module_power_readings/average_power_draw", "module_power_readings/power_draw", power_module_mw, WATT),
    M("voltage/graphics_volt", NULL, voltage_mv, MILLIVOLT),
    M("clocks/graphics_clock", NULL, clock_graphics_khz, MHZ),
    M("clocks/sm_clock", NULL, clock_sm_khz, MHZ),
    M("clocks/mem_clock", NULL, clock_memory_khz, MHZ),
    M("clocks/video_clock", NULL, clock_video_khz, MHZ),
    M("max_clocks/graphics_clock", NULL, clock_graphics_max_khz, MHZ),
    M("max_clocks/sm_clock", NULL, clock_sm_max_khz, MHZ),
    M("max_clocks/mem_clock", NULL, clock_memory_max_khz, MHZ),
    M("max_clocks/video_clock", NULL, clock_video_max_khz, MHZ),
    BIT(THROTTLE_IDLE, REASON("gpu_idle")),
    BIT(THROTTLE_APP_CLOCKS, REASON("applications_clocks_setting")),
    BIT(THROTTLE_POWER_CAP, REASON("sw_power_cap")),
    BIT(THROTTLE_HW_SLOWDOWN, REASON("hw_slowdown")),
    BIT(THROTTLE_SYNC_BOOST, REASON("sync_boost")),
    BIT(THROTTLE_SW_THERMAL, REASON("sw_thermal_slowdown")),
    BIT(THROTTLE_HW_THERMAL, REASON("hw_thermal_slowdown")),
    BIT(THROTTLE_POWER_BRAKE, REASON("hw_power_brake_slowdown")),
    BIT(THROTTLE_DISPLAY, REASON("display_clocks_setting")),
    M("clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap", NULL, throttle_power_us, MICROSECONDS),
    M("clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown", NULL, throttle_thermal_us, MICROSECONDS),
    M("clocks_event_reasons_counters/clocks_event_reasons_counters_sync_boost", NULL, throttle_sync_boost_us, MICROSECONDS),
    M("pci/pci_gpu_link_info/pcie_gen/current_link_gen", NULL, pcie_generation, COUNT),
    M("pci/pci_gpu_link_info/pcie_gen/max_link_gen", NULL, pcie_generation_max, COUNT),
    M("pci/pci_gpu_link_info/link_widths/current_link_width", NULL, pcie_width, LANES),
    M("pci/pci_gpu_link_info/link_widths/max_link_width", NULL, pcie_width_max, LANES),
    M("pci/replay_counter", NULL, pcie_replays, COUNT),
    M("pci/rx_util", NULL, pcie_rx_bytes_per_s, KB_PER_S),
    M("pci/tx_util", NULL, pcie_tx_bytes_per_s, KB_PER_S),
    M("ecc_mode/current_ecc", NULL, ecc_enabled, BOOL),
    ADD("ecc_errors/volatile/sram_correctable", NULL, ecc_corrected, COUNT),
    ADD("ecc_errors/volatile/dram_correctable", NULL, ecc_corrected, COUNT),
    ADD("ecc_errors/volatile/sram_uncorrectable", NULL, ecc_uncorrected, COUNT),
    ADD("ecc_errors/volatile/sram_uncorrectable_parity", NULL, ecc_uncorrected, COUNT),
    ADD("ecc_errors/volatile/sram_uncorrectable_secded", NULL, ecc_uncorrected, COUNT),
    ADD("ecc_errors/volatile/dram_uncorrectable", NULL, ecc_uncorrected, COUNT),
    ADD("ecc_errors/aggregate/sram_correctable", NULL, ecc_corrected_lifetime, COUNT),
    ADD("ecc_errors/aggregate/dram_correctable", NULL, ecc_corrected_lifetime, COUNT),
    ADD("ecc_errors/aggregate/sram_uncorrectable", NULL, ecc_uncorrected_lifetime, COUNT),
    ADD("ecc_errors/aggregate/sram_uncorrectable_parity", NULL, ecc_uncorrected_lifetime, COUNT),
    ADD("ecc_errors/aggregate/sram_uncorrectable_secded", NULL, ecc_uncorrected_lifetime, COUNT),
    ADD("ecc_errors/aggregate/dram_uncorrectable", NULL, ecc_uncorrected_lifetime, COUNT),
    M("ecc_errors/volatile/single_bit/total", NULL, ecc_corrected, COUNT),
    M("ecc_errors/volatile/double_bit/total", NULL, ecc_uncorrected, COUNT),
    M("ecc_errors/aggregate/single_bit/total", NULL, ecc_corrected_lifetime, COUNT),
    M("ecc_errors/aggregate/double_bit/total", NULL, ecc_uncorrected_lifetime, COUNT),
    M("retired_pages/multiple_single_bit_retirement/retired_count", NULL, retired_pages_sbe, COUNT),
    M("retired_pages/double_bit_retirement/retired_count", NULL, retired_pages_dbe, COUNT),
    M("retired_pages/pending_retirement", NULL, retired_pages_pending, BOOL),
    M("remapped_rows/remapped_row_corr", NULL, remapped_rows_corrected, COUNT),
    M("remapped_rows/remapped_row_unc", NULL, remapped_rows_uncorrected, COUNT),
    M("remapped_rows/remapped_row_pending", NULL, remapped_rows_pending, BOOL),
    M("remapped_rows/remapped_row_failure", NULL, remapped_rows_failed, BOOL),
    M("gpu_recovery_action", NULL, recovery_action, RECOVERY),
    M("mig_mode/current_mig", NULL, mig_enabled, BOOL),
    M("display_active", NULL, display_active, BOOL),
    M("encoder_stats/session_count", NULL, encoder_sessions, COUNT),
    M("persistence_mode", NULL, persistence_mode, BOOL),
    M("compute_mode", NULL, compute_mode, COMPUTE_MODE),
    M("cc_protected_memory_usage/total", NULL, protected_total_bytes, MIB),
    M("cc_protected_memory_usage/used", NULL, protected_used_bytes, MIB),
    M("module_power_readings/current_power_limit", NULL, power_module_limit_mw, WATT),
    M("max_customer_boost_clocks/graphics_clock", NULL, clock_boost_max_khz, MHZ),
    M("applications_clocks/graphics_clock", NULL, clock_app_graphics_khz, MHZ),
    M("applications_clocks/mem_clock", NULL, clock_app_memory_khz, MHZ),
    M("default_applications_clocks/graphics_clock", NULL, clock_app_graphics_default_khz, MHZ),
    M("default_applications_clocks/mem_clock", NULL, clock_app_memory_default_khz, MHZ),
    M("pci/pci_gpu_link_info/pcie_gen/max_device_link_gen", NULL, pcie_generation_card_max, COUNT),
    M("pci/replay_rollover_counter", NULL, pcie_replay_rollovers, COUNT),
    M("c2c_mode", NULL, c2c_enabled, BOOL),
    M("fabric/state", NULL, fabric_ready, BOOL),
    M("fabric/cliqueId", NULL, fabric_clique, COUNT),
    M("ecc_mode/pending_ecc", NULL, ecc_pending, BOOL),
    M("ecc_errors/volatile/dram_correctable", NULL, ecc_dram_corrected, COUNT),
    M("ecc_errors/volatile/dram_uncorrectable", NULL, ecc_dram_uncorrected, COUNT),
    M("ecc_errors/volatile/sram_correctable", NULL, ecc_sram_corrected, COUNT),
    M("ecc_errors/volatile/sram_uncorrectable_parity", NULL, ecc_sram_parity, COUNT),
    M("ecc_errors/volatile/sram_uncorrectable_secded", NULL, ecc_sram_secded, COUNT),
    M("ecc_errors/aggregate/dram_correctable", NULL, ecc_dram_corrected_lifetime, COUNT),
    M("ecc_errors/aggregate/dram_uncorrectable", NULL, ecc_dram_uncorrected_lifetime, COUNT),
    M("ecc_errors/aggregate/sram_correctable", NULL, ecc_sram_corrected_lifetime, COUNT),
    M("ecc_errors/aggregate/sram_uncorrectable_parity", NULL, ecc_sram_parity_lifetime, COUNT),
    M("ecc_errors/aggregate/sram_uncorrectable_secded", NULL, ecc_sram_secded_lifetime, COUNT),
    M("ecc_errors/aggregate/sram_threshold_exceeded", NULL, ecc_sram_threshold, BOOL),
    M("ecc_errors/aggregate_uncorrectable_sram_sources/sram_l2", NULL, ecc_sram_from_l2, COUNT),
    M("ecc_errors/aggregate_uncorrectable_sram_sources/sram_sm", NULL, ecc_sram_from_sm, COUNT),
    M("ecc_errors/aggregate_uncorrectable_sram_sources/sram_microcontroller", NULL, ecc_sram_from_mcu, COUNT),
    M("ecc_errors/aggregate_uncorrectable_sram_sources/sram_pcie", NULL, ecc_sram_from_pcie, COUNT),
    M("ecc_errors/aggregate_uncorrectable_sram_sources/sram_other", NULL, ecc_sram_from_other, COUNT),
    M("ecc_errors/channel_repair_pending", NULL, channel_repair_pending, BOOL),
    M("ecc_errors/tpc_repair_pending", NULL, tpc_repair_pending, BOOL),
    M("ecc_errors/unrepairable_memory", NULL, unrepairable_memory, BOOL),
    M("remapped_rows/row_remapper_histogram/row_remapper_histogram_max", NULL, remap_banks_max, COUNT),
    M("remapped_rows/row_remapper_histogram/row_remapper_histogram_high", NULL, remap_banks_high, COUNT),
    M("remapped_rows/row_remapper_histogram/row_remapper_histogram_partial", NULL, remap_banks_partial, COUNT),
    M("remapped_rows/row_remapper_histogram/row_remapper_histogram_low", NULL, remap_banks_low, COUNT),
    M("remapped_rows/row_remapper_histogram/row_remapper_histogram_none", NULL, remap_banks_none, COUNT),
    M("mig_mode/pending_mig", NULL, mig_pending, BOOL),
    M("encoder_stats/average_fps", NULL, encoder_fps, COUNT),
    M("encoder_stats/average_latency", NULL, encoder_latency_us, MICROSECONDS),
    M("fbc_stats/session_count", NULL, capture_sessions, COUNT),
    M("fbc_stats/average_fps", NULL, capture_fps, COUNT),
    M("fbc_stats/average_latency", NULL, capture_latency_us, MICROSECONDS),
    M("accounting_mode", NULL, accounting_mode, BOOL),
    M("dram_encryption_mode/current_dram_encryption", NULL, dram_encryption, BOOL),
    M("multigpu_board", NULL, multi_gpu_board, BOOL),
    M("minor_number", NULL, device_minor, COUNT),
    M("gpu_module_id", "platformInfo/module_id", module_id, COUNT),
    M("platformInfo/slot_number", NULL, platform_slot, COUNT),
    M("platformInfo/tray_index", NULL, platform_tray, COUNT),
    M("platformInfo/host_id", NULL, platform_host, COUNT),
    P("product_architecture", NULL, architecture, TEXT),
    P("product_brand", NULL, brand, TEXT),
    P("serial", NULL, serial, TEXT),
    P("vbios_version", NULL, vbios_version, TEXT),
    P("board_part_number", NULL, part_number, TEXT),
    P("gsp_firmware_version", NULL, gsp_firmware, TEXT),
    P("gpu_virtualization_mode/virtualization_mode", NULL, virtualization, WORD),
    P("addressing_mode", NULL, addressing_mode, WORD),
    P("board_id", NULL, board_id, TEXT),
    P("inforom_version/img_version", NULL, inforom_version, TEXT),
    P("pci/pci_device_id", NULL, pci_device_id, PCI_ID),
    P("pci/pci_sub_system_id", NULL, pci_subsystem_id, PCI_ID),
};
/* clang-format on */
const size_t smi_element_count = ARRAY_LEN(smi_elements);

unsigned smi_field_groups(const struct smi_field *field)
{
    switch (field->target) {
    case FIELD_METRIC:
    case FIELD_MARGIN: return metric_table[field->id].group;
    case FIELD_PROPERTY: return GROUP_STATIC;
    default: return GROUP_ALL;
    }
}

static const struct smi_field *fields_find(const struct smi_field *table, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, table[i].name) || (table[i].old_name && str_is(name, table[i].old_name)))
            return &table[i];
    return NULL;
}

const struct smi_field *smi_column_find(struct str name)
{
    name = str_trim(name);
    const char *unit = name.len ? memchr(name.at, '[', name.len) : NULL;
    if (unit)
        name = str_trim((struct str){name.at, (size_t)(unit - name.at)});
    return fields_find(smi_columns, smi_column_count, name);
}

const struct smi_field *smi_element_find(struct str path, const struct smi_field *after)
{
    size_t start = after ? (size_t)(after + 1 - smi_elements) : 0;
    return fields_find(smi_elements + start, smi_element_count - start, path);
}
