/* SPDX-License-Identifier: Apache-2.0
 * The field of dots, the axis of values, and the lines on it.
 *
 *   2 x 4 dots in a cell (braille), 1 x 8 (blocks: filled from below) or 1 x 3 (ASCII: _ - ')
 */
#include "format/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

enum { COLUMNS_MAX = 1000, ROWS_MAX = 200, LABEL_GAP = 3 };

/* Axes: ticks at round numbers and times, and which of them get labels. */
struct axis {
    double low, high, tick; /* in the plot's unit */
    double divide;          /* for labels: 1024 shows MiB as GiB */
    const char *unit;       /* of the labels */
    int decimals, label_width;
};

/* ---- values ---- */

/* 1, 2, 4, 5 times a power of ten. */
static double rounded_up(double least)
{
    if (least <= 0)
        return 1;
    double power = pow(10, floor(log10(least))), share = least / power;
    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 4 ? 4 : share <= 5 ? 5 : 10);
}

static bool extent(const struct plot *plot, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < plot->line_count; i++) {
        const struct plot_line *line = &plot->lines[i];
        for (size_t k = 0; k < line->count; k++) {
            if (isnan(line->mean[k]))
                continue;
            *low = fmin(*low, isnan(line->min[k]) ? line->mean[k] : line->min[k]);
            *high = fmax(*high, isnan(line->max[k]) ? line->mean[k] : line->max[k]);
        }
    }
    return *low <= *high;
}

/* Converts large numbers to a larger unit. */
static void choose_unit(struct axis *axis, const char *unit)
{
    static const struct {
        const char *unit, *larger;
        double factor;
    } steps[] = {
        {"MiB", "GiB", 1024}, {"B/s", "KiB/s", 1024}, {"KiB/s", "MiB/s", 1024}, {"MiB/s", "GiB/s", 1024},
        {"J", "kJ", 1000},    {"kJ", "MJ", 1000},     {"B", "KiB", 1024},       {"KiB", "MiB", 1024},
    };
    axis->unit = unit;
    axis->divide = 1;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (strcmp(axis->unit, steps[i].unit) == 0 && axis->high / axis->divide >= 2 * steps[i].factor) {
            axis->unit = steps[i].larger;
            axis->divide *= steps[i].factor;
            i = (size_t)-1; /* perhaps even larger */
        }
}

static void axis_number(const struct axis *axis, double value, int decimals, char text[32])
{
    snprintf(text, 32, "%.*f", decimals, value / axis->divide + 0.0);
}

static void axis_init(struct axis *axis, const struct plot *plot)
{
    double low, high;
    int ticks = MAX_OF(MIN_OF(plot->height / 2, 4), 1);
    bool known = extent(plot, &low, &high), percent = strcmp(plot->unit, "%") == 0;
    *axis = (struct axis){.low = 0, .high = known ? high : 1, .divide = 1, .unit = plot->unit};
    if (percent && (!known || (low >= 0 && high <= 100))) {
        axis->high = 100;
        axis->tick = 50;
    } else if (!known) {
        axis->tick = 1;
    } else {
        choose_unit(axis, plot->unit);
        /* Center a constant value. */
        if (high - low < fabs(high) * 1e-3 && low > 0) {
            low *= 0.99;
            high *= 1.01;
        }
        /* An axis from 0 would flatten values far above it. */
        bool from_zero = low >= 0 && low < 0.4 * high;
        double span = fmax(high - (from_zero ? 0 : low), fmax(fabs(high) * 0.01, 1e-6));
        axis->tick = rounded_up(span / axis->divide / ticks) * axis->divide;
        /* Both ends get a label. */
        axis->low = from_zero ? 0 : floor(low / axis->tick + 1e-9) * axis->tick;
        axis->high = ceil(high / axis->tick - 1e-9) * axis->tick;
        if (axis->high <= axis->low)
            axis->high = axis->low + axis->tick;
    }
    double shown = axis->tick / axis->divide;
    axis->decimals = shown >= 1 ? 0 : shown >= 0.1 ? 1 : shown >= 0.01 ? 2 : 3;
    char text[32];
    for (double v = axis->low; v <= axis->high + axis->tick / 2; v += axis->tick) {
        axis_number(axis, v, axis->decimals, text);
        axis->label_width = MAX_OF(axis->label_width, (int)strlen(text));
    }
}

