/* SPDX-License-Identifier: Apache-2.0
 * Plots over time: the line, the usual range, the forecast, the cursor and the axis; and one GPU in detail: a title with its
 * properties, then a plot of each reading beside its present value, in one or two columns.
 */
#include "tui/draw.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "insight/baseline/baseline.h"
#include "insight/view/why.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "tui/setup.h"

/* ---- plots ---- */

/* The usual temperature at this power, from the history; false: unknown, or another metric. */
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
    if (scale > 0 && usual_band(t, gpu, of, &low, &high))
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

/* Plots two related readings: `up` upward, the next one in enum trail_of downward. */
static void draw_plot_pair(struct top *t, struct canvas *c, size_t gpu, enum trail_of up, int x, int y, int width, int height)
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

/* ---- the panel of a GPU ---- */

enum { LABEL = 6, TWO_COLUMNS_FROM = 110, ROWS_MIN = 2, ROWS_MAX = 4, LINE = 96 };

/* The order of plots. With a finding about heat, those that explain it come first. */
static const enum trail_of usual_order[] = {TRAIL_UTIL,  TRAIL_POWER, TRAIL_VRAM, TRAIL_TEMP,
                                            TRAIL_CLOCK, TRAIL_FAN,   TRAIL_RX,   TRAIL_ENCODER};
static const enum trail_of hot_order[] = {TRAIL_TEMP, TRAIL_POWER, TRAIL_FAN, TRAIL_CLOCK,
                                          TRAIL_UTIL, TRAIL_VRAM,  TRAIL_RX,  TRAIL_ENCODER};

static bool is_pair(enum trail_of of)
{
    return of == TRAIL_RX || of == TRAIL_ENCODER;
}

static bool is_measured(const struct gpu *gpu, enum trail_of of)
{
    struct trail_point point = trail_point_of(gpu, 0);
    return !isnan(point.value[of]) || (is_pair(of) && !isnan(point.value[of + 1])) ||
           (of == TRAIL_FAN && gpu->fan_rpm.state == READING_OK);
}

static size_t choose_plots(const struct top *t, const struct gpu *gpu, enum trail_of shown[TRAIL_COUNT], size_t max)
{
    const enum trail_of *order = draw_heat_tint(t, gpu) != TINT_PLAIN ? hot_order : usual_order;
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(usual_order) && count < max; i++)
        if (is_measured(gpu, order[i]) && setup_shows(&t->settings, SETUP_PLOTS, (int)order[i]))
            shown[count++] = order[i];
    return count;
}

/* ---- words ---- */

/* "memory 10501 MHz" */
static void add(struct buf *out, const char *label, struct reading r, double scale, const char *unit)
{
    if (r.state == READING_OK)
        buf_printf(out, "%s%s%.*f%s", out->len ? "   " : "", label, scale < 1e-6, (double)r.value * scale, unit);
}

/* "PCIe 4.0 x16   memory 10501 MHz   P2" */
static void hardware_words(const struct gpu *gpu, struct buf *out, const char *degrees, bool with_clock)
{
    if (gpu->pcie_generation.state == READING_OK && gpu->pcie_width.state == READING_OK)
        buf_printf(out, "PCIe %lld.0 x%lld", (long long)gpu->pcie_generation.value, (long long)gpu->pcie_width.value);
    if (with_clock)
        add(out, "memory ", gpu->clock_memory_khz, 1e-3, " MHz");
    add(out, "P", gpu->pstate, 1, "");
    add(out, "hotspot ", gpu->temp_hotspot_mdegc, 1e-3, degrees);
    add(out, "memory ", gpu->temp_memory_mdegc, 1e-3, degrees);
}

