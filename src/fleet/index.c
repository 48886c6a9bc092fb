/* SPDX-License-Identifier: Apache-2.0
 * Sorts, finds and deduplicates GPUs and processes, which a database returns in any order, and tells hosts of one name apart.
 */
#include <errno.h>
#include <stdio.h>
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

/* ---- hosts that share a name: if two UUIDs have the same index, they belong to two hosts. If these are scraped at different
 * addresses, the address tells whose each GPU is. ---- */

/* The GPUs of a host are adjacent, sorted by index. NULL: each index is unique. */
static const struct fleet_gpu *shared_index(const struct fleet_gpu *gpus, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (gpus[i].gpu[0] && gpus[i].up && gpus[i - 1].up && strcmp(gpus[i].gpu, gpus[i - 1].gpu) == 0)
            return &gpus[i];
    return NULL;
}

static void rename_to(char name[HOST_NAME_SIZE], const char *instance)
{
    char text[2 * HOST_NAME_SIZE + 8];
    snprintf(text, sizeof text, "%s (%s)", name, instance);
    str_copy(name, HOST_NAME_SIZE, str_from(text));
}

static void rename_processes(struct fleet *f, const char *host, const struct fleet_gpu *gpus, size_t count)
{
    for (size_t i = 0; i < f->process_count; i++) {
        struct fleet_process *p = &f->processes[i];
        for (size_t k = 0; strcmp(p->host, host) == 0 && k < count; k++)
            if (strcmp(p->uuid, gpus[k].uuid) == 0) {
                rename_to(p->host, gpus[k].instance);
                break;
            }
    }
}

static int report(struct fleet *f, const char *host, const char *text)
{
    struct fleet_note *n = fleet_note_of(f, host);
    if (n)
        fleet_note_add(n, "name_shared", EFFECT_HEALTHY, text);
    return n ? 0 : -ENOMEM;
}

static int distinguish(struct fleet *f, struct fleet_gpu *gpus, size_t count, const struct fleet_gpu *twice)
{
    char host[HOST_NAME_SIZE], text[2 * GPU_UUID_SIZE + 128];
    const struct fleet_gpu *other = twice - 1;
    bool apart = other->instance[0] && twice->instance[0] && strcmp(other->instance, twice->instance) != 0;
    str_copy(host, sizeof host, str_from(gpus->host));
    snprintf(text, sizeof text, "two hosts are called %s: GPU %s is %s and %s", host, twice->gpu, other->uuid, twice->uuid);
    if (!apart)
        return report(f, host, text);
    rename_processes(f, host, gpus, count);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (gpus[i].instance[0])
            rename_to(gpus[i].host, gpus[i].instance);
        rc = report(f, gpus[i].host, text);
    }
    return rc;
}

int fleet_distinguish_names(struct fleet *f)
{
    bool renamed = false;
    int rc = 0;
    for (size_t i = 0, end; i < f->gpu_count && rc == 0; i = end) {
        for (end = i + 1; end < f->gpu_count && strcmp(f->gpus[end].host, f->gpus[i].host) == 0; end++)
            ;
        const struct fleet_gpu *twice = shared_index(&f->gpus[i], end - i);
        if (!twice)
            continue;
        rc = distinguish(f, &f->gpus[i], end - i, twice);
        renamed = true;
    }
    return rc == 0 && renamed ? fleet_index(f) : rc;
}
