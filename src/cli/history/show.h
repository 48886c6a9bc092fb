/* SPDX-License-Identifier: Apache-2.0
 * Prints the answers of /api/history: plots, marks and lists.
 */
#pragma once

#include "base/error.h"
#include "format/plot/plot.h"

struct plot_view {
    int width, height;
    bool each; /* one plot per GPU */
    enum plot_style style;
    double since, until;
};

/* Plots an answer; `events` may be empty. */
int history_show_plots(struct buf *out, const struct page *page, const struct plot_view *view, struct str answer, struct str events,
                       struct error *err);
/* Lists events or processes. */
int history_show_list(struct buf *out, const struct page *page, bool events, struct str answer, struct error *err);

/* ---- lists.c: titles and marks for plots ---- */

enum { MARK_TEXT_SIZE = 256 };

struct history_marks {
    struct plot_mark list[PLOT_MARKS_MAX];
    char texts[PLOT_MARKS_MAX][MARK_TEXT_SIZE];
    size_t count, left_out;
};

/* "memory_used_mb" becomes "memory used": the unit is shown beside it. */
void history_title(const char *metric, char *text, size_t size);

/* The most severe events in an answer of /api/history/events, in order of time. */
void history_marks_read(struct history_marks *marks, struct str answer);
void history_marks_legend(struct buf *out, const struct page *page, const struct history_marks *marks, int width, double until);
