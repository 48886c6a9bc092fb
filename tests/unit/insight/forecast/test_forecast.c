/* SPDX-License-Identifier: Apache-2.0
 * Courses over time and what a forecast must say about them; what must not change it; how often its intervals hold.
 */
#include "test.h"

#include <math.h>

#include "base/cleanup.h"
#include "insight/forecast/forecast.h"
#include "sim_snapshot.h"

#define GIB 1073741824.0

/* A card whose readings a test sets as functions of the time. */
struct machine {
    struct forecast_memory *memory;
    struct snapshot *last;
    double t, interval;
    double room, limit_c;
};

struct moment {
    double used, temp, power;
    int pids[4];
    double held[4];
    bool lost, blind;
    double crowd; /* not 0: a hundred processes more, the last of which holds this much */
};

static void start(struct machine *m, double interval)
{
    *m = (struct machine){.memory = forecast_memory_new(), .interval = interval, .room = 24 * GIB, .limit_c = 90};
    assert_non_null(m->memory);
}

static void stop(struct machine *m)
{
    snapshot_unref(m->last);
    forecast_memory_free(m->memory);
}

static void see(struct machine *m, const struct moment *now)
{
    snapshot_unref(m->last);
    struct snapshot *s = m->last = snapshot_new(1);
    struct gpu *g = &s->gpus[0];
    s->taken.ns = (int64_t)((1000 + m->t) * 1e9);
    s->taken_at.ms = 1800000000000 + (int64_t)(m->t * 1000);
    str_copy(g->id.uuid, sizeof g->id.uuid, STR("GPU-1"));
    if (now->lost) {
        gpu_mark_state(g, GPU_LOST, "fell off the bus");
    } else if (!now->blind) {
        g->mem_total_bytes = reading_ok((int64_t)m->room);
        g->mem_used_bytes = reading_ok((int64_t)now->used);
        g->mem_free_bytes = reading_ok((int64_t)(m->room - now->used));
        g->temp_mdegc = reading_ok((int64_t)(round(now->temp) * 1000));
        g->temp_limit_mdegc = reading_ok((int64_t)(m->limit_c * 1000));
        g->power_mw = reading_ok((int64_t)(now->power * 1000));
        g->power_limit_mw = reading_ok(450000);
        g->processes_state = READING_OK;
        for (int i = 0; i < 4 && now->pids[i]; i++) {
            struct process *p = gpu_add_process(g, now->pids[i]);
            p->start_key = 7;
            p->mem_bytes = reading_ok((int64_t)now->held[i]);
            str_copy(p->name, sizeof p->name, STR("python3"));
        }
        for (int i = 0; now->crowd > 0 && i < 100; i++)
            gpu_add_process(g, 1000 + i)->mem_bytes = reading_ok((int64_t)(i == 99 ? now->crowd : 0.02 * GIB));
    }
    assert_true(forecast_see(m->memory, s));
    m->t += m->interval;
}

static struct forecast_gpu ask(struct machine *m)
{
    struct forecast *f = forecast_make(m->memory, m->last);
    assert_non_null(f);
    assert_int_equal(f->count, 1);
    struct forecast_gpu g = f->gpus[0];
    forecast_free(f);
    return g;
}

/* Noise that is the same on every run. */
static double noise(uint64_t seed, int i)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15ULL + (uint64_t)i * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53 - 0.5;
}

/* ---- memory ---- */

static void a_leak_has_a_time_an_interval_and_a_name(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 60; i++) {
        double leaked = 0.01 * GIB * 5 * i; /* 0.01 GiB a second */
        see(&m, &(struct moment){
                    .used = 10 * GIB + leaked, .temp = 50, .power = 100, .pids = {11, 12}, .held = {4 * GIB, 6 * GIB + leaked}});
    }
    struct forecast_gpu g = ask(&m);
    double truth = (24 * GIB * FORECAST_FULL_SHARE - 10 * GIB) / (0.01 * GIB) - 59 * 5;
    assert_int_equal(g.vram.when.verdict, FORECAST_EXPECTED);
    assert_true(fabs(g.vram.when.likely_s - truth) < 0.03 * truth);
    assert_true(g.vram.when.earliest_s <= truth && truth <= g.vram.when.latest_s);
    assert_int_equal(g.vram.pid, 12);
    assert_string_equal(g.vram.name, "python3");
    assert_true(fabs(g.vram.bytes_per_s - 0.01 * GIB) < 0.0002 * GIB);
    stop(&m);
}

