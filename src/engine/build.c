/* SPDX-License-Identifier: Apache-2.0
 * Identifies GPUs from sample to sample, puts those of all sources into index order, explains missing ones, and collects events
 * and status.
 */
#include "engine/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* ---- which GPU has which index ---- */

/* Those that are not forgotten. */
static size_t roster_listed(const struct roster *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        count += !r->entries[i].forgotten;
    return count;
}

void roster_begin(struct roster *r)
{
    for (size_t i = 0; i < r->count; i++)
        r->entries[i].present = false;
}

/* A driver that fails in every call does not identify its GPU either. */
static bool is_nameless(const struct gpu_id *id)
{
    return !id->uuid[0] && !id->pci_address[0] && !id->name[0];
}

/* Without UUID and PCI address, only the position in the source's list distinguishes GPUs. */
static bool is_same(const struct roster_entry *e, const struct gpu_id *id, size_t slot, size_t position)
{
    if ((e->id.uuid[0] && id->uuid[0]) || (e->id.pci_address[0] && id->pci_address[0]))
        return gpu_same(&e->id, id);
    return e->slot == slot && e->position == position &&
           (strcmp(e->id.name, id->name) == 0 || is_nameless(id) || is_nameless(&e->id));
}

/* Whether a GPU with a UUID of its own was put into the slot of this one. */
static bool is_replaced_by(const struct roster_entry *e, const struct gpu_id *id, size_t slot)
{
    return e->lost && !e->present && e->slot == slot && e->id.uuid[0] && id->uuid[0] && id->pci_address[0] &&
           strcmp(e->id.pci_address, id->pci_address) == 0;
}

int roster_place(struct roster *r, const struct gpu_id *id, size_t slot, size_t position)
{
    for (size_t i = 0; i < r->count; i++) {
        struct roster_entry *e = &r->entries[i];
        bool same_address = e->present && e->slot != slot && id->pci_address[0] && strcmp(e->id.pci_address, id->pci_address) == 0;
        if (same_address)
            return -1;
        if (!is_same(e, id, slot, position))
            continue;
        if (e->present)
            return -1;
        *e = (struct roster_entry){
            .id = is_nameless(id) ? e->id : *id, .slot = slot, .position = position, .present = true, .lost = e->lost};
        return (int)i;
    }
    size_t free = 0;
    while (free < r->count && !is_replaced_by(&r->entries[free], id, slot))
        free++;
    if (free == GPU_MAX)
        return -1;
    r->entries[free] = (struct roster_entry){.id = *id, .slot = slot, .position = position, .present = true};
    r->count = MAX_OF(r->count, free + 1);
    return (int)free;
}

struct roster_entry *roster_expect(struct roster *r, const struct gpu_id *id, size_t slot)
{
    for (size_t i = 0; i < r->count; i++)
        if (gpu_same(&r->entries[i].id, id)) {
            r->entries[i].forgotten = false;
            return NULL;
        }
    if (r->count == GPU_MAX)
        return NULL;
    struct roster_entry *e = &r->entries[r->count];
    *e = (struct roster_entry){.id = *id, .slot = slot, .position = GPU_MAX + r->count, .unseen = GPU_ERROR};
    r->count++;
    return e;
}

