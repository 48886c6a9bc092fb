/* SPDX-License-Identifier: Apache-2.0
 * Stats rows (section C): stored ones in the shape of the live ones.
 */
#include "format/json/json.h"
#include "format/json/told.h"

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

/* A row of the table `gpu_stats`, live or stored. */
struct told_stats {
    int gpu_index;
    const char *gpu_name, *gpu_uuid, *host;
    struct reading values[STATS_COLUMNS];
    struct wall at;
    bool simulated;
};

ANSWER_TABLE(values_answer, struct told_stats)
{
    for (size_t i = 0; i < STATS_COLUMNS; i++)
        /* Thousandths of the column's unit preserve the fraction of a mean. */
        FIELD(READING, stats[i].key, values[i], NULL, POINT,
              SCALE(series_column(SERIES_GPU, (size_t)series_find(SERIES_GPU, stats[i].column)).scale / 1000));
}

ANSWER_TABLE(head_answer, struct told_stats)
{
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(WORD, "gpu_name", gpu_name, NULL);
    KEYS(values_answer);
    FIELD(WORD, "gpu_uuid", gpu_uuid, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
}

SHARED_ANSWER_TABLE(live_stats_answer, struct told_stats, .name = "LiveStatsRow")
{
    KEYS(head_answer);
    FIELD(MOMENT, "timestamp", at, NULL);
}

ANSWER_TEST(has_host, struct told_stats, of->host);

ANSWER_TABLE(row_answer, struct told_stats, .name = "StatsRow", .about = "The row that is served, broadcast and stored")
{
    KEYS(head_answer);
    FIELD(MOMENT, "recorded_at", at, NULL);
    FIELD(WORD, "host", host, "Of a stored row", WHEN(has_host), MAYBE);
}

/* ---- stored ---- */

static struct told_stats told_stored(const struct store_gpu *gpu, int index, struct wall at)
{
    return (struct told_stats){.gpu_index = index,
                               .gpu_name = gpu->identity.name[0] ? gpu->identity.name : "unknown GPU",
                               .gpu_uuid = gpu->identity.uuid,
                               .host = gpu->host,
                               .at = at,
                               .simulated = gpu->simulated};
}

static struct reading in_thousandths(struct reading r)
{
    return r.state == READING_OK ? reading_ok(r.value * 1000) : r;
}

void json_history_row(struct json_writer *j, const struct store_row *row)
{
    struct told_stats told = told_stored(row->gpu, row->gpu_index, row->at);
    for (size_t i = 0; i < STATS_COLUMNS; i++)
        told.values[i] = in_thousandths(row->values[i]);
    answer_write(j, &row_answer, &told, NULL);
}

void json_history_point(struct json_writer *j, const struct store_gpu *gpu, struct wall at,
                        const struct aggregate values[STATS_COLUMNS])
{
    struct told_stats told = told_stored(gpu, gpu->index, at);
    for (size_t i = 0; i < STATS_COLUMNS; i++)
        if (values[i].count)
            told.values[i] = reading_ok(values[i].sum * 1000 / values[i].count);
    answer_write(j, &row_answer, &told, NULL);
}

SHARED_ANSWER_TABLE(stats_history_answer, struct told_page, .name = "StatsHistory", .about = "Stored rows, oldest first")
{
    WRITTEN("rows", list, row_answer, NULL);
    FIELD(INT, "count", count, "Rows of this page");
    FIELD(TEXT, "next_cursor", next_cursor, "null on the last page", OR_NULL);
}

/* ---- of a snapshot ---- */

static struct told_stats told_live(const struct snapshot *s, const struct gpu *gpu)
{
    return (struct told_stats){.gpu_index = gpu->index,
                               .gpu_name = gpu->id.name[0] ? gpu->id.name : "unknown GPU",
                               .gpu_uuid = gpu->id.uuid,
                               .at = s->taken_at,
                               .simulated = gpu->simulated,
                               .values = {in_thousandths(gpu->temp_mdegc), in_thousandths(gpu->power_mw),
                                          in_thousandths(gpu->mem_used_bytes), in_thousandths(gpu->mem_total_bytes),
                                          in_thousandths(gpu->util_permille), in_thousandths(gpu->mem_util_permille)}};
}

void json_live_stats(struct json_writer *j, const struct snapshot *s, const struct gpu *gpu)
{
    struct told_stats told = told_live(s, gpu);
    answer_write(j, &live_stats_answer, &told, NULL);
}

struct told_all_stats {
    const struct snapshot *s;
    int only;
    size_t count;
    struct told_stats row; /* the one being written */
};

static bool has_row(const struct told_all_stats *told, size_t i)
{
    return (told->only == ALL_GPUS || told->only == (int)i) && !gpu_is_unread(&told->s->gpus[i]);
}

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    struct told_all_stats *told = at->context;
    for (; step->at < told->s->gpu_count; step->at++)
        if (has_row(told, step->at)) {
            told->row = told_live(told->s, &told->s->gpus[step->at++]);
            return &told->row;
        }
    return NULL;
}

SHARED_ANSWER_TABLE(stats_answer, struct told_all_stats, .name = "Stats", .about = "The latest row of each GPU")
{
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(row_answer));
    FIELD(INT, "count", count, NULL);
}

void json_stats(struct json_writer *j, const struct snapshot *s, int only)
{
    struct told_all_stats told = {.s = s, .only = only};
    for (size_t i = 0; i < s->gpu_count; i++)
        told.count += has_row(&told, i);
    answer_write(j, &stats_answer, &told, &told);
}
