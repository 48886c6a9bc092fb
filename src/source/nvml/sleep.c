/* SPDX-License-Identifier: Apache-2.0
 * Cards that sleep, and letting them: known from sysfs, without touching them. Keeping a laptop's second GPU awake costs 5 to 10 W
 * and a fan, and an open NVML suffices to do that.
 */
#include "source/nvml/internal.h"

#include <errno.h>
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

static int read_text(const struct env *env, const char *address, const char *file, char text[STATUS_SIZE])
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", address, file);
    ssize_t len = file_read(env, path, text, STATUS_SIZE);
    str_copy(text, STATUS_SIZE, str_trim((struct str){text, len > 0 ? (size_t)len : 0}));
    return len > 0 ? 0 : len < 0 ? (int)len : -ENOENT;
}

static bool reads(const struct env *env, const char *address, const char *file, char text[STATUS_SIZE])
{
    return read_text(env, address, file, text) == 0;
}

/* 1 or 0; negative: unreadable. */
static int is_nvidia_gpu(const struct env *env, const char *address)
{
    char vendor[STATUS_SIZE], class[STATUS_SIZE] = "";
    int rc = read_text(env, address, "vendor", vendor);
    if (rc == 0 && strcmp(vendor, "0x10de") == 0)
        rc = read_text(env, address, "class", class);
    return rc < 0 && !is_gone(rc) ? rc : strncmp(class, "0x03", 4) == 0;
}

static bool is_suspended(const char *status)
{
    return strcmp(status, "suspended") == 0 || strcmp(status, "suspending") == 0;
}

static bool sleep_is_suspended(const struct env *env, const char *address, bool *ret_never)
{
    char text[STATUS_SIZE];
    bool known = reads(env, address, "power/runtime_status", text);
    if (ret_never)
        *ret_never = !known || strcmp(text, "unsupported") == 0;
    return known && is_suspended(text);
}

static int by_address(const void *a, const void *b)
{
    return strcmp(((const struct nvml_seen *)a)->address, ((const struct nvml_seen *)b)->address);
}

static int scan(const struct env *env, const char *folder, struct nvml_seen *seen, size_t max)
{
    AUTO_DIR DIR *dir = dir_open(env, folder);
    size_t count = 0;
    if (!dir)
        return is_gone(-errno) ? 0 : -errno;
    for (struct dirent *entry; count < max && (entry = readdir(dir));) {
        int is = is_address(entry->d_name) ? is_nvidia_gpu(env, entry->d_name) : 0;
        if (is < 0)
            return is;
        if (!is)
            continue;
        char status[STATUS_SIZE];
        int rc = read_text(env, entry->d_name, "power/runtime_status", status);
        if (rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
            return rc; /* don't wake one that may be asleep */
        str_copy(seen[count].address, sizeof seen[count].address, str_from(entry->d_name));
        seen[count].asleep = is_suspended(status);
        count++;
    }
    return (int)count;
}

int sleep_scan(const struct env *env, struct nvml_seen *seen, size_t max)
{
    /* The driver's directory has a few entries, the bus may have hundreds. */
    int count = scan(env, "/sys/bus/pci/drivers/nvidia", seen, max);
    if (count == 0)
        count = scan(env, "/sys/bus/pci/devices", seen, max);
    if (count > 0)
        qsort(seen, (size_t)count, sizeof *seen, by_address);
    return count;
}

/* The driver's text file about a card doesn't wake it. */
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
            str_copy_clean(id->uuid, sizeof id->uuid, value); /* question marks until the driver has initialized the card */
    }
    if (!id->name[0] && reads(env, address, "device", vendor))
        snprintf(id->name, sizeof id->name, "NVIDIA GPU 10de:%s", vendor[0] == '0' && vendor[1] == 'x' ? vendor + 2 : vendor);
}

void sleep_driver_version(const struct env *env, char *version, size_t size)
{
    char text[STATUS_SIZE];
    ssize_t len = file_read(env, "/sys/module/nvidia/version", text, sizeof text);
    if (len > 0)
        str_copy_clean(version, size, str_trim((struct str){text, (size_t)len}));
}

/* Letting a card sleep. NVML calls keep a card awake, so a monitor that only reads the status would be the reason why it never
 * changes. A card that may sleep (power/control is "auto") and was idle for a while is left alone for some seconds; if it doesn't
 * fall asleep, something else keeps it awake and later attempts become rarer.
 *
 *   idle 30 s ──▶ resting, at most 15 s ──▶ suspended: asleep
 *                        └──▶ still active: sampled again; next rest after 1, 2, 4 ... 16 minutes */
enum { IDLE_MS = 30000, REST_MS = 15000, AGAIN_MS = 60000, VAIN_MAX = 4 };

static struct mono later(struct mono now, int64_t ms)
{
    return (struct mono){now.ns + ms * NS_PER_MS};
}

static void end_rest(struct nvml_card *card, struct mono now)
{
    card->resting = false;
    card->idle_since = (struct mono){0};
    if (card->asleep) {
        card->rests_in_vain = 0;
        return;
    }
    card->rest_again = later(now, (int64_t)AGAIN_MS << MIN_OF(card->rests_in_vain, (int)VAIN_MAX));
    card->rests_in_vain++;
}

void sleep_update(struct nvml *n, struct nvml_card *card)
{
    if (!card->id.pci_address[0] || card->never_sleeps)
        return;
    struct mono now = clock_mono(n->env->clock);
    card->asleep = sleep_is_suspended(n->env, card->id.pci_address, &card->never_sleeps);
    if (card->resting && (card->asleep || now.ns >= card->rest_until.ns))
        end_rest(card, now);
    else if (card->asleep)
        card->idle_since = (struct mono){0};
}

static bool is_idle(const struct gpu *out)
{
    if (reading_or(out->util_permille, 1) != 0 || out->instance_count)
        return false;
    for (size_t i = 0; i < out->process_count; i++)
        if (out->processes[i].type & PROCESS_COMPUTE)
            return false; /* a process holds memory, so the card couldn't power down anyway */
    return true;
}

void sleep_note(struct nvml *n, struct nvml_card *card, const struct gpu *out)
{
    if (card->never_sleeps || !card->id.pci_address[0] || out->processes_state != READING_OK)
        return;
    struct mono now = clock_mono(n->env->clock);
    if (!is_idle(out)) {
        card->idle_since = (struct mono){0};
        card->rests_in_vain = 0;
        return;
    }
    if (card->idle_since.ns == 0)
        card->idle_since = now;
    char control[STATUS_SIZE];
    if (mono_since_ms(now, card->idle_since) < IDLE_MS || now.ns < card->rest_again.ns ||
        !reads(n->env, card->id.pci_address, "power/control", control) || strcmp(control, "auto") != 0)
        return;
    card->resting = true;
    card->rest_until = later(now, REST_MS);
}

/* Appends cards hot-plugged since the last scan. In a container, sysfs also shows the host's other cards: those present and
 * hidden at the start stay hidden. */
bool sleep_find_new(struct nvml *n, char address[GPU_PCI_SIZE])
{
    struct nvml_seen seen[GPU_MAX];
    int count = sleep_scan(n->env, seen, ARRAY_LEN(seen));
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < n->seen_count && !known; k++)
            known = strcmp(n->seen[k].address, seen[i].address) == 0;
        if (known || n->seen_count == ARRAY_LEN(n->seen))
            continue;
        n->seen[n->seen_count++] = seen[i];
        str_copy(address, GPU_PCI_SIZE, str_from(seen[i].address));
        return true;
    }
    return false;
}
