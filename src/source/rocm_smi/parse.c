/* SPDX-License-Identifier: Apache-2.0
 * Parses the JSON of rocm-smi, whose keys are sentences that change, and of its successor amd-smi. Types and units of values change
 * between releases, too.
 */
#include "source/rocm_smi/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "source/sysfs/sysfs_card.h"

void rocm_cards_done(struct rocm_cards *c)
{
    for (size_t i = 0; i < c->count; i++)
        gpu_done(&c->cards[i]);
    free(c->cards);
    *c = (struct rocm_cards){0};
}

/* Parses the document after any warnings. NULL and err on failure. */
static json_t *load_json(struct str text, struct error *err)
{
    size_t start = 0;
    while (start < text.len && text.at[start] != '{' && text.at[start] != '[')
        start++;
    json_error_t problem;
    json_t *root = start < text.len ? json_loadb(text.at + start, text.len - start, JSON_DISABLE_EOF_CHECK, &problem) : NULL;
    if (!root)
        error_set(err, -EBADMSG, "its output is not JSON%s%s", start < text.len ? ": " : "", start < text.len ? problem.text : "");
    return root;
}

/* Appends a zeroed card; NULL: full, or out of memory. */
static struct gpu *add_card(struct rocm_cards *c)
{
    if (c->count == GPU_MAX)
        return NULL;
    struct gpu *more = realloc(c->cards, (c->count + 1) * sizeof *more);
    if (!more) {
        c->no_memory = true;
        return NULL;
    }
    c->cards = more;
    c->cards[c->count] = (struct gpu){.id = {.vendor = "amd"}};
    return &c->cards[c->count++];
}

/* 0 if all cards are there; missing ones would look lost. */
static int check_cards(const struct rocm_cards *c, struct error *err)
{
    if (c->no_memory)
        return error_set(err, -ENOMEM, "out of memory");
    return c->count ? 0 : error_set(err, -ENODEV, "it lists no GPU");
}

/* A meaningful string; NULL for "N/A", "", "unknown". */
static const char *text_of(const json_t *value)
{
    static const char *const nothing[] = {"", "N/A", "None", "unknown", "Unknown", "Unsupported", "Not supported"};
    const char *text = json_string_value(value);
    for (size_t i = 0; text && i < ARRAY_LEN(nothing); i++)
        if (strcasecmp(text, nothing[i]) == 0)
            return NULL;
    return text;
}

static struct reading from_double(double number, int64_t scale)
{
    number *= (double)scale;
    return isfinite(number) && fabs(number) < 9e18 ? reading_ok(llround(number)) : reading_absent(READING_FAILED);
}

/* "1.5", 1.5 or {"value": 1.5, "unit": ...} times scale; "N/A" and the like are UNSUPPORTED. */
static struct reading number_of(const json_t *value, int64_t scale)
{
    if (json_is_object(value))
        value = json_object_get(value, "value");
    if (json_is_number(value))
        return from_double(json_number_value(value), scale);
    const char *text = text_of(value);
    double number;
    if (!text || !str_to_double(str_from(text), &number))
        return reading_absent(READING_UNSUPPORTED); /* also "N/A (Secondary die)" */
    return from_double(number, scale);
}

/* A metric, and the paths of its value in the releases seen. */
struct number_row {
    enum metric metric;
    int64_t scale;
    const char *paths[4];
};

/* "usage.gfx_activity" */
static const json_t *value_at(const json_t *object, const char *path)
{
    struct str rest = str_from(path), part;
    while (object && str_cut(&rest, '.', &part)) {
        char key[48];
        str_copy(key, sizeof key, part);
        object = json_object_get(object, key);
    }
    return object;
}

static void read_numbers(const json_t *card, const struct number_row *rows, size_t count, struct gpu *g)
{
    for (size_t i = 0; i < count; i++) {
        struct reading r = reading_absent(READING_UNSUPPORTED);
        for (size_t p = 0; p < ARRAY_LEN(rows[i].paths) && rows[i].paths[p] && r.state != READING_OK; p++)
            r = number_of(value_at(card, rows[i].paths[p]), rows[i].scale);
        g->metric[rows[i].metric] = r;
    }
}

static void set_property(struct gpu *g, enum property property, const json_t *value)
{
    const char *text = text_of(value);
    if (text)
        gpu_set_property(g, property, text);
}

