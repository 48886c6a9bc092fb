/* SPDX-License-Identifier: Apache-2.0
 * The topology of compute nodes, and ROCm processes. fdinfo doesn't count their queues as engine time; KFD reports their memory
 * and compute units, for processes of all users.
 */
#include "source/amdgpu/kfd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

struct properties {
    uint64_t simd_count, simd_per_cu, gfx_target_version, vendor_id, device_id, location_id, domain, unique_id;
};

static void take_property(struct properties *p, struct str name, uint64_t value)
{
    const struct {
        const char *name;
        uint64_t *to;
    } wanted[] = {
        {"simd_count", &p->simd_count}, {"simd_per_cu", &p->simd_per_cu}, {"gfx_target_version", &p->gfx_target_version},
        {"vendor_id", &p->vendor_id},   {"device_id", &p->device_id},     {"location_id", &p->location_id},
        {"domain", &p->domain},         {"unique_id", &p->unique_id},
    };
    size_t i = NAME_FIND(wanted, name);
    if (i < ARRAY_LEN(wanted))
        *wanted[i].to = value;
}

/* Lines of "name number". */
static void parse_properties(struct str text, struct properties *ret)
{
    *ret = (struct properties){0};
    struct str line, name, number;
    uint64_t value;
    while (str_cut(&text, '\n', &line))
        if (str_word(&line, &name) && str_word(&line, &number) && str_to_u64(number, &value))
            take_property(ret, name, value);
}

static struct reading memory_of(struct attrs *node)
{
    struct attrs bank;
    char text[1024];
    attrs_init(&bank, node->env, "%s/mem_banks/0", node->path);
    ssize_t len = attrs_text(&bank, "properties", text, sizeof text);
    node->unread |= bank.unread;
    struct str rest = {text, len > 0 ? (size_t)len : 0}, line, name, number;
    int64_t bytes;
    while (str_cut(&rest, '\n', &line))
        if (str_word(&line, &name) && str_is(name, "size_in_bytes") && str_word(&line, &number) && str_to_i64(number, &bytes) &&
            bytes > 0)
            return reading_ok(bytes);
    return reading_absent(READING_UNSUPPORTED);
}

/* False: a CPU, or a device of another driver. */
static bool read_node(struct attrs *node, struct kfd_node *ret, unsigned *function)
{
    char text[4096];
    struct properties p;
    int64_t gpu_id;
    ssize_t len = attrs_text(node, "properties", text, sizeof text);
    if (len <= 0)
        return false;
    parse_properties((struct str){text, (size_t)len}, &p);
    if (p.simd_count == 0 || p.vendor_id != 0x1002 || p.location_id > 0xffff || p.domain > 0xffff)
        return false;
    *ret =
        (struct kfd_node){.device = (uint32_t)p.device_id, .unique_id = p.unique_id, .gfx_version = (int64_t)p.gfx_target_version};
    if (p.simd_per_cu > 0)
        ret->compute_units = (int64_t)(p.simd_count / p.simd_per_cu);
    if (attrs_number(node, "gpu_id", &gpu_id) == 0 && gpu_id > 0 && gpu_id <= UINT32_MAX)
        ret->gpu_id = (uint32_t)gpu_id;
    ret->memory_bytes = memory_of(node);
    *function = p.location_id & 7;
    snprintf(ret->card, sizeof ret->card, "%04x:%02x:%02x.%x", (unsigned)p.domain, (unsigned)p.location_id >> 8,
             (unsigned)p.location_id >> 3 & 31, *function);
    return true;
}

/* Function 3 of a card whose function 0 has the same unique ID is its fourth partition. */
static void join_partition(const struct kfd *k, struct kfd_node *node, unsigned function)
{
    if (function == 0 || node->unique_id == 0)
        return;
    char first[GPU_PCI_SIZE];
    str_copy(first, sizeof first, str_from(node->card));
    first[strlen(first) - 1] = '0';
    for (size_t i = 0; i < k->count; i++)
        if (strcmp(k->nodes[i].card, first) == 0 && k->nodes[i].unique_id == node->unique_id) {
            memcpy(node->card, first, sizeof first);
            return;
        }
}

static int compare_numbers(const struct dirent **a, const struct dirent **b)
{
    size_t x = strlen((*a)->d_name), y = strlen((*b)->d_name);
    return x != y ? (x < y ? -1 : 1) : strcmp((*a)->d_name, (*b)->d_name);
}

