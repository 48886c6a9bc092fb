/* SPDX-License-Identifier: Apache-2.0
 * Stored rows in the shape of the live ones.
 */
#include "format/json/json.h"

static const struct {
    const char *column, *key;
} stats[STATS_COLUMNS] = {
    {"temp_mdegc", "temperature_celsius"},        {"power_mw", "power_watts"},
    {"mem_used_bytes", "memory_used_mb"},         {"mem_total_bytes", "memory_total_mb"},
    {"util_permille", "gpu_utilization_percent"}, {"mem_util_permille", "memory_utilization_percent"},
};

void json_stats_columns(size_t columns[STATS_COLUMNS])
{
    for (size_t i = 0; i < STATS_COLUMNS; i++)
        columns[i] = (size_t)series_find(SERIES_GPU, stats[i].column);
}

static void history_begin(struct json_writer *j, const struct store_gpu *gpu, int index)
{
    jw_object(j);
    jw_key_int(j, "gpu_index", index);
    jw_key_text(j, "gpu_name", gpu->identity.name[0] ? gpu->identity.name : "unknown GPU");
}

static void end(struct json_writer *j, const struct store_gpu *gpu, struct wall at)
{
    json_time(j, "recorded_at", at);
    json_words(j, "gpu_uuid", gpu->identity.uuid);
    jw_key_bool(j, "simulated", gpu->simulated);
    json_words(j, "host", gpu->host);
    jw_end(j);
}

void json_history_row(struct json_writer *j, const struct store_row *row)
{
    history_begin(j, row->gpu, row->gpu_index);
    for (size_t i = 0; i < STATS_COLUMNS; i++)
        json_scaled_float(j, stats[i].key, row->values[i],
                          series_column(SERIES_GPU, (size_t)series_find(SERIES_GPU, stats[i].column)).scale);
    end(j, row->gpu, row->at);
}

void json_history_point(struct json_writer *j, const struct store_gpu *gpu, struct wall at,
                        const struct aggregate values[STATS_COLUMNS])
{
    history_begin(j, gpu, gpu->index);
    for (size_t i = 0; i < STATS_COLUMNS; i++) {
        struct series_column c = series_column(SERIES_GPU, (size_t)series_find(SERIES_GPU, stats[i].column));
        /* Thousandths of the column's unit preserve the fraction of a mean. */
        struct reading mean = values[i].count ? reading_ok(values[i].sum * 1000 / values[i].count) : reading_absent(READING_UNREAD);
        json_scaled_float(j, stats[i].key, mean, c.scale / 1000);
    }
    end(j, gpu, at);
}
