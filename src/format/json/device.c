/* SPDX-License-Identifier: Apache-2.0
 * The older, narrower views of a GPU: the device API (/api/gpu/devices, /api/gpu/driver) and the stats rows.
 */
#include "base/units.h"
#include "format/json/json.h"

void json_device(struct json_writer *j, const struct gpu *gpu)
{
    bool usable = gpu->state == GPU_OK || gpu->state == GPU_ASLEEP;
    jw_object(j);
    jw_key_int(j, "index", gpu->index);
    jw_key_text(j, "name", gpu->id.name[0] ? gpu->id.name : "unknown GPU");
    json_scaled_int(j, "total_memory_mb", gpu->mem_total_bytes, PER_MIB);
    json_scaled_int(j, "free_memory_mb", gpu->mem_free_bytes, PER_MIB);
    json_scaled_int(j, "used_memory_mb", gpu->mem_used_bytes, PER_MIB);
    json_scaled_int(j, "utilization_percent", gpu->util_permille, 0.1);
    json_scaled_int(j, "temperature_c", gpu->temp_mdegc, 1e-3);
    jw_key_bool(j, "is_available", usable);
    /* A device that is not available always has a reason. */
    jw_key_text(j, "error_message", gpu->error_message[0] ? gpu->error_message : usable ? NULL : gpu_state_name(gpu->state));
    jw_key_text(j, "state", gpu_state_name(gpu->state));
    json_words(j, "uuid", gpu->id.uuid);
    json_words(j, "pci_address", gpu->id.pci_address);
    json_words(j, "vendor", gpu->id.vendor);
    jw_key_bool(j, "simulated", gpu->simulated);
    jw_end(j);
}

void json_devices(struct json_writer *j, const struct snapshot *s, int only)
{
    int64_t count = 0;
    jw_object(j);
    jw_key_array(j, "devices");
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (only != ALL_GPUS && only != (int)i)
            continue;
        json_device(j, &s->gpus[i]);
        count++;
    }
    jw_end(j);
    jw_key_int(j, "count", count);
    jw_end(j);
}

/* Why there is no driver: its own message, or that of the source that looked for it. */
static const char *driver_error(const struct snapshot *s)
{
    if (s->driver.error_message[0])
        return s->driver.error_message;
    if (s->driver.driver_version[0])
        return NULL;
    for (size_t i = 0; i < s->source_count; i++)
        if (s->sources[i].names_driver && s->sources[i].message[0])
            return s->sources[i].message;
    return "no NVIDIA driver was found";
}

static void json_drivers(struct json_writer *j, const struct snapshot *s)
{
    struct gpu_driver drivers[DRIVERS_MAX];
    size_t count = snapshot_drivers(s, drivers);
    jw_key_array(j, "drivers");
    for (size_t i = 0; i < count; i++) {
        jw_object(j);
        jw_key_text(j, "source", drivers[i].source);
        jw_key_text(j, "name", drivers[i].name);
        json_words(j, "version", drivers[i].version);
        jw_end(j);
    }
    jw_end(j);
}

void json_driver(struct json_writer *j, const struct snapshot *s)
{
    const struct driver_info *d = &s->driver;
    bool nvidia = false;
    for (size_t i = 0; i < s->gpu_count; i++)
        if (strcmp(s->gpus[i].id.vendor, "nvidia") == 0 && s->gpus[i].state != GPU_LOST)
            nvidia = true;
    jw_object(j);
    json_words(j, "driver_version", d->driver_version);
    json_words(j, "cuda_driver_version", d->cuda_version);
    json_words(j, "nvml_version", d->nvml_version);
    jw_key_bool(j, "cuda_available", nvidia && d->cuda_version[0]);
    jw_key_text(j, "error_message", driver_error(s));
    json_drivers(j, s);
    jw_end(j);
}

void json_stats_row(struct json_writer *j, const struct snapshot *s, const struct gpu *gpu, const char *time_key)
{
    jw_object(j);
    jw_key_int(j, "gpu_index", gpu->index);
    jw_key_text(j, "gpu_name", gpu->id.name[0] ? gpu->id.name : "unknown GPU");
    json_scaled_float(j, "temperature_celsius", gpu->temp_mdegc, 1e-3);
    json_scaled_float(j, "power_watts", gpu->power_mw, 1e-3);
    json_scaled_float(j, "memory_used_mb", gpu->mem_used_bytes, PER_MIB);
    json_scaled_float(j, "memory_total_mb", gpu->mem_total_bytes, PER_MIB);
    json_scaled_float(j, "gpu_utilization_percent", gpu->util_permille, 0.1);
    json_scaled_float(j, "memory_utilization_percent", gpu->mem_util_permille, 0.1);
    json_time(j, time_key, s->taken_at);
    json_words(j, "gpu_uuid", gpu->id.uuid);
    jw_key_bool(j, "simulated", gpu->simulated);
    jw_end(j);
}

void json_stats(struct json_writer *j, const struct snapshot *s, int only)
{
    int64_t count = 0;
    jw_object(j);
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < s->gpu_count; i++) {
        if ((only != ALL_GPUS && only != (int)i) || gpu_is_unread(&s->gpus[i]))
            continue;
        json_stats_row(j, s, &s->gpus[i], "recorded_at");
        count++;
    }
    jw_end(j);
    jw_key_int(j, "count", count);
    jw_end(j);
}
