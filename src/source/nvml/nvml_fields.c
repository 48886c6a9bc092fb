/* SPDX-License-Identifier: Apache-2.0
 * Values that come with their type: metrics by NVML field ID, many in one call; traffic rates from byte counters on cards without
 * GPM; and the last seconds from the driver's own buffers.
 */
#include "source/nvml/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* ---- Metrics by NVML field ID, many in one call; and traffic rates from byte counters on cards without GPM ---- */

/* field * multiply / divide = metric */
static const struct field_row {
    unsigned field, scope;
    enum metric metric;
    int64_t multiply, divide, most;
} rows[] = {
    {NVML_FIELD_MEMORY_TEMP, 0, METRIC_temp_memory_mdegc, 1000, 1, 250000},
    {NVML_FIELD_POWER_AVERAGE, NVML_SCOPE_MEMORY, METRIC_power_memory_mw, 1, 1, 100000000},
    {NVML_FIELD_POWER_AVERAGE, NVML_SCOPE_MODULE, METRIC_power_module_mw, 1, 1, 100000000},
    {NVML_FIELD_POWER_CURRENT_LIMIT, NVML_SCOPE_MODULE, METRIC_power_module_limit_mw, 1, 1, 100000000},
    {NVML_FIELD_THROTTLE_POWER, 0, METRIC_throttle_power_us, 1, 1000, INT64_MAX},
    {NVML_FIELD_THROTTLE_THERMAL, 0, METRIC_throttle_thermal_us, 1, 1000, INT64_MAX},
    {NVML_FIELD_THROTTLE_SYNC_BOOST, 0, METRIC_throttle_sync_boost_us, 1, 1000, INT64_MAX},
    {NVML_FIELD_PCIE_REPLAY_ROLLOVERS, 0, METRIC_pcie_replay_rollovers, 1, 1, INT64_MAX},
    {NVML_FIELD_RETIRED_SBE, 0, METRIC_retired_pages_sbe, 1, 1, INT64_MAX},
    {NVML_FIELD_RETIRED_DBE, 0, METRIC_retired_pages_dbe, 1, 1, INT64_MAX},
    {NVML_FIELD_RETIRED_PENDING, 0, METRIC_retired_pages_pending, 1, 1, 1},
    {NVML_FIELD_RECOVERY_ACTION, 0, METRIC_recovery_action, 1, 1, 15},
};
static_assert(ARRAY_LEN(rows) <= NVML_FIELDS_MAX, "more fields than a GPU has room for");

/* Byte counters for rates if there is no GPM. */
enum { COUNTER_PCIE_TX, COUNTER_PCIE_RX, COUNTER_NVLINK_TX, COUNTER_NVLINK_RX, COUNTER_COUNT };
static const struct {
    unsigned field, scope, bytes;
    enum metric metric;
} counters[COUNTER_COUNT] = {
    [COUNTER_PCIE_TX] = {NVML_FIELD_PCIE_TX_BYTES, 0, 1, METRIC_pcie_tx_bytes_per_s},
    [COUNTER_PCIE_RX] = {NVML_FIELD_PCIE_RX_BYTES, 0, 1, METRIC_pcie_rx_bytes_per_s},
    [COUNTER_NVLINK_TX] = {NVML_FIELD_NVLINK_DATA_TX, NVML_ALL_LINKS, 1024, METRIC_nvlink_tx_bytes_per_s},
    [COUNTER_NVLINK_RX] = {NVML_FIELD_NVLINK_DATA_RX, NVML_ALL_LINKS, 1024, METRIC_nvlink_rx_bytes_per_s},
};

/* False if no integer can represent the value. */
static bool to_integer(int type, const union nvml_value *v, int64_t *ret)
{
    switch (type) {
    case NVML_VALUE_DOUBLE:
        if (!isfinite(v->d) || fabs(v->d) > 9e18)
            return false;
        *ret = (int64_t)v->d;
        return true;
    case NVML_VALUE_UINT: *ret = v->ui; return true;
    case NVML_VALUE_ULONG: *ret = (int64_t)v->ul; return true;
    case NVML_VALUE_ULONGLONG: *ret = (int64_t)v->ull; return true;
    case NVML_VALUE_LONGLONG: *ret = v->sll; return true;
    case NVML_VALUE_INT: *ret = v->si; return true;
    case NVML_VALUE_USHORT: *ret = v->us; return true;
    default: return false;
    }
}

