/* SPDX-License-Identifier: Apache-2.0
 * The intel source: i915 and xe cards, discrete and integrated.
 */
#include <string.h>

#include "base/cleanup.h"
#include "source/drm/card_source.h"
#include "source/intel/intel_read.h"
#include "source/source_control.h"
#include "source/sysfs/sensors.h"
#include "source/sysfs/sysfs_card.h"

struct intel_memory {
    struct energy energy;
    struct reading vram_total; /* queried once */
    bool idle_known;
    struct mono idle_at;
    int64_t idle_ms;
    struct reading awake_permille; /* between the last two reads */
};

struct intel {
    struct card_source base;
    struct intel_memory memory[GPU_MAX];
    struct platform platform;
};

static bool is_ours(const struct drm_card *card)
{
    return card->pci_address[0] && (strcmp(card->driver, "i915") == 0 || strcmp(card->driver, "xe") == 0);
}

/* Integrated graphics are function 2 of the first bus on every Intel processor. */
static bool is_discrete(const struct drm_card *card)
{
    return strcmp(card->pci_address, "0000:00:02.0") != 0;
}

static const struct card_kind intel_kind = {.ops = &intel_source,
                                            .size = sizeof(struct intel),
                                            .folder = "/sys/class/drm",
                                            .none = "no GPU with the i915 or xe driver in /sys/class/drm",
                                            .vendor = "intel",
                                            .subject = "the GPU"};

static int intel_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    int wrong = source_check(&intel_source, params, err);
    return wrong < 0 ? wrong : card_source_open(&intel_kind, env, is_ours, ret, err);
}

/* Share of time in which the GT wasn't idle. It stays awake slightly longer than it works. */
static void update_idle(struct intel_memory *m, struct reading idle_ms, bool recorded, struct mono now)
{
    int64_t idle, elapsed = mono_since_ms(now, m->idle_at);
    if (!reading_get(idle_ms, &idle)) {
        m->awake_permille = idle_ms;
        m->idle_known = false;
        return;
    }
    if (m->idle_known && elapsed < 50)
        return;
    /* On a recorded host a constant counter means nothing: time doesn't pass. */
    if (!m->idle_known || idle < m->idle_ms || (recorded && idle == m->idle_ms))
        m->awake_permille = reading_absent(READING_PENDING);
    else
        m->awake_permille = reading_ok(1000 - MIN_OF((idle - m->idle_ms) * 1000 / elapsed, (int64_t)1000));
    m->idle_known = true;
    m->idle_ms = idle;
    m->idle_at = now;
}

/* The engine time of all processes is accurate if all are visible. Otherwise the GT's idle time comes closer. */
static void choose_utilization(const struct drm_load *load, const struct intel_memory *m, struct gpu *out)
{
    const char *basis = NULL;
    bool complete = load->state == READING_OK && load->hidden == 0 && load->busy_permille.state != READING_UNSUPPORTED;
    if (complete) {
        out->util_permille = load->busy_permille;
        basis = "fdinfo";
    } else if (m->awake_permille.state == READING_OK || m->awake_permille.state == READING_PENDING) {
        out->util_permille = m->awake_permille;
        basis = "idle residency";
    } else if (load->state == READING_OK && load->busy_permille.state != READING_UNSUPPORTED) {
        out->util_permille = load->busy_permille;
        basis = "fdinfo of visible processes";
    }
    if (basis)
        gpu_set_property(out, PROPERTY_utilization_basis, basis);
}

/* Integrated graphics have no memory of their own; xe's is bounded like that of other TTM drivers. */
static void fill_shared(struct intel *s, const struct drm_card *card, struct gpu *out)
{
    struct shared_memory m = {0};
    if (strcmp(card->driver, "xe") == 0)
        m.limit_bytes = shared_memory_ttm_limit(s->base.env);
    shared_memory_fill(s->base.env, &m, out);
}

