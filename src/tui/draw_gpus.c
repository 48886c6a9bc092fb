/* SPDX-License-Identifier: Apache-2.0
 * The GPUs: plots for one or two, a row each for more, a heat map where rows do not fit.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "format/json/json.h"
#include "model/fan.h"
#include "tui/draw.h"

enum { PLOTTED_GPUS = 2, CELL_WIDE = 11, CELL_MIDDLE = 8, CELL_NARROW = 5 };

static const struct {
    const char *label;
    enum tint tint;
} metrics[TRAIL_COUNT] = {
    [TRAIL_UTIL] = {"Util", TINT_UTIL}, [TRAIL_VRAM] = {"VRAM", TINT_MEMORY}, [TRAIL_POWER] = {"Power", TINT_POWER},
    [TRAIL_TEMP] = {"Temp", TINT_HEAT}, [TRAIL_FAN] = {"Fan", TINT_FAN},      [TRAIL_CLOCK] = {"Clock", TINT_CLOCK},
};

/* The value that fills a plot or a bar, in the unit of the trail; 0: not known. */
static float full_scale(const struct gpu *gpu, enum trail_of of)
{
    switch (of) {
    case TRAIL_VRAM: return (float)reading_or(gpu->mem_total_bytes, 0) / (1 << 30);
    case TRAIL_POWER: return (float)reading_or(gpu->power_limit_mw, reading_or(gpu->power_limit_default_mw, 0)) * 1e-3F;
    case TRAIL_TEMP: return 100;
    case TRAIL_CLOCK: return (float)reading_or(gpu->clock_graphics_max_khz, 0) * 1e-3F;
    case TRAIL_UTIL:
    case TRAIL_FAN:
    case TRAIL_COUNT: break;
    }
    return 100;
}

static struct reading share(const struct gpu *gpu, enum trail_of of)
{
    float value = trail_point_of(gpu, 0).value[of], full = full_scale(gpu, of);
    return isnan(value) || full <= 0 ? reading_absent(READING_UNSUPPORTED) : reading_ok((int64_t)lroundf(1000 * value / full));
}

static void fan_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu)
{
    enum fan_state state = fan_judge(gpu).state;
    int64_t rpm;
    if (state == FAN_STATE_OFF)
        snprintf(text, NUMBER_SIZE, "off");
    else if (state == FAN_STATE_NONE)
        snprintf(text, NUMBER_SIZE, "none");
    else if (gpu->fan_permille.state == READING_OK)
        show_percent(text, page, gpu->fan_permille);
    else if (reading_get(gpu->fan_rpm, &rpm))
        snprintf(text, NUMBER_SIZE, "%lld rpm", (long long)rpm);
    else
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

static void power_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu, bool limit)
{
    int64_t mw, most;
    if (!reading_get(gpu->power_mw, &mw))
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
    else if (limit && reading_get(gpu->power_limit_mw, &most))
        snprintf(text, NUMBER_SIZE, "%lld/%lld W", (long long)((mw + 500) / 1000), (long long)((most + 500) / 1000));
    else
        snprintf(text, NUMBER_SIZE, "%lld W", (long long)((mw + 500) / 1000));
}

static void value_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu, enum trail_of of)
{
    int64_t khz;
    switch (of) {
    case TRAIL_UTIL: show_percent(text, page, gpu->util_permille); break;
    case TRAIL_VRAM: show_bytes_of(text, page, gpu->mem_used_bytes, gpu->mem_total_bytes); break;
    case TRAIL_POWER: power_text(text, page, gpu, true); break;
    case TRAIL_TEMP: show_temperature(text, page, gpu->temp_mdegc); break;
    case TRAIL_FAN: fan_text(text, page, gpu); break;
    case TRAIL_CLOCK:
        if (reading_get(gpu->clock_graphics_khz, &khz))
            snprintf(text, NUMBER_SIZE, "%lld MHz", (long long)(khz / 1000));
        else
            snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
        break;
    case TRAIL_COUNT: text[0] = '\0'; break;
    }
}

/* Why there are no readings; "" when there are. */
static void trouble_text(const struct gpu *gpu, char *text, size_t size, enum tint *tint)
{
    text[0] = '\0';
    *tint = TINT_DIM;
    if (gpu->state == GPU_ASLEEP)
        snprintf(text, size, "asleep (not woken)");
    else if (gpu->released)
        snprintf(text, size, "driver released on request");
    else if (gpu->state == GPU_LOST || gpu->state == GPU_ERROR) {
        *tint = TINT_BAD;
        snprintf(text, size, "%s%s%s", gpu->state == GPU_LOST ? "lost" : "error", gpu->error_message[0] ? ": " : "",
                 gpu->error_message);
    }
}

