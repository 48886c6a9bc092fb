/* SPDX-License-Identifier: Apache-2.0
 * The basic source: lists cards by their render nodes, sums up their clients, and reads the sensors that all drivers name alike.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/drm/card_source.h"
#include "source/sysfs/sensors.h"
#include "source/sysfs/sysfs_card.h"

struct drm {
    struct card_source base;
    struct platform platform;
};

/* Without a render node it can't compute: server displays, virtual screens, USB projectors. */
static bool is_gpu(const struct drm_card *card)
{
    static const char *const no_gpus[] = {"vgem", "vkms", "amdgpu_xcp", "amdgpu_xcp_drv", "evdi"};
    if (NAME_IN(no_gpus, str_from(card->driver)))
        return false;
    return card->driver[0] && card->render_minor >= 0 && strncmp(card->compatible, "amdgpu_xcp", 10) != 0;
}

static bool has_no_other_source(const struct drm_card *card)
{
    static const char *const others[] = {"amdgpu", "radeon", "i915", "xe", "nvidia", "nvidia-drm", "tegra", "drm-nvdc"};
    if (NAME_IN(others, str_from(card->driver)))
        return false;
    return is_gpu(card);
}

static int drm_check(const char *params, struct error *err)
{
    return params[0] && strcmp(params, "all") != 0 ? error_set(err, -EINVAL, "the drm source knows the parameter 'all' only") : 0;
}

static const struct card_kind drm_kind = {.ops = &drm_source,
                                          .size = sizeof(struct drm),
                                          .folder = "/sys/class/drm",
                                          .none = "no other GPU with a render node in /sys/class/drm",
                                          .subject = "the GPU"};

static int drm_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    int wrong = drm_check(params, err);
    return wrong < 0 ? wrong : card_source_open(&drm_kind, env, params[0] ? is_gpu : has_no_other_source, ret, err);
}

/* A GPU inside a SoC: the kernel's scaling and throttling. */
static void read_chip(struct drm *s, const struct drm_card *card, unsigned groups, struct gpu *out)
{
    static const char *const zones[] = {"gpu-thermal", "gpu_thermal", "gpu0-thermal", "gpuss*", "gpu-*"}, *const die[] = {
                                                                                                              "cpu-thermal"};
    char path[PATH_SIZE], target[PATH_SIZE], basis[GPU_TEXT_SIZE] = "";
    snprintf(path, sizeof path, "/sys/class/drm/%s/device", card->name);
    const char *last = file_read_link(s->base.env, path, target, sizeof target) > 0 ? strrchr(target, '/') : NULL;
    const char *device = last ? last + 1 : "";
    struct attrs devfreq;
    bool display = strncmp(card->driver, "msm", 3) == 0; /* its DRM device is the display controller */
    if ((display || device[0]) && devfreq_find(s->base.env, device, display ? "adreno" : NULL, &devfreq))
        devfreq_read(&devfreq, groups, out);
    if (!(groups & GROUP_FAST) || out->temp_mdegc.state != READING_UNSUPPORTED)
        return;
    if (device[0])
        out->temp_mdegc = thermal_zone_of_device(s->base.env, device, basis);
    if (out->temp_mdegc.state == READING_UNSUPPORTED)
        out->temp_mdegc = thermal_zone_read(s->base.env, zones, ARRAY_LEN(zones), basis);
    /* A Raspberry Pi has one sensor for the die that both share. */
    if (out->temp_mdegc.state == READING_UNSUPPORTED && strcmp(card->driver, "v3d") == 0)
        out->temp_mdegc = thermal_zone_read(s->base.env, die, ARRAY_LEN(die), basis);
    if (out->temp_mdegc.state == READING_OK)
        gpu_set_property(out, PROPERTY_temperature_basis, basis);
}

