/* SPDX-License-Identifier: Apache-2.0
 * Many GPUs: a row each, or a heat map where rows do not fit.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "format/json/json.h"
#include "tui/draw_gpus.h"

enum { CELL_WIDE = 11, CELL_MIDDLE = 8, CELL_NARROW = 5 };

/* ---- rows ---- */

struct list {
    int name, bar, vram, temp, power, fan, plot, words;
};

static int longest_name(const struct snapshot *s)
{
    int most = 4;
    for (size_t i = 0; i < s->gpu_count; i++)
        most = MAX_OF(most, width_of(draw_gpu_name(&s->gpus[i])));
    return most;
}

static bool any_fan(const struct snapshot *s)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        if (s->gpus[i].fan_permille.state == READING_OK || s->gpus[i].fan_rpm.state == READING_OK)
            return true;
    return false;
}

static struct list draw_rows_measure(const struct snapshot *s, int width)
{
    struct list l = {.bar = 5, .vram = 10, .temp = 6, .power = 6};
    int left = width - (2 + 3 + l.bar + 6 + l.vram + l.temp + l.power) - 1;
    if (left >= 20) {
        l.name = MIN_OF(longest_name(s), left >= 60 ? 26 : 14) + 1;
        l.power = 11;
        left -= l.name + 5;
    }
    if (left >= 10 && any_fan(s)) {
        l.fan = 9;
        left -= l.fan;
    }
    if (left >= 60)
        l.words = MIN_OF(left / 2, 44);
    left -= l.words;
    if (left >= 7)
        l.plot = MIN_OF(left - 2, 80);
    if (left - l.plot > 30)
        l.bar += MIN_OF(left - l.plot - 30, 10);
    return l;
}

static void list_heading(struct top *t, struct canvas *c, const struct list *l, int y)
{
    char span[WORDS_SIZE], text[64];
    int x = 2;
    canvas_right(c, x, y, 2, TINT_DIM, "#");
    x += 3;
    canvas_text(c, x, y, l->name, TINT_DIM, "GPU");
    x += l->name;
    canvas_right(c, x, y, l->bar + 5, TINT_DIM, "UTIL");
    x += l->bar + 6;
    canvas_right(c, x, y, l->vram, TINT_DIM, "VRAM GiB");
    x += l->vram;
    canvas_right(c, x, y, l->temp, TINT_DIM, "TEMP");
    x += l->temp;
    canvas_right(c, x, y, l->power, TINT_DIM, "POWER");
    x += l->power;
    canvas_right(c, x, y, l->fan, TINT_DIM, "FAN");
    x += l->fan + 1;
    duration_exact(t->settings.window_ms, span);
    snprintf(text, sizeof text, "%s, %s", gpu_metrics[t->settings.metric].label, span);
    canvas_text(c, x, y, l->plot, TINT_DIM, text);
    canvas_text(c, x + l->plot + 1, y, l->words, TINT_DIM, "TOP PROCESS");
}

static void vram_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu)
{
    int64_t used, total;
    if (reading_get(gpu->mem_used_bytes, &used) && reading_get(gpu->mem_total_bytes, &total))
        snprintf(text, NUMBER_SIZE, total >= 100LL << 30 ? "%.0f/%.0f" : "%.1f/%.1f", (double)used / (1 << 30),
                 (double)total / (1 << 30));
    else
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

static void list_row(struct top *t, struct canvas *c, const struct list *l, size_t position, int y)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    struct page page = draw_page(t);
    char text[NUMBER_SIZE], words[GPU_ERROR_SIZE + 64];
    enum tint tint, heat = draw_heat_tint(t, gpu);
    int x = 2;
    snprintf(text, sizeof text, "%d", gpu->index);
    canvas_right(c, x, y, 2, TINT_STRONG, text);
    x += 3;
    canvas_text(c, x, y, l->name - 1, TINT_PLAIN, draw_gpu_name(gpu));
    x += l->name;
    gpu_trouble_text(gpu, words, sizeof words, &tint);
    if (words[0]) {
        canvas_text(c, 0, y, 1, tint, gpu->state == GPU_ASLEEP || gpu->released ? " " : "▲");
        canvas_text(c, x, y, c->width - x - 1, tint, words);
        return;
    }
    if (heat != TINT_PLAIN)
        canvas_text(c, 0, y, 1, heat, "▲");
    canvas_bar(c, x, y, l->bar, TINT_UTIL, gpu->util_permille);
    show_percent(text, &page, gpu->util_permille);
    canvas_right(c, x + l->bar, y, 6, TINT_PLAIN, text);
    x += l->bar + 6;
    vram_text(text, &page, gpu);
    canvas_right(c, x, y, l->vram, TINT_PLAIN, text);
    x += l->vram;
    show_temperature(text, &page, gpu->temp_mdegc);
    canvas_right(c, x, y, l->temp, heat, text);
    x += l->temp;
    gpu_power_text(text, &page, gpu, l->power > 6);
    canvas_right(c, x, y, l->power, TINT_PLAIN, text);
    x += l->power;
    gpu_fan_text(text, &page, gpu);
    canvas_right(c, x, y, l->fan, TINT_PLAIN, text);
    x += l->fan + 1;
    draw_plot(t, c, position, t->settings.metric, x, y, l->plot, 1);
    x += l->plot + 1;
    gpu_badge_text(t, position, words, sizeof words, &tint);
    if (words[0])
        canvas_text(c, 0, y, 1, tint, "▲");
    if (words[0])
        x += canvas_text(c, x, y, l->words, tint, words) + 1;
    gpu_process_text(gpu, words, sizeof words);
    canvas_text(c, x, y, c->width - x - 1, TINT_DIM, words);
}

