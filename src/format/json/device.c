/* SPDX-License-Identifier: Apache-2.0
 * The older, narrower views of GPUs and their driver: /api/gpu/devices, /api/gpu/driver.
 */
#include "base/units.h"
#include "format/json/json.h"
#include "format/json/told.h"

/* ---- devices ---- */

static bool is_usable(const struct gpu *gpu)
{
    return gpu->state == GPU_OK || gpu->state == GPU_ASLEEP;
}

ANSWER_MAKER(make_name, struct gpu, word, of->id.name[0] ? of->id.name : "unknown GPU");

static bool make_available(const struct answer_at *at, union answer_value *ret)
{
    ret->yes = is_usable(at->record);
    return true;
}

/* A device that is not available always has a reason. */
static bool make_error(const struct answer_at *at, union answer_value *ret)
{
    const struct gpu *gpu = at->record;
    ret->word = gpu->error_message[0] ? gpu->error_message : gpu_state_name(gpu->state);
    return gpu->error_message[0] || !is_usable(gpu);
}

SHARED_ANSWER_TABLE(device_answer, struct gpu, .name = "Device")
{
    FIELD(INT, "index", index, NULL);
    MADE(WORD, "name", make_name, NULL);
    FIELD(READING, "total_memory_mb", mem_total_bytes, "MiB", SCALE(PER_MIB), WHOLE);
    FIELD(READING, "free_memory_mb", mem_free_bytes, "MiB", SCALE(PER_MIB), WHOLE);
    FIELD(READING, "used_memory_mb", mem_used_bytes, "MiB", SCALE(PER_MIB), WHOLE);
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1), WHOLE);
    FIELD(READING, "temperature_c", temp_mdegc, NULL, SCALE(1e-3), WHOLE);
    MADE(BOOL, "is_available", make_available, "False: it is listed, but cannot be read now");
    MADE(WORD, "error_message", make_error, "The driver's words", OR_NULL);
    FIELD(NAME, "state", state, NULL, NAMES(gpu_states));
    FIELD(TEXT, "uuid", id.uuid, NULL, OR_NULL);
    FIELD(TEXT, "pci_address", id.pci_address, NULL, OR_NULL);
    FIELD(TEXT, "vendor", id.vendor, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
}

SHARED_ANSWER_TABLE(devices_answer, struct told_devices, .name = "Devices")
{
    OBJECTS("devices", list, count, device_answer, NULL);
    FIELD(INT, "count", count, NULL);
}

void json_devices(struct json_writer *j, const struct snapshot *s, int only)
{
    struct told_devices told = {s->gpus, s->gpu_count};
    if (only != ALL_GPUS)
        told = (struct told_devices){&s->gpus[only], 1};
    answer_write(j, &devices_answer, &told, NULL);
}

/* ---- the driver ---- */

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

ANSWER_TABLE(each_driver_answer, struct gpu_driver)
{
    FIELD(WORD, "source", source, "The source that reads its GPUs");
    FIELD(WORD, "name", name, NULL);
    FIELD(WORD, "version", version, NULL, OR_NULL);
}

ANSWER_TABLE(info_answer, struct driver_info)
{
    FIELD(TEXT, "driver_version", driver_version, NULL, OR_NULL);
    FIELD(TEXT, "cuda_driver_version", cuda_version, "The highest CUDA version that the driver supports", OR_NULL);
    FIELD(TEXT, "nvml_version", nvml_version, NULL, OR_NULL);
}

SHARED_ANSWER_TABLE(driver_answer, struct told_driver, .name = "Driver")
{
    VIA(KEYS, NULL, info, info_answer, NULL);
    FIELD(BOOL, "cuda_available", cuda_available, NULL);
    FIELD(WORD, "error_message", error, "Why there is no driver, in the words of the library", OR_NULL);
    OBJECTS("drivers", list, count, each_driver_answer,
            "The drivers of all GPUs, each once: a host with GPUs of two vendors has two");
}

struct told_driver told_driver(const struct snapshot *s)
{
    struct told_driver told = {.info = &s->driver, .error = driver_error(s)};
    told.count = snapshot_drivers(s, told.list);
    for (size_t i = 0; i < s->gpu_count && s->driver.cuda_version[0]; i++)
        told.cuda_available |= strcmp(s->gpus[i].id.vendor, "nvidia") == 0 && s->gpus[i].state != GPU_LOST;
    return told;
}

void json_driver(struct json_writer *j, const struct snapshot *s)
{
    struct told_driver told = told_driver(s);
    answer_write(j, &driver_answer, &told, NULL);
}
