/* SPDX-License-Identifier: Apache-2.0
 * Attribution of power to processes.
 */
#include "engine/attribution.h"

static int64_t weight(const struct process *p, enum power_basis basis)
{
    return basis == POWER_BASIS_UTILIZATION ? reading_or(p->util_permille, 0) : reading_or(p->mem_bytes, 0) >> 20;
}

static int64_t total_weight(const struct gpu *gpu, enum power_basis basis)
{
    int64_t total = 0;
    for (size_t i = 0; i < gpu->process_count; i++)
        total += weight(&gpu->processes[i], basis);
    return total;
}

static void share(struct gpu *gpu, enum power_basis basis, int64_t power_mw, int64_t total)
{
    /* Rounding is carried on, so that the parts add up to the whole. */
    int64_t given = 0, weighed = 0;
    for (size_t i = 0; i < gpu->process_count; i++) {
        struct process *p = &gpu->processes[i];
        weighed += weight(p, basis);
        int64_t upto = (int64_t)((double)power_mw * (double)weighed / (double)total + 0.5);
        p->power_mw = reading_ok(upto - given);
        p->power_basis = basis;
        given = upto;
    }
}

void attribute_power(struct gpu *gpu)
{
    int64_t power_mw;
    if (!reading_get(gpu->power_mw, &power_mw)) {
        for (size_t i = 0; i < gpu->process_count; i++)
            gpu->processes[i].power_mw = reading_absent(gpu->power_mw.state);
        return;
    }
    if (gpu->process_count == 1) {
        gpu->processes[0].power_mw = reading_ok(power_mw);
        gpu->processes[0].power_basis = POWER_BASIS_ONLY_PROCESS;
        return;
    }
    int64_t load = total_weight(gpu, POWER_BASIS_UTILIZATION), memory = total_weight(gpu, POWER_BASIS_MEMORY);
    if (load > 0)
        share(gpu, POWER_BASIS_UTILIZATION, power_mw, load);
    else if (memory > 0)
        share(gpu, POWER_BASIS_MEMORY, power_mw, memory);
    else
        for (size_t i = 0; i < gpu->process_count; i++)
            gpu->processes[i].power_mw = reading_absent(READING_UNSUPPORTED);
}
