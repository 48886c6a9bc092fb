/* SPDX-License-Identifier: Apache-2.0
 * Finds sensors in sysfs: hwmon, devfreq and thermal zones, and those of the host for GPUs without their own: laptops, and
 * integrated graphics.
 */
#include "source/sysfs/sensors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* ---- hwmon: by label, never by number ---- */

enum { CHANNELS_MAX = 16 };

bool hwmon_find(const struct attrs *device, struct attrs *ret)
{
    *ret = (struct attrs){.env = device->env};
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/hwmon", device->path);
    AUTO_DIR DIR *dir = device->path[0] ? dir_open(device->env, path) : NULL;
    if (!dir)
        return false;
    struct dirent *entry;
    while ((entry = readdir(dir)))
        if (strncmp(entry->d_name, "hwmon", 5) == 0 &&
            attrs_init(ret, device->env, "%s/hwmon/%s", device->path, entry->d_name) == 0)
            return true;
    return false;
}

int hwmon_channel(struct attrs *hwmon, const char *kind, const char *label)
{
    char name[ATTR_NAME_SIZE], text[ATTR_NUMBER_SIZE];
    for (int n = 0; n < CHANNELS_MAX; n++) {
        snprintf(name, sizeof name, "%s%d_label", kind, n);
        if (attrs_text(hwmon, name, text, sizeof text) > 0 && strcmp(text, label) == 0)
            return n;
    }
    return -1;
}

struct reading hwmon_reading(struct attrs *hwmon, const char *kind, int channel, const char *suffix, int64_t multiply,
                             int64_t divide)
{
    char name[ATTR_NAME_SIZE];
    if (channel < 0)
        return reading_absent(READING_UNSUPPORTED);
    snprintf(name, sizeof name, "%s%d%s", kind, channel, suffix);
    return attrs_reading(hwmon, name, multiply, divide);
}

enum { ZONES_LOOKED_AT = 64, COOLERS_MAX = 16 };

/* ---- devfreq ---- */

static bool link_ends(const struct env *env, const char *path, const char *name)
{
    char target[PATH_SIZE];
    const char *last = file_read_link(env, path, target, sizeof target) > 0 ? strrchr(target, '/') : NULL;
    return last && strcmp(last + 1, name) == 0;
}

bool devfreq_find(const struct env *env, const char *device, const char *driver, struct attrs *ret)
{
    AUTO_DIR DIR *all = dir_open(env, "/sys/class/devfreq");
    for (struct dirent *entry; all && (entry = readdir(all));) {
        char path[PATH_SIZE];
        if (entry->d_name[0] == '.' || strlen(entry->d_name) > 64)
            continue;
        snprintf(path, sizeof path, "/sys/class/devfreq/%s/device/driver", entry->d_name);
        if (driver ? link_ends(env, path, driver) : strcmp(entry->d_name, device) == 0)
            return attrs_init(ret, env, "/sys/class/devfreq/%s", entry->d_name) == 0;
    }
    return false;
}

void devfreq_read(struct attrs *devfreq, unsigned groups, struct gpu *out)
{
    if (groups & GROUP_FAST)
        out->clock_graphics_khz = attrs_reading(devfreq, "cur_freq", 1, 1000);
    if (groups & GROUP_STATIC)
        out->clock_graphics_max_khz = attrs_reading(devfreq, "max_freq", 1, 1000);
}

/* ---- thermal zones ---- */

static bool is_type(const char *type, const char *const *types, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(types[i]);
        if (types[i][len - 1] == '*' ? strncmp(type, types[i], len - 1) == 0 : strcmp(type, types[i]) == 0)
            return true;
    }
    return false;
}

/* Zone numbers have no gaps. */
static bool zone_at(const struct env *env, int number, struct attrs *zone, char type[GPU_TEXT_SIZE])
{
    return number < ZONES_LOOKED_AT && attrs_init(zone, env, "/sys/class/thermal/thermal_zone%d", number) == 0 &&
           attrs_text(zone, "type", type, GPU_TEXT_SIZE) > 0;
}

