/* SPDX-License-Identifier: Apache-2.0
 * The sets "dcgm" and "dcgm-4.8": our readings under the names, labels and units of dcgm-exporter, as it is now and as it was
 * before 4.9. Omits what was not measured, never zero.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/prometheus/prometheus.h"

#define DEV "DCGM_FI_DEV_"
#define PROF "DCGM_FI_PROF_"
#define GAUGE "gauge"
#define COUNTER "counter"

/* dcgm-exporter 4.9 renamed most of its fields, some with another unit. "" as the old name: not renamed; NULL: new. */
static const struct dcgm_row {
    const char *name;
    double scale;
    const char *old_name;
    double old_scale;
    const char *type;
    enum metric metric;
    const char *help;
    bool both_ways; /* plus what is received */
} table[] = {
    {DEV "SM_CLOCK_HERTZ", 1e3, DEV "SM_CLOCK", 1e-3, GAUGE, METRIC_clock_sm_khz, "SM clock"},
    {DEV "MEMORY_CLOCK_HERTZ", 1e3, DEV "MEM_CLOCK", 1e-3, GAUGE, METRIC_clock_memory_khz, "Memory clock"},
    {DEV "GPU_TEMP_CELSIUS", 1e-3, DEV "GPU_TEMP", 1e-3, GAUGE, METRIC_temp_mdegc, "GPU temperature in C"},
    {DEV "MEMORY_TEMP_CELSIUS", 1e-3, DEV "MEMORY_TEMP", 1e-3, GAUGE, METRIC_temp_memory_mdegc, "Memory temperature in C"},
    {DEV "BOARD_POWER_WATTS", 1e-3, DEV "POWER_USAGE", 1e-3, GAUGE, METRIC_power_mw, "Power draw in W"},
    {DEV "GPU_ENERGY_JOULES_TOTAL", 1e-3, DEV "TOTAL_ENERGY_CONSUMPTION", 1, COUNTER, METRIC_energy_mj,
     "Energy since the driver was loaded"},
    {DEV "PCIE_REPLAY_TOTAL", 1, DEV "PCIE_REPLAY_COUNTER", 1, COUNTER, METRIC_pcie_replays, "PCIe retries"},
    {DEV "GPU_UTIL_RATIO", 1e-3, DEV "GPU_UTIL", 0.1, GAUGE, METRIC_util_permille, "GPU utilization"},
    {DEV "MEMORY_UTIL_RATIO", 1e-3, DEV "MEM_COPY_UTIL", 0.1, GAUGE, METRIC_mem_util_permille, "Memory bandwidth utilization"},
    {DEV "ENC_UTIL_RATIO", 1e-3, DEV "ENC_UTIL", 0.1, GAUGE, METRIC_encoder_permille, "Encoder utilization"},
    {DEV "DEC_UTIL_RATIO", 1e-3, DEV "DEC_UTIL", 0.1, GAUGE, METRIC_decoder_permille, "Decoder utilization"},
    {DEV "XID_ERROR", 1, DEV "XID_ERRORS", 1, GAUGE, METRIC_xid_last, "Value of the last XID error; 0 if there was none"},
    {DEV "FB_CAPACITY_BYTES", 1, NULL, 1, GAUGE, METRIC_mem_total_bytes, "Memory of the GPU"},
    {DEV "FB_FREE_BYTES", 1, DEV "FB_FREE", PER_MIB, GAUGE, METRIC_mem_free_bytes, "Free memory"},
    {DEV "FB_USED_BYTES", 1, DEV "FB_USED", PER_MIB, GAUGE, METRIC_mem_used_bytes, "Used memory"},
    {DEV "FB_RESERVED_BYTES", 1, DEV "FB_RESERVED", PER_MIB, GAUGE, METRIC_mem_reserved_bytes, "Reserved memory"},
    {DEV "NVLINK_THROUGHPUT_BYTES_PER_SECOND", 1, DEV "NVLINK_BANDWIDTH_TOTAL", 1e-6, GAUGE, METRIC_nvlink_tx_bytes_per_s,
     "NVLink throughput, both ways", true},
    {DEV "NVLINK_CRC_FLIT_ERROR_TOTAL", 1, DEV "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", 1, COUNTER, METRIC_nvlink_crc_flit_errors,
     "CRC errors of flow control on NVLinks"},
    {DEV "NVLINK_CRC_DATA_ERROR_TOTAL", 1, DEV "NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", 1, COUNTER, METRIC_nvlink_crc_data_errors,
     "CRC errors of data on NVLinks"},
    {DEV "NVLINK_REPLAY_ERROR_TOTAL", 1, DEV "NVLINK_REPLAY_ERROR_COUNT_TOTAL", 1, COUNTER, METRIC_nvlink_replays,
     "Packets sent again over NVLink"},
    {DEV "NVLINK_RECOVERY_ERROR_TOTAL", 1, DEV "NVLINK_RECOVERY_ERROR_COUNT_TOTAL", 1, COUNTER, METRIC_nvlink_recoveries,
     "Recoveries of NVLinks"},
    {DEV "VGPU_LICENSE_STATUS", 1, "", 1, GAUGE, METRIC_vgpu_licensed, "1 where this vGPU has its license"},
    {DEV "ROW_REMAP_UNCORRECTABLE_TOTAL", 1, DEV "UNCORRECTABLE_REMAPPED_ROWS", 1, COUNTER, METRIC_remapped_rows_uncorrected,
     "Rows remapped for uncorrectable errors"},
    {DEV "ROW_REMAP_CORRECTABLE_TOTAL", 1, DEV "CORRECTABLE_REMAPPED_ROWS", 1, COUNTER, METRIC_remapped_rows_corrected,
     "Rows remapped for correctable errors"},
    {DEV "ROW_REMAP_FAILED", 1, DEV "ROW_REMAP_FAILURE", 1, GAUGE, METRIC_remapped_rows_failed,
     "1 where remapping of rows has failed"},
    {DEV "ECC_SBE_VOL_TOTAL", 1, "", 1, COUNTER, METRIC_ecc_corrected, "Corrected memory errors since the driver was loaded"},
    {DEV "ECC_DBE_VOL_TOTAL", 1, "", 1, COUNTER, METRIC_ecc_uncorrected, "Uncorrected memory errors since the driver was loaded"},
    {DEV "ECC_SBE_AGG_TOTAL", 1, "", 1, COUNTER, METRIC_ecc_corrected_lifetime, "Corrected memory errors in the life of the GPU"},
    {DEV "ECC_DBE_AGG_TOTAL", 1, "", 1, COUNTER, METRIC_ecc_uncorrected_lifetime,
     "Uncorrected memory errors in the life of the GPU"},
    {DEV "PAGE_RETIRED_SBE_TOTAL", 1, DEV "RETIRED_SBE", 1, COUNTER, METRIC_retired_pages_sbe,
     "Pages retired for single-bit errors"},
    {DEV "PAGE_RETIRED_DBE_TOTAL", 1, DEV "RETIRED_DBE", 1, COUNTER, METRIC_retired_pages_dbe,
     "Pages retired for double-bit errors"},
    {DEV "PAGE_RETIRED_PENDING", 1, DEV "RETIRED_PENDING", 1, GAUGE, METRIC_retired_pages_pending,
     "1 where pages wait to be retired"},
    {DEV "GPU_POWER_THROTTLE_SECONDS_TOTAL", 1e-6, DEV "POWER_VIOLATION", 1e3, COUNTER, METRIC_throttle_power_us,
     "Time throttled by the power limit"},
    {DEV "GPU_THERMAL_THROTTLE_SECONDS_TOTAL", 1e-6, DEV "THERMAL_VIOLATION", 1e3, COUNTER, METRIC_throttle_thermal_us,
     "Time throttled by heat"},
    {DEV "GPU_SYNC_BOOST_THROTTLE_SECONDS_TOTAL", 1e-6, DEV "SYNC_BOOST_VIOLATION", 1e3, COUNTER, METRIC_throttle_sync_boost_us,
     "Time throttled by sync boost"},
    {PROF "GR_ENGINE_UTIL_RATIO", 1e-3, PROF "GR_ENGINE_ACTIVE", 1e-3, GAUGE, METRIC_graphics_active_permille,
     "Ratio of time the graphics engine was active"},
    {PROF "SM_UTIL_RATIO", 1e-3, PROF "SM_ACTIVE", 1e-3, GAUGE, METRIC_sm_active_permille, "Ratio of cycles an SM had a warp"},
    {PROF "SM_OCCUPANCY_RATIO", 1e-3, PROF "SM_OCCUPANCY", 1e-3, GAUGE, METRIC_sm_occupancy_permille,
     "Ratio of warps on an SM to what it can have"},
    {PROF "TENSOR_UTIL_RATIO", 1e-3, PROF "PIPE_TENSOR_ACTIVE", 1e-3, GAUGE, METRIC_tensor_active_permille,
     "Ratio of cycles the tensor pipe was active"},
    {PROF "DRAM_UTIL_RATIO", 1e-3, PROF "DRAM_ACTIVE", 1e-3, GAUGE, METRIC_dram_active_permille,
     "Ratio of cycles the memory interface was active"},
    {PROF "FP64_UTIL_RATIO", 1e-3, PROF "PIPE_FP64_ACTIVE", 1e-3, GAUGE, METRIC_fp64_active_permille,
     "Ratio of cycles the FP64 pipe was active"},
    {PROF "FP32_UTIL_RATIO", 1e-3, PROF "PIPE_FP32_ACTIVE", 1e-3, GAUGE, METRIC_fp32_active_permille,
     "Ratio of cycles the FP32 pipe was active"},
    {PROF "FP16_UTIL_RATIO", 1e-3, PROF "PIPE_FP16_ACTIVE", 1e-3, GAUGE, METRIC_fp16_active_permille,
     "Ratio of cycles the FP16 pipe was active"},
    {PROF "PCIE_TX_BYTES", 1, "", 1, GAUGE, METRIC_pcie_tx_bytes_per_s, "Bytes per second sent over PCIe"},
    {PROF "PCIE_RX_BYTES", 1, "", 1, GAUGE, METRIC_pcie_rx_bytes_per_s, "Bytes per second received over PCIe"},
    {PROF "NVLINK_TX_BYTES", 1, "", 1, GAUGE, METRIC_nvlink_tx_bytes_per_s, "Bytes per second sent over NVLink"},
    {PROF "NVLINK_RX_BYTES", 1, "", 1, GAUGE, METRIC_nvlink_rx_bytes_per_s, "Bytes per second received over NVLink"},
};

