/* SPDX-License-Identifier: Apache-2.0
 * How much of a GPU's power each of its processes causes, by evidence only. Pure.
 *
 *   idle power       belongs to no process: the lowest draw seen while no engine was over 10%. Until then it counts as 0, that is,
 *                    the whole draw is shared by use.
 *   power above it   by each process's measured use of the engines against the GPU's own load:
 *                        use = 100 SM + 25 memory traffic + 25 encoder + 15 decoder
 *                    The weights are roughly the draw of a fully loaded engine relative to fully loaded SMs.
 *   the rest         not_attributed_mw: hidden processes, unknown shares.
 *
 * A process with 2% of a 97% load gets 2/97 of the power above idle, even if it is the only one visible. An unknown share makes the
 * watts absent, with the same reason, never 0. Processes and not_attributed_mw add up to power_mw.
 */
#include "engine/engine.h"

#include <assert.h>

#include "base/cleanup.h"

enum { CALM_PERMILLE = 100 };

static const struct busy_engine {
    enum metric gpu;
    enum process_metric process;
    int weight;
    /* Memory traffic follows the computation that causes it: if no process's share is known, it goes with the SMs. Video engines
     * work for particular processes: if those are unknown, their part goes to none. */
    bool follows;
} engines[] = {
    {METRIC_util_permille, PROCESS_METRIC_util_permille, 100, false},
    {METRIC_mem_util_permille, PROCESS_METRIC_mem_util_permille, 25, true},
    {METRIC_encoder_permille, PROCESS_METRIC_encoder_permille, 25, false},
    {METRIC_decoder_permille, PROCESS_METRIC_decoder_permille, 15, false},
};

static_assert(ARRAY_LEN(engines) == ATTRIBUTION_ENGINES, "the header has as many");

/* Whether the list has every process that the driver knows on the GPU. */
static bool list_is_whole(const struct gpu *gpu)
{
    return gpu->processes_state == READING_OK && gpu->processes_hidden == 0 && gpu->processes_left_out == 0;
}

void engine_loads_note(const struct gpu *gpu, struct engine_loads *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(engines); i++)
        ret->of[i] = gpu->metric[engines[i].gpu];
}

/* Scales a process's share of an engine that was at `then`, with known shares totaling `seen`, to the load `now`. A small
 * earlier load says nothing about how a new one is shared. */
static struct reading share_now(const struct gpu *gpu, struct reading share, int64_t then, int64_t seen, int64_t now)
{
    enum { NEAR = 30, SOME_LOAD = 200, ROUNDED = 10 };
    int64_t apart = now > then ? now - then : then - now, whole = then;
    if (share.state != READING_OK || apart <= MAX_OF((int64_t)NEAR, then / 10))
        return share;
    if (now > then && then < SOME_LOAD)
        return gpu->process_count == 1 && list_is_whole(gpu) ? reading_ok(now) : reading_absent(READING_PENDING);
    if (seen > 0 && seen < then && then - seen <= ROUNDED * (int64_t)gpu->process_count)
        whole = seen; /* drivers round each share down */
    return reading_ok(MIN_OF(share.value * now / whole, (int64_t)1000));
}

void shares_follow(struct gpu *gpu, const struct engine_loads *then)
{
    for (size_t e = 0; e < ARRAY_LEN(engines); e++) {
        int64_t before, now, seen = 0;
        if (!reading_get(then->of[e], &before) || !reading_get(gpu->metric[engines[e].gpu], &now))
            continue;
        for (size_t i = 0; i < gpu->process_count; i++)
            seen += reading_or(gpu->processes[i].metric[engines[e].process], 0);
        for (size_t i = 0; i < gpu->process_count; i++) {
            struct reading *share = &gpu->processes[i].metric[engines[e].process];
            *share = share_now(gpu, *share, before, seen, now);
        }
    }
}

/* The weighted use of an engine by all processes, visible or not; 0: unknown. */
static int64_t engine_total(const struct gpu *gpu, const struct busy_engine *e)
{
    int64_t seen = 0, load;
    size_t known = 0;
    for (size_t i = 0; i < gpu->process_count; i++) {
        known += gpu->processes[i].metric[e->process].state == READING_OK;
        seen += reading_or(gpu->processes[i].metric[e->process], 0);
    }
    if (!reading_get(gpu->metric[e->gpu], &load))
        return list_is_whole(gpu) && known == gpu->process_count ? seen * e->weight : 0;
    if (known == 0 && e->follows)
        return 0;
    /* The driver measures processes and GPU over different windows. Within a tenth they are equal; if all processes are listed,
     * there is no other user, and bursty loads were seen at 45% of the GPU's. */
    bool same = seen * 10 >= load * 9 || (seen * 3 >= load && list_is_whole(gpu) && known == gpu->process_count);
    return (same ? seen : load) * e->weight;
}

