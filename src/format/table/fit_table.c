/* SPDX-License-Identifier: Apache-2.0
 * Capacity and placement for people.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "format/capacity.h"
#include "format/table/grid.h"

static void cell_bytes(struct grid *g, const struct page *page, enum ink ink, struct reading bytes)
{
    char text[NUMBER_SIZE];
    show_bytes(text, page, bytes);
    grid_add(g, ink, text);
}

static bool any_simulated(const struct capacity *c)
{
    for (size_t i = 0; i < c->gpu_count; i++)
        if (c->gpus[i].simulated)
            return true;
    return false;
}

void table_capacity(struct buf *out, const struct page *page, const struct capacity *c)
{
    static const struct grid_column columns[] = {
        {"GPU", LEFT, 0},    {"Available", RIGHT, 0}, {"Reclaimable", RIGHT, 2}, {"Reserve", RIGHT, 4}, {"Free", RIGHT, 1},
        {"Total", RIGHT, 1}, {"Least 1h", RIGHT, 3},  {"Least 24h", RIGHT, 3},   {"Name", LEFT, 0},
    };
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    page_simulated_line(out, page, any_simulated(c));
    if (c->gpu_count == 0) {
        page_wrap(out, page, INK_PLAIN, "No GPU was found on this host.", 0, 0);
        return;
    }
    for (size_t i = 0; i < c->gpu_count; i++) {
        const struct capacity_gpu *gpu = &c->gpus[i];
        char text[32];
        if (gpu->instance < 0)
            snprintf(text, sizeof text, "%d", gpu->index);
        else
            snprintf(text, sizeof text, "%d:%d", gpu->index, gpu->instance);
        grid_add(&g, INK_STRONG, text);
        cell_bytes(&g, page, INK_STRONG, gpu->usable ? gpu->available_bytes : (struct reading){0});
        cell_bytes(&g, page, INK_PLAIN, reading_or(gpu->reclaimable_bytes, 0) ? gpu->reclaimable_bytes : (struct reading){0});
        cell_bytes(&g, page, INK_PLAIN, gpu->reserve_bytes ? reading_ok(gpu->reserve_bytes) : (struct reading){0});
        cell_bytes(&g, page, INK_PLAIN, gpu->free_bytes);
        cell_bytes(&g, page, INK_FAINT, gpu->total_bytes);
        cell_bytes(&g, page, INK_PLAIN, gpu->least_hour_bytes);
        cell_bytes(&g, page, INK_PLAIN, gpu->least_day_bytes);
        grid_add(&g, INK_PLAIN, gpu->id.name[0] ? gpu->id.name : page_dash(page));
    }
    grid_write(out, page, &g);
    for (size_t i = 0; i < c->gpu_count; i++) {
        char text[CAPACITY_WORDS * 2 + 8], words[CAPACITY_WORDS];
        if (!c->gpus[i].problem[0])
            continue;
        snprintf(text, sizeof text, "%s: %s", capacity_gpu_words(&c->gpus[i], words), c->gpus[i].problem);
        page_wrap(out, page, INK_WARN, text, 0, 0);
    }
}

static void say_need(struct buf *out, const struct page *page, const struct fit_subject *subject)
{
    const struct model_need *n = subject->need;
    char weights[NUMBER_SIZE], cache[NUMBER_SIZE], compute[NUMBER_SIZE], overhead[NUMBER_SIZE], text[1024];
    show_bytes(weights, page, reading_ok(n->weight_bytes));
    show_bytes(cache, page, n->cache_bytes);
    show_bytes(compute, page, n->compute_bytes);
    show_bytes(overhead, page, reading_ok(n->overhead_bytes));
    snprintf(text, sizeof text,
             "%s: weights %s, cache for %lld tokens %s (%s), and on each GPU %s for computing and %s for the driver",
             subject->facts->name[0] ? subject->facts->name : subject->path, weights, (long long)n->context, cache,
             subject->cache_type, compute, overhead);
    page_wrap(out, page, INK_PLAIN, text, 2, 0);
    if (n->notes[0]) {
        snprintf(text, sizeof text, "Note: %s.", n->notes);
        page_wrap(out, page, INK_WARN, text, 2, 0);
    }
}

static void say_shares(struct buf *out, const struct page *page, const struct capacity *c, const struct placement_request *request,
                       const struct placement *p)
{
    for (size_t k = 0; k < p->copy_count; k++)
        for (size_t i = 0; i < p->copies[k].share_count; i++) {
            const struct placement_share *share = &p->copies[k].shares[i];
            const struct capacity_gpu *gpu = &c->gpus[share->gpu];
            char takes[NUMBER_SIZE], room[NUMBER_SIZE], words[CAPACITY_WORDS], layers[48] = "", copy[32] = "";
            char text[CAPACITY_WORDS + GPU_NAME_SIZE + 160];
            show_bytes(takes, page, reading_ok(share->bytes));
            show_bytes(room, page, gpu->available_bytes);
            if (request->layers && p->copies[k].share_count > 1)
                snprintf(layers, sizeof layers, " (%zu of %zu layers)", share->layers, request->layer_count);
            if (p->copy_count > 1)
                snprintf(copy, sizeof copy, "copy %zu: ", k + 1);
            snprintf(text, sizeof text, "%s%s takes %s%s, %s available  %s", copy, capacity_gpu_words(gpu, words), takes, layers,
                     room, gpu->id.name);
            buf_text(out, "  ");
            page_wrap(out, page, INK_PLAIN, text, 4, 2);
        }
}

void table_placement(struct buf *out, const struct page *page, const struct capacity *c, const struct placement_request *request,
                     const struct placement *p, const struct fit_subject *subject)
{
    static const char *const heads[] = {"It does not fit: ", "It fits: ", "Unknown: "};
    static const enum ink inks[] = {INK_BAD, INK_GOOD, INK_WARN};
    char text[PLACEMENT_REASON_SIZE + 32];
    page_simulated_line(out, page, any_simulated(c));
    snprintf(text, sizeof text, "%s%s.", p->evicted_count ? "It would fit: " : heads[p->verdict], p->reason);
    page_wrap(out, page, p->evicted_count ? INK_WARN : inks[p->verdict], text, 0, 0);
    if (subject->path)
        say_need(out, page, subject);
    say_shares(out, page, c, request, p);
    for (size_t i = 0; i < p->evicted_count; i++)
        buf_printf(out, "  First: whirr guard evict %s\n", p->evicted[i]);
    AUTO_BUF struct buf env = BUF(16384);
    if (p->copy_count == 1 && placement_env(&env, c, &p->copies[0])) {
        struct str rest = buf_view(&env), line;
        while (str_cut(&rest, '\n', &line))
            if (line.len)
                buf_printf(out, "  " STR_FMT "\n", STR_ARG(line));
    }
}
