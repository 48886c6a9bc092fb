/* SPDX-License-Identifier: Apache-2.0
 * The amdgpu source: finds cards, checks whether they sleep, and decides what to read; and KFD, the kernel side of ROCm: compute
 * nodes, the cards they belong to, and the processes that use them. fdinfo doesn't count their queues as engine time; KFD reports
 * their memory and compute units, for processes of all users.
 *
 *   topology/nodes/2 ┐  same place on the bus, same unique id:
 *   topology/nodes/3 ├─▶ one card with three partitions
 *   topology/nodes/4 ┘
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/amdgpu/amdgpu_read.h"
#include "source/drm/card_source.h"
#include "source/source_control.h"

/* ---- The topology ---- */

#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

enum { KFD_NODES_MAX = 512, KFD_PROCESSES_MAX = 4096 };

struct kfd_node {
    char card[GPU_PCI_SIZE]; /* PCI address of the card; partitions have further, nonexistent functions */
    uint32_t gpu_id;         /* 0: not in the tree */
    uint32_t device;
    uint64_t unique_id; /* 0: none */
    int64_t compute_units;
    int64_t gfx_version; /* 90402: gfx942 */
    struct reading memory_bytes;
};

struct kfd {
    struct kfd_node *nodes; /* in the order of the topology */
    size_t count;
};

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

static void kfd_done(struct kfd *k)
{
    free(k->nodes);
    *k = (struct kfd){0};
}

/* Reads the topology; 0 nodes if there is none. -EIO: partly unreadable, k unchanged; or another -errno. */
static int kfd_read(struct kfd *k, const struct env *env)
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

static size_t kfd_count_of(const struct kfd *k, const char *card)
{
    size_t count = 0;
    for (size_t i = 0; i < k->count; i++)
        count += strcmp(k->nodes[i].card, card) == 0;
    return count;
}

/* The n-th node of a card, or NULL. */
static const struct kfd_node *kfd_node_of(const struct kfd *k, const char *card, size_t n)
{
    for (size_t i = 0; i < k->count; i++)
        if (strcmp(k->nodes[i].card, card) == 0 && n-- == 0)
            return &k->nodes[i];
    return NULL;
}

/* The cards in the topology, each once, as drm_card with an empty name. Returns their number. */
static size_t kfd_cards(const struct kfd *k, struct drm_card *cards, size_t max)
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

static void kfd_fill_static(const struct kfd *k, const char *card, struct gpu *out)
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

/* Adds the instances of a card with several nodes. */
static void kfd_fill_instances(const struct kfd *k, const struct env *env, const struct drm_card *card, const char *name,
                               struct gpu *out)
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

/* Adds the processes that compute on the card, or completes those already listed. */
static void kfd_fill_processes(const struct kfd *k, const struct env *env, const char *card, struct gpu *out)
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

/* ---- The source ---- */

struct amdgpu {
    struct card_source base;
    struct amdgpu_memory memory[GPU_MAX];
    char names[GPU_MAX][GPU_NAME_SIZE];
    struct kfd kfd;
    struct platform platform;
    struct amdgpu_reader reader; /* large, so not on the stack */
};

static bool is_ours(const struct drm_card *card)
{
    return card->pci_address[0] && (strcmp(card->driver, "amdgpu") == 0 || strcmp(card->driver, "radeon") == 0);
}

static void amdgpu_close(struct source *source)
{
    if (source)
        kfd_done(&((struct amdgpu *)source)->kfd);
    card_source_close(source);
}

/* Cards known only to KFD come last: containers may see its tree but no DRM devices. */
static int complete(struct card_source *s)
{
    struct kfd *kfd = &((struct amdgpu *)s)->kfd;
    int rc = kfd_read(kfd, s->env);
    if (rc < 0 && rc != -EIO)
        return rc;
    s->cards.unread |= rc == -EIO;
    AUTO_FREE struct drm_card *known = calloc(GPU_MAX, sizeof *known);
    size_t count = known ? kfd_cards(kfd, known, GPU_MAX) : 0;
    for (size_t i = 0; i < s->cards.count; i++)
        if (!s->cards.slots[i].card.name[0])
            s->cards.slots[i].present = kfd_count_of(kfd, s->cards.slots[i].card.pci_address) > 0;
    for (size_t k = 0; k < count; k++) {
        bool listed = false;
        for (size_t i = 0; i < s->cards.count && !listed; i++)
            listed = strcmp(s->cards.slots[i].card.pci_address, known[k].pci_address) == 0;
        rc = listed ? 0 : card_list_add(&s->cards, &known[k]);
        if (rc < 0)
            return rc;
    }
    return (int)s->cards.count;
}