static void read_clients(struct intel *s, size_t at, unsigned groups, struct gpu *out)
{
    const struct drm_card *card = &s->base.cards.slots[at].card;
    struct intel_memory *m = &s->memory[at];
    bool discrete = is_discrete(card);
    struct drm_load load;
    drm_scan_fill(s->base.scan, card, !discrete, out, &load);
    for (size_t i = 0; i < out->process_count; i++)
        if (!out->processes[i].type)
            out->processes[i].type = PROCESS_GRAPHICS;
    if (!(groups & GROUP_FAST))
        return;
    choose_utilization(&load, m, out);
    out->decoder_permille = load.decoder_permille;
    if (discrete && m->vram_total.state == READING_UNREAD)
        m->vram_total = intel_vram_total(card, s->base.env);
    if (discrete)
        out->mem_total_bytes = m->vram_total;
    else
        fill_shared(s, card, out);
    if (load.state != READING_OK || (discrete ? !load.has_vram : !load.has_system))
        return;
    if (load.hidden) {
        out->mem_used_bytes = reading_absent(READING_DENIED);
        if (discrete)
            out->mem_free_bytes = out->mem_used_bytes;
        return;
    }
    int64_t used = (int64_t)(load.vram_bytes + (discrete ? 0 : load.system_bytes)), total;
    if (reading_get(out->mem_total_bytes, &total)) {
        used = MIN_OF(used, total);
        /* For shared memory, at most what is left of the driver's limit. */
        if (discrete || reading_or(out->mem_free_bytes, 0) > total - used)
            out->mem_free_bytes = reading_ok(total - used);
    }
    out->mem_used_bytes = reading_ok(used);
}

static void read_fans(struct attrs *hwmon, unsigned groups, struct gpu *out)
{
    int64_t fans = 0;
    struct reading fastest = reading_absent(READING_UNSUPPORTED);
    for (int i = 1; i <= 4; i++) {
        struct reading rpm = hwmon_reading(hwmon, "fan", i, "_input", 1, 1);
        fans += rpm.state == READING_OK;
        if (rpm.state == READING_OK ? rpm.value >= reading_or(fastest, 0) : fastest.state == READING_UNSUPPORTED)
            fastest = rpm;
    }
    if (groups & GROUP_FAST)
        out->fan_rpm = fastest;
    if ((groups & GROUP_STATIC) && hwmon->path[0])
        out->fan_count = reading_ok(fans);
}

/* The graphics part of the CPU's energy counter; only root may read it since 2020. */
static struct reading read_uncore_energy(const struct env *env)
{
    for (int i = 0; i < 4; i++) {
        struct attrs domain;
        char name[16];
        attrs_init(&domain, env, "/sys/class/powercap/intel-rapl:0:%d", i);
        if (attrs_text(&domain, "name", name, sizeof name) > 0 && strcmp(name, "uncore") == 0)
            return attrs_reading(&domain, "energy_uj", 1, 1);
    }
    return reading_absent(READING_UNSUPPORTED);
}

static void read_power(struct intel *s, size_t at, struct attrs *h, unsigned groups, struct gpu *out)
{
    static const char *const limits[] = {"power1_cap", "power1_max", "power2_cap", "power2_max"};
    struct energy *e = &s->memory[at].energy;
    struct reading counters[ENERGY_COUNTERS] = {attrs_reading(h, "energy1_input", 1, 1), attrs_reading(h, "energy2_input", 1, 1)};
    counters[2] =
        is_discrete(&s->base.cards.slots[at].card) ? reading_absent(READING_UNSUPPORTED) : read_uncore_energy(s->base.env);
    energy_update(e, counters, env_is_recorded(s->base.env), clock_mono(s->base.env->clock));
    if (groups & GROUP_FAST) {
        out->power_mw = e->power_mw;
        out->power_limit_mw = attrs_first(h, limits, ARRAY_LEN(limits), 1, 1000);
    }
    if ((groups & GROUP_RARE) && e->best >= 0 && counters[e->best].state == READING_OK)
        out->energy_mj = reading_ok(counters[e->best].value / 1000);
}

/* i915 has one sensor without a label; xe labels package and memory, and has no first one. */
static int chip_sensor(struct attrs *h)
{
    int package = hwmon_channel(h, "temp", "pkg");
    return package >= 0 ? package : 1;
}

static void read_heat(struct intel *s, const struct drm_card *card, struct attrs *h, struct gpu *out)
{
    int chip = chip_sensor(h), vram = hwmon_channel(h, "temp", "vram");
    out->temp_mdegc = hwmon_reading(h, "temp", chip, "_input", 1, 1);
    out->temp_limit_mdegc = hwmon_reading(h, "temp", chip, "_crit", 1, 1);
    out->temp_memory_mdegc = hwmon_reading(h, "temp", vram, "_input", 1, 1);
    static const char *const voltages[] = {"in0_input", "in1_input"};
    out->voltage_mv = attrs_first(h, voltages, ARRAY_LEN(voltages), 1, 1);
    if (out->temp_mdegc.state == READING_UNSUPPORTED && !is_discrete(card) && s->platform.has_temperature) {
        out->temp_mdegc = s->platform.temperature.mdegc;
        gpu_set_property(out, PROPERTY_temperature_basis, s->platform.temperature.basis);
    }
}

