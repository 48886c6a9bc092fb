/* SPDX-License-Identifier: Apache-2.0
 * The SQL of raw.h.
 */
#include "store/schema/raw.h"

#define SERVER_MS "CAST(EXTRACT(EPOCH FROM recorded_at) * 1000 AS BIGINT)"
#define SERVER_TIME(parameter) "to_timestamp(CAST(" parameter " AS BIGINT) / 1000.0)"
#define SERVER_SPAN "recorded_at >= " SERVER_TIME("$1") " AND recorded_at < " SERVER_TIME("$2")

const struct raw_words *raw_words(enum db_kind kind, enum series series)
{
    static const struct raw_words file = {"(id >> 14)", "(id & 16383)", "id", "id", "id >= ($1 << 14) AND id < ($2 << 14)"};
    static const struct raw_words server[SERIES_COUNT] = {
        [SERIES_GPU] = {SERVER_MS, "gpu_id", "recorded_at", "recorded_at, gpu_id", SERVER_SPAN},
        [SERIES_HOST] = {SERVER_MS, "host_id", "recorded_at", "recorded_at, host_id", SERVER_SPAN},
    };
    _Static_assert(SUBJECT_BITS == 14, "the words have it as a number");
    return kind == DB_SQLITE ? &file : &server[series];
}

int64_t subject_max(enum db_kind kind)
{
    return kind == DB_SQLITE ? SUBJECT_MAX : CURSOR_SUBJECT_MAX;
}