/* "amd-<unique id of the chip>"; older chips have none. */
static void read_uuid(struct amdgpu *s, const struct drm_card *card, char uuid[GPU_UUID_SIZE])
{
    struct attrs device;
    char text[64];
    const struct kfd_node *node = kfd_node_of(&s->kfd, card->pci_address, 0);
    drm_device_attrs(card, s->base.env, &device);
    if (card->name[0] && attrs_text(&device, "unique_id", text, sizeof text) > 0 && strspn(text, "0") != strlen(text))
        snprintf(uuid, GPU_UUID_SIZE, "amd-%s", text);
    else if (node && node->unique_id)
        snprintf(uuid, GPU_UUID_SIZE, "amd-%016llx", (unsigned long long)node->unique_id);
    s->base.cards.unread |= device.unread;
}

static void identify(struct card_source *base, size_t at, struct gpu_id *id)
{
    struct amdgpu *s = (struct amdgpu *)base;
    memcpy(s->names[at], id->name, sizeof s->names[at]);
    read_uuid(s, &base->cards.slots[at].card, id->uuid);
}

static const struct card_kind amdgpu_kind = {
    .ops = &amdgpu_source,
    .size = sizeof(struct amdgpu),
    .folder = "/sys/class/drm",
    .none = "no GPU with the amdgpu or radeon driver in /sys/class/drm, and none in KFD's topology",
    .vendor = "amd",
    .subject = "the GPU",
    .complete = complete,
    .identify = identify};

static int amdgpu_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    int wrong = source_check(&amdgpu_source, params, err);
    return wrong < 0 ? wrong : card_source_open(&amdgpu_kind, env, is_ours, ret, err);
}

static int amdgpu_refresh(struct source *source, unsigned groups, struct error *err)
{
    return groups & GROUP_PROCESS ? card_source_refresh(source, groups, err) : 0;
}

/* Identity and memory are safe to read; anything else would wake the card. */
static void rest(const struct amdgpu *s, size_t at, enum card_power power, struct gpu *out)
{
    const struct drm_card *card = &s->base.cards.slots[at].card;
    struct attrs device;
    if (!card_source_rests(&s->base, power, out))
        return;
    drm_device_attrs(card, s->base.env, &device);
    amdgpu_read_memory(&device, &s->memory[at], out);
    drm_card_properties(card, s->base.env, out);
}

/* The card may have fallen asleep or vanished in mid-read: discard the readings then. All its files are world-readable, so EPERM
 * never means missing privileges, but asleep or in reset. */
static void judge_failure(const struct amdgpu *s, size_t at, unsigned groups, struct gpu *out)
{
    enum card_power power = drm_card_power(&s->base.cards.slots[at].card, s->base.env);
    bool nothing = (groups & GROUP_FAST) && out->temp_mdegc.state != READING_OK && out->power_mw.state != READING_OK &&
                   out->util_permille.state != READING_OK;
    if (power != CARD_AWAKE)
        rest(s, at, power, out);
    else if (nothing)
        gpu_mark_state(out, GPU_ERROR, "the driver does not answer; the GPU may be in a reset");
}

/* Processes, and with them the load of chips that don't report it (before GCN 3). */
static void read_processes(const struct amdgpu *s, size_t at, unsigned groups, struct gpu *out)
{
    struct drm_load load;
    drm_scan_fill(s->base.scan, &s->base.cards.slots[at].card, s->memory[at].is_apu, out, &load);
    kfd_fill_processes(&s->kfd, s->base.env, s->base.cards.slots[at].card.pci_address, out);
    for (size_t i = 0; i < out->process_count; i++)
        if (!out->processes[i].type)
            out->processes[i].type = PROCESS_GRAPHICS;
    if (!(groups & GROUP_FAST) || load.state != READING_OK)
        return;
    if (out->util_permille.state == READING_UNSUPPORTED && load.busy_permille.state != READING_UNSUPPORTED) {
        out->util_permille = load.busy_permille;
        gpu_set_property(out, PROPERTY_utilization_basis, load.hidden ? "fdinfo of visible processes" : "fdinfo");
    }
    if (out->encoder_permille.state != READING_OK)
        out->encoder_permille = load.encoder_permille;
    if (out->decoder_permille.state == READING_UNSUPPORTED)
        out->decoder_permille = load.decoder_permille;
}

