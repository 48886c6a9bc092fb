/* SPDX-License-Identifier: Apache-2.0
 * Instances of a partitioned card (MIG): listed under their parent, with their own memory and processes. Values measured only for
 * the whole card (temperature, power, clocks) stay with the parent.
 */
#include "source/nvml/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void mig_done(struct nvml *n, struct nvml_card *card)
{
    for (size_t i = 0; i < card->instance_count; i++)
        gpm_done(n, &card->instances[i].gpm);
    free(card->instances);
    card->instances = NULL;
    card->instance_count = 0;
    card->mig_known = card->mig_enabled = card->mig_pending = false;
}

/* "NVIDIA A100-SXM4-40GB MIG 1g.5gb" -> "1g.5gb" */
static void profile_from_name(const char *name, char *profile, size_t size)
{
    const char *mig = strstr(name, "MIG ");
    str_copy_clean(profile, size, str_trim(str_from(mig ? mig + 4 : "")));
}

static bool mig_learn(struct nvml *n, const struct nvml_card *card, unsigned index, nvml_device handle, struct nvml_instance *ret)
{
    char text[NVML_NAME_SIZE] = "";
    struct nvml_instance i = {.handle = handle, .gpu_instance = NVML_NO_INSTANCE, .compute_instance = NVML_NO_INSTANCE};
    i.gpm.newest = -1;
    if (NVML(n, uuid, handle, text, sizeof text) == NVML_OK)
        str_copy_clean(i.uuid, sizeof i.uuid, str_from(text));
    if (!visible_instance(n->env->visible_devices, n->total, card->nvml_index, card->id.uuid, (int)index, i.uuid))
        return false;
    text[0] = '\0';
    if (NVML(n, name, handle, text, sizeof text) == NVML_OK)
        str_copy_clean(i.name, sizeof i.name, str_from(text));
    profile_from_name(i.name, i.profile, sizeof i.profile);
    if (n->lib.gpu_instance_id)
        n->lib.gpu_instance_id(handle, &i.gpu_instance);
    if (n->lib.compute_instance_id)
        n->lib.compute_instance_id(handle, &i.compute_instance);
    struct nvml_attributes attributes = {0};
    bool told = NVML(n, attributes, handle, &attributes) == NVML_OK;
    i.multiprocessors = told ? reading_ok(attributes.multiprocessors) : reading_absent(READING_UNSUPPORTED);
    *ret = i;
    return true;
}

static void enumerate(struct nvml *n, struct nvml_card *card)
{
    unsigned max = 0;
    if (!n->lib.mig_max || !n->lib.mig_by_index || n->lib.mig_max(card->handle, &max) != NVML_OK)
        return;
    max = MIN_OF(max, (unsigned)GPU_INSTANCES_MAX);
    struct nvml_instance *found = max ? calloc(max, sizeof *found) : NULL;
    size_t count = 0;
    for (unsigned i = 0; found && i < max; i++) {
        nvml_device handle = NULL;
        if (n->lib.mig_by_index(card->handle, i, &handle) != NVML_OK)
            continue; /* NOT_FOUND: slots needn't be contiguous */
        if (!mig_learn(n, card, i, handle, &found[count]))
            continue;
        /* Keep the sampling state of a known instance. */
        for (size_t old = 0; old < card->instance_count; old++)
            if (strcmp(card->instances[old].uuid, found[count].uuid) == 0) {
                found[count].gpm = card->instances[old].gpm;
                card->instances[old].gpm = (struct nvml_gpm){.newest = -1};
            }
        count++;
    }
    for (size_t i = 0; i < card->instance_count; i++)
        gpm_done(n, &card->instances[i].gpm);
    free(card->instances);
    card->instances = found;
    card->instance_count = count;
}