static int is_number(const struct dirent *entry)
{
    return entry->d_name[0] && strspn(entry->d_name, "0123456789") == strlen(entry->d_name) && strlen(entry->d_name) < 8;
}

/* -ENOMEM, or -EIO if anything was unreadable: an incomplete topology would turn partitions into cards. */
static int read_nodes(struct kfd *k, const struct env *env, struct dirent **entries, int count)
{
    bool unread = false;
    k->nodes = calloc((size_t)MIN_OF(MAX_OF(count, 1), KFD_NODES_MAX), sizeof *k->nodes);
    for (int i = 0; k->nodes && i < count && k->count < KFD_NODES_MAX; i++) {
        unsigned function;
        struct attrs node;
        attrs_init(&node, env, TOPOLOGY "/%s", entries[i]->d_name);
        if (read_node(&node, &k->nodes[k->count], &function)) {
            join_partition(k, &k->nodes[k->count], function);
            k->count++;
        }
        unread |= node.unread;
    }
    return !k->nodes ? -ENOMEM : unread ? -EIO : 0;
}

int kfd_read(struct kfd *k, const struct env *env)
{
    char path[PATH_SIZE];
    struct dirent **entries;
    struct kfd fresh = {0};
    if (env_path(env, path, TOPOLOGY) < 0)
        return -ENAMETOOLONG;
    int found = scandir(path, &entries, is_number, compare_numbers);
    if (found < 0 && errno != ENOENT)
        return -errno;
    int rc = found < 0 ? 0 : read_nodes(&fresh, env, entries, found);
    for (int i = 0; i < found; i++)
        free(entries[i]);
    if (found >= 0)
        free(entries);
    if (rc == 0) {
        kfd_done(k);
        *k = fresh;
        return 0;
    }
    kfd_done(&fresh);
    return rc;
}

void kfd_done(struct kfd *k)
{
    free(k->nodes);
    *k = (struct kfd){0};
}

size_t kfd_count_of(const struct kfd *k, const char *card)
{
    size_t count = 0;
    for (size_t i = 0; i < k->count; i++)
        count += strcmp(k->nodes[i].card, card) == 0;
    return count;
}

const struct kfd_node *kfd_node_of(const struct kfd *k, const char *card, size_t n)
{
    for (size_t i = 0; i < k->count; i++)
        if (strcmp(k->nodes[i].card, card) == 0 && n-- == 0)
            return &k->nodes[i];
    return NULL;
}

size_t kfd_cards(const struct kfd *k, struct drm_card *cards, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < k->count && count < max; i++) {
        if (kfd_node_of(k, k->nodes[i].card, 0) != &k->nodes[i])
            continue;
        cards[count] = (struct drm_card){.driver = "amdgpu",
                                         .vendor = 0x1002,
                                         .device = k->nodes[i].device,
                                         .revision = -1,
                                         .card_minor = -1,
                                         .render_minor = -1};
        memcpy(cards[count++].pci_address, k->nodes[i].card, sizeof k->nodes[i].card);
    }
    return count;
}

/* 90010 -> gfx90a: major, two digits of minor, two of stepping; the last two are hexadecimal digits. */
static void set_target(int64_t version, struct gpu *out)
{
    char text[32];
    if (version <= 0)
        return;
    snprintf(text, sizeof text, "gfx%d%x%x", (int)(version / 10000), (unsigned)(version / 100 % 100), (unsigned)(version % 100));
    gpu_set_property(out, PROPERTY_compute_capability, text);
}

static void set_units(int64_t units, struct gpu *out)
{
    if (units > 0)
        out->compute_units = reading_ok(units);
}

/* "CPX" and the like, from the driver, or else from the number of partitions. */
static void partition_mode(const struct env *env, const struct drm_card *card, size_t parts, char mode[GPU_TEXT_SIZE])
{
    struct attrs device;
    drm_device_attrs(card, env, &device);
    if (card->name[0] && attrs_text(&device, "current_compute_partition", mode, GPU_TEXT_SIZE) > 0)
        return;
    const char *name = parts == 2 ? "DPX" : parts == 3 ? "TPX" : parts == 4 ? "QPX" : "CPX";
    str_copy(mode, GPU_TEXT_SIZE, str_from(name));
}

void kfd_fill_static(const struct kfd *k, const char *card, struct gpu *out)
{
    int64_t units = 0;
    const struct kfd_node *node = NULL, *next;
    for (size_t i = 0; (next = kfd_node_of(k, card, i)); i++) {
        units += next->compute_units;
        node = next;
    }
    if (node) {
        set_target(node->gfx_version, out);
        set_units(units, out);
    }
}

