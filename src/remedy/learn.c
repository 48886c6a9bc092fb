/* SPDX-License-Identifier: Apache-2.0
 * Steps that came without a request, learned sample by sample; and what they let say of open contexts: what each costs while its
 * GPU rests.
 */
#include "remedy/effect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Readings of power and clocks are of the seconds before; a context of a moment is no program at rest. */
enum { SETTLE_MS = 8000, REST_MS = 6000, SAMPLES_LEAST = 3, REST_PERMILLE = 50 };
/* A step below this is noise. */
enum { STEP_MW_LEAST = 1000 };

static int by_pid(const void *a, const void *b)
{
    return *(const int32_t *)a < *(const int32_t *)b ? -1 : *(const int32_t *)a > *(const int32_t *)b;
}

static bool state_of(const struct gpu *gpu, struct learn_state *ret)
{
    *ret = (struct learn_state){.limit_mw = gpu->power_limit_mw, .display = gpu->display_active};
    for (size_t i = 0; i < gpu->process_count; i++) {
        if (!(gpu->processes[i].type & PROCESS_COMPUTE))
            continue;
        if (ret->context_count == LEARN_CONTEXTS_MAX)
            return false;
        ret->contexts[ret->context_count++] = gpu->processes[i].pid;
    }
    qsort(ret->contexts, ret->context_count, sizeof ret->contexts[0], by_pid);
    return gpu->processes_state == READING_OK && !gpu->processes_hidden;
}

static bool same_reading(struct reading a, struct reading b)
{
    return a.state == b.state && (a.state != READING_OK || a.value == b.value);
}

static bool same_contexts(const struct learn_state *a, const struct learn_state *b)
{
    return a->context_count == b->context_count && memcmp(a->contexts, b->contexts, a->context_count * sizeof a->contexts[0]) == 0;
}

static bool same_state(const struct learn_state *a, const struct learn_state *b)
{
    return same_contexts(a, b) && same_reading(a->limit_mw, b->limit_mw) && same_reading(a->display, b->display);
}

/* One context more, and nothing else. */
static bool is_one_more(const struct learn_state *few, const struct learn_state *many)
{
    size_t at = 0, more = 0;
    for (size_t i = 0; i < many->context_count; i++) {
        bool known = at < few->context_count && few->contexts[at] == many->contexts[i];
        at += known;
        more += !known;
    }
    return more == 1 && at == few->context_count && same_reading(few->limit_mw, many->limit_mw) &&
           same_reading(few->display, many->display);
}

static void sum_up(int64_t *sum, int64_t *count, struct reading r)
{
    int64_t value;
    if (reading_get(r, &value)) {
        *sum += value;
        ++*count;
    }
}

static struct reading learn_mean(int64_t sum, int64_t count)
{
    return count ? reading_ok(sum / count) : reading_absent(READING_UNSUPPORTED);
}

static struct remedy_values values_of(const struct learn_span *s)
{
    return (struct remedy_values){.power_mw = learn_mean(s->power_sum, s->rest_samples),
                                  .clock_khz = learn_mean(s->clock_sum, s->clock_samples),
                                  .temp_mdegc = learn_mean(s->temp_sum, s->temp_samples),
                                  .fan_permille = learn_mean(s->fan_sum, s->fan_samples),
                                  .tokens_milli = reading_absent(READING_UNSUPPORTED)};
}

static bool is_settled(const struct learn_span *s, struct wall now)
{
    return s->rest_samples >= SAMPLES_LEAST && now.ms - s->since.ms >= SETTLE_MS + REST_MS;
}

bool learn_rests(const struct gpu *gpu)
{
    int64_t util;
    return reading_get(gpu->util_permille, &util) && util <= REST_PERMILLE;
}

