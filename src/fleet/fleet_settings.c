/* SPDX-License-Identifier: Apache-2.0
 * Keeps the fleet's settings for the duration of a query: a reload frees the old ones.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "config/config.h"
#include "fleet/fleet.h"

enum { SETTINGS_MAX = 4 << 20 };

struct fleet_settings {
    _Atomic int refs;
    struct arena arena;
    struct config_fleet copy;
};

static const char *settings_copy(struct fleet_settings *s, const char *text, bool *whole)
{
    const char *copy = arena_copy(&s->arena, str_from(text));
    *whole &= copy != NULL;
    return copy;
}

static void copy_headers(struct fleet_settings *s, const struct config_map *from, bool *whole)
{
    struct config_pair *pairs = arena_alloc(&s->arena, (from->count + 1) * sizeof *pairs);
    *whole &= pairs != NULL;
    for (size_t i = 0; pairs && i < from->count; i++)
        pairs[i] = (struct config_pair){settings_copy(s, from->pairs[i].key, whole), settings_copy(s, from->pairs[i].value, whole)};
    s->copy.headers = (struct config_map){pairs, from->count};
}

static void copy_expect(struct fleet_settings *s, const struct config_list *from, bool *whole)
{
    const char **items = arena_alloc(&s->arena, (from->count + 1) * sizeof *items);
    *whole &= items != NULL;
    for (size_t i = 0; items && i < from->count; i++)
        items[i] = settings_copy(s, from->items[i], whole);
    s->copy.expect = (struct config_list){items, from->count};
}

struct fleet_settings *fleet_settings_new(const struct config_fleet *from)
{
    struct fleet_settings *s = calloc(1, sizeof *s);
    bool whole = true;
    if (!s)
        return NULL;
    atomic_store(&s->refs, 1);
    s->arena = ARENA(SETTINGS_MAX);
    s->copy = (struct config_fleet){.url = settings_copy(s, from->url, &whole),
                                    .token = settings_copy(s, from->token, &whole),
                                    .tenant = settings_copy(s, from->tenant, &whole),
                                    .ca = settings_copy(s, from->ca, &whole),
                                    .certificate = settings_copy(s, from->certificate, &whole),
                                    .key = settings_copy(s, from->key, &whole)};
    copy_headers(s, &from->headers, &whole);
    copy_expect(s, &from->expect, &whole);
    if (whole)
        return s;
    fleet_settings_unref(s);
    return NULL;
}

struct fleet_settings *fleet_settings_ref(struct fleet_settings *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void fleet_settings_unref(struct fleet_settings *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    arena_done(&s->arena);
    free(s);
}

const struct config_fleet *fleet_settings_of(const struct fleet_settings *s)
{
    return &s->copy;
}
