/* SPDX-License-Identifier: Apache-2.0
 * The table of clients: an array, and a hash over it.
 */
#include "source/drm/clients.h"

#include <stdlib.h>

#include "base/cleanup.h"

static size_t clients_bucket_of(const struct clients *c, const char *device, uint64_t id)
{
    uint64_t h = id * 0x9e3779b97f4a7c15u;
    for (; *device; device++)
        h = (h ^ (unsigned char)*device) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32) & (c->bucket_count - 1);
}

static void put_in_bucket(struct clients *c, size_t index)
{
    size_t b = clients_bucket_of(c, c->list[index].device, c->list[index].id);
    while (c->buckets[b])
        b = (b + 1) & (c->bucket_count - 1);
    c->buckets[b] = (uint32_t)index + 1;
}

static bool rehash(struct clients *c, size_t bucket_count)
{
    uint32_t *buckets = calloc(bucket_count, sizeof *buckets);
    if (!buckets)
        return false;
    free(c->buckets);
    c->buckets = buckets;
    c->bucket_count = bucket_count;
    for (size_t i = 0; i < c->count; i++)
        put_in_bucket(c, i);
    return true;
}

static bool clients_make_room(struct clients *c)
{
    if (c->count == CLIENTS_MAX)
        return false;
    if (!ROOM_FOR_ONE(c->list, c->count, c->capacity, 16))
        return false;
    return c->bucket_count > 2 * c->count || rehash(c, MAX_OF((size_t)64, c->bucket_count * 2));
}

int clients_place(struct clients *c, const char *device, uint64_t id)
{
    for (size_t b = c->bucket_count ? clients_bucket_of(c, device, id) : 0; c->bucket_count && c->buckets[b];
         b = (b + 1) & (c->bucket_count - 1)) {
        const struct drm_client *found = &c->list[c->buckets[b] - 1];
        if (found->id == id && strcmp(found->device, device) == 0)
            return (int)c->buckets[b] - 1;
    }
    if (!clients_make_room(c)) {
        c->left_out++;
        return -1;
    }
    struct drm_client *new = &c->list[c->count++];
    *new = (struct drm_client){.id = id, .owner = -1};
    str_copy(new->device, sizeof new->device, str_from(device));
    put_in_bucket(c, c->count - 1);
    return (int)c->count - 1;
}

static struct client_engine *engine_of(struct drm_client *c, const struct fdinfo_engine *now, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < c->engine_count; i++)
        if (strcmp(c->engines[i].name, now->name) == 0)
            return &c->engines[i];
    if (c->engine_count == FDINFO_ENGINES)
        return NULL;
    *is_new = true;
    struct client_engine *e = &c->engines[c->engine_count++];
    *e = (struct client_engine){.kind = now->kind, .permille = -1};
    memcpy(e->name, now->name, sizeof e->name);
    return e;
}

static int32_t share(uint64_t part, uint64_t whole, uint32_t capacity)
{
    double permille = whole ? (double)part * 1000.0 / ((double)whole * capacity) : 0;
    return permille > 1000 ? 1000 : (int32_t)(permille + 0.5);
}

/* A counter that falls (some drivers lose the time of ended contexts) keeps its previous maximum. */
static bool update_engine(struct client_engine *e, const struct fdinfo_engine *now, uint64_t elapsed_ns, bool first)
{
    uint64_t busy = now->has_ns ? now->ns : now->cycles;
    uint64_t total = now->has_ns ? 0 : now->total;
    uint64_t more = busy > e->busy ? busy - e->busy : 0;
    uint64_t whole = now->has_ns ? elapsed_ns : total > e->total ? total - e->total : 0;
    if (!first)
        e->permille = share(more, whole, now->capacity);
    e->busy = MAX_OF(busy, e->busy);
    e->total = MAX_OF(total, e->total);
    return more > 0;
}

bool client_update(struct drm_client *c, const struct fdinfo *info, struct mono now, uint32_t scan)
{
    bool first = c->read_in == 0, moved = false, is_new;
    uint64_t elapsed = first || now.ns <= c->read_at.ns ? 0 : (uint64_t)(now.ns - c->read_at.ns);
    for (size_t i = 0; i < info->engine_count; i++) {
        struct client_engine *e = engine_of(c, &info->engines[i], &is_new);
        if (!e)
            continue;
        /* amdgpu omits engines until they have worked: one that appears later started at 0. */
        moved |= update_engine(e, &info->engines[i], elapsed, first || (is_new && !info->engines[i].has_ns));
    }
    bool worked = moved && !first;
    moved |= c->vram_bytes != info->vram_bytes || c->system_bytes != info->system_bytes;
    c->has_vram = info->has_vram;
    c->has_system = info->has_system;
    c->vram_bytes = info->vram_bytes;
    c->system_bytes = info->system_bytes;
    c->quiet = moved || first ? 0 : (uint16_t)MIN_OF(c->quiet + 1, 1000);
    c->read_at = now;
    c->read_in = scan;
    return worked;
}

void client_unchanged(struct drm_client *c, struct mono now, uint32_t scan)
{
    for (size_t i = 0; i < c->engine_count; i++)
        c->engines[i].permille = 0;
    c->quiet = (uint16_t)MIN_OF(c->quiet + 1, 1000);
    c->read_at = now;
    c->read_in = scan;
}

bool client_due(const struct drm_client *c, struct mono now)
{
    /* Spread over scans. Every client is read within 5 s: checks for new load rely on it. */
    int64_t pause = CLIENT_IDLE_MS + (int64_t)(c->id % 9) * 250;
    return c->read_in == 0 || c->quiet < 2 || mono_since_ms(now, c->read_at) >= pause;
}

bool clients_sweep(struct clients *c, uint32_t scan, int32_t *moved)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        moved[i] = c->list[i].seen_in == scan ? (int32_t)kept : -1;
        if (moved[i] >= 0 && kept++ != i)
            c->list[kept - 1] = c->list[i];
    }
    if (kept == c->count)
        return false;
    c->count = kept;
    memset(c->buckets, 0, c->bucket_count * sizeof *c->buckets);
    for (size_t i = 0; i < c->count; i++)
        put_in_bucket(c, i);
    return true;
}

void clients_done(struct clients *c)
{
    free(c->list);
    free(c->buckets);
    *c = (struct clients){0};
}
