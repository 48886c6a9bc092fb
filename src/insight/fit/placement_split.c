/* SPDX-License-Identifier: Apache-2.0
 * One copy on one GPU, or over several of one maker. Copies that need several GPUs do not share them: the groups are cut from the
 * GPUs in order of their room, so that a smaller request never fails where a larger one fits.
 */
#include "insight/fit/placement.h"

#include <string.h>

#include "base/cleanup.h"

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

/* The maker of the first card comes first: a program is seldom made for two. Copies are spread; then GPUs at rest; then the
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

/* Positions of the cards of one maker, most room first. An instance cannot be joined with anything. */
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

bool split_try(const struct capacity *c, const struct placement_request *request, const struct split_rooms *r, size_t n,
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

int64_t split_shortage(const struct capacity *c, const struct placement_request *request, const struct split_rooms *r, size_t n)
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

size_t split_largest_group(const struct capacity *c, const int64_t *rooms)
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