static void constant_and_falling_memory_have_no_trend(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct machine m;
        start(&m, 5);
        for (int i = 0; i < 400; i++) {
            double used = kind == 0 ? 12 * GIB : kind == 1 ? 12 * GIB + 0.2 * GIB * noise(3, i) : 20 * GIB - 0.005 * GIB * i;
            see(&m, &(struct moment){.used = used, .temp = 50, .power = 100});
            if (i > 30)
                assert_int_equal(ask(&m).vram.when.verdict, FORECAST_NO_TREND);
        }
        stop(&m);
    }
}

static void noise_close_below_the_limit_is_no_trend(void **state)
{
    (void)state;
    int alarms = 0, asked = 0;
    for (uint64_t seed = 9101; seed < 9111; seed++) {
        struct machine m;
        start(&m, 5);
        for (int i = 0; i < 400; i++) {
            see(&m, &(struct moment){.used = 22.5 * GIB + 0.8 * GIB * noise(seed, i), .temp = 50, .power = 100});
            asked += i >= 12;
            alarms += i >= 12 && ask(&m).vram.when.verdict == FORECAST_EXPECTED;
        }
        stop(&m);
    }
    assert_true(alarms < 0.005 * asked);
}

static void a_leak_that_begins_after_hours_of_rest_is_seen_soon(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 2160; i++) /* three hours */
        see(&m, &(struct moment){.used = 8 * GIB + 0.05 * GIB * noise(4, i), .temp = 50, .power = 100});
    assert_int_equal(ask(&m).vram.when.verdict, FORECAST_NO_TREND);
    int since = 0;
    for (; since < 60 && ask(&m).vram.when.verdict != FORECAST_EXPECTED; since++)
        see(&m, &(struct moment){.used = 8 * GIB + 0.1 * GIB * since + 0.05 * GIB * noise(4, since), .temp = 50, .power = 100});
    assert_true(since < 48); /* four minutes of thirteen */
    struct forecast_gpu g = ask(&m);
    assert_true(fabs(g.vram.bytes_per_s - 0.02 * GIB) < 0.004 * GIB);
    stop(&m);
}

static void a_load_is_not_a_leak(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 1);
    /* At once, and bit by bit over half a minute, then nothing more. */
    for (int i = 0; i < 240; i++) {
        double held = i < 60 ? 0 : i < 90 ? 12 * GIB * (i - 59) / 30 : 12 * GIB;
        see(&m, &(struct moment){
                    .used = 8 * GIB + held, .temp = 50, .power = 100, .pids = {5, held > 0 ? 6 : 0}, .held = {8 * GIB, held}});
        assert_int_not_equal(ask(&m).vram.when.verdict, FORECAST_EXPECTED);
    }
    assert_int_equal(ask(&m).vram.when.verdict, FORECAST_NO_TREND);
    stop(&m);
}

static void a_load_cuts_and_the_leak_behind_it_is_measured_alone(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 120; i++) {
        double used = i < 60 ? 4 * GIB : 14 * GIB + 0.02 * GIB * 5 * (i - 60);
        see(&m, &(struct moment){.used = used, .temp = 50, .power = 100});
    }
    struct forecast_gpu g = ask(&m);
    double truth = (24 * GIB * FORECAST_FULL_SHARE - 14 * GIB) / (0.02 * GIB) - 59 * 5;
    assert_int_equal(g.vram.when.verdict, FORECAST_EXPECTED);
    assert_true(fabs(g.vram.when.likely_s - truth) < 0.05 * truth);
    assert_true(g.vram.when.basis_s < 310);
    stop(&m);
}

