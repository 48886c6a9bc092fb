/* SPDX-License-Identifier: Apache-2.0
 * From readings to levels. An absent reading never becomes a level; it stays unknown.
 */
#include "insight/why/facts.h"

#include <string.h>

#include "base/cleanup.h"
#include "insight/why/past.h"

static void weigh_heat(struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    int64_t temp, limit;
    f->limit_mdegc = gpu->temp_limit_mdegc.state == READING_OK ? gpu->temp_limit_mdegc : gpu->temp_max_operating_mdegc;
    bool has_temp = reading_get(gpu->temp_mdegc, &temp);
    if (reading_get(gpu->temp_margin_mdegc, &f->margin_mdegc)) {
        f->has_margin = true;
    } else if (has_temp && reading_get(f->limit_mdegc, &limit) && limit > 0) {
        f->has_margin = true;
        f->margin_mdegc = limit - temp;
    }
    if (!has_temp)
        return;
    if (f->has_margin && f->margin_mdegc <= HEAT_LIMIT_MARGIN)
        f->heat = HEAT_LIMIT;
    else if (f->has_margin ? f->margin_mdegc <= HEAT_HOT_MARGIN : temp >= HEAT_HOT_FROM)
        f->heat = HEAT_HOT;
    else if (temp >= HEAT_WARM_FROM)
        f->heat = HEAT_WARM;
    else
        f->heat = temp < HEAT_COOL_BELOW ? HEAT_COOL : HEAT_LUKEWARM;
}

/* How loud it is by its readings; whether it rests, is missing or failing is judged in model/fan.h. */
static void weigh_fan(struct facts *f)
{
    int64_t speed = 0;
    bool share = reading_get(f->gpu->fan_permille, &speed);
    f->fan_judged = fan_judge(f->gpu);
    f->fan_stuck = f->fan_judged.state == FAN_STATE_STOPPED && share && speed >= 200;
    f->fan_slow = f->fan_judged.state == FAN_STATE_SLOW;
    switch (f->fan_judged.state) {
    case FAN_STATE_UNKNOWN: break;
    case FAN_STATE_NONE: f->fan = FAN_NONE; break;
    case FAN_STATE_OFF:
    case FAN_STATE_FIRMWARE:
    case FAN_STATE_OFF_HOT:
    case FAN_STATE_STOPPED: f->fan = FAN_OFF; break;
    case FAN_STATE_TURNING:
    case FAN_STATE_SLOW:
        if (share && speed > 0)
            f->fan = speed <= FAN_LOW_MOST ? FAN_LOW : speed <= FAN_RAISED_MOST ? FAN_RAISED : FAN_LOUD;
        else
            f->fan = reading_or(f->gpu->fan_rpm, 0) <= FAN_LOW_RPM_MOST ? FAN_LOW : FAN_RAISED;
        break;
    }
    f->fan_missed = f->fan_judged.state == FAN_STATE_OFF_HOT || f->fan_judged.state == FAN_STATE_STOPPED;
}

static void weigh_power(struct facts *f)
{
    int64_t power, limit;
    if (!reading_get(f->gpu->power_mw, &power))
        return;
    bool limited = reading_get(f->gpu->power_limit_mw, &limit) && limit > 0;
    int64_t share = limited ? power * 1000 / limit : power * 1000 / (5 * POWER_RAISED_MW);
    if (power < POWER_RAISED_MW || share < POWER_RAISED_PERMILLE)
        f->power = POWER_LOW;
    else
        f->power = share < POWER_WORK_PERMILLE ? POWER_RAISED : POWER_WORK;
    f->at_power_limit = limited && share >= POWER_CAP_PERMILLE;
}

static bool busiest_share(const struct gpu *gpu, int64_t *ret)
{
    bool known = false;
    int64_t sum = 0, share;
    for (size_t i = 0; i < gpu->process_count; i++)
        if (reading_get(gpu->processes[i].util_permille, &share)) {
            sum += share;
            known = true;
        }
    *ret = MIN_OF(sum, (int64_t)1000);
    return known;
}

/* Utilization where it is known, else what the processes add up to, else what the power says. */
static void weigh_load(struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    const struct reading direct[] = {gpu->util_permille, gpu->graphics_active_permille, gpu->sm_active_permille};
    for (size_t i = 0; i < ARRAY_LEN(direct) && f->load_basis == BASIS_NONE; i++)
        if (reading_get(direct[i], &f->load_permille))
            f->load_basis = BASIS_UTIL;
    if (f->load_basis == BASIS_NONE && busiest_share(gpu, &f->load_permille))
        f->load_basis = BASIS_PROCESSES;
    if (f->load_basis != BASIS_NONE) {
        f->load = f->load_permille <= IDLE_MOST ? LOAD_IDLE : f->load_permille <= LIGHT_MOST ? LOAD_LIGHT : LOAD_BUSY;
    } else if ((f->power == POWER_LOW && !f->divided) || f->power == POWER_WORK) {
        /* Little power of a divided card says little: one small instance at work hides in it. */
        f->load_basis = BASIS_POWER;
        f->load = f->power == POWER_LOW ? LOAD_IDLE : LOAD_BUSY;
    }
    int64_t encoder = reading_or(gpu->encoder_permille, 0), decoder = reading_or(gpu->decoder_permille, 0);
    f->video_permille = MAX_OF(encoder, decoder);
    f->encodes = encoder >= decoder;
}