void kfd_fill_instances(const struct kfd *k, const struct env *env, const struct drm_card *card, const char *name, struct gpu *out)
{
    size_t parts = kfd_count_of(k, card->pci_address);
    char mode[GPU_TEXT_SIZE];
    if (parts < 2)
        return;
    partition_mode(env, card, parts, mode);
    for (size_t i = 0; i < parts; i++) {
        const struct kfd_node *node = kfd_node_of(k, card->pci_address, i);
        struct gpu *instance = gpu_add_instance(out);
        if (!instance)
            return;
        str_copy(instance->id.name, sizeof instance->id.name, str_from(name));
        str_copy(instance->id.vendor, sizeof instance->id.vendor, STR("amd"));
        memcpy(instance->id.pci_address, card->pci_address, sizeof card->pci_address);
        snprintf(instance->id.uuid, sizeof instance->id.uuid, "amd-%016llx:%zu", (unsigned long long)node->unique_id, i);
        str_copy(instance->profile, sizeof instance->profile, str_from(mode));
        set_units(node->compute_units, instance);
        set_target(node->gfx_version, instance);
        instance->mem_total_bytes = node->memory_bytes;
    }
}

/* ---- Processes ---- */

struct usage {
    int64_t vram_bytes;
    int64_t units_busy;
    bool vram_known, units_known;
    int used_parts, last_part;
};

static void add_node(struct attrs *process, const struct kfd_node *node, int part, struct usage *u)
{
    char name[ATTR_NAME_SIZE];
    int64_t value;
    bool used = false;
    snprintf(name, sizeof name, "vram_%u", node->gpu_id);
    if (attrs_number(process, name, &value) == 0 && value >= 0) {
        u->vram_known = true;
        u->vram_bytes += value;
        used = value > 0;
    }
    snprintf(name, sizeof name, "stats_%u/cu_occupancy", node->gpu_id);
    if (attrs_number(process, name, &value) == 0 && value >= 0) {
        u->units_known = true;
        u->units_busy += MIN_OF(value, node->compute_units);
        used = used || value > 0;
    }
    if (used) {
        u->used_parts++;
        u->last_part = part;
    }
}

static void add_process(struct gpu *out, int32_t pid, const struct usage *u, int64_t units, size_t parts)
{
    struct process *p = gpu_find_process(out, pid);
    if (!p)
        p = gpu_add_process(out, pid);
    if (!p)
        return;
    p->type |= PROCESS_COMPUTE;
    /* fdinfo of the render node counts the same buffers: take the larger, not the sum. */
    if (u->vram_known)
        p->mem_bytes = reading_ok(MAX_OF(reading_or(p->mem_bytes, 0), u->vram_bytes));
    if (u->units_known && units > 0) {
        int64_t permille = u->units_busy * 1000 / units;
        p->util_permille = reading_ok(MAX_OF(reading_or(p->util_permille, 0), permille));
    }
    if (parts > 1 && u->used_parts == 1)
        p->instance = u->last_part;
}

void kfd_fill_processes(const struct kfd *k, const struct env *env, const char *card, struct gpu *out)
{
    size_t parts = kfd_count_of(k, card), seen = 0;
    AUTO_DIR DIR *dir = parts ? dir_open(env, "/sys/class/kfd/kfd/proc") : NULL;
    if (parts && !dir && !is_gone(-errno))
        out->processes_state = READING_FAILED; /* the processes are unknown: "none" would be a guess */
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) && seen < KFD_PROCESSES_MAX) {
        int64_t pid, units = 0;
        struct attrs process;
        struct usage u = {0};
        if (!str_to_i64(str_from(entry->d_name), &pid) || pid <= 0 || pid > INT32_MAX)
            continue;
        seen++;
        attrs_init(&process, env, "/sys/class/kfd/kfd/proc/%d", (int)pid);
        for (size_t i = 0; i < parts; i++) {
            const struct kfd_node *node = kfd_node_of(k, card, i);
            units += node->compute_units;
            if (node->gpu_id)
                add_node(&process, node, (int)i, &u);
        }
        /* ROCm opens every card: count only those the process uses. */
        if (u.used_parts)
            add_process(out, (int32_t)pid, &u, units, parts);
        if (out->processes_state == READING_UNREAD || out->processes_state == READING_UNSUPPORTED)
            out->processes_state = READING_OK;
    }
}
