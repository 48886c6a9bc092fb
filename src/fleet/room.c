/* SPDX-License-Identifier: Apache-2.0
 * What fits where: usable GPUs, and how much a single program can get there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/fleet.h"
#include "insight/facts/levels.h"

static int tightest_first(const void *a, const void *b)
{
    const struct fleet_gpu *x = a, *y = b;
    bool x_judged = x->findings.code[0], y_judged = y->findings.code[0];
    if (x_judged != y_judged)
        return x_judged ? -1 : 1;
    bool x_busy = load_is_work(x->util_permille), y_busy = load_is_work(y->util_permille);
    if (x_busy != y_busy)
        return x_busy ? 1 : -1;
    int64_t x_room = fleet_room(x).value, y_room = fleet_room(y).value;
    if (x_room != y_room)
        return x_room > y_room ? 1 : -1;
    int order = strverscmp(x->host, y->host);
    order = order ? order : strverscmp(x->gpu, y->gpu);
    return order ? order : strcmp(x->uuid, y->uuid);
}

struct fleet_instance *fleet_instance_of(struct fleet *f, struct fleet_gpu *g, const char *uuid, const char *profile)
{
    char clean[GPU_UUID_SIZE];
    str_copy_clean(clean, sizeof clean, str_from(uuid));
    for (uint32_t i = g->first_instance; i; i = f->instances[i - 1].next)
        if (strcmp(f->instances[i - 1].uuid, clean) == 0)
            return &f->instances[i - 1];
    if (!ROOM_FOR_ONE(f->instances, f->instance_count, f->instance_capacity, 16))
        return NULL;
    struct fleet_instance *new = &f->instances[f->instance_count++];
    *new = (struct fleet_instance){.next = g->first_instance};
    str_copy(new->uuid, sizeof new->uuid, str_from(clean));
    str_copy_clean(new->profile, sizeof new->profile, str_from(profile));
    g->first_instance = (uint32_t)f->instance_count;
    g->divided = true;
    return new;
}

bool fleet_is_usable(const struct fleet_gpu *g)
{
    return g->up && !g->findings.forbids;
}

struct reading fleet_room(const struct fleet_gpu *g)
{
    return g->divided ? g->instance_free_bytes : g->free_bytes;
}

size_t fleet_unknown_room(const struct fleet *f, int64_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < f->gpu_count; i++) {
        const struct fleet_gpu *g = &f->gpus[i];
        bool too_small = g->divided && reading_or(g->instance_max_bytes, INT64_MAX) < bytes;
        count += fleet_is_usable(g) && fleet_room(g).state != READING_OK && !too_small;
    }
    return count;
}

/* An instance looks like a GPU with its own name, UUID and memory. */
static struct fleet_gpu as_gpu(const struct fleet_gpu *card, const struct fleet_instance *instance)
{
    struct fleet_gpu g = *card;
    char name[GPU_NAME_SIZE + GPU_TEXT_SIZE + 8];
    snprintf(name, sizeof name, "%s%s%s", card->name, instance->profile[0] ? " MIG " : " (MIG)", instance->profile);
    str_copy(g.name, sizeof g.name, str_from(name));
    str_copy(g.uuid, sizeof g.uuid, str_from(instance->uuid));
    g.divided = false;
    g.free_bytes = instance->free_bytes;
    g.util_permille = instance->util_permille;
    g.used_bytes = g.total_bytes = reading_absent(READING_UNREAD);
    return g;
}

static void add_if_fits(struct fleet_gpu *list, size_t *count, const struct fleet_gpu *g, int64_t bytes)
{
    int64_t room;
    if (reading_get(fleet_room(g), &room) && room >= bytes)
        list[(*count)++] = *g;
}

struct fleet_gpu *fleet_fitting(const struct fleet *f, int64_t bytes, size_t *count)
{
    struct fleet_gpu *list = calloc(f->gpu_count + f->instance_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < f->gpu_count; i++) {
        const struct fleet_gpu *g = &f->gpus[i];
        if (!fleet_is_usable(g))
            continue;
        if (!g->divided)
            add_if_fits(list, count, g, bytes);
        for (uint32_t k = g->first_instance; k; k = f->instances[k - 1].next) {
            struct fleet_gpu instance = as_gpu(g, &f->instances[k - 1]);
            add_if_fits(list, count, &instance, bytes);
        }
    }
    if (list && *count)
        qsort(list, *count, sizeof *list, tightest_first);
    return list;
}