static void set_pci(struct gpu *g, const char *text)
{
    if (!text || strlen(text) != 12)
        return;
    for (size_t i = 0; i <= 12; i++)
        g->id.pci_address[i] = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] - 'A' + 'a') : text[i];
}

/* In sysfs' form: 16 hexadecimal digits. */
static void set_unique_id(struct gpu *g, const char *text)
{
    uint64_t id;
    char hex[32];
    if (!text)
        return;
    snprintf(hex, sizeof hex, "%s%s", strncasecmp(text, "0x", 2) == 0 ? "" : "0x", text);
    if (str_to_u64(str_from(hex), &id) && id != 0)
        snprintf(g->id.uuid, sizeof g->id.uuid, "amd-%016llx", (unsigned long long)id);
}

/* The ID of the device, and its display name from "Navi 22 [Radeon RX 6700]" or "0x1002", else from the device ID. */
static void set_device(struct gpu *g, const char *text, uint32_t device, int revision)
{
    if (device) {
        char id[16];
        snprintf(id, sizeof id, "1002:%04x", device & 0xffff);
        gpu_set_property(g, PROPERTY_pci_device_id, id);
    }
    /* ROCm 4.3 prints the vendor ID as series, model and vendor. */
    if (text && strncmp(text, "0x", 2) != 0) {
        const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
        struct str product = close ? (struct str){open + 1, (size_t)(close - open - 1)} : str_from(text);
        char name[GPU_NAME_SIZE];
        str_copy_clean(name, sizeof name, str_trim(product));
        snprintf(g->id.name, sizeof g->id.name, "%s%s", strncmp(name, "AMD", 3) == 0 ? "" : "AMD ", name);
        return;
    }
    struct drm_card card = {.vendor = 0x1002, .device = device, .revision = revision};
    const char *known = gpu_known_name(&card);
    if (known)
        str_copy(g->id.name, sizeof g->id.name, str_from(known));
    else if (device)
        snprintf(g->id.name, sizeof g->id.name, "AMD GPU 1002:%04x", device & 0xffff);
}

