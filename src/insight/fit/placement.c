/* SPDX-License-Identifier: Apache-2.0
 * First as things are, then with workers evicted, then what is missing.
 */
#include "insight/fit/placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct evictable_worker {
    const char *name;
    int64_t bytes;
    bool evicted;
};

struct search {
    const struct capacity *c;
    const struct placement_request *request;
    struct evictable_worker workers[CAPACITY_WORKERS_MAX]; /* those that could be evicted; most memory first */
    size_t worker_count;
    bool at_best; /* a GPU whose free memory is not known counts as empty */
    struct split_rooms room;
};

enum { SIZE_MAX_BYTES_LOG = 50 }; /* a PiB: beyond, sums of copies could overflow */
#define SIZE_MAX_BYTES ((int64_t)1 << SIZE_MAX_BYTES_LOG)

static void list_workers(struct search *s)
{
    for (size_t i = 0; i < s->c->hold_count; i++) {
        const struct capacity_hold *h = &s->c->holds[i];
        size_t w = 0;
        if (!h->evictable)
            continue;
        while (w < s->worker_count && strcmp(s->workers[w].name, h->worker) != 0)
            w++;
        if (w == CAPACITY_WORKERS_MAX)
            continue;
        if (w == s->worker_count)
            s->workers[s->worker_count++] = (struct evictable_worker){.name = h->worker};
        s->workers[w].bytes += h->bytes;
    }
    for (size_t i = 1; i < s->worker_count; i++)
        for (size_t k = i; k > 0 && s->workers[k - 1].bytes < s->workers[k].bytes; k--) {
            struct evictable_worker w = s->workers[k];
            s->workers[k] = s->workers[k - 1];
            s->workers[k - 1] = w;
        }
}

static bool is_evicted(const struct search *s, const char *worker)
{
    for (size_t i = 0; i < s->worker_count; i++)
        if (s->workers[i].evicted && strcmp(s->workers[i].name, worker) == 0)
            return true;
    return false;
}

/* The room on a GPU that is empty. Without a total, any size may fit. */
static int64_t whole_room(const struct capacity_gpu *gpu)
{
    return MAX_OF(reading_or(gpu->total_bytes, SIZE_MAX_BYTES) - gpu->reserve_bytes, (int64_t)0);
}

/* The room on each GPU with those workers gone; -1 where nothing may be placed, or where it is not known. */
static void placement_measure(struct search *s)
{
    for (size_t i = 0; i < s->c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &s->c->gpus[i];
        int64_t room;
        s->room.rooms[i] = -1;
        if (!placement_may_use(s->request, gpu))
            continue;
        if (!reading_get(gpu->free_bytes, &room)) {
            s->room.rooms[i] = s->at_best ? whole_room(gpu) : -1;
            continue;
        }
        room -= gpu->reserve_bytes;
        for (size_t h = 0; gpu->instance < 0 && h < s->c->hold_count; h++)
            if (s->c->holds[h].gpu_index == gpu->index && is_evicted(s, s->c->holds[h].worker))
                room += s->c->holds[h].bytes;
        int64_t total = reading_or(gpu->total_bytes, INT64_MAX);
        s->room.rooms[i] = MAX_OF(MIN_OF(room, total), 0);
    }
}

/* How many GPUs a copy may take: from, to. */
static void counts(const struct search *s, size_t *from, size_t *to)
{
    *from = s->request->gpus > 0 ? (size_t)s->request->gpus : 1;
    *to = s->request->gpus > 0 || s->request->whole
              ? *from
              : MIN_OF(MAX_OF(split_largest_group(s->c, s->room.rooms), 1), (size_t)PLACEMENT_GPUS_MAX);
}

static bool fit_placement_find(struct search *s, struct placement *out)
{
    size_t from, to;
    placement_measure(s);
    counts(s, &from, &to);
    for (size_t n = from; n <= to; n++)
        if (split_try(s->c, s->request, &s->room, n, out)) {
            out->copy_count = (size_t)MAX_OF(s->request->count, 1);
            return true;
        }
    return false;
}

