/* SPDX-License-Identifier: Apache-2.0
 * A screen as data: a grid of cells, each with a glyph and the meaning of its color. Views are drawn here, then compared, printed
 * or shown; knows no terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/reading.h"

enum { CANVAS_WIDTH_MAX = 500, CANVAS_HEIGHT_MAX = 300, RAMP_STEPS = 8 };

/* Meanings, which a theme maps to colors. */
enum tint {
    TINT_PLAIN,
    TINT_STRONG,
    TINT_DIM,
    TINT_GOOD,
    TINT_WARN,
    TINT_BAD,
    TINT_LABEL,
    TINT_UTIL,
    TINT_MEMORY,
    TINT_POWER,
    TINT_HEAT,
    TINT_FAN,
    TINT_CLOCK,
    TINT_RAMP, /* RAMP_STEPS of them, from low to high */
    TINT_COUNT = TINT_RAMP + RAMP_STEPS,
};

enum { CELL_REVERSE = 1, CELL_BOLD = 2, CELL_TAIL = 4 /* the right half of a wide glyph */ };

struct cell {
    uint32_t glyph;
    uint8_t tint, flags;
};

struct canvas {
    int width, height;
    bool utf8, blocks; /* blocks: plot in eighths of a line instead of dots */
    struct cell *cells;
};

/* 0 or -ENOMEM; clamps the size to the limits above. Also resizes a canvas in use. */
int canvas_resize(struct canvas *c, int width, int height);
void canvas_done(struct canvas *c);
void canvas_clear(struct canvas *c);

static inline struct cell *canvas_cell(struct canvas *c, int x, int y)
{
    return x < 0 || y < 0 || x >= c->width || y >= c->height ? NULL : &c->cells[y * c->width + x];
}

void canvas_put(struct canvas *c, int x, int y, enum tint tint, uint32_t glyph);
/* Draws text in at most `width` columns, cut with an ellipsis; returns its width. */
int canvas_text(struct canvas *c, int x, int y, int width, enum tint tint, const char *text);
int canvas_right(struct canvas *c, int x, int y, int width, enum tint tint, const char *text);
/* Wraps whole words into lines of `width`, at most `lines` of them (0: no limit); returns how many. */
int canvas_wrap(struct canvas *c, int x, int y, int width, int lines, enum tint tint, const char *text);
/* The number of lines that canvas_wrap() would take. */
int canvas_wrap_lines(int width, const char *text);

void canvas_flag(struct canvas *c, int x, int y, int width, unsigned flag);
/* Marks a whole line as selected, whatever its colors. */
void canvas_select(struct canvas *c, int x, int y, int width);
void canvas_bar(struct canvas *c, int x, int y, int width, enum tint tint, struct reading permille);
/* Rates are areas, levels are lines; an outgoing rate hangs from the top. */
enum plot_form { PLOT_AREA, PLOT_LINE, PLOT_DOWN };
/* Plots canvas_plot_slots() values from 0 to 1; NAN: unknown. */
void canvas_plot(struct canvas *c, int x, int y, int width, int height, enum tint tint, enum plot_form form, const float *values);
static inline int canvas_plot_slots(const struct canvas *c, int width)
{
    return c->utf8 && !c->blocks ? 2 * width : width;
}

/* Draws the frame of a dialog and clears its inside. */
void canvas_box(struct canvas *c, int x, int y, int width, int height, const char *title);

/* Appends one glyph in UTF-8. */
void canvas_glyph(struct buf *out, uint32_t glyph);
/* Writes lines of text without trailing blanks. */
void canvas_write(const struct canvas *c, struct buf *out);
