/* SPDX-License-Identifier: Apache-2.0
 * The answer of a PromQL database to a question about one moment: rows of labels and a value.
 */
#pragma once

#include "base/buf.h"

enum { VECTOR_LABELS = 64 }; /* more in a row are left out */

struct vector_row {
    struct {
        const char *name, *value;
    } labels[VECTOR_LABELS];
    size_t label_count;
    double value;
};

/* 0 to go on; anything else ends the reading, and is what vector_read gives. */
typedef int vector_row_fn(void *user, const struct vector_row *row);

/* Reads the rows in place: the answer is used up. Rows whose value is no number (NaN) are left out. 0, or -EBADMSG if it is no such
 * answer; then some rows may have been given already. */
int vector_read(struct buf *answer, vector_row_fn *each, void *user);

/* The same of the answer to /api/v1/series: rows without a value. */
int vector_read_series(struct buf *answer, vector_row_fn *each, void *user);

/* "": it has no such label. */
const char *vector_label(const struct vector_row *row, const char *name);
