/* SPDX-License-Identifier: Apache-2.0
 * See devfreq.h.
 */
#include "source/sysfs/devfreq.h"

#include <stdio.h>
#include <string.h>

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
