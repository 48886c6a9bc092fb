/* SPDX-License-Identifier: Apache-2.0
 * What a scrape costs here: 8 GPUs with every reading and 100 processes, as Prometheus text with the labels of all series, and
 * as OpenMetrics.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "figure.h"
#include "format/prometheus/prometheus.h"

enum { GPUS = 8, PROCESSES = 100, ROUNDS = 200 };
#define LIMIT_MS 1.0

static struct snapshot *make_host(void)
{
    struct snapshot *s = snapshot_new(GPUS);
    if (!s)
        return NULL;
    snprintf(s->host.name, sizeof s->host.name, "gpu-host-17");
    for (size_t m = 0; m < HOST_METRIC_COUNT; m++)
        s->host.metric[m] = reading_ok(12345);
    for (int i = 0; i < GPUS; i++) {
        struct gpu *g = &s->gpus[i];
        g->index = i;
        snprintf(g->id.uuid, sizeof g->id.uuid, "GPU-05411eb7-075c-4e4d-9a84-be9dbf09ff%02x", i);
        snprintf(g->id.name, sizeof g->id.name, "NVIDIA H100 80GB HBM3");
        for (size_t m = 0; m < METRIC_COUNT; m++)
            g->metric[m] = reading_ok((int64_t)(1000003 * (m + 1) + 17 * (size_t)i));
        g->processes_state = READING_OK;
    }
    for (int i = 0; i < PROCESSES; i++) {
        struct process *p = gpu_add_process(&s->gpus[i % GPUS], 4000 + i);
        if (!p)
            return s;
        snprintf(p->name, sizeof p->name, "python3-%d", i);
        snprintf(p->user, sizeof p->user, "user%d", i % 10);
        snprintf(p->container_name, sizeof p->container_name, "team/train-%d/worker", i);
        for (size_t m = 0; m < PROCESS_METRIC_COUNT; m++)
            p->metric[m] = reading_ok(1000 + i);
    }
    return s;
}

static double round_ms(const struct snapshot *s, size_t *bytes)
{
    struct mono start = clock_mono(&clock_system);
    AUTO_BUF struct buf text = BUF(PROMETHEUS_MAX);
    AUTO_BUF struct buf labelled = BUF(PROMETHEUS_MAX);
    AUTO_BUF struct buf open = BUF(PROMETHEUS_MAX);
    prometheus_write(&text, s, NULL);
    prometheus_add_labels(buf_view(&text), s->host.name, NULL, &labelled);
    openmetrics_from_prometheus(buf_view(&labelled), &open);
    *bytes = open.len;
    return (double)(clock_mono(&clock_system).ns - start.ns) / 1e6;
}

int main(void)
{
    struct snapshot *s = make_host();
    if (!s)
        return 1;
    size_t bytes = 0, lines = 0;
    double best = 1e9, sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double ms = round_ms(s, &bytes);
        best = MIN_OF(best, ms);
        sum += ms;
    }
    AUTO_BUF struct buf text = BUF(PROMETHEUS_MAX);
    prometheus_write(&text, s, NULL);
    for (size_t i = 0; i < text.len; i++)
        lines += text.at[i] == '\n' && i + 1 < text.len && text.at[i + 1] != '#';
    snapshot_unref(s);
    printf("a scrape of %d GPUs and %d processes: %zu series, %zu bytes, best %.3f ms, mean %.3f ms (limit %.1f ms)%s\n", GPUS,
           PROCESSES, lines, bytes, best, sum / ROUNDS, LIMIT_MS, best <= LIMIT_MS ? "" : "   OVER THE LIMIT");
    return figure("CPU of a scrape of /metrics, 8 GPUs and 100 processes", best, "ms", false, LIMIT_MS, "") ? 0 : 1;
}
