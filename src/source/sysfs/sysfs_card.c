/* SPDX-License-Identifier: Apache-2.0
 * Finds cards. Resolves everything through uevent files, so that recorded trees of plain directories work like real links.
 */
#include "source/sysfs/sysfs_card.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/file.h"
#include "host/machine.h"

/* How often a partly unreadable card is retried. */
enum { LOOKS_AGAIN = 5 };

static const struct card_class {
    const char *folder, *prefix;
    int minors;
} classes[] = {
    {"/sys/class/drm", "card", 0},
    {"/sys/class/accel", "accel", ACCEL_MINORS},
    {"/sys/class/tenstorrent", "tenstorrent!", 2 * ACCEL_MINORS},
};

/* "card12" and nothing else: "card1-DP-1" is a connector, "renderD128" another node of the same card. */
static bool number_behind(const char *name, const char *prefix, int *ret)
{
    size_t len = strlen(prefix);
    int64_t number;
    if (strncmp(name, prefix, len) != 0 || !name[len] || strspn(name + len, "0123456789") != strlen(name + len))
        return false;
    if (!str_to_i64(str_from(name + len), &number) || number > 4096)
        return false;
    *ret = (int)number;
    return true;
}

static const struct card_class *class_of(const char *name)
{
    size_t i = ARRAY_LEN(classes) - 1;
    while (i > 0 && strncmp(name, classes[i].prefix, strlen(classes[i].prefix)) != 0)
        i--;
    return &classes[i];
}

bool card_is_accelerator(const struct drm_card *card)
{
    return class_of(card->name)->minors != 0;
}

static void lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text - 'A' + 'a');
}

static bool is_pci_address(struct str s)
{
    return s.len == 12 && s.at[4] == ':' && s.at[7] == ':' && s.at[10] == '.';
}

static bool hex(struct str s, uint32_t *ret)
{
    uint32_t value = 0;
    if (s.len == 0 || s.len > 8)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        int digit = hex_digit(s.at[i]);
        if (digit < 0)
            return false;
        value = value * 16 + (uint32_t)digit;
    }
    *ret = value;
    return true;
}

static void id_pair(struct str text, uint32_t *first, uint32_t *second)
{
    struct str part;
    uint32_t a, b;
    if (str_cut(&text, ':', &part) && hex(part, &a) && hex(str_trim(text), &b)) {
        *first = a;
        *second = b;
    }
}

static void take_uevent_line(struct str line, struct drm_card *card)
{
    struct str key;
    if (!str_cut(&line, '=', &key))
        return;
    struct str value = str_trim(line);
    if (str_is(key, "DRIVER"))
        str_copy_clean(card->driver, sizeof card->driver, value);
    else if (str_is(key, "PCI_ID"))
        id_pair(value, &card->vendor, &card->device);
    else if (str_is(key, "PCI_SUBSYS_ID"))
        id_pair(value, &card->subvendor, &card->subdevice);
    else if (str_is(key, "PCI_SLOT_NAME") && is_pci_address(value))
        str_copy_clean(card->pci_address, sizeof card->pci_address, value);
    else if (str_is(key, "OF_COMPATIBLE_0"))
        str_copy_clean(card->compatible, sizeof card->compatible, value);
    else if (str_is(key, "MODALIAS") && str_starts(value, "platform:") && !card->compatible[0])
        str_copy_clean(card->compatible, sizeof card->compatible, (struct str){value.at + 9, value.len - 9});
}

/* ENOENT is final; any other error may not happen next time. */
static void note_unread(struct drm_card *card, ssize_t len)
{
    card->unread |= len < 0 && len != -ENOENT;
}

static int read_hex_attr(struct drm_card *card, struct attrs *device, const char *name, uint32_t *ret)
{
    char text[32];
    uint64_t value;
    ssize_t len = attrs_text(device, name, text, sizeof text);
    note_unread(card, len);
    if (len < 0 || !str_to_u64((struct str){text, (size_t)len}, &value) || value > UINT32_MAX)
        return -1;
    *ret = (uint32_t)value;
    return 0;
}

