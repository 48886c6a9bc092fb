/* SPDX-License-Identifier: Apache-2.0
 * A PromQL database's answer about one moment: rows of labels and a value.
 */
#pragma once

#include "base/buf.h"

enum { VECTOR_LABELS = 64 }; /* more in a row are ignored */

struct vector_row {
    struct {
        const char *name, *value;
    } labels[VECTOR_LABELS];
    size_t label_count;
    double value;
    struct str at; /* its time, as text */
};

/* Returns 0 to continue; anything else stops, and vector_read returns it. */
typedef int vector_row_fn(void *user, const struct vector_row *row);

/* Parses in place, which consumes the answer. Skips rows whose value is NaN. 0, or -EBADMSG if it is malformed, possibly after
 * some rows. */
int vector_read(struct buf *answer, vector_row_fn *each, void *user);

/* The same for an answer of /api/v1/series: rows without a value. */
int vector_read_series(struct buf *answer, vector_row_fn *each, void *user);

/* "": no such label. */
const char *vector_label(const struct vector_row *row, const char *name);
