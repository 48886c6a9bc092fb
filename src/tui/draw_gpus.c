/* SPDX-License-Identifier: Apache-2.0
 * The GPUs: one or a few as panels, more as rows with a panel of the selected one below, or as a heat map.
 */
#include "tui/draw_gpus.h"

#include "base/cleanup.h"
#include "insight/area/part.h"

enum { PLOTTED_GPUS = 2, PANEL_MIN = 6, PROCESSES_WANTED = 7 };

/* Stacks a few panels and leaves room for processes. */
static int draw_panels(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    int start = y, plotted = 0, lines = MIN_OF(height, MAX_OF(c->height * 13 / 20, 6 * (int)s->gpu_count));
    for (size_t i = 0; i < s->gpu_count; i++)
        plotted += s->gpus[i].state == GPU_OK;
    int each = plotted ? (lines - ((int)s->gpu_count - plotted)) / plotted : 1; /* without readings it is a line */
    for (size_t i = 0; i < s->gpu_count; i++)
        y += draw_panel(t, c, i, y, s->gpus[i].state == GPU_OK ? each : 1);
    return y - start;
}

/* The GPU of the panel below the rows: the selected one, or the one that the headline is about. */
static size_t panel_of(const struct top *t, const struct snapshot *s)
{
    const struct why_part *part = top_why_part(t);
    if (t->only != ALL_GPUS)
        return (size_t)t->only;
    for (size_t i = 0; part && i < s->gpu_count; i++)
        if (s->gpus[i].index == part->gpu_index)
            return i;
    return 0;
}

static int draw_rows_and_panel(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    int rows = (int)s->gpu_count + 1, processes = MIN_OF((int)t->row_count + 1, MAX_OF(c->height / 3, (int)PROCESSES_WANTED));
    /* The caller has already reserved a few lines for processes. */
    int room = height + MIN_OF((int)PROCESSES_MIN, c->height / 3) - rows - processes;
    bool panel = room >= PANEL_MIN && c->width >= 60;
    int used = draw_gpu_rows(t, c, y, panel ? rows : height, panel);
    bool blank = panel && room > PANEL_MIN + 2;
    return panel ? used + blank + draw_panel(t, c, panel_of(t, s), y + used + blank, room - blank) : used;
}

int draw_gpus(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    if (!s || !s->gpu_count || height < 2)
        return 0;
    if (c->width < BRIEF_BELOW && s->gpu_count > PLOTTED_GPUS && (int)s->gpu_count + 1 <= height)
        return draw_gpu_brief(t, c, y);
    if (s->gpu_count <= PLOTTED_GPUS && height >= 5 * (int)s->gpu_count)
        return draw_panels(t, c, y, height);
    if ((int)s->gpu_count + 1 <= height)
        return draw_rows_and_panel(t, c, y, height);
    int used = draw_gpu_map(t, c, y, height), blank = c->height >= 30;
    if (c->width >= BRIEF_BELOW && height - used - blank >= 3)
        used += blank + draw_gpu_jobs(t, c, y + used + blank, MAX_OF((height - used - blank) / 3, 4 - blank));
    int room = MIN_OF(height - used - 1, c->height / 3);
    if (room < PANEL_MIN || c->width < BRIEF_BELOW)
        return used;
    return used + 1 + draw_panel(t, c, panel_of(t, s), y + used + 1, room);
}
