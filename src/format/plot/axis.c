/* SPDX-License-Identifier: Apache-2.0
 * Ticks at round numbers and times.
 */
#include "format/plot/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

enum { COLUMNS_MAX = 1000, LABEL_GAP = 3 };

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

void axis_init(struct axis *axis, const struct plot *plot)
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

void axis_label(struct buf *out, const struct page *page, const struct axis *axis, int rows, int row, int margin)
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

void axis_statistics(struct buf *out, const struct page *page, const struct plot *plot, size_t which, const struct axis *axis,
                     bool whole)
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

void axis_times(struct buf *out, const struct page *page, const struct plot *plot, int columns)
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
