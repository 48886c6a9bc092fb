/* SPDX-License-Identifier: Apache-2.0
 * The GPU first, then the host.
 */
#include "insight/area/limit.h"

#include "base/cleanup.h"

static bool can_be_judged(const struct gpu *gpu, const struct process *p)
{
    return gpu->state == GPU_OK && !process_draws_desktop(p->name) && p->visible;
}

/* Copies through a node that the GPU is not connected to. */
static bool is_remote(const struct process *p)
{
    int64_t mine, its;
    const struct host_evidence *h = p->host;
    return h && reading_get(h->gpu_node, &its) && reading_get(h->cpu_node, &mine) && mine != its;
}

struct limit_look limit_detect(const struct gpu *gpu, const struct process *p, const struct host *host)
{
    enum { LINK_HALF = 500 };
    struct limit_facts f;
    if (!can_be_judged(gpu, p))
        return (struct limit_look){LIMIT_UNJUDGED, 0};
    limit_facts_collect(&f, gpu, p);
    f.host = host;
    struct limit_look found = limit_of_gpu(&f);
    if (!found.code)
        return limit_of_host(&f);
    bool copies = found.code == LIMIT_PCIE_IN || found.code == LIMIT_PCIE_OUT;
    if (copies && is_remote(p) && MAX_OF(reading_or(f.in, 0), reading_or(f.out, 0)) < LINK_HALF)
        return (struct limit_look){LIMIT_NUMA, 0.65};
    if (found.code != LIMIT_OTHERS)
        return found;
    /* Beside others: one that waits for its own side would not go faster alone. */
    struct limit_look own = limit_of_host(&f);
    bool own_side =
        own.confidence >= 0.7 && limit_side(own.code) == LIMIT_SIDE_HOST && own.code != LIMIT_HOST_CPU && own.code != LIMIT_LAUNCH;
    return own_side ? own : found;
}

bool limit_wants_host(const struct gpu *gpu, const struct process *p)
{
    struct limit_facts f;
    if (!can_be_judged(gpu, p))
        return false;
    limit_facts_collect(&f, gpu, p);
    enum limit_side side = limit_side(limit_of_gpu(&f).code);
    return side != LIMIT_SIDE_GPU;
}

const char *limit_missing(const struct gpu *gpu, const struct process *p)
{
    struct limit_facts f;
    limit_facts_collect(&f, gpu, p);
    if (!p->host)
        return "what the process does on its host, which was not read";
    if (p->host->state != READING_OK)
        return "what the process does on its host, which may not be read: run it with more rights, or ask the daemon";
    if (f.util.state != READING_OK)
        return "the process's share of the GPU, which the driver does not give";
    return f.counted ? NULL : "counters of the GPU's units, which this GPU or driver does not have";
}
