/* SPDX-License-Identifier: Apache-2.0
 * The hwmon directory of a device, by label, never by number.
 */
#include "source/sysfs/hwmon.h"

#include <stdio.h>

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