/* The weighted use by one process. False: its SM share, which matters most, is unknown. */
static bool process_use(const struct process *p, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < ARRAY_LEN(engines); i++)
        *ret += reading_or(p->metric[engines[i].process], 0) * engines[i].weight;
    return p->util_permille.state == READING_OK;
}

static bool is_calm(const struct gpu *gpu)
{
    static const enum metric loads[] = {METRIC_util_permille, METRIC_encoder_permille, METRIC_decoder_permille};
    for (size_t i = 0; i < ARRAY_LEN(loads); i++)
        if (reading_or(gpu->metric[loads[i]], 0) > CALM_PERMILLE)
            return false;
    return gpu->util_permille.state == READING_OK;
}

/* Learns the lowest draw. That of many instantaneous values is below the idle draw: prefers the driver's means. */
static void learn_idle(const struct gpu *gpu, int64_t power_mw, struct reading *idle_mw)
{
    int64_t draw_mw = gpu->power_average_mw.state == READING_OK ? gpu->power_average_mw.value : power_mw;
    if (draw_mw > 0 && is_calm(gpu) && (idle_mw->state != READING_OK || draw_mw < idle_mw->value))
        *idle_mw = reading_ok(draw_mw);
}

/* Shares are not measurable, but a single process does all the work. */
static bool is_alone(const struct gpu *gpu)
{
    enum reading_state why = gpu->process_count == 1 ? gpu->processes[0].util_permille.state : READING_OK;
    return (why == READING_UNSUPPORTED || why == READING_DENIED) && list_is_whole(gpu) && gpu->util_permille.state == READING_OK;
}

static void attribute_none(struct gpu *gpu, enum reading_state why)
{
    for (size_t i = 0; i < gpu->process_count; i++) {
        gpu->processes[i].power_mw = reading_absent(why);
        gpu->processes[i].power_basis = POWER_BASIS_NONE;
    }
    gpu->not_attributed_mw = reading_absent(why);
}

/* Shares the power above idle by use; returns the amount attributed. */
static int64_t share_out(struct gpu *gpu, int64_t dynamic_mw)
{
    int64_t all = 0, given_mw = 0;
    for (size_t i = 0; i < ARRAY_LEN(engines); i++)
        all += engine_total(gpu, &engines[i]);
    for (size_t i = 0; i < gpu->process_count; i++) {
        struct process *p = &gpu->processes[i];
        int64_t use;
        if (!process_use(p, &use)) {
            p->power_mw = reading_absent(p->util_permille.state);
            p->power_basis = POWER_BASIS_NONE;
            continue;
        }
        int64_t part_mw = all > 0 ? (int64_t)((double)dynamic_mw * (double)use / (double)all + 0.5) : 0;
        part_mw = MIN_OF(part_mw, dynamic_mw - given_mw);
        p->power_mw = reading_ok(part_mw);
        p->power_basis = POWER_BASIS_UTILIZATION;
        given_mw += part_mw;
    }
    return given_mw;
}

void attribute_power(struct gpu *gpu, struct reading *idle_mw)
{
    int64_t power_mw, given_mw;
    if (!reading_get(gpu->power_mw, &power_mw)) {
        attribute_none(gpu, gpu->power_mw.state);
        return;
    }
    learn_idle(gpu, power_mw, idle_mw);
    gpu->idle_mw = *idle_mw;
    int64_t dynamic_mw = MAX_OF(power_mw - reading_or(*idle_mw, 0), (int64_t)0);
    given_mw = share_out(gpu, dynamic_mw);
    if (is_alone(gpu)) {
        gpu->processes[0].power_mw = reading_ok(dynamic_mw);
        gpu->processes[0].power_basis = POWER_BASIS_ONLY_PROCESS;
        given_mw = dynamic_mw;
    }
    gpu->not_attributed_mw = reading_ok(power_mw - given_mw);
}