static void read_gt(struct intel *s, size_t at, unsigned groups, struct gpu *out)
{
    struct gt_reading gt;
    gt_read(&s->base.cards.slots[at].card, s->base.env, &gt);
    if (groups & GROUP_FAST) {
        update_idle(&s->memory[at], gt.idle_ms, env_is_recorded(s->base.env), clock_mono(s->base.env->clock));
        out->clock_graphics_khz = gt.graphics_khz;
        out->clock_video_khz = gt.media_khz;
        out->throttle_bits = gt.throttle_bits;
    }
    if (groups & GROUP_STATIC) {
        out->clock_graphics_max_khz = gt.graphics_max_khz;
        out->clock_video_max_khz = gt.media_max_khz;
    }
}

static void read_static(const struct drm_card *card, const struct env *env, struct gpu *out)
{
    drm_card_properties(card, env, out);
    gpu_set_property(out, PROPERTY_memory_kind, is_discrete(card) ? "dedicated" : "shared");
    const char *architecture = gpu_architecture(card);
    if (architecture)
        gpu_set_property(out, PROPERTY_architecture, architecture);
}

static void read_awake(struct intel *s, size_t at, unsigned groups, struct attrs *h, struct gpu *out)
{
    const struct drm_card *card = &s->base.cards.slots[at].card;
    if (groups & (GROUP_FAST | GROUP_STATIC)) {
        read_gt(s, at, groups, out);
        pcie_link(card, s->base.env, is_discrete(card), groups, out);
        read_fans(h, groups, out);
    }
    if (groups & GROUP_RARE)
        pcie_errors(s->base.env, card->pci_address, out);
    if (groups & (GROUP_FAST | GROUP_RARE))
        read_power(s, at, h, groups, out);
    if (groups & GROUP_FAST) {
        platform_update(&s->platform, s->base.env);
        read_heat(s, card, h, out);
        if (out->fan_rpm.state == READING_UNSUPPORTED)
            platform_fill_fan(&s->platform, out);
    }
    if (groups & (GROUP_FAST | GROUP_PROCESS))
        read_clients(s, at, groups, out);
    if (groups & GROUP_STATIC) {
        read_static(card, s->base.env, out);
        out->temp_shutdown_mdegc = hwmon_reading(h, "temp", chip_sensor(h), "_emergency", 1, 1);
        out->temp_memory_limit_mdegc = hwmon_reading(h, "temp", hwmon_channel(h, "temp", "vram"), "_crit", 1, 1);
    }
}

static void intel_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct intel *s = (struct intel *)source;
    const struct drm_card *card = &s->base.cards.slots[gpu].card;
    enum card_power power = card_source_power(&s->base, gpu);
    if (power == CARD_AWAKE) {
        struct attrs device, hwmon;
        drm_device_attrs(card, s->base.env, &device);
        hwmon_find(&device, &hwmon);
        read_awake(s, gpu, groups, &hwmon, out);
        /* It may have fallen asleep or vanished in mid-read. */
        if (hwmon.refused || hwmon.gone || !attrs_exists(&device, "uevent"))
            power = drm_card_power(card, s->base.env);
    }
    if (power == CARD_AWAKE)
        return;
    /* Don't attribute energy of its sleep or absence to the next second. */
    s->memory[gpu].energy = (struct energy){0};
    s->memory[gpu].idle_known = false;
    if (card_source_rests(&s->base, power, out))
        read_static(card, s->base.env, out);
}

static void intel_describe(struct source *source, struct buf *out)
{
    const struct card_source *s = (const struct card_source *)source;
    for (size_t i = 0; i < s->cards.count; i++) {
        const struct drm_card *card = &s->cards.slots[i].card;
        buf_printf(out, "%s at %s, driver %s, %s, %s\n", card->name, card->pci_address, card->driver,
                   is_discrete(card) ? "discrete" : "on the processor's die", card_power_name(card_source_power(s, i)));
    }
}

const struct source_ops intel_source = {
    .name = "intel",
    .what = "Intel graphics through the kernel's files",
    .automatic = true,
    .reads_files = true,
    .open = intel_open,
    .presence = drm_cards_signature,
    .list = card_source_list,
    .refresh = card_source_refresh,
    .sample = intel_sample,
    .changed = card_source_changed,
    .describe = intel_describe,
    .control = &intel_control,
    .close = card_source_close,
};
