/* SPDX-License-Identifier: Apache-2.0
 * Which cards are asleep, from sysfs, without touching them. A laptop's second GPU costs 5 to 10 W and a fan when it is kept
 * awake, and an open NVML is enough to do that.
 */
#include "source/nvml/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

enum { STATUS_SIZE = 32 };

static bool is_address(const char *name)
{
    unsigned domain, bus, device, function;
    char end;
    return sscanf(name, "%x:%x:%x.%x%c", &domain, &bus, &device, &function, &end) == 4 && strlen(name) < GPU_PCI_SIZE;
}

static bool reads(const struct env *env, const char *address, const char *file, char text[STATUS_SIZE])
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", address, file);
    ssize_t len = file_read(env, path, text, STATUS_SIZE);
    if (len <= 0)
        return false;
    str_copy(text, STATUS_SIZE, str_trim((struct str){text, (size_t)len}));
    return true;
}

static bool is_nvidia_gpu(const struct env *env, const char *address)
{
    char text[STATUS_SIZE];
    return reads(env, address, "vendor", text) && strcmp(text, "0x10de") == 0 && reads(env, address, "class", text) &&
           strncmp(text, "0x03", 4) == 0;
}

bool sleep_is_suspended(const struct env *env, const char *address, bool *ret_never)
{
    char text[STATUS_SIZE];
    bool known = reads(env, address, "power/runtime_status", text);
    if (ret_never)
        *ret_never = !known || strcmp(text, "unsupported") == 0;
    return known && (strcmp(text, "suspended") == 0 || strcmp(text, "suspending") == 0);
}

static int by_address(const void *a, const void *b)
{
    return strcmp(((const struct nvml_seen *)a)->address, ((const struct nvml_seen *)b)->address);
}

static size_t scan(const struct env *env, const char *folder, struct nvml_seen *seen, size_t max)
{
    AUTO_DIR DIR *dir = dir_open(env, folder);
    size_t count = 0;
    for (struct dirent *entry; dir && count < max && (entry = readdir(dir));) {
        if (!is_address(entry->d_name) || !is_nvidia_gpu(env, entry->d_name))
            continue;
        str_copy(seen[count].address, sizeof seen[count].address, str_from(entry->d_name));
        seen[count].asleep = sleep_is_suspended(env, entry->d_name, NULL);
        count++;
    }
    return count;
}

size_t sleep_scan(const struct env *env, struct nvml_seen *seen, size_t max)
{
    /* The driver's own folder holds a few entries, the bus may hold hundreds. */
    size_t count = scan(env, "/sys/bus/pci/drivers/nvidia", seen, max);
    if (count == 0)
        count = scan(env, "/sys/bus/pci/devices", seen, max);
    qsort(seen, count, sizeof *seen, by_address);
    return count;
}

/* The driver's text file about a card does not wake it. */
void sleep_identify(const struct env *env, const char *address, struct gpu_id *id)
{
    char path[PATH_SIZE], text[1024], vendor[STATUS_SIZE];
    str_copy(id->vendor, sizeof id->vendor, STR("nvidia"));
    str_copy(id->pci_address, sizeof id->pci_address, str_from(address));
    snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", address);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    struct str rest = {text, len > 0 ? (size_t)len : 0}, line, key;
    while (str_cut(&rest, '\n', &line)) {
        if (!str_cut(&line, ':', &key))
            continue;
        struct str value = str_trim(line);
        if (str_is(str_trim(key), "Model"))
            str_copy_clean(id->name, sizeof id->name, value);
        else if (str_is(str_trim(key), "GPU UUID") && !str_contains(value, "?"))
            str_copy_clean(id->uuid, sizeof id->uuid, value); /* question marks until the driver has initialised the card */
    }
    if (!id->name[0] && reads(env, address, "device", vendor))
        snprintf(id->name, sizeof id->name, "NVIDIA GPU 10de:%s", vendor[0] == '0' && vendor[1] == 'x' ? vendor + 2 : vendor);
}

void sleep_update(struct nvml *n, struct nvml_card *card)
{
    if (!card->id.pci_address[0] || card->never_sleeps)
        return;
    card->asleep = sleep_is_suspended(n->env, card->id.pci_address, &card->never_sleeps);
}

void sleep_note(struct nvml *n, struct nvml_card *card, const struct gpu *out)
{
    (void)n, (void)card, (void)out;
}
