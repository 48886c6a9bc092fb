/* SPDX-License-Identifier: Apache-2.0
 * Where a request fits, and why there or why not.
 */
#include "insight/fit/placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/facts/words.h"

/* ---- one copy on one GPU, or over several of one vendor ----
 * Copies that need several GPUs do not share them: the groups are cut from the GPUs in order of their room, so that a smaller
 * request never fails where a larger one fits. */

enum { BUSY_PERMILLE = 500 }; /* a GPU at work is chosen after those that rest */

/* The room on each GPU by position, -1: not to be used; and as much space to work in, so that nothing here can run out of memory:
 * "it does not fit" would be the wrong answer to that. */
struct split_rooms {
    int64_t *rooms, *left;
    size_t *list;
};

static int copies_of(const struct placement_request *request)
{
    return MAX_OF(request->count, 1);
}

/* ---- one GPU a copy ---- */

static bool is_busy(const struct capacity_gpu *gpu)
{
    return reading_or(gpu->util_permille, 0) >= BUSY_PERMILLE;
}

static bool same_maker(const struct capacity *c, size_t a, size_t b)
{
    return strcmp(c->gpus[a].id.vendor, c->gpus[b].id.vendor) == 0;
}

static size_t first_of_maker(const struct capacity *c, size_t gpu)
{
    size_t first = 0;
    while (!same_maker(c, first, gpu))
        first++;
    return first;
}

/* The vendor of the first GPU comes first: a program is seldom made for two. Copies are spread; then GPUs at rest; then the
 * tightest room, so that the large ones stay whole for large things. */
static bool is_better(const struct capacity *c, const int64_t *rooms, const size_t *taken, size_t a, size_t b)
{
    if (!same_maker(c, a, b))
        return first_of_maker(c, a) < first_of_maker(c, b);
    if (taken[a] != taken[b])
        return taken[a] < taken[b];
    if (is_busy(&c->gpus[a]) != is_busy(&c->gpus[b]))
        return !is_busy(&c->gpus[a]);
    return rooms[a] != rooms[b] ? rooms[a] < rooms[b] : a < b;
}

static bool try_single(const struct capacity *c, const struct placement_request *request, const struct split_rooms *r,
                       struct placement *out)
{
    int64_t need = request->bytes + request->fixed_bytes, *rooms = r->left;
    size_t *taken = r->list; /* copies on each */
    memcpy(rooms, r->rooms, c->gpu_count * sizeof *rooms);
    memset(taken, 0, c->gpu_count * sizeof *taken);
    for (int k = 0; k < copies_of(request); k++) {
        size_t best = c->gpu_count;
        for (size_t i = 0; i < c->gpu_count; i++)
            if (rooms[i] >= need && (best == c->gpu_count || is_better(c, rooms, taken, i, best)))
                best = i;
        if (best == c->gpu_count)
            return false;
        rooms[best] -= need;
        taken[best]++;
        out->copies[k] = (struct placement_copy){1, {{.gpu = best, .bytes = need, .layers = request->layer_count}}};
    }
    return true;
}

/* ---- several GPUs a copy ---- */

struct group {
    size_t count;
    size_t gpus[PLACEMENT_GPUS_MAX];  /* in index order */
    int64_t room[PLACEMENT_GPUS_MAX]; /* beyond what is fixed */
};

/* Positions of the GPUs of one vendor, most room first. An instance cannot be joined with anything. */
static size_t list_of(const struct capacity *c, const int64_t *rooms, size_t maker, size_t *list)
{
    size_t count = 0;
    for (size_t i = 0; i < c->gpu_count; i++) {
        if (rooms[i] < 0 || c->gpus[i].instance >= 0 || !same_maker(c, i, maker))
            continue;
        size_t at = count++;
        for (; at > 0 && rooms[list[at - 1]] < rooms[i]; at--)
            list[at] = list[at - 1];
        list[at] = i;
    }
    return count;
}