static void read_sensors(struct drm *s, const struct drm_card *card, unsigned groups, struct gpu *out)
{
    static const char *const powers[] = {"power1_average", "power1_input"};
    struct attrs device, hwmon;
    drm_device_attrs(card, s->base.env, &device);
    hwmon_find(&device, &hwmon);
    if (groups & GROUP_FAST) {
        out->temp_mdegc = attrs_reading(&hwmon, "temp1_input", 1, 1);
        out->temp_limit_mdegc = attrs_reading(&hwmon, "temp1_crit", 1, 1);
        out->fan_rpm = attrs_reading(&hwmon, "fan1_input", 1, 1);
        out->fan_permille = attrs_reading(&hwmon, "pwm1", 1000, 255);
        out->power_mw = attrs_first(&hwmon, powers, ARRAY_LEN(powers), 1, 1000);
        out->voltage_mv = attrs_reading(&hwmon, "in0_input", 1, 1);
    }
    if (card->pci_address[0])
        pcie_link(card, s->base.env, false, groups, out);
    else
        read_chip(s, card, groups, out);
    if ((groups & GROUP_FAST) && out->fan_rpm.state == READING_UNSUPPORTED && out->fan_permille.state == READING_UNSUPPORTED) {
        platform_update(&s->platform, s->base.env);
        platform_fill_fan(&s->platform, out);
    }
}

/* Devices off PCI share the host's memory. Only the part held by processes is known, and only if all are visible. */
static void read_clients(struct drm *s, const struct drm_card *card, unsigned groups, struct gpu *out)
{
    bool shared = !card->pci_address[0];
    struct drm_load load;
    drm_scan_fill(s->base.scan, card, shared, out, &load);
    for (size_t i = 0; i < out->process_count; i++)
        if (!out->processes[i].type)
            out->processes[i].type = PROCESS_GRAPHICS;
    if ((groups & GROUP_FAST) && shared)
        shared_memory_fill(s->base.env, &(struct shared_memory){0}, out);
    if (!(groups & GROUP_FAST) || load.state != READING_OK)
        return;
    out->util_permille = load.busy_permille;
    out->decoder_permille = load.decoder_permille;
    out->encoder_permille = load.encoder_permille;
    if (load.busy_permille.state == READING_OK)
        gpu_set_property(out, PROPERTY_utilization_basis, load.hidden ? "fdinfo of visible processes" : "fdinfo");
    if (load.has_vram || (shared && load.has_system))
        out->mem_used_bytes = load.hidden ? reading_absent(READING_DENIED)
                                          : reading_ok((int64_t)(load.vram_bytes + (shared ? load.system_bytes : 0)));
}

static void read_awake(struct drm *s, const struct drm_card *card, unsigned groups, struct gpu *out)
{
    if (groups & (GROUP_FAST | GROUP_PROCESS))
        read_clients(s, card, groups, out);
    read_sensors(s, card, groups, out);
    if (groups & GROUP_STATIC) {
        drm_card_properties(card, s->base.env, out);
        if (!card->pci_address[0])
            gpu_set_property(out, PROPERTY_memory_kind, "shared");
    }
}

static void drm_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct drm *s = (struct drm *)source;
    const struct drm_card *card = &s->base.cards.slots[gpu].card;
    enum card_power power = card_source_power(&s->base, gpu);
    if (power == CARD_AWAKE) {
        read_awake(s, card, groups, out);
        power = drm_card_power(card, s->base.env); /* it may be gone or asleep meanwhile */
    }
    if (card_source_rests(&s->base, power, out))
        drm_card_properties(card, s->base.env, out);
}

static void drm_describe(struct source *source, struct buf *out)
{
    const struct card_source *s = (const struct card_source *)source;
    struct drm_scan_stats stats;
    drm_scan_stats(s->scan, &stats);
    for (size_t i = 0; i < s->cards.count; i++)
        buf_printf(out, "%s, driver %s, render node renderD%d\n", s->cards.slots[i].card.name, s->cards.slots[i].card.driver,
                   s->cards.slots[i].card.render_minor);
    buf_printf(out, "%zu processes looked at, %zu of them hidden from us, %zu clients of graphics devices\n", stats.processes,
               stats.hidden, stats.clients);
}

const struct source_ops drm_source = {
    .name = "drm",
    .what = "other graphics drivers: what the kernel reports about their clients",
    .automatic = true,
    .reads_files = true,
    .check = drm_check,
    .open = drm_open,
    .presence = drm_cards_signature,
    .list = card_source_list,
    .refresh = card_source_refresh,
    .sample = drm_sample,
    .changed = card_source_changed,
    .describe = drm_describe,
    .close = card_source_close,
};
