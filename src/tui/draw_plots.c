/* SPDX-License-Identifier: Apache-2.0
 * Plots over time: the line, the usual range, the forecast, the cursor and the axis.
 */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "insight/baseline/baseline.h"
#include "insight/view/why.h"
#include "tui/draw.h"

bool gpu_usual_band(const struct top *t, size_t gpu, enum trail_of of, float *low, float *high)
{
    const struct why *why = top_shown_why(t);
    const struct usual *u = why && gpu < why->gpu_count ? &why->gpus[gpu].usual : NULL;
    int64_t from, to;
    if (of != TRAIL_TEMP || !u || !reading_get(u->temp_low_mdegc, &from) || !reading_get(u->temp_high_mdegc, &to))
        return false;
    *low = (float)from * 1e-3F;
    *high = (float)to * 1e-3F;
    return true;
}

/* Draws the usual range behind a plot: dots in empty cells, and a warning color for what is above the range. */
static void draw_band(struct canvas *c, int x, int y, int width, int height, float low, float high, const float *values, int each)
{
    for (int row = 0; row < height; row++) {
        float top = (float)(height - row) / (float)height, bottom = (float)(height - row - 1) / (float)height;
        for (int column = 0; column < width; column++) {
            struct cell *cell = canvas_cell(c, x + column, y + row);
            float value = values[column * each];
            for (int i = 1; i < each; i++)
                value = isnan(value) || values[column * each + i] > value ? values[column * each + i] : value;
            if (cell && cell->glyph == ' ' && top > low && bottom < high)
                canvas_put(c, x + column, y + row, TINT_DIM, c->utf8 ? 0x2508 : '.');
            else if (cell && cell->glyph != ' ' && value > high && top > high)
                cell->tint = TINT_WARN;
        }
    }
}

/* Marks the top right corner of a plot, and writes the time until the memory is full if there is room. */
static void draw_forecast(const struct top *t, struct canvas *c, size_t gpu, int x, int y, int width)
{
    char text[WORDS_SIZE + 16], span[WORDS_SIZE];
    int64_t full = gpu < GPU_MAX && !t->cursor_ms ? t->badges[gpu].full_ms : 0;
    if (full <= 0)
        return;
    snprintf(text, sizeof text, "%s ", words_duration(full, span));
    int words = width_of(text), from = x + width - 1 - words;
    bool room = width > 2 * words;
    for (int i = from; room && i < x + width - 1; i++)
        room = c->cells[y * c->width + i].glyph == ' ';
    if (room)
        canvas_text(c, from, y, words, TINT_WARN, text);
    canvas_put(c, x + width - 1, y, TINT_WARN, c->utf8 ? 0x25b8 : '>');
}

/* Resamples a reading to shares of `full`; 0: of its maximum. Returns the value that fills the plot. */
static float plot_values(const struct top *t, struct canvas *c, size_t gpu, enum trail_of of, int width, float full, float *values)
{
    const struct trail *trail = t->far_until_ms ? &t->far[gpu] : &t->trails[gpu];
    int64_t until = top_until_ms(t), window = t->settings.window_ms;
    size_t slots = (size_t)canvas_plot_slots(c, width);
    int64_t slot = window / (int64_t)slots;
    int64_t hold = MAX_OF(3 * t->interval_ms, MAX_OF(2 * slot, t->daemon ? 16000 : 3000));
    trail_sample(trail, of, until - window, until, hold, slots, values);
    float scale = full;
    for (size_t i = 0; i < slots; i++)
        if (!isnan(values[i]) && full <= 0)
            scale = MAX_OF(scale, values[i]);
    for (size_t i = 0; i < slots; i++)
        values[i] = isnan(values[i]) ? NAN : scale > 0 ? values[i] / scale : 0;
    return scale;
}

static void draw_cursor(struct top *t, struct canvas *c, int x, int y, int width, int height)
{
    int64_t until = top_until_ms(t), window = t->settings.window_ms;
    top_zone(t, ZONE_TIME, x, y, width, height, 0);
    if (t->cursor_ms <= until - window || t->cursor_ms > until)
        return;
    int at = (int)((t->cursor_ms - (until - window)) * width / window);
    for (int row = 0; row < height; row++)
        canvas_flag(c, x + MIN_OF(at, width - 1), y + row, 1, CELL_REVERSE);
}

