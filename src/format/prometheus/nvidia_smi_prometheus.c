/* SPDX-License-Identifier: Apache-2.0
 * The set "nvidia_smi": our readings under the names and labels that dashboards for nvidia_gpu_exporter expect. Its process series
 * contain PIDs; don't choose this set to avoid them.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "format/prometheus/prometheus.h"
#include "insight/verdict/health.h"

static const struct prometheus_alias table[] = {
    {"nvidia_smi_utilization_gpu_ratio", "gauge", METRIC_util_permille, 1e-3, "utilization.gpu"},
    {"nvidia_smi_utilization_memory_ratio", "gauge", METRIC_mem_util_permille, 1e-3, "utilization.memory"},
    {"nvidia_smi_utilization_encoder_ratio", "gauge", METRIC_encoder_permille, 1e-3, "utilization.encoder"},
    {"nvidia_smi_utilization_decoder_ratio", "gauge", METRIC_decoder_permille, 1e-3, "utilization.decoder"},
    {"nvidia_smi_memory_total_bytes", "gauge", METRIC_mem_total_bytes, 1, "memory.total"},
    {"nvidia_smi_memory_used_bytes", "gauge", METRIC_mem_used_bytes, 1, "memory.used"},
    {"nvidia_smi_memory_free_bytes", "gauge", METRIC_mem_free_bytes, 1, "memory.free"},
    {"nvidia_smi_memory_reserved_bytes", "gauge", METRIC_mem_reserved_bytes, 1, "memory.reserved"},
    {"nvidia_smi_temperature_gpu", "gauge", METRIC_temp_mdegc, 1e-3, "temperature.gpu"},
    {"nvidia_smi_temperature_memory", "gauge", METRIC_temp_memory_mdegc, 1e-3, "temperature.memory"},
    {"nvidia_smi_power_draw_watts", "gauge", METRIC_power_mw, 1e-3, "power.draw"},
    {"nvidia_smi_power_draw_instant_watts", "gauge", METRIC_power_instant_mw, 1e-3, "power.draw.instant"},
    {"nvidia_smi_power_draw_average_watts", "gauge", METRIC_power_average_mw, 1e-3, "power.draw.average"},
    {"nvidia_smi_enforced_power_limit_watts", "gauge", METRIC_power_limit_mw, 1e-3, "enforced.power.limit"},
    {"nvidia_smi_power_limit_watts", "gauge", METRIC_power_limit_requested_mw, 1e-3, "power.limit"},
    {"nvidia_smi_power_default_limit_watts", "gauge", METRIC_power_limit_default_mw, 1e-3, "power.default_limit"},
    {"nvidia_smi_power_min_limit_watts", "gauge", METRIC_power_limit_min_mw, 1e-3, "power.min_limit"},
    {"nvidia_smi_power_max_limit_watts", "gauge", METRIC_power_limit_max_mw, 1e-3, "power.max_limit"},
    {"nvidia_smi_fan_speed_ratio", "gauge", METRIC_fan_permille, 1e-3, "fan.speed"},
    {"nvidia_smi_pstate", "gauge", METRIC_pstate, 1, "pstate"},
    {"nvidia_smi_compute_mode", "gauge", METRIC_compute_mode, 1, "compute_mode"},
    {"nvidia_smi_clocks_current_graphics_clock_hz", "gauge", METRIC_clock_graphics_khz, 1e3, "clocks.current.graphics"},
    {"nvidia_smi_clocks_current_sm_clock_hz", "gauge", METRIC_clock_sm_khz, 1e3, "clocks.current.sm"},
    {"nvidia_smi_clocks_current_memory_clock_hz", "gauge", METRIC_clock_memory_khz, 1e3, "clocks.current.memory"},
    {"nvidia_smi_clocks_current_video_clock_hz", "gauge", METRIC_clock_video_khz, 1e3, "clocks.current.video"},
    {"nvidia_smi_clocks_max_graphics_clock_hz", "gauge", METRIC_clock_graphics_max_khz, 1e3, "clocks.max.graphics"},
    {"nvidia_smi_clocks_max_sm_clock_hz", "gauge", METRIC_clock_sm_max_khz, 1e3, "clocks.max.sm"},
    {"nvidia_smi_clocks_max_memory_clock_hz", "gauge", METRIC_clock_memory_max_khz, 1e3, "clocks.max.memory"},
    {"nvidia_smi_pcie_link_gen_current", "gauge", METRIC_pcie_generation, 1, "pcie.link.gen.current"},
    {"nvidia_smi_pcie_link_gen_max", "gauge", METRIC_pcie_generation_max, 1, "pcie.link.gen.max"},
    {"nvidia_smi_pcie_link_width_current", "gauge", METRIC_pcie_width, 1, "pcie.link.width.current"},
    {"nvidia_smi_pcie_link_width_max", "gauge", METRIC_pcie_width_max, 1, "pcie.link.width.max"},
    {"nvidia_smi_pcie_throughput_tx_bytes_per_second", "gauge", METRIC_pcie_tx_bytes_per_s, 1, "PCIe traffic from the GPU"},
    {"nvidia_smi_pcie_throughput_rx_bytes_per_second", "gauge", METRIC_pcie_rx_bytes_per_s, 1, "PCIe traffic to the GPU"},
    {"nvidia_smi_energy_joules_total", "counter", METRIC_energy_mj, 1e-3, "Energy since the driver was loaded"},
    {"nvidia_smi_ecc_errors_corrected_volatile_total", "counter", METRIC_ecc_corrected, 1, "ecc.errors.corrected.volatile.total"},
    {"nvidia_smi_ecc_errors_uncorrected_volatile_total", "counter", METRIC_ecc_uncorrected, 1,
     "ecc.errors.uncorrected.volatile.total"},
    {"nvidia_smi_ecc_errors_corrected_aggregate_total", "counter", METRIC_ecc_corrected_lifetime, 1,
     "ecc.errors.corrected.aggregate.total"},
    {"nvidia_smi_ecc_errors_uncorrected_aggregate_total", "counter", METRIC_ecc_uncorrected_lifetime, 1,
     "ecc.errors.uncorrected.aggregate.total"},
    {"nvidia_smi_remapped_rows_correctable", "gauge", METRIC_remapped_rows_corrected, 1, "remapped_rows.correctable"},
    {"nvidia_smi_remapped_rows_uncorrectable", "gauge", METRIC_remapped_rows_uncorrected, 1, "remapped_rows.uncorrectable"},
    {"nvidia_smi_remapped_rows_pending", "gauge", METRIC_remapped_rows_pending, 1, "remapped_rows.pending"},
    {"nvidia_smi_remapped_rows_failure", "gauge", METRIC_remapped_rows_failed, 1, "remapped_rows.failure"},
    {"nvidia_smi_gpu_recovery_action", "gauge", METRIC_recovery_action, 1, "gpu_recovery_action"},
};

static const struct {
    const char *name;
    enum throttle bit;
} reasons[] = {
    {"nvidia_smi_clocks_event_reasons_gpu_idle", THROTTLE_IDLE},
    {"nvidia_smi_clocks_event_reasons_applications_clocks_setting", THROTTLE_APP_CLOCKS},
    {"nvidia_smi_clocks_event_reasons_sw_power_cap", THROTTLE_POWER_CAP},
    {"nvidia_smi_clocks_event_reasons_hw_slowdown", THROTTLE_HW_SLOWDOWN},
    {"nvidia_smi_clocks_event_reasons_hw_thermal_slowdown", THROTTLE_HW_THERMAL},
    {"nvidia_smi_clocks_event_reasons_hw_power_brake_slowdown", THROTTLE_POWER_BRAKE},
    {"nvidia_smi_clocks_event_reasons_sw_thermal_slowdown", THROTTLE_SW_THERMAL},
    {"nvidia_smi_clocks_event_reasons_sync_boost", THROTTLE_SYNC_BOOST},
};

/* nvidia_gpu_exporter's numbers for the fabric state (0 not supported, 1 not started, 2 in progress, 3 completed). */
enum { FABRIC_NOT_STARTED = 1, FABRIC_COMPLETED = 3 };

