/* SPDX-License-Identifier: Apache-2.0
 * NPUs and accelerators: the metrics of GPUs under separate names, so that sums of GPUs don't include them.
 */
#include <stdio.h>

#include "format/prometheus/prometheus.h"

static void series(struct buf *out, const char *name, const struct gpu *a, double value)
{
    char number[16];
    snprintf(number, sizeof number, "%d", a->index);
    buf_text(out, name);
    buf_char(out, '{');
    prometheus_label(out, true, "accelerator", number);
    prometheus_label(out, false, "kind", device_kind_name(a->id.kind));
    prometheus_label(out, false, "name", a->id.name);
    prometheus_label(out, false, "pci_address", a->id.pci_address);
    buf_char(out, '}');
    prometheus_value(out, value);
}

void prometheus_accelerators(struct buf *out, const struct snapshot *s)
{
    char name[128];
    for (size_t m = 0; m < METRIC_COUNT; m++) {
        const struct metric_info *info = &metric_table[m];
        bool headed = false;
        if (strncmp(info->prometheus, "gpu_", 4) != 0)
            continue;
        snprintf(name, sizeof name, "accelerator_%s", info->prometheus + 4);
        for (size_t i = 0; i < s->accelerator_count; i++) {
            struct reading r = s->accelerators[i].metric[m];
            if (r.state != READING_OK)
                continue;
            prometheus_head_once(out, &headed, name, info->type == TYPE_COUNTER ? "counter" : "gauge", info->help);
            series(out, name, &s->accelerators[i], (double)r.value * info->prometheus_scale);
        }
    }
    if (s->accelerator_count == 0)
        return;
    prometheus_head(out, "accelerator_up", "gauge",
                    "1 while the NPU or accelerator can be read or sleeps, 0 when it is lost or fails");
    for (size_t i = 0; i < s->accelerator_count; i++)
        series(out, "accelerator_up", &s->accelerators[i],
               s->accelerators[i].state == GPU_OK || s->accelerators[i].state == GPU_ASLEEP);
}
