/* SPDX-License-Identifier: Apache-2.0
 * How a row of samples stores its time and subject. SQLite packs both into one key (series.h). PostgreSQL has a column for each, a
 * timestamp and an ID, so that `recorded_at >= ...` finds the partitions and the rows in them, and IDs never run out.
 */
#pragma once

#include "store/db/db.h"
#include "store/series.h"

#define LATEST_MS ((1LL << 43) - 1) /* in the year 2248: the limit of keys and cursors */

/* Clamps a time parameter: a query for all of time must not overflow. */
static inline int64_t raw_parameter(int64_t ms)
{
    return ms < 0 ? 0 : ms > LATEST_MS ? LATEST_MS : ms;
}

/* SQL fragments. Parameters are milliseconds since 1970. */
struct raw_words {
    const char *ms, *subject; /* of a row */
    const char *time;         /* sort key for the rows of one subject */
    const char *order;        /* sort key for those of all subjects */
    const char *span;         /* from $1, before $2 */
};

const struct raw_words *raw_words(enum db_kind kind, enum series series);

/* The highest ID of a GPU or host: 14 bits in SQLite's keys; on a server it must fit into a cursor. */
int64_t subject_max(enum db_kind kind);