static void uuid_label(struct buf *out, const struct gpu_id *id)
{
    struct str uuid = str_from(gpu_id_key(id));
    if (str_starts(uuid, "GPU-"))
        uuid = (struct str){uuid.at + 4, uuid.len - 4};
    prometheus_label(out, true, "uuid", uuid.at);
}

static void nvidia_smi_begin(struct buf *out, const char *name, const struct gpu_id *id)
{
    buf_text(out, name);
    buf_char(out, '{');
    uuid_label(out, id);
}

static void readings(struct buf *out, const struct snapshot *s, const struct prometheus_alias *row)
{
    bool headed = false;
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (gpu->metric[row->metric].state != READING_OK)
            continue;
        prometheus_head_once(out, &headed, row->name, row->type, row->help);
        nvidia_smi_begin(out, row->name, &gpu->id);
        prometheus_end(out, (double)gpu->metric[row->metric].value * row->scale);
    }
}

static void identity(struct buf *out, const struct snapshot *s)
{
    prometheus_head(out, "nvidia_smi_gpu_info", "gauge", "What is known about the GPU, in labels");
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        char index[16];
        snprintf(index, sizeof index, "%d", gpu->index);
        nvidia_smi_begin(out, "nvidia_smi_gpu_info", &gpu->id);
        prometheus_label(out, false, "name", gpu->id.name);
        prometheus_label(out, false, "index", index);
        prometheus_label(out, false, "pci_bus_id", gpu->id.pci_address);
        prometheus_label(out, false, "driver_version", gpu->driver_version.value);
        prometheus_label(out, false, "vbios_version", gpu->vbios_version.value);
        prometheus_end(out, 1);
    }
    prometheus_head(out, "nvidia_smi_index", "gauge", "index");
    for (size_t i = 0; i < s->gpu_count; i++) {
        nvidia_smi_begin(out, "nvidia_smi_index", &s->gpus[i].id);
        prometheus_end(out, s->gpus[i].index);
    }
}