static void take_zone(struct attrs *zone, const char *type, struct reading *hottest, char basis[GPU_TEXT_SIZE])
{
    struct reading now = attrs_reading(zone, "temp", 1, 1);
    if (hottest->state == READING_OK && (now.state != READING_OK || now.value <= hottest->value))
        return;
    *hottest = now;
    snprintf(basis, GPU_TEXT_SIZE, "thermal zone %.*s", GPU_TEXT_SIZE - 16, type);
}

struct reading thermal_zone_read(const struct env *env, const char *const *types, size_t count, char basis[GPU_TEXT_SIZE])
{
    struct reading hottest = reading_absent(READING_UNSUPPORTED);
    struct attrs zone;
    char type[GPU_TEXT_SIZE];
    for (int i = 0; zone_at(env, i, &zone, type); i++)
        if (is_type(type, types, count))
            take_zone(&zone, type, &hottest, basis);
    return hottest;
}

/* The kernel names a cooling device "devfreq-DEVICE", and a zone links to those it uses. */
static bool cools_by(struct attrs *zone, const char *wanted)
{
    char name[32], type[GPU_TEXT_SIZE];
    for (int i = 0; i < COOLERS_MAX; i++) {
        snprintf(name, sizeof name, "cdev%d/type", i);
        if (attrs_text(zone, name, type, sizeof type) > 0 && strcmp(type, wanted) == 0)
            return true;
    }
    return false;
}

struct reading thermal_zone_of_device(const struct env *env, const char *device, char basis[GPU_TEXT_SIZE])
{
    struct reading hottest = reading_absent(READING_UNSUPPORTED);
    struct attrs zone;
    char type[GPU_TEXT_SIZE], wanted[GPU_TEXT_SIZE];
    snprintf(wanted, sizeof wanted, "devfreq-%.*s", GPU_TEXT_SIZE - 16, device);
    for (int i = 0; zone_at(env, i, &zone, type); i++)
        if (cools_by(&zone, wanted))
            take_zone(&zone, type, &hottest, basis);
    return hottest;
}

/* ---- the host around the GPU ---- */

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

/* ---- The fan of a laptop's GPU. It belongs to the laptop, so the GPU's driver doesn't know it; some platform drivers (Dell, ASUS,
 * Framework) show it in hwmon with a label. Reading it doesn't touch the card. ---- */

static bool is_laptop(const struct env *env)
{
    /* SMBIOS: portable, laptop, notebook, sub-notebook, convertible, detachable */
    static const int64_t kinds[] = {8, 9, 10, 14, 31, 32};
    int64_t kind;
    if (file_read_i64(env, "/sys/class/dmi/id/chassis_type", &kind) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i] == kind)
            return true;
    return false;
}

/* "GPU Fan", "gpu_fan", "Video Fan" */
static bool names_gpu_fan(const char *label)
{
    return strcasestr(label, "gpu") || strcasestr(label, "video");
}

/* The path of fanN_input whose label names the GPU. */
static bool fan_of_gpu(const struct env *env, const char *hwmon, char path[LAPTOP_FAN_SIZE])
{
    char folder[64], label[64], file[128];
    snprintf(folder, sizeof folder, "/sys/class/hwmon/%.32s", hwmon);
    AUTO_DIR DIR *dir = dir_open(env, folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        unsigned number;
        char end;
        if (sscanf(entry->d_name, "fan%u_labe%c", &number, &end) != 2 || end != 'l')
            continue;
        snprintf(file, sizeof file, "%s/fan%u_label", folder, number);
        if (file_read_head(env, file, label, sizeof label) > 0 && names_gpu_fan(label)) {
            snprintf(path, LAPTOP_FAN_SIZE, "%s/fan%u_input", folder, number);
            return true;
        }
    }
    return false;
}

bool laptop_fan_find(const struct env *env, char path[LAPTOP_FAN_SIZE])
{
    path[0] = '\0';
    if (!is_laptop(env))
        return true;
    AUTO_DIR DIR *dir = dir_open(env, "/sys/class/hwmon");
    bool looked = dir || is_gone(-errno);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, "hwmon", 5) == 0 && fan_of_gpu(env, entry->d_name, path))
            break;
    return looked;
}
