/* SPDX-License-Identifier: Apache-2.0
 * The setup screen: categories on the left, their items beside them, and a preview below.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "tui/draw.h"
#include "tui/setup.h"

enum { PARTS_WIDTH = 20, ITEM_WIDTH = 29, PREVIEW_MIN = 5, PREVIEW_MAX = 14, LOW = 18 };

static void draw_parts(struct top *t, struct canvas *c, int y)
{
    for (int i = 0; i < SETUP_PARTS; i++) {
        bool chosen = i == t->setup;
        canvas_text(c, 1, y + i, 1, TINT_LABEL, chosen ? (t->utf8 ? "▸" : ">") : " ");
        canvas_text(c, 3, y + i, PARTS_WIDTH - 4, chosen ? TINT_STRONG : TINT_DIM, setup_lists[i].title);
        top_zone(t, ZONE_SETUP, 0, y + i, PARTS_WIDTH - 1, 1, -1 - i);
    }
}

static void item_text(const struct top *t, int item, char *text, size_t size)
{
    enum setup_part part = (enum setup_part)t->setup;
    char value[32];
    if (part == SETUP_SHOWN) {
        const struct gpu *gpu = &t->whole->gpus[item];
        snprintf(text, size, "[%c] %d %s", top_gpu_on(t, item) ? 'x' : ' ', gpu->index, draw_gpu_name(gpu));
        return;
    }
    const char *title = setup_lists[part].items[item].title;
    if (part == SETUP_LOOK)
        snprintf(text, size, "%-32s %s", title, setup_value(&t->settings, item, value, sizeof value));
    else
        snprintf(text, size, "[%c] %s", setup_shows(&t->settings, part, item) ? 'x' : ' ', title);
}

/* Fills columns from top to bottom, and scrolls if that is not enough. Returns the lines they took. */
static int draw_items(struct top *t, struct canvas *c, int y, int room)
{
    enum setup_part part = (enum setup_part)t->setup;
    const struct setup_list *list = &setup_lists[part];
    int width = part == SETUP_LOOK ? c->width - PARTS_WIDTH - 1 : ITEM_WIDTH, count = 0, chosen = 0, at = 0;
    for (int k = 0; k < setup_count(t, part); k++) {
        int i = setup_item_at(&t->settings, part, k);
        chosen = i == (int)t->choice ? count : chosen;
        count += part == SETUP_SHOWN || list->items[i].name;
    }
    int columns = MAX_OF((c->width - PARTS_WIDTH) / width, 1), lines = MAX_OF(MIN_OF((count + columns - 1) / columns, room), 1);
    int first = MAX_OF(chosen - lines * columns + 1, 0);
    for (int k = 0; k < setup_count(t, part); k++) {
        char text[96];
        int i = setup_item_at(&t->settings, part, k);
        int place = part == SETUP_SHOWN || list->items[i].name ? at++ - first : -1;
        if (place < 0 || place >= lines * columns)
            continue;
        int x = PARTS_WIDTH + place / lines * width, line = y + place % lines, wide = MIN_OF(width - 1, c->width - x - 1);
        item_text(t, i, text, sizeof text);
        bool on = part == SETUP_LOOK || (part == SETUP_SHOWN ? top_gpu_on(t, i) : setup_shows(&t->settings, part, i));
        canvas_text(c, x, line, wide, on ? TINT_PLAIN : TINT_DIM, text);
        if (i == (int)t->choice)
            canvas_select(c, x, line, wide);
        top_zone(t, ZONE_SETUP, x, line, wide, 1, i);
    }
    return MAX_OF(lines, (int)SETUP_PARTS);
}

/* Previews the setting with the present sample; its zones are dropped, so clicks do nothing. */
static void draw_preview(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    size_t zones = t->zone_count;
    if (!s || !s->gpu_count || height < 2)
        return;
    if (t->setup == SETUP_HOST)
        draw_host_line(t, c, y);
    else if (t->setup == SETUP_PLOTS)
        draw_panel(t, c, t->only == ALL_GPUS ? 0 : (size_t)t->only, y, MIN_OF(height, (int)PREVIEW_MAX));
    else if (t->setup == SETUP_PROCESSES)
        draw_processes(t, c, y, MIN_OF(height, (int)PREVIEW_MAX));
    else if ((int)s->gpu_count < height)
        draw_gpu_rows(t, c, y, height, false);
    else
        draw_gpu_map(t, c, y, height);
    t->zone_count = zones;
}

void draw_setup(struct top *t, struct canvas *c, int y, int height)
{
    canvas_text(c, 1, y, 10, TINT_STRONG, "Setup");
    canvas_flag(c, 1, y, 5, CELL_BOLD);
    canvas_text(c, 9, y, c->width - 10, TINT_DIM, "W saves this in top.toml");
    bool low = height < LOW;
    draw_parts(t, c, y + 2);
    int used = 2 + draw_items(t, c, y + 2, low ? height - 2 : height - 4 - PREVIEW_MIN);
    if (low)
        return;
    canvas_text(c, PARTS_WIDTH, y + used, c->width - PARTS_WIDTH - 1, TINT_DIM, setup_lists[t->setup].note);
    draw_preview(t, c, y + used + 2, height - used - 2);
}