/* The part of a row left of the field: a label if there is a tick. */
static void axis_label(struct buf *out, const struct page *page, const struct axis *axis, int rows, int row, int margin)
{
    /* Each tick gets the nearest row. */
    double share = rows > 1 ? (axis->high - axis->low) / (rows - 1) : 1, nearest = 0;
    bool tick = false;
    for (double v = axis->low; v <= axis->high + axis->tick / 1000 && !tick; v += axis->tick) {
        tick = rows - 1 - (int)lround((v - axis->low) / share) == row;
        nearest = v;
    }
    char text[32] = "", padded[64];
    if (tick)
        axis_number(axis, nearest, axis->decimals, text);
    snprintf(padded, sizeof padded, "%*s ", MAX_OF(margin - 2, 0), text);
    page_ink(out, page, INK_FAINT, str_from(padded));
    page_ink(out, page, INK_FAINT, str_from(page->utf8 ? (tick ? "┤" : "│") : (tick ? "+" : "|")));
}

/* "now 71, mean 65, 40 to 83", or with several lines "GPU 0 now 71". */
static void axis_statistics(struct buf *out, const struct page *page, const struct plot *plot, size_t which,
                            const struct axis *axis, bool whole)
{
    const struct plot_line *line = &plot->lines[which];
    double sum = 0, least = INFINITY, most = -INFINITY, last = NAN;
    size_t known = 0;
    for (size_t i = 0; i < line->count; i++) {
        if (isnan(line->mean[i]))
            continue;
        sum += line->mean[i];
        known++;
        last = line->mean[i];
        least = fmin(least, isnan(line->min[i]) ? line->mean[i] : line->min[i]);
        most = fmax(most, isnan(line->max[i]) ? line->mean[i] : line->max[i]);
    }
    char text[4][32];
    int decimals = most - least < 10 * axis->divide || axis->divide > 1 ? 1 : 0;
    if (known == 0) {
        buf_printf(out, "%s%s%s", line->label, line->label[0] ? " " : "", whole ? "nothing stored" : page_dash(page));
        return;
    }
    axis_number(axis, last, decimals, text[0]);
    axis_number(axis, sum / (double)known, decimals, text[1]);
    axis_number(axis, least, decimals, text[2]);
    axis_number(axis, most, decimals, text[3]);
    if (whole)
        buf_printf(out, "last %s%smean %s%smin %s%smax %s", text[0], page_dot(page), text[1], page_dot(page), text[2],
                   page_dot(page), text[3]);
    else
        buf_printf(out, "%s mean %s max %s", line->label, text[1], text[3]);
}

/* ---- times ---- */

static const double time_steps[] = {1,    2,    5,     10,    15,    30,    60,     120,    300,     600,     900,     1800,
                                    3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000};

static void plot_time(double at, double every, char text[PLOT_TIME_SIZE])
{
    time_t seconds = (time_t)floor(at);
    struct tm t;
    localtime_r(&seconds, &t);
    bool midnight = t.tm_hour == 0 && t.tm_min == 0 && t.tm_sec == 0;
    if (every >= 2592000)
        strftime(text, PLOT_TIME_SIZE, "%b %Y", &t);
    else if (every >= 86400 || (midnight && every >= 60))
        strftime(text, PLOT_TIME_SIZE, "%b %-d", &t);
    else if (every >= 60)
        strftime(text, PLOT_TIME_SIZE, "%H:%M", &t);
    else
        strftime(text, PLOT_TIME_SIZE, "%H:%M:%S", &t);
}

/* The UTC offset at that time. */
static double offset_of(const struct tm *local, time_t at)
{
    struct tm same = *local;
    return difftime(timegm(&same), at);
}

