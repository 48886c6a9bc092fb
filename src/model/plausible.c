/* SPDX-License-Identifier: Apache-2.0
 * One pass over the tables, and the few readings that bound each other.
 */
#include "model/snapshot.h"

#include "base/cleanup.h"

static unsigned drop(struct reading *r)
{
    *r = reading_absent(READING_IMPLAUSIBLE);
    return 1;
}

static unsigned drop_all(struct reading *readings, const struct metric_info *table, size_t count)
{
    unsigned dropped = 0;
    for (size_t i = 0; i < count; i++) {
        if (readings[i].state == READING_OK && !metric_is_plausible(&table[i], readings[i].value))
            dropped += drop(&readings[i]);
        else if (readings[i].state == READING_IMPLAUSIBLE) /* the source itself noticed: the number didn't even fit */
            dropped++;
    }
    return dropped;
}

/* Drivers round, and sample at different moments: tolerate a sixteenth more than the whole. */
static bool exceeds(struct reading part, struct reading whole)
{
    return part.state == READING_OK && whole.state == READING_OK && whole.value > 0 && part.value > whole.value + whole.value / 16;
}

static unsigned drop_excess(struct gpu *gpu)
{
    const struct {
        struct reading *part;
        struct reading whole;
    } pairs[] = {
        {&gpu->mem_used_bytes, gpu->mem_total_bytes},     {&gpu->mem_free_bytes, gpu->mem_total_bytes},
        {&gpu->mem_reserved_bytes, gpu->mem_total_bytes}, {&gpu->bar1_used_bytes, gpu->bar1_total_bytes},
        {&gpu->gtt_used_bytes, gpu->gtt_total_bytes},     {&gpu->protected_used_bytes, gpu->protected_total_bytes},
    };
    unsigned dropped = 0;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        if (exceeds(*pairs[i].part, pairs[i].whole))
            dropped += drop(pairs[i].part);
    return dropped;
}

unsigned process_drop_implausible(struct process *process)
{
    return drop_all(process->metric, process_metric_table, PROCESS_METRIC_COUNT);
}

/* A process can't hold more than the GPU can reach: its own memory and its share of the host's. */
static unsigned drop_of_processes(struct gpu *gpu)
{
    struct reading reach = gpu->mem_total_bytes;
    reach.value += reading_or(gpu->gtt_total_bytes, 0);
    unsigned dropped = 0;
    for (size_t i = 0; i < gpu->process_count; i++) {
        struct process *p = &gpu->processes[i];
        dropped += process_drop_implausible(p);
        if (exceeds(p->mem_bytes, reach))
            dropped += drop(&p->mem_bytes);
    }
    return dropped;
}

unsigned gpu_drop_implausible(struct gpu *gpu)
{
    unsigned dropped = drop_all(gpu->metric, metric_table, METRIC_COUNT) + drop_excess(gpu) + drop_of_processes(gpu);
    for (size_t i = 0; i < gpu->before_count; i++) {
        struct gpu_moment *m = &gpu->before[i];
        if (m->util_permille.state == READING_OK &&
            !metric_is_plausible(&metric_table[METRIC_util_permille], m->util_permille.value))
            dropped += drop(&m->util_permille);
        if (m->power_mw.state == READING_OK && !metric_is_plausible(&metric_table[METRIC_power_mw], m->power_mw.value))
            dropped += drop(&m->power_mw);
    }
    for (size_t i = 0; i < gpu->instance_count; i++)
        dropped += gpu_drop_implausible(&gpu->instances[i]);
    return dropped;
}

unsigned host_drop_implausible(struct host *host)
{
    unsigned dropped = drop_all(host->metric, host_metric_table, HOST_METRIC_COUNT);
    if (exceeds(host->mem_available_bytes, host->mem_total_bytes))
        dropped += drop(&host->mem_available_bytes);
    if (exceeds(host->swap_used_bytes, host->swap_total_bytes))
        dropped += drop(&host->swap_used_bytes);
    return dropped;
}
