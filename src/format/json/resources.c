/* SPDX-License-Identifier: Apache-2.0
 * The flat object of the resource monitor: the host, and its best GPU.
 */
#include "format/resources.h"
#include "base/units.h"
#include "format/json/json.h"

static const struct gpu *resources_best_gpu(const struct snapshot *s)
{
    const struct gpu *best = NULL;
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (gpu->state == GPU_ERROR || gpu->state == GPU_LOST || !snapshot_counts_memory(s, gpu))
            continue;
        if (!best || reading_or(gpu->mem_free_bytes, -1) > reading_or(best->mem_free_bytes, -1))
            best = gpu;
    }
    return best;
}

struct reading resources_memory_permille(const struct host *host)
{
    int64_t total, available;
    if (!reading_get(host->mem_total_bytes, &total) || !reading_get(host->mem_available_bytes, &available) || total <= 0)
        return reading_absent(host->mem_total_bytes.state == READING_OK ? host->mem_available_bytes.state
                                                                        : host->mem_total_bytes.state);
    return reading_ok((int64_t)((double)(total - available) * 1000.0 / (double)total + 0.5));
}

void json_machine(struct json_writer *j, const struct host *host)
{
    jw_object(j);
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        json_scaled(j, host_metric_table[i].json, host->metric[i], host_metric_table[i].json_scale);
    jw_key_object(j, "absent");
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        if (host->metric[i].state != READING_OK)
            jw_key_text(j, host_metric_table[i].json, reading_state_name(host->metric[i].state));
    jw_end(j);
    jw_end(j);
}

static void gpu_fields(struct json_writer *j, const struct snapshot *s)
{
    const struct gpu *best = resources_best_gpu(s);
    struct reading none = {0};
    /* Old clients add this number up without checking gpu_available. */
    json_scaled_float(j, "gpu_vram_gb", reading_ok(best ? reading_or(best->mem_free_bytes, 0) : 0), PER_GIB);
    jw_key_bool(j, "gpu_available", best != NULL);
    json_words(j, "gpu_name", best ? best->id.name : "");
    json_scaled_float(j, "gpu_total_vram_gb", best ? best->mem_total_bytes : none, PER_GIB);
    json_scaled_float(j, "gpu_used_vram_gb", best ? best->mem_used_bytes : none, PER_GIB);
    json_scaled_float(j, "gpu_free_vram_gb", best ? best->mem_free_bytes : none, PER_GIB);
    json_words(j, "gpu_memory_kind", best && best->memory_kind.state == READING_OK ? best->memory_kind.value : "");
    json_scaled_float(j, "gpu_utilization_percent", best ? best->util_permille : none, 0.1);
    json_scaled_float(j, "gpu_temperature_c", best ? best->temp_mdegc : none, 1e-3);
    jw_key_int(j, "gpu_count", (int64_t)s->gpu_count);
    json_words(j, "gpu_source", best ? best->source : "");
    jw_key_bool(j, "gpu_simulated", best && best->simulated);
}

void json_resources(struct json_writer *j, const struct snapshot *s, const struct host *host)
{
    jw_object(j);
    json_scaled_float(j, "cpu_percent", host->cpu_permille, 0.1);
    json_scaled_float(j, "memory_percent", resources_memory_permille(host), 0.1);
    json_scaled_float(j, "available_memory_gb", host->mem_available_bytes, PER_GIB);
    json_scaled_float(j, "memory_total_gb", host->mem_total_bytes, PER_GIB);
    gpu_fields(j, s);
    json_scaled(j, "cpu_count", host->cpu_count, 1);
    json_scaled(j, "load_average_1m", host->load1_milli, 1e-3);
    json_scaled_float(j, "swap_total_gb", host->swap_total_bytes, PER_GIB);
    json_scaled_float(j, "swap_used_gb", host->swap_used_bytes, PER_GIB);
    json_scaled(j, "network_rx_bytes_per_second", host->net_rx_bytes_per_s, 1);
    json_scaled(j, "network_tx_bytes_per_second", host->net_tx_bytes_per_s, 1);
    json_scaled(j, "disk_read_bytes_per_second", host->disk_read_bytes_per_s, 1);
    json_scaled(j, "disk_write_bytes_per_second", host->disk_write_bytes_per_s, 1);
    json_scaled_float(j, "disk_busy_percent", host->disk_busy_permille, 0.1);
    json_scaled_float(j, "cpu_core_max_percent", host->cpu_core_max_permille, 0.1);
    json_scaled_float(j, "cpu_temperature_c", host->cpu_temp_mdegc, 1e-3);
    json_scaled_float(j, "cpu_pressure_percent", host->cpu_pressure_permille, 0.1);
    json_scaled_float(j, "memory_pressure_percent", host->mem_pressure_permille, 0.1);
    json_scaled_float(j, "io_pressure_percent", host->io_pressure_permille, 0.1);
    jw_end(j);
}