/* The pod of a GPU that one pod uses alone: a shared GPU must not count in full for each. Its shares are gpu_process_*. */
static void pod_labels(struct buf *out, const struct gpu *gpu)
{
    struct prometheus_who one = {0};
    for (size_t i = 0; i < gpu->process_count; i++) {
        struct prometheus_who who;
        prometheus_who(&gpu->processes[i], &who);
        if (i && (!str_equal(who.container, one.container) || !str_equal(who.pod, one.pod) || !str_equal(who.space, one.space)))
            return;
        one = who;
    }
    const struct {
        const char *name;
        struct str value;
    } labels[] = {{"container", one.container}, {"namespace", one.space}, {"pod", one.pod}};
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        char text[PROCESS_CONTAINER_NAME_SIZE];
        str_copy(text, sizeof text, labels[i].value);
        if (text[0])
            prometheus_label(out, false, labels[i].name, text);
    }
}

/* "00000000:00:06.0": dcgm-exporter writes eight digits for the domain. */
static void bus_id(const struct gpu *gpu, char *to, size_t size)
{
    snprintf(to, size, "%s%s", gpu->id.pci_address[0] ? "0000" : "", gpu->id.pci_address);
}

static void gpu_labels(struct buf *out, const struct snapshot *s, const struct gpu *gpu, const struct prometheus_options *o,
                       bool old)
{
    char index[16], device[32], bus[32];
    snprintf(index, sizeof index, "%d", gpu->index);
    snprintf(device, sizeof device, "nvidia%d", gpu->index);
    bus_id(gpu, bus, sizeof bus);
    prometheus_label(out, true, "gpu", index);
    prometheus_label(out, false, "UUID", gpu->id.uuid);
    prometheus_label(out, false, "pci_bus_id", bus);
    prometheus_label(out, false, "device", device);
    prometheus_label(out, false, "modelName", gpu->id.name);
    prometheus_label(out, false, o && o->old_hostname ? "Hostname" : "hostname", s->host.name);
    if (gpu->driver_version.state == READING_OK)
        prometheus_label(out, false, old ? "DCGM_FI_DRIVER_VERSION" : "DCGM_FI_SYSTEM_DRIVER_VERSION", gpu->driver_version.value);
    pod_labels(out, gpu);
}

