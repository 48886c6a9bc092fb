/* SPDX-License-Identifier: Apache-2.0
 * Reads an AMD card: tables of clock states, fast-changing values (load, memory, heat, power, clocks, link), static properties,
 * and the errors counted by its RAS blocks.
 */
#include "source/amdgpu/amdgpu_read.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "source/sysfs/sysfs_card.h"

/* ---- Tables of clock states. Seen in the wild: a leading "S:" row for deep sleep, the current clock put in as a row out of
 * order, several stars, no star, "0Mhz *" while the clock runs, and files that hold a newline only. */

enum { MHZ_MAX = 100000 };

struct row {
    bool starred, deep_sleep;
    struct str value; /* after the colon, without the star */
};

static bool next_row(struct str *rest, struct row *row)
{
    struct str line, number;
    while (str_cut(rest, '\n', &line)) {
        struct str value = line;
        if (!str_cut(&value, ':', &number))
            continue;
        number = str_trim(number);
        value = str_trim(value);
        if (number.len == 0 || value.len == 0)
            continue;
        *row = (struct row){.deep_sleep = str_is(number, "S"), .starred = str_ends(value, "*")};
        row->value = str_trim((struct str){value.at, value.len - row->starred});
        return true;
    }
    return false;
}

static bool parse_mhz(struct str value, int64_t *ret)
{
    size_t digits = 0;
    while (digits < value.len && value.at[digits] >= '0' && value.at[digits] <= '9')
        digits++;
    struct str unit = str_trim((struct str){value.at + digits, value.len - digits});
    if (!str_is(unit, "Mhz") && !str_is(unit, "MHz"))
        return false;
    return str_to_i64((struct str){value.at, digits}, ret) && *ret <= MHZ_MAX;
}

void dpm_parse_clock(struct str text, struct dpm_clock *ret)
{
    *ret = (struct dpm_clock){reading_absent(READING_UNSUPPORTED), reading_absent(READING_UNSUPPORTED)};
    struct row row;
    int64_t mhz, now = -1;
    bool agree = true;
    while (next_row(&text, &row)) {
        if (!parse_mhz(row.value, &mhz))
            continue;
        if (!row.deep_sleep && mhz > 0 && mhz * 1000 > reading_or(ret->max_khz, 0))
            ret->max_khz = reading_ok(mhz * 1000);
        if (!row.starred)
            continue;
        agree = agree && (now < 0 || now == mhz);
        now = mhz;
    }
    if (agree && now >= 0)
        ret->now_khz = reading_ok(now * 1000);
}

/* "16.0GT/s, x16 619Mhz" */
static bool parse_link(struct str value, int *generation, int64_t *width)
{
    struct str speed, lanes;
    if (!str_cut(&value, ',', &speed) || !str_word(&value, &lanes) || !str_starts(lanes, "x"))
        return false;
    *generation = pcie_generation(speed);
    return *generation && str_to_i64((struct str){lanes.at + 1, lanes.len - 1}, width) && *width >= 1 && *width <= 32;
}

void dpm_parse_link(struct str text, struct dpm_link *ret)
{
    struct reading none = reading_absent(READING_UNSUPPORTED);
    *ret = (struct dpm_link){none, none, none, none};
    struct row row;
    int generation, now_generation = 0;
    int64_t width, now_width = 0;
    bool agree = true;
    while (next_row(&text, &row)) {
        if (!parse_link(row.value, &generation, &width))
            continue;
        if (generation > reading_or(ret->generation_max, 0))
            ret->generation_max = reading_ok(generation);
        if (width > reading_or(ret->width_max, 0))
            ret->width_max = reading_ok(width);
        if (!row.starred)
            continue;
        agree = agree && (!now_generation || (now_generation == generation && now_width == width));
        now_generation = generation;
        now_width = width;
    }
    if (agree && now_generation) {
        ret->generation = reading_ok(now_generation);
        ret->width = reading_ok(now_width);
    }
}

/* ---- Static properties, and errors ---- */

static void copy_text(struct attrs *a, const char *name, enum property property, struct gpu *out)
{
    char text[GPU_TEXT_SIZE];
    if (attrs_text(a, name, text, sizeof text) > 0)
        gpu_set_property(out, property, text);
}