/* The last component of a link, for real trees whose uevent has less. */
static void take_link(struct attrs *device, const char *name, char *to, size_t size)
{
    char path[PATH_SIZE], target[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", device->path, name);
    if (file_read_link(device->env, path, target, sizeof target) <= 0)
        return;
    const char *last = strrchr(target, '/');
    str_copy_clean(to, size, str_from(last ? last + 1 : target));
}

static int find_render_minor(struct attrs *device)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/drm", device->path);
    AUTO_DIR DIR *dir = dir_open(device->env, path);
    if (!dir)
        return -1;
    struct dirent *entry;
    int number;
    while ((entry = readdir(dir)))
        if (number_behind(entry->d_name, "renderD", &number))
            return number;
    return -1;
}

static int card_minor(const struct env *env, struct drm_card *card, int fallback)
{
    struct attrs own;
    char text[32];
    drm_card_attrs(card, env, &own);
    ssize_t len = attrs_text(&own, "dev", text, sizeof text);
    note_unread(card, len);
    struct str rest = {text, len > 0 ? (size_t)len : 0}, major;
    int64_t minor;
    if (len <= 0 || !str_cut(&rest, ':', &major) || !str_to_i64(rest, &minor) || minor < 0 || minor >= ACCEL_MINORS)
        minor = fallback;
    return class_of(card->name)->minors + (int)minor;
}

int drm_card_read(const struct env *env, const char *name, struct drm_card *ret)
{
    int number;
    if (!number_behind(name, class_of(name)->prefix, &number) || strlen(name) >= DRM_NAME_SIZE)
        return -EINVAL;
    struct drm_card card = {.revision = -1, .render_minor = -1};
    str_copy(card.name, sizeof card.name, str_from(name));
    struct attrs device;
    drm_device_attrs(&card, env, &device);
    char text[2048];
    ssize_t len = attrs_text(&device, "uevent", text, sizeof text);
    if (len < 0)
        return (int)len;
    struct str rest = {text, (size_t)len}, line;
    while (str_cut(&rest, '\n', &line))
        take_uevent_line(line, &card);
    if (!card.driver[0])
        take_link(&device, "driver", card.driver, sizeof card.driver);
    lower(card.pci_address);
    if (!card.vendor) {
        read_hex_attr(&card, &device, "vendor", &card.vendor);
        read_hex_attr(&card, &device, "device", &card.device);
    }
    uint32_t revision;
    if (read_hex_attr(&card, &device, "revision", &revision) == 0 && revision <= 0xff)
        card.revision = (int)revision;
    card.card_minor = card_minor(env, &card, number);
    card.render_minor = find_render_minor(&device);
    *ret = card;
    return 0;
}

static int compare_cards(const void *a, const void *b)
{
    const struct drm_card *x = a, *y = b;
    int order = strcmp(x->pci_address, y->pci_address);
    return order ? order : x->card_minor - y->card_minor;
}

static int list_class(const struct env *env, const struct card_class *class, struct drm_card *cards, size_t max, bool nameless)
{
    AUTO_DIR DIR *dir = dir_open(env, class->folder);
    if (!dir)
        return -errno;
    size_t count = 0;
    struct dirent *entry;
    int number;
    while (count < max && (entry = readdir(dir))) {
        if (!number_behind(entry->d_name, class->prefix, &number))
            continue;
        int rc = drm_card_read(env, entry->d_name, &cards[count]);
        if (rc < 0 && nameless && rc != -ENOENT) {
            cards[count] = (struct drm_card){.unread = true};
            str_copy(cards[count].name, sizeof cards[count].name, str_from(entry->d_name));
            rc = 0;
        }
        count += rc == 0;
    }
    return (int)count;
}

/* `nameless`: also list cards that couldn't be read at all, with their name only. */
static int list_cards(const struct env *env, struct drm_card *cards, size_t max, bool nameless)
{
    size_t count = 0;
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        int rc = list_class(env, &classes[i], cards + count, max - count, nameless);
        if (rc < 0 && rc != -ENOENT)
            return rc;
        any |= rc >= 0;
        count += rc > 0 ? (size_t)rc : 0;
    }
    qsort(cards, count, sizeof cards[0], compare_cards);
    return any ? (int)count : -ENOENT;
}

int drm_cards_list(const struct env *env, struct drm_card *cards, size_t max)
{
    return list_cards(env, cards, max, false);
}