static void a_sawtooth_is_no_trend_until_its_peaks_rise(void **state)
{
    (void)state;
    for (int rising = 0; rising < 2; rising++) {
        struct machine m;
        start(&m, 5);
        for (int i = 0; i < 240; i++) {
            double tooth = 5 * GIB * (i % 24) / 24, leak = rising ? 0.03 * GIB * i : 0;
            see(&m, &(struct moment){
                        .used = 6 * GIB + tooth + leak, .temp = 50, .power = 100, .pids = {9}, .held = {6 * GIB + tooth + leak}});
            if (i > 24 && !rising)
                assert_int_not_equal(ask(&m).vram.when.verdict, FORECAST_EXPECTED);
        }
        struct forecast_gpu g = ask(&m);
        assert_int_equal(g.vram.when.verdict, rising ? FORECAST_EXPECTED : FORECAST_NO_TREND);
        /* The peak (5 GiB above) meets the limit when the leak has made up for the rest. */
        double truth = (24 * GIB * FORECAST_FULL_SHARE - 11 * GIB) / (0.03 * GIB / 5) - 239 * 5;
        if (rising)
            assert_true(g.vram.when.earliest_s < truth + 120 && truth < g.vram.when.latest_s + 120);
        stop(&m);
    }
}

static void a_leak_is_followed_while_others_come_and_go(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 200; i++) {
        bool guest = i % 10 >= 6; /* comes and goes so often that the card alone shows nothing */
        double leak = 0.02 * GIB * i, used = 6 * GIB + leak + (guest ? 2 * GIB : 0);
        see(&m,
            &(struct moment){
                .used = used, .temp = 50, .power = 100, .pids = {3, guest ? 100 + i / 10 : 0}, .held = {6 * GIB + leak, 2 * GIB}});
    }
    struct forecast_gpu g = ask(&m);
    assert_int_equal(g.vram.when.verdict, FORECAST_EXPECTED);
    assert_int_equal(g.vram.pid, 3);
    assert_true(fabs(g.vram.bytes_per_s - 0.02 * GIB / 5) < 0.0005 * GIB);
    stop(&m);
}

static void full_is_full(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 20; i++)
        see(&m, &(struct moment){.used = 23.95 * GIB, .temp = 50, .power = 100});
    assert_int_equal(ask(&m).vram.when.verdict, FORECAST_REACHED);
    stop(&m);
}

static void a_forecast_reaches_no_further_than_its_data(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 30; i++) /* 2.5 minutes of a leak that takes a day */
        see(&m, &(struct moment){.used = 4 * GIB + 0.002 * GIB * i, .temp = 50, .power = 100});
    assert_int_not_equal(ask(&m).vram.when.verdict, FORECAST_EXPECTED);
    stop(&m);
}

/* Twice the card with twice the memory in use, a later hour, the same noise: the same answer. */
static void scale_and_shift_change_nothing(void **state)
{
    (void)state;
    double said[4];
    for (int variant = 0; variant < 4; variant++) {
        struct machine m;
        start(&m, 5);
        double scale = variant & 1 ? 4 : 1;
        m.room *= scale;
        m.t = variant & 2 ? 86400 : 0;
        for (int i = 0; i < 100; i++)
            see(&m,
                &(struct moment){.used = scale * (9 * GIB + 0.06 * GIB * i + 0.1 * GIB * noise(5, i)), .temp = 50, .power = 100});
        struct forecast_gpu g = ask(&m);
        assert_int_equal(g.vram.when.verdict, FORECAST_EXPECTED);
        said[variant] = g.vram.when.likely_s;
        stop(&m);
    }
    for (int i = 1; i < 4; i++)
        assert_true(fabs(said[i] - said[0]) < 0.01 * said[0]);
}