static int count_fans(struct attrs *hwmon)
{
    int fans = 0;
    char name[ATTR_NAME_SIZE];
    for (int i = 1; i <= 4; i++) {
        snprintf(name, sizeof name, "fan%d_input", i);
        bool has_fan = attrs_exists(hwmon, name);
        snprintf(name, sizeof name, "pwm%d", i);
        fans += has_fan || attrs_exists(hwmon, name);
    }
    return fans;
}

static void read_static(struct amdgpu_reader *r, struct gpu *out)
{
    struct attrs *h = &r->hwmon;
    const struct amdgpu_channels *c = &r->memory->channels;
    int chip = c->edge >= 0 ? c->edge : c->junction;
    out->temp_shutdown_mdegc = hwmon_reading(h, "temp", chip, "_emergency", 1, 1);
    out->temp_memory_limit_mdegc = hwmon_reading(h, "temp", c->memory, "_crit", 1, 1);
    out->power_limit_default_mw = attrs_reading(h, "power1_cap_default", 1, 1000);
    out->power_limit_min_mw = attrs_reading(h, "power1_cap_min", 1, 1000);
    out->power_limit_max_mw = attrs_reading(h, "power1_cap_max", 1, 1000);
    if (h->path[0])
        out->fan_count = reading_ok(count_fans(h));

    copy_text(&r->device, "vbios_version", PROPERTY_vbios_version, out);
    copy_text(&r->device, "serial_number", PROPERTY_serial, out);
    copy_text(&r->device, "product_number", PROPERTY_part_number, out);
    gpu_set_property(out, PROPERTY_memory_kind, r->memory->is_apu ? "shared" : "dedicated");
    const char *architecture = gpu_architecture(r->card);
    if (architecture)
        gpu_set_property(out, PROPERTY_architecture, architecture);
}

/* "ue: 0
 * ce: 3
 * ", or a sentence if the block can't be queried. */
static bool parse_errors(struct str text, int64_t *uncorrected, int64_t *corrected)
{
    struct str line, key;
    bool found = false;
    while (str_cut(&text, '\n', &line)) {
        int64_t value;
        if (!str_cut(&line, ':', &key) || !str_to_i64(str_trim(line), &value) || value < 0)
            continue;
        key = str_trim(key);
        if (str_is(key, "ue"))
            *uncorrected += value;
        else if (str_is(key, "ce"))
            *corrected += value;
        else
            continue;
        found = true;
    }
    return found;
}

/* "0x00000012 : 0x00001000 : R": address, size, and R retired, P pending, F failed to retire. */
static void read_bad_pages(struct attrs *ras, struct gpu *out)
{
    AUTO_BUF struct buf text = BUF(1024 * 1024);
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/gpu_vram_bad_pages", ras->path);
    if (file_read_all(ras->env, path, &text) < 0)
        return;
    int64_t retired = 0;
    bool pending = false;
    struct str rest = buf_view(&text), line;
    while (str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (!str_starts(line, "0x"))
            continue;
        retired += str_ends(line, "R");
        pending = pending || str_ends(line, "P");
    }
    out->retired_pages_dbe = reading_ok(retired);
    out->retired_pages_pending = reading_ok(pending);
}

/* RAS error counts and retired pages. */
static void read_ras(struct attrs *device, struct gpu *out)
{
    struct attrs ras;
    if (attrs_init(&ras, device->env, "%s/ras", device->path) < 0)
        return;
    AUTO_DIR DIR *dir = dir_open(device->env, ras.path);
    if (!dir)
        return;
    int64_t uncorrected = 0, corrected = 0;
    bool found = false;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        char text[512];
        if (!str_ends(str_from(entry->d_name), "_err_count") || strlen(entry->d_name) >= ATTR_NAME_SIZE)
            continue;
        ssize_t len = attrs_text(&ras, entry->d_name, text, sizeof text);
        bool counted = len > 0 && parse_errors((struct str){text, (size_t)len}, &uncorrected, &corrected);
        found = found || counted;
        if (counted && str_starts(str_from(entry->d_name), "umc"))
            out->ecc_enabled = reading_ok(1);
    }
    if (found) {
        out->ecc_uncorrected = reading_ok(uncorrected);
        out->ecc_corrected = reading_ok(corrected);
    }
    read_bad_pages(&ras, out);
}

/* ---- Fast-changing values ---- */

