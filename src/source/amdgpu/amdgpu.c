/* SPDX-License-Identifier: Apache-2.0
 * The amdgpu source: which cards there are, whether they sleep, and what to read of them.
 */
#include "source/amdgpu/amdgpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/amdgpu/read.h"
#include "source/drm/scan.h"
#include "source/sysfs/names.h"

struct amdgpu {
    struct source source;
    const struct env *env;
    struct card_list cards;
    struct amdgpu_memory memory[GPU_MAX];
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
    card_list_done(&s->cards);
    free(s);
}

static int amdgpu_open(const struct env *env, const char *params, struct source **ret, struct error *err)
{
    if (params[0])
        return error_set(err, -EINVAL, "the amdgpu source takes no parameters");
    struct amdgpu *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->source.ops = &amdgpu_source;
    s->env = env;
    s->scan = drm_scan_ref(env);
    int count = s->scan ? card_list_update(&s->cards, env, is_ours) : -ENOMEM;
    if (count <= 0) {
        amdgpu_close(&s->source);
        return count < 0 ? error_set(err, count, "cannot read /sys/class/drm: %s", strerror(-count))
                         : error_set(err, -ENODEV, "no card with the amdgpu or radeon driver in /sys/class/drm");
    }
    *ret = &s->source;
    return 0;
}

/* "amd-<unique id of the chip>"; older chips have none. */
static void read_uuid(const struct drm_card *card, const struct env *env, char uuid[GPU_UUID_SIZE])
{
    struct attrs device;
    char text[64];
    drm_device_attrs(card, env, &device);
    if (attrs_text(&device, "unique_id", text, sizeof text) > 0 && strspn(text, "0") != strlen(text))
        snprintf(uuid, GPU_UUID_SIZE, "amd-%s", text);
}

static int amdgpu_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct amdgpu *s = (struct amdgpu *)source;
    int count = card_list_update(&s->cards, s->env, is_ours);
    if (count < 0)
        return count;
    for (size_t i = 0; i < (size_t)count && i < max; i++) {
        const struct drm_card *card = &s->cards.slots[i].card;
        ids[i] = (struct gpu_id){.vendor = "amd"};
        str_copy(ids[i].pci_address, sizeof ids[i].pci_address, str_from(card->pci_address));
        gpu_name_find(s->env, card, ids[i].name);
        read_uuid(card, s->env, ids[i].uuid);
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
    gpu_mark_state(out, GPU_LOST, "the card was removed or its driver unbound");
}

/* Identity and memory are safe to read; everything else would wake the card. */
static void asleep(const struct amdgpu *s, size_t at, struct gpu *out)
{
    struct attrs device;
    drm_device_attrs(&s->cards.slots[at].card, s->env, &device);
    gpu_mark_state(out, GPU_ASLEEP, NULL);
    amdgpu_read_memory(&device, &s->memory[at], out);
    drm_card_properties(&s->cards.slots[at].card, out);
}

/* The card may have fallen asleep or gone while it was read: what was read then is worth nothing. All of its files are open to
 * everybody, so EPERM never speaks of privileges: asleep, or in a reset. */
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
        gpu_mark_state(out, GPU_ERROR, "the driver does not answer; the card may be in a reset");
}

/* Processes, and with them the load of chips that cannot tell it themselves (before GCN 3). */
static void read_processes(const struct amdgpu *s, size_t at, unsigned groups, struct gpu *out)
{
    struct drm_load load;
    drm_scan_fill(s->scan, &s->cards.slots[at].card, s->memory[at].is_apu, out, &load);
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

static void amdgpu_sample(struct source *source, size_t gpu, unsigned groups, struct gpu *out)
{
    struct amdgpu *s = (struct amdgpu *)source;
    const struct card_slot *slot = &s->cards.slots[gpu];
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
    if (groups & GROUP_STATIC)
        drm_card_properties(&slot->card, out);
    if ((groups & GROUP_FAST) && out->fan_rpm.state == READING_UNSUPPORTED && out->fan_permille.state == READING_UNSUPPORTED) {
        platform_update(&s->platform, s->env);
        platform_fill_fan(&s->platform, out);
    }

    if (r->device.refused || r->hwmon.refused || r->device.gone || r->hwmon.gone)
        judge_failure(s, gpu, groups, out);
}

static void amdgpu_describe(struct source *source, struct buf *out)
{
    struct amdgpu *s = (struct amdgpu *)source;
    for (size_t i = 0; i < s->cards.count; i++) {
        const struct card_slot *slot = &s->cards.slots[i];
        static const char *const powers[] = {"awake", "asleep", "gone"};
        enum card_power power = slot->present ? drm_card_power(&slot->card, s->env) : CARD_GONE;
        buf_printf(out, "%s at %s, driver %s, %s\n", slot->card.name, slot->card.pci_address, slot->card.driver, powers[power]);
    }
}

const struct source_ops amdgpu_source = {
    .name = "amdgpu",
    .what = "AMD cards through the kernel's files",
    .automatic = true,
    .open = amdgpu_open,
    .list = amdgpu_list,
    .refresh = amdgpu_refresh,
    .sample = amdgpu_sample,
    .changed = amdgpu_changed,
    .describe = amdgpu_describe,
    .close = amdgpu_close,
};
