/* SPDX-License-Identifier: Apache-2.0
 * The fan of a laptop's GPU. It belongs to the laptop, so NVML doesn't know it; some platform drivers (Dell, ASUS, Framework) show
 * it in hwmon with a label. Reading it doesn't touch the card.
 */
#include "source/nvml/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

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
static bool find_in(const struct env *env, const char *hwmon, char path[NVML_FAN_PATH_SIZE])
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
            snprintf(path, NVML_FAN_PATH_SIZE, "%s/fan%u_input", folder, number);
            return true;
        }
    }
    return false;
}

static void find_laptop_fan(struct nvml *n)
{
    n->laptop_fan_looked = true;
    if (n->total != 1 || !is_laptop(n->env))
        return; /* with several GPUs, its owner is unknown */
    AUTO_DIR DIR *dir = dir_open(n->env, "/sys/class/hwmon");
    n->laptop_fan_looked = dir || is_gone(-errno);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, "hwmon", 5) == 0 && find_in(n->env, entry->d_name, n->laptop_fan))
            return;
}

int laptop_fan_rpm(struct nvml *n, int64_t *rpm)
{
    if (!n->laptop_fan_looked)
        find_laptop_fan(n);
    if (!n->laptop_fan[0])
        return NVML_NOT_SUPPORTED;
    return file_read_i64(n->env, n->laptop_fan, rpm) < 0 || *rpm < 0 ? NVML_UNKNOWN : NVML_OK;
}
