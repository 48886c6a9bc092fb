/* SPDX-License-Identifier: Apache-2.0
 * The basic source: lists cards by their render nodes, sums up their clients, and reads the sensors that all drivers name alike.
 */
#include "source/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/drm/scan.h"
#include "source/sysfs/devfreq.h"
#include "source/sysfs/hwmon.h"
#include "source/sysfs/shared_memory.h"
#include "source/sysfs/sysfs_card.h"

struct drm {
    struct source source;
    const struct env *env;
    bool (*wanted)(const struct drm_card *);
    struct card_list cards;
    struct drm_scan *scan;
    struct platform platform;
};

/* Without a render node it can't compute: server displays, virtual screens, USB projectors. */
static bool is_gpu(const struct drm_card *card)
{
    static const char *const no_gpus[] = {"vgem", "vkms", "amdgpu_xcp", "amdgpu_xcp_drv", "evdi"};
    for (size_t i = 0; i < ARRAY_LEN(no_gpus); i++)
        if (strcmp(card->driver, no_gpus[i]) == 0)
            return false;
    return card->driver[0] && card->render_minor >= 0 && strncmp(card->compatible, "amdgpu_xcp", 10) != 0;
}

static bool has_no_other_source(const struct drm_card *card)
{
    static const char *const others[] = {"amdgpu", "radeon", "i915", "xe", "nvidia", "nvidia-drm", "tegra", "drm-nvdc"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(card->driver, others[i]) == 0)
            return false;
    return is_gpu(card);
}

static void drm_close(struct source *source)
{
    struct drm *s = (struct drm *)source;
    if (!s)
        return;
    drm_scan_unref(s->scan);
    card_list_done(&s->cards);
    free(s);
}

static int drm_check(const char *params, struct error *err)
{
    return params[0] && strcmp(params, "all") != 0 ? error_set(err, -EINVAL, "the drm source knows the parameter 'all' only") : 0;
}

static int drm_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    bool all = strcmp(params, "all") == 0;
    int wrong = drm_check(params, err);
    if (wrong < 0)
        return wrong;
    struct drm *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->source.ops = &drm_source;
    s->env = env;
    s->wanted = all ? is_gpu : has_no_other_source;
    s->scan = drm_scan_ref(env);
    int count = s->scan ? card_list_update(&s->cards, env, s->wanted) : -ENOMEM;
    if (count <= 0) {
        drm_close(&s->source);
        return count < 0 ? error_set(err, count, "cannot read /sys/class/drm: %s", strerror(-count))
                         : error_set(err, -ENODEV, "no other GPU with a render node in /sys/class/drm");
    }
    *ret = &s->source;
    return 0;
}

static int drm_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct drm *s = (struct drm *)source;
    int count = card_list_update(&s->cards, s->env, s->wanted);
    for (int i = 0; i < count && (size_t)i < max; i++) {
        const struct drm_card *card = &s->cards.slots[i].card;
        ids[i] = (struct gpu_id){0};
        str_copy(ids[i].pci_address, sizeof ids[i].pci_address, str_from(card->pci_address));
        str_copy(ids[i].vendor, sizeof ids[i].vendor, str_from(gpu_vendor(card)));
        gpu_name_find(s->env, card, ids[i].name);
    }
    return count < 0 ? count : (int)MIN_OF((size_t)count, max);
}

static int drm_refresh(struct source *source, unsigned groups, struct error *err)
{
    (void)err;
    struct drm *s = (struct drm *)source;
    if (groups & (GROUP_FAST | GROUP_PROCESS))
        drm_scan_refresh(s->scan);
    return 0;
}

