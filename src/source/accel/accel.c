/* SPDX-License-Identifier: Apache-2.0
 * The accel source: NPUs and accelerators from kernel files. Each driver has files of its own, whose formats follow the drivers'
 * sources (docs/npu.md); the kernel provides for all of them: power state, processes, sensors. Sleeping devices are left alone.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "source/drm/card_source.h"
#include "source/sysfs/sensors.h"
#include "source/sysfs/sysfs_card.h"

/* A busy-time counter between two reads. */
struct busy_time {
    bool known, moved;
    int64_t us;
    struct mono at;
    struct reading permille;
};

struct accel_driver {
    const char *name; /* kernel driver; NULL: any other */
    enum device_kind kind;
    bool shares_memory; /* it has no memory of its own */
    /* `own`: files of the class; `device`: files of the device behind it. */
    void (*read)(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out);
};

static void take_text(struct attrs *from, const char *name, enum property property, struct gpu *out)
{
    char text[GPU_TEXT_SIZE];
    if (attrs_text(from, name, text, sizeof text) > 0)
        gpu_set_property(out, property, text);
}

/* ---- Intel ---- */

/* The driver asks for at most one query per second: job submission takes the same lock. */
static struct reading busy_share(struct attrs *device, struct busy_time *busy)
{
    enum { LEAST_MS = 900 };
    struct mono now = clock_mono(device->env->clock);
    int64_t us, passed_us = (now.ns - busy->at.ns) / 1000;
    if (busy->known && passed_us < LEAST_MS * 1000)
        return busy->permille;
    int rc = attrs_number(device, "npu_busy_time_us", &us);
    if (rc < 0 || us < 0) {
        busy->known = false;
        return reading_absent(rc < 0 ? attrs_state(rc) : READING_UNSUPPORTED);
    }
    busy->permille = reading_absent(READING_PENDING);
    busy->moved |= busy->known && us != busy->us;
    /* Time doesn't pass on a recorded host: a counter that never moved gives no rate. */
    if (busy->known && us >= busy->us && (busy->moved || !env_is_recorded(device->env)))
        busy->permille = reading_ok(MIN_OF((us - busy->us) * 1000 / passed_us, (int64_t)1000));
    busy->us = us;
    busy->at = now;
    busy->known = true;
    return busy->permille;
}

static void read_intel(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out)
{
    (void)own;
    if (groups & GROUP_FAST) {
        struct reading load = busy_share(device, busy);
        struct reading bytes = attrs_reading(device, "npu_memory_utilization", 1, 1); /* bytes, despite its name */
        if (load.state != READING_UNSUPPORTED) {
            out->util_permille = load;
            gpu_set_property(out, PROPERTY_utilization_basis, "npu_busy_time_us");
        }
        if (bytes.state != READING_UNSUPPORTED)
            out->mem_used_bytes = bytes;
        out->clock_graphics_khz = attrs_reading(device, "npu_current_frequency_mhz", 1000, 1);
        if (out->clock_graphics_khz.state == READING_OK && out->clock_graphics_khz.value == 0)
            out->clock_graphics_khz = reading_absent(READING_ASLEEP); /* it fell asleep meanwhile */
    }
    if (groups & GROUP_STATIC)
        out->clock_graphics_max_khz = attrs_reading(device, "npu_max_frequency_mhz", 1000, 1);
}

/* ---- AMD ---- */

static void read_xdna(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out)
{
    (void)own;
    (void)busy;
    if (!(groups & GROUP_STATIC))
        return;
    take_text(device, "vbnv", PROPERTY_brand, out);
    take_text(device, "fw_version", PROPERTY_vbios_version, out);
}

/* ---- Gaudi ---- */

static void read_gaudi(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out)
{
    (void)own;
    (void)busy;
    char status[GPU_TEXT_SIZE];
    if (attrs_text(device, "status", status, sizeof status) > 0 && strcasecmp(status, "operational") != 0) {
        char words[GPU_ERROR_SIZE];
        snprintf(words, sizeof words, "its driver says: %s", status);
        gpu_done(out);
        gpu_mark_state(out, GPU_ERROR, words);
        return;
    }
    if (groups & GROUP_FAST)
        out->clock_graphics_khz = attrs_reading(device, "clk_cur_freq_mhz", 1000, 1);
    if (groups & GROUP_SLOW)
        out->power_limit_mw = attrs_reading(device, "max_power", 1, 1);
    if (!(groups & GROUP_STATIC))
        return;
    out->clock_graphics_max_khz = attrs_reading(device, "clk_max_freq_mhz", 1000, 1);
    out->module_id = attrs_reading(device, "module_id", 1, 1);
    take_text(device, "cpucp_ver", PROPERTY_vbios_version, out);
}

