/* SPDX-License-Identifier: Apache-2.0
 * A host's GPUs in a few series: a database can answer for a thousand hosts without reading eight series of each.
 */
#include <inttypes.h>

#include "format/prometheus/prometheus.h"

#include "model/finding.h"
#include "model/finding_code.h"

/* Identifies the set of GPUs, in any order: differs between two hosts with the same name. */
static uint64_t set_of(const struct snapshot *s)
{
    uint64_t all = 0;
    for (size_t i = 0; i < s->gpu_count; i++) {
        uint64_t h = 14695981039346656037ULL;
        for (const char *c = s->gpus[i].id.uuid; *c; c++)
            h = (h ^ (unsigned char)*c) * 1099511628211ULL;
        all += h;
    }
    return all;
}

static bool is_held_idle(const struct snapshot *s, int index)
{
    for (size_t i = 0; s->verdict && i < s->verdict->count; i++) {
        const struct finding *f = &s->verdict->findings[i];
        if (f->gpu_index == index && (f->code == FINDING_CONTEXT_HELD || f->code == FINDING_VRAM_HELD) && f->since.ms &&
            s->taken_at.ms - f->since.ms >= f->hold_ms)
            return true;
    }
    return false;
}

struct host_sums {
    int64_t judged, util, util_known, used, total, power, held, hottest;
    bool has_used, has_total, has_power, has_hottest;
};

static void add_gpu(struct host_sums *sums, const struct snapshot *s, const struct gpu *gpu)
{
    int64_t value;
    sums->judged += s->verdict && verdict_first(s->verdict, gpu->index);
    if (reading_get(gpu->util_permille, &value)) {
        sums->util += value;
        sums->util_known++;
    }
    if (reading_get(gpu->mem_used_bytes, &value)) {
        sums->used += value;
        sums->has_used = true;
        sums->held += is_held_idle(s, gpu->index) ? value : 0;
    }
    if (reading_get(gpu->mem_total_bytes, &value)) {
        sums->total += value;
        sums->has_total = true;
    }
    if (reading_get(gpu->power_mw, &value)) {
        sums->power += value;
        sums->has_power = true;
    }
    if (reading_get(gpu->temp_mdegc, &value) && (!sums->has_hottest || value > sums->hottest)) {
        sums->hottest = value;
        sums->has_hottest = true;
    }
}

static void sum_series(struct buf *out, bool known, const char *name, const char *help, double value)
{
    if (!known)
        return;
    prometheus_head(out, name, "gauge", help);
    buf_text(out, name);
    prometheus_value(out, value);
}

void prometheus_host_sums(struct buf *out, const struct snapshot *s)
{
    struct host_sums sums = {0};
    char set[24];
    for (size_t i = 0; i < s->gpu_count; i++)
        add_gpu(&sums, s, &s->gpus[i]);
    snprintf(set, sizeof set, "%016" PRIx64, set_of(s));
    prometheus_head(out, "whirr_host_gpus", "gauge", "GPUs of the host; `set` differs between hosts that share a name");
    buf_text(out, "whirr_host_gpus{");
    prometheus_label(out, true, "set", set);
    buf_char(out, '}');
    prometheus_value(out, (double)s->gpu_count);
    sum_series(out, true, "whirr_host_gpus_judged", "GPUs of the host that have a finding", (double)sums.judged);
    sum_series(out, true, "whirr_host_gpus_with_utilization", "GPUs of the host that report their utilization",
               (double)sums.util_known);
    sum_series(out, sums.util_known, "whirr_host_gpu_utilization_percent", "Mean utilization of the host's GPUs",
               sums.util_known ? (double)sums.util / 10 / (double)sums.util_known : 0);
    sum_series(out, sums.has_used, "whirr_host_gpu_memory_used_bytes", "Memory in use on all GPUs of the host", (double)sums.used);
    sum_series(out, sums.has_total, "whirr_host_gpu_memory_total_bytes", "Memory of all GPUs of the host", (double)sums.total);
    sum_series(out, sums.has_used, "whirr_host_gpu_memory_held_idle_bytes", "Memory in use on GPUs that are held but idle",
               (double)sums.held);
    sum_series(out, sums.has_hottest, "whirr_host_gpu_temperature_celsius", "Temperature of the host's hottest GPU",
               (double)sums.hottest / 1000);
    sum_series(out, sums.has_power, "whirr_host_gpu_power_watts", "Power draw of all GPUs of the host", (double)sums.power / 1000);
}