/* with_clock: no plot shows the clock of its memory. */
static void draw_title(struct top *t, struct canvas *c, size_t position, int y, bool with_clock)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    char text[GPU_NAME_SIZE + 64], words[GPU_ERROR_SIZE];
    AUTO_BUF struct buf hardware = BUF(256);
    enum tint tint;
    snprintf(text, sizeof text, "GPU %d  %s", gpu->index, draw_gpu_name(gpu));
    int x = 1 + canvas_text(c, 1, y, c->width - 2, TINT_STRONG, text) + 2;
    canvas_flag(c, 1, y, x - 3, CELL_BOLD);
    gpu_trouble_text(gpu, words, sizeof words, &tint);
    if (!words[0])
        gpu_badge_text(t, position, words, sizeof words, &tint);
    if (!words[0] && verdict_find(draw_verdict(t), gpu->index, FINDING_POWER_LIMIT)) {
        tint = TINT_DIM; /* not a problem: the limit is there for this */
        snprintf(words, sizeof words, "at its power limit");
    }
    if (words[0])
        x += canvas_text(c, x, y, c->width - x - 1, tint, words) + 3;
    gpu_lease_text(t, position, words, sizeof words);
    if (words[0])
        x += canvas_text(c, x, y, c->width - x - 1, TINT_LABEL, words) + 3;
    hardware_words(gpu, &hardware, t->utf8 ? " °C" : " C", with_clock);
    if (hardware.len && width_of(hardware.at) < c->width - x)
        x += canvas_text(c, x, y, c->width - x - 1, TINT_DIM, hardware.at) + 3;
    gpu_process_text(gpu, words, sizeof words);
    canvas_text(c, x, y, c->width - x - 1, TINT_DIM, words);
    top_zone(t, ZONE_GPU, 0, y, c->width, 1, (int64_t)position);
    if (t->only == (int)position)
        canvas_select(c, 0, y, c->width);
}

static void rate_text(char text[24], float value, bool percent, bool utf8)
{
    if (isnan(value))
        snprintf(text, 24, "%s", utf8 ? "–" : "-");
    else
        snprintf(text, 24, percent ? "%.0f%%" : "%.1f", (double)value);
}

static void pair_text(char text[LINE], const struct gpu *gpu, enum trail_of of, bool utf8)
{
    struct trail_point p = trail_point_of(gpu, 0);
    char in[24], out[24];
    rate_text(in, p.value[of], of == TRAIL_ENCODER, utf8);
    rate_text(out, p.value[of + 1], of == TRAIL_ENCODER, utf8);
    if (of == TRAIL_ENCODER)
        snprintf(text, LINE, "enc %s  dec %s", in, out);
    else
        snprintf(text, LINE, utf8 ? "↓ %s  ↑ %s GB/s" : "in %s  out %s GB/s", in, out);
}

static void value_text(const struct top *t, char text[LINE], const struct gpu *gpu, enum trail_of of)
{
    struct page page = draw_page(t);
    char number[NUMBER_SIZE];
    int64_t max_khz;
    if (is_pair(of)) {
        pair_text(text, gpu, of, t->utf8);
        return;
    }
    gpu_value_text(number, &page, gpu, of);
    if (of == TRAIL_CLOCK && gpu->clock_graphics_khz.state == READING_OK && reading_get(gpu->clock_graphics_max_khz, &max_khz))
        snprintf(text, LINE, "%lld/%lld MHz", (long long)(gpu->clock_graphics_khz.value / 1000), (long long)(max_khz / 1000));
    else
        str_copy(text, LINE, str_from(number));
}

/* The line below the number, which puts it into perspective. */
static void remark_text(const struct top *t, char text[LINE], size_t position, enum trail_of of)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    AUTO_BUF struct buf out = BUF(LINE);
    float low, high;
    text[0] = '\0';
    if (of == TRAIL_TEMP && usual_band(t, position, of, &low, &high))
        buf_printf(&out, "usual %.0f to %.0f", (double)low, (double)high);
    else if (of == TRAIL_TEMP)
        add(&out, "slows at ", gpu->temp_limit_mdegc, 1e-3, "");
    else if (of == TRAIL_UTIL)
        add(&out, "work ", gpu->sm_active_permille, 0.1, "%");
    else if (of == TRAIL_CLOCK)
        add(&out, "memory ", gpu->clock_memory_khz, 1e-3, " MHz");
    else if (of == TRAIL_VRAM)
        add(&out, "", gpu->mem_free_bytes, 1.0 / (1 << 30), " GiB free");
    else if (of == TRAIL_ENCODER)
        buf_text(&out, "up enc, down dec");
    else if (of == TRAIL_FAN && gpu->fan_control.state == READING_OK)
        buf_text(&out, gpu->fan_control.value);
    else if (of == TRAIL_POWER && gpu->power_limit_mw.state == READING_OK && gpu->power_limit_default_mw.state == READING_OK &&
             gpu->power_limit_mw.value == gpu->power_limit_default_mw.value)
        buf_text(&out, "stock limit");
    else if (of == TRAIL_POWER)
        add(&out, "stock limit ", gpu->power_limit_default_mw, 1e-3, " W");
    str_copy(text, LINE, buf_view(&out));
}

/* ---- plots ---- */

/* The width of the column beside the plot: its number and a remark. */
static int values_width(int width)
{
    return width < 50 ? 14 : width < 70 ? 20 : 24;
}