static uint64_t class_signature(const struct env *env, const struct card_class *class)
{
    AUTO_DIR DIR *dir = dir_open(env, class->folder);
    uint64_t sum = 0;
    struct dirent *entry;
    int number;
    while (dir && (entry = readdir(dir))) {
        if (!number_behind(entry->d_name, class->prefix, &number))
            continue;
        number += class->minors;
        /* readdir's order is meaningless, so mix each entry and add them up. A rebound card is a new link with a new inode. */
        uint64_t h = (uint64_t)entry->d_ino * 0x9e3779b97f4a7c15u ^ ((uint64_t)number + 1) * 0xc2b2ae3d27d4eb4fu;
        sum += (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    }
    return sum;
}

uint64_t drm_cards_signature(const struct env *env)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        sum += class_signature(env, &classes[i]);
    return sum;
}

void drm_card_attrs(const struct drm_card *card, const struct env *env, struct attrs *ret)
{
    attrs_init(ret, env, "%s/%s", class_of(card->name)->folder, card->name);
}

void drm_device_attrs(const struct drm_card *card, const struct env *env, struct attrs *ret)
{
    attrs_init(ret, env, "%s/%s/device", class_of(card->name)->folder, card->name);
}

enum card_power drm_card_power(const struct drm_card *card, const struct env *env)
{
    struct attrs device;
    char text[32];
    drm_device_attrs(card, env, &device);
    ssize_t len = attrs_text(&device, "power/runtime_status", text, sizeof text);
    if (len < 0)
        return attrs_exists(&device, "uevent") ? CARD_AWAKE : CARD_GONE;
    return strcmp(text, "suspended") == 0 || strcmp(text, "suspending") == 0 ? CARD_ASLEEP : CARD_AWAKE;
}

static bool same_place(const struct drm_card *a, const struct drm_card *b)
{
    if (a->pci_address[0] || b->pci_address[0])
        return strcmp(a->pci_address, b->pci_address) == 0;
    return strcmp(a->driver, b->driver) == 0 && a->card_minor == b->card_minor;
}

int card_list_add(struct card_list *list, const struct drm_card *card)
{
    if (list->count == GPU_MAX)
        return -ENOSPC;
    struct card_slot *more = realloc(list->slots, (list->count + 1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    list->slots = more;
    more[list->count] = (struct card_slot){.card = *card, .present = true};
    return (int)list->count++;
}

/* A card that is still there but couldn't be read this time. */
static void keep_unread(struct card_list *list, const struct drm_card *card)
{
    for (size_t i = 0; i < list->count; i++)
        list->slots[i].present |= strcmp(list->slots[i].card.name, card->name) == 0;
}

static int place(struct card_list *list, const struct drm_card *card)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!same_place(&list->slots[i].card, card))
            continue;
        list->slots[i] = (struct card_slot){.card = *card, .present = true};
        return (int)i;
    }
    return card_list_add(list, card);
}

int card_list_update(struct card_list *list, const struct env *env, bool (*wanted)(const struct drm_card *))
{
    AUTO_FREE struct drm_card *cards = calloc(GPU_MAX, sizeof *cards);
    if (!cards)
        return -ENOMEM;
    /* Taken before listing, so that card_list_changed() notices a card that appears meanwhile. */
    uint64_t signature = drm_cards_signature(env);
    int count = list_cards(env, cards, GPU_MAX, true);
    if (count < 0 && count != -ENOENT)
        return count;
    list->unread = false;
    for (size_t i = 0; i < list->count; i++)
        list->slots[i].present = list->slots[i].card.name[0] == '\0';
    for (int i = 0; i < count; i++) {
        int at = 0;
        list->unread |= cards[i].unread;
        if (!cards[i].driver[0])
            keep_unread(list, &cards[i]);
        else if (wanted(&cards[i]))
            at = place(list, &cards[i]);
        if (at < 0)
            return at;
    }
    list->signature = signature;
    return (int)list->count;
}

bool card_list_changed(struct card_list *list, const struct env *env)
{
    bool changed = drm_cards_signature(env) != list->signature;
    if (changed || !list->unread)
        list->looks_left = LOOKS_AGAIN;
    return changed || (list->unread && list->looks_left-- > 0);
}

void card_list_done(struct card_list *list)
{
    free(list->slots);
    *list = (struct card_list){0};
}

static void set_driver_version(const struct drm_card *card, const struct env *env, struct gpu *out)
{
    struct attrs module, kernel;
    char text[GPU_TEXT_SIZE];
    attrs_init(&module, env, "/sys/module/%s", card->driver);
    attrs_init(&kernel, env, "/proc/sys/kernel");
    if (attrs_text(&module, "version", text, sizeof text) > 0 || attrs_text(&kernel, "osrelease", text, sizeof text) > 0)
        gpu_set_property(out, PROPERTY_driver_version, text);
}

