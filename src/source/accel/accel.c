/* SPDX-License-Identifier: Apache-2.0
 * The accel source: NPUs and accelerators from kernel files. read.c reads their drivers' own files; this file reads what the
 * kernel provides for all of them: power state, processes, sensors. Sleeping devices are left alone.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "source/accel/accel_read.h"
#include "source/drm/card_source.h"
#include "source/sysfs/hwmon.h"
#include "source/sysfs/shared_memory.h"

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