/* A card in GFXOFF still shows its last clock: 2605 MHz at 3 W on an RX 6600. Nothing runs at such clocks for so little power. */
static bool clock_is_left_over(const struct facts *f)
{
    int64_t power, limit;
    return f->load == LOAD_IDLE && reading_get(f->gpu->power_mw, &power) && power < POWER_GATED_MW &&
           (!reading_get(f->gpu->power_limit_mw, &limit) || power * 10 < limit);
}

static void weigh_clocks(struct facts *f)
{
    int64_t clock, most, state;
    if (reading_get(f->gpu->clock_graphics_khz, &clock) && reading_get(f->gpu->clock_graphics_max_khz, &most) && most > 0) {
        f->clocks_high = clock * 10 >= most * 6 && !clock_is_left_over(f);
    } else if (reading_get(f->gpu->pstate, &state)) {
        /* Data centre cards are in P0 for ever, so the state alone says little. */
        f->clocks_high = f->clocks_by_state = state <= 2 && f->power >= POWER_RAISED;
    }
}

static bool bigger(const struct process *p, const struct process *than, bool by_share)
{
    if (!than)
        return true;
    int64_t share = by_share ? reading_or(p->util_permille, 0) : 0, other = by_share ? reading_or(than->util_permille, 0) : 0;
    if (share != other)
        return share > other;
    int64_t mem = reading_or(p->mem_bytes, 0), mem_other = reading_or(than->mem_bytes, 0);
    return mem != mem_other ? mem > mem_other : p->pid < than->pid;
}

static void rank(struct workers *w, const struct process *p, bool by_share)
{
    w->count++;
    if (bigger(p, w->first, by_share)) {
        w->second = w->first;
        w->first = p;
    } else if (bigger(p, w->second, by_share)) {
        w->second = p;
    }
}

static bool computes(const struct process *p)
{
    return p->type != PROCESS_GRAPHICS;
}

/* Among processes whose share is not known, one that computes is suspected before those that only draw. */
static void suspect(struct workers *w, const struct gpu *gpu)
{
    bool only_computing = false;
    for (size_t i = 0; i < gpu->process_count; i++)
        only_computing |= gpu->processes[i].util_permille.state != READING_OK && computes(&gpu->processes[i]);
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (p->util_permille.state != READING_OK && (!only_computing || computes(p)))
            rank(w, p, false);
    }
    w->suspected = w->count > 1;
}

static void find_workers(struct facts *f)
{
    const struct gpu *gpu = f->gpu;
    struct workers *w = &f->workers;
    int64_t sum = 0, share;
    w->on_card = gpu->process_count;
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        if (reading_get(p->util_permille, &share) && share >= SHARE_LEAST) {
            sum += share;
            rank(w, p, true);
        }
        if (!w->holder || (computes(p) && !computes(w->holder)) ||
            (computes(p) == computes(w->holder) && bigger(p, w->holder, false)))
            w->holder = p;
    }
    w->shares_known = w->count > 0;
    /* Shares that add up to nearly nothing do not explain a busy card: the work is done by somebody without a known share. */
    if (f->load_basis == BASIS_UTIL && sum * 4 < f->load_permille) {
        w->first = w->second = NULL;
        w->count = 0;
        w->shares_known = false;
    }
    if (!w->count)
        suspect(w, gpu);
}

static void find_neighbour(struct facts *f)
{
    int64_t temp, theirs, hottest;
    if (!reading_get(f->gpu->temp_mdegc, &temp))
        return;
    hottest = temp;
    for (size_t i = 0; i < f->now->gpu_count; i++) {
        const struct gpu *other = &f->now->gpus[i];
        if (other == f->gpu || other->state != GPU_OK || !reading_get(other->temp_mdegc, &theirs) || theirs <= hottest)
            continue;
        if (reading_or(other->util_permille, 0) > LIGHT_MOST || reading_or(other->power_mw, 0) > 2 * POWER_RAISED_MW) {
            f->neighbour = other;
            hottest = theirs;
        }
    }
}

void facts_collect(struct facts *f, const struct snapshot *now, const struct gpu *gpu, const struct recent *recent)
{
    *f = (struct facts){.now = now, .gpu = gpu, .recent = recent};
    f->divided = reading_or(gpu->mig_enabled, 0) != 0 || gpu->instance_count > 0;
    weigh_heat(f);
    weigh_fan(f);
    weigh_power(f);
    weigh_load(f);
    weigh_clocks(f);
    find_workers(f);
    find_neighbour(f);
    past_collect(f);
}
