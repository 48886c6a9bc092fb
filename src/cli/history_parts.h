/* SPDX-License-Identifier: Apache-2.0
 * Parts of what `whirr history` shows: titles, marks for events, lists.
 */
#pragma once

#include "format/plot/plot.h"

enum { MARK_TEXT_SIZE = 256 };

struct history_marks {
    struct plot_mark list[PLOT_MARKS_MAX];
    char texts[PLOT_MARKS_MAX][MARK_TEXT_SIZE];
    size_t count, left_out;
};

/* "memory_used_mb" is "memory used": the unit stands beside it. */
void history_title(const char *metric, char *text, size_t size);

/* The gravest events of an answer of /api/history/events, in the order of time. */
void history_marks_read(struct history_marks *marks, struct str answer);
void history_marks_legend(struct buf *out, const struct page *page, const struct history_marks *marks, int width, double until);