void draw_plot(struct top *t, struct canvas *c, size_t gpu, enum trail_of of, int x, int y, int width, int height)
{
    float values[2 * CANVAS_WIDTH_MAX];
    if (width < 2 || gpu >= t->trail_count)
        return;
    const struct gpu *g = &top_shown(t)->gpus[gpu];
    bool worked = of == TRAIL_UTIL && height > 1 && g->sm_active_permille.state == READING_OK;
    bool is_level = of == TRAIL_VRAM || of == TRAIL_TEMP || of == TRAIL_FAN || of == TRAIL_CLOCK || worked;
    if (worked) { /* the area is the units' work, the line above it running kernels: the gap between them is waiting */
        plot_values(t, c, gpu, TRAIL_WORK, width, 100, values);
        canvas_plot(c, x, y, width, height, gpu_metrics[of].tint, PLOT_AREA, values);
    }
    float scale = plot_values(t, c, gpu, of, width, gpu_full_scale(g, of), values);
    canvas_plot(c, x, y, width, height, gpu_metrics[of].tint, is_level && height > 1 ? PLOT_LINE : PLOT_AREA, values);
    float low, high;
    if (scale > 0 && gpu_usual_band(t, gpu, of, &low, &high))
        draw_band(c, x, y, width, height, low / scale, high / scale, values, canvas_plot_slots(c, width) / width);
    if (of == TRAIL_VRAM)
        draw_forecast(t, c, gpu, x, y, width);
    draw_cursor(t, c, x, y, width, height);
}

void draw_mean_plot(struct top *t, struct canvas *c, const bool on[], enum trail_of of, int x, int y, int width)
{
    float values[2 * CANVAS_WIDTH_MAX], sum[2 * CANVAS_WIDTH_MAX] = {0};
    int known[2 * CANVAS_WIDTH_MAX] = {0}, slots = canvas_plot_slots(c, width);
    for (size_t g = 0; width >= 2 && g < t->trail_count; g++) {
        if (!on[g])
            continue;
        plot_values(t, c, g, of, width, gpu_full_scale(&top_shown(t)->gpus[g], of), values);
        for (int i = 0; i < slots; i++)
            if (!isnan(values[i])) {
                sum[i] += values[i];
                known[i]++;
            }
    }
    for (int i = 0; i < slots; i++)
        sum[i] = known[i] ? sum[i] / (float)known[i] : NAN;
    canvas_plot(c, x, y, width, 1, gpu_metrics[of].tint, PLOT_AREA, sum);
    draw_cursor(t, c, x, y, width, 1);
}

void draw_plot_pair(struct top *t, struct canvas *c, size_t gpu, enum trail_of up, int x, int y, int width, int height)
{
    float in[2 * CANVAS_WIDTH_MAX], out[2 * CANVAS_WIDTH_MAX];
    if (width < 2 || height < 2 || gpu >= t->trail_count)
        return;
    enum trail_of down = up + 1;
    int above = (height + 1) / 2;
    float full = up == TRAIL_RX ? 0 : 100;
    float in_scale = plot_values(t, c, gpu, up, width, full, in), out_scale = plot_values(t, c, gpu, down, width, full, out);
    for (int i = 0; i < canvas_plot_slots(c, width); i++) { /* both on the same scale */
        in[i] *= in_scale < out_scale && out_scale > 0 ? in_scale / out_scale : 1;
        out[i] *= out_scale < in_scale && in_scale > 0 ? out_scale / in_scale : 1;
    }
    canvas_plot(c, x, y, width, above, gpu_metrics[up].tint, PLOT_AREA, in);
    canvas_plot(c, x, y + above, width, height - above, gpu_metrics[down].tint, PLOT_DOWN, out);
    draw_cursor(t, c, x, y, width, height);
}

uint32_t mark_sign(const struct top *t, const struct top_mark *m)
{
    struct str text = str_from(m->text);
    bool began = str_ends(text, "started") || str_ends(text, "appeared"),
         ended = str_ends(text, "ended") || str_ends(text, "came back");
    if (!t->utf8)
        return m->bad ? '^' : began ? '*' : ended ? 'o' : '+';
    return m->bad ? 0x25b2 : began ? 0x25cf : ended ? 0x25cb : 0x25c6; /* trouble, started, ended, anything else */
}

void draw_axis(struct top *t, struct canvas *c, int x, int y, int width)
{
    char span[WORDS_SIZE], text[WORDS_SIZE + 8], at[MOMENT_TEXT_SIZE] = "now";
    int64_t until = top_until_ms(t), window = t->settings.window_ms;
    duration_exact(window, span);
    snprintf(text, sizeof text, "%s%s", span, t->far_until_ms ? "" : " ago");
    if (t->far_until_ms)
        moment_format((struct wall){until}, t->now, at);
    int used = canvas_text(c, x, y, width, TINT_DIM, text), end = width_of(at);
    for (int i = used + 1; i < width - end - 1; i++)
        canvas_put(c, x + i, y, TINT_DIM, t->utf8 ? 0x2500 : '-');
    canvas_right(c, x, y, width, TINT_DIM, at);
    for (size_t i = 0; i < t->mark_count; i++) {
        const struct top_mark *m = &t->marks[i];
        int column = (int)((m->at_ms - (until - window)) * width / window);
        if (t->only != ALL_GPUS && m->gpu_index >= 0 && m->gpu_index != top_shown(t)->gpus[t->only].index)
            continue;
        if (column >= width - end - 1) /* beside the text, not over it */
            column = width - end - 2;
        if (m->at_ms > until - window && m->at_ms <= until && column >= 0)
            canvas_put(c, x + column, y, m->bad ? TINT_BAD : TINT_LABEL, mark_sign(t, m));
    }
}