void drm_card_properties(const struct drm_card *card, const struct env *env, struct gpu *out)
{
    char text[GPU_TEXT_SIZE];
    if (card->driver[0])
        set_driver_version(card, env, out);
    gpu_set_property(out, PROPERTY_driver, card->driver);
    if (card->vendor) {
        snprintf(text, sizeof text, "%04x:%04x", card->vendor, card->device);
        gpu_set_property(out, PROPERTY_pci_device_id, text);
    }
    if (card->subvendor) {
        snprintf(text, sizeof text, "%04x:%04x", card->subvendor, card->subdevice);
        gpu_set_property(out, PROPERTY_pci_subsystem_id, text);
    }
}

/* ---- Link speed and width, and the walk to the upstream port of a card's own switch ---- */

int pcie_generation(struct str speed)
{
    static const struct {
        const char *text;
        int generation;
    } speeds[] = {{"2.5", 1}, {"5.0", 2}, {"5 ", 2}, {"5G", 2}, {"8.0", 3}, {"8 ", 3}, {"8G", 3}, {"16", 4}, {"32", 5}, {"64", 6}};
    speed = str_trim(speed);
    for (size_t i = 0; i < ARRAY_LEN(speeds); i++)
        if (str_starts(speed, speeds[i].text) && str_contains(speed, "GT/s"))
            return speeds[i].generation;
    return 0;
}

static struct reading generation_of(struct attrs *port, const char *name)
{
    char text[ATTR_NUMBER_SIZE];
    ssize_t len = attrs_text(port, name, text, sizeof text);
    if (len < 0)
        return reading_absent(attrs_state((int)len));
    int generation = pcie_generation((struct str){text, (size_t)len});
    return generation ? reading_ok(generation) : reading_absent(READING_UNSUPPORTED);
}

/* "0" and, on some bridges, 255 mean no link. */
static struct reading width_of(struct attrs *port, const char *name)
{
    struct reading width = attrs_reading(port, name, 1, 1);
    return width.state == READING_OK && (width.value < 1 || width.value > 32) ? reading_absent(READING_UNSUPPORTED) : width;
}

/* A switch port of the card's vendor: AMD's since Navi and Vega 20, Intel's in every Arc. */
static bool is_own_bridge(struct attrs *port, uint32_t vendor)
{
    char text[32], class[32];
    uint64_t id;
    ssize_t len = attrs_text(port, "vendor", text, sizeof text);
    if (len <= 0 || !str_to_u64((struct str){text, (size_t)len}, &id) || id != vendor)
        return false;
    /* 0x0604: a PCI bridge. Root ports have the same class and, on an all-Intel or all-AMD host, the same vendor, but their
     * parent is the host bridge, not a PCI device: the caller stops below them. */
    return attrs_text(port, "class", class, sizeof class) > 0 && strncmp(class, "0x0604", 6) == 0;
}

static bool parent_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

static bool is_pci_device(const char *path)
{
    const char *last = strrchr(path, '/');
    return last && strlen(last + 1) == 12 && last[5] == ':' && last[8] == ':' && last[11] == '.';
}

/* Upstream port of the card's switch: card -> downstream port -> upstream port -> (slot's) root port. */
static bool find_upstream(const struct drm_card *card, const struct env *env, struct attrs *ret)
{
    char link[PATH_SIZE], real[4096];
    if (env_path(env, link, "/sys/class/drm/%s/device", card->name) < 0 || !realpath(link, real))
        return false;
    size_t root = strlen(env->sysroot);
    char real_root[4096] = "";
    if (root && (!realpath(env->sysroot, real_root) || strncmp(real, real_root, strlen(real_root)) != 0))
        return false;
    char *path = real + strlen(real_root);
    for (int level = 0; level < 2; level++) {
        if (!is_pci_device(path) || !parent_of(path) || !is_pci_device(path))
            return false;
        if (attrs_init(ret, env, "%s", path) < 0 || !is_own_bridge(ret, card->vendor))
            return false;
    }
    /* A root port of the same vendor has no PCI device above it: the two weren't a switch then. */
    char above[PATH_SIZE];
    str_copy(above, sizeof above, str_from(path));
    return parent_of(above) && is_pci_device(above);
}

