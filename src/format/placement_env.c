/* SPDX-License-Identifier: Apache-2.0
 * Tells a program which GPUs to use.
 *
 * CUDA orders devices by speed unless CUDA_DEVICE_ORDER is PCI_BUS_ID, the driver's order; UUIDs are independent of the order, so
 * prefer them. HIP and Level Zero number the GPUs of their vendor by PCI address.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "format/capacity_forms.h"

/* The variable that selects a vendor's GPUs by number; NULL: unknown. */
static const char *variable_of(const char *vendor)
{
    return strcmp(vendor, "amd") == 0 ? "HIP_VISIBLE_DEVICES=" : strcmp(vendor, "intel") == 0 ? "ZE_AFFINITY_MASK=" : NULL;
}

static bool all_have_uuids(const struct capacity *c, const struct placement_copy *copy)
{
    for (size_t i = 0; i < copy->share_count; i++) {
        const char *uuid = c->gpus[copy->shares[i].gpu].id.uuid;
        if (strncmp(uuid, "GPU-", 4) != 0 && strncmp(uuid, "MIG-", 4) != 0)
            return false;
    }
    return true;
}

/* Index among the GPUs of the same vendor. */
static int position(const struct capacity *c, size_t gpu)
{
    int before = 0;
    for (size_t i = 0; i < gpu; i++)
        before += c->gpus[i].instance < 0 && strcmp(c->gpus[i].id.vendor, c->gpus[gpu].id.vendor) == 0;
    return before;
}

static void positions(struct buf *out, const struct capacity *c, const struct placement_copy *copy)
{
    for (size_t i = 0; i < copy->share_count; i++)
        buf_printf(out, "%s%d", i ? "," : "", position(c, copy->shares[i].gpu));
    buf_char(out, '\n');
}

bool gpu_environment(const struct snapshot *s, size_t gpu, char *text, size_t size)
{
    const struct gpu_id *id = &s->gpus[gpu].id;
    int before = 0;
    for (size_t i = 0; i < gpu; i++)
        before += strcmp(s->gpus[i].id.vendor, id->vendor) == 0;
    bool uuid = strncmp(id->uuid, "GPU-", 4) == 0;
    if (strcmp(id->vendor, "nvidia") == 0 && uuid)
        snprintf(text, size, "CUDA_VISIBLE_DEVICES=%s", id->uuid);
    else if (strcmp(id->vendor, "nvidia") == 0)
        snprintf(text, size, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=%d", before);
    else if (variable_of(id->vendor))
        snprintf(text, size, "%s%d", variable_of(id->vendor), before);
    else
        return false;
    return true;
}

bool placement_env(struct buf *out, const struct capacity *c, const struct placement_copy *copy)
{
    if (copy->share_count == 0)
        return false;
    const struct capacity_gpu *first = &c->gpus[copy->shares[0].gpu];
    if (strcmp(first->id.vendor, "nvidia") == 0) {
        bool uuids = all_have_uuids(c, copy);
        if (!uuids && first->instance >= 0)
            return false;
        buf_text(out, uuids ? "CUDA_VISIBLE_DEVICES=" : "CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES=");
        if (!uuids) {
            positions(out, c, copy);
            return true;
        }
        for (size_t i = 0; i < copy->share_count; i++)
            buf_printf(out, "%s%s", i ? "," : "", c->gpus[copy->shares[i].gpu].id.uuid);
        buf_char(out, '\n');
        return true;
    }
    const char *variable = variable_of(first->id.vendor);
    if (!variable || first->instance >= 0)
        return false;
    buf_text(out, variable);
    positions(out, c, copy);
    return true;
}

/* ---- for a program to start ---- */

/* GPUs of other vendors, by an empty list; Level Zero takes that for all. */
static void hide_others(struct buf *out, const struct capacity *c, const struct placement_copy *copy)
{
    static const char *const hiding[][2] = {{"nvidia", "CUDA_VISIBLE_DEVICES=\n"}, {"amd", "ROCR_VISIBLE_DEVICES=\n"}};
    for (size_t v = 0; v < ARRAY_LEN(hiding); v++) {
        bool here = false, taken = false;
        for (size_t i = 0; i < c->gpu_count; i++)
            here |= strcmp(c->gpus[i].id.vendor, hiding[v][0]) == 0;
        for (size_t i = 0; i < copy->share_count; i++)
            taken |= strcmp(c->gpus[copy->shares[i].gpu].id.vendor, hiding[v][0]) == 0;
        if (here && !taken)
            buf_text(out, hiding[v][1]);
    }
}

bool placement_program_env(struct buf *out, const struct capacity *c, const struct placement_copy *copy)
{
    if (!placement_env(out, c, copy))
        return false;
    const char *vendor = c->gpus[copy->shares[0].gpu].id.vendor;
    hide_others(out, c, copy);
    if (strcmp(vendor, "nvidia") == 0)
        buf_text(out, "CUDA_DEVICE_ORDER=PCI_BUS_ID\n");
    if (strcmp(vendor, "amd") != 0)
        return true;
    /* HIP counts among what ROCR leaves: setting both is right even if ROCR_VISIBLE_DEVICES was set before. */
    buf_text(out, "ROCR_VISIBLE_DEVICES=");
    positions(out, c, copy);
    buf_text(out, "HIP_VISIBLE_DEVICES=");
    for (size_t i = 0; i < copy->share_count; i++)
        buf_printf(out, "%s%zu", i ? "," : "", i);
    buf_char(out, '\n');
    return true;
}

/* One entry of such a variable: a UUID or its prefix, or an index. Level Zero's "0.1" is a part of GPU 0. */
static bool names_gpu(const struct capacity *c, size_t gpu, struct str entry)
{
    struct str number;
    int64_t at;
    if (str_starts(entry, "GPU-") || str_starts(entry, "MIG-"))
        return strncmp(c->gpus[gpu].id.uuid, entry.at, entry.len) == 0;
    return str_cut(&entry, '.', &number) && str_to_i64(number, &at) && at == position(c, gpu);
}

bool placement_visible(const struct capacity *c, size_t gpu)
{
    const char *vendor = c->gpus[gpu].id.vendor, *value = NULL;
    if (strcmp(vendor, "nvidia") == 0)
        value = env_variable("CUDA_VISIBLE_DEVICES");
    else if (strcmp(vendor, "intel") == 0)
        value = env_variable("ZE_AFFINITY_MASK");
    else if (strcmp(vendor, "amd") == 0 && !(value = env_variable("ROCR_VISIBLE_DEVICES")))
        value = env_variable("HIP_VISIBLE_DEVICES");
    if (!value)
        return true;
    struct str rest = str_from(value), entry;
    while (str_cut(&rest, ',', &entry)) {
        entry = str_trim(entry);
        if (str_starts(entry, "-"))
            return false; /* the runtime stops reading here */
        if (names_gpu(c, gpu, entry))
            return true;
    }
    return false;
}