/* All of them first; then each, the largest first, stays if it fits in spite of that: no worker goes without need. */
static bool find_with_eviction(struct search *s, struct placement *out)
{
    for (size_t i = 0; i < s->worker_count; i++)
        s->workers[i].evicted = true;
    if (s->worker_count == 0 || !fit_placement_find(s, out))
        return false;
    for (size_t i = 0; i < s->worker_count; i++) {
        s->workers[i].evicted = false;
        s->workers[i].evicted = !fit_placement_find(s, out);
    }
    fit_placement_find(s, out);
    for (size_t i = 0; i < s->worker_count; i++)
        if (s->workers[i].evicted)
            str_copy(out->evicted[out->evicted_count++], CAPACITY_WORKER_SIZE, str_from(s->workers[i].name));
    return true;
}

/* With every worker evicted that could be, and every GPU that cannot be read empty. */
static void hope(struct search *s)
{
    for (size_t i = 0; i < s->worker_count; i++)
        s->workers[i].evicted = !s->request->no_eviction;
    s->at_best = true;
}

/* Could a GPU that cannot be read make the difference? `p` is room for the answer. */
static bool may_fit(struct search *s, struct placement *p)
{
    hope(s);
    return fit_placement_find(s, p);
}

static int64_t least_missing(struct search *s)
{
    size_t from, to;
    hope(s);
    placement_measure(s);
    counts(s, &from, &to);
    int64_t least = INT64_MAX;
    for (size_t n = from; n <= to; n++)
        least = MIN_OF(least, split_shortage(s->c, s->request, &s->room, n));
    return least;
}

static bool has_sense(const struct placement_request *w)
{
    return w->bytes >= 0 && w->bytes <= SIZE_MAX_BYTES && w->fixed_bytes >= 0 && w->fixed_bytes <= SIZE_MAX_BYTES && w->gpus >= 0 &&
           w->gpus <= PLACEMENT_GPUS_MAX && w->count >= 0 && w->count <= PLACEMENT_COPIES_MAX;
}

/* Over how many GPUs it would fit, as things are, if it can be divided; 0: over none. `p` is room for that. */
static size_t divided(const struct search *s, struct placement *p)
{
    struct placement_request request = *s->request;
    request.whole = false;
    struct search parted = *s;
    parted.request = &request;
    parted.at_best = false;
    for (size_t i = 0; i < parted.worker_count; i++)
        parted.workers[i].evicted = false;
    return fit_placement_find(&parted, p) ? p->copies[0].share_count : 0;
}

struct placement *placement_find(const struct capacity *c, const struct placement_request *request)
{
    struct search s = {.c = c, .request = request};
    size_t count = c->gpu_count ? c->gpu_count : 1;
    AUTO_FREE int64_t *rooms = calloc(count, sizeof *rooms);
    AUTO_FREE int64_t *left = calloc(count, sizeof *left);
    AUTO_FREE size_t *list = calloc(count, sizeof *list);
    AUTO_FREE struct placement *p = calloc(1, sizeof *p);
    AUTO_FREE struct placement *parted = request->whole ? calloc(1, sizeof *parted) : NULL;
    bool sense = has_sense(request);
    if (!sense || !rooms || !left || !list || !p || (request->whole && !parted)) {
        errno = sense ? ENOMEM : ERANGE;
        return NULL;
    }
    s.room = (struct split_rooms){rooms, left, list};
    list_workers(&s);
    if (fit_placement_find(&s, p) || (!request->no_eviction && find_with_eviction(&s, p))) {
        p->verdict = PLACEMENT_FITS;
    } else if (may_fit(&s, p)) {
        p->verdict = PLACEMENT_UNKNOWN;
        p->copy_count = 0;
        p->missing_bytes = -1;
    } else {
        p->missing_bytes = least_missing(&s);
        p->could_split = request->whole ? divided(&s, parted) : 0;
    }
    placement_words(c, request, p);
    return TAKE(p);
}