static void instance_labels(struct buf *out, const struct gpu *instance, size_t position)
{
    char id[24];
    snprintf(id, sizeof id, "%lld", (long long)reading_or(instance->gpu_instance_id, (int64_t)position));
    prometheus_label(out, false, "GPU_I_PROFILE", instance->profile);
    prometheus_label(out, false, "GPU_I_ID", id);
}

/* Compute instances of one GPU instance share its number: the first represents them. */
static bool first_of_its_id(const struct gpu *gpu, size_t at)
{
    int64_t id, other;
    for (size_t i = 0; i < at && reading_get(gpu->instances[at].gpu_instance_id, &id); i++)
        if (reading_get(gpu->instances[i].gpu_instance_id, &other) && id == other)
            return false;
    return true;
}

/* False: not measured. No XID so far is 0 in dcgm-exporter. */
static bool read_row(const struct dcgm_row *row, const struct gpu *gpu, double *ret)
{
    struct reading r = gpu->metric[row->metric];
    int64_t more = 0;
    if (row->metric == METRIC_xid_last && r.state == READING_PENDING)
        r = reading_ok(0);
    if (r.state != READING_OK || (row->both_ways && !reading_get(gpu->nvlink_rx_bytes_per_s, &more)))
        return false;
    *ret = (double)(r.value + more);
    return true;
}

