/* SPDX-License-Identifier: Apache-2.0
 * Fans and sensors of the host, for GPUs without their own: laptops, and integrated graphics.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/sysfs/hwmon.h"

enum { FANS_MAX = 8, LOOK_EVERY_MS = 10000 };

/* hwmon names of embedded controllers. Their fans cool CPU and GPU together. */
static const char *const laptop_controllers[] = {
    "thinkpad",     "asus",          "asus_custom_fan_curve", "dell_smm",         "dell_ddv",         "hp",
    "acer",         "applesmc",      "surface_fan",           "framework_laptop", "cros_ec",          "legion",
    "legion_hwmon", "steamdeck",     "steamdeck_hwmon",       "msi_wmi_platform", "lenovo_wmi_other", "gpd_fan",
    "oxp_ec",       "system76_acpi",
};

static bool is_laptop_controller(const char *name)
{
    return NAME_IN(laptop_controllers, str_from(name));
}

/* Fans of graphics drivers belong to their cards. */
static bool is_gpu_driver(const char *name)
{
    static const char *const drivers[] = {"amdgpu", "radeon", "i915", "xe", "nouveau"};
    return NAME_IN(drivers, str_from(name));
}

static bool speaks_of_gpu(const char *label)
{
    return strcasestr(label, "gpu") || strcasestr(label, "video") || strcasestr(label, "graphics");
}

/* Calls `visit` for each hwmon directory of the host until it returns false. */
static void each_hwmon(const struct env *env, bool (*visit)(struct attrs *, const char *name, void *), void *context)
{
    AUTO_DIR DIR *dir = dir_open(env, "/sys/class/hwmon");
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct attrs hwmon;
        char name[32];
        if (strncmp(entry->d_name, "hwmon", 5) != 0 || attrs_init(&hwmon, env, "/sys/class/hwmon/%s", entry->d_name) < 0)
            continue;
        if (attrs_text(&hwmon, "name", name, sizeof name) > 0 && !visit(&hwmon, name, context))
            return;
    }
}

struct fan_search {
    struct platform_fan best;
    int rank; /* 2: its label names a GPU, 1: a laptop's fan */
};

static struct reading fan_share(struct attrs *hwmon, int fan, struct reading rpm)
{
    int64_t now, most;
    if (reading_get(rpm, &now) && reading_get(hwmon_reading(hwmon, "fan", fan, "_max", 1, 1), &most) && most > 0)
        return reading_ok(MIN_OF(now * 1000 / most, (int64_t)1000));
    return hwmon_reading(hwmon, "pwm", fan, "", 1000, 255);
}

static bool look_for_fans(struct attrs *hwmon, const char *name, void *context)
{
    struct fan_search *search = context;
    if (is_gpu_driver(name))
        return true;
    bool laptop = is_laptop_controller(name);
    for (int fan = 1; fan <= FANS_MAX; fan++) {
        char attribute[ATTR_NAME_SIZE], label[ATTR_NUMBER_SIZE] = "";
        snprintf(attribute, sizeof attribute, "fan%d_label", fan);
        attrs_text(hwmon, attribute, label, sizeof label);
        int rank = speaks_of_gpu(label) ? 2 : laptop ? 1 : 0;
        if (rank == 0 || rank < search->rank)
            continue;
        struct reading rpm = hwmon_reading(hwmon, "fan", fan, "_input", 1, 1);
        if (rpm.state != READING_OK || rpm.value < 0)
            continue;
        if (rank == search->rank && rpm.value <= reading_or(search->best.rpm, -1))
            continue;
        search->rank = rank;
        search->best = (struct platform_fan){.rpm = rpm, .permille = fan_share(hwmon, fan, rpm)};
        snprintf(search->best.basis, sizeof search->best.basis, "platform: %s fan%d", name, fan);
    }
    return true;
}

static bool platform_gpu_fan(const struct env *env, struct platform_fan *ret)
{
    struct fan_search search = {0};
    each_hwmon(env, look_for_fans, &search);
    if (search.rank == 0)
        return false;
    *ret = search.best;
    return true;
}

static bool look_for_temperature(struct attrs *hwmon, const char *name, void *context)
{
    static const struct {
        const char *name, *label;
    } sensors[] = {{"coretemp", "Package id 0"}, {"k10temp", "Tdie"}, {"k10temp", "Tctl"}};
    struct platform_temperature *found = context;
    for (size_t i = 0; i < ARRAY_LEN(sensors); i++) {
        if (strcmp(name, sensors[i].name) != 0)
            continue;
        int channel = hwmon_channel(hwmon, "temp", sensors[i].label);
        found->mdegc = hwmon_reading(hwmon, "temp", channel, "_input", 1, 1);
        if (found->mdegc.state != READING_OK)
            continue;
        snprintf(found->basis, sizeof found->basis, "platform: %s %s", name, sensors[i].label);
        return false;
    }
    return true;
}

static bool platform_cpu_temperature(const struct env *env, struct platform_temperature *ret)
{
    *ret = (struct platform_temperature){0};
    each_hwmon(env, look_for_temperature, ret);
    return ret->mdegc.state == READING_OK;
}

void platform_update(struct platform *p, const struct env *env)
{
    struct mono now = clock_mono(env->clock);
    if (p->known && mono_since_ms(now, p->looked) < LOOK_EVERY_MS)
        return;
    p->known = true;
    p->looked = now;
    p->has_fan = platform_gpu_fan(env, &p->fan);
    p->has_temperature = platform_cpu_temperature(env, &p->temperature);
}

void platform_fill_fan(const struct platform *p, struct gpu *out)
{
    if (!p->has_fan)
        return;
    out->fan_rpm = p->fan.rpm;
    out->fan_permille = p->fan.permille;
    gpu_set_property(out, PROPERTY_fan_basis, p->fan.basis);
}
