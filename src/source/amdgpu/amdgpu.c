/* SPDX-License-Identifier: Apache-2.0
 * The amdgpu source: finds cards, checks whether they sleep, and decides what to read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/amdgpu/amdgpu_read.h"
#include "source/amdgpu/kfd.h"
#include "source/drm/card_source.h"
#include "source/source_control.h"

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
