/* SPDX-License-Identifier: Apache-2.0
 * Axes of a plot: which values and times get labels, and how. Private to plot*.c.
 */
#pragma once

#include "format/plot/plot.h"

struct axis {
    double low, high, tick; /* in the plot's unit */
    double divide;          /* for labels: 1024 shows MiB as GiB */
    const char *unit;       /* of the labels */
    int decimals, label_width;
};

void axis_init(struct axis *axis, const struct plot *plot);
/* The part of a row left of the field: a label if there is a tick. */
void axis_label(struct buf *out, const struct page *page, const struct axis *axis, int rows, int row, int margin);
/* "now 71, mean 65, 40 to 83", or with several lines "GPU 0 now 71". */
void axis_statistics(struct buf *out, const struct page *page, const struct plot *plot, size_t which, const struct axis *axis,
                     bool whole);
/* The line below the field; with times, also labels and marks. */
void axis_times(struct buf *out, const struct page *page, const struct plot *plot, int columns);