int draw_gpu_rows(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    struct list l = draw_rows_measure(s, c->width);
    list_heading(t, c, &l, y);
    for (size_t i = 0; i < s->gpu_count; i++) {
        int row = y + 1 + (int)i;
        top_zone(t, ZONE_GPU, 0, row, c->width, 1, (int64_t)i);
        list_row(t, c, &l, i, row);
        if (t->only == (int)i)
            canvas_select(c, 0, row, c->width);
    }
    int used = 1 + (int)s->gpu_count, x = 2 + 3 + l.name + l.bar + 6 + l.vram + l.temp + l.power + l.fan + 1;
    if (used < height && l.plot > 16)
        draw_axis(t, c, x, y + used++, l.plot);
    return used;
}

/* ---- heat map ---- */

static void map_cell(struct top *t, struct canvas *c, size_t position, int x, int y, int width)
{
    static const uint32_t shades[] = {0xb7, 0x2591, 0x2591, 0x2592, 0x2592, 0x2593, 0x2593, 0x2588};
    static const char plain[] = ".:-=+*%#";
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    struct reading r = gpu_share(gpu, t->settings.metric);
    int64_t value = MIN_OF(MAX_OF(reading_or(r, 0), (int64_t)0), (int64_t)1000);
    int step = (int)MIN_OF(value * RAMP_STEPS / 1000, (int64_t)RAMP_STEPS - 1);
    char text[16];
    bool lost = gpu->state == GPU_LOST || gpu->state == GPU_ERROR;
    enum tint tint = lost ? TINT_BAD : r.state == READING_OK ? (enum tint)(TINT_RAMP + step) : TINT_DIM;
    snprintf(text, sizeof text, "%d", gpu->index);
    canvas_right(c, x, y, 3, draw_heat_tint(t, gpu) != TINT_PLAIN ? draw_heat_tint(t, gpu) : TINT_DIM, text);
    uint32_t glyph = lost                    ? '!'
                     : r.state != READING_OK ? (gpu->state == GPU_ASLEEP ? 'z' : '?')
                     : t->utf8               ? shades[step]
                                             : (uint32_t)plain[step];
    int blocks = width == CELL_WIDE ? 2 : 1;
    for (int i = 0; i < blocks; i++)
        canvas_put(c, x + 3 + (width > CELL_NARROW) + i, y, tint, glyph);
    if (width > CELL_NARROW && r.state == READING_OK) {
        snprintf(text, sizeof text, "%lld", (long long)((value + 5) / 10));
        canvas_right(c, x + width - 4, y, 3, TINT_PLAIN, text);
    } else if (width > CELL_NARROW && lost) {
        canvas_right(c, x + width - 5, y, 4, TINT_BAD, "lost");
    }
    top_zone(t, ZONE_GPU, x, y, width, 1, (int64_t)position);
    if (t->only == (int)position)
        canvas_select(c, x, y, width);
}

int draw_gpu_map(struct top *t, struct canvas *c, int y, int height)
{
    static const int widths[] = {CELL_WIDE, CELL_MIDDLE, CELL_NARROW};
    static const char *const of[TRAIL_COUNT] = {"utilization, %",  "VRAM, % of the total", "power, % of the limit",
                                                "temperature, °C", "fan speed, %",         "clock, % of the highest"};
    const struct snapshot *s = top_shown(t);
    int count = (int)s->gpu_count, width = CELL_NARROW, rows = 0;
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        width = widths[i];
        int columns = MAX_OF((c->width - 1) / width, 1);
        rows = (count + columns - 1) / columns;
        if (rows <= height - 1)
            break;
    }
    int columns = MAX_OF((c->width - 1) / width, 1);
    char text[96], power[32] = "";
    double watts = 0;
    bool known = false;
    for (int i = 0; i < count; i++) {
        watts += (double)reading_or(s->gpus[i].power_mw, 0) / 1000;
        known |= s->gpus[i].power_mw.state == READING_OK;
    }
    bool many = watts >= 10000;
    if (known)
        snprintf(power, sizeof power, "  %.*f %s", many ? 1 : 0, many ? watts / 1000 : watts, many ? "kW" : "W");
    snprintf(text, sizeof text, "%d GPUs%s  %s", count, power, of[t->settings.metric]);
    canvas_text(c, 1, y, c->width - 2, TINT_DIM, text);
    for (int i = 0; i < count && i / columns < height - 1; i++)
        map_cell(t, c, (size_t)i, i % columns * width, y + 1 + i / columns, width);
    return MIN_OF(rows, height - 1) + 1;
}
