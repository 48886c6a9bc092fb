/* SPDX-License-Identifier: Apache-2.0
 * rocm-smi. Keys are sentences, and sentences change: each row below lists the ones seen from ROCm 4.3 to 6.x.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/rocm_smi/rocm_json.h"
#include "source/sysfs/sysfs_card.h"

static const struct {
    enum metric metric;
    int64_t scale;
    const char *keys[4];
} numbers[] = {
    {METRIC_util_permille, 10, {"GPU use (%)"}},
    {METRIC_mem_util_permille, 10, {"GPU Memory Read/Write Activity (%)", "GPU memory use (%)"}},
    {METRIC_temp_mdegc, 1000, {"Temperature (Sensor edge) (C)", "Temperature (Sensor junction) (C)"}},
    {METRIC_temp_hotspot_mdegc, 1000, {"Temperature (Sensor junction) (C)"}},
    {METRIC_temp_memory_mdegc, 1000, {"Temperature (Sensor memory) (C)"}},
    {METRIC_power_mw,
     1000,
     {"Average Graphics Package Power (W)", "Current Socket Graphics Package Power (W)", "Current Socket Power (W)"}},
    {METRIC_power_limit_mw, 1000, {"Max Graphics Package Power (W)", "Max Power (W)"}},
    {METRIC_fan_permille, 10, {"Fan speed (%)", "Fan Speed (%)"}},
    {METRIC_fan_rpm, 1, {"Fan RPM"}},
    {METRIC_voltage_mv, 1, {"Voltage (mV)"}},
    {METRIC_mem_total_bytes, 1, {"VRAM Total Memory (B)"}},
    {METRIC_mem_used_bytes, 1, {"VRAM Total Used Memory (B)"}},
    {METRIC_gtt_total_bytes, 1, {"GTT Total Memory (B)"}},
    {METRIC_gtt_used_bytes, 1, {"GTT Total Used Memory (B)"}},
    {METRIC_bar1_total_bytes, 1, {"VIS_VRAM Total Memory (B)"}},
    {METRIC_bar1_used_bytes, 1, {"VIS_VRAM Total Used Memory (B)"}},
    {METRIC_pcie_replays, 1, {"PCIe Replay Count"}},
    {METRIC_energy_mj, 1, {"Accumulated Energy (mJ)"}},
};

static void read_numbers(const json_t *card, struct gpu *g)
{
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        struct reading r = reading_absent(READING_UNSUPPORTED);
        for (size_t k = 0; k < ARRAY_LEN(numbers[i].keys) && numbers[i].keys[k] && r.state != READING_OK; k++)
            r = rocm_number(json_object_get(card, numbers[i].keys[k]), numbers[i].scale);
        g->metric[numbers[i].metric] = r;
    }
    /* Some releases print the power as voltage: no chip runs at 6 mV. */
    if (g->voltage_mv.state == READING_OK && g->voltage_mv.value < 100)
        g->voltage_mv = reading_absent(READING_UNSUPPORTED);
}

/* "(500Mhz)"; 0: the clock is gated. */
static struct reading clock_of(const json_t *card, const char *key)
{
    const char *text = rocm_text(json_object_get(card, key));
    int64_t mhz = 0;
    if (!text || sscanf(text, "(%9" SCNd64 "Mhz)", &mhz) != 1 || mhz < 0)
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok(mhz * 1000);
}

/* "1 (16.0GT/s x16)" */
static void read_link(const json_t *card, struct gpu *g)
{
    const char *text = rocm_text(json_object_get(card, "pcie clock level"));
    const char *speed = text ? strchr(text, '(') : NULL;
    const char *width = speed ? strstr(speed, " x") : NULL;
    int64_t lanes;
    int generation = speed ? pcie_generation(str_from(speed + 1)) : 0;
    if (generation)
        g->pcie_generation = reading_ok(generation);
    if (width && sscanf(width, " x%3" SCNd64, &lanes) == 1 && lanes > 0 && lanes <= 32)
        g->pcie_width = reading_ok(lanes);
}