/* ---- Tenstorrent ---- */

/* "Tenstorrent n150": the board's own name, if it has one. */
static void accel_board_name(struct attrs *own, char name[GPU_NAME_SIZE])
{
    char type[32];
    if (attrs_text(own, "tt_card_type", type, sizeof type) > 0 && strcmp(type, "unknown") != 0)
        snprintf(name, GPU_NAME_SIZE, "Tenstorrent %s", type);
}

/* "/sys/class/tenstorrent/tenstorrent!3" and "/proc/driver/tenstorrent/3/pids". */
static void read_pids(struct attrs *own, struct gpu *out)
{
    char path[PATH_SIZE];
    AUTO_BUF struct buf text = BUF(1 << 16);
    const char *number = strrchr(own->path, '!');
    snprintf(path, sizeof path, "/proc/driver/tenstorrent/%s/pids", number ? number + 1 : "0");
    int rc = file_read_all(own->env, path, &text);
    if (rc < 0)
        out->processes_state = reading_state_from_errno(rc);
    else
        card_take_pids(buf_view(&text), out);
}

static void read_tenstorrent(struct attrs *own, struct attrs *device, struct busy_time *busy, unsigned groups, struct gpu *out)
{
    (void)device;
    (void)busy;
    if (groups & GROUP_FAST)
        out->clock_graphics_khz = attrs_reading(own, "tt_aiclk", 1000, 1);
    if (groups & GROUP_PROCESS)
        read_pids(own, out);
    if (!(groups & GROUP_STATIC))
        return;
    take_text(own, "tt_serial", PROPERTY_serial, out);
    take_text(own, "tt_fw_bundle_ver", PROPERTY_vbios_version, out);
}

static const struct accel_driver *accel_driver_of(const char *name)
{
    static const struct accel_driver drivers[] = {
        {"intel_vpu", DEVICE_NPU, true, read_intel},
        {"amdxdna", DEVICE_NPU, true, read_xdna},
        {"habanalabs", DEVICE_ACCELERATOR, false, read_gaudi},
        {"tenstorrent", DEVICE_ACCELERATOR, false, read_tenstorrent},
        {"qaic", DEVICE_ACCELERATOR, false, NULL},
        {NULL, DEVICE_NPU, false, NULL},
    };
    const struct accel_driver *d = drivers;
    while (d->name && strcmp(d->name, name) != 0)
        d++;
    return d;
}

/* ---- The source ---- */

struct accel {
    struct card_source base;
    struct busy_time busy[GPU_MAX];
};

static void identify(struct card_source *s, size_t at, struct gpu_id *id)
{
    const struct drm_card *card = &s->cards.slots[at].card;
    struct attrs own;
    drm_card_attrs(card, s->env, &own);
    id->kind = accel_driver_of(card->driver)->kind;
    accel_board_name(&own, id->name);
}

static const struct card_kind accel_kind = {.ops = &accel_source,
                                            .size = sizeof(struct accel),
                                            .folder = "/sys/class/accel",
                                            .none = "no NPU or accelerator in /sys/class/accel",
                                            .subject = "it",
                                            .identify = identify};

static int accel_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    int wrong = source_check(&accel_source, params, err);
    return wrong < 0 ? wrong : card_source_open(&accel_kind, env, card_is_accelerator, ret, err);
}

/* NPUs sleep most of the time: skip the process scan then. */
static int accel_refresh(struct source *source, unsigned groups, struct error *err)
{
    const struct card_source *s = (const struct card_source *)source;
    bool awake = false;
    for (size_t i = 0; i < s->cards.count && !awake; i++)
        awake = drm_card_power(&s->cards.slots[i].card, s->env) == CARD_AWAKE;
    return awake ? card_source_refresh(source, groups, err) : 0;
}

/* Drivers don't say where each of several sensors is: take the hottest. */
static struct reading hottest(struct attrs *hwmon, char basis[GPU_TEXT_SIZE])
{
    enum { SENSORS_MAX = 32 };
    struct reading most = attrs_reading(hwmon, "temp1_input", 1, 1);
    int count = 1;
    for (; count < SENSORS_MAX; count++) {
        struct reading next = hwmon_reading(hwmon, "temp", count + 1, "_input", 1, 1);
        if (next.state != READING_OK)
            break;
        if (most.state != READING_OK || next.value > most.value)
            most = next;
    }
    snprintf(basis, GPU_TEXT_SIZE, "hottest of %d sensors", count);
    if (count == 1)
        basis[0] = '\0';
    return most;
}

