/* SPDX-License-Identifier: Apache-2.0
 * The health of a worker's GPUs: heat and faults. Takes no action.
 */
#include <stdio.h>

#include "base/words.h"
#include "guard/keeper.h"
#include "source/fault/fault.h"

#define HEAT_PROBLEM "its GPU is at"

int keeper_hottest(const struct keeper *k, int64_t *mdegc)
{
    int found = -1;
    int64_t now;
    for (size_t g = 0; k->snapshot && g < k->snapshot->gpu_count; g++) {
        const struct gpu *gpu = &k->snapshot->gpus[g];
        if (!keeper_uses(k, gpu->index) || !reading_get(gpu->temp_mdegc, &now) || (found >= 0 && now <= *mdegc))
            continue;
        found = gpu->index;
        *mdegc = now;
    }
    return found;
}

static void update_temperature(struct keeper *k)
{
    const struct guard_spec *spec = k->spec;
    int64_t hottest = 0;
    bool known = keeper_hottest(k, &hottest) >= 0;
    if (!spec->health || !spec->overheat) {
        k->hot = false;
        k->cool = true;
        return;
    }
    if (!known) /* unreadable: unchanged */
        return;
    bool was_hot = k->hot;
    char now[WORDS_SIZE], most[WORDS_SIZE];
    if (hottest >= spec->hot_mdegc)
        k->hot = true;
    else if (hottest < spec->cool_mdegc)
        k->hot = false;
    k->cool = hottest < spec->cool_mdegc;
    if (!k->hot && was_hot)
        keeper_problem_over(k, HEAT_PROBLEM);
    if (k->hot && !was_hot)
        keeper_problem(k, HEAT_PROBLEM " %s, the threshold is %s", words_temperature(hottest, now),
                       words_temperature(spec->hot_mdegc, most));
}

static void raise_fault(struct keeper *k, const char *what, int gpu)
{
    if (k->fault)
        return;
    k->fault = k->spec->pause_on_errors;
    keeper_problem(k, "GPU %d: %s%s", gpu, what, k->fault ? "; it is paused until `whirr guard resume`" : "");
}

/* An event is in one sample only, maybe one made for another caller: so it can arrive twice. */
void keeper_notice(struct keeper *k, const struct event *e)
{
    if (!k->spec->health || e->gpu_index < 0 || !keeper_uses(k, e->gpu_index) || e->at.ms <= k->noticed.ms)
        return;
    const struct fault_info *xid = e->kind == EVENT_DRIVER_FAULT ? xid_find(e->code) : NULL;
    char what[192];
    if (xid && fault_stops_gpu(xid->class)) {
        snprintf(what, sizeof what, "XID %lld: %s", (long long)e->code, xid->what);
        raise_fault(k, what, e->gpu_index);
        k->noticed = e->at;
    } else if (e->kind == EVENT_GPU_LOST) {
        raise_fault(k, "the GPU is lost", e->gpu_index);
        k->noticed = e->at;
    }
}

static void look_for_faults(struct keeper *k)
{
    for (size_t g = 0; g < k->snapshot->gpu_count; g++) {
        const struct gpu *gpu = &k->snapshot->gpus[g];
        int64_t ecc;
        if (!keeper_uses(k, gpu->index) || gpu->index >= GPU_MAX)
            continue;
        if (gpu->state == GPU_LOST)
            raise_fault(k, "the GPU is lost", gpu->index);
        if (!reading_get(gpu->ecc_uncorrected, &ecc))
            continue;
        if (k->ecc_known[gpu->index] && ecc > k->ecc_before[gpu->index])
            raise_fault(k, "memory errors that could not be corrected", gpu->index);
        k->ecc_known[gpu->index] = true;
        k->ecc_before[gpu->index] = ecc;
    }
}

void keeper_check_health(struct keeper *k)
{
    update_temperature(k);
    if (k->spec->health)
        look_for_faults(k);
}