static uint32_t hex_of(const json_t *card, const char *const keys[], size_t count)
{
    uint64_t value;
    for (size_t i = 0; i < count; i++) {
        const char *text = rocm_text(json_object_get(card, keys[i]));
        if (text && str_to_u64(str_from(text), &value) && value > 0 && value <= UINT32_MAX)
            return (uint32_t)value;
    }
    return 0;
}

static void read_identity(const json_t *card, struct gpu *g)
{
    static const char *const device_keys[] = {"Device ID", "GPU ID"}, *const revision_keys[] = {"Device Rev"};
    static const char *const series_keys[] = {"Device Name", "Card Series", "Card series"};
    uint32_t device = hex_of(card, device_keys, ARRAY_LEN(device_keys));
    uint32_t revision = hex_of(card, revision_keys, ARRAY_LEN(revision_keys));
    const char *series = NULL;
    for (size_t i = 0; i < ARRAY_LEN(series_keys) && !series; i++)
        series = rocm_text(json_object_get(card, series_keys[i]));
    rocm_set_name(g, series, device, revision ? (int)revision : -1);
    rocm_set_pci(g, rocm_text(json_object_get(card, "PCI Bus")));
    rocm_set_unique_id(g, rocm_text(json_object_get(card, "Unique ID")));
    rocm_set_property(g, PROPERTY_vbios_version, json_object_get(card, "VBIOS version"));
    rocm_set_property(g, PROPERTY_compute_capability, json_object_get(card, "GFX Version"));
    const char *serial = rocm_text(json_object_get(card, "Serial Number"));
    if (serial && strcmp(serial, "0") != 0)
        gpu_set_property(g, PROPERTY_serial, serial);
    if (device) {
        char text[16];
        snprintf(text, sizeof text, "1002:%04x", device & 0xffff);
        gpu_set_property(g, PROPERTY_pci_device_id, text);
    }
    gpu_set_property(g, PROPERTY_driver, "amdgpu");
}

static bool read_card(const json_t *card, struct gpu *g)
{
    read_identity(card, g);
    read_numbers(card, g);
    read_link(card, g);
    g->clock_graphics_khz = clock_of(card, "sclk clock speed:");
    g->clock_memory_khz = clock_of(card, "mclk clock speed:");
    rocm_finish_memory(g);
    return g->id.pci_address[0] || g->id.name[0];
}

/* "PID4242": "python3, 1, 8589934592, 0, 12": name, cards, VRAM, SDMA, compute units. It doesn't say which card. */
static void read_processes(const json_t *system, struct gpu *g)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)system, key, value)
    {
        int64_t pid, vram;
        const char *text = rocm_text(value);
        if (strncmp(key, "PID", 3) != 0 || !text || !str_to_i64(str_from(key + 3), &pid) || pid <= 0 || pid > INT32_MAX)
            continue;
        struct str rest = str_from(text), part = {0};
        struct process *p = gpu_add_process(g, (int32_t)pid);
        if (!p)
            return;
        p->type = PROCESS_COMPUTE;
        for (int field = 0; field < 3 && str_cut(&rest, ',', &part); field++)
            if (field == 2 && str_to_i64(str_trim(part), &vram) && vram >= 0)
                p->mem_bytes = reading_ok(vram);
    }
    g->processes_state = READING_OK;
}

int rocm_smi_parse(struct str text, struct rocm_cards *ret, struct error *err)
{
    AUTO_JSON json_t *root = rocm_load(text, err);
    if (!root)
        return -EBADMSG;
    /* In numerical order, unlike json_object_foreach. Numbers may have gaps. */
    for (int i = 0; i < GPU_MAX; i++) {
        char key[16];
        snprintf(key, sizeof key, "card%d", i);
        const json_t *card = json_object_get(root, key);
        struct gpu *g = json_is_object(card) ? rocm_add(ret) : NULL;
        if (g && !read_card(card, g))
            ret->count--;
    }
    const json_t *system = json_object_get(root, "system");
    for (size_t i = 0; i < ret->count; i++)
        rocm_set_property(&ret->cards[i], PROPERTY_driver_version, json_object_get(system, "Driver version"));
    if (ret->count == 1 && json_is_object(system))
        read_processes(system, &ret->cards[0]);
    return rocm_cards_check(ret, err);
}