/* Partitions, with their individual load from gpu_metrics. */
static void fill_instances(const struct amdgpu *s, size_t at, unsigned groups, const struct amdgpu_reader *r, struct gpu *out)
{
    const struct drm_card *card = &s->base.cards.slots[at].card;
    kfd_fill_instances(&s->kfd, s->base.env, card, s->names[at], out);
    for (size_t i = 0; i < out->instance_count && r && r->has_metrics; i++)
        out->instances[i].util_permille = gpu_metrics_partition_permille(&r->metrics, (unsigned)i);
    if ((groups & GROUP_SLOW) && kfd_count_of(&s->kfd, card->pci_address) > 0)
        out->mig_enabled = reading_ok(out->instance_count > 0);
}

/* Without DRM files there are no sensors, only the topology and KFD's processes. */
static void sample_kfd_only(const struct amdgpu *s, size_t at, unsigned groups, struct gpu *out)
{
    const struct drm_card *card = &s->base.cards.slots[at].card;
    const struct kfd_node *node = kfd_node_of(&s->kfd, card->pci_address, 0);
    if (groups & GROUP_STATIC) {
        drm_card_properties(card, s->base.env, out);
        kfd_fill_static(&s->kfd, card->pci_address, out);
        const char *architecture = gpu_architecture(card);
        if (architecture)
            gpu_set_property(out, PROPERTY_architecture, architecture);
    }
    if ((groups & GROUP_FAST) && node && kfd_count_of(&s->kfd, card->pci_address) == 1)
        out->mem_total_bytes = node->memory_bytes;
    if (groups & GROUP_PROCESS)
        read_processes(s, at, groups, out);
    fill_instances(s, at, groups, NULL, out);
}

static void amdgpu_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct amdgpu *s = (struct amdgpu *)source;
    const struct card_slot *slot = &s->base.cards.slots[gpu];
    if (slot->present && !slot->card.name[0])
        return sample_kfd_only(s, gpu, groups, out);
    enum card_power power = card_source_power(&s->base, gpu);
    if (power != CARD_AWAKE)
        return rest(s, gpu, power, out);

    struct amdgpu_reader *r = &s->reader;
    amdgpu_reader_init(r, s->base.env, &slot->card, &s->memory[gpu]);
    amdgpu_read(r, groups, out);
    if (groups & GROUP_PROCESS)
        read_processes(s, gpu, groups, out);
    if (groups & GROUP_STATIC) {
        drm_card_properties(&slot->card, s->base.env, out);
        kfd_fill_static(&s->kfd, slot->card.pci_address, out);
    }
    fill_instances(s, gpu, groups, r, out);
    if ((groups & GROUP_FAST) && out->fan_rpm.state == READING_UNSUPPORTED && out->fan_permille.state == READING_UNSUPPORTED) {
        platform_update(&s->platform, s->base.env);
        platform_fill_fan(&s->platform, out);
    }

    if (r->device.refused || r->hwmon.refused || r->device.gone || r->hwmon.gone || !attrs_exists(&r->device, "uevent"))
        judge_failure(s, gpu, groups, out);
}

static void amdgpu_describe(struct source *source, struct buf *out)
{
    struct amdgpu *s = (struct amdgpu *)source;
    for (size_t i = 0; i < s->base.cards.count; i++) {
        const struct drm_card *card = &s->base.cards.slots[i].card;
        buf_printf(out, "%s at %s, driver %s, %s, %zu compute nodes\n", card->name[0] ? card->name : "no DRM device",
                   card->pci_address, card->driver, card_power_name(card_source_power(&s->base, i)),
                   kfd_count_of(&s->kfd, card->pci_address));
    }
}

const struct source_ops amdgpu_source = {
    .name = "amdgpu",
    .what = "AMD GPUs through the kernel's files",
    .automatic = true,
    .reads_files = true,
    .open = amdgpu_open,
    .presence = drm_cards_signature,
    .list = card_source_list,
    .refresh = amdgpu_refresh,
    .sample = amdgpu_sample,
    .changed = card_source_changed,
    .describe = amdgpu_describe,
    .control = &amdgpu_control,
    .close = amdgpu_close,
};