void pcie_link(const struct drm_card *card, const struct env *env, bool internal_only, unsigned groups, struct gpu *out)
{
    struct attrs port;
    if (!find_upstream(card, env, &port)) {
        if (internal_only)
            return;
        drm_device_attrs(card, env, &port);
    }
    if (groups & GROUP_FAST) {
        out->pcie_generation = generation_of(&port, "current_link_speed");
        out->pcie_width = width_of(&port, "current_link_width");
    }
    if (groups & GROUP_STATIC) {
        out->pcie_generation_max = generation_of(&port, "max_link_speed");
        out->pcie_width_max = width_of(&port, "max_link_width");
    }
}

/* "NAME COUNT" lines, the last one their sum. Ignore "UnsupReq": devices probe others for missing features during setup. */
static struct reading error_count(const struct env *env, const char *address, const char *severity)
{
    char path[PATH_SIZE], text[2048];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/aer_dev_%s", address, severity);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    if (len < 0)
        return reading_absent(is_gone(len) ? READING_UNSUPPORTED : reading_state_from_errno((int)len));
    struct str rest = {text, (size_t)len}, line, name, number;
    int64_t sum = 0, count;
    while (str_cut(&rest, '\n', &line))
        if (str_word(&line, &name) && str_word(&line, &number) && str_to_i64(number, &count) && count > 0 && count < INT32_MAX &&
            !str_starts(name, "TOTAL_") && !str_is(name, "UnsupReq"))
            sum += count;
    return reading_ok(sum);
}

void pcie_errors(const struct env *env, const char *address, struct gpu *out)
{
    struct reading fatal = error_count(env, address, "fatal");
    out->pcie_corrected_errors = error_count(env, address, "correctable");
    out->pcie_uncorrected_errors = error_count(env, address, "nonfatal");
    if (out->pcie_uncorrected_errors.state == READING_OK)
        out->pcie_uncorrected_errors.value += reading_or(fatal, 0);
}

/* ---- Shared memory. Ignores control group limits: whirr's own says nothing about the program to be started. */

/* The host's reserve: giving away its last page would kill programs. */
enum { RESERVE_PART = 64, PAGE_BYTES = 4096 };
#define RESERVE_LEAST (512LL << 20)

struct reading shared_memory_ttm_limit(const struct env *env)
{
    static const char *const files[] = {"/sys/module/ttm/parameters/pages_limit", "/sys/module/amdttm/parameters/pages_limit"};
    int64_t pages;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (file_read_i64(env, files[i], &pages) == 0 && pages > 0 && pages < INT64_MAX / PAGE_BYTES)
            return reading_ok(pages * PAGE_BYTES);
    return reading_absent(READING_UNSUPPORTED);
}

static struct reading least(struct reading a, struct reading b)
{
    return a.state != READING_OK ? b : b.state != READING_OK || a.value < b.value ? a : b;
}

static struct reading less(struct reading a, struct reading b)
{
    return a.state == READING_OK && b.state == READING_OK ? reading_ok(MAX_OF(a.value - b.value, (int64_t)0)) : a;
}

static struct reading more(struct reading a, struct reading b)
{
    return a.state == READING_OK ? reading_ok(a.value + reading_or(b, 0)) : a;
}

void shared_memory_fill(const struct env *env, const struct shared_memory *m, struct gpu *out)
{
    struct host host = {0};
    machine_read_memory(env, &host);
    gpu_set_property(out, PROPERTY_memory_kind, "shared"); /* set with the numbers: a quick look skips static properties */
    int64_t reserve = MAX_OF(reading_or(host.mem_total_bytes, 0) / RESERVE_PART, RESERVE_LEAST);
    struct reading available = less(host.mem_available_bytes, reading_ok(reserve));
    if (available.state == READING_OK || m->limit_used.state == READING_OK) /* otherwise the limit says nothing about free memory */
        available = least(less(m->limit_bytes, m->limit_used), available);
    out->mem_total_bytes = more(least(m->limit_bytes, host.mem_total_bytes), m->own_total);
    out->mem_free_bytes = more(available, less(m->own_total, m->own_used));
    if (m->limit_used.state == READING_OK)
        out->mem_used_bytes = least(more(m->limit_used, m->own_used), out->mem_total_bytes);
    else if (m->used_by_host && host.mem_available_bytes.state == READING_OK)
        out->mem_used_bytes = less(host.mem_total_bytes, host.mem_available_bytes);
}