static bool is_first_of_maker(const struct capacity *c, const int64_t *rooms, size_t gpu)
{
    if (rooms[gpu] < 0 || c->gpus[gpu].instance >= 0)
        return false;
    for (size_t i = 0; i < gpu; i++)
        if (rooms[i] >= 0 && c->gpus[i].instance < 0 && same_maker(c, i, gpu))
            return false;
    return true;
}

static void group_of(const struct placement_request *request, const int64_t *rooms, const size_t *list, size_t n, struct group *g)
{
    g->count = n;
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && g->gpus[at - 1] > list[i]; at--)
            g->gpus[at] = g->gpus[at - 1];
        g->gpus[at] = list[i];
    }
    for (size_t i = 0; i < n; i++)
        g->room[i] = rooms[g->gpus[i]] - request->fixed_bytes;
}

static int64_t total_room(const struct group *g)
{
    int64_t sum = 0;
    for (size_t i = 0; i < g->count; i++)
        sum += MAX_OF(g->room[i], 0);
    return sum;
}

/* Each GPU takes layers in order, up to its limit; false when some are left. */
static bool fill_layers(const struct placement_request *request, const struct group *g, const int64_t *limits,
                        struct placement_copy *copy)
{
    size_t next = 0;
    for (size_t i = 0; i < g->count; i++) {
        struct placement_share share = {.gpu = g->gpus[i]};
        while (next < request->layer_count && share.bytes + request->layers[next] <= limits[i]) {
            share.bytes += request->layers[next++];
            share.layers++;
        }
        copy->shares[i] = share;
    }
    return next == request->layer_count;
}

static bool fill_to(const struct placement_request *request, const struct group *g, double load, struct placement_copy *copy)
{
    int64_t limits[PLACEMENT_GPUS_MAX];
    for (size_t i = 0; i < g->count; i++)
        limits[i] = load >= 1 ? g->room[i] : (int64_t)((double)g->room[i] * load);
    return fill_layers(request, g, limits, copy);
}

/* The fairest cut between layers: the least share of each room with which all of them find a place. */
static bool cut_layers(const struct placement_request *request, const struct group *g, struct placement_copy *copy)
{
    enum { STEPS = 24 };
    double too_little = 0, enough = 1;
    if (!fill_to(request, g, enough, copy))
        return false;
    for (int step = 0; step < STEPS; step++) {
        double middle = (too_little + enough) / 2;
        if (fill_to(request, g, middle, copy))
            enough = middle;
        else
            too_little = middle;
    }
    return fill_to(request, g, enough, copy);
}

/* In proportion to the room; what rounding leaves over goes where room is. */
static bool cut_anywhere(const struct placement_request *request, const struct group *g, struct placement_copy *copy)
{
    int64_t all = total_room(g), left = request->bytes;
    if (all < request->bytes)
        return false;
    for (size_t i = 0; i < g->count; i++) {
        int64_t room = MAX_OF(g->room[i], 0);
        int64_t bytes = all ? (int64_t)((double)request->bytes * ((double)room / (double)all)) : 0;
        bytes = MIN_OF(MIN_OF(bytes, room), left);
        copy->shares[i] = (struct placement_share){.gpu = g->gpus[i], .bytes = bytes};
        left -= bytes;
    }
    for (size_t i = 0; left > 0 && i < g->count; i++) {
        int64_t more = MIN_OF(left, MAX_OF(g->room[i], 0) - copy->shares[i].bytes);
        copy->shares[i].bytes += more;
        left -= more;
    }
    return left == 0;
}

static bool cut_evenly(const struct placement_request *request, const struct group *g, struct placement_copy *copy)
{
    int64_t share = (request->bytes + (int64_t)g->count - 1) / (int64_t)g->count;
    for (size_t i = 0; i < g->count; i++) {
        if (g->room[i] < share)
            return false;
        copy->shares[i] = (struct placement_share){.gpu = g->gpus[i], .bytes = share};
    }
    return true;
}