/* Seeds of their own: neither those the constants were chosen by nor those of the backtest. */
static void the_interval_holds_the_truth_in_four_of_five_cases(void **state)
{
    (void)state;
    int held = 0, said = 0;
    for (int seed = 9001; seed < 9061; seed++) {
        struct machine m;
        start(&m, 5);
        double rate = (0.02 + 0.06 * (noise(77, seed) + 0.5)) * GIB, level = 6 * GIB, swing = 0.3 * GIB * (noise(78, seed) + 0.6);
        double limit = 24 * GIB * FORECAST_FULL_SHARE, full = -1, asked[8];
        struct forecast_when answers[8];
        int count = 0;
        for (int i = 0; i < 2000 && full < 0; i++) {
            double wobble = swing * (0.5 * noise((uint64_t)seed, i) + sin(i / 5.0 + seed));
            double used = level + rate * i + wobble;
            if (used >= limit)
                full = m.t;
            see(&m, &(struct moment){.used = fmin(used, 24 * GIB), .temp = 50, .power = 100});
            if (i % 60 == 59 && count < 8 && full < 0) {
                asked[count] = m.t - m.interval;
                answers[count++] = ask(&m).vram.when;
            }
        }
        for (int k = 0; k < count; k++) {
            double truth = full - asked[k];
            if (answers[k].verdict != FORECAST_EXPECTED)
                continue;
            said++;
            held += truth >= answers[k].earliest_s - 5 && truth <= answers[k].latest_s + 5;
        }
        stop(&m);
    }
    assert_true(said > 100);
    assert_true(held >= 0.8 * said);
}

/* ---- what happens to cards and clocks ---- */

static void absent_readings_are_not_zero(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 60; i++)
        see(&m, &(struct moment){.blind = true});
    struct forecast_gpu g = ask(&m);
    assert_int_equal(g.vram.when.verdict, FORECAST_UNKNOWN);
    assert_int_equal(g.heat.when.verdict, FORECAST_UNKNOWN);
    assert_true(isnan(g.heat.final_c));
    stop(&m);
}

static void a_card_that_was_lost_begins_anew(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 100; i++)
        see(&m, &(struct moment){.used = 4 * GIB + 0.05 * GIB * i, .temp = 50, .power = 100});
    assert_int_equal(ask(&m).vram.when.verdict, FORECAST_EXPECTED);
    see(&m, &(struct moment){.lost = true});
    assert_int_equal(ask(&m).vram.when.verdict, FORECAST_UNKNOWN);
    see(&m, &(struct moment){.used = 9 * GIB, .temp = 50, .power = 100});
    assert_int_equal(ask(&m).vram.when.verdict, FORECAST_UNKNOWN);
    for (int i = 0; i < 40; i++)
        see(&m, &(struct moment){.used = 9 * GIB, .temp = 50, .power = 100});
    assert_int_equal(ask(&m).vram.when.verdict, FORECAST_NO_TREND);
    stop(&m);
}

static void a_clock_that_is_set_does_no_harm(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 100; i++) {
        see(&m, &(struct moment){.used = 4 * GIB + 0.05 * GIB * i, .temp = 50, .power = 100});
        m.last->taken_at.ms += i > 50 ? 7200000 : 0; /* the wall clock alone jumps by two hours */
    }
    struct forecast_gpu g = ask(&m);
    assert_int_equal(g.vram.when.verdict, FORECAST_EXPECTED);
    assert_true(fabs(g.vram.bytes_per_s - 0.01 * GIB) < 0.001 * GIB);
    /* A monotonic clock that goes back is another machine: begin anew. */
    m.t = -900;
    see(&m, &(struct moment){.used = 9 * GIB, .temp = 50, .power = 100});
    assert_int_equal(ask(&m).vram.when.verdict, FORECAST_UNKNOWN);
    stop(&m);
}

static void a_gap_cuts(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 40; i++)
        see(&m, &(struct moment){.used = 4 * GIB, .temp = 50, .power = 100});
    m.t += 3600;
    see(&m, &(struct moment){.used = 4.2 * GIB, .temp = 50, .power = 100});
    assert_int_equal(ask(&m).vram.when.verdict, FORECAST_UNKNOWN);
    stop(&m);
}

