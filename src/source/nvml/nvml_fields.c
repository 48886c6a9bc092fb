/* SPDX-License-Identifier: Apache-2.0
 * Metrics by NVML field ID, many in one call; and traffic rates from byte counters on cards without GPM.
 */
#include "source/nvml/internal.h"

#include <math.h>

#include "base/cleanup.h"

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
static bool to_integer(const struct nvml_field_value *v, int64_t *ret)
{
    switch (v->type) {
    case NVML_VALUE_DOUBLE:
        if (!isfinite(v->value.d) || fabs(v->value.d) > 9e18)
            return false;
        *ret = (int64_t)v->value.d;
        return true;
    case NVML_VALUE_UINT: *ret = v->value.ui; return true;
    case NVML_VALUE_ULONG: *ret = (int64_t)v->value.ul; return true;
    case NVML_VALUE_ULONGLONG: *ret = (int64_t)v->value.ull; return true;
    case NVML_VALUE_LONGLONG: *ret = v->value.sll; return true;
    case NVML_VALUE_INT: *ret = v->value.si; return true;
    case NVML_VALUE_USHORT: *ret = v->value.us; return true;
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
    if (code == NVML_OK && !to_integer(&v[0], &ret[0]))
        code = NVML_UNKNOWN;
    if (beside && (code != NVML_OK || v[1].result != NVML_OK || !to_integer(&v[1], &ret[1])))
        ret[1] = QUERY_ABSENT;
    return code;
}

static struct reading row_reading(const struct field_row *row, const struct nvml_field_value *v)
{
    int64_t value;
    if (v->result != NVML_OK)
        return reading_absent(nvml_reading_state(v->result));
    if (!to_integer(v, &value) || value > row->most / row->multiply)
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
    if (v->result == NVML_OK && to_integer(v, &value)) {
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

    int code = n->lib.fields ? n->lib.fields(card->handle, (int)count, values) : NVML_FUNCTION_NOT_FOUND;
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
