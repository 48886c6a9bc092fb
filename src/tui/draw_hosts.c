/* SPDX-License-Identifier: Apache-2.0
 * A line for each of several hosts (--host), with its answer to why.
 */
#include "tui/draw.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "insight/facts/levels.h"
#include "insight/view/why.h"

struct host_line {
    size_t gpus, busy, known; /* known: those with a known utilization */
    struct reading power_mw;
    struct reading used_bytes, total_bytes; /* of VRAM */
    struct reading hottest;
};

static void add_reading(struct reading *sum, struct reading one)
{
    if (one.state == READING_OK)
        *sum = reading_ok(reading_or(*sum, 0) + one.value);
}

static struct host_line add_up_host(const struct snapshot *s)
{
    struct host_line line = {0};
    for (size_t i = 0; s && i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        line.gpus++;
        line.known += gpu->util_permille.state == READING_OK;
        line.busy += load_is_work(gpu->util_permille);
        add_reading(&line.power_mw, gpu->power_mw);
        if (snapshot_counts_memory(s, gpu)) {
            add_reading(&line.used_bytes, gpu->mem_used_bytes);
            add_reading(&line.total_bytes, gpu->mem_total_bytes);
        }
        if (reading_or(gpu->temp_mdegc, -1) > reading_or(line.hottest, -1))
            line.hottest = gpu->temp_mdegc;
    }
    return line;
}

static void draw_host(const struct top *t, struct canvas *c, const struct top *host, int y)
{
    struct page page = draw_page(t);
    char text[NUMBER_SIZE];
    const struct why *why = host->why;
    struct host_line line = add_up_host(host->live);
    canvas_text(c, 1, y, 20, TINT_STRONG, host->host ? host->host : "this host");
    if (host->trouble[0] || !host->live) {
        size_t named = host->host ? strlen(host->host) : 0; /* the reason repeats the host's name */
        const char *trouble = host->trouble;
        if (named && strncmp(trouble, host->host, named) == 0 && strncmp(trouble + named, ": ", 2) == 0)
            trouble += named + 2;
        canvas_text(c, 22, y, c->width - 23, host->trouble[0] ? TINT_BAD : TINT_DIM, trouble[0] ? trouble : "asking...");
        return;
    }
    snprintf(text, sizeof text, "%zu/%zu", line.busy, line.gpus);
    canvas_right(c, 21, y, 6, TINT_PLAIN, line.known || !line.gpus ? text : page_dash(&page));
    snprintf(text, sizeof text, "%lld W", words_whole(line.power_mw.value, 1000));
    canvas_right(c, 28, y, 8, TINT_PLAIN, line.power_mw.state == READING_OK ? text : page_dash(&page));
    show_bytes_of(text, &page, line.used_bytes, line.total_bytes);
    canvas_right(c, 37, y, 15, TINT_PLAIN, text);
    show_temperature(text, &page, line.hottest);
    canvas_right(c, 53, y, 6, TINT_PLAIN, text);
    canvas_text(c, 61, y, c->width - 62, TINT_DIM, why ? why->answer : "");
}

int draw_hosts(struct top *t, struct canvas *c, int top, int height)
{
    canvas_text(c, 1, top, c->width - 2, TINT_DIM, "HOST                  BUSY    POWER            VRAM   TEMP  WHY");
    size_t room = (size_t)MAX_OF(height - 1, 1), first = t->host_choice >= room ? t->host_choice - room + 1 : 0;
    for (size_t i = first; i < t->host_count && i - first < room; i++) {
        int y = top + 1 + (int)(i - first);
        draw_host(t, c, t->hosts[i], y);
        top_zone(t, ZONE_HOST, 0, y, c->width, 1, (int64_t)i);
        if (i == t->host_choice)
            canvas_select(c, 0, y, c->width);
    }
    return 1;
}
