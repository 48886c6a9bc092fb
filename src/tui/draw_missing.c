/* SPDX-License-Identifier: Apache-2.0
 * The screen for a moment that is not stored: says so, and offers the nearest stored moments.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "tui/draw.h"

enum { KEYS_INDENT = 10 };

/* With seconds, like the header: gaps begin and end within a minute. */
static void moment_text(const struct top *t, int64_t at_ms, char text[MOMENT_TEXT_SIZE + 4])
{
    char at[MOMENT_TEXT_SIZE];
    moment_format((struct wall){at_ms}, t->now, at);
    snprintf(text, MOMENT_TEXT_SIZE + 4, "%s:%02d", at, (int)(at_ms / MS_PER_S % 60));
}

static void center(struct canvas *c, int y, enum tint tint, const char *text)
{
    int width = MIN_OF(width_of(text), c->width - 2);
    canvas_wrap(c, (c->width - width) / 2, y, width, c->height - 1 - y, tint, text);
}

static int draw_key(struct top *t, struct canvas *c, int y, int key, const char *what)
{
    int x = MIN_OF((int)KEYS_INDENT, c->width / 8);
    canvas_put(c, x, y, TINT_LABEL, (uint32_t)key);
    int used = canvas_text(c, x + 3, y, c->width - x - 4, TINT_PLAIN, what);
    top_zone(t, ZONE_KEY, x, y, 3 + used, 1, key);
    return y + 1;
}

static int draw_jump(struct top *t, struct canvas *c, int y, int key, int64_t to_ms, const char *which)
{
    char at[MOMENT_TEXT_SIZE + 4], text[128];
    if (!to_ms)
        return y;
    moment_text(t, to_ms, at);
    snprintf(text, sizeof text, "%s, the %s", at, which);
    return draw_key(t, c, y, key, text);
}

void draw_missing(struct top *t, struct canvas *c)
{
    const struct top_missing *m = &t->missing;
    char at[MOMENT_TEXT_SIZE + 4], text[256];
    int bottom = c->height - 1, y = MAX_OF(c->height / 3, 2);
    if (t->live) {
        snprintf(text, sizeof text, "%s   %zu GPU%s", t->host ? t->host : t->live->host.name, t->live->gpu_count,
                 t->live->gpu_count == 1 ? "" : "s");
        canvas_text(c, 1, 1, c->width - 2, TINT_DIM, text);
    }
    moment_text(t, m->at_ms, at);
    snprintf(text, sizeof text, m->unanswered ? "%s can't be looked up." : "%s is not stored.", at);
    center(c, y, TINT_STRONG, text);
    center(c, y + 2, TINT_PLAIN, m->text);
    y += 4 + (width_of(m->text) > c->width - 2);
    y = draw_jump(t, c, y, '(', m->since_ms, "last moment before");
    y = draw_jump(t, c, y, ')', m->until_ms, "first moment after");
    y = draw_key(t, c, y, 'n', "now");
    draw_key(t, c, y, 'g', "go to a time");
    draw_bottom(t, c, bottom);
}