static void read_sensors(struct attrs *device, struct gpu *out)
{
    struct attrs hwmon;
    char basis[GPU_TEXT_SIZE];
    hwmon_find(device, &hwmon);
    out->temp_mdegc = hottest(&hwmon, basis);
    if (basis[0])
        gpu_set_property(out, PROPERTY_temperature_basis, basis);
    out->temp_limit_mdegc = attrs_reading(&hwmon, "temp1_crit", 1, 1);
    out->voltage_mv = attrs_reading(&hwmon, "in0_input", 1, 1);
    out->fan_rpm = attrs_reading(&hwmon, "fan1_input", 1, 1);
    /* Of several sensors, none is labeled as the whole board's. */
    if (!attrs_exists(&hwmon, "power2_input"))
        out->power_mw = attrs_reading(&hwmon, "power1_input", 1, 1000);
}

/* Load and memory of the clients, if the driver's own files lack them. */
static void read_clients(struct accel *s, const struct drm_card *card, bool shares, unsigned groups, struct gpu *out)
{
    struct drm_load load;
    drm_scan_fill(s->base.scan, card, shares, out, &load);
    for (size_t i = 0; i < out->process_count; i++)
        out->processes[i].type = PROCESS_COMPUTE;
    if (!(groups & GROUP_FAST))
        return;
    if (shares)
        shared_memory_fill(s->base.env, &(struct shared_memory){0}, out);
    if (load.state != READING_OK)
        return;
    if (load.busy_permille.state == READING_OK && (load.clients || !load.hidden)) {
        out->util_permille = load.busy_permille;
        gpu_set_property(out, PROPERTY_utilization_basis, load.hidden ? "fdinfo of visible processes" : "fdinfo");
    }
    if (shares && load.has_system)
        out->mem_used_bytes = load.hidden ? reading_absent(READING_DENIED) : reading_ok((int64_t)load.system_bytes);
}

static void read_awake(struct accel *s, size_t which, unsigned groups, struct gpu *out)
{
    const struct drm_card *card = &s->base.cards.slots[which].card;
    const struct accel_driver *driver = accel_driver_of(card->driver);
    struct attrs own, device;
    drm_card_attrs(card, s->base.env, &own);
    drm_device_attrs(card, s->base.env, &device);
    if (groups & (GROUP_FAST | GROUP_PROCESS))
        read_clients(s, card, driver->shares_memory, groups, out);
    if (groups & GROUP_FAST)
        read_sensors(&device, out);
    if (card->pci_address[0])
        pcie_link(card, s->base.env, false, groups, out);
    if (driver->read)
        driver->read(&own, &device, &s->busy[which], groups, out);
    if (!(groups & GROUP_STATIC))
        return;
    drm_card_properties(card, s->base.env, out);
    if (gpu_architecture(card))
        gpu_set_property(out, PROPERTY_architecture, gpu_architecture(card));
}

static void accel_sample(struct source *source, size_t which, unsigned groups, struct gpu *out)
{
    struct accel *s = (struct accel *)source;
    const struct drm_card *card = &s->base.cards.slots[which].card;
    enum card_power power = card_source_power(&s->base, which);
    if (power == CARD_AWAKE) {
        read_awake(s, which, groups, out);
        power = drm_card_power(card, s->base.env); /* it may be gone or asleep meanwhile */
    }
    if (power != CARD_AWAKE)
        s->busy[which].known = false;
    if (card_source_rests(&s->base, power, out))
        drm_card_properties(card, s->base.env, out);
}

static void accel_describe(struct source *source, struct buf *out)
{
    const struct card_source *s = (const struct card_source *)source;
    for (size_t i = 0; i < s->cards.count; i++)
        buf_printf(out, "%s, driver %s, %s\n", s->cards.slots[i].card.name, s->cards.slots[i].card.driver,
                   device_kind_name(accel_driver_of(s->cards.slots[i].card.driver)->kind));
}

const struct source_ops accel_source = {
    .name = "accel",
    .what = "NPUs and accelerators through the kernel's files",
    .automatic = true,
    .reads_files = true,
    .open = accel_open,
    .presence = drm_cards_signature,
    .list = card_source_list,
    .refresh = accel_refresh,
    .sample = accel_sample,
    .changed = card_source_changed,
    .describe = accel_describe,
    .close = card_source_close,
};
