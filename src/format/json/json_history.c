/* SPDX-License-Identifier: Apache-2.0
 * Stats rows (section C): stored ones in the shape of the live ones.
 */
#include "base/units.h"
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

/* ---- of a snapshot ---- */

void json_stats_row(struct json_writer *j, const struct snapshot *s, const struct gpu *gpu, const char *time_key)
{
    jw_object(j);
    jw_key_int(j, "gpu_index", gpu->index);
    jw_key_text(j, "gpu_name", gpu->id.name[0] ? gpu->id.name : "unknown GPU");
    json_scaled_float(j, "temperature_celsius", gpu->temp_mdegc, 1e-3);
    json_scaled_float(j, "power_watts", gpu->power_mw, 1e-3);
    json_scaled_float(j, "memory_used_mb", gpu->mem_used_bytes, PER_MIB);
    json_scaled_float(j, "memory_total_mb", gpu->mem_total_bytes, PER_MIB);
    json_scaled_float(j, "gpu_utilization_percent", gpu->util_permille, 0.1);
    json_scaled_float(j, "memory_utilization_percent", gpu->mem_util_permille, 0.1);
    json_time(j, time_key, s->taken_at);
    json_words(j, "gpu_uuid", gpu->id.uuid);
    jw_key_bool(j, "simulated", gpu->simulated);
    jw_end(j);
}

void json_stats(struct json_writer *j, const struct snapshot *s, int only)
{
    int64_t count = 0;
    jw_object(j);
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < s->gpu_count; i++) {
        if ((only != ALL_GPUS && only != (int)i) || gpu_is_unread(&s->gpus[i]))
            continue;
        json_stats_row(j, s, &s->gpus[i], "recorded_at");
        count++;
    }
    jw_end(j);
    jw_key_int(j, "count", count);
    jw_end(j);
}
