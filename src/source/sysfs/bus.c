/* SPDX-License-Identifier: Apache-2.0
 * Reads /sys/bus/pci/devices, and knows which display controllers a source should show.
 */
#include "source/sysfs/bus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/sysfs/sysfs_card.h"

enum { BUS_GPUS_MAX = 64 };

static void read_text(const struct env *env, char *text, size_t size, const char *address, const char *file)
{
    struct attrs device;
    attrs_init(&device, env, "/sys/bus/pci/devices/%s", address);
    if (attrs_text(&device, file, text, size) < 0)
        text[0] = '\0';
}

static void read_hex_id(const struct env *env, char id[8], const char *address, const char *file)
{
    char text[16];
    read_text(env, text, sizeof text, address, file);
    str_copy_clean(id, 8, str_from(str_starts(str_from(text), "0x") ? text + 2 : text));
}

static void read_driver(const struct env *env, char driver[32], const char *address)
{
    char path[PATH_SIZE], target[PATH_SIZE];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", address);
    ssize_t len = file_read_link(env, path, target, sizeof target);
    const char *slash = len > 0 ? strrchr(target, '/') : NULL;
    str_copy_clean(driver, 32, len > 0 ? str_from(slash ? slash + 1 : target) : STR(""));
}

/* 0x03....: display controllers; 0x12....: processing accelerators, the class of some server cards. */
static bool is_gpu_class(const struct env *env, const char *address)
{
    char text[16];
    read_text(env, text, sizeof text, address, "class");
    return str_starts(str_from(text), "0x03") || str_starts(str_from(text), "0x12");
}

static int by_address(const void *a, const void *b)
{
    return strcmp(((const struct bus_gpu *)a)->pci_address, ((const struct bus_gpu *)b)->pci_address);
}

int bus_gpus(const struct env *env, struct bus_gpu *list, size_t max)
{
    AUTO_DIR DIR *bus = dir_open(env, "/sys/bus/pci/devices");
    size_t count = 0;
    if (!bus)
        return is_gone(-errno) ? 0 : -errno;
    for (struct dirent *entry; count < max && (entry = readdir(bus));) {
        if (strlen(entry->d_name) >= GPU_PCI_SIZE || !strchr(entry->d_name, ':') || !is_gpu_class(env, entry->d_name))
            continue;
        struct bus_gpu *gpu = &list[count++];
        *gpu = (struct bus_gpu){0};
        str_copy(gpu->pci_address, sizeof gpu->pci_address, str_from(entry->d_name));
        read_hex_id(env, gpu->vendor_id, entry->d_name, "vendor");
        read_hex_id(env, gpu->device_id, entry->d_name, "device");
        read_driver(env, gpu->driver, entry->d_name);
        read_text(env, gpu->power_state, sizeof gpu->power_state, entry->d_name, "power/runtime_status");
    }
    qsort(list, count, sizeof list[0], by_address);
    return (int)count;
}

const char *bus_container(const struct env *env)
{
    static const struct {
        const char *sign, *name;
    } groups[] = {{"docker", "docker"},
                  {"kubepods", "kubernetes"},
                  {"libpod", "podman"},
                  {"/lxc", "lxc"},
                  {"machine.slice", "systemd-nspawn"}};
    char text[4096];
    if (file_exists(env, "/.dockerenv"))
        return "docker";
    if (file_exists(env, "/run/.containerenv"))
        return "podman";
    if (file_read_head(env, "/proc/self/cgroup", text, sizeof text) > 0 ||
        file_read_head(env, "/proc/1/cgroup", text, sizeof text) > 0)
        for (size_t i = 0; i < ARRAY_LEN(groups); i++)
            if (strstr(text, groups[i].sign))
                return groups[i].name;
    /* A kernel's initial namespaces have these numbers; a container that hides its name has others. */
    static const struct {
        const char *path, *first;
    } spaces[] = {{"/proc/self/ns/cgroup", "cgroup:[4026531835]"}, {"/proc/self/ns/pid", "pid:[4026531836]"}};
    for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
        char target[64];
        ssize_t len = file_read_link(env, spaces[i].path, target, sizeof target);
        if (len > 0 && strcmp(target, spaces[i].first) != 0)
            return "container";
    }
    return "";
}

/* ---- GPUs that should be shown ---- */

static const char *module_of(const struct bus_gpu *gpu)
{
    return strcmp(gpu->vendor_id, "10de") == 0 ? "nvidia" : strcmp(gpu->vendor_id, "1002") == 0 ? "amdgpu" : NULL;
}