/* Under both names at a time, a series that was not renamed is there once. */
static const char *name_of(const struct dcgm_row *row, bool old, unsigned sets)
{
    if (!old || !row->old_name || row->old_name[0])
        return old ? row->old_name : row->name;
    return sets & PROMETHEUS_DCGM ? NULL : row->name;
}

void prometheus_dcgm(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra, bool old)
{
    AUTO_BUF struct buf labels = BUF(1 << 20);
    size_t end[GPU_MAX + 1] = {0};
    for (size_t i = 0; i < s->gpu_count && i < GPU_MAX; i++) {
        gpu_labels(&labels, s, &s->gpus[i], extra->options, old);
        end[i + 1] = labels.len;
    }
    if (labels.failed)
        return;
    for (size_t m = 0; m < ARRAY_LEN(table); m++) {
        const struct dcgm_row *row = &table[m];
        const char *name = name_of(row, old, extra->options->sets);
        bool headed = false;
        for (size_t i = 0; name && i < s->gpu_count && i < GPU_MAX; i++)
            for (size_t k = 0; k <= s->gpus[i].instance_count; k++) {
                const struct gpu *gpu = k ? &s->gpus[i].instances[k - 1] : &s->gpus[i];
                double value;
                if (!read_row(row, gpu, &value) || (k && !first_of_its_id(&s->gpus[i], k - 1)))
                    continue;
                prometheus_head_once(out, &headed, name, row->type, row->help);
                buf_text(out, name);
                buf_char(out, '{');
                buf_add(out, labels.at + end[i], end[i + 1] - end[i]);
                if (k)
                    instance_labels(out, gpu, k - 1);
                prometheus_end(out, value * (old ? row->old_scale : row->scale));
            }
    }
}
