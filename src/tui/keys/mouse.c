/* SPDX-License-Identifier: Apache-2.0
 * The mouse: clicks on what a frame has drawn, dragging through time, the wheel.
 */
#include "base/cleanup.h"
#include "tui/keys/internal.h"

static const struct zone *zone_at(const struct top *t, int x, int y)
{
    for (size_t i = t->zone_count; i-- > 0;) { /* the topmost was drawn last */
        const struct zone *z = &t->zones[i];
        if (x >= z->x && x < z->x + z->width && y >= z->y && y < z->y + z->height)
            return z;
    }
    return NULL;
}

/* Moves to the time of that column; the last one is now. */
static void scrub(struct top *t, const struct zone *z, int x)
{
    int64_t window = t->settings.window_ms;
    x = MIN_OF(MAX_OF(x, z->x), z->x + z->width - 1);
    top_go_to(t, x == z->x + z->width - 1 && !t->far_until_ms ? t->now.ms
                                                              : top_until_ms(t) - window + window * (x - z->x + 1) / z->width);
}

static void click(struct top *t, const struct zone *z, int x)
{
    switch (z->kind) {
    case ZONE_TAB: top_open_tab(t, (enum top_tab)z->number); break;
    case ZONE_GPU:
        t->only = t->only == (int)z->number ? ALL_GPUS : (int)z->number;
        top_make_rows(t);
        break;
    case ZONE_SORT: top_sort_by(t, top_columns[z->number].sort); break;
    case ZONE_ROW:
        if (t->selected != (size_t)z->number)
            t->selected = (size_t)z->number;
        else if (t->fleet)
            top_open_fleet_host(t);
        else
            top_open_details(t);
        break;
    case ZONE_TIME:
        t->scrubbed = *z;
        scrub(t, z, x);
        break;
    case ZONE_HEADLINE: top_open_tab(t, TAB_WHY); break;
    case ZONE_HOST:
        if (t->host_choice == (size_t)z->number)
            top_show_host(t, t->host_choice);
        t->host_choice = (size_t)z->number;
        break;
    case ZONE_WORKER: t->worker = (size_t)z->number; break;
    case ZONE_KEY: top_key(t, (int)z->number); break;
    case ZONE_PART: top_show_fleet(t, (int)z->number); break;
    case ZONE_SETUP:
        if (z->number < 0) {
            top_setup_part(t, -1 - (int)z->number);
            break;
        }
        t->choice = (size_t)z->number;
        top_setup_change(t);
        break;
    }
}

void top_mouse(struct top *t, enum top_mouse what, int x, int y)
{
    if (what == TOP_DRAG) { /* wherever the pointer is now, the drag belongs to its plot */
        if (t->scrubbed.width && t->mode == MODE_MAIN)
            scrub(t, &t->scrubbed, x);
        return;
    }
    t->note[0] = '\0';
    t->scrubbed.width = 0;
    if (t->mode == MODE_DETAILS && what != TOP_CLICK) {
        top_key_details(t, what == TOP_WHEEL_UP ? TOP_KEY_UP : TOP_KEY_DOWN);
        return;
    }
    if (t->mode == MODE_HELP || t->mode == MODE_DETAILS || t->mode == MODE_ANSWER) {
        t->mode = MODE_MAIN;
        return;
    }
    const struct zone *z = zone_at(t, x, y);
    if (t->mode == MODE_SETUP) {
        if (what != TOP_CLICK)
            top_key_setup(t, what == TOP_WHEEL_UP ? TOP_KEY_UP : TOP_KEY_DOWN);
        else if (z && (z->kind == ZONE_SETUP || z->kind == ZONE_KEY))
            click(t, z, x);
        return;
    }
    if (t->mode != MODE_MAIN && t->mode != MODE_FILTER)
        return;
    if (what == TOP_CLICK && z)
        click(t, z, x);
    else if (what != TOP_CLICK && z && z->kind == ZONE_TIME) /* over a plot the wheel moves through time */
        top_key_move(t, what == TOP_WHEEL_UP ? TOP_KEY_LEFT : TOP_KEY_RIGHT);
    else if (what != TOP_CLICK)
        top_move(t, what == TOP_WHEEL_UP ? -3 : 3);
}