/* A GPU inside a SoC: the kernel's scaling and throttling. */
static void read_chip(struct drm *s, const struct drm_card *card, unsigned groups, struct gpu *out)
{
    static const char *const zones[] = {"gpu-thermal", "gpu_thermal", "gpu0-thermal", "gpuss*", "gpu-*"}, *const die[] = {
                                                                                                              "cpu-thermal"};
    char path[PATH_SIZE], target[PATH_SIZE], basis[GPU_TEXT_SIZE] = "";
    snprintf(path, sizeof path, "/sys/class/drm/%s/device", card->name);
    const char *last = file_read_link(s->env, path, target, sizeof target) > 0 ? strrchr(target, '/') : NULL;
    const char *device = last ? last + 1 : "";
    struct attrs devfreq;
    bool display = strncmp(card->driver, "msm", 3) == 0; /* its DRM device is the display controller */
    if ((display || device[0]) && devfreq_find(s->env, device, display ? "adreno" : NULL, &devfreq))
        devfreq_read(&devfreq, groups, out);
    if (!(groups & GROUP_FAST) || out->temp_mdegc.state != READING_UNSUPPORTED)
        return;
    if (device[0])
        out->temp_mdegc = thermal_zone_of_device(s->env, device, basis);
    if (out->temp_mdegc.state == READING_UNSUPPORTED)
        out->temp_mdegc = thermal_zone_read(s->env, zones, ARRAY_LEN(zones), basis);
    /* A Raspberry Pi has one sensor for the die that both share. */
    if (out->temp_mdegc.state == READING_UNSUPPORTED && strcmp(card->driver, "v3d") == 0)
        out->temp_mdegc = thermal_zone_read(s->env, die, ARRAY_LEN(die), basis);
    if (out->temp_mdegc.state == READING_OK)
        gpu_set_property(out, PROPERTY_temperature_basis, basis);
}

static void read_sensors(struct drm *s, const struct drm_card *card, unsigned groups, struct gpu *out)
{
    static const char *const powers[] = {"power1_average", "power1_input"};
    struct attrs device, hwmon;
    drm_device_attrs(card, s->env, &device);
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
        pcie_link(card, s->env, false, groups, out);
    else
        read_chip(s, card, groups, out);
    if ((groups & GROUP_FAST) && out->fan_rpm.state == READING_UNSUPPORTED && out->fan_permille.state == READING_UNSUPPORTED) {
        platform_update(&s->platform, s->env);
        platform_fill_fan(&s->platform, out);
    }
}

/* Devices off PCI share the host's memory. Only the part held by processes is known, and only if all are visible. */
static void read_clients(struct drm *s, const struct drm_card *card, unsigned groups, struct gpu *out)
{
    bool shared = !card->pci_address[0];
    struct drm_load load;
    drm_scan_fill(s->scan, card, shared, out, &load);
    for (size_t i = 0; i < out->process_count; i++)
        if (!out->processes[i].type)
            out->processes[i].type = PROCESS_GRAPHICS;
    if ((groups & GROUP_FAST) && shared)
        shared_memory_fill(s->env, &(struct shared_memory){0}, out);
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
        drm_card_properties(card, s->env, out);
        if (!card->pci_address[0])
            gpu_set_property(out, PROPERTY_memory_kind, "shared");
    }
}

static void drm_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct drm *s = (struct drm *)source;
    const struct card_slot *slot = &s->cards.slots[gpu];
    enum card_power power = slot->present ? drm_card_power(&slot->card, s->env) : CARD_GONE;
    if (power == CARD_AWAKE) {
        read_awake(s, &slot->card, groups, out);
        power = drm_card_power(&slot->card, s->env); /* it may be gone or asleep meanwhile */
    }
    if (power != CARD_AWAKE)
        gpu_done(out);
    if (power == CARD_GONE) {
        gpu_mark_state(out, GPU_LOST, "the GPU was removed or its driver unbound");
        return;
    }
    if (power == CARD_ASLEEP) {
        gpu_mark_state(out, GPU_ASLEEP, NULL);
        drm_card_properties(&slot->card, s->env, out);
    }
}

static bool drm_changed(struct source *source)
{
    struct drm *s = (struct drm *)source;
    return card_list_changed(&s->cards, s->env);
}

static void drm_describe(struct source *source, struct buf *out)
{
    struct drm *s = (struct drm *)source;
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
    .list = drm_list,
    .refresh = drm_refresh,
    .sample = drm_sample,
    .changed = drm_changed,
    .describe = drm_describe,
    .close = drm_close,
};