static void more_processes_than_are_followed_do_no_harm(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 60; i++) {
        double leak = 0.05 * GIB * i;
        see(&m, &(struct moment){.used = 10 * GIB + leak, .temp = 50, .power = 100, .crowd = 5 * GIB + leak});
    }
    assert_int_equal(ask(&m).vram.pid, 1099);
    stop(&m);
}

/* ---- heat ---- */

static double approach(double from, double to, double tau, double t)
{
    return to + (from - to) * exp(-t / tau);
}

static void heat_that_settles_below_the_limit_is_never(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 60; i++) {
        see(&m, &(struct moment){.used = GIB, .temp = approach(45, 78, 60, 5 * i), .power = 400});
        assert_int_not_equal(ask(&m).heat.when.verdict, FORECAST_EXPECTED);
    }
    struct forecast_gpu g = ask(&m);
    assert_int_equal(g.heat.when.verdict, FORECAST_NEVER);
    assert_true(fabs(g.heat.final_c - 78) < 2);
    stop(&m);
}

static void the_start_of_a_load_raises_no_alarm(void **state)
{
    (void)state;
    for (double tau = 30; tau <= 240; tau += 30)
        for (double final = 70; final <= 82; final += 4) {
            struct machine m;
            start(&m, 5);
            for (int i = 0; i < 24; i++)
                see(&m, &(struct moment){.used = GIB, .temp = 35, .power = 30});
            /* The chip at once, the cooler behind it. */
            for (int i = 0; i < 100; i++) {
                see(&m, &(struct moment){.used = GIB, .temp = approach(48, final, tau, 5 * i) + noise(6, i), .power = 400});
                struct forecast_when when = ask(&m).heat.when;
                if (when.verdict == FORECAST_EXPECTED)
                    fail_msg("tau %g, final %g, after %d s: %s", tau, final, 5 * i, when.reason);
            }
            stop(&m);
        }
}

static void heat_that_goes_beyond_the_limit_has_a_time(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    /* Settled at 70; the cooling fails, and it would end at 120. */
    for (int i = 0; i < 60; i++)
        see(&m, &(struct moment){.used = GIB, .temp = 70, .power = 400});
    assert_int_equal(ask(&m).heat.when.verdict, FORECAST_NEVER);
    double began = m.t, limit_at = began + 100 * log((120.0 - 70) / (120 - 90));
    bool said = false;
    while (m.t < limit_at - 10) {
        see(&m, &(struct moment){.used = GIB, .temp = approach(70, 120, 100, m.t - began), .power = 400});
        struct forecast_gpu g = ask(&m);
        if (g.heat.when.verdict != FORECAST_EXPECTED)
            continue;
        said = true;
        /* No GPU gets to 120 °C with a limit of 90: neither the curve's end nor a guess of it is told. */
        assert_true(isnan(g.heat.final_c) || g.heat.final_c <= 100);
        assert_true(strstr(g.heat.when.reason, "would pass its limit of 90 °C") ||
                    strstr(g.heat.when.reason, "heading for about 9"));
        double truth = limit_at - (m.t - m.interval);
        assert_true(g.heat.when.earliest_s <= truth + 5 && truth <= g.heat.when.latest_s + 5);
    }
    assert_true(said);
    stop(&m);
}

static void heat_at_the_limit_is_reached_and_falling_heat_is_never(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 20; i++)
        see(&m, &(struct moment){.used = GIB, .temp = 91, .power = 400});
    assert_int_equal(ask(&m).heat.when.verdict, FORECAST_REACHED);
    for (int i = 0; i < 40; i++)
        see(&m, &(struct moment){.used = GIB, .temp = approach(88, 40, 60, 5 * i), .power = 60});
    assert_int_equal(ask(&m).heat.when.verdict, FORECAST_NEVER);
    stop(&m);
}

static void a_card_without_a_limit_is_not_known(void **state)
{
    (void)state;
    struct machine m;
    start(&m, 5);
    for (int i = 0; i < 20; i++) {
        see(&m, &(struct moment){.used = GIB, .temp = 60, .power = 400});
        m.last->gpus[0].temp_limit_mdegc = reading_absent(READING_UNSUPPORTED);
    }
    assert_int_equal(ask(&m).heat.when.verdict, FORECAST_UNKNOWN);
    stop(&m);
}

