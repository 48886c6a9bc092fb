/* SPDX-License-Identifier: Apache-2.0
 * The GPUs: plots for one or two, else what draw_rows.c has for many.
 */
#include "tui/draw_gpus.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "format/json/json.h"

enum { PLOTTED_GPUS = 2 };

static void draw_title(struct top *t, struct canvas *c, const struct gpu *gpu, size_t position, int y)
{
    char text[GPU_NAME_SIZE + 64], words[GPU_ERROR_SIZE];
    enum tint tint;
    snprintf(text, sizeof text, "GPU %d  %s", gpu->index, draw_gpu_name(gpu));
    int x = 1 + canvas_text(c, 1, y, c->width - 2, TINT_STRONG, text) + 2;
    canvas_flag(c, 1, y, x - 3, CELL_BOLD);
    if (gpu->simulated && c->width >= 60)
        x += canvas_text(c, x, y, 9, TINT_DIM, "simulated") + 2;
    gpu_trouble_text(gpu, words, sizeof words, &tint);
    if (!words[0])
        gpu_badge_text(t, position, words, sizeof words, &tint);
    if (!words[0] && verdict_find(draw_verdict(t), gpu->index, FINDING_POWER_LIMIT)) {
        tint = TINT_DIM; /* no trouble: it is what the limit is for */
        snprintf(words, sizeof words, "at its power limit");
    }
    if (words[0])
        x += canvas_text(c, x, y, c->width - x - 1, tint, words) + 2;
    gpu_process_text(gpu, words, sizeof words);
    canvas_text(c, x, y, c->width - x - 1, TINT_DIM, words);
    top_zone(t, ZONE_GPU, 0, y, c->width, 1, (int64_t)position);
    if (t->only == (int)position)
        canvas_select(c, 0, y, c->width);
}

/* What is measured at all. */
static size_t plotted_metrics(const struct gpu *gpu, enum trail_of shown[TRAIL_COUNT], size_t most)
{
    size_t count = 0;
    for (enum trail_of of = 0; of < TRAIL_COUNT && count < most; of++)
        if (!isnan(trail_point_of(gpu, 0).value[of]) || (of == TRAIL_FAN && gpu->fan_rpm.state == READING_OK))
            shown[count++] = of;
    return count;
}

static void draw_remark(struct top *t, struct canvas *c, size_t position, enum trail_of of, int y, int width);

static void draw_metric(struct top *t, struct canvas *c, size_t position, enum trail_of of, int y, int height)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    struct page page = draw_page(t);
    char value[NUMBER_SIZE];
    int bar = c->width < 60 ? 6 : MIN_OF(c->width / 6, 24), x = 1;
    enum { VALUE = 14 };
    canvas_text(c, x, y, 6, TINT_DIM, gpu_metrics[of].label);
    x += 6;
    canvas_bar(c, x, y, bar,
               of == TRAIL_TEMP && draw_heat_tint(t, gpu) != TINT_PLAIN ? draw_heat_tint(t, gpu) : gpu_metrics[of].tint,
               gpu_share(gpu, of));
    if (of == TRAIL_VRAM && position < GPU_MAX && t->badges[position].full_ms > 0 && !t->cursor_ms)
        canvas_put(c, x + bar - 1, y, TINT_WARN, t->utf8 ? 0x25b8 : '>'); /* on its way to the end */
    x += bar;
    gpu_value_text(value, &page, gpu, of);
    canvas_right(c, x, y, VALUE, of == TRAIL_TEMP ? draw_heat_tint(t, gpu) : TINT_PLAIN, value);
    x += VALUE + 2;
    draw_plot(t, c, position, of, x, y, c->width - x - 1, height);
    if (height > 1)
        draw_remark(t, c, position, of, y + 1, x - 8);
}

/* Below the name of a metric: what to make of the number. */
static void draw_remark(struct top *t, struct canvas *c, size_t position, enum trail_of of, int y, int width)
{
    char text[96] = "";
    float low, high;
    if (gpu_usual_band(t, position, of, &low, &high))
        snprintf(text, sizeof text, "usual at this power: %.0f to %.0f %s", (double)low, (double)high, t->utf8 ? "°C" : "C");
    canvas_text(c, 7, y, width, TINT_DIM, text);
}

static int draw_blocks(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    int start = y, each = height / (int)s->gpu_count;
    /* Beyond that a plot says nothing more, and processes want room. */
    each = MIN_OF(each, MAX_OF(c->height * 6 / 10 / (int)s->gpu_count, 6));
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        enum trail_of shown[TRAIL_COUNT];
        int room = MAX_OF(each - 1 - (c->height >= 16 && i + 1 == s->gpu_count), 1), end = y + each;
        size_t count = plotted_metrics(gpu, shown, (size_t)room);
        draw_title(t, c, gpu, i, y++);
        int rows = count ? MIN_OF(MAX_OF(room / (int)count, 1), 8) : 1;
        for (size_t m = 0; m < count && y + rows <= end; m++, y += rows)
            draw_metric(t, c, i, shown[m], y, rows);
    }
    int x = 1 + 6 + (c->width < 60 ? 6 : MIN_OF(c->width / 6, 24)) + 16;
    if (y < start + height && c->width - x > 16)
        draw_axis(t, c, x, y++, c->width - x - 1);
    return y - start;
}

int draw_gpus(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    if (!s || !s->gpu_count || height < 2)
        return 0;
    if (s->gpu_count <= PLOTTED_GPUS && height >= 3 * (int)s->gpu_count)
        return draw_blocks(t, c, y, height);
    if ((int)s->gpu_count + 1 <= height)
        return draw_gpu_rows(t, c, y, height);
    return draw_gpu_map(t, c, y, height);
}
