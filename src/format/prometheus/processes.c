/* SPDX-License-Identifier: Apache-2.0
 * Processes as Prometheus series: those of the same name, user and container on a GPU are added up, because a series for each
 * pid would grow the database without end.
 */
#include "format/prometheus/prometheus.h"

#include <stdlib.h>

#include "base/cleanup.h"

struct process_sum {
    const struct gpu *gpu;
    const struct process *who;
    int64_t count;
    struct reading metric[PROCESS_METRIC_COUNT];
};

static int by_who(const void *a, const void *b)
{
    const struct process *x = *(const struct process *const *)a, *y = *(const struct process *const *)b;
    int order = strcmp(x->name, y->name);
    order = order ? order : strcmp(x->user, y->user);
    return order ? order : strcmp(x->container, y->container);
}

static void add(struct process_sum *sum, const struct process *p)
{
    sum->count++;
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        if (p->metric[i].state == READING_OK)
            sum->metric[i] = reading_ok(reading_or(sum->metric[i], 0) + p->metric[i].value);
}

/* Returns how many sums were written to `sums`, which has room for one for each process. */
static size_t sum_up(const struct gpu *gpu, struct process_sum *sums)
{
    AUTO_FREE const struct process **sorted = malloc(MAX_OF(gpu->process_count, (size_t)1) * sizeof *sorted);
    if (!sorted)
        return 0;
    for (size_t i = 0; i < gpu->process_count; i++)
        sorted[i] = &gpu->processes[i];
    qsort(sorted, gpu->process_count, sizeof *sorted, by_who);
    size_t count = 0;
    for (size_t i = 0; i < gpu->process_count; i++) {
        if (i == 0 || by_who(&sorted[i - 1], &sorted[i]) != 0)
            sums[count++] = (struct process_sum){.gpu = gpu, .who = sorted[i]};
        add(&sums[count - 1], sorted[i]);
    }
    return count;
}

static void series(struct buf *out, const char *name, const struct process_sum *sum, double value)
{
    buf_printf(out, "%s{", name);
    prometheus_gpu_labels(out, sum->gpu, NULL);
    prometheus_label(out, false, "process", sum->who->name);
    prometheus_label(out, false, "user", sum->who->user);
    prometheus_label(out, false, "container", sum->who->container);
    buf_char(out, '}');
    prometheus_value(out, value);
}

static const struct {
    enum process_metric metric;
    const char *name;
    double scale;
    const char *help;
} exported[] = {
    {PROCESS_METRIC_mem_bytes, "gpu_process_memory_bytes", 1, "Memory of the GPU held by processes of this name"},
    {PROCESS_METRIC_util_permille, "gpu_process_utilization_percent", 0.1, "Share of the GPU's compute units"},
    {PROCESS_METRIC_power_mw, "gpu_process_power_watts", 1e-3, "Part of the GPU's power attributed to these processes"},
};

void prometheus_processes(struct buf *out, const struct snapshot *s)
{
    size_t most = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        most += s->gpus[i].process_count;
    AUTO_FREE struct process_sum *sums = most ? calloc(most, sizeof *sums) : NULL;
    if (!sums)
        return;
    size_t count = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        count += sum_up(&s->gpus[i], sums + count);

    prometheus_head(out, "gpu_processes", "gauge", "Processes of this name on the GPU");
    for (size_t i = 0; i < count; i++)
        series(out, "gpu_processes", &sums[i], (double)sums[i].count);
    for (size_t m = 0; m < ARRAY_LEN(exported); m++) {
        bool first = true;
        for (size_t i = 0; i < count; i++) {
            struct reading r = sums[i].metric[exported[m].metric];
            if (r.state != READING_OK)
                continue;
            if (first)
                prometheus_head(out, exported[m].name, "gauge", exported[m].help);
            first = false;
            series(out, exported[m].name, &sums[i], (double)r.value * exported[m].scale);
        }
    }
}