static void throttling(struct buf *out, const struct snapshot *s)
{
    for (size_t r = 0; r < ARRAY_LEN(reasons); r++) {
        bool headed = false;
        for (size_t i = 0; i < s->gpu_count; i++) {
            int64_t bits;
            if (!reading_get(s->gpus[i].throttle_bits, &bits))
                continue;
            prometheus_head_once(out, &headed, reasons[r].name, "gauge", "1 while the clocks are lowered for this reason");
            nvidia_smi_begin(out, reasons[r].name, &s->gpus[i].id);
            prometheus_end(out, (bits & reasons[r].bit) != 0);
        }
    }
}

static void fabric(struct buf *out, const struct snapshot *s)
{
    bool headed = false;
    for (size_t i = 0; i < s->gpu_count; i++) {
        int64_t ready;
        if (!reading_get(s->gpus[i].fabric_ready, &ready))
            continue;
        prometheus_head_once(out, &headed, "nvidia_smi_fabric_state", "gauge", "1 not started, 3 completed");
        nvidia_smi_begin(out, "nvidia_smi_fabric_state", &s->gpus[i].id);
        prometheus_end(out, ready ? FABRIC_COMPLETED : FABRIC_NOT_STARTED);
    }
}

static void apps(struct buf *out, const struct snapshot *s, const char *name, const char *help, bool memory)
{
    bool headed = false;
    for (size_t i = 0; i < s->gpu_count; i++)
        for (size_t k = 0; k < s->gpus[i].process_count; k++) {
            const struct process *p = &s->gpus[i].processes[k];
            char pid[16];
            if (!(p->type & PROCESS_COMPUTE) || (memory && p->mem_bytes.state != READING_OK))
                continue;
            prometheus_head_once(out, &headed, name, "gauge", help);
            snprintf(pid, sizeof pid, "%d", (int)p->pid);
            nvidia_smi_begin(out, name, &s->gpus[i].id);
            prometheus_label(out, false, "pid", pid);
            prometheus_label(out, false, "process_name", p->name);
            prometheus_end(out, memory ? (double)p->mem_bytes.value : 1);
        }
}