static void find_channels(struct attrs *hwmon, struct amdgpu_channels *c)
{
    if (strcmp(c->hwmon, hwmon->path) == 0 && c->hwmon[0])
        return;
    c->edge = hwmon_channel(hwmon, "temp", "edge");
    c->junction = hwmon_channel(hwmon, "temp", "junction");
    c->memory = hwmon_channel(hwmon, "temp", "mem");
    c->vddgfx = hwmon_channel(hwmon, "in", "vddgfx");
    c->vddnb = hwmon_channel(hwmon, "in", "vddnb");
    c->sclk = hwmon_channel(hwmon, "freq", "sclk");
    c->mclk = hwmon_channel(hwmon, "freq", "mclk");
    if (hwmon->unread) { /* without all labels, sensors could be mixed up: try again with the next sample */
        *c = (struct amdgpu_channels){"", -1, -1, -1, -1, -1, -1, -1};
        return;
    }
    memcpy(c->hwmon, hwmon->path, sizeof c->hwmon);
    if (c->edge < 0 && c->junction < 0 && c->memory < 0)
        c->edge = 1; /* the old radeon driver has one sensor and no labels */
    if (c->sclk < 0)
        c->sclk = 1;
}

void amdgpu_reader_init(struct amdgpu_reader *r, const struct env *env, const struct drm_card *card, struct amdgpu_memory *memory)
{
    r->env = env;
    r->card = card;
    r->memory = memory;
    drm_device_attrs(card, env, &r->device);
    hwmon_find(&r->device, &r->hwmon);
    find_channels(&r->hwmon, &memory->channels);
    ssize_t size = attrs_bytes(&r->device, "gpu_metrics", r->blob, sizeof r->blob);
    r->has_metrics = size > 0 && gpu_metrics_decode(r->blob, (size_t)size, card->device, &r->metrics);
    if (memory->kind_known || r->device.unread || r->hwmon.unread)
        return;
    /* Only integrated graphics have a north bridge voltage, or a table of format 2 or 3. */
    memory->is_apu = r->has_metrics ? gpu_metrics_is_apu(&r->metrics) : memory->channels.vddnb >= 0;
    memory->kind_known = true;
}

static struct reading percent(struct attrs *a, const char *name)
{
    return attrs_reading(a, name, 10, 1);
}

/* The second if the first is absent. */
static struct reading either(struct reading first, struct reading second)
{
    return first.state == READING_OK || second.state != READING_OK ? first : second;
}

static struct reading metric_permille(const struct amdgpu_reader *r, enum gm_field field)
{
    return r->has_metrics ? gpu_metrics_permille(&r->metrics, field) : reading_absent(READING_UNSUPPORTED);
}

static void read_load(struct amdgpu_reader *r, struct gpu *out)
{
    out->util_permille = percent(&r->device, "gpu_busy_percent");
    if (out->util_permille.state == READING_OK) {
        gpu_set_property(out, PROPERTY_utilization_basis, "gpu_busy_percent");
    } else {
        out->util_permille = either(out->util_permille, metric_permille(r, GM_GFX_ACTIVITY));
        if (out->util_permille.state == READING_OK)
            gpu_set_property(out, PROPERTY_utilization_basis, "gpu_metrics");
    }
    out->mem_util_permille = either(percent(&r->device, "mem_busy_percent"), metric_permille(r, GM_UMC_ACTIVITY));
    /* One video engine encodes and decodes; report it as the decoder. */
    out->decoder_permille = either(percent(&r->device, "vcn_busy_percent"), metric_permille(r, GM_VCN_ACTIVITY));
    out->decoder_permille = either(out->decoder_permille, metric_permille(r, GM_MM_ACTIVITY));
    out->jpeg_permille = metric_permille(r, GM_JPEG_ACTIVITY);
}

void amdgpu_read_memory(struct attrs *device, const struct amdgpu_memory *memory, struct gpu *out)
{
    struct reading total = attrs_reading(device, "mem_info_vram_total", 1, 1);
    struct reading used = attrs_reading(device, "mem_info_vram_used", 1, 1);
    out->gtt_total_bytes = attrs_reading(device, "mem_info_gtt_total", 1, 1);
    out->gtt_used_bytes = attrs_reading(device, "mem_info_gtt_used", 1, 1);
    if (memory->is_apu && total.state == READING_OK) {
        /* What exceeds the carve-out goes to GTT, which is as fast; GTT's limit may exceed the host's memory. */
        struct shared_memory m = {total, used, out->gtt_total_bytes, out->gtt_used_bytes, .used_by_host = false};
        shared_memory_fill(device->env, &m, out);
        return;
    }
    out->mem_total_bytes = total;
    out->mem_used_bytes = used;
    if (total.state == READING_OK && used.state == READING_OK)
        out->mem_free_bytes = reading_ok(MAX_OF(total.value - used.value, (int64_t)0));
    else
        out->mem_free_bytes = total.state == READING_OK ? used : total;
}