/* The mode costs 0.12 to 0.3 ms: query it on first sight and with the rare group. */
bool mig_update(struct nvml *n, struct nvml_card *card, unsigned groups)
{
    if (!n->lib.mig_mode || card->mig_refused || (card->mig_known && !(groups & (GROUP_RARE | GROUP_STATIC))))
        return true;
    unsigned now = 0, pending = 0;
    int code = n->lib.mig_mode(card->handle, &now, &pending);
    if (nvml_is_trouble(code)) {
        card_fail(n, card, code);
        return false;
    }
    card->mig_refused = nvml_is_final(code);
    if (code != NVML_OK)
        return true;
    if (card->mig_known && card->mig_enabled != (now != 0))
        card_forget_refusals(card); /* a partitioned card refuses other calls */
    card->mig_known = true;
    card->mig_enabled = now != 0;
    card->mig_pending = pending != 0;
    if (card->mig_enabled || card->instance_count)
        enumerate(n, card);
    return true;
}

void mig_place_process(const struct nvml_card *card, unsigned gpu_instance, unsigned compute_instance, struct process *p)
{
    if (gpu_instance == NVML_NO_INSTANCE)
        return;
    for (size_t i = 0; i < card->instance_count; i++) {
        const struct nvml_instance *instance = &card->instances[i];
        bool same_compute = compute_instance == NVML_NO_INSTANCE || compute_instance == instance->compute_instance;
        if (instance->gpu_instance == gpu_instance && same_compute) {
            p->instance = (int32_t)i;
            return;
        }
    }
}

static void read_memory(struct nvml *n, const struct nvml_instance *instance, struct gpu *out)
{
    struct nvml_memory_v2 now = {.version = NVML_VERSION(struct nvml_memory_v2, 2)};
    struct nvml_memory old = {0};
    int code = NVML(n, memory_v2, instance->handle, &now);
    out->mem_reserved_bytes = code == NVML_OK ? reading_ok((int64_t)now.reserved) : reading_absent(READING_UNSUPPORTED);
    if (code != NVML_OK && n->lib.memory && (code = n->lib.memory(instance->handle, &old)) == NVML_OK)
        now = (struct nvml_memory_v2){.total = old.total, .used = old.used, .free = old.free};
    bool ok = code == NVML_OK;
    enum reading_state why = nvml_reading_state(code);
    out->mem_total_bytes = ok ? reading_ok((int64_t)now.total) : reading_absent(why);
    out->mem_used_bytes = ok ? reading_ok((int64_t)now.used) : reading_absent(why);
    out->mem_free_bytes = ok ? reading_ok((int64_t)now.free) : reading_absent(why);
}

static void run_instance(struct nvml *n, struct nvml_card *card, size_t index, unsigned groups, struct gpu *parent)
{
    struct nvml_instance *instance = &card->instances[index];
    struct gpu *out = gpu_add_instance(parent);
    if (!out)
        return;
    out->id = card->id;
    str_copy(out->id.uuid, sizeof out->id.uuid, str_from(instance->uuid));
    str_copy(out->id.name, sizeof out->id.name, str_from(instance->name));
    str_copy(out->profile, sizeof out->profile, str_from(instance->profile));
    str_copy(out->source, sizeof out->source, str_from(parent->source));
    if (groups & GROUP_FAST)
        read_memory(n, instance, out);
    if (groups & GROUP_STATIC)
        out->compute_units = instance->multiprocessors;
    if (instance->gpu_instance != NVML_NO_INSTANCE)
        out->gpu_instance_id = reading_ok(instance->gpu_instance);
    gpm_run_instance(n, card, instance, groups, out);
    if (groups & GROUP_PROCESS) {
        out->processes_state = parent->processes_state;
        for (size_t i = 0; i < parent->process_count; i++) {
            struct process *mine = parent->processes[i].instance == (int32_t)index ? gpu_add_process(out, 0) : NULL;
            if (mine)
                *mine = parent->processes[i];
        }
    }
    gpu_mark_absent(out, groups, READING_UNSUPPORTED);
}

void mig_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    if (groups & GROUP_RARE) {
        enum reading_state why = card->mig_known ? READING_OK : READING_UNSUPPORTED;
        out->mig_enabled = (struct reading){card->mig_enabled, why};
        out->mig_pending = (struct reading){card->mig_pending, why};
    }
    for (size_t i = 0; i < card->instance_count; i++)
        run_instance(n, card, i, groups, out);
}
