/* SPDX-License-Identifier: Apache-2.0
 * Runs the query tables: makes each call whose metrics are wanted, turns return codes into reasons for absence, and remembers
 * refusals per card. Knows nothing about the meaning of calls.
 */
#include "source/nvml/internal.h"

#include <string.h>

#include "base/cleanup.h"

bool nvml_is_final(int code)
{
    switch (code) {
    case NVML_NOT_SUPPORTED:
    case NVML_FUNCTION_NOT_FOUND:
    case NVML_INVALID_ARGUMENT: /* the answer for nonexistent links, sensors and clocks */
    case NVML_ARGUMENT_VERSION_MISMATCH:
    case NVML_DEPRECATED:
    case NVML_VGPU_ECC_NOT_SUPPORTED:
    case NVML_NO_PERMISSION: return true;
    default: return false;
    }
}

bool nvml_is_trouble(int code)
{
    return code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED || code == NVML_GPU_NOT_FOUND || code == NVML_UNINITIALIZED;
}

enum reading_state nvml_reading_state(int code)
{
    if (code == NVML_OK)
        return READING_OK;
    if (code == NVML_NO_PERMISSION)
        return READING_DENIED;
    return nvml_is_final(code) || code == NVML_NOT_FOUND ? READING_UNSUPPORTED : READING_FAILED;
}

static int nvml_query_ask(struct nvml *n, struct nvml_card *card, const struct nvml_query *q, int64_t *values)
{
    if (q->shape == SHAPE_OWN)
        return q->ask(n, card, q->kind, values);
    union {
        void *any;
        int (*plain)(nvml_device, unsigned *);
        int (*kind)(nvml_device, int, unsigned *);
        int (*two)(nvml_device, unsigned *, unsigned *);
    } call;
    memcpy(&call, (const char *)&n->lib + q->slot, sizeof call);
    if (!call.any)
        return NVML_FUNCTION_NOT_FOUND;

    unsigned first = 0, second = 0;
    int code = q->shape == SHAPE_PLAIN  ? call.plain(card->handle, &first)
               : q->shape == SHAPE_KIND ? call.kind(card->handle, q->kind, &first)
                                        : call.two(card->handle, &first, &second);
    values[0] = (int64_t)first * q->scale;
    values[1] = (int64_t)second * q->scale;
    return code;
}

/* True if the card still answers. */
static bool run_one(struct nvml *n, struct nvml_card *card, const struct nvml_query *q, int *refused, struct gpu *out)
{
    int64_t values[QUERY_VALUES_MAX] = {0};
    int code = *refused ? *refused : nvml_query_ask(n, card, q, values);
    if (nvml_is_trouble(code)) {
        card_fail(n, card, code);
        return false;
    }
    if (nvml_is_final(code))
        *refused = code;
    for (int i = 0; i < q->count; i++)
        out->metric[q->metrics[i]] = code != NVML_OK             ? reading_absent(nvml_reading_state(code))
                                     : values[i] == QUERY_ABSENT ? reading_absent(READING_UNSUPPORTED)
                                                                 : reading_ok(values[i]);
    return true;
}

/* A caller that only decides skips the rest: each call costs up to a millisecond of CPU. */
static bool is_needed(enum metric metric, unsigned groups)
{
    if (!(groups & GROUP_LEAN) || (metric_table[metric].group & GROUP_STATIC))
        return true;
    switch (metric) {
    case METRIC_energy_mj:
    case METRIC_mem_total_bytes:
    case METRIC_temp_mdegc: return true;
    case METRIC_util_permille:
    case METRIC_power_mw: return groups & GROUP_SLOW;
    case METRIC_ecc_corrected:
    case METRIC_ecc_uncorrected:
    case METRIC_remapped_rows_corrected: return true;
    default: return false;
    }
}

/* Useless for judging a single look, and a quarter of its cost. */
static bool is_optional_for_one_look(enum metric metric)
{
    switch (metric) {
    case METRIC_clock_sm_max_khz:
    case METRIC_clock_video_max_khz:
    case METRIC_clock_boost_max_khz:
    case METRIC_clock_app_graphics_khz:
    case METRIC_clock_app_memory_khz:
    case METRIC_clock_app_graphics_default_khz:
    case METRIC_clock_app_memory_default_khz:
    case METRIC_energy_mj: return true;
    default: return false;
    }
}

/* The margin costs over a millisecond of CPU and follows the temperature: while that is unchanged, query it with the rare group
 * only. */
static bool reuse_margin(struct nvml_card *card, unsigned groups, struct gpu *out)
{
    const struct reading temp = out->temp_mdegc;
    if ((groups & (GROUP_STATIC | GROUP_RARE)) || !(groups & GROUP_FAST) || temp.state != READING_OK ||
        card->margin.state != READING_OK || card->margin_temp.state != READING_OK || card->margin_temp.value != temp.value)
        return false;
    out->temp_margin_mdegc = card->margin;
    return true;
}

static void leave_out(const struct nvml_query *q, struct gpu *out)
{
    for (int i = 0; i < q->count; i++)
        out->metric[q->metrics[i]] = reading_absent(READING_PENDING);
}

static bool run_table(struct nvml *n, struct nvml_card *card, const struct nvml_query *table, size_t count, int *refused,
                      unsigned groups, struct gpu *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!(metric_table[table[i].metrics[0]].group & groups) || !is_needed(table[i].metrics[0], groups))
            continue;
        if (!card->sampled && (groups & GROUP_PAST) && is_optional_for_one_look(table[i].metrics[0]))
            leave_out(&table[i], out);
        else if (table[i].metrics[0] == METRIC_temp_margin_mdegc && reuse_margin(card, groups, out))
            continue;
        else if (!run_one(n, card, &table[i], &refused[i], out))
            return false;
    }
    return true;
}

bool query_run(struct nvml *n, struct nvml_card *card, unsigned groups, struct gpu *out)
{
    /* An administrator may grant permissions: retry those refusals with the static group. */
    if (groups & GROUP_STATIC)
        for (size_t i = 0; i < ARRAY_LEN(card->refused_query); i++)
            if (card->refused_query[i] == NVML_NO_PERMISSION)
                card->refused_query[i] = NVML_OK;
    if (!run_table(n, card, query_fast, query_fast_count, card->refused_query, groups, out) ||
        !run_table(n, card, query_slow, query_slow_count, card->refused_query + NVML_FAST_MAX, groups, out))
        return false;
    if ((groups & GROUP_SLOW) && !(groups & GROUP_LEAN)) {
        card->margin = out->temp_margin_mdegc;
        card->margin_temp = groups & GROUP_FAST ? out->temp_mdegc : reading_absent(READING_PENDING);
    }
    return true;
}

static void describe_table(const struct nvml *n, const struct nvml_query *table, size_t count, const int *refused, struct buf *out)
{
    for (size_t i = 0; i < count; i++)
        for (int m = 0; refused[i] && m < table[i].count; m++)
            buf_printf(out, "  %s: %s\n", metric_table[table[i].metrics[m]].json, nvml_words(&n->lib, refused[i]));
}

void query_describe(const struct nvml *n, const struct nvml_card *card, struct buf *out)
{
    describe_table(n, query_fast, query_fast_count, card->refused_query, out);
    describe_table(n, query_slow, query_slow_count, card->refused_query + NVML_FAST_MAX, out);
}
