/* SPDX-License-Identifier: Apache-2.0
 * Series of leases: what is held on each GPU, and how many wait.
 */

#include "base/cleanup.h"
#include "format/lease.h"
#include "format/prometheus/prometheus.h"

enum lease_series { SERIES_HELD, SERIES_BYTES, LEASE_SERIES };

static void lease_on_gpu(struct buf *out, bool *headed, enum lease_series series, const struct gpu *card,
                         const struct gpu *instance, const struct lease *l)
{
    const struct gpu *gpu = instance ? instance : card;
    if (l->state != LEASE_ACTIVE || lease_gpu_at(l, gpu_id_key(&gpu->id)) < 0 || (series == SERIES_BYTES && !l->mem_bytes))
        return;
    prometheus_head_once(out, headed, series == SERIES_HELD ? "gpu_lease_held" : "gpu_lease_memory_bytes", "gauge",
                         series == SERIES_HELD ? "1 for each lease on the GPU" : "Memory of the GPU that the lease has");
    buf_text(out, series == SERIES_HELD ? "gpu_lease_held{" : "gpu_lease_memory_bytes{");
    prometheus_gpu_labels(out, card, instance);
    prometheus_label(out, false, "lease", l->id);
    prometheus_label(out, false, "kind", lease_kind_name(l->kind));
    prometheus_label(out, false, "user", l->user);
    buf_char(out, '}');
    prometheus_value(out, series == SERIES_HELD ? 1 : (double)l->mem_bytes);
}

static void lease_count_line(struct buf *out, const char *name, const char *help, size_t count)
{
    bool headed = false;
    prometheus_head_once(out, &headed, name, "gauge", help);
    buf_text(out, name);
    prometheus_value(out, (double)count);
}

void prometheus_leases(struct buf *out, const struct snapshot *s, const struct lease_list *list)
{
    size_t waiting = 0, idle = 0;
    for (int series = 0; series < LEASE_SERIES; series++) {
        bool headed = false;
        for (size_t g = 0; g < s->gpu_count; g++)
            for (size_t i = 0; i < list->count; i++) {
                const struct gpu *card = &s->gpus[g];
                lease_on_gpu(out, &headed, (enum lease_series)series, card, NULL, &list->at[i]);
                for (size_t k = 0; k < card->instance_count; k++)
                    lease_on_gpu(out, &headed, (enum lease_series)series, card, &card->instances[k], &list->at[i]);
            }
    }
    for (size_t i = 0; i < list->count; i++) {
        waiting += list->at[i].state == LEASE_WAITING;
        idle += list->at[i].state == LEASE_ACTIVE && list->at[i].idle_since.ms;
    }
    lease_count_line(out, "gpu_lease_waiting", "Leases that wait for room", waiting);
    lease_count_line(out, "gpu_lease_idle", "Reservations on which nothing has run for lease.idle_minutes", idle);
}