static bool cut(const struct placement_request *request, const struct group *g, struct placement_copy *copy)
{
    copy->share_count = g->count;
    for (size_t i = 0; i < g->count; i++)
        if (g->room[i] < 0)
            return false;
    bool fine = request->even     ? cut_evenly(request, g, copy)
                : request->layers ? cut_layers(request, g, copy)
                                  : cut_anywhere(request, g, copy);
    for (size_t i = 0; fine && i < g->count; i++)
        copy->shares[i].bytes += request->fixed_bytes;
    return fine;
}

static bool try_groups(const struct capacity *c, const struct placement_request *request, const struct split_rooms *r, size_t n,
                       struct placement *out)
{
    size_t copies = (size_t)copies_of(request);
    for (size_t maker = 0; maker < c->gpu_count; maker++) {
        if (!is_first_of_maker(c, r->rooms, maker) || list_of(c, r->rooms, maker, r->list) < copies * n)
            continue;
        size_t k = 0;
        for (; k < copies; k++) {
            struct group g;
            group_of(request, r->rooms, r->list + k * n, n, &g);
            if (!cut(request, &g, &out->copies[k]))
                break;
        }
        if (k == copies)
            return true;
    }
    return false;
}

/* Lays out all copies over `n` GPUs each and fills out->copies, or returns false. */
static bool split_try(const struct capacity *c, const struct placement_request *request, const struct split_rooms *r, size_t n,
                      struct placement *out)
{
    if (c->gpu_count == 0 || n == 0 || n > PLACEMENT_GPUS_MAX)
        return false;
    if (n > 1)
        return try_groups(c, request, r, n, out);
    return try_single(c, request, r, out);
}

/* ---- what is missing ---- */

static int64_t shortage_single(const struct capacity *c, const struct placement_request *request, const int64_t *rooms)
{
    int64_t need = request->bytes + request->fixed_bytes, most = 0, copies = copies_of(request);
    for (size_t i = 0; i < c->gpu_count; i++) {
        int64_t room = MAX_OF(rooms[i], 0);
        copies -= need > 0 ? MIN_OF(room / need, copies) : copies;
        most = MAX_OF(most, need > 0 ? room % need : 0);
    }
    return copies > 0 ? need * copies - most : 0;
}

static int64_t shortage_of_group(const struct placement_request *request, const struct group *g)
{
    int64_t short_by = request->bytes - total_room(g), share = (request->bytes + (int64_t)g->count - 1) / (int64_t)g->count;
    if (request->even) {
        short_by = 0;
        for (size_t i = 0; i < g->count; i++)
            short_by += MAX_OF(share - g->room[i], 0);
    } else {
        for (size_t i = 0; i < g->count; i++)
            short_by += MAX_OF(-g->room[i], 0);
    }
    struct placement_copy copy;
    /* Between whole layers some room stays unused: then one more layer's room is missing at most. */
    if (short_by <= 0 && !cut(request, g, &copy))
        for (size_t i = 0; i < request->layer_count; i++)
            short_by = MAX_OF(short_by, request->layers[i]);
    return MAX_OF(short_by, 0);
}

/* How much more room would be needed, over the best choice of GPUs; > 0. */
static int64_t split_shortage(const struct capacity *c, const struct placement_request *request, const struct split_rooms *r,
                              size_t n)
{
    int64_t copies = copies_of(request), best = copies * (request->bytes + (int64_t)n * request->fixed_bytes);
    if (n == 1)
        return MAX_OF(MIN_OF(shortage_single(c, request, r->rooms), best), 1);
    for (size_t maker = 0; maker < c->gpu_count; maker++) {
        if (!is_first_of_maker(c, r->rooms, maker) || list_of(c, r->rooms, maker, r->list) < (size_t)copies * n)
            continue;
        int64_t sum = 0;
        for (size_t k = 0; k < (size_t)copies; k++) {
            struct group g;
            group_of(request, r->rooms, r->list + k * n, n, &g);
            sum += shortage_of_group(request, &g);
        }
        best = MIN_OF(best, sum);
    }
    return MAX_OF(best, 1);
}