/* ---- the simulator's cards, with seeds of their own ---- */

static void verdicts_on_simulated_machines(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        enum forecast_verdict vram;
        int heat; /* -1: whatever */
    } rows[] = {
        {"scenario=vram-leak,start=60,seed=71", FORECAST_EXPECTED, -1},
        {"scenario=slow-leak,start=1800,seed=72", FORECAST_EXPECTED, -1},
        {"scenario=training,gpus=1,start=60,seed=73", FORECAST_NO_TREND, FORECAST_NEVER},
        {"scenario=held-context,start=60,seed=74", FORECAST_NO_TREND, FORECAST_NEVER},
        {"scenario=idle,start=60,seed=75", FORECAST_NO_TREND, FORECAST_NEVER},
        {"scenario=vram-sawtooth,start=60,seed=76", FORECAST_NO_TREND, -1},
        {"scenario=inference,start=60,seed=77", FORECAST_NO_TREND, -1},
        {"scenario=overheat,start=200,seed=78", FORECAST_NO_TREND, FORECAST_REACHED},
        {"scenario=gpu-lost,start=0,seed=79,fault=lost@0:400", FORECAST_UNKNOWN, FORECAST_UNKNOWN},
        {"scenario=asleep,start=0,seed=80,fault=asleep", FORECAST_UNKNOWN, FORECAST_UNKNOWN},
    };
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        struct sim_machine sim;
        sim_machine_start(&sim, rows[r].params);
        struct forecast_memory *memory = forecast_memory_new();
        struct snapshot *s = NULL;
        for (int i = 0; i < 84; i++) { /* seven minutes */
            snapshot_unref(s);
            s = sim_machine_sample(&sim, GROUP_ALL);
            forecast_see(memory, s);
            clock_manual_advance_ms(&sim.clock, 5000);
        }
        struct forecast *f = forecast_make(memory, s);
        if (f->gpus[0].vram.when.verdict != rows[r].vram ||
            (rows[r].heat >= 0 && (int)f->gpus[0].heat.when.verdict != rows[r].heat))
            fail_msg("%s: memory %s (%s), temperature %s (%s)", rows[r].params, forecast_verdict_name(f->gpus[0].vram.when.verdict),
                     f->gpus[0].vram.when.reason, forecast_verdict_name(f->gpus[0].heat.when.verdict), f->gpus[0].heat.when.reason);
        forecast_free(f);
        forecast_memory_free(memory);
        snapshot_unref(s);
        sim_machine_stop(&sim);
    }
}

/* ---- the store ---- */

static struct forecast_store store_after(double hours, double bytes_per_hour, double cap, double disk_free, double disk_loss,
                                         int64_t kept_ms)
{
    struct forecast_memory *memory = forecast_memory_new();
    struct snapshot *s = snapshot_new(0);
    for (int i = 0; i <= hours * 120; i++)
        forecast_see_store(memory,
                           &(struct forecast_store_facts){.at = {(int64_t)((1 + 30.0 * i) * 1e9)},
                                                          .used_bytes = reading_ok((int64_t)(1e9 + bytes_per_hour * i / 120)),
                                                          .cap_bytes = reading_ok((int64_t)cap),
                                                          .disk_free_bytes = reading_ok((int64_t)(disk_free - disk_loss * i / 120)),
                                                          .retention_ms = 7 * 86400000LL,
                                                          .kept_ms = kept_ms});
    struct forecast *f = forecast_make(memory, s);
    assert_true(f->has_store);
    struct forecast_store store = f->store;
    forecast_free(f);
    snapshot_unref(s);
    forecast_memory_free(memory);
    return store;
}