static void read_heat(struct amdgpu_reader *r, struct gpu *out)
{
    struct attrs *h = &r->hwmon;
    const struct amdgpu_channels *c = &r->memory->channels;
    int chip = c->edge >= 0 ? c->edge : c->junction; /* MI300 has no edge sensor */
    out->temp_mdegc = hwmon_reading(h, "temp", chip, "_input", 1, 1);
    out->temp_hotspot_mdegc = hwmon_reading(h, "temp", c->junction, "_input", 1, 1);
    out->temp_memory_mdegc = hwmon_reading(h, "temp", c->memory, "_input", 1, 1);
    out->temp_limit_mdegc = hwmon_reading(h, "temp", chip, "_crit", 1, 1);
    /* Cards without a memory sensor report 0 (RX 5500 XT). */
    if (out->temp_memory_mdegc.state == READING_OK && out->temp_memory_mdegc.value == 0 && reading_or(out->temp_mdegc, 0) > 15000)
        out->temp_memory_mdegc = reading_absent(READING_UNSUPPORTED);
    if (r->has_metrics) {
        enum gm_field chip_field = r->metrics.format == 1 ? GM_TEMP_EDGE : GM_TEMP_GFX;
        out->temp_hotspot_mdegc = either(out->temp_hotspot_mdegc, gpu_metrics_mdegc(&r->metrics, GM_TEMP_HOTSPOT));
        out->temp_memory_mdegc = either(out->temp_memory_mdegc, gpu_metrics_mdegc(&r->metrics, GM_TEMP_MEM));
        out->temp_mdegc = either(out->temp_mdegc, gpu_metrics_mdegc(&r->metrics, chip_field));
        out->temp_mdegc = either(out->temp_mdegc, out->temp_hotspot_mdegc);
        struct reading junction_limit = hwmon_reading(h, "temp", c->junction, "_crit", 1, 1);
        out->throttle_bits = amdgpu_throttle(&r->metrics, out->temp_hotspot_mdegc, junction_limit, &r->memory->throttle);
    }
}

/* Degrees to the nearest limit of its sensors. */
static struct reading read_margin(struct amdgpu_reader *r, const struct gpu *out)
{
    const struct amdgpu_channels *c = &r->memory->channels;
    const struct {
        int channel;
        struct reading now;
    } sensors[] = {{c->edge, out->temp_mdegc}, {c->junction, out->temp_hotspot_mdegc}, {c->memory, out->temp_memory_mdegc}};
    struct reading least = reading_absent(READING_UNSUPPORTED);
    for (size_t i = 0; i < ARRAY_LEN(sensors); i++) {
        int64_t now, limit;
        if (!reading_get(sensors[i].now, &now) ||
            !reading_get(hwmon_reading(&r->hwmon, "temp", sensors[i].channel, "_crit", 1, 1), &limit))
            continue;
        if (least.state != READING_OK || limit - now < least.value)
            least = reading_ok(limit - now);
    }
    return least;
}

/* 0: the driver doesn't control the fan, the board's firmware does. */
static void read_fan_control(struct amdgpu_reader *r, struct gpu *out)
{
    static const char *const words[] = {"firmware", "manual", "automatic"};
    int64_t mode;
    if (attrs_number(&r->hwmon, "pwm1_enable", &mode) == 0 && mode >= 0 && mode < (int64_t)ARRAY_LEN(words))
        gpu_set_property(out, PROPERTY_fan_control, words[mode]);
}

/* Actual rpm, target rpm and duty cycle (pwm1) use three scales, and each can be wrong: pwm1 reads 0 on running fans and keeps
 * its last value on stopped ones, and fan1_target repeats fan1_input if the firmware controls the fan. */
