/* SPDX-License-Identifier: Apache-2.0
 * Plots for a terminal: lines of dots, axes with units and local times, gaps without data, marks for events.
 */
#pragma once

#include "format/table/page_table.h"

enum plot_style { PLOT_BRAILLE, PLOT_BLOCKS, PLOT_ASCII };
enum { PLOT_LINES_MAX = 8, PLOT_MARKS_MAX = 10, PLOT_HEIGHT_LEAST = 3, PLOT_WIDTH_LEAST = 30 };

/* Values over time; NAN breaks the line. */
struct plot_line {
    const char *label;   /* "" if there is one line */
    const double *times; /* seconds since 1970, ascending */
    const double *mean, *min, *max;
    size_t count;
};

struct plot_mark {
    double at;
    enum ink ink;
    char sign; /* 'a', 'b', ... as in the legend */
};

struct plot {
    const char *title, *unit;
    struct plot_line lines[PLOT_LINES_MAX];
    size_t line_count;
    double since, until;
    int width, height; /* all columns; rows of the field alone */
    enum plot_style style;
    const struct plot_mark *marks;
    size_t mark_count;
    bool with_times; /* label the time axis, and show the marks below it */
    int margin;      /* width of the value axis, so that plots are aligned; see plot_margin */
};

/* The width that the labels of the value axis need. */
int plot_margin(const struct plot *plot);
void plot_write(struct buf *out, const struct page *page, const struct plot *plot);

/* "03:10", "Nov 14 03:10", ...: as precise as ticks of that many seconds require. */
enum { PLOT_TIME_SIZE = 32 };
