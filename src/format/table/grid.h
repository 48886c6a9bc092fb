/* SPDX-License-Identifier: Apache-2.0
 * A grid of cells with titles: columns are as wide as their widest cell; on a narrow page, the least important columns are left out
 * and the last one is cut.
 */
#pragma once

#include "format/table/page_table.h"

enum { GRID_COLUMNS_MAX = 24 };

struct grid_column {
    const char *title;
    enum align align;
    int rank; /* 0: always shown; otherwise the highest rank is left out first */
};

struct grid {
    const struct grid_column *columns;
    size_t column_count;
    char **cells; /* heap strings, row by row */
    enum ink *inks;
    size_t cell_count, capacity;
    bool failed; /* out of memory: rows are missing */
};

void grid_init(struct grid *g, const struct grid_column *columns, size_t count);
void grid_done(struct grid *g);
#define AUTO_GRID __attribute__((cleanup(grid_done)))

/* Adds cells row by row, from left to right. */
void grid_add(struct grid *g, enum ink ink, const char *text);
/* Omits columns with nothing but dashes, except those of rank 0. If cells are missing, `out` fails. */
void grid_write(struct buf *out, const struct page *page, const struct grid *g);