static void read_fan(struct amdgpu_reader *r, struct gpu *out)
{
    int64_t rpm, most;
    out->fan_rpm = attrs_reading(&r->hwmon, "fan1_input", 1, 1);
    if (r->has_metrics && r->metrics.format == 1 && out->fan_rpm.state != READING_OK &&
        gpu_metrics_raw(&r->metrics, GM_FAN_RPM, 0, &rpm))
        out->fan_rpm = reading_ok(rpm);
    out->fan_target_rpm = attrs_reading(&r->hwmon, "fan1_target", 1, 1);
    out->fan_permille = attrs_reading(&r->hwmon, "pwm1", 1000, 255);
    bool turns = reading_get(out->fan_rpm, &rpm) && rpm >= FAN_TURNS_FROM_RPM;
    if (turns && reading_or(out->fan_permille, 0) <= 0) {
        bool known = attrs_number(&r->hwmon, "fan1_max", &most) == 0 && most > 0;
        out->fan_permille = known ? reading_ok(rpm * 1000 / most) : reading_absent(READING_UNSUPPORTED);
    }
    if (out->fan_permille.state == READING_OK)
        out->fan_permille.value = MIN_OF(MAX_OF(out->fan_permille.value, (int64_t)0), (int64_t)1000);
    read_fan_control(r, out);
}

static void read_power(struct amdgpu_reader *r, struct gpu *out)
{
    static const char *const names[] = {"power1_average", "power1_input"};
    out->power_mw = attrs_first(&r->hwmon, names, ARRAY_LEN(names), 1, 1000);
    if (attrs_exists(&r->hwmon, names[0]))
        out->power_instant_mw = attrs_reading(&r->hwmon, names[1], 1, 1000);
    out->power_limit_mw = attrs_reading(&r->hwmon, "power1_cap", 1, 1000);
    out->voltage_mv = hwmon_reading(&r->hwmon, "in", r->memory->channels.vddgfx, "_input", 1, 1);
    int64_t mv;
    if (!r->has_metrics)
        return;
    out->power_mw = either(out->power_mw, gpu_metrics_power_mw(&r->metrics));
    if (out->voltage_mv.state != READING_OK && gpu_metrics_raw(&r->metrics, GM_VOLTAGE_GFX, 0, &mv))
        out->voltage_mv = reading_ok(mv);
}

static void read_dpm(struct amdgpu_reader *r, const char *name, struct dpm_clock *ret)
{
    char text[4096];
    ssize_t len = attrs_text(&r->device, name, text, sizeof text);
    dpm_parse_clock((struct str){text, len > 0 ? (size_t)len : 0}, ret);
}

/* The clock of the starred row, else hwmon's (Hz), else gpu_metrics'. 0 is a valid clock: gated (GFXOFF). A starred 0 counts
 * unless hwmon sees the clock running, which happens; gpu_metrics keeps the last clock while gated, so it isn't used then. */
static struct reading clock_now(struct amdgpu_reader *r, struct reading starred, int channel, enum gm_field now,
                                enum gm_field average)
{
    if (reading_or(starred, 0) > 0)
        return starred;
    struct reading sensor = hwmon_reading(&r->hwmon, "freq", channel, "_input", 1, 1000);
    if (sensor.state == READING_OK && sensor.value >= 0)
        return sensor;
    if (starred.state == READING_OK)
        return starred;
    return either(sensor, r->has_metrics ? gpu_metrics_khz(&r->metrics, now, average) : sensor);
}

static void read_clocks(struct amdgpu_reader *r, unsigned groups, struct gpu *out)
{
    struct dpm_clock graphics, memory, video;
    read_dpm(r, "pp_dpm_sclk", &graphics);
    read_dpm(r, "pp_dpm_mclk", &memory);
    read_dpm(r, "pp_dpm_vclk", &video);
    if (groups & GROUP_FAST) {
        const struct amdgpu_channels *c = &r->memory->channels;
        out->clock_graphics_khz = clock_now(r, graphics.now_khz, c->sclk, GM_GFXCLK_NOW, GM_GFXCLK_AVERAGE);
        out->clock_memory_khz = clock_now(r, memory.now_khz, c->mclk, GM_UCLK_NOW, GM_UCLK_AVERAGE);
        out->clock_video_khz = clock_now(r, video.now_khz, -1, GM_VCLK_NOW, GM_VCLK_AVERAGE);
    }
    if (groups & GROUP_STATIC) {
        out->clock_graphics_max_khz = graphics.max_khz;
        out->clock_memory_max_khz = memory.max_khz;
        out->clock_video_max_khz = video.max_khz;
    }
}