int field_read(struct nvml *n, struct nvml_card *card, unsigned field, unsigned scope, int64_t *ret)
{
    return field_read_beside(n, card, field, 0, scope, ret);
}

int field_read_beside(struct nvml *n, struct nvml_card *card, unsigned field, unsigned beside, unsigned scope, int64_t *ret)
{
    if (!n->lib.fields)
        return NVML_FUNCTION_NOT_FOUND;
    struct nvml_field_value v[] = {{.field = field, .scope = scope}, {.field = beside, .scope = scope}};
    int code = n->lib.fields(card->handle, beside ? 2 : 1, v);
    if (code == NVML_OK)
        code = v[0].result;
    if (code == NVML_OK && !to_integer(v[0].type, &v[0].value, &ret[0]))
        code = NVML_UNKNOWN;
    if (beside && (code != NVML_OK || v[1].result != NVML_OK || !to_integer(v[1].type, &v[1].value, &ret[1])))
        ret[1] = QUERY_ABSENT;
    return code;
}

static struct reading row_reading(const struct field_row *row, const struct nvml_field_value *v)
{
    int64_t value;
    if (v->result != NVML_OK)
        return reading_absent(nvml_reading_state(v->result));
    if (!to_integer(v->type, &v->value, &value) || value > row->most / row->multiply)
        return reading_absent(READING_IMPLAUSIBLE);
    return reading_ok(value * row->multiply / row->divide);
}

static struct nvml_counter *counter_of(struct nvml_card *card, size_t i)
{
    struct nvml_counter *const all[COUNTER_COUNT] = {&card->pcie_tx, &card->pcie_rx, &card->nvlink_tx, &card->nvlink_rx};
    return all[i];
}

static struct reading rate(struct nvml_counter *counter, unsigned long long value, struct mono now, unsigned bytes)
{
    struct nvml_counter before = *counter;
    *counter = (struct nvml_counter){.at = now, .value = value, .known = true};
    int64_t ns = now.ns - before.at.ns;
    if (!before.known || value < before.value || ns <= 0)
        return reading_absent(READING_PENDING); /* the first read, or the counter restarted */
    return reading_ok((int64_t)((double)(value - before.value) * bytes * 1e9 / (double)ns));
}

/* A 32-bit counter may wrap several times between samples: it yields no total. */
static void count(struct nvml_card *card, size_t i, int type, struct nvml_counter before, unsigned long long value)
{
    bool wide = type == NVML_VALUE_ULONG || type == NVML_VALUE_ULONGLONG || type == NVML_VALUE_LONGLONG;
    if (wide && before.known && value >= before.value)
        card_count_traffic(card, counters[i].metric, (int64_t)(value - before.value) * counters[i].bytes);
}

/* Only if GPM doesn't provide the same. */
static size_t add_counters(struct nvml_card *card, unsigned groups, struct nvml_field_value *values, unsigned char *which,
                           size_t at)
{
    if (!(groups & GROUP_FAST) || !card->gpm.refused)
        return at;
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        if (counter_of(card, i)->refused)
            continue;
        values[at] = (struct nvml_field_value){.field = counters[i].field, .scope = counters[i].scope};
        which[at++] = (unsigned char)(ARRAY_LEN(rows) + i);
    }
    return at;
}

static void take_counter(struct nvml *n, struct nvml_card *card, size_t i, const struct nvml_field_value *v, struct gpu *out)
{
    struct nvml_counter *counter = counter_of(card, i);
    int64_t value;
    if (v->result == NVML_OK && to_integer(v->type, &v->value, &value)) {
        count(card, i, v->type, *counter, (unsigned long long)value);
        out->metric[counters[i].metric] = rate(counter, (unsigned long long)value, clock_mono(n->env->clock), counters[i].bytes);
        return;
    }
    counter->refused = nvml_is_final(v->result);
    out->metric[counters[i].metric] = reading_absent(nvml_reading_state(v->result));
}

