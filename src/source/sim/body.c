/* SPDX-License-Identifier: Apache-2.0
 * Heat, fan, clocks and power of one simulated card.
 */
#include "source/sim/body.h"

#include <math.h>

#include "base/cleanup.h"

enum { SALT_AMBIENT = 4096, SALT_ENERGY };

/* Power grows with slightly more than the square of the clock: voltage follows it. */
#define CLOCK_POWER 2.4

static double ambient(const struct sim_world *w, int gpu, double t)
{
    double room = 24 + 3 * (sim_chance(w->seed, (uint64_t)gpu, SALT_AMBIENT, 0) - 0.5);
    double value;
    if (sim_has_trouble(w, TROUBLE_ROOM, gpu, t, &value, NULL))
        room += value;
    return room + 0.5 * sim_noise(w->seed, 0, SALT_AMBIENT, t, 900);
}

static double conductance(const struct sim_world *w, int gpu, double t, double fan)
{
    const struct sim_card *c = w->card[gpu];
    double left;
    if (!sim_has_trouble(w, TROUBLE_AIRFLOW, gpu, t, &left, NULL))
        left = 1;
    if (!c->fans) /* chassis fans compensate some of it */
        left = MAX_OF(left, 0.3);
    return MAX_OF(left, 0.02) * (c->conductance + c->conductance_fan * fan);
}

/* Fan target at a temperature. */
static double fan_curve(double temp)
{
    static const double points[][2] = {{45, 0.30}, {60, 0.40}, {72, 0.56}, {80, 0.75}, {88, 1}};
    if (temp <= points[0][0])
        return points[0][1];
    for (size_t i = 1; i < ARRAY_LEN(points); i++)
        if (temp < points[i][0]) {
            double part = (temp - points[i - 1][0]) / (points[i][0] - points[i - 1][0]);
            return points[i - 1][1] + part * (points[i][1] - points[i - 1][1]);
        }
    return 1;
}

static void step_fan(struct body *b, const struct sim_world *w, int gpu, double t, double die_c, double dt)
{
    const struct sim_card *c = w->card[gpu];
    if (!c->fans)
        return;
    double want = fan_curve(die_c);
    const struct sim_change *fixed = sim_setting(w, gpu, CONTROL_FAN, t);
    if (fixed && fixed->set == SET_NUMBERS)
        b->fan_set = want = (double)fixed->low / 100;
    else if (c->fan_stops && (die_c < 45 || (b->fan_set <= 0 && die_c < 56)))
        want = 0;
    /* Follow a rise at once, a fall only if large enough: otherwise the fan would oscillate. */
    if (want > b->fan_set + 0.01 || want < b->fan_set - 0.05 || want <= 0)
        b->fan_set = want;
    double goal = sim_has_trouble(w, TROUBLE_FAN_STOPPED, gpu, t, NULL, NULL) ? 0 : b->fan_set;
    double most = 0.15 * dt; /* a few seconds from zero to full speed */
    b->fan += MAX_OF(-most, MIN_OF(most, goal - b->fan));
}

static void step_clock_cap(struct body *b, const struct sim_card *c, double die_c, double dt)
{
    double over = die_c - c->slowdown;
    if (over > 0)
        b->clock_cap = MAX_OF(0.2, b->clock_cap - 0.012 * MIN_OF(over, 4.0) * dt);
    else if (over < -1.5)
        b->clock_cap = MIN_OF(1.0, b->clock_cap + 0.006 * dt);
}

/* A compute context keeps the clocks up, unless its server parks it. */
static bool computes(const struct sim_world *w, const struct body_view *v)
{
    for (size_t i = 0; i < v->share_count; i++) {
        const struct sim_job *j = &w->scenario->jobs[v->shares[i].job];
        if (j->pattern != LOAD_PARKED && (j->program->type & PROCESS_COMPUTE))
            return true;
    }
    return false;
}

/* The share of its clock at which work needs no more than that. */
static double scale_within(double full_w, double spare_w)
{
    return full_w > spare_w ? pow(MAX_OF(spare_w, 1.0) / full_w, 1 / CLOCK_POWER) : 1;
}

