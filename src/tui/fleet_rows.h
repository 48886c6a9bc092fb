/* SPDX-License-Identifier: Apache-2.0
 * `whirr top --fleet`: all hosts on one screen. A state that keys, mouse and answers of the database change, and a renderer to
 * cells; no clock, no I/O, no thread.
 *
 *   keys, mouse, size ──┐                   ┌──▶ fleet_top_draw() ──▶ canvas
 *   struct fleet ───────┴──▶ struct fleet_top ──▶ requests: end, a command to copy
 */
#pragma once

#include "fleet/fleet.h"
#include "tui/canvas.h"
#include "tui/top.h"

enum fleet_top_view { FLEET_TOP_HOSTS, FLEET_TOP_HELD, FLEET_TOP_FREE, FLEET_TOP_PROCESSES, FLEET_TOP_VIEWS };
/* FLEET_SORT_FIRST is the view's own: worst, most held, most free, most memory. */
enum fleet_top_sort { FLEET_SORT_FIRST, FLEET_SORT_UTIL, FLEET_SORT_FREE, FLEET_SORT_POWER, FLEET_SORT_HOST, FLEET_SORT_COUNT };

/* A line of the table; one of the three is set, and none is a heading. */
struct fleet_line {
    const struct fleet_host *host;
    const struct fleet_gpu *gpu;
    const struct fleet_process *process;
    int64_t rank; /* the higher, the further up */
};

struct fleet_top {
    bool utf8, typing, helping, reverse, ended;
    struct fleet fleet;
    bool known; /* there was an answer */
    struct wall at;
    char trouble[256]; /* why there is no newer one; "" fine */
    struct fleet_host *hosts;
    size_t host_count;
    enum fleet_top_view view;
    enum fleet_top_sort sort;
    char open[HOST_NAME_SIZE]; /* the host that is looked at; "": all */
    char filter[64];
    struct fleet_line *lines;
    size_t line_count;
    size_t selected, first, page; /* page: what the last frame had room for */
    size_t back;                  /* where the selection was before a host was opened */
    int rows_at;                  /* the row of the first line in the last frame */
    char copy[HOST_NAME_SIZE + 64];
    char note[160];
};

void fleet_top_done(struct fleet_top *t);
/* Takes the answer. */
void fleet_top_take(struct fleet_top *t, struct fleet *f, struct wall at);
void fleet_top_trouble(struct fleet_top *t, const char *text);
void fleet_top_key(struct fleet_top *t, int key);
void fleet_top_mouse(struct fleet_top *t, enum top_mouse what, int x, int y);
void fleet_top_draw(struct fleet_top *t, struct canvas *c);

/* Of a line, for the renderer and the filter. */
const char *fleet_line_host(const struct fleet_line *l);
/* Who holds memory on a host, or on one GPU of it: "alice, bob +2"; "": no user. */
void fleet_holders(const struct fleet *f, const char *host, const char *gpu, char *text, size_t size);
/* What would be free on all its GPUs that work. */
struct reading fleet_host_free(const struct fleet_host *h);

/* The view on a terminal (or, with `once`, one frame of that size as text), until it is left. An exit code. */
struct cli;
struct fleet_top_options {
    const char *url, *theme;
    int64_t interval_ms;
    bool once, direct_color, mouse;
    int width, height;
};
int fleet_top_run(const struct cli *cli, const struct fleet_top_options *options);