/* The first multiple of `every` in local time, at or after `at`; for months, their first day. */
static double next_tick(double at, double every)
{
    time_t seconds = (time_t)ceil(at);
    struct tm t;
    localtime_r(&seconds, &t);
    if (every >= 2592000) {
        int months = MAX_OF((int)(every / 2592000 + 0.5), 1);
        struct tm first = {.tm_year = t.tm_year, .tm_mon = t.tm_mon / months * months, .tm_mday = 1, .tm_isdst = -1};
        while (difftime(mktime(&first), seconds) < 0) {
            first.tm_mon += months;
            first.tm_isdst = -1;
            first.tm_hour = 0;
        }
        return (double)mktime(&first);
    }
    if (every >= 86400) {
        struct tm first = {.tm_year = t.tm_year, .tm_mon = t.tm_mon, .tm_mday = t.tm_mday, .tm_isdst = -1};
        for (;;) {
            time_t day = mktime(&first);
            long number = (long)(((double)day + offset_of(&first, day)) / 86400);
            if (day >= seconds && number % (long)(every / 86400) == 0)
                return (double)day;
            first.tm_mday++;
            first.tm_isdst = -1;
            first.tm_hour = first.tm_min = first.tm_sec = 0;
        }
    }
    double offset = offset_of(&t, seconds);
    return ceil((at + offset) / every) * every - offset;
}

static double choose_step(const struct plot *plot, int columns)
{
    for (size_t i = 0; i < ARRAY_LEN(time_steps); i++) {
        char text[PLOT_TIME_SIZE];
        plot_time(plot->since, time_steps[i], text);
        double needed = MAX_OF(strlen(text), (size_t)6) + LABEL_GAP;
        if (time_steps[i] / (plot->until - plot->since) * columns >= needed)
            return time_steps[i];
    }
    return time_steps[ARRAY_LEN(time_steps) - 1];
}

static void write_marks(struct buf *out, const struct page *page, const struct plot *plot, int columns)
{
    const struct plot_mark *at[COLUMNS_MAX] = {0};
    int last = -1;
    for (size_t i = 0; i < plot->mark_count; i++) {
        int column = (int)floor((plot->marks[i].at - plot->since) / (plot->until - plot->since) * columns);
        if (column < 0 || column >= columns)
            continue;
        /* Move a second mark at the same place aside, so that both are visible. */
        while (at[column] && column + 1 < columns)
            column++;
        at[column] = &plot->marks[i];
        last = MAX_OF(last, column);
    }
    if (last < 0)
        return;
    buf_printf(out, "%*s", plot->margin, "");
    for (int i = 0; i <= last; i++) {
        if (at[i])
            page_ink(out, page, at[i]->ink, (struct str){&at[i]->sign, 1});
        else
            buf_char(out, ' ');
    }
    buf_char(out, '\n');
}

/* The line below the field; with times, also labels and marks. */
static void axis_times(struct buf *out, const struct page *page, const struct plot *plot, int columns)
{
    columns = MIN_OF(columns, (int)COLUMNS_MAX);
    double every = choose_step(plot, columns);
    char labels[COLUMNS_MAX + PLOT_TIME_SIZE];
    bool ticks[COLUMNS_MAX] = {false};
    memset(labels, ' ', sizeof labels);
    int used = 0, free_from = 0;
    for (double at = next_tick(plot->since, every); at < plot->until; at = next_tick(at + 1, every)) {
        int column = (int)((at - plot->since) / (plot->until - plot->since) * columns);
        char text[PLOT_TIME_SIZE];
        plot_time(at, every, text);
        int len = (int)strlen(text), from = MAX_OF(column - len / 2, 0);
        if (column >= columns)
            break;
        ticks[column] = true;
        if (from < free_from || from + len > columns)
            continue;
        memcpy(labels + from, text, (size_t)len);
        used = from + len;
        free_from = used + 2;
    }
    AUTO_BUF struct buf line = BUF(COLUMNS_MAX * 4 + 64);
    buf_printf(&line, "%*s%s", MAX_OF(plot->margin - 1, 0), "", page->utf8 ? "└" : "+");
    for (int i = 0; i < columns; i++)
        buf_text(&line, page->utf8 ? (ticks[i] ? "┬" : "─") : (ticks[i] ? "+" : "-"));
    page_ink(out, page, INK_FAINT, buf_view(&line));
    buf_char(out, '\n');
    if (!plot->with_times)
        return;
    buf_printf(out, "%*s%.*s\n", plot->margin, "", used, labels);
    write_marks(out, page, plot, columns);
}

/* ---- the field ---- */

struct plot_cell {
    unsigned short dots; /* bit y * columns + x */
    unsigned char ink;
    bool line; /* a line, not only the band */
};

struct field {
    const struct plot *plot;
    struct axis axis;
    int columns, rows;        /* cells */
    int dots_wide, dots_high; /* of a cell */
    struct plot_cell *cells;
};

