/* SPDX-License-Identifier: Apache-2.0
 * Draws the state of the live view as a frame. Changes only what depends on the frame: clickable zones, scrolling, page sizes.
 */
#pragma once

#include "format/table/page_table.h"
#include "tui/canvas.h"
#include "tui/top.h"

enum { PROCESSES_MIN = 4 }; /* a heading and three rows */

/* The canvas must have the size of the state. */
void draw_frame(struct top *t, struct canvas *c);

/* Parts of the frame. `height` is the available room; draw_gpus() returns the lines it took. */
int draw_gpus(struct top *t, struct canvas *c, int y, int height);
void draw_processes(struct top *t, struct canvas *c, int y, int height);
void draw_tab(struct top *t, struct canvas *c, int y, int height);
int draw_hosts(struct top *t, struct canvas *c, int top, int height); /* the lines that do not scroll */
/* Replaces the whole frame if the cursor's moment is not stored. */
void draw_missing(struct top *t, struct canvas *c);
void draw_host_line(const struct top *t, struct canvas *c, int y);
/* ▲ trouble, ● started, ○ ended, ◆ anything else. */
uint32_t mark_sign(const struct top *t, const struct top_mark *m);
void draw_bottom(struct top *t, struct canvas *c, int y);
void draw_dialog(struct top *t, struct canvas *c);
void draw_details(struct top *t, struct canvas *c);
void draw_setup(struct top *t, struct canvas *c, int y, int height);

/* All hosts of a fleet. draw_fleet_place() writes the position of the selection at the end of the bottom line. */
void draw_fleet(struct top *t, struct canvas *c, int y, int height);
const char *draw_fleet_headline(const struct top *t, char *text, size_t size, enum tint *tint);
void draw_fleet_place(const struct top *t, struct canvas *c, int y);

/* ---- draw_columns.c: shared by tables ---- */
/* The chosen columns that fit into the width; a column without a width takes the rest. */
unsigned draw_columns_that_fit(const struct top_column_info *columns, int count, unsigned chosen, int width);
struct column_titles {
    const struct top_column_info *columns;
    int count;
    unsigned shown;
    const char *sort; /* sort key of the rows; NULL: unsorted */
    bool reverse;
    const struct top_settings *order; /* of the process table's columns; NULL: as they are */
};
void draw_column_titles(struct top *t, struct canvas *c, const struct column_titles *titles, int y);
/* Draws the filter into the line of titles. */
void draw_filter_words(const struct top *t, struct canvas *c, int y);
/* Scrolls until the selected row is visible. */
void draw_scroll(struct top *t, size_t room);

/* The page for formatting numbers. */
struct page draw_page(const struct top *t);
/* The verdict about the sample on screen; NULL: not judged. */
const struct verdict *draw_verdict(const struct top *t);
/* Removes what stands in parentheses. */
void draw_drop_asides(char *text);
/* The tint of the GPU's finding about heat; TINT_PLAIN: none. */
enum tint draw_heat_tint(const struct top *t, const struct gpu *gpu);
/* Shortens "NVIDIA GeForce RTX 4090" to "GeForce RTX 4090". */
const char *draw_gpu_name(const struct gpu *gpu);
