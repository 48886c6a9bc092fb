/* SPDX-License-Identifier: Apache-2.0
 * Devices, their drivers, and the resources of the host: the older, narrower answers of the API, and the same for people.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/table/grid.h"
#include "format/table/table.h"
#include "insight/facts/levels.h"

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

/* ---- resources: flat, without `absent`; /api/gpu/metrics has reasons ---- */

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

/* Share of the memory in use: what is not available to programs. */
static struct reading resources_memory_permille(const struct host *host)
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

/* ---- for people ---- */

static const struct grid_column device_columns[] = {
    {"GPU", RIGHT, 0}, {"NAME", LEFT, 0},   {"MEMORY", RIGHT, 0}, {"STATE", LEFT, 0},
    {"PCI", LEFT, 3},  {"SOURCE", LEFT, 4}, {"UUID", LEFT, 5},
};

void table_devices(struct buf *out, const struct page *page, const struct snapshot *s, int only)
{
    if (s->gpu_count == 0) {
        table_no_gpu(out, page, s);
        table_accelerators(out, page, s);
        return;
    }
    page_simulated_line(out, page, snapshot_simulated(s, ALL_GPUS));
    AUTO_GRID struct grid g;
    grid_init(&g, device_columns, ARRAY_LEN(device_columns));
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        char text[NUMBER_SIZE];
        if (only != ALL_GPUS && only != (int)i)
            continue;
        snprintf(text, sizeof text, "%d", gpu->index);
        grid_add(&g, INK_STRONG, text);
        grid_add(&g, INK_PLAIN, gpu->id.name[0] ? gpu->id.name : "unknown GPU");
        show_bytes(text, page, gpu->mem_total_bytes);
        grid_add(&g, INK_PLAIN, text);
        grid_add(&g, gpu->state == GPU_OK ? INK_GOOD : gpu->state == GPU_ASLEEP ? INK_FAINT : INK_BAD, gpu_state_name(gpu->state));
        grid_add(&g, INK_PLAIN, gpu->id.pci_address[0] ? gpu->id.pci_address : page_dash(page));
        grid_add(&g, INK_PLAIN, gpu->source);
        grid_add(&g, INK_FAINT, gpu->id.uuid[0] ? gpu->id.uuid : page_dash(page));
    }
    grid_write(out, page, &g);
    if (only == ALL_GPUS)
        table_accelerators(out, page, s);
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (!s->gpus[i].error_message[0] || (only != ALL_GPUS && only != (int)i))
            continue;
        char text[GPU_ERROR_SIZE + 32];
        snprintf(text, sizeof text, "GPU %d: %s", s->gpus[i].index, s->gpus[i].error_message);
        page_wrap(out, page, INK_WARN, text, 2, 0);
    }
}

static void pair(struct buf *out, const struct page *page, const char *key, const char *value)
{
    page_cell(out, page, INK_FAINT, LEFT, key, 16);
    page_wrap(out, page, INK_PLAIN, value[0] ? value : page_dash(page), 16, 16);
}

/* "Driver  580.95.05", and other vendors' drivers by name: "Driver  amdgpu 6.12.12". */
static void table_drivers(struct buf *out, const struct page *page, const struct snapshot *s)
{
    struct gpu_driver drivers[DRIVERS_MAX];
    size_t count = snapshot_drivers(s, drivers);
    if (s->driver.driver_version[0] || count == 0)
        pair(out, page, "Driver", s->driver.driver_version);
    for (size_t i = 0; i < count; i++) {
        char text[2 * GPU_TEXT_SIZE];
        snprintf(text, sizeof text, "%s%s%s", drivers[i].name, drivers[i].version[0] ? " " : "", drivers[i].version);
        if (strcmp(drivers[i].version, s->driver.driver_version) != 0 || !drivers[i].version[0])
            pair(out, page, "Driver", text);
    }
}

void table_driver(struct buf *out, const struct page *page, const struct snapshot *s)
{
    page_simulated_line(out, page, snapshot_simulated(s, ALL_GPUS));
    table_drivers(out, page, s);
    pair(out, page, "CUDA up to", s->driver.cuda_version);
    pair(out, page, "NVML", s->driver.nvml_version);
    if (s->driver.error_message[0])
        pair(out, page, "Problem", s->driver.error_message);
    for (size_t i = 0; i < s->source_count; i++) {
        const struct source_status *source = &s->sources[i];
        if (source->state != SOURCE_OFF && !source->names_driver)
            pair(out, page, "Source", source->name);
        else if (!s->driver.driver_version[0] && !s->driver.error_message[0] && source->message[0])
            pair(out, page, source->name, source->message);
    }
}

static void resource_bar(struct buf *out, const struct page *page, const char *title, enum ink ink, struct reading permille,
                         const char *behind)
{
    char text[NUMBER_SIZE];
    show_percent(text, page, permille);
    page_cell(out, page, INK_FAINT, LEFT, title, 9);
    page_bar(out, page, ink, permille, 20);
    buf_char(out, ' ');
    page_cell(out, page, INK_PLAIN, RIGHT, text, 6);
    if (behind[0]) {
        buf_text(out, "  ");
        page_ink(out, page, INK_PLAIN, str_from(behind));
    }
    buf_char(out, '\n');
}