static const enum ink line_inks[PLOT_LINES_MAX] = {INK_LOAD,  INK_MEMORY, INK_WARN,   INK_BAD,
                                                   INK_PLAIN, INK_FAINT,  INK_STRONG, INK_GOOD};

static enum ink plot_ink_of(const struct plot *plot, size_t line)
{
    return plot->line_count == 1 ? INK_LOAD : line_inks[line];
}

/* ---- dots ---- */

static void set_dot(struct field *f, int x, int y, enum ink ink, bool line)
{
    int wide = f->columns * f->dots_wide, high = f->rows * f->dots_high;
    if (x < 0 || x >= wide || y < 0 || y >= high)
        return;
    int row = f->rows - 1 - y / f->dots_high;
    struct plot_cell *cell = &f->cells[row * f->columns + x / f->dots_wide];
    cell->dots |= (unsigned short)(1 << (y % f->dots_high * f->dots_wide + x % f->dots_wide));
    if (line || !cell->line) {
        cell->ink = (unsigned char)ink;
        cell->line |= line;
    }
}

static int x_of(const struct field *f, double at)
{
    double share = (at - f->plot->since) / (f->plot->until - f->plot->since);
    return (int)floor(share * (f->columns * f->dots_wide));
}

static int y_of(const struct field *f, double value)
{
    double share = (value - f->axis.low) / (f->axis.high - f->axis.low);
    int most = f->rows * f->dots_high - 1;
    return (int)fmin(fmax(round(share * most), 0), most);
}

static void draw_column(struct field *f, int x, int from, int to, enum ink ink, bool line)
{
    for (int y = MIN_OF(from, to); y <= MAX_OF(from, to); y++)
        set_dot(f, x, y, ink, line);
}

/* From one point to the next; blocks fill everything below the line. */
static void draw_between(struct field *f, int x0, int y0, int x1, int y1, enum ink ink)
{
    int last = y0;
    if (x0 == x1 && f->plot->style != PLOT_BLOCKS)
        draw_column(f, x0, y0, y1, ink, true);
    for (int x = x0; x <= x1; x++) {
        int y = x1 == x0 ? y1 : y0 + (int)lround((double)(y1 - y0) * (x - x0) / (x1 - x0));
        if (f->plot->style == PLOT_BLOCKS)
            draw_column(f, x, 0, y, ink, true);
        else
            draw_column(f, x, x == x0 ? y : last + (y > last) - (y < last), y, ink, true);
        last = y;
    }
}

static void draw_band(struct field *f, const struct plot_line *line)
{
    for (size_t i = 0; i < line->count; i++) {
        if (isnan(line->mean[i]) || isnan(line->min[i]) || isnan(line->max[i]))
            continue;
        int from = x_of(f, line->times[i]), to = from + 1;
        if (i + 1 < line->count && !isnan(line->mean[i + 1]))
            to = MAX_OF(to, x_of(f, line->times[i + 1]));
        for (int x = from; x < to; x++)
            draw_column(f, x, y_of(f, line->min[i]), y_of(f, line->max[i]), INK_FAINT, false);
    }
}

static void draw_line(struct field *f, const struct plot_line *line, enum ink ink)
{
    bool before = false;
    int last_x = 0, last_y = 0;
    for (size_t i = 0; i < line->count; i++) {
        bool known = !isnan(line->mean[i]) && line->times[i] < f->plot->until;
        if (known) {
            int x = x_of(f, fmax(line->times[i], f->plot->since)), y = y_of(f, line->mean[i]);
            draw_between(f, before ? last_x : x, before ? last_y : y, x, y, ink);
            last_x = x;
            last_y = y;
        }
        before = known;
    }
}

/* ---- cells to text ---- */

static void braille(struct buf *out, unsigned dots)
{
    /* Bit for (x, y) with y from below; Unicode's order of the dots is older than the fourth row. */
    static const unsigned char bits[8] = {0x40, 0x80, 0x04, 0x20, 0x02, 0x10, 0x01, 0x08};
    unsigned sign = 0;
    for (int i = 0; i < 8; i++)
        if (dots & 1u << i)
            sign |= bits[i];
    char utf8[4] = {(char)0xe2, (char)(0xa0 | sign >> 6), (char)(0x80 | (sign & 0x3f)), 0};
    buf_text(out, utf8);
}