/* NVIDIA makes no graphics for server boards or inside CPUs. AMD's look like a card without a driver, but are the boot display. */
static const char *source_for(const struct env *env, const struct bus_gpu *gpu)
{
    char boot_vga[4];
    const char *module = module_of(gpu);
    if (!module)
        return NULL;
    if (strcmp(module, "nvidia") == 0)
        return "nvml";
    read_text(env, boot_vga, sizeof boot_vga, gpu->pci_address, "boot_vga");
    return strcmp(boot_vga, "1") != 0 ? "amdgpu" : NULL;
}

bool bus_is_cut_off(const struct env *env, const char *node)
{
    /* Mode and owner would say EACCES. */
    return !env_is_recorded(env) && access(node, R_OK | W_OK) < 0 && errno == EPERM;
}

/* If the device files exist but we may not open them (a job without GPUs on a host with some), the GPUs aren't expected. */
static bool is_denied(const struct env *env, const char *driver)
{
    const char *node = strcmp(driver, "nvidia") == 0 ? "/dev/nvidia0" : "/dev/kfd";
    return !env_is_recorded(env) && access(node, R_OK | W_OK) < 0 && (errno == EACCES || errno == EPERM);
}

/* The library reports this host: for a recorded bus, it counts only if the library was named explicitly. */
static bool bus_is_of_library(const struct env *env)
{
    bool named = strcmp(env->nvml_library, "libnvidia-ml.so.1") != 0;
    return env_is_recorded(env) == named && !bus_container(env)[0];
}

/* Passed through to a VM. */
static bool is_given_away(const char *driver)
{
    return strcmp(driver, "vfio-pci") == 0 || strcmp(driver, "pci-stub") == 0 || strcmp(driver, "pciback") == 0;
}

/* Any other driver passes the device to a VM, or another source reads it. */
static enum bus_place place_of(const struct env *env, const struct bus_gpu *gpu, char reason[GPU_ERROR_SIZE])
{
    const char *module = module_of(gpu);
    char path[64];
    reason[0] = '\0';
    if (is_given_away(gpu->driver))
        return BUS_GIVEN_AWAY;
    if (!module)
        return gpu->driver[0] ? BUS_DRIVEN : BUS_UNKNOWN;
    if (gpu->driver[0])
        return strcmp(gpu->driver, module) == 0 && !is_denied(env, module) ? BUS_DRIVEN : BUS_GIVEN_AWAY;
    snprintf(path, sizeof path, "/sys/module/%s", module);
    snprintf(reason, GPU_ERROR_SIZE,
             file_exists(env, path) ? "it is on the PCI bus, but its kernel driver (%s) does not take it"
                                    : "it is on the PCI bus, but its kernel driver (%s) is not loaded",
             module);
    return BUS_NO_DRIVER;
}

enum bus_place bus_find(const struct env *env, const char *pci_address, char reason[GPU_ERROR_SIZE])
{
    struct bus_gpu gpus[BUS_GPUS_MAX];
    reason[0] = '\0';
    bool seen = bus_is_of_library(env) && pci_address[0] && file_exists(env, "/sys/bus/pci/devices");
    int count = seen ? bus_gpus(env, gpus, ARRAY_LEN(gpus)) : -ENOENT;
    for (int i = 0; i < count; i++)
        if (strcmp(gpus[i].pci_address, pci_address) == 0)
            return place_of(env, &gpus[i], reason);
    if (count < 0 || count == BUS_GPUS_MAX)
        return BUS_UNKNOWN;
    snprintf(reason, GPU_ERROR_SIZE, "it was at %s and is no longer on the PCI bus", pci_address);
    return BUS_GONE;
}

static uint32_t hex_number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 16);
}

size_t bus_expected_gpus(const struct env *env, struct bus_expected *list, size_t max)
{
    struct bus_gpu gpus[BUS_GPUS_MAX];
    int found = bus_is_of_library(env) ? bus_gpus(env, gpus, ARRAY_LEN(gpus)) : 0;
    size_t count = 0;
    for (int i = 0; i < found && count < max; i++) {
        struct bus_expected *e = &list[count];
        *e = (struct bus_expected){.source = source_for(env, &gpus[i])};
        if (!e->source || place_of(env, &gpus[i], e->reason) == BUS_GIVEN_AWAY)
            continue;
        struct drm_card card = {.vendor = hex_number(gpus[i].vendor_id), .device = hex_number(gpus[i].device_id), .revision = -1};
        str_copy(e->id.pci_address, sizeof e->id.pci_address, str_from(gpus[i].pci_address));
        str_copy(e->id.vendor, sizeof e->id.vendor, str_from(gpu_vendor(&card)));
        gpu_name_find(env, &card, e->id.name);
        count++;
    }
    return count;
}
