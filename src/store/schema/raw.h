/* SPDX-License-Identifier: Apache-2.0
 * How a row of samples says when and whose it is. SQLite packs both into one key (series.h). PostgreSQL has a column each, a
 * timestamp and a number, so that `recorded_at >= ...` finds the tables of the days and the rows in them, and no number runs out.
 */
#pragma once

#include "store/db/db.h"
#include "store/series.h"

#define LATEST_MS ((1LL << 43) - 1) /* in the year 2248: what keys and cursors can hold */

/* A parameter: a query for all of time gets no more than that. */
static inline int64_t raw_parameter(int64_t ms)
{
    return ms < 0 ? 0 : ms > LATEST_MS ? LATEST_MS : ms;
}

/* Text for statements. Parameters are milliseconds since 1970. */
struct raw_words {
    const char *ms, *subject; /* of a row */
    const char *time;         /* what to sort one subject's rows by; */
    const char *order;        /* those of all */
    const char *span;         /* from $1 up to and without $2 */
};

const struct raw_words *raw_words(enum db_kind kind, enum series series);

/* Numbers of GPUs and hosts: 14 bits in SQLite's keys; a server's must fit into a cursor. */
int64_t subject_max(enum db_kind kind);
