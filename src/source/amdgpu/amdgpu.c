/* SPDX-License-Identifier: Apache-2.0
 * The amdgpu source: finds cards, checks whether they sleep, and decides what to read.
 */
#include "source/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/amdgpu/amdgpu_read.h"
#include "source/amdgpu/kfd.h"
#include "source/drm/scan.h"
#include "source/source_control.h"
#include "source/sysfs/sysfs_card.h"

struct amdgpu {
    struct source source;
    const struct env *env;
    struct card_list cards;
    struct amdgpu_memory memory[GPU_MAX];
    char names[GPU_MAX][GPU_NAME_SIZE];
    struct kfd kfd;
    struct drm_scan *scan;
    struct platform platform;
    struct amdgpu_reader reader; /* large, so not on the stack */
};

static bool is_ours(const struct drm_card *card)
{
    return card->pci_address[0] && (strcmp(card->driver, "amdgpu") == 0 || strcmp(card->driver, "radeon") == 0);
}

static void amdgpu_close(struct source *source)
{
    struct amdgpu *s = (struct amdgpu *)source;
    if (!s)
        return;
    drm_scan_unref(s->scan);
    kfd_done(&s->kfd);
    card_list_done(&s->cards);
    free(s);
}

/* Cards known only to KFD come last: containers may see its tree but no DRM devices. */
static int update_cards(struct amdgpu *s)
{
    int rc = card_list_update(&s->cards, s->env, is_ours);
    if (rc < 0)
        return rc;
    rc = kfd_read(&s->kfd, s->env);
    if (rc < 0 && rc != -EIO)
        return rc;
    s->cards.unread |= rc == -EIO;
    AUTO_FREE struct drm_card *known = calloc(GPU_MAX, sizeof *known);
    size_t count = known ? kfd_cards(&s->kfd, known, GPU_MAX) : 0;
    for (size_t i = 0; i < s->cards.count; i++)
        if (!s->cards.slots[i].card.name[0])
            s->cards.slots[i].present = kfd_count_of(&s->kfd, s->cards.slots[i].card.pci_address) > 0;
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

static int amdgpu_check(const char *params, struct error *err)
{
    return params[0] ? error_set(err, -EINVAL, "the amdgpu source takes no parameters") : 0;
}

static int amdgpu_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    int wrong = amdgpu_check(params, err);
    if (wrong < 0)
        return wrong;
    struct amdgpu *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->source.ops = &amdgpu_source;
    s->env = env;
    s->scan = drm_scan_ref(env);
    int count = s->scan ? update_cards(s) : -ENOMEM;
    if (count <= 0) {
        amdgpu_close(&s->source);
        return count < 0 ? error_set(err, count, "cannot read /sys/class/drm: %s", strerror(-count))
                         : error_set(err, -ENODEV,
                                     "no GPU with the amdgpu or radeon driver in /sys/class/drm, and none in KFD's topology");
    }
    *ret = &s->source;
    return 0;
}

/* "amd-<unique id of the chip>"; older chips have none. */
static void read_uuid(struct amdgpu *s, const struct drm_card *card, char uuid[GPU_UUID_SIZE])
{
    struct attrs device;
    char text[64];
    const struct kfd_node *node = kfd_node_of(&s->kfd, card->pci_address, 0);
    drm_device_attrs(card, s->env, &device);
    if (card->name[0] && attrs_text(&device, "unique_id", text, sizeof text) > 0 && strspn(text, "0") != strlen(text))
        snprintf(uuid, GPU_UUID_SIZE, "amd-%s", text);
    else if (node && node->unique_id)
        snprintf(uuid, GPU_UUID_SIZE, "amd-%016llx", (unsigned long long)node->unique_id);
    s->cards.unread |= device.unread;
}

static int amdgpu_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct amdgpu *s = (struct amdgpu *)source;
    int count = update_cards(s);
    if (count < 0)
        return count;
    for (size_t i = 0; i < (size_t)count && i < max; i++) {
        const struct drm_card *card = &s->cards.slots[i].card;
        ids[i] = (struct gpu_id){.vendor = "amd"};
        str_copy(ids[i].pci_address, sizeof ids[i].pci_address, str_from(card->pci_address));
        gpu_name_find(s->env, card, ids[i].name);
        memcpy(s->names[i], ids[i].name, sizeof s->names[i]);
        read_uuid(s, card, ids[i].uuid);
    }
    return (int)MIN_OF((size_t)count, max);
}

static bool amdgpu_changed(struct source *source)
{
    struct amdgpu *s = (struct amdgpu *)source;
    return card_list_changed(&s->cards, s->env);
}

static int amdgpu_refresh(struct source *source, unsigned groups, struct error *err)
{
    (void)err;
    struct amdgpu *s = (struct amdgpu *)source;
    if (groups & GROUP_PROCESS)
        drm_scan_refresh(s->scan);
    return 0;
}

static void lost(struct gpu *out)
{
    gpu_done(out);
    gpu_mark_state(out, GPU_LOST, "the GPU was removed or its driver unbound");
}

/* Identity and memory are safe to read; anything else would wake the card. */
static void asleep(const struct amdgpu *s, size_t at, struct gpu *out)
{
    struct attrs device;
    drm_device_attrs(&s->cards.slots[at].card, s->env, &device);
    gpu_done(out);
    gpu_mark_state(out, GPU_ASLEEP, NULL);
    amdgpu_read_memory(&device, &s->memory[at], out);
    drm_card_properties(&s->cards.slots[at].card, s->env, out);
}

