/* SPDX-License-Identifier: Apache-2.0
 * The set "dcgm": our readings under the names, labels and units that dashboards for dcgm-exporter expect. Omits what was not
 * measured, never zero.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/prometheus/prometheus.h"

static const struct prometheus_alias table[] = {
    {"DCGM_FI_DEV_SM_CLOCK", "gauge", METRIC_clock_sm_khz, 1e-3, "SM clock in MHz"},
    {"DCGM_FI_DEV_MEM_CLOCK", "gauge", METRIC_clock_memory_khz, 1e-3, "Memory clock in MHz"},
    {"DCGM_FI_DEV_GPU_TEMP", "gauge", METRIC_temp_mdegc, 1e-3, "GPU temperature in C"},
    {"DCGM_FI_DEV_MEMORY_TEMP", "gauge", METRIC_temp_memory_mdegc, 1e-3, "Memory temperature in C"},
    {"DCGM_FI_DEV_POWER_USAGE", "gauge", METRIC_power_mw, 1e-3, "Power draw in W"},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", METRIC_energy_mj, 1, "Energy since boot in mJ"},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", METRIC_pcie_replays, 1, "PCIe retries"},
    {"DCGM_FI_DEV_GPU_UTIL", "gauge", METRIC_util_permille, 0.1, "GPU utilization in %"},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", METRIC_mem_util_permille, 0.1, "Memory bandwidth utilization in %"},
    {"DCGM_FI_DEV_ENC_UTIL", "gauge", METRIC_encoder_permille, 0.1, "Encoder utilization in %"},
    {"DCGM_FI_DEV_DEC_UTIL", "gauge", METRIC_decoder_permille, 0.1, "Decoder utilization in %"},
    {"DCGM_FI_DEV_XID_ERRORS", "gauge", METRIC_xid_last, 1, "Value of the last XID error"},
    {"DCGM_FI_DEV_FB_FREE", "gauge", METRIC_mem_free_bytes, PER_MIB, "Free memory in MiB"},
    {"DCGM_FI_DEV_FB_USED", "gauge", METRIC_mem_used_bytes, PER_MIB, "Used memory in MiB"},
    {"DCGM_FI_DEV_FB_RESERVED", "gauge", METRIC_mem_reserved_bytes, PER_MIB, "Reserved memory in MiB"},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", METRIC_remapped_rows_uncorrected, 1,
     "Rows remapped for uncorrectable errors"},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", METRIC_remapped_rows_corrected, 1, "Rows remapped for correctable errors"},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", METRIC_remapped_rows_failed, 1, "1 where remapping of rows has failed"},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", METRIC_graphics_active_permille, 1e-3,
     "Ratio of time the graphics engine was active"},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", METRIC_tensor_active_permille, 1e-3, "Ratio of cycles the tensor pipe was active"},
    {"DCGM_FI_PROF_DRAM_ACTIVE", "gauge", METRIC_dram_active_permille, 1e-3, "Ratio of cycles the memory interface was active"},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", "gauge", METRIC_pcie_tx_bytes_per_s, 1, "Bytes per second sent over PCIe"},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", "gauge", METRIC_pcie_rx_bytes_per_s, 1, "Bytes per second received over PCIe"},
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

static void gpu_labels(struct buf *out, const struct snapshot *s, const struct gpu *gpu, const struct prometheus_options *o)
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
        prometheus_label(out, false, "DCGM_FI_DRIVER_VERSION", gpu->driver_version.value);
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

void prometheus_dcgm(struct buf *out, const struct snapshot *s, const struct prometheus_extra *extra)
{
    AUTO_BUF struct buf labels = BUF(1 << 20);
    size_t end[GPU_MAX + 1] = {0};
    for (size_t i = 0; i < s->gpu_count && i < GPU_MAX; i++) {
        gpu_labels(&labels, s, &s->gpus[i], extra->options);
        end[i + 1] = labels.len;
    }
    if (labels.failed)
        return;
    for (size_t m = 0; m < ARRAY_LEN(table); m++) {
        bool headed = false;
        for (size_t i = 0; i < s->gpu_count && i < GPU_MAX; i++)
            for (size_t k = 0; k <= s->gpus[i].instance_count; k++) {
                const struct gpu *gpu = k ? &s->gpus[i].instances[k - 1] : &s->gpus[i];
                if (gpu->metric[table[m].metric].state != READING_OK || (k && !first_of_its_id(&s->gpus[i], k - 1)))
                    continue;
                prometheus_head_once(out, &headed, table[m].name, table[m].type, table[m].help);
                buf_text(out, table[m].name);
                buf_char(out, '{');
                buf_add(out, labels.at + end[i], end[i + 1] - end[i]);
                if (k)
                    instance_labels(out, gpu, k - 1);
                buf_char(out, '}');
                prometheus_value(out, (double)gpu->metric[table[m].metric].value * table[m].scale);
            }
    }
}