static void draw_reading(struct top *t, struct canvas *c, size_t position, enum trail_of of, int x, int y, int width, int height)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    char text[LINE];
    int values = values_width(width), plot = width - LABEL - values - 1;
    canvas_text(c, x, y, LABEL, TINT_DIM, gpu_metrics[of].label);
    if (plot < 4) { /* no room for a plot: a bar, if that fits */
        plot = MAX_OF(width - LABEL - values - 1, 0);
        canvas_bar(c, x + LABEL, y, plot, gpu_metrics[of].tint, gpu_share(gpu, of));
    } else if (is_pair(of)) {
        draw_plot_pair(t, c, position, of, x + LABEL, y, plot, height);
    } else {
        draw_plot(t, c, position, of, x + LABEL, y, plot, height);
    }
    value_text(t, text, gpu, of);
    canvas_text(c, x + LABEL + plot + 1, y, values, of == TRAIL_TEMP ? draw_heat_tint(t, gpu) : TINT_PLAIN, text);
    remark_text(t, text, position, of);
    if (height > 1)
        canvas_text(c, x + LABEL + plot + 1, y + 1, values, TINT_DIM, text);
}

/* Lists the readings without a plot in one line. */
static void draw_rest(struct top *t, struct canvas *c, const struct gpu *gpu, const enum trail_of *shown, size_t count, int y)
{
    struct page page = draw_page(t);
    int x = 1;
    for (enum trail_of of = 0; of < TRAIL_COUNT; of++) {
        bool plotted = of == TRAIL_WORK || of == TRAIL_TX || !is_measured(gpu, of == TRAIL_DECODER ? TRAIL_ENCODER : of);
        char number[NUMBER_SIZE], text[LINE] = "";
        for (size_t i = 0; i < count; i++)
            plotted |= shown[i] == of || (of == TRAIL_DECODER && shown[i] == TRAIL_ENCODER);
        if (plotted)
            continue;
        const char *label = of == TRAIL_ENCODER ? "Enc" : of == TRAIL_DECODER ? "Dec" : gpu_metrics[of].label;
        if (of == TRAIL_ENCODER || of == TRAIL_DECODER)
            show_percent(number, &page, of == TRAIL_ENCODER ? gpu->encoder_permille : gpu->decoder_permille);
        value_text(t, text, gpu, of);
        bool bar = of == TRAIL_FAN || of == TRAIL_ENCODER || of == TRAIL_DECODER;
        const char *value = of == TRAIL_ENCODER || of == TRAIL_DECODER ? number : text;
        if (x + width_of(label) + 1 + 6 * bar + width_of(value) > c->width - 1)
            break;
        x += canvas_text(c, x, y, 6, TINT_DIM, label) + 1;
        if (bar) {
            canvas_bar(c, x, y, 5, gpu_metrics[of].tint, gpu_share(gpu, of));
            x += 6;
        }
        x += canvas_text(c, x, y, c->width - x - 1, TINT_PLAIN, value) + 3;
    }
}

int draw_panel(struct top *t, struct canvas *c, size_t position, int y, int height)
{
    const struct gpu *gpu = &top_shown(t)->gpus[position];
    enum trail_of shown[TRAIL_COUNT];
    int columns = c->width >= TWO_COLUMNS_FROM ? 2 : 1, start = y, width = (c->width - 2) / columns;
    bool axis = height >= 6, rest = height >= 5 && columns == 1;
    int room = MAX_OF(height - 1 - axis - rest, 0);
    size_t count = choose_plots(t, gpu, shown, (size_t)(columns * MAX_OF(room / ROWS_MIN, room > 0)));
    bool with_clock = true;
    int lines = ((int)count + columns - 1) / columns, rows = lines ? MIN_OF(room / lines, (int)ROWS_MAX) : 0;
    for (size_t i = 0; i < count; i++)
        with_clock &= shown[i] != TRAIL_CLOCK || rows < 2;
    draw_title(t, c, position, y++, with_clock);
    for (size_t i = 0; i < count; i++)
        draw_reading(t, c, position, shown[i], 1 + (int)(i % (size_t)columns) * width, y + (int)i / columns * rows,
                     width - (columns > 1), rows);
    y += lines * rows;
    for (int i = 0; axis && count && i < columns; i++)
        draw_axis(t, c, 1 + LABEL + i * width, y, width - (columns > 1) - LABEL - values_width(width - (columns > 1)) - 1);
    y += axis && count;
    if (rest && gpu->state == GPU_OK)
        draw_rest(t, c, gpu, shown, count, y++);
    return y - start;
}