/* What the daemon judges; "" when all is well. */
static void badge_text(const struct top *t, size_t position, char *text, size_t size, enum tint *tint)
{
    const struct top_badge *b = position < GPU_MAX && !t->cursor_ms ? &t->badges[position] : NULL;
    char span[WORDS_SIZE];
    text[0] = '\0';
    *tint = TINT_WARN;
    if (b && b->health[0] && strcmp(b->health, "healthy") != 0 && strcmp(b->health, "unknown") != 0) {
        *tint = strcmp(b->health, "degraded") == 0 ? TINT_WARN : TINT_BAD;
        snprintf(text, size, "%s: %s", b->health, b->reason);
    } else if (b && b->full_ms > 0) {
        snprintf(text, size, "VRAM full in about %s", words_duration(b->full_ms, span));
    }
}

static void top_process_text(const struct gpu *gpu, char *text, size_t size)
{
    const struct process *p = gpu_top_process(gpu);
    text[0] = '\0';
    if (!p)
        return;
    const char *what = p->model[0] ? p->model : p->container;
    snprintf(text, size, "%s%s%s%s%s%s", p->name, what[0] ? " · " : "", what, p->user[0] ? " (" : "", p->user,
             p->user[0] ? ")" : "");
}

/* ---- plots ---- */

/* What is usual at this power, from the history; false: nothing is known. */
static bool usual_band(const struct top *t, size_t gpu, enum trail_of of, float *low, float *high)
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

/* The band behind a plot: dots where nothing is drawn, and another color for what is above it. */
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

/* Where the plot would go on: a sign at its upper end, with the time until the memory is full where there is room. */
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

static void draw_plot(struct top *t, struct canvas *c, size_t gpu, enum trail_of of, int x, int y, int width, int height)
{
    float values[2 * CANVAS_WIDTH_MAX];
    const struct gpu *g = &top_shown(t)->gpus[gpu];
    if (width < 2 || gpu >= t->trail_count)
        return;
    const struct trail *trail = t->far_until_ms ? &t->far[gpu] : &t->trails[gpu];
    int64_t until = top_until_ms(t), window = t->settings.window_ms;
    size_t slots = (size_t)canvas_plot_slots(c, width);
    int64_t slot = window / (int64_t)slots;
    int64_t hold = MAX_OF(3 * t->interval_ms, MAX_OF(2 * slot, t->daemon ? 16000 : 3000));
    trail_sample(trail, of, until - window, until, hold, slots, values);
    float full = full_scale(g, of), most = full;
    for (size_t i = 0; i < slots; i++)
        if (!isnan(values[i]) && full <= 0)
            most = MAX_OF(most, values[i]);
    for (size_t i = 0; i < slots; i++)
        values[i] = most > 0 ? values[i] / most : NAN;
    canvas_plot(c, x, y, width, height, metrics[of].tint, values);
    float low, high;
    if (most > 0 && usual_band(t, gpu, of, &low, &high))
        draw_band(c, x, y, width, height, low / most, high / most, values, (int)slots / width);
    if (of == TRAIL_VRAM)
        draw_forecast(t, c, gpu, x, y, width);
    top_zone(t, ZONE_TIME, x, y, width, height, 0);
    if (t->cursor_ms > until - window && t->cursor_ms <= until) {
        int at = (int)((t->cursor_ms - (until - window)) * width / window);
        for (int row = 0; row < height; row++)
            canvas_flag(c, x + MIN_OF(at, width - 1), y + row, 1, CELL_REVERSE);
    }
}

/* "5m ago ... now", with a sign where something happened. */
static void draw_axis(struct top *t, struct canvas *c, int x, int y, int width)
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
        if (m->at_ms > until - window && m->at_ms <= until && column >= 0 && column < width)
            canvas_put(c, x + column, y, m->bad ? TINT_BAD : TINT_LABEL, t->utf8 ? 0x25b2 : '^');
    }
}

