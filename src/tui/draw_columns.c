/* SPDX-License-Identifier: Apache-2.0
 * The columns of a table, as many as fit, and titles that show the sort order.
 */
#include <stdio.h>
#include <string.h>

#include "tui/draw.h"
#include "tui/setup.h"

unsigned draw_columns_that_fit(const struct top_column_info *columns, int count, unsigned chosen, int width)
{
    for (int rank = 20; rank > 0; rank--) {
        int needed = 1;
        for (int i = 0; i < count; i++)
            needed += chosen & 1U << i && columns[i].width ? columns[i].width + 1 : 0;
        if (needed <= width)
            break;
        for (int i = 0; i < count; i++)
            if (columns[i].rank >= rank)
                chosen &= ~(1U << i);
    }
    return chosen;
}

void draw_column_titles(struct top *t, struct canvas *c, const struct column_titles *h, int y)
{
    int x = 1;
    for (int k = 0; k < h->count; k++) {
        int i = h->order ? setup_item_at(h->order, SETUP_PROCESSES, k) : k;
        const struct top_column_info *info = &h->columns[i];
        if (!(h->shown & 1U << i))
            continue;
        int width = info->width ? info->width : c->width - x - 1;
        bool sorted = h->sort && info->sort && strcmp(h->sort, info->sort) == 0;
        char title[32];
        int name = (int)(sorted && info->width == width_of(info->title) ? strcspn(info->title, " ") : strlen(info->title));
        snprintf(title, sizeof title, "%.*s%s", name, info->title,
                 !sorted      ? ""
                 : h->reverse ? (t->utf8 ? "▲" : "^")
                 : t->utf8    ? "▼"
                              : "v");
        (info->right ? canvas_right : canvas_text)(c, x, y, width, sorted ? TINT_LABEL : TINT_DIM, title);
        if (info->sort && !t->fleet)
            top_zone(t, ZONE_SORT, x, y, width, 1, i);
        x += width + 1;
    }
}

void draw_filter_words(const struct top *t, struct canvas *c, int y)
{
    char words[sizeof t->filter + 64] = "";
    if (t->filter[0])
        snprintf(words, sizeof words, "filter: %s", t->filter);
    if (t->settings.compute_only && !t->fleet)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%scompute only", words[0] ? ", " : "");
    if (t->settings.hide_idle && !t->fleet)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%sidle ones hidden", words[0] ? ", " : "");
    if (words[0] && c->width >= 60)
        canvas_right(c, c->width / 2, y, c->width - c->width / 2 - 1, TINT_WARN, words);
}

void draw_scroll(struct top *t, size_t room)
{
    t->page = room;
    if (t->selected < t->first)
        t->first = t->selected;
    if (room && t->selected >= t->first + room)
        t->first = t->selected - room + 1;
    if (t->first && t->first + room > t->row_count)
        t->first = t->row_count > room ? t->row_count - room : 0;
}
