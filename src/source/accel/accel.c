/* SPDX-License-Identifier: Apache-2.0
 * The accel source: NPUs and accelerators from kernel files. read.c reads their drivers' own files; this file reads what the
 * kernel provides for all of them: power state, processes, sensors. Sleeping devices are left alone.
 */
#include "source/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/accel/accel_read.h"
#include "source/drm/scan.h"
#include "source/sysfs/hwmon.h"
#include "source/sysfs/shared_memory.h"

struct accel {
    struct source source;
    const struct env *env;
    struct card_list cards;
    struct drm_scan *scan;
    struct busy_time busy[GPU_MAX];
};

static void accel_close(struct source *source)
{
    struct accel *s = (struct accel *)source;
    if (!s)
        return;
    drm_scan_unref(s->scan);
    card_list_done(&s->cards);
    free(s);
}

static int accel_check(const char *params, struct error *err)
{
    return params[0] ? error_set(err, -EINVAL, "the accel source takes no parameters") : 0;
}

static int accel_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    int wrong = accel_check(params, err);
    if (wrong < 0)
        return wrong;
    struct card_list cards = {0};
    int count = card_list_update(&cards, env, card_is_accelerator);
    struct accel *s = count > 0 ? calloc(1, sizeof *s) : NULL;
    struct drm_scan *scan = s ? drm_scan_ref(env) : NULL;
    if (!scan) {
        free(s);
        card_list_done(&cards);
        return count < 0    ? error_set(err, count, "cannot read /sys/class/accel: %s", strerror(-count))
               : count == 0 ? error_set(err, -ENODEV, "no NPU or accelerator in /sys/class/accel")
                            : error_set(err, -ENOMEM, "out of memory");
    }
    s->source.ops = &accel_source;
    s->env = env;
    s->cards = cards;
    s->scan = scan;
    *ret = &s->source;
    return 0;
}

static int accel_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct accel *s = (struct accel *)source;
    int count = card_list_update(&s->cards, s->env, card_is_accelerator);
    for (int i = 0; i < count && (size_t)i < max; i++) {
        const struct drm_card *card = &s->cards.slots[i].card;
        struct attrs own;
        drm_card_attrs(card, s->env, &own);
        ids[i] = (struct gpu_id){.kind = accel_driver_of(card->driver)->kind};
        str_copy(ids[i].pci_address, sizeof ids[i].pci_address, str_from(card->pci_address));
        str_copy(ids[i].vendor, sizeof ids[i].vendor, str_from(gpu_vendor(card)));
        gpu_name_find(s->env, card, ids[i].name);
        accel_board_name(&own, ids[i].name);
    }
    return count < 0 ? count : (int)MIN_OF((size_t)count, max);
}

/* NPUs sleep most of the time: skip the process scan then. */
static int accel_refresh(struct source *source, unsigned groups, struct error *err)
{
    (void)err;
    struct accel *s = (struct accel *)source;
    bool awake = false;
    for (size_t i = 0; i < s->cards.count && !awake; i++)
        awake = drm_card_power(&s->cards.slots[i].card, s->env) == CARD_AWAKE;
    if (awake && (groups & (GROUP_FAST | GROUP_PROCESS)))
        drm_scan_refresh(s->scan);
    return 0;
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
    drm_scan_fill(s->scan, card, shares, out, &load);
    for (size_t i = 0; i < out->process_count; i++)
        out->processes[i].type = PROCESS_COMPUTE;
    if (!(groups & GROUP_FAST))
        return;
    if (shares)
        shared_memory_fill(s->env, &(struct shared_memory){0}, out);
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
    const struct drm_card *card = &s->cards.slots[which].card;
    const struct accel_driver *driver = accel_driver_of(card->driver);
    struct attrs own, device;
    drm_card_attrs(card, s->env, &own);
    drm_device_attrs(card, s->env, &device);
    if (groups & (GROUP_FAST | GROUP_PROCESS))
        read_clients(s, card, driver->shares_memory, groups, out);
    if (groups & GROUP_FAST)
        read_sensors(&device, out);
    if (card->pci_address[0])
        pcie_link(card, s->env, false, groups, out);
    if (driver->read)
        driver->read(&own, &device, &s->busy[which], groups, out);
    if (!(groups & GROUP_STATIC))
        return;
    drm_card_properties(card, s->env, out);
    if (gpu_architecture(card))
        gpu_set_property(out, PROPERTY_architecture, gpu_architecture(card));
}

static void accel_sample(struct source *source, size_t which, unsigned groups, struct gpu *out)
{
    struct accel *s = (struct accel *)source;
    const struct card_slot *slot = &s->cards.slots[which];
    enum card_power power = slot->present ? drm_card_power(&slot->card, s->env) : CARD_GONE;
    if (power == CARD_AWAKE) {
        read_awake(s, which, groups, out);
        power = drm_card_power(&slot->card, s->env); /* it may be gone or asleep meanwhile */
    }
    if (power == CARD_AWAKE)
        return;
    gpu_done(out);
    s->busy[which].known = false;
    if (power == CARD_GONE) {
        gpu_mark_state(out, GPU_LOST, "it was removed or its driver unbound");
        return;
    }
    gpu_mark_state(out, GPU_ASLEEP, NULL);
    drm_card_properties(&slot->card, s->env, out);
}

static bool accel_changed(struct source *source)
{
    struct accel *s = (struct accel *)source;
    return card_list_changed(&s->cards, s->env);
}

static void accel_describe(struct source *source, struct buf *out)
{
    struct accel *s = (struct accel *)source;
    for (size_t i = 0; i < s->cards.count; i++)
        buf_printf(out, "%s, driver %s, %s\n", s->cards.slots[i].card.name, s->cards.slots[i].card.driver,
                   device_kind_name(accel_driver_of(s->cards.slots[i].card.driver)->kind));
}

const struct source_ops accel_source = {
    .name = "accel",
    .what = "NPUs and accelerators through the kernel's files",
    .automatic = true,
    .reads_files = true,
    .check = accel_check,
    .open = accel_open,
    .presence = drm_cards_signature,
    .list = accel_list,
    .refresh = accel_refresh,
    .sample = accel_sample,
    .changed = accel_changed,
    .describe = accel_describe,
    .close = accel_close,
};
