/* SPDX-License-Identifier: Apache-2.0
 * Series of capacity: one per GPU and per MIG instance.
 */
#include <string.h>

#include "base/cleanup.h"
#include "format/capacity.h"
#include "format/prometheus/prometheus.h"

static struct reading value_of(const struct capacity_gpu *gpu, size_t series)
{
    const struct reading values[] = {gpu->available_bytes, reading_ok(gpu->reserve_bytes), gpu->reclaimable_bytes,
                                     gpu->least_hour_bytes, gpu->least_day_bytes};
    return values[series];
}

void prometheus_capacity(struct buf *out, const struct snapshot *s, const struct capacity *c)
{
    static const struct {
        const char *name, *help, *window;
    } series[] = {
        {"gpu_memory_available_bytes", "Memory available now: free, minus the reserve", NULL},
        {"gpu_memory_desktop_reserve_bytes", "Memory that is to stay free for the desktop and others", NULL},
        {"gpu_memory_reclaimable_bytes", "Memory held by workers that the guard could evict", NULL},
        {"gpu_memory_free_least_bytes", "Memory that was free at least, over the last hour and day", "1h"},
        {"gpu_memory_free_least_bytes", "Memory that was free at least, over the last hour and day", "24h"},
    };
    bool headed = false;
    for (size_t n = 0; n < ARRAY_LEN(series); n++) {
        headed = headed && n && strcmp(series[n - 1].name, series[n].name) == 0;
        for (size_t i = 0; i < c->gpu_count; i++) {
            const struct capacity_gpu *gpu = &c->gpus[i];
            const struct gpu *card = snapshot_gpu(s, gpu->index);
            struct reading value = value_of(gpu, n);
            if (value.state != READING_OK || !card || (gpu->instance >= 0 && (size_t)gpu->instance >= card->instance_count))
                continue;
            prometheus_head_once(out, &headed, series[n].name, "gauge", series[n].help);
            buf_printf(out, "%s{", series[n].name);
            prometheus_gpu_labels(out, card, gpu->instance >= 0 ? &card->instances[gpu->instance] : NULL);
            if (series[n].window)
                prometheus_label(out, false, "window", series[n].window);
            buf_char(out, '}');
            prometheus_value(out, (double)value.value);
        }
    }
}