/* Clocks and power for the load at t, given the heat. */
static void view_power(const struct body *b, const struct sim_world *w, int gpu, double t, struct body_view *v)
{
    const struct sim_card *c = w->card[gpu];
    bool context = computes(w, v);
    double share = 1;
    v->limit_w = c->tdp_w;
    if (sim_has_trouble(w, TROUBLE_POWER_LIMIT, gpu, t, &share, NULL))
        v->limit_w = MAX_OF(c->min_w, c->tdp_w * share);
    double usual_w = v->limit_w;
    const struct sim_change *set = sim_setting(w, gpu, CONTROL_POWER, t);
    if (set)
        v->limit_w = set->set == SET_STOCK ? c->tdp_w : MAX_OF(c->min_w, MIN_OF(c->max_w, (double)set->low / 1000));
    v->throttle = 0;

    /* A little drawing raises the clocks a little. */
    double want = context ? 1 : MIN_OF(1.0, v->load.util * 4);
    v->busy = context || v->load.util > 0.05;
    double boost = 0.93 - 0.0012 * MAX_OF(0.0, b->sink_c - 40);
    double clock = c->clock_idle + (c->clock_max * boost - c->clock_idle) * want, locked = 1;
    const struct sim_change *lock = sim_setting(w, gpu, CONTROL_CLOCKS, t);
    if (lock && lock->set == SET_NUMBERS) {
        clock = MAX_OF(clock, MIN_OF((double)lock->low, c->clock_max));
        locked = MIN_OF(1.0, MAX_OF((double)lock->high, c->clock_idle) / clock);
    }
    if (v->load.util < 0.005)
        v->throttle |= THROTTLE_IDLE;

    double held_w = (context || (lock && (double)lock->low > c->clock_idle * 2)) && v->load.util < 0.02
                        ? 0.06 * c->tdp_w * pow(locked, CLOCK_POWER)
                        : 0;
    double video_w = 0.05 * c->tdp_w * (v->load.encode + v->load.decode);
    double base_w = c->idle_w * (1 + 0.02 * sim_noise(w->seed, (uint64_t)gpu, SALT_ENERGY, t, 4)) + held_w + video_w;
    double full_w = (c->tdp_w - c->idle_w) * v->load.power;
    double scale = locked;
    if (b->clock_cap < 0.999 && b->clock_cap < locked) {
        scale = b->clock_cap;
        v->throttle |= THROTTLE_SW_THERMAL;
    }
    double unchanged = MIN_OF(b->clock_cap, scale_within(full_w, usual_w - base_w));
    double spare_w = v->limit_w - base_w, working_w = scale < 1 ? full_w * pow(scale, CLOCK_POWER) : full_w;
    if (working_w > spare_w) {
        scale = scale_within(full_w, spare_w);
        working_w = full_w * pow(scale, CLOCK_POWER);
        v->throttle |= THROTTLE_POWER_CAP;
    }
    v->speed = set || lock ? scale / unchanged : 1;
    v->power_w = base_w + working_w;
    v->clock_mhz = MAX_OF(c->clock_idle, clock * scale);
    v->mem_clock_mhz = v->busy ? c->mem_clock_max : c->mem_clock_idle;
    v->die_c = b->sink_c + v->power_w * c->die_k_per_w;
    if (v->die_c >= c->slowdown + 1)
        v->throttle |= THROTTLE_HW_THERMAL | THROTTLE_HW_SLOWDOWN;
}

static void view(const struct body *b, const struct sim_world *w, int gpu, double t, struct body_view *v)
{
    if (sim_has_trouble(w, TROUBLE_LOST, gpu, t, NULL, NULL) || sim_has_trouble(w, TROUBLE_ASLEEP, gpu, t, NULL, NULL)) {
        v->share_count = 0;
        v->load = (struct sim_load){0};
    } else {
        v->share_count = sim_loads(w, gpu, t, v->shares, &v->load);
    }
    view_power(b, w, gpu, t, v);
    double g = conductance(w, gpu, t, b->fan);
    v->ambient_c = ambient(w, gpu, t);
    v->sink_c = b->sink_c;
    v->final_c = v->ambient_c + v->power_w * (1 / g + w->card[gpu]->die_k_per_w);
    v->fan = b->fan;
    v->fan_set = b->fan_set;
    v->energy_j = b->energy_j;
    v->busy_s = b->busy_s;
    v->slowed_power_s = b->slowed_power_s;
    v->slowed_heat_s = b->slowed_heat_s;
    v->lost_s = b->lost_s;
}

/* Advances from t to t + dt with the conditions at t. */
static void body_step(struct body *b, const struct sim_world *w, int gpu, double t, double dt)
{
    struct body_view v;
    view(b, w, gpu, t, &v);
    double g = conductance(w, gpu, t, b->fan);
    double settles_c = v.ambient_c + v.power_w / g;
    b->sink_c = settles_c + (b->sink_c - settles_c) * exp(-g * dt / w->card[gpu]->capacity);
    b->energy_j += v.power_w * dt;
    b->busy_s += v.load.util * dt;
    if (v.throttle & THROTTLE_POWER_CAP)
        b->slowed_power_s += dt;
    if (v.throttle & THROTTLE_HOT)
        b->slowed_heat_s += dt;
    b->lost_s += (1 - v.speed) * dt;
    step_fan(b, w, gpu, t, v.die_c, dt);
    step_clock_cap(b, w->card[gpu], v.die_c, dt);
}

double body_energy_start(const struct sim_world *w, int gpu)
{
    return 1e6 * (1 + 90 * sim_chance(w->seed, (uint64_t)gpu, SALT_ENERGY, 1));
}

void body_init(struct body *b, const struct sim_world *w, int gpu)
{
    const struct sim_card *c = w->card[gpu];
    *b = (struct body){.clock_cap = 1, .energy_j = body_energy_start(w, gpu)};
    if (c->fans && !c->fan_stops)
        b->fan = b->fan_set = 0.3;
    b->sink_c = ambient(w, gpu, 0) + c->idle_w / conductance(w, gpu, 0, b->fan);
}

void body_at(struct body *b, const struct sim_world *w, int gpu, double t, struct body_view *ret)
{
    int64_t second = (int64_t)floor(t);
    if (b->second > second)
        body_init(b, w, gpu);
    for (; b->second < second; b->second++)
        body_step(b, w, gpu, (double)b->second, 1);
    struct body now = *b;
    if (t > (double)second)
        body_step(&now, w, gpu, (double)second, t - (double)second);
    view(&now, w, gpu, t, ret);
}