static void draw_title(struct top *t, struct canvas *c, const struct gpu *gpu, size_t position, int y)
{
    char text[GPU_NAME_SIZE + 64], words[GPU_ERROR_SIZE];
    enum tint tint;
    snprintf(text, sizeof text, "GPU %d  %s", gpu->index, draw_gpu_name(gpu));
    int x = 1 + canvas_text(c, 1, y, c->width - 2, TINT_STRONG, text) + 2;
    canvas_flag(c, 1, y, x - 3, CELL_BOLD);
    if (gpu->simulated && c->width >= 60)
        x += canvas_text(c, x, y, 9, TINT_DIM, "simulated") + 2;
    trouble_text(gpu, words, sizeof words, &tint);
    if (!words[0])
        str_copy(words, sizeof words, str_from(draw_throttle(gpu, &tint)));
    if (words[0])
        x += canvas_text(c, x, y, c->width - x - 1, tint, words) + 2;
    badge_text(t, position, words, sizeof words, &tint);
    if (words[0] && gpu->state == GPU_OK)
        x += canvas_text(c, x, y, c->width - x - 1, tint, words) + 2;
    top_process_text(gpu, words, sizeof words);
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
    canvas_text(c, x, y, 6, TINT_DIM, metrics[of].label);
    x += 6;
    canvas_bar(c, x, y, bar, of == TRAIL_TEMP && draw_heat_tint(gpu) != TINT_PLAIN ? draw_heat_tint(gpu) : metrics[of].tint,
               share(gpu, of));
    if (of == TRAIL_VRAM && position < GPU_MAX && t->badges[position].full_ms > 0 && !t->cursor_ms)
        canvas_put(c, x + bar - 1, y, TINT_WARN, t->utf8 ? 0x25b8 : '>'); /* on its way to the end */
    x += bar;
    value_text(value, &page, gpu, of);
    canvas_right(c, x, y, VALUE, of == TRAIL_TEMP ? draw_heat_tint(gpu) : TINT_PLAIN, value);
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
    if (usual_band(t, position, of, &low, &high))
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

static struct list measure(const struct snapshot *s, int width)
{
    struct list l = {.bar = 5, .vram = 10, .temp = 6, .power = 6};
    int left = width - (2 + 3 + l.bar + 6 + l.vram + l.temp + l.power) - 1;
    if (left >= 20) {
        l.name = MIN_OF(longest_name(s), left >= 60 ? 26 : 14) + 1;
        l.power = 11;
        left -= l.name + 5;
    }
    if (left >= 10) {
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
    snprintf(text, sizeof text, "%s, %s", metrics[t->settings.metric].label, span);
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
    enum tint tint, heat = draw_heat_tint(gpu);
    int x = 2;
    snprintf(text, sizeof text, "%d", gpu->index);
    canvas_right(c, x, y, 2, TINT_STRONG, text);
    x += 3;
    canvas_text(c, x, y, l->name - 1, TINT_PLAIN, draw_gpu_name(gpu));
    x += l->name;
    trouble_text(gpu, words, sizeof words, &tint);
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
    power_text(text, &page, gpu, l->power > 6);
    canvas_right(c, x, y, l->power, TINT_PLAIN, text);
    x += l->power;
    fan_text(text, &page, gpu);
    canvas_right(c, x, y, l->fan, TINT_PLAIN, text);
    x += l->fan + 1;
    draw_plot(t, c, position, t->settings.metric, x, y, l->plot, 1);
    x += l->plot + 1;
    const char *slowed = draw_throttle(gpu, &tint);
    if (tint == TINT_WARN && slowed[0])
        x += canvas_text(c, x, y, l->words, tint, slowed) + 1;
    badge_text(t, position, words, sizeof words, &tint);
    if (words[0]) {
        canvas_text(c, 0, y, 1, tint, "▲");
        x += canvas_text(c, x, y, l->words, tint, words) + 1;
    }
    top_process_text(gpu, words, sizeof words);
    canvas_text(c, x, y, c->width - x - 1, TINT_DIM, words);
}

static int draw_list(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    struct list l = measure(s, c->width);
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
    struct reading r = share(gpu, t->settings.metric);
    int64_t value = MIN_OF(MAX_OF(reading_or(r, 0), (int64_t)0), (int64_t)1000);
    int step = (int)MIN_OF(value * RAMP_STEPS / 1000, (int64_t)RAMP_STEPS - 1);
    char text[16];
    bool lost = gpu->state == GPU_LOST || gpu->state == GPU_ERROR;
    enum tint tint = lost ? TINT_BAD : r.state == READING_OK ? (enum tint)(TINT_RAMP + step) : TINT_DIM;
    snprintf(text, sizeof text, "%d", gpu->index);
    canvas_right(c, x, y, 3, draw_heat_tint(gpu) != TINT_PLAIN ? draw_heat_tint(gpu) : TINT_DIM, text);
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

static int draw_map(struct top *t, struct canvas *c, int y, int height)
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
    char text[96];
    double watts = 0;
    for (int i = 0; i < count; i++)
        watts += (double)reading_or(s->gpus[i].power_mw, 0) / 1000;
    snprintf(text, sizeof text, "%d GPUs  %.0f W  %s", count, watts, of[t->settings.metric]);
    canvas_text(c, 1, y, c->width - 2, TINT_DIM, text);
    for (int i = 0; i < count && i / columns < height - 1; i++)
        map_cell(t, c, (size_t)i, i % columns * width, y + 1 + i / columns, width);
    return MIN_OF(rows, height - 1) + 1;
}

int draw_gpus(struct top *t, struct canvas *c, int y, int height)
{
    const struct snapshot *s = top_shown(t);
    if (!s || !s->gpu_count || height < 2)
        return 0;
    if (s->gpu_count <= PLOTTED_GPUS && height >= 3 * (int)s->gpu_count)
        return draw_blocks(t, c, y, height);
    if ((int)s->gpu_count + 1 <= height)
        return draw_list(t, c, y, height);
    return draw_map(t, c, y, height);
}
