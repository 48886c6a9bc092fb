/* SPDX-License-Identifier: Apache-2.0
 * The state of the live view as a frame. A pure function of the state; where clicks do something is noted in it (top_zone).
 */
#pragma once

#include "format/table/page.h"
#include "tui/canvas.h"
#include "tui/top.h"

enum { PROCESSES_LEAST = 4 }; /* a heading and three rows */

/* The canvas has the size of the state already. */
void draw_frame(struct top *t, struct canvas *c);

/* Its parts. `height` is what there is room for; draw_gpus() returns what it took. */
int draw_gpus(struct top *t, struct canvas *c, int y, int height);
void draw_processes(struct top *t, struct canvas *c, int y, int height);
void draw_tab(struct top *t, struct canvas *c, int y, int height);
/* Instead of all of them: that the cursor's moment is not stored. */
void draw_missing(struct top *t, struct canvas *c);
void draw_host_line(const struct top *t, struct canvas *c, int y);
void draw_bottom(struct top *t, struct canvas *c, int y);
void draw_dialog(struct top *t, struct canvas *c);
void draw_details(struct top *t, struct canvas *c);
void draw_setup(struct top *t, struct canvas *c, int y, int height);

/* All hosts of a fleet; where in its rows the selection is, at the end of the bottom line. */
void draw_fleet(struct top *t, struct canvas *c, int y, int height);
const char *draw_fleet_headline(const struct top *t, char *text, size_t size, enum tint *tint);
void draw_fleet_place(const struct top *t, struct canvas *c, int y);

/* ---- draw_columns.c: what tables have in common ---- */
/* Of the chosen columns those that fit into the width; a column without a width of its own takes what is left. */
unsigned draw_columns_that_fit(const struct top_column_info *columns, int count, unsigned chosen, int width);
struct column_titles {
    const struct top_column_info *columns;
    int count;
    unsigned shown;
    const char *sort; /* what the rows are sorted by; NULL: nothing */
    bool reverse;
};
void draw_column_titles(struct top *t, struct canvas *c, const struct column_titles *titles, int y);
/* The filter, in the line of the titles. */
void draw_filter_words(const struct top *t, struct canvas *c, int y);
/* Scrolls until the selected row is among those that there is room for. */
void draw_scroll(struct top *t, size_t room);

/* The page that numbers are formatted for. */
struct page draw_page(const struct top *t);
/* What was found in the sample that is shown; NULL: it was not judged. */
const struct verdict *draw_verdict(const struct top *t);
/* That of what was found about its heat. */
enum tint draw_heat_tint(const struct top *t, const struct gpu *gpu);
/* "GeForce RTX 4090" is as clear as "NVIDIA GeForce RTX 4090". */
const char *draw_gpu_name(const struct gpu *gpu);
