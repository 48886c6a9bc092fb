/* SPDX-License-Identifier: Apache-2.0
 * amd-smi, the successor: a list of objects with numbers that carry their unit; since ROCm 7 inside {"gpu_data": [...]}.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/rocm_smi/rocm_json.h"

static const json_t *list_of(const json_t *root)
{
    const json_t *list = json_is_object(root) ? json_object_get(root, "gpu_data") : root;
    return json_is_array(list) ? list : NULL;
}

/* "usage.gfx_activity" */
static const json_t *at(const json_t *object, const char *path)
{
    struct str rest = str_from(path), part;
    while (object && str_cut(&rest, '.', &part)) {
        char key[48];
        str_copy(key, sizeof key, part);
        object = json_object_get(object, key);
    }
    return object;
}

/* Sizes are in MB (meaning MiB); newer releases also print GB. */
static struct reading bytes_at(const json_t *card, const char *path)
{
    const json_t *value = at(card, path);
    const char *unit = json_string_value(json_object_get(value, "unit"));
    return rocm_number(value, unit && strcmp(unit, "GB") == 0 ? 1024LL * 1024 * 1024 : 1024 * 1024);
}

static const struct {
    enum metric metric;
    int64_t scale;
    const char *paths[3];
} numbers[] = {
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
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        struct reading r = reading_absent(READING_UNSUPPORTED);
        for (size_t p = 0; p < ARRAY_LEN(numbers[i].paths) && numbers[i].paths[p] && r.state != READING_OK; p++)
            r = rocm_number(at(card, numbers[i].paths[p]), numbers[i].scale);
        g->metric[numbers[i].metric] = r;
    }
    g->mem_total_bytes = bytes_at(card, "mem_usage.total_vram");
    g->mem_used_bytes = bytes_at(card, "mem_usage.used_vram");
    g->gtt_total_bytes = bytes_at(card, "mem_usage.total_gtt");
    g->gtt_used_bytes = bytes_at(card, "mem_usage.used_gtt");
    rocm_finish_memory(g);
    struct reading speed = rocm_number(at(card, "pcie.speed"), 10);
    static const int64_t tenths[] = {25, 50, 80, 160, 320, 640};
    for (size_t i = 0; i < ARRAY_LEN(tenths) && speed.state == READING_OK; i++)
        if (speed.value == tenths[i])
            g->pcie_generation = reading_ok((int64_t)i + 1);
}

static uint32_t hex_at(const json_t *card, const char *path)
{
    const char *text = rocm_text(at(card, path));
    uint64_t value;
    return text && str_to_u64(str_from(text), &value) && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void read_static(const json_t *card, struct gpu *g)
{
    uint32_t device = hex_at(card, "asic.device_id");
    const char *revision = rocm_text(at(card, "asic.rev_id"));
    rocm_set_name(g, rocm_text(at(card, "asic.market_name")), device, revision ? (int)hex_at(card, "asic.rev_id") : -1);
    rocm_set_pci(g, rocm_text(at(card, "bus.bdf")));
    rocm_set_unique_id(g, rocm_text(at(card, "asic.asic_serial")));
    rocm_set_property(g, PROPERTY_driver, at(card, "driver.name"));
    rocm_set_property(g, PROPERTY_driver_version, at(card, "driver.version"));
    rocm_set_property(g, PROPERTY_vbios_version, at(card, "vbios.version"));
    rocm_set_property(g, PROPERTY_compute_capability, at(card, "asic.target_graphics_version"));
    rocm_set_property(g, PROPERTY_serial, at(card, "board.product_serial"));
    g->compute_units = rocm_number(at(card, "asic.num_compute_units"), 1);
    g->power_limit_mw = rocm_number(at(card, "limit.socket_power"), 1000);
    g->power_limit_max_mw = rocm_number(at(card, "limit.max_power"), 1000);
    g->temp_limit_mdegc = rocm_number(at(card, "limit.slowdown_edge_temperature"), 1000);
    g->pcie_width_max = rocm_number(at(card, "bus.max_pcie_width"), 1);
    if (device) {
        char text[16];
        snprintf(text, sizeof text, "1002:%04x", device & 0xffff);
        gpu_set_property(g, PROPERTY_pci_device_id, text);
    }
}

int amd_smi_parse_static(struct str text, struct rocm_cards *ret, struct error *err)
{
    AUTO_JSON json_t *root = rocm_load(text, err);
    if (!root)
        return -EBADMSG;
    size_t i;
    json_t *card;
    json_array_foreach((json_t *)list_of(root), i, card)
    {
        struct gpu *g = json_is_object(card) ? rocm_add(ret) : NULL;
        if (!g)
            continue;
        g->index = (int)reading_or(rocm_number(json_object_get(card, "gpu"), 1), (int64_t)i);
        read_static(card, g);
    }
    return rocm_cards_check(ret, err);
}

static const json_t *parse_amd_card_of(const json_t *list, int index)
{
    size_t i;
    json_t *card;
    json_array_foreach((json_t *)list, i, card)
    {
        if (reading_or(rocm_number(json_object_get(card, "gpu"), 1), (int64_t)i) == index)
            return card;
    }
    return NULL;
}

int amd_smi_parse_metric(struct str text, struct rocm_cards *cards, struct error *err)
{
    AUTO_JSON json_t *root = rocm_load(text, err);
    if (!root)
        return -EBADMSG;
    for (size_t g = 0; g < cards->count; g++) {
        const json_t *card = parse_amd_card_of(list_of(root), cards->cards[g].index);
        if (card)
            read_metric(card, &cards->cards[g]);
        else
            gpu_mark_state(&cards->cards[g], GPU_ERROR, "amd-smi metric does not list this GPU");
    }
    return 0;
}