bool fields_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    struct nvml_field_value values[NVML_FIELDS_MAX + COUNTER_COUNT];
    unsigned char which[NVML_FIELDS_MAX + COUNTER_COUNT];
    size_t count = 0;
    bool lean = groups & GROUP_LEAN; /* decisions need only the driver's recommended action */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!(metric_table[rows[i].metric].group & groups) || (lean && rows[i].metric != METRIC_recovery_action))
            continue;
        if (card->refused_field[i]) {
            out->metric[rows[i].metric] = reading_absent(nvml_reading_state(card->refused_field[i]));
            continue;
        }
        values[count] = (struct nvml_field_value){.field = rows[i].field, .scope = rows[i].scope};
        which[count++] = (unsigned char)i;
    }
    count = lean ? count : add_counters(card, groups, values, which, count);
    if (count == 0)
        return true;

    int code = NVML(n, fields, card->handle, (int)count, values);
    for (size_t i = 0; i < count; i++) {
        if (code != NVML_OK)
            values[i].result = code; /* the whole call failed */
        if (nvml_is_trouble(values[i].result)) {
            card_fail(n, card, values[i].result);
            return false;
        }
        if (which[i] >= ARRAY_LEN(rows)) {
            take_counter(n, card, which[i] - ARRAY_LEN(rows), &values[i], out);
            continue;
        }
        const struct field_row *row = &rows[which[i]];
        if (nvml_is_final(values[i].result))
            card->refused_field[which[i]] = values[i].result;
        out->metric[row->metric] = row_reading(row, &values[i]);
    }
    return true;
}

void fields_describe(const struct nvml *n, const struct nvml_card *card, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (card->refused_field[i])
            buf_printf(out, "  %s: %s\n", metric_table[rows[i].metric].json, nvml_words(&n->lib, card->refused_field[i]));
}

/* ---- The last seconds from the driver's own buffers: on an H200, 71 utilization readings over 14 s and 119 power readings
 * over 2.4 s, in 2 ms. A first look then shows as much as a second of watching. ---- */

enum { SAMPLES_MAX = 512, STEP_MS = 500, STEPS = 30 };

/* Sums of the steps, the last of which ends now. */
struct steps {
    int64_t sum[STEPS];
    unsigned count[STEPS];
};

static void take_samples(const struct nvml_sample *samples, unsigned count, int type, int64_t now_us, int64_t most,
                         struct steps *out)
{
    for (unsigned i = 0; i < count; i++) {
        int64_t value, ago_ms = (now_us - (int64_t)samples[i].timestamp) / 1000;
        if (ago_ms < 0 || ago_ms >= (int64_t)STEPS * STEP_MS || !to_integer(type, &samples[i].value, &value) || value < 0 ||
            value > most)
            continue;
        size_t step = STEPS - 1 - (size_t)(ago_ms / STEP_MS);
        out->sum[step] += value;
        out->count[step]++;
    }
}

static void fetch(struct nvml *n, struct nvml_card *card, int what, int64_t now_us, int64_t most, struct nvml_sample *buffer,
                  struct steps *out)
{
    unsigned count = SAMPLES_MAX;
    int type = NVML_VALUE_UINT;
    int64_t since = now_us - (int64_t)STEPS * STEP_MS * 1000;
    if (n->lib.samples(card->handle, what, (unsigned long long)since, &type, &count, buffer) == NVML_OK)
        take_samples(buffer, count < SAMPLES_MAX ? count : SAMPLES_MAX, type, now_us, most, out);
}

static struct reading mean(const struct steps *s, size_t step, int64_t scale)
{
    return s->count[step] ? reading_ok(s->sum[step] * scale / s->count[step]) : reading_absent(READING_UNREAD);
}

void past_run(struct nvml *n, struct nvml_card *card, struct gpu *out)
{
    struct steps load = {0}, power = {0};
    struct wall now = clock_wall(n->env->clock);
    struct nvml_sample *buffer = n->lib.samples && !card->mig_enabled ? malloc(SAMPLES_MAX * sizeof *buffer) : NULL;
    if (!buffer)
        return;
    fetch(n, card, NVML_UTILIZATION_SAMPLES, now.ms * 1000, 100, buffer, &load);
    fetch(n, card, NVML_POWER_SAMPLES, now.ms * 1000, 100000000, buffer, &power);
    free(buffer);
    out->before = calloc(STEPS, sizeof *out->before);
    for (size_t i = 0; out->before && i < STEPS; i++)
        if (load.count[i] || power.count[i])
            out->before[out->before_count++] =
                (struct gpu_moment){.at = {now.ms - (int64_t)(STEPS - 1 - i) * STEP_MS - STEP_MS / 2},
                                    .util_permille = mean(&load, i, 10),
                                    .power_mw = mean(&power, i, 1)};
}