static void block(struct buf *out, unsigned dots)
{
    int filled = 0;
    while (dots >> filled)
        filled++;
    char utf8[4] = {(char)0xe2, (char)0x96, (char)(0x80 + filled), 0};
    buf_text(out, utf8);
}

static void ascii(struct buf *out, unsigned dots)
{
    static const char signs[8] = {' ', '_', '-', '|', '\'', '|', '|', '|'};
    buf_char(out, signs[dots & 7]);
}

static void write_cell(struct buf *out, enum plot_style style, unsigned dots)
{
    if (dots == 0)
        buf_char(out, ' ');
    else if (style == PLOT_BRAILLE)
        braille(out, dots);
    else if (style == PLOT_BLOCKS)
        block(out, dots);
    else
        ascii(out, dots);
}

/* Writes cells of the same ink together. */
static void write_row(struct buf *out, const struct page *page, const struct field *f, int row)
{
    const struct plot_cell *cells = &f->cells[row * f->columns];
    int end = f->columns;
    while (end > 0 && !cells[end - 1].dots)
        end--;
    for (int i = 0; i < end;) {
        AUTO_BUF struct buf run = BUF(COLUMNS_MAX * 4);
        int from = i;
        for (; i < end && (cells[i].ink == cells[from].ink || !cells[i].dots); i++)
            write_cell(&run, f->plot->style, cells[i].dots);
        page_ink(out, page, cells[from].dots ? (enum ink)cells[from].ink : INK_PLAIN, buf_view(&run));
    }
}

/* ---- the whole plot ---- */

static void write_title(struct buf *out, const struct page *page, const struct plot *plot, const struct axis *axis)
{
    page_ink(out, page, INK_STRONG, str_from(plot->title));
    AUTO_BUF struct buf unit = BUF(64);
    page_fit(&unit, page, str_from(axis->unit), 0);
    if (unit.len)
        buf_printf(out, " %s", unit.at);
    int left = plot->width - width_of(plot->title) - text_width(buf_view(&unit)) - 3;
    for (size_t i = 0; i < plot->line_count && left > 8; i++) {
        AUTO_BUF struct buf text = BUF(256), fitted = BUF(256);
        axis_statistics(&text, page, plot, i, axis, plot->line_count == 1);
        left -= page_fit(&fitted, page, buf_view(&text), left) + 3;
        buf_text(out, i ? page_dot(page) : "  ");
        page_ink(out, page, plot->line_count == 1 ? INK_PLAIN : plot_ink_of(plot, i), buf_view(&fitted));
    }
    buf_char(out, '\n');
}

int plot_margin(const struct plot *plot)
{
    struct axis axis;
    axis_init(&axis, plot);
    return axis.label_width + 2;
}

void plot_write(struct buf *out, const struct page *page, const struct plot *plot)
{
    struct field f = {.plot = plot, .dots_wide = plot->style == PLOT_BRAILLE ? 2 : 1};
    f.dots_high = plot->style == PLOT_BRAILLE ? 4 : plot->style == PLOT_BLOCKS ? 8 : 3;
    axis_init(&f.axis, plot);
    f.rows = MIN_OF(MAX_OF(plot->height, (int)PLOT_HEIGHT_LEAST), (int)ROWS_MAX);
    f.columns = MIN_OF(MAX_OF(plot->width - plot->margin, 10), (int)COLUMNS_MAX);
    AUTO_FREE struct plot_cell *cells = calloc((size_t)(f.columns * f.rows), sizeof *cells);
    if (!cells)
        return;
    f.cells = cells;
    /* Draw the band of min and max behind the line if colors can tell them apart. */
    if (plot->line_count == 1 && page->color && plot->style == PLOT_BRAILLE)
        draw_band(&f, &plot->lines[0]);
    for (size_t i = plot->line_count; i > 0; i--)
        draw_line(&f, &plot->lines[i - 1], plot_ink_of(plot, i - 1));
    write_title(out, page, plot, &f.axis);
    for (int row = 0; row < f.rows; row++) {
        axis_label(out, page, &f.axis, f.rows, row, plot->margin);
        write_row(out, page, &f, row);
        buf_char(out, '\n');
    }
    axis_times(out, page, plot, f.columns);
}
