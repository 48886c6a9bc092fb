/* SPDX-License-Identifier: Apache-2.0
 * Stored rows as JSON.
 */
#pragma once

#include "base/json_writer.h"
#include "store/query.h"

enum { STATS_COLUMNS = 6 };

/* The columns of the StatsRow (section C of the contract), in the order in which json_history_row wants its values. */
void json_stats_columns(size_t columns[STATS_COLUMNS]);
/* A StatsRow from stored values. */
void json_history_row(struct json_writer *j, const struct store_row *row);
/* One that stands for a step: means. */
void json_history_point(struct json_writer *j, const struct store_gpu *gpu, struct wall at,
                        const struct aggregate values[STATS_COLUMNS]);