/* Only samples at rest, once the readings have settled. */
static void add_sample(struct learn_span *s, const struct gpu *gpu, struct wall now)
{
    int64_t power;
    if (!learn_rests(gpu) || !reading_get(gpu->power_mw, &power)) {
        struct learn_state state = s->state;
        *s = (struct learn_span){.state = state, .since = now}; /* it works: what it draws at rest begins anew */
        return;
    }
    if (now.ms - s->since.ms < SETTLE_MS)
        return;
    s->power_sum += power;
    s->rest_samples++;
    sum_up(&s->clock_sum, &s->clock_samples, gpu->clock_graphics_khz);
    sum_up(&s->temp_sum, &s->temp_samples, gpu->temp_mdegc);
    sum_up(&s->fan_sum, &s->fan_samples, gpu->fan_permille);
}

static void name_context(struct learn_span *s, const struct learn_state *few, const struct gpu *gpu)
{
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        bool known = false;
        for (size_t k = 0; k < few->context_count; k++)
            known |= few->contexts[k] == p->pid;
        if (!known && p->type & PROCESS_COMPUTE)
            snprintf(s->name, sizeof s->name, "%s (%s)", p->name, p->user);
    }
}

static bool step_between(const struct learn_gpu *g, const struct gpu *gpu, struct wall now, struct effect *ret)
{
    const struct learn_span *a = &g->before, *b = &g->now;
    bool came = is_one_more(&a->state, &b->state), went = is_one_more(&b->state, &a->state);
    bool contexts = same_contexts(&a->state, &b->state);
    *ret = (struct effect){.at = now, .gpu_index = gpu->index, .cause = EFFECT_CONTEXT, .code = REMEDY_CLOSE_CONTEXT};
    ret->before = values_of(came ? b : a);
    ret->after = values_of(came ? a : b);
    str_copy(ret->gpu, sizeof ret->gpu, str_from(g->key));
    str_copy(ret->model, sizeof ret->model, str_from(gpu->id.name));
    if (came || went)
        snprintf(ret->what, sizeof ret->what, "idle context of %.72s",
                 (came ? b : a)->name[0] ? (came ? b : a)->name : "a program");
    else if (contexts && same_reading(a->state.limit_mw, b->state.limit_mw)) {
        ret->cause = EFFECT_DISPLAY;
        ret->code = REMEDY_REFRESH_RATE;
        snprintf(ret->what, sizeof ret->what, "displays %s", reading_or(b->state.display, 0) ? "on" : "off");
    } else
        return false; /* a limit at rest does nothing; several things at once tell nothing */
    struct reading step = effect_change(ret->before.power_mw, ret->after.power_mw);
    return step.state == READING_OK && llabs(step.value) >= STEP_MW_LEAST;
}

static struct learn_gpu *learn_find(struct learner *l, const struct gpu *gpu)
{
    const char *key = gpu_id_key(&gpu->id);
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->gpus[i].key, key) == 0)
            return &l->gpus[i];
    if (l->count == GPU_MAX)
        return NULL;
    struct learn_gpu *g = &l->gpus[l->count++];
    *g = (struct learn_gpu){.told = true};
    str_copy(g->key, sizeof g->key, str_from(key));
    return g;
}

bool learn_sample(struct learner *l, const struct gpu *gpu, struct wall now, struct effect *ret)
{
    struct learn_state state;
    struct learn_gpu *g = gpu->state == GPU_OK && state_of(gpu, &state) ? learn_find(l, gpu) : NULL;
    if (!g)
        return false;
    if (!g->now.since.ms || !same_state(&g->now.state, &state)) {
        if (is_settled(&g->now, now)) {
            g->before = g->now;
            g->told = false;
        }
        g->now = (struct learn_span){.state = state, .since = now};
        name_context(&g->now, &g->before.state, gpu);
        return false;
    }
    char name[REMEDY_NAME_SIZE];
    memcpy(name, g->now.name, sizeof name);
    add_sample(&g->now, gpu, now);
    memcpy(g->now.name, name, sizeof name);
    if (g->told || !is_settled(&g->now, now))
        return false;
    g->told = true;
    return step_between(g, gpu, now, ret);
}

/* ---- parked power ---- */

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