static void a_store_that_grows_hits_its_cap(void **state)
{
    (void)state;
    struct forecast_store s = store_after(10, 50e6, 2e9, 1e12, 0, 86400000);
    assert_int_equal(s.when.verdict, FORECAST_EXPECTED);
    assert_false(s.of_disk);
    double truth = (2e9 - 1e9 - 500e6) / 50e6 * 3600;
    assert_true(s.when.earliest_s <= truth && truth <= s.when.latest_s);
}

static void a_store_that_is_cleaned_up_in_time_never_does(void **state)
{
    (void)state;
    assert_int_equal(store_after(10, 1e6, 4e9, 1e12, 0, 3 * 86400000LL).when.verdict, FORECAST_NEVER);
    assert_int_equal(store_after(10, 0, 4e9, 1e12, 0, 3 * 86400000LL).when.verdict, FORECAST_NO_TREND);
    assert_int_equal(store_after(10, 1e6, 0, 1e12, 0, 0).when.verdict, FORECAST_NEVER);
}

static void a_disk_that_fills_up_comes_first(void **state)
{
    (void)state;
    struct forecast_store s = store_after(10, 1e6, 4e9, 100e9, 8e9, 86400000);
    assert_int_equal(s.when.verdict, FORECAST_EXPECTED);
    assert_true(s.of_disk);
    double truth = 20e9 / 8e9 * 3600;
    assert_true(s.when.earliest_s <= truth && truth <= s.when.latest_s);
}

static void only_what_is_expected_or_there_has_a_time(void **state)
{
    (void)state;
    static const struct {
        enum forecast_verdict verdict;
        struct reading seconds;
    } cases[] = {{FORECAST_REACHED, {0, READING_OK}},
                 {FORECAST_EXPECTED, {90, READING_OK}},
                 {FORECAST_NEVER, {0, READING_UNSUPPORTED}},
                 {FORECAST_NO_TREND, {0, READING_UNSUPPORTED}},
                 {FORECAST_UNKNOWN, {0, READING_PENDING}}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reading r = forecast_seconds(&(struct forecast_when){.verdict = cases[i].verdict, .likely_s = 90});
        assert_int_equal(r.state, cases[i].seconds.state);
        assert_int_equal(r.value, cases[i].seconds.value);
    }
}

static void a_store_at_its_cap_is_there(void **state)
{
    (void)state;
    assert_int_equal(store_after(1, 0, 1e9, 1e12, 0, 86400000).when.verdict, FORECAST_REACHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_leak_has_a_time_an_interval_and_a_name),
        TEST(constant_and_falling_memory_have_no_trend),
        TEST(noise_close_below_the_limit_is_no_trend),
        TEST(a_leak_that_begins_after_hours_of_rest_is_seen_soon),
        TEST(a_load_is_not_a_leak),
        TEST(a_load_cuts_and_the_leak_behind_it_is_measured_alone),
        TEST(a_sawtooth_is_no_trend_until_its_peaks_rise),
        TEST(a_leak_is_followed_while_others_come_and_go),
        TEST(full_is_full),
        TEST(a_forecast_reaches_no_further_than_its_data),
        TEST(scale_and_shift_change_nothing),
        TEST(the_interval_holds_the_truth_in_four_of_five_cases),
        TEST(absent_readings_are_not_zero),
        TEST(a_card_that_was_lost_begins_anew),
        TEST(a_clock_that_is_set_does_no_harm),
        TEST(a_gap_cuts),
        TEST(more_processes_than_are_followed_do_no_harm),
        TEST(heat_that_settles_below_the_limit_is_never),
        TEST(the_start_of_a_load_raises_no_alarm),
        TEST(heat_that_goes_beyond_the_limit_has_a_time),
        TEST(heat_at_the_limit_is_reached_and_falling_heat_is_never),
        TEST(a_card_without_a_limit_is_not_known),
        TEST(verdicts_on_simulated_machines),
        TEST(a_store_that_grows_hits_its_cap),
        TEST(a_store_that_is_cleaned_up_in_time_never_does),
        TEST(a_disk_that_fills_up_comes_first),
        TEST(a_store_at_its_cap_is_there),
        TEST(only_what_is_expected_or_there_has_a_time),
    };
    return RUN_TESTS(tests);
}