static struct reading permille_of(struct reading part, struct reading whole)
{
    int64_t a, b;
    if (!reading_get(part, &a) || !reading_get(whole, &b) || b <= 0)
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok((int64_t)((double)a * 1000.0 / (double)b));
}

/* "cores wait 12 %, memory 3 %, disks 40 %": where work had to wait in the last ten seconds; empty if nowhere. */
static void pressure_line(struct buf *out, const struct page *page, const struct host *host)
{
    const struct {
        const char *what;
        struct reading permille;
    } parts[] = {
        {"CPU", host->cpu_pressure_permille}, {"memory", host->mem_pressure_permille}, {"disks", host->io_pressure_permille}};
    AUTO_BUF struct buf text = BUF(256);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (pressure_is_felt(parts[i].permille))
            buf_printf(&text, "%s%lld%% of the time for %s", text.len ? ", " : "work waits ",
                       (long long)(parts[i].permille.value / 10), parts[i].what);
    if (!text.len || text.failed)
        return;
    page_cell(out, page, INK_FAINT, LEFT, "Pressure", 9);
    page_wrap(out, page, INK_WARN, text.at, 9, 9);
}

/* Everything with a known power draw. */
static void power_line(struct buf *out, const struct page *page, const struct host *host)
{
    char text[NUMBER_SIZE];
    if (host->power_mw.state != READING_OK)
        return;
    show_watts(text, page, host->power_mw);
    page_cell(out, page, INK_FAINT, LEFT, "Power", 9);
    page_ink(out, page, INK_PLAIN, str_from(text));
    buf_text(out, " for the whole host\n");
}

void table_resources(struct buf *out, const struct page *page, const struct snapshot *s, const struct host *host)
{
    char text[NUMBER_SIZE], more[128] = "";
    int64_t cores = 0, load, total, available;
    page_simulated_line(out, page, snapshot_simulated(s, ALL_GPUS));
    if (reading_get(host->cpu_count, &cores))
        snprintf(more, sizeof more, "%lld cores", (long long)cores);
    if (more[0] && reading_get(host->load1_milli, &load))
        snprintf(more + strlen(more), sizeof more - strlen(more), ", load %.2f", (double)load / 1000);
    if (more[0] && host->cpu_core_max_permille.state == READING_OK && cores > 1) {
        show_percent(text, page, host->cpu_core_max_permille);
        snprintf(more + strlen(more), sizeof more - strlen(more), ", busiest %s", text);
    }
    if (more[0] && host->cpu_power_mw.state == READING_OK) {
        show_watts(text, page, host->cpu_power_mw);
        snprintf(more + strlen(more), sizeof more - strlen(more), ", %s", text);
    }
    resource_bar(out, page, "CPU", INK_LOAD, host->cpu_permille, more);
    struct reading used = reading_get(host->mem_total_bytes, &total) && reading_get(host->mem_available_bytes, &available)
                              ? reading_ok(total - available)
                              : reading_absent(READING_UNSUPPORTED);
    show_bytes_of(text, page, used, host->mem_total_bytes);
    resource_bar(out, page, "Memory", INK_MEMORY, resources_memory_permille(host), text);
    if (reading_or(host->swap_total_bytes, 0) > 0) {
        show_bytes_of(text, page, host->swap_used_bytes, host->swap_total_bytes);
        resource_bar(out, page, "Swap", INK_MEMORY, permille_of(host->swap_used_bytes, host->swap_total_bytes), text);
    }
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        char title[16];
        snprintf(title, sizeof title, "GPU %d", gpu->index);
        resource_bar(out, page, title, INK_LOAD, gpu->util_permille,
                     gpu->state == GPU_OK ? gpu->id.name : gpu_state_name(gpu->state));
        show_bytes_of(text, page, gpu->mem_used_bytes, gpu->mem_total_bytes);
        resource_bar(out, page, "  VRAM", INK_MEMORY, permille_of(gpu->mem_used_bytes, gpu->mem_total_bytes), text);
    }
    if (s->gpu_count == 0)
        pair(out, page, "GPU", "none found");
    char in[NUMBER_SIZE], out_text[NUMBER_SIZE];
    if (host->net_rx_bytes_per_s.state == READING_OK) {
        show_rate(in, page, host->net_rx_bytes_per_s);
        show_rate(out_text, page, host->net_tx_bytes_per_s);
        snprintf(more, sizeof more, "%s in, %s out", in, out_text);
        page_cell(out, page, INK_FAINT, LEFT, "Network", 9);
        page_wrap(out, page, INK_PLAIN, more, 9, 9);
    }
    if (host->disk_read_bytes_per_s.state == READING_OK) {
        show_rate(in, page, host->disk_read_bytes_per_s);
        show_rate(out_text, page, host->disk_write_bytes_per_s);
        show_percent(text, page, host->disk_busy_permille);
        snprintf(more, sizeof more, "%s read, %s written", in, out_text);
        if (host->disk_busy_permille.state == READING_OK)
            snprintf(more + strlen(more), sizeof more - strlen(more), ", busiest %s", text);
        page_cell(out, page, INK_FAINT, LEFT, "Disk", 9);
        page_wrap(out, page, INK_PLAIN, more, 9, 9);
    }
    power_line(out, page, host);
    pressure_line(out, page, host);
}