/* pp_dpm_pcie shows the link to the slot; since Navi the card's own files show the link inside the card. */
static void read_link(struct amdgpu_reader *r, unsigned groups, struct gpu *out)
{
    struct dpm_link link;
    char text[1024];
    int64_t width;
    ssize_t len = attrs_text(&r->device, "pp_dpm_pcie", text, sizeof text);
    dpm_parse_link((struct str){text, len > 0 ? (size_t)len : 0}, &link);
    pcie_link(r->card, r->env, false, groups, out);
    if ((groups & GROUP_FAST) && link.generation.state == READING_OK) {
        out->pcie_generation = link.generation;
        out->pcie_width = link.width;
    } else if ((groups & GROUP_FAST) && r->has_metrics) {
        out->pcie_generation = either(out->pcie_generation, gpu_metrics_pcie_generation(&r->metrics));
        if (out->pcie_width.state != READING_OK && gpu_metrics_raw(&r->metrics, GM_PCIE_WIDTH, 0, &width) && width > 0 &&
            width <= 32)
            out->pcie_width = reading_ok(width);
    }
    if ((groups & GROUP_STATIC) && link.generation_max.state == READING_OK) {
        out->pcie_generation_max = link.generation_max;
        out->pcie_width_max = link.width_max;
    }
}

/* Compute cards count in units of 2^-16 J. The others use undocumented units, and wrap. */
static void read_energy(struct amdgpu_reader *r, struct gpu *out)
{
    int64_t raw, unused;
    if (!r->has_metrics || r->metrics.format != 1 || !gpu_metrics_raw(&r->metrics, GM_ENERGY, 0, &raw) || raw <= 0)
        return;
    if (r->metrics.content >= 4 || gpu_metrics_raw(&r->metrics, GM_GFX_ACC, 0, &unused))
        out->energy_mj = reading_ok((int64_t)((double)raw * 1000.0 / 65536.0));
}

/* "FAN_ZERO_RPM_ENABLE:\n1\nOD_RANGE:\n...": the number in the second line */
static struct reading overdrive_number(struct amdgpu_reader *r, const char *name, int64_t scale)
{
    struct attrs control;
    char text[256];
    int64_t value;
    if (attrs_init(&control, r->env, "%s/gpu_od/fan_ctrl", r->device.path) < 0)
        return reading_absent(READING_UNSUPPORTED);
    ssize_t len = attrs_text(&control, name, text, sizeof text);
    struct str rest = {text, len > 0 ? (size_t)len : 0}, title, number;
    if (!str_cut(&rest, '\n', &title) || !str_cut(&rest, '\n', &number) || !str_to_i64(str_trim(number), &value))
        return reading_absent(READING_UNSUPPORTED);
    return reading_ok(value * scale);
}

/* Whether the fan may stop on a cool card, and up to which temperature. */
static void read_zero_rpm(struct amdgpu_reader *r, struct gpu *out)
{
    out->fan_zero_rpm = overdrive_number(r, "fan_zero_rpm_enable", 1);
    out->fan_zero_rpm_stop_mdegc = overdrive_number(r, "fan_zero_rpm_stop_temperature", 1000);
}

static void read_slow(struct amdgpu_reader *r, struct gpu *out)
{
    int64_t value;
    out->bar1_total_bytes = attrs_reading(&r->device, "mem_info_vis_vram_total", 1, 1);
    out->bar1_used_bytes = attrs_reading(&r->device, "mem_info_vis_vram_used", 1, 1);
    pcie_errors(r->env, r->card->pci_address, out);
    out->pcie_replays = attrs_reading(&r->device, "pcie_replay_count", 1, 1);
    if (out->pcie_replays.state != READING_OK && r->has_metrics && gpu_metrics_raw(&r->metrics, GM_PCIE_REPLAYS, 0, &value))
        out->pcie_replays = reading_ok(value);
    read_zero_rpm(r, out);
    read_ras(&r->device, out);
}

void amdgpu_read(struct amdgpu_reader *r, unsigned groups, struct gpu *out)
{
    if (groups & GROUP_FAST) {
        read_load(r, out);
        amdgpu_read_memory(&r->device, r->memory, out);
        read_heat(r, out);
        out->temp_margin_mdegc = read_margin(r, out);
        read_fan(r, out);
        read_power(r, out);
    }
    if (groups & (GROUP_FAST | GROUP_STATIC)) {
        read_clocks(r, groups, out);
        read_link(r, groups, out);
    }
    if (groups & GROUP_SLOW)
        read_slow(r, out);
    if (groups & GROUP_RARE)
        read_energy(r, out);
    if (groups & GROUP_STATIC)
        read_static(r, out);
}
