/* SPDX-License-Identifier: Apache-2.0 */
#include "remedy/parked.h"

#include <string.h>

#include "base/cleanup.h"

static struct parked_step *parked_find(const struct parked_steps *steps, const char *key)
{
    for (size_t i = 0; i < steps->count; i++)
        if (strcmp(steps->list[i].gpu, key) == 0)
            return (struct parked_step *)&steps->list[i];
    return NULL;
}

void parked_note(struct parked_steps *steps, const struct effect *e)
{
    int64_t with, without;
    if (e->cause != EFFECT_CONTEXT || !reading_get(e->before.power_mw, &with) || !reading_get(e->after.power_mw, &without) ||
        with <= without)
        return;
    struct parked_step *step = parked_find(steps, e->gpu);
    if (!step && steps->count == ARRAY_LEN(steps->list))
        return;
    step = step ? step : &steps->list[steps->count++];
    *step = (struct parked_step){.step_mw = with - without, .alone_mw = without};
    str_copy(step->gpu, sizeof step->gpu, str_from(e->gpu));
}

static bool holds_context(const struct process *p)
{
    return p->type & PROCESS_COMPUTE;
}

/* Not with the variable that lets them go down. */
static bool keeps_clocks_up(const struct process *p)
{
    return holds_context(p) && !(p->variables & VARIABLE_NO_BOOST);
}

/* Power that a step explains leaves that much less for work. */
static void shrink_work(struct gpu *gpu, int64_t most_mw)
{
    int64_t work_mw = 0;
    most_mw = MAX_OF(most_mw, (int64_t)0);
    for (size_t i = 0; i < gpu->process_count; i++)
        work_mw += reading_or(gpu->processes[i].power_mw, 0);
    for (size_t i = 0; work_mw > most_mw && i < gpu->process_count; i++)
        if (gpu->processes[i].power_mw.state == READING_OK)
            gpu->processes[i].power_mw.value = gpu->processes[i].power_mw.value * most_mw / work_mw;
}

static void share_step(struct gpu *gpu, int64_t power_mw, int64_t parked_mw)
{
    int64_t given_mw = 0;
    size_t holders = 0, payers = 0;
    for (size_t i = 0; i < gpu->process_count; i++) {
        holders += holds_context(&gpu->processes[i]);
        payers += keeps_clocks_up(&gpu->processes[i]);
    }
    bool all = payers == 0; /* a driver that ignores the variable */
    shrink_work(gpu, power_mw - reading_or(gpu->idle_mw, 0) - parked_mw);
    for (size_t i = 0; i < gpu->process_count; i++) {
        struct process *p = &gpu->processes[i];
        if (holds_context(p)) {
            p->parked_mw = reading_ok(all || keeps_clocks_up(p) ? parked_mw / (int64_t)(all ? holders : payers) : 0);
            if (p->power_basis == POWER_BASIS_NONE)
                p->power_basis = POWER_BASIS_UTILIZATION; /* of the GPU, which rests */
            p->power_mw = reading_ok(reading_or(p->power_mw, 0) + p->parked_mw.value);
        }
        given_mw += reading_or(p->power_mw, 0);
    }
    gpu->not_attributed_mw = reading_ok(power_mw - given_mw);
}

void parked_charge(const struct parked_steps *steps, struct gpu *gpu)
{
    int64_t power_mw = 0;
    bool whole = gpu->processes_state == READING_OK && !gpu->processes_hidden && !gpu->processes_left_out;
    const struct parked_step *step = parked_find(steps, gpu_id_key(&gpu->id));
    if (gpu->state != GPU_OK || gpu->instance_count || !gpu->process_count)
        return;
    bool known = step && whole && reading_get(gpu->power_mw, &power_mw) && gpu->util_permille.state == READING_OK;
    for (size_t i = 0; i < gpu->process_count; i++)
        gpu->processes[i].parked_mw = !holds_context(&gpu->processes[i]) ? reading_absent(READING_UNSUPPORTED)
                                      : known                            ? reading_ok(0)
                                                                         : reading_absent(READING_PENDING);
    if (!known || !learn_rests(gpu))
        return;
    if (reading_or(gpu->idle_mw, INT64_MAX) > step->alone_mw)
        gpu->idle_mw = reading_ok(step->alone_mw); /* it was never seen without a context since the start */
    int64_t above_mw = power_mw - step->alone_mw;
    share_step(gpu, power_mw, MAX_OF((int64_t)0, MIN_OF(above_mw, step->step_mw)));
}