/* Whole GPUs of the same vendor can share one copy; the most that any vendor has. */
static size_t split_largest_group(const struct capacity *c, const int64_t *rooms)
{
    size_t most = 0;
    for (size_t maker = 0; maker < c->gpu_count; maker++) {
        size_t count = 0;
        for (size_t i = 0; i < c->gpu_count; i++)
            count += rooms[i] >= 0 && c->gpus[i].instance < 0 && same_maker(c, i, maker);
        most = MAX_OF(most, count);
    }
    return most;
}

/* ---- words: why there, why not ---- */

static void say_gpus(struct text *t, const struct capacity *c, const struct placement_copy *copy)
{
    char words[CAPACITY_WORDS];
    if (copy->share_count == 1) {
        text_append(t, "%s", capacity_gpu_words(&c->gpus[copy->shares[0].gpu], words));
        return;
    }
    text_append(t, "GPUs ");
    for (size_t i = 0; i < copy->share_count; i++)
        text_append(t, "%s%d", i == 0 ? "" : i + 1 == copy->share_count ? " and " : ", ", c->gpus[copy->shares[i].gpu].index);
}

/* The room on GPUs together, as things are. */
static int64_t room_of(const struct capacity *c, const struct placement_copy *copy)
{
    int64_t sum = 0;
    for (size_t i = 0; i < copy->share_count; i++)
        sum += reading_or(c->gpus[copy->shares[i].gpu].available_bytes, 0);
    return sum;
}

static const struct capacity_gpu *roomiest(const struct capacity *c, const struct placement_request *request)
{
    const struct capacity_gpu *best = NULL;
    for (size_t i = 0; i < c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        if (!placement_may_use(request, gpu) || gpu->available_bytes.state != READING_OK)
            continue;
        if (!best || gpu->available_bytes.value > best->available_bytes.value)
            best = gpu;
    }
    return best;
}

/* Another GPU had room too: why not that one? */
static void say_choice(struct text *t, const struct capacity *c, const struct placement_request *request,
                       const struct placement_copy *copy)
{
    const struct capacity_gpu *chosen = &c->gpus[copy->shares[0].gpu];
    char words[CAPACITY_WORDS];
    bool larger = false;
    for (size_t i = 0; i < c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        int64_t room;
        if (gpu == chosen || !placement_may_use(request, gpu) || strcmp(gpu->id.vendor, chosen->id.vendor) != 0 ||
            !reading_get(gpu->available_bytes, &room) || room < request->bytes + request->fixed_bytes)
            continue;
        if (reading_or(gpu->util_permille, 0) >= BUSY_PERMILLE && reading_or(chosen->util_permille, 0) < BUSY_PERMILLE) {
            text_append(t, "; %s has room too but is busy (%lld%%)", capacity_gpu_words(gpu, words),
                        percent(gpu->util_permille.value));
            return;
        }
        larger = larger || room > reading_or(chosen->available_bytes, 0);
    }
    if (larger)
        text_append(t, "; that is the tightest room that is enough");
}

static void say_fits(struct text *t, const struct capacity *c, const struct placement_request *request, const struct placement *p)
{
    char size[SHORT_WORDS], room[SHORT_WORDS], words[CAPACITY_WORDS];
    const struct placement_copy *copy = &p->copies[0];
    int64_t need = request->bytes + request->fixed_bytes * (int64_t)copy->share_count;
    if (p->copy_count > 1)
        text_append(t, "%zu copies of %s fit, the first on ", p->copy_count, words_bytes(need, size));
    else
        text_append(t, "%s fit on ", words_bytes(need, size));
    say_gpus(t, c, copy);
    text_append(t, ", where %s are available", words_bytes(room_of(c, copy), room));
    const struct capacity_gpu *most = roomiest(c, request);
    if (copy->share_count > 1 && request->gpus == 0 && most)
        text_append(t, " together; no single GPU has enough (most: %s with %s)", capacity_gpu_words(most, words),
                    words_bytes(most->available_bytes.value, room));
    if (p->evicted_count) {
        text_append(t, ", once ");
        for (size_t i = 0; i < p->evicted_count; i++)
            text_append(t, "%s%s", i == 0 ? "" : i + 1 == p->evicted_count ? " and " : ", ", p->evicted[i]);
        text_append(t, p->evicted_count > 1 ? " are evicted" : " is evicted");
    } else if (copy->share_count == 1 && p->copy_count == 1) {
        say_choice(t, c, request, copy);
    }
}

