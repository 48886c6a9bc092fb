/* SPDX-License-Identifier: Apache-2.0
 * The columns come from the metric tables; values that never change while a GPU runs are stored as facts instead (see facts in
 * schema.c).
 */
#include "store/series.h"

#include <string.h>

#include "base/cleanup.h"

/* The varying metrics, in table order. */
static const enum metric gpu_metrics[] = {
#define COLUMN_STATIC(field)
#define COLUMN_FAST(field) METRIC_##field,
#define COLUMN_PROCESS(field) METRIC_##field,
#define COLUMN_SLOW(field) METRIC_##field,
#define COLUMN_RARE(field) METRIC_##field,
#define METRIC(field, group, ...) COLUMN_##group(field)
#include "model/metrics.def"
#undef METRIC
};
_Static_assert(ARRAY_LEN(gpu_metrics) <= SERIES_COLUMNS_MAX, "more metrics than columns");

static const enum host_metric host_metrics[] = {
#undef COLUMN_FAST
#define COLUMN_FAST(field) HOST_METRIC_##field,
#define HOST_METRIC(field, group, ...) COLUMN_##group(field)
#include "model/host_metrics.def"
#undef HOST_METRIC
};
_Static_assert(ARRAY_LEN(host_metrics) <= SERIES_COLUMNS_MAX, "more metrics than columns");

/* Units that exceed 32 bits: bytes, millijoules, microseconds, counters, pages. */
static bool needs_64_bits(const struct metric_info *m)
{
    struct str name = str_from(m->field);
    return m->type == TYPE_COUNTER || str_contains(name, "bytes") || str_contains(name, "pages") || str_ends(name, "_mj") ||
           str_ends(name, "_us");
}

size_t series_count(enum series series)
{
    return series == SERIES_GPU ? ARRAY_LEN(gpu_metrics) : ARRAY_LEN(host_metrics);
}

struct series_column series_column(enum series series, size_t column)
{
    const struct metric_info *m =
        series == SERIES_GPU ? &metric_table[gpu_metrics[column]] : &host_metric_table[host_metrics[column]];
    return (struct series_column){
        .name = m->field, .json = m->json, .scale = m->json_scale, .bits = m->kind == KIND_THROTTLE, .wide = needs_64_bits(m)};
}

int series_find(enum series series, const char *name)
{
    for (size_t i = 0; i < series_count(series); i++) {
        struct series_column c = series_column(series, i);
        if (strcmp(c.json, name) == 0 || strcmp(c.name, name) == 0)
            return (int)i;
    }
    return -1;
}

const struct reading *series_readings(enum series series, const void *subject)
{
    return series == SERIES_GPU ? ((const struct gpu *)subject)->metric : ((const struct host *)subject)->metric;
}

size_t series_place(enum series series, size_t column)
{
    return series == SERIES_GPU ? (size_t)gpu_metrics[column] : (size_t)host_metrics[column];
}

const char *series_table(enum series series, enum level level)
{
    static const char *const names[SERIES_COUNT][LEVEL_COUNT] = {
        [SERIES_GPU] = {"samples", "minutes", "hours"},
        [SERIES_HOST] = {"host_samples", "host_minutes", "host_hours"},
    };
    return names[series][level];
}

int64_t level_ms(enum level level)
{
    static const int64_t ms[] = {1, 60000, 3600000};
    return ms[level];
}

void aggregate_join(struct aggregate *a, const struct series_column *column, const struct aggregate *other)
{
    if (other->count == 0)
        return;
    if (a->count == 0) {
        *a = *other;
        return;
    }
    a->sum += other->sum;
    a->count += other->count;
    if (column->bits) {
        a->min &= other->min;
        a->max |= other->max;
    } else {
        a->min = MIN_OF(a->min, other->min);
        a->max = MAX_OF(a->max, other->max);
    }
}