static int roster_compare(const void *a, const void *b)
{
    const struct roster_entry *x = a, *y = b;
    bool x_first = strcmp(x->id.vendor, "nvidia") == 0, y_first = strcmp(y->id.vendor, "nvidia") == 0;
    if (x_first != y_first)
        return x_first ? -1 : 1;
    if (!x_first) {
        int order = strcmp(x->id.pci_address, y->id.pci_address);
        if (order)
            return order;
    }
    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

void roster_sort(struct roster *r)
{
    qsort(r->entries, r->count, sizeof r->entries[0], roster_compare);
}

/* ---- one snapshot ---- */

static void add_event(struct snapshot *s, const struct event *e)
{
    if (s->event_count < EVENTS_MAX)
        s->events[s->event_count++] = *e;
}

static void place_all(struct slot *slots, size_t slot_count, struct roster *roster, struct roster *accelerators)
{
    roster_begin(roster);
    roster_begin(accelerators);
    for (size_t i = 0; i < slot_count; i++)
        for (size_t g = 0; slots[i].result && g < slots[i].result->gpu_count; g++) {
            const struct gpu_id *id = &slots[i].result->gpus[g].id;
            roster_place(id->kind == DEVICE_GPU ? roster : accelerators, id, i, g);
        }
}

/* Describes a GPU that is in the roster, but not in this sample: its source failed, or the GPU vanished. */
static void describe_missing(struct gpu *gpu, const struct slot *slot, const struct roster_entry *entry)
{
    bool source_fails = slot->status.state != SOURCE_OK && slot->status.state != SOURCE_ASLEEP;
    char message[GPU_ERROR_SIZE + SOURCE_MESSAGE_SIZE];
    /* A source whose only GPU is lost is suspended: its silence says nothing new about that GPU. */
    bool still_lost = entry->lost && source_fails && slot->status.state != SOURCE_RELEASED;
    if (still_lost || (entry->unseen && entry->reason[0]))
        str_copy(message, sizeof message, str_from(entry->reason));
    else if (slot->status.state == SOURCE_RELEASED)
        str_copy(message, sizeof message, str_from(slot->status.message));
    else if (source_fails)
        snprintf(message, sizeof message, "%s: %s", slot->ops->name,
                 slot->status.message[0] ? slot->status.message : source_state_name(slot->status.state));
    else
        snprintf(message, sizeof message, "%s no longer lists this %s", slot->ops->name,
                 entry->id.kind == DEVICE_GPU ? "GPU" : "device");
    enum gpu_state state = source_fails && !still_lost ? GPU_ERROR : GPU_LOST;
    gpu_mark_state(gpu, entry->unseen && entry->reason[0] ? entry->unseen : state, message);
    gpu->unlisted = gpu->state == GPU_LOST && !source_fails;
    gpu->released = slot->status.state == SOURCE_RELEASED;
    str_copy(gpu->source, sizeof gpu->source, str_from(slot->ops->name));
    gpu->simulated = slot->ops->simulated;
}

static void note_loss(struct snapshot *s, struct roster_entry *entry, const struct gpu *gpu)
{
    bool lost = gpu->state == GPU_LOST;
    if (lost) {
        str_copy(entry->reason, sizeof entry->reason, str_from(gpu->error_message));
        if (entry->unseen) /* keeps this reason from now on */
            entry->unseen = GPU_LOST;
    }
    if (lost == entry->lost)
        return;
    entry->lost = lost;
    struct event e = {.kind = lost ? EVENT_GPU_LOST : EVENT_GPU_BACK, .gpu_index = gpu->index, .at = s->taken_at};
    snprintf(e.text, sizeof e.text, "%s %s", gpu->id.name, lost ? "is lost" : "is back");
    add_event(s, &e);
}

static int index_of(const struct roster *roster, size_t slot, int position)
{
    for (size_t i = 0; i < roster->count; i++)
        if (roster->entries[i].slot == slot && (int)roster->entries[i].position == position)
            return (int)i;
    return -1;
}

/* Moves a GPU out of its source's result. */
static void take_gpu(struct gpu *to, struct gpu *read)
{
    *to = *read;
    read->processes = NULL;
    read->instances = NULL;
    read->before = NULL;
    read->process_count = read->instance_count = read->before_count = 0;
}

static void add_source(struct snapshot *s, const struct slot *slot, size_t which, const struct roster *roster)
{
    if (s->source_count < SOURCES_MAX)
        s->sources[s->source_count++] = slot->status;
    if (slot->open)
        s->groups &= slot->known;
    if (slot->driver.driver_version[0] && !s->driver.driver_version[0])
        s->driver = slot->driver;
    else if (slot->status.message[0] && slot->status.names_driver)
        str_copy(s->driver.error_message, sizeof s->driver.error_message, str_from(slot->status.message));
    for (size_t e = 0; slot->result && e < slot->result->event_count; e++) {
        struct event event = slot->result->events[e];
        event.gpu_index = index_of(roster, which, event.gpu_index);
        if (event.at.ms == 0)
            event.at = s->taken_at;
        add_event(s, &event);
    }
}

static void fill_gpus(struct gpu *gpus, const struct roster *roster, struct slot *slots)
{
    for (size_t i = 0; i < roster->count; i++) {
        const struct roster_entry *entry = &roster->entries[i];
        struct slot *slot = &slots[entry->slot];
        if (entry->forgotten)
            continue;
        if (entry->present)
            take_gpu(gpus, &slot->result->gpus[entry->position]);
        else
            describe_missing(gpus, slot, entry);
        gpus->id = entry->id;
        gpus++->index = (int)i;
    }
}

/* Adds what the GPU's own source could not learn about a process. */
static void complete_process(struct process *p, const struct process *from)
{
    static const enum process_metric of_gpu[] = {PROCESS_METRIC_mem_bytes, PROCESS_METRIC_util_permille,
                                                 PROCESS_METRIC_encoder_permille, PROCESS_METRIC_decoder_permille};
    for (size_t i = 0; i < ARRAY_LEN(of_gpu); i++)
        if (p->metric[of_gpu[i]].state != READING_OK && from->metric[of_gpu[i]].state == READING_OK)
            p->metric[of_gpu[i]] = from->metric[of_gpu[i]];
}

static void complete_gpu(struct gpu *gpu, const struct gpu *from)
{
    for (size_t i = 0; i < from->process_count; i++) {
        struct process *p = gpu_find_process(gpu, from->processes[i].pid);
        if (p)
            complete_process(p, &from->processes[i]);
        else if ((p = gpu_add_process(gpu, from->processes[i].pid)))
            process_copy(p, &from->processes[i]);
    }
    if (from->processes_state == READING_OK)
        gpu->processes_state = READING_OK;
}

/* A GPU that two sources read belongs to the first; the second one only adds processes. */
static void complete_gpus(struct snapshot *s, const struct roster *roster, const struct slot *slot, size_t which)
{
    for (size_t g = 0; slot->ops->completes && slot->result && g < slot->result->gpu_count; g++) {
        const struct gpu *from = &slot->result->gpus[g];
        for (size_t i = 0; i < s->gpu_count; i++) {
            const struct roster_entry *entry = &roster->entries[s->gpus[i].index];
            if (entry->present && entry->slot != which && s->gpus[i].state == GPU_OK && from->id.pci_address[0] &&
                strcmp(from->id.pci_address, entry->id.pci_address) == 0)
                complete_gpu(&s->gpus[i], from);
        }
    }
}

struct snapshot *build_snapshot(struct slot *slots, size_t slot_count, struct roster *roster, struct roster *accelerators,
                                bool first, struct wall at)
{
    place_all(slots, slot_count, roster, accelerators);
    if (first) {
        roster_sort(roster);
        roster_sort(accelerators);
    }
    struct snapshot *s = snapshot_new(roster_listed(roster));
    if (!s || snapshot_add_accelerators(s, roster_listed(accelerators)) < 0) {
        snapshot_unref(s);
        return NULL;
    }
    s->groups = GROUP_ALL;
    s->taken_at = at;
    fill_gpus(s->gpus, roster, slots);
    fill_gpus(s->accelerators, accelerators, slots);
    for (size_t i = 0; i < slot_count; i++)
        complete_gpus(s, roster, &slots[i], i);
    for (size_t i = 0; i < s->gpu_count; i++)
        note_loss(s, &roster->entries[s->gpus[i].index], &s->gpus[i]);
    for (size_t i = 0; i < slot_count; i++)
        add_source(s, &slots[i], i, roster);
    return s;
}