static void say_unknown(struct text *t, const struct capacity *c, const struct placement_request *request)
{
    char words[CAPACITY_WORDS];
    const char *before = "it may fit on ";
    for (size_t i = 0; i < c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        if (!placement_may_use(request, gpu) || gpu->free_bytes.state == READING_OK)
            continue;
        text_append(t, "%s%s (%s)", before, capacity_gpu_words(gpu, words), gpu->problem);
        before = ", ";
    }
    if (roomiest(c, request))
        text_append(t, "; it does not fit on the others");
}

/* The most GPUs of one vendor on which something could be placed: only these can share a copy. */
static int largest_group(const struct capacity *c, const struct placement_request *request)
{
    int most = 0;
    for (size_t i = 0; i < c->gpu_count; i++) {
        int count = 0;
        for (size_t k = 0; k < c->gpu_count; k++)
            count += placement_may_use(request, &c->gpus[k]) && c->gpus[k].instance < 0 &&
                     c->gpus[k].free_bytes.state == READING_OK && strcmp(c->gpus[i].id.vendor, c->gpus[k].id.vendor) == 0;
        most = MAX_OF(most, count);
    }
    return most;
}

static void say_missing(struct text *t, const struct capacity *c, const struct placement_request *request,
                        const struct placement *p)
{
    char size[SHORT_WORDS], room[SHORT_WORDS], words[CAPACITY_WORDS];
    const struct capacity_gpu *most = roomiest(c, request);
    if (c->gpu_count == 0) {
        text_append(t, "there is no GPU here");
        return;
    }
    if (!most) {
        for (size_t i = 0; i < c->gpu_count; i++) {
            const struct capacity_gpu *gpu = &c->gpus[i];
            text_append(t, "%s%s ", i ? ", " : "", capacity_gpu_words(gpu, words));
            if (placement_may_use(request, gpu) && gpu->total_bytes.state == READING_OK)
                text_append(t, "has %s in all", words_bytes(gpu->total_bytes.value, size));
            else
                text_append(t, "cannot be used (%s)", gpu->problem);
        }
        return;
    }
    int cards = largest_group(c, request), wanted = request->gpus * MAX_OF(request->count, 1);
    if (request->gpus > 1 && cards < wanted) {
        text_append(t, "%1$d GPUs of one vendor are wanted, and only %3$d %2$s usable", wanted, cards == 1 ? "is" : "are", cards);
        return;
    }
    text_append(t, "%s are missing%s", words_bytes(p->missing_bytes, size),
                request->whole && largest_group(c, request) > 1 ? " on one GPU" : "");
    if (request->gpus > 1)
        text_append(t, " for %d GPUs%s", request->gpus, request->even ? " with equal shares" : "");
    text_append(t, "; %s has the most room, %s", capacity_gpu_words(most, words), words_bytes(most->available_bytes.value, room));
    if (most->reserve_bytes)
        text_append(t, " (%s are reserved)", words_bytes(most->reserve_bytes, size));
    int64_t held = 0;
    for (size_t i = 0; i < c->hold_count; i++)
        held += c->holds[i].evictable ? c->holds[i].bytes : 0;
    if (held && !request->no_eviction)
        text_append(t, "; evicting every worker under guard (%s) would not be enough", words_bytes(held, size));
    if (p->could_split)
        text_append(t, "; split over %zu GPUs it would fit, if it can be split", p->could_split);
}

static void placement_words(const struct capacity *c, const struct placement_request *request, struct placement *p)
{
    struct text t = TEXT(p->reason);
    switch (p->verdict) {
    case PLACEMENT_FITS: say_fits(&t, c, request, p); break;
    case PLACEMENT_UNKNOWN: say_unknown(&t, c, request); break;
    case PLACEMENT_DOES_NOT_FIT: say_missing(&t, c, request, p); break;
    }
}

/* ---- first as things are, then with workers evicted, then what is missing ---- */

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
