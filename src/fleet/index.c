/* SPDX-License-Identifier: Apache-2.0
 * Sorts, finds and deduplicates GPUs and processes, which a database returns in any order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/fleet.h"

static uint64_t mix(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211ULL;
    return (h ^ 0xff) * 1099511628211ULL;
}

uint64_t fleet_hash(const char *host, const char *gpu, const char *uuid)
{
    return mix(mix(mix(14695981039346656037ULL, host), gpu), uuid);
}

/* The key of a GPU as stored: cleaned of terminal escapes, and truncated. */
struct place_name {
    char host[HOST_NAME_SIZE], gpu[16], uuid[GPU_UUID_SIZE];
};

static struct place_name clean(const char *host, const char *gpu, const char *uuid)
{
    struct place_name p;
    str_copy_clean(p.host, sizeof p.host, str_from(host));
    str_copy_clean(p.gpu, sizeof p.gpu, str_from(gpu));
    str_copy_clean(p.uuid, sizeof p.uuid, str_from(uuid));
    return p;
}

static struct fleet_gpu *find_clean(const struct fleet *f, const char *host, const char *gpu, const char *uuid)
{
    if (!f->slot_count)
        return NULL;
    for (size_t s = fleet_hash(host, gpu, uuid) & (f->slot_count - 1); f->slots[s]; s = (s + 1) & (f->slot_count - 1)) {
        struct fleet_gpu *g = &f->gpus[f->slots[s] - 1];
        if (strcmp(g->host, host) == 0 && strcmp(g->gpu, gpu) == 0 && strcmp(g->uuid, uuid) == 0)
            return g;
    }
    return NULL;
}

struct fleet_gpu *fleet_find(const struct fleet *f, const char *host, const char *gpu, const char *uuid)
{
    const struct place_name p = clean(host, gpu, uuid);
    return find_clean(f, p.host, p.gpu, p.uuid);
}

static int natural(const char *a, const char *b)
{
    return strverscmp(a, b);
}

static int by_place(const void *a, const void *b)
{
    const struct fleet_gpu *x = a, *y = b;
    int order = natural(x->host, y->host);
    order = order ? order : natural(x->gpu, y->gpu);
    return order ? order : strcmp(x->uuid, y->uuid);
}

static void put_slot(struct fleet *f, size_t i)
{
    size_t s = fleet_hash(f->gpus[i].host, f->gpus[i].gpu, f->gpus[i].uuid) & (f->slot_count - 1);
    while (f->slots[s])
        s = (s + 1) & (f->slot_count - 1);
    f->slots[s] = (uint32_t)i + 1;
}

static int make_slots(struct fleet *f)
{
    free(f->slots);
    f->slot_count = 64;
    while (f->slot_count < 4 * f->gpu_count)
        f->slot_count *= 2;
    f->slots = calloc(f->slot_count, sizeof *f->slots);
    for (size_t i = 0; f->slots && i < f->gpu_count; i++)
        put_slot(f, i);
    return f->slots ? 0 : -ENOMEM;
}

struct fleet_gpu *fleet_find_or_add(struct fleet *f, size_t *capacity, const char *host, const char *gpu, const char *uuid)
{
    const struct place_name p = clean(host, gpu, uuid);
    struct fleet_gpu *g = find_clean(f, p.host, p.gpu, p.uuid);
    if (g)
        return g;
    if (!ROOM_FOR_ONE(f->gpus, f->gpu_count, *capacity, 64))
        return NULL;
    g = &f->gpus[f->gpu_count++];
    *g = (struct fleet_gpu){.up = true};
    str_copy(g->host, sizeof g->host, str_from(p.host));
    str_copy(g->gpu, sizeof g->gpu, str_from(p.gpu));
    str_copy(g->uuid, sizeof g->uuid, str_from(p.uuid));
    if (f->slot_count < 2 * f->gpu_count)
        return make_slots(f) == 0 ? &f->gpus[f->gpu_count - 1] : NULL;
    put_slot(f, f->gpu_count - 1);
    return g;
}

/* A host that two jobs scrape, or that is scraped and pushes, has each GPU twice. */
static void keep_each_once(struct fleet *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->gpu_count; i++) {
        struct fleet_gpu *before = kept ? &f->gpus[kept - 1] : NULL;
        if (!before || strcmp(before->host, f->gpus[i].host) != 0 || strcmp(before->gpu, f->gpus[i].gpu) != 0 ||
            strcmp(before->uuid, f->gpus[i].uuid) != 0) {
            f->gpus[kept++] = f->gpus[i];
            continue;
        }
        before->up |= f->gpus[i].up;
        if (strcmp(f->gpus[i].instance, before->instance) < 0)
            memcpy(before->instance, f->gpus[i].instance, sizeof before->instance);
    }
    f->gpu_count = kept;
}

int fleet_index(struct fleet *f)
{
    if (f->gpu_count)
        qsort(f->gpus, f->gpu_count, sizeof *f->gpus, by_place);
    keep_each_once(f);
    return make_slots(f);
}

static bool same_process(const struct fleet_process *a, const struct fleet_process *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->gpu, b->gpu) == 0 && strcmp(a->process, b->process) == 0 &&
           strcmp(a->user, b->user) == 0 && strcmp(a->container, b->container) == 0 && strcmp(a->pod, b->pod) == 0 &&
           strcmp(a->job, b->job) == 0 && strcmp(a->uuid, b->uuid) == 0;
}

static int by_process(const void *a, const void *b)
{
    const struct fleet_process *x = a, *y = b;
    int order = natural(x->host, y->host);
    order = order ? order : natural(x->gpu, y->gpu);
    order = order ? order : strcmp(x->process, y->process);
    order = order ? order : strcmp(x->user, y->user);
    order = order ? order : strcmp(x->container, y->container);
    order = order ? order : strcmp(x->pod, y->pod);
    order = order ? order : strcmp(x->job, y->job);
    order = order ? order : strcmp(x->uuid, y->uuid);
    return order ? order : (x->instance > y->instance) - (x->instance < y->instance);
}

static void keep_larger_limit(struct fleet_process *to, const struct fleet_process *from)
{
    if (from->limit_permille <= to->limit_permille)
        return;
    to->limit = from->limit;
    to->limit_permille = from->limit_permille;
}

static void fetch_add(struct reading *to, struct reading from)
{
    if (from.state == READING_OK)
        *to = reading_ok(reading_or(*to, 0) + from.value);
}

static void keep_larger(struct reading *to, struct reading from)
{
    if (from.state == READING_OK && from.value > reading_or(*to, INT64_MIN))
        *to = from;
}

static void join(struct fleet_process *to, const struct fleet_process *from, void (*with)(struct reading *to, struct reading from))
{
    with(&to->mem_bytes, from->mem_bytes);
    with(&to->util_permille, from->util_permille);
    with(&to->power_mw, from->power_mw);
    keep_larger_limit(to, from);
}

/* Adds up figures from one route to a host; those from another route are duplicates. */
void fleet_join_processes(struct fleet *f)
{
    if (f->process_count)
        qsort(f->processes, f->process_count, sizeof *f->processes, by_process);
    for (int round = 0; round < 2; round++) {
        size_t kept = 0;
        for (size_t i = 0; i < f->process_count; i++) {
            struct fleet_process *before = kept ? &f->processes[kept - 1] : NULL;
            if (!before || !same_process(before, &f->processes[i]) || (!round && before->instance != f->processes[i].instance))
                f->processes[kept++] = f->processes[i];
            else
                join(before, &f->processes[i], round ? keep_larger : fetch_add);
        }
        f->process_count = kept;
    }
}