/* By the compiler's name of the chip; in releases without it, by a carve-out too small for a discrete card. */
static bool is_apu(const struct gpu *g)
{
    static const char *const chips[] = {"gfx902",  "gfx909",  "gfx90c",  "gfx1013", "gfx1033", "gfx1035", "gfx1036",
                                        "gfx1037", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
    int64_t vram, gtt;
    if (g->compute_capability.state == READING_OK)
        return NAME_IN(chips, str_from(g->compute_capability.value));
    return reading_get(g->mem_total_bytes, &vram) && reading_get(g->gtt_total_bytes, &gtt) && vram <= INT64_C(2) << 30 &&
           gtt > vram;
}

/* Free memory; for integrated graphics also the total: its carve-out plus GTT, borrowed from the host. */
static void finish_memory(struct gpu *g)
{
    int64_t total, used, more_total, more_used;
    if (is_apu(g) && reading_get(g->mem_total_bytes, &total) && reading_get(g->mem_used_bytes, &used) &&
        reading_get(g->gtt_total_bytes, &more_total) && reading_get(g->gtt_used_bytes, &more_used)) {
        g->mem_total_bytes = reading_ok(total + more_total);
        g->mem_used_bytes = reading_ok(used + more_used);
        gpu_set_property(g, PROPERTY_memory_kind, "shared");
    }
    if (reading_get(g->mem_total_bytes, &total) && reading_get(g->mem_used_bytes, &used) && used <= total)
        g->mem_free_bytes = reading_ok(total - used);
}

/* ---- rocm-smi. Keys are sentences, and sentences change: each row below lists the ones seen from ROCm 4.3 to 6.x. */

static const struct number_row rocm_numbers[] = {
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

/* "(500Mhz)"; 0: the clock is gated. */
static struct reading clock_of(const json_t *card, const char *key)
{
    const char *text = text_of(json_object_get(card, key));
    int64_t mhz = 0;
    if (!text || sscanf(text, "(%9" SCNd64 "Mhz)", &mhz) != 1 || mhz < 0)
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok(mhz * 1000);
}

/* "1 (16.0GT/s x16)" */
static void read_link(const json_t *card, struct gpu *g)
{
    const char *text = text_of(json_object_get(card, "pcie clock level"));
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
        const char *text = text_of(json_object_get(card, keys[i]));
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
        series = text_of(json_object_get(card, series_keys[i]));
    set_device(g, series, device, revision ? (int)revision : -1);
    set_pci(g, text_of(json_object_get(card, "PCI Bus")));
    set_unique_id(g, text_of(json_object_get(card, "Unique ID")));
    set_property(g, PROPERTY_vbios_version, json_object_get(card, "VBIOS version"));
    set_property(g, PROPERTY_compute_capability, json_object_get(card, "GFX Version"));
    const char *serial = text_of(json_object_get(card, "Serial Number"));
    if (serial && strcmp(serial, "0") != 0)
        gpu_set_property(g, PROPERTY_serial, serial);
    gpu_set_property(g, PROPERTY_driver, "amdgpu");
}

static bool read_card(const json_t *card, struct gpu *g)
{
    read_identity(card, g);
    read_numbers(card, rocm_numbers, ARRAY_LEN(rocm_numbers), g);
    /* Some releases print the power as voltage: no chip runs at 6 mV. */
    if (g->voltage_mv.state == READING_OK && g->voltage_mv.value < 100)
        g->voltage_mv = reading_absent(READING_UNSUPPORTED);
    read_link(card, g);
    g->clock_graphics_khz = clock_of(card, "sclk clock speed:");
    g->clock_memory_khz = clock_of(card, "mclk clock speed:");
    finish_memory(g);
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
        const char *text = text_of(value);
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
    AUTO_JSON json_t *root = load_json(text, err);
    if (!root)
        return -EBADMSG;
    /* In numerical order, unlike json_object_foreach. Numbers may have gaps. */
    for (int i = 0; i < GPU_MAX; i++) {
        char key[16];
        snprintf(key, sizeof key, "card%d", i);
        const json_t *card = json_object_get(root, key);
        struct gpu *g = json_is_object(card) ? add_card(ret) : NULL;
        if (g && !read_card(card, g))
            ret->count--;
    }
    const json_t *system = json_object_get(root, "system");
    for (size_t i = 0; i < ret->count; i++)
        set_property(&ret->cards[i], PROPERTY_driver_version, json_object_get(system, "Driver version"));
    if (ret->count == 1 && json_is_object(system))
        read_processes(system, &ret->cards[0]);
    return check_cards(ret, err);
}

/* ---- amd-smi, the successor: a list of objects with numbers that carry their unit; since ROCm 7 inside {"gpu_data": [...]}. */

static const json_t *list_of(const json_t *root)
{
    const json_t *list = json_is_object(root) ? json_object_get(root, "gpu_data") : root;
    return json_is_array(list) ? list : NULL;
}

/* Sizes are in MB (meaning MiB); newer releases also print GB. */
static struct reading bytes_at(const json_t *card, const char *path)
{
    const json_t *value = value_at(card, path);
    const char *unit = json_string_value(json_object_get(value, "unit"));
    return number_of(value, unit && strcmp(unit, "GB") == 0 ? 1024LL * 1024 * 1024 : 1024 * 1024);
}

static const struct number_row amd_numbers[] = {
    {METRIC_util_permille, 10, {"usage.gfx_activity"}},
    {METRIC_mem_util_permille, 10, {"usage.umc_activity"}},
    {METRIC_temp_mdegc, 1000, {"temperature.edge", "temperature.hotspot"}},
    {METRIC_temp_hotspot_mdegc, 1000, {"temperature.hotspot"}},
    {METRIC_temp_memory_mdegc, 1000, {"temperature.mem"}},
    {METRIC_power_mw, 1000, {"power.socket_power", "power.current_socket_power", "power.average_socket_power"}},
    {METRIC_voltage_mv, 1, {"power.gfx_voltage", "voltage.gfx"}},
    {METRIC_fan_permille, 10, {"fan.usage"}},
    {METRIC_fan_rpm, 1, {"fan.rpm"}},
    {METRIC_clock_graphics_khz, 1000, {"clock.gfx_0.clk", "clock.gfx.cur_clk"}},
    {METRIC_clock_memory_khz, 1000, {"clock.mem_0.clk", "clock.mem.cur_clk"}},
    {METRIC_clock_graphics_max_khz, 1000, {"clock.gfx_0.max_clk", "clock.gfx.max_clk"}},
    {METRIC_clock_memory_max_khz, 1000, {"clock.mem_0.max_clk", "clock.mem.max_clk"}},
    {METRIC_pcie_width, 1, {"pcie.width", "pcie.current_lanes"}},
    {METRIC_pcie_replays, 1, {"pcie.replay_count"}},
    {METRIC_ecc_corrected, 1, {"ecc.total_correctable_count", "ecc.total_correctable"}},
    {METRIC_ecc_uncorrected, 1, {"ecc.total_uncorrectable_count", "ecc.total_uncorrectable"}},
};

static void read_metric(const json_t *card, struct gpu *g)
{
    read_numbers(card, amd_numbers, ARRAY_LEN(amd_numbers), g);
    g->mem_total_bytes = bytes_at(card, "mem_usage.total_vram");
    g->mem_used_bytes = bytes_at(card, "mem_usage.used_vram");
    g->gtt_total_bytes = bytes_at(card, "mem_usage.total_gtt");
    g->gtt_used_bytes = bytes_at(card, "mem_usage.used_gtt");
    finish_memory(g);
    struct reading speed = number_of(value_at(card, "pcie.speed"), 10);
    static const int64_t tenths[] = {25, 50, 80, 160, 320, 640};
    for (size_t i = 0; i < ARRAY_LEN(tenths) && speed.state == READING_OK; i++)
        if (speed.value == tenths[i])
            g->pcie_generation = reading_ok((int64_t)i + 1);
}

static uint32_t hex_at(const json_t *card, const char *path)
{
    const char *text = text_of(value_at(card, path));
    uint64_t value;
    return text && str_to_u64(str_from(text), &value) && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void read_static(const json_t *card, struct gpu *g)
{
    uint32_t device = hex_at(card, "asic.device_id");
    const char *revision = text_of(value_at(card, "asic.rev_id"));
    set_device(g, text_of(value_at(card, "asic.market_name")), device, revision ? (int)hex_at(card, "asic.rev_id") : -1);
    set_pci(g, text_of(value_at(card, "bus.bdf")));
    set_unique_id(g, text_of(value_at(card, "asic.asic_serial")));
    set_property(g, PROPERTY_driver, value_at(card, "driver.name"));
    set_property(g, PROPERTY_driver_version, value_at(card, "driver.version"));
    set_property(g, PROPERTY_vbios_version, value_at(card, "vbios.version"));
    set_property(g, PROPERTY_compute_capability, value_at(card, "asic.target_graphics_version"));
    set_property(g, PROPERTY_serial, value_at(card, "board.product_serial"));
    g->compute_units = number_of(value_at(card, "asic.num_compute_units"), 1);
    g->power_limit_mw = number_of(value_at(card, "limit.socket_power"), 1000);
    g->power_limit_max_mw = number_of(value_at(card, "limit.max_power"), 1000);
    g->temp_limit_mdegc = number_of(value_at(card, "limit.slowdown_edge_temperature"), 1000);
    g->pcie_width_max = number_of(value_at(card, "bus.max_pcie_width"), 1);
}

int amd_smi_parse_static(struct str text, struct rocm_cards *ret, struct error *err)
{
    AUTO_JSON json_t *root = load_json(text, err);
    if (!root)
        return -EBADMSG;
    size_t i;
    json_t *card;
    json_array_foreach((json_t *)list_of(root), i, card)
    {
        struct gpu *g = json_is_object(card) ? add_card(ret) : NULL;
        if (!g)
            continue;
        g->index = (int)reading_or(number_of(json_object_get(card, "gpu"), 1), (int64_t)i);
        read_static(card, g);
    }
    return check_cards(ret, err);
}

static const json_t *card_of(const json_t *list, int index)
{
    size_t i;
    json_t *card;
    json_array_foreach((json_t *)list, i, card)
    {
        if (reading_or(number_of(json_object_get(card, "gpu"), 1), (int64_t)i) == index)
            return card;
    }
    return NULL;
}

int amd_smi_parse_metric(struct str text, struct rocm_cards *cards, struct error *err)
{
    AUTO_JSON json_t *root = load_json(text, err);
    if (!root)
        return -EBADMSG;
    for (size_t g = 0; g < cards->count; g++) {
        const json_t *card = card_of(list_of(root), cards->cards[g].index);
        if (card)
            read_metric(card, &cards->cards[g]);
        else
            gpu_mark_state(&cards->cards[g], GPU_ERROR, "amd-smi metric does not list this GPU");
    }
    return 0;
}
