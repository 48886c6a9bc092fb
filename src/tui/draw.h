/* SPDX-License-Identifier: Apache-2.0
 * Draws the state of the live view as a frame. Changes only what depends on the frame: clickable zones, scrolling, page sizes.
 */
#pragma once

#include "format/table/page_table.h"
#include "tui/canvas.h"
#include "tui/top.h"

enum { PROCESSES_MIN = 4 /* a heading and three rows */, BRIEF_BELOW = 60 /* columns: no panel, no names */ };

/* The canvas must have the size of the state. */
void draw_frame(struct top *t, struct canvas *c);

/* Parts of the frame. `height` is the available room; draw_gpus() returns the lines it took. */
int draw_gpus(struct top *t, struct canvas *c, int y, int height);
void draw_processes(struct top *t, struct canvas *c, int y, int height);
void draw_tab(struct top *t, struct canvas *c, int y, int height);
/* One line for each of several hosts; returns the lines of its titles. */
int draw_hosts(struct top *t, struct canvas *c, int top, int height);
void draw_host_line(const struct top *t, struct canvas *c, int y);
/* ▲ trouble, ● started, ○ ended, ◆ anything else. */
uint32_t mark_sign(const struct top *t, const struct top_mark *m);
void draw_dialog(struct top *t, struct canvas *c);
void draw_setup(struct top *t, struct canvas *c, int y, int height);

/* All hosts of a fleet. draw_fleet_place() writes the position of the selection at the end of the bottom line. */
void draw_fleet(struct top *t, struct canvas *c, int y, int height);
const char *draw_fleet_headline(const struct top *t, char *text, size_t size, enum tint *tint);
void draw_fleet_place(const struct top *t, struct canvas *c, int y);

/* ---- columns of tables: draw_processes.c ---- */

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

/* ---- GPUs: shared by panels, rows and jobs ---- */

struct gpu_metric {
    const char *label;
    enum tint tint;
};
extern const struct gpu_metric gpu_metrics[TRAIL_COUNT];

/* The value that fills a plot or bar, in the unit of the trail; 0: unknown. The present share of it, in permille. */
float gpu_full_scale(const struct gpu *gpu, enum trail_of of);
struct reading gpu_share(const struct gpu *gpu, enum trail_of of);

/* Where `width` has no room for "at the power limit": "power". Other words stay. */
void gpu_shorten_limit(char *words, size_t size, const struct process *p, int width);
/* The index of the GPU that the other ranks of its job wait for; -1: none. `of` NULL: of any job. */
int draw_straggler(const struct top *t, const struct process *of);
void gpu_fan_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu);
void gpu_power_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu, bool limit);
void gpu_value_text(char text[NUMBER_SIZE], const struct page *page, const struct gpu *gpu, enum trail_of of);
/* Why the GPU has no readings; "": it has some. */
void gpu_trouble_text(const struct gpu *gpu, char *text, size_t size, enum tint *tint);
/* The worst finding, or the daemon's verdict or forecast; "": fine. */
void gpu_badge_text(const struct top *t, size_t position, char *text, size_t size, enum tint *tint);
/* "leased to alice until 18:00, power limit 330 W"; "" without a lease. */
void gpu_lease_text(const struct top *t, size_t position, char *text, size_t size);
/* Whether it needs attention, or others wait for it. */
bool gpu_is_marked(const struct top *t, size_t position);
/* A word or two for a narrow column: of the finding, or of what limits its program. */
void gpu_brief_reason(const struct top *t, size_t position, char *words, size_t size, enum tint *tint, int width);
void gpu_process_text(const struct gpu *gpu, char *text, size_t size);

void draw_plot(struct top *t, struct canvas *c, size_t gpu, enum trail_of of, int x, int y, int width, int height);
/* One line of the mean of these GPUs. */
void draw_mean_plot(struct top *t, struct canvas *c, const bool on[], enum trail_of of, int x, int y, int width);
/* "5m ago ... now", with marks for events. */
void draw_axis(struct top *t, struct canvas *c, int x, int y, int width);

/* These return the lines they took. `panel`: there is a panel below, so the column of plots yields to others. */
int draw_gpu_rows(struct top *t, struct canvas *c, int y, int height, bool panel);
/* One GPU in detail: its properties, and plots of all its readings. */
int draw_panel(struct top *t, struct canvas *c, size_t position, int y, int height);
int draw_gpu_map(struct top *t, struct canvas *c, int y, int height);
/* Below a map: the jobs on these GPUs, as many as fit, those with most GPUs first. */
int draw_gpu_jobs(struct top *t, struct canvas *c, int y, int height);
