/* SPDX-License-Identifier: Apache-2.0
 * Settings of simulated cards: ranges like those of the real ones, and a log that the physics follow. No rights are needed, unless
 * fault=denied takes them away.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "model/finding_code.h"
#include "model/remedy.h"
#include "source/sim/body.h"
#include "source/sim/sim_fill.h"

static struct control_value number(int64_t low, int64_t high)
{
    return (struct control_value){.low = low, .high = high};
}

/* The value that the scenario itself has. */
static struct control_value value_before(const struct sim *s, int gpu, enum control_kind kind, double t)
{
    const struct sim_card *c = s->world.card[gpu];
    const struct sim_scenario *scenario = s->world.scenario;
    double share;
    if (kind == CONTROL_POWER) {
        double watts = sim_has_trouble(&s->world, TROUBLE_POWER_LIMIT, gpu, t, &share, NULL) ? c->tdp_w * share : c->tdp_w;
        return number((int64_t)(MAX_OF(watts, c->min_w) * 1000), (int64_t)(MAX_OF(watts, c->min_w) * 1000));
    }
    for (size_t i = 0; kind == CONTROL_FAN && scenario->fan_control && gpu == 0 && i < scenario->reading_count; i++)
        if (scenario->readings[i].metric == METRIC_fan_permille)
            return number(scenario->readings[i].value / 10, scenario->readings[i].value / 10);
    for (size_t i = 0; kind == CONTROL_CLOCKS && scenario->finding == FINDING_CLOCKS_LOW && gpu == 0 && i < scenario->reading_count;
         i++)
        if (scenario->readings[i].metric == METRIC_clock_graphics_khz)
            return number(scenario->readings[i].value / 1000, scenario->readings[i].value / 1000);
    return (struct control_value){.stock = true};
}

static struct control_value value_now(const struct sim *s, int gpu, enum control_kind kind)
{
    struct gpu_id id = {0};
    struct sim_settings all;
    struct control_value now = value_before(s, gpu, kind, s->world.start_s);
    fill_id(&s->world, gpu, &id);
    sim_settings_read(&id, &all);
    for (size_t i = 0; i < all.count; i++) {
        const struct sim_change *c = &all.list[i];
        if (c->kind == kind && c->at_ms <= clock_wall(s->env->clock).ms)
            now = c->set == SET_BEFORE  ? value_before(s, gpu, kind, s->world.start_s)
                  : c->set == SET_STOCK ? (struct control_value){.stock = true}
                                        : number(c->low, c->high);
    }
    return now;
}

static int sim_look(struct source *source, size_t at, enum control_kind kind, struct control_state *ret, struct error *err)
{
    const struct sim *s = (const struct sim *)source;
    int gpu = s->listed[at];
    const struct sim_card *c = s->world.card[gpu];
    double t = s->world.start_s;
    if (sim_has_trouble(&s->world, TROUBLE_LOST, gpu, t, NULL, NULL))
        return error_set(err, -ENODEV, "the GPU is gone");
    ret->now_known = true;
    if (kind == CONTROL_POWER) {
        ret->least = (int64_t)c->min_w * 1000;
        ret->most = (int64_t)c->max_w * 1000;
        ret->exact_stock = true;
        ret->stock_value = number((int64_t)c->tdp_w * 1000, (int64_t)c->tdp_w * 1000);
    } else if (kind == CONTROL_CLOCKS) {
        ret->least = (int64_t)c->clock_idle;
        ret->most = (int64_t)c->clock_max;
    } else if (kind == CONTROL_FAN && c->fans) {
        ret->least = 30;
        ret->most = 100;
    } else if (kind == CONTROL_ADVICE) {
        ret->least = 1;
        ret->most = REMEDY_COUNT;
    } else
        return error_set(err, -EOPNOTSUPP, kind == CONTROL_FAN ? "it has no fan that can be set" : "it has no such setting");
    ret->now = value_now(s, gpu, kind);
    if (ret->now.stock && ret->exact_stock)
        ret->now = ret->stock_value;
    return sim_has_trouble(&s->world, TROUBLE_DENIED, gpu, t, NULL, NULL) ? error_set(err, -EACCES, "changing it needs root") : 0;
}

static int sim_set(struct source *source, size_t at, enum control_kind kind, struct control_value v, struct error *err)
{
    const struct sim *s = (const struct sim *)source;
    struct control_state state = {0};
    struct gpu_id id = {0};
    int rc = sim_look(source, at, kind, &state, err);
    if (rc == 0)
        rc = control_check(kind, &state, v, err);
    if (rc < 0)
        return rc;
    struct sim_change change = {.at_ms = clock_wall(s->env->clock).ms, .kind = kind, .low = v.low, .high = v.high};
    bool before = control_equal(kind, v, value_before(s, s->listed[at], kind, s->world.start_s));
    change.set = before ? SET_BEFORE : v.stock ? SET_STOCK : SET_NUMBERS;
    fill_id(&s->world, s->listed[at], &id);
    return sim_settings_add(&id, s->params, &change, err);
}

int sim_put_back_at(const struct control_gpu *gpu, enum control_kind kind, struct wall at, struct error *err)
{
    const struct sim *s = (const struct sim *)gpu->source;
    struct sim_settings all;
    sim_settings_read(&gpu->id, &all);
    struct sim_change before = {.kind = kind, .set = SET_BEFORE};
    size_t seen = 0;
    for (size_t i = all.count; i-- > 0 && seen < 2;)
        if (all.list[i].kind == kind && ++seen == 2)
            before = all.list[i];
    before.at_ms = at.ms;
    return sim_settings_add(&gpu->id, s->params, &before, err);
}

static void sim_command(struct source *source, size_t at, enum control_kind kind, struct control_value v, struct buf *out)
{
    (void)source, (void)at, (void)kind, (void)v, (void)out; /* no other tool knows this card */
}

const struct control_ops sim_control = {.look = sim_look, .set = sim_set, .command = sim_command};