/* The card may have fallen asleep or vanished in mid-read: discard the readings then. All its files are world-readable, so EPERM
 * never means missing privileges, but asleep or in reset. */
static void judge_failure(const struct amdgpu *s, size_t at, unsigned groups, struct gpu *out)
{
    enum card_power power = drm_card_power(&s->cards.slots[at].card, s->env);
    bool nothing = (groups & GROUP_FAST) && out->temp_mdegc.state != READING_OK && out->power_mw.state != READING_OK &&
                   out->util_permille.state != READING_OK;
    if (power == CARD_GONE)
        lost(out);
    else if (power == CARD_ASLEEP)
        asleep(s, at, out);
    else if (nothing)
        gpu_mark_state(out, GPU_ERROR, "the driver does not answer; the GPU may be in a reset");
}

/* Processes, and with them the load of chips that don't report it (before GCN 3). */
static void read_processes(const struct amdgpu *s, size_t at, unsigned groups, struct gpu *out)
{
    struct drm_load load;
    drm_scan_fill(s->scan, &s->cards.slots[at].card, s->memory[at].is_apu, out, &load);
    kfd_fill_processes(&s->kfd, s->env, s->cards.slots[at].card.pci_address, out);
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
    const struct drm_card *card = &s->cards.slots[at].card;
    kfd_fill_instances(&s->kfd, s->env, card, s->names[at], out);
    for (size_t i = 0; i < out->instance_count && r && r->has_metrics; i++)
        out->instances[i].util_permille = gpu_metrics_partition_permille(&r->metrics, (unsigned)i);
    if ((groups & GROUP_SLOW) && kfd_count_of(&s->kfd, card->pci_address) > 0)
        out->mig_enabled = reading_ok(out->instance_count > 0);
}

/* Without DRM files there are no sensors, only the topology and KFD's processes. */
static void sample_kfd_only(const struct amdgpu *s, size_t at, unsigned groups, struct gpu *out)
{
    const struct drm_card *card = &s->cards.slots[at].card;
    const struct kfd_node *node = kfd_node_of(&s->kfd, card->pci_address, 0);
    if (groups & GROUP_STATIC) {
        drm_card_properties(card, s->env, out);
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
    const struct card_slot *slot = &s->cards.slots[gpu];
    if (slot->present && !slot->card.name[0])
        return sample_kfd_only(s, gpu, groups, out);
    enum card_power power = slot->present ? drm_card_power(&slot->card, s->env) : CARD_GONE;
    if (power == CARD_GONE)
        return lost(out);
    if (power == CARD_ASLEEP)
        return asleep(s, gpu, out);

    struct amdgpu_reader *r = &s->reader;
    amdgpu_reader_init(r, s->env, &slot->card, &s->memory[gpu]);
    amdgpu_read(r, groups, out);
    if (groups & GROUP_PROCESS)
        read_processes(s, gpu, groups, out);
    if (groups & GROUP_STATIC) {
        drm_card_properties(&slot->card, s->env, out);
        kfd_fill_static(&s->kfd, slot->card.pci_address, out);
    }
    fill_instances(s, gpu, groups, r, out);
    if ((groups & GROUP_FAST) && out->fan_rpm.state == READING_UNSUPPORTED && out->fan_permille.state == READING_UNSUPPORTED) {
        platform_update(&s->platform, s->env);
        platform_fill_fan(&s->platform, out);
    }

    if (r->device.refused || r->hwmon.refused || r->device.gone || r->hwmon.gone || !attrs_exists(&r->device, "uevent"))
        judge_failure(s, gpu, groups, out);
}

static void amdgpu_describe(struct source *source, struct buf *out)
{
    struct amdgpu *s = (struct amdgpu *)source;
    for (size_t i = 0; i < s->cards.count; i++) {
        const struct card_slot *slot = &s->cards.slots[i];
        static const char *const powers[] = {"awake", "asleep", "gone"};
        enum card_power power = slot->present ? drm_card_power(&slot->card, s->env) : CARD_GONE;
        buf_printf(out, "%s at %s, driver %s, %s, %zu compute nodes\n", slot->card.name[0] ? slot->card.name : "no DRM device",
                   slot->card.pci_address, slot->card.driver, powers[power], kfd_count_of(&s->kfd, slot->card.pci_address));
    }
}

const struct drm_card *amdgpu_card(struct source *source, size_t gpu, const struct env **ret_env)
{
    const struct amdgpu *s = (const struct amdgpu *)source;
    *ret_env = s->env;
    return gpu < s->cards.count && s->cards.slots[gpu].present ? &s->cards.slots[gpu].card : NULL;
}

const struct source_ops amdgpu_source = {
    .name = "amdgpu",
    .what = "AMD GPUs through the kernel's files",
    .automatic = true,
    .reads_files = true,
    .check = amdgpu_check,
    .open = amdgpu_open,
    .presence = drm_cards_signature,
    .list = amdgpu_list,
    .refresh = amdgpu_refresh,
    .sample = amdgpu_sample,
    .changed = amdgpu_changed,
    .describe = amdgpu_describe,
    .control = &amdgpu_control,
    .close = amdgpu_close,
};
