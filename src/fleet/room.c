/* SPDX-License-Identifier: Apache-2.0
 * What fits where: GPUs that may be used, and how much is free on them in one piece.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/fleet.h"
#include "insight/facts/levels.h"

static int tightest_first(const void *a, const void *b)
{
    const struct fleet_gpu *x = *(const struct fleet_gpu *const *)a, *y = *(const struct fleet_gpu *const *)b;
    bool x_judged = x->said.code[0], y_judged = y->said.code[0];
    if (x_judged != y_judged)
        return x_judged ? -1 : 1;
    bool x_busy = load_is_work(x->util_permille), y_busy = load_is_work(y->util_permille);
    if (x_busy != y_busy)
        return x_busy ? 1 : -1;
    int64_t x_room = fleet_room(x).value, y_room = fleet_room(y).value;
    if (x_room != y_room)
        return x_room > y_room ? 1 : -1;
    int order = strverscmp(x->host, y->host);
    return order ? order : strverscmp(x->gpu, y->gpu);
}

bool fleet_is_usable(const struct fleet_gpu *g)
{
    return g->up && !g->said.forbids;
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
        bool too_small = g->divided && reading_or(g->instance_most_bytes, INT64_MAX) < bytes;
        count += fleet_is_usable(g) && fleet_room(g).state != READING_OK && !too_small;
    }
    return count;
}

const struct fleet_gpu **fleet_fitting(const struct fleet *f, int64_t bytes, size_t *count)
{
    const struct fleet_gpu **list = calloc(f->gpu_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < f->gpu_count; i++) {
        const struct fleet_gpu *g = &f->gpus[i];
        int64_t room;
        if (fleet_is_usable(g) && reading_get(fleet_room(g), &room) && room >= bytes)
            list[(*count)++] = g;
    }
    if (list && *count)
        qsort(list, *count, sizeof *list, tightest_first);
    return list;
}
