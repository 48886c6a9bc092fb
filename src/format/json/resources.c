/* SPDX-License-Identifier: Apache-2.0
 * The flat object of the resource monitor: the host, and its best GPU. Flat means without `absent`: /api/gpu/metrics has reasons.
 */
#include "format/resources.h"
#include "base/units.h"
#include "format/json/json.h"
#include "format/json/told.h"

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

#define GB SCALE(PER_GIB), POINT
#define PERCENT SCALE(0.1), POINT

ANSWER_TABLE(best_answer, struct gpu)
{
    FIELD(TEXT, "gpu_name", id.name, NULL, OR_NULL);
    FIELD(OPTION, "gpu_total_vram_gb", mem_total_bytes, NULL, GB);
    FIELD(OPTION, "gpu_used_vram_gb", mem_used_bytes, NULL, GB);
    FIELD(OPTION, "gpu_free_vram_gb", mem_free_bytes, NULL, GB);
    FIELD(TEXT, "gpu_memory_kind", memory_kind.value, "dedicated, or shared: then it is the host's memory", OR_NULL);
    FIELD(OPTION, "gpu_utilization_percent", util_permille, NULL, PERCENT);
    FIELD(OPTION, "gpu_temperature_c", temp_mdegc, NULL, SCALE(1e-3), POINT);
    FIELD(TEXT, "gpu_source", source, NULL, OR_NULL);
}

ANSWER_TABLE(host_answer, struct host)
{
    FIELD(OPTION, "cpu_percent", cpu_permille, "null until a second sample", PERCENT);
    FIELD(OPTION, "available_memory_gb", mem_available_bytes, NULL, GB);
    FIELD(OPTION, "memory_total_gb", mem_total_bytes, NULL, GB);
    FIELD(OPTION, "cpu_count", cpu_count, NULL);
    FIELD(OPTION, "load_average_1m", load1_milli, NULL, SCALE(1e-3));
    FIELD(OPTION, "swap_total_gb", swap_total_bytes, NULL, GB);
    FIELD(OPTION, "swap_used_gb", swap_used_bytes, NULL, GB);
    FIELD(OPTION, "network_rx_bytes_per_second", net_rx_bytes_per_s, NULL);
    FIELD(OPTION, "network_tx_bytes_per_second", net_tx_bytes_per_s, NULL);
    FIELD(OPTION, "disk_read_bytes_per_second", disk_read_bytes_per_s, NULL);
    FIELD(OPTION, "disk_write_bytes_per_second", disk_write_bytes_per_s, NULL);
    FIELD(OPTION, "disk_busy_percent", disk_busy_permille, "Of the busiest disk", PERCENT);
    FIELD(OPTION, "cpu_core_max_percent", cpu_core_max_permille, "Of the busiest core", PERCENT);
    FIELD(OPTION, "cpu_temperature_c", cpu_temp_mdegc, NULL, SCALE(1e-3), POINT);
    FIELD(OPTION, "cpu_pressure_percent", cpu_pressure_permille, NULL, PERCENT);
    FIELD(OPTION, "memory_pressure_percent", mem_pressure_permille, NULL, PERCENT);
    FIELD(OPTION, "io_pressure_percent", io_pressure_permille, NULL, PERCENT);
}

SHARED_ANSWER_TABLE(resources_answer, struct told_resources, .name = "Resources",
                    .about = "The host and its best GPU in one flat object")
{
    VIA(KEYS, NULL, host, host_answer, NULL);
    FIELD(OPTION, "memory_percent", memory_permille, NULL, PERCENT);
    /* Old clients add this number up without checking gpu_available. */
    FIELD(AMOUNT, "gpu_vram_gb", vram_bytes, "Free VRAM of the best GPU, 0.0 without one or where its driver does not say", GB);
    FIELD(BOOL, "gpu_available", available, NULL);
    VIA(KEYS, NULL, best, best_answer, NULL);
    FIELD(INT, "gpu_count", gpu_count, NULL);
    FIELD(BOOL, "gpu_simulated", simulated, NULL);
}

struct told_resources told_resources(const struct snapshot *s, const struct host *host)
{
    const struct gpu *best = resources_best_gpu(s);
    return (struct told_resources){.host = host,
                                   .memory_permille = resources_memory_permille(host),
                                   .vram_bytes = best ? reading_or(best->mem_free_bytes, 0) : 0,
                                   .available = best,
                                   .simulated = best && best->simulated,
                                   .gpu_count = s->gpu_count,
                                   .best = best};
}

void json_resources(struct json_writer *j, const struct snapshot *s, const struct host *host)
{
    struct told_resources told = told_resources(s, host);
    answer_write(j, &resources_answer, &told, NULL);
}