static void collected(struct buf *out, const struct snapshot *s)
{
    bool all = true;
    for (size_t i = 0; i < s->gpu_count; i++)
        all &= s->gpus[i].processes_state == READING_OK || s->gpus[i].state == GPU_ASLEEP;
    prometheus_plain(out, "nvidia_smi_compute_apps_last_collect_success", "gauge", "1 while the processes of all GPUs are known",
                     all);
}

static void xids(struct buf *out, const struct health *health, bool when)
{
    const char *name = when ? "nvidia_smi_xid_last_timestamp_seconds" : "nvidia_smi_xid_errors_total";
    bool headed = false;
    for (size_t i = 0; health && i < health->count; i++)
        for (size_t k = 0; k < health->verdicts[i].xid_count; k++) {
            const struct health_xid *xid = &health->verdicts[i].xids[k];
            char code[16];
            prometheus_head_once(out, &headed, name, when ? "gauge" : "counter", when ? "When this XID came last" : "XIDs by code");
            snprintf(code, sizeof code, "%d", (int)xid->code);
            nvidia_smi_begin(out, name, &health->verdicts[i].id);
            prometheus_label(out, false, "xid", code);
            prometheus_end(out, when ? (double)xid->last_at.ms / MS_PER_S : (double)xid->total);
        }
}

/* `metric` of MIG instances, one series per GPU instance; METRIC_COUNT: their properties as labels. */
static void instances(struct buf *out, const struct snapshot *s, const struct prometheus_alias *row)
{
    bool headed = false, info = row->metric == METRIC_COUNT;
    for (size_t i = 0; i < s->gpu_count; i++) {
        int64_t last = -1;
        for (size_t k = 0; k < s->gpus[i].instance_count; k++) {
            const struct gpu *mig = &s->gpus[i].instances[k];
            struct reading value = info ? reading_ok(1) : mig->metric[row->metric];
            int64_t id = reading_or(mig->gpu_instance_id, (int64_t)k);
            if (value.state != READING_OK || (!info && id == last))
                continue;
            char text[24];
            snprintf(text, sizeof text, "%lld", (long long)id);
            prometheus_head_once(out, &headed, row->name, row->type, row->help);
            nvidia_smi_begin(out, row->name, &s->gpus[i].id);
            if (info)
                prometheus_label(out, false, "mig_uuid", mig->id.uuid);
            prometheus_label(out, false, "gpu_instance_id", text);
            if (info)
                prometheus_label(out, false, "profile", mig->profile);
            prometheus_end(out, (double)value.value * row->scale);
            last = id;
        }
    }
}

static const struct prometheus_alias mig_table[] = {
    {"nvidia_smi_mig_info", "gauge", METRIC_COUNT, 1, "MIG instances, in labels"},
    {"nvidia_smi_mig_memory_total_bytes", "gauge", METRIC_mem_total_bytes, 1, "Memory of the GPU instance"},
    {"nvidia_smi_mig_memory_used_bytes", "gauge", METRIC_mem_used_bytes, 1, "Memory in use of the GPU instance"},
    {"nvidia_smi_mig_sm_activity_ratio", "gauge", METRIC_sm_active_permille, 1e-3, "SM activity of the GPU instance"},
    {"nvidia_smi_mig_tensor_activity_ratio", "gauge", METRIC_tensor_active_permille, 1e-3, "Tensor activity of the GPU instance"},
};

void prometheus_nvidia_smi(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra)
{
    if (!s->gpu_count)
        return;
    identity(out, s);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        readings(out, s, &table[i]);
    throttling(out, s);
    fabric(out, s);
    apps(out, s, "nvidia_smi_compute_app_info", "A process that computes on the GPU, in labels", false);
    apps(out, s, "nvidia_smi_compute_app_used_memory_bytes", "Memory of a process that computes on the GPU", true);
    collected(out, s);
    xids(out, extra->health, false);
    xids(out, extra->health, true);
    for (size_t i = 0; i < ARRAY_LEN(mig_table); i++)
        instances(out, s, &mig_table[i]);
}
