/* SPDX-License-Identifier: Apache-2.0
 * The answers of /api/history as text for people.
 */
#pragma once

#include "base/error.h"
#include "format/plot/plot.h"

struct history_look {
    int width, height;
    bool each; /* a plot for each GPU */
    enum plot_style style;
    double since, until;
};

/* `events` may be empty. */
int history_show_plots(struct buf *out, const struct page *page, const struct history_look *look, struct str answer,
                       struct str events, struct error *err);
/* Events, or processes. */
int history_show_list(struct buf *out, const struct page *page, bool events, struct str answer, struct error *err);
