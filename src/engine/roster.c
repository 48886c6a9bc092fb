/* SPDX-License-Identifier: Apache-2.0
 * The roster: identifies GPUs from sample to sample, and orders them.
 */
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

size_t roster_listed(const struct roster *r)
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
