/* SPDX-License-Identifier: Apache-2.0
 * Months of minutes, made up, and what is learned from them: a clean GPU, one that gathers dust, a new fan curve, another power
 * limit, a warm summer, too little history.
 */
#include "insight/baseline/baseline.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "test.h"

enum { FIRST_DAY = 20500 };

struct course {
    int days, limit_day, fan_day;  /* from that day on another limit or fan curve; 0: never */
    double dust, season, fan_dust; /* degrees a day at work; at work and at rest; permille of fan a day */
    int every;                     /* works on every so many-th day; 0: each */
    bool air;                      /* a sensor has the air around the host: 22 °C and the season */
    bool all_day;                  /* never idle, as in a data center */
};

static int64_t noise(unsigned *seed, int64_t most)
{
    *seed = *seed * 1103515245u + 12345u;
    return (int64_t)(*seed >> 8) % (2 * most + 1) - most;
}

/* A day: idle but for four hours of work at 300 W from 18:00 on, warming up and cooling down within minutes. */
static void learn_day(struct baseline_learner *l, const struct course *c, int d, unsigned *seed)
{
    int64_t daily = noise(seed, 1000);
    double heat = 30;
    for (int m = 0; m < 1440; m++) {
        bool work = c->all_day || (m >= 18 * 60 && m < 22 * 60 && (!c->every || d % c->every == 0));
        bool other_limit = c->limit_day && d >= c->limit_day, other_fan = c->fan_day && d >= c->fan_day;
        int64_t limit = other_limit ? 300000 : 450000, power = work ? (other_limit ? 240000 : 300000) : 22000;
        double goal = (work ? (other_limit ? 64 : 72) + c->dust * d - (other_fan ? 6 : 0) : 34) + c->season * d;
        heat += (goal - heat) / 3;
        int64_t temp = (int64_t)(heat * 1000) + daily + noise(seed, 500);
        int64_t fan = heat < 45 ? 0 : (int64_t)((heat - 30) * 12 + c->fan_dust * d) + (other_fan ? 250 : 0);
        struct baseline_row row = {.at = {(FIRST_DAY + d) * (int64_t)DAY_MS + m * 60000LL},
                                   .minutes = 1,
                                   .power_mw = reading_ok(power + noise(seed, 4000)),
                                   .power_limit_mw = reading_ok(limit),
                                   .temp_mdegc = reading_ok(temp),
                                   .fan_permille = reading_ok(fan),
                                   .util_permille = reading_ok(work ? 980 : 0),
                                   .clock_graphics_khz = reading_ok(work ? 2500000 : 210000),
                                   .clock_memory_khz = reading_ok(work ? 10501000 : 405000)};
        if (c->air)
            row.ambient_mdegc = reading_ok((int64_t)((22 + c->season * d) * 1000));
        baseline_learn(l, &row);
    }
}

static struct baseline learn(struct course c)
{
    struct baseline b;
    unsigned seed = 7;
    struct baseline_learner *l = baseline_learner_new(0);
    assert_non_null(l);
    for (int d = 0; d < c.days; d++)
        learn_day(l, &c, d, &seed);
    baseline_conclude(l, &b);
    baseline_learner_free(l);
    return b;
}

static struct reading air_now; /* absent */

static struct usual judge(const struct baseline *b, int64_t power_mw, int64_t temp_mdegc, int64_t util)
{
    static struct gpu gpu;
    struct usual u;
    gpu = (struct gpu){.state = GPU_OK};
    gpu.power_mw = reading_ok(power_mw);
    gpu.power_limit_mw = reading_ok(b->power_limit_mw);
    gpu.temp_mdegc = reading_ok(temp_mdegc);
    gpu.util_permille = reading_ok(util);
    baseline_judge(b, &gpu, 19, air_now, &u);
    return u;
}

#define NEAR(value, wanted, room) assert_in_range((value), (wanted) - (room), (wanted) + (room))

static void a_clean_gpu_has_a_usual_temperature(void **state)
{
    (void)state;
    struct baseline b = learn((struct course){.days = 30});
    struct usual u = judge(&b, 300000, 93000, 980);
    assert_int_equal(u.days, 30);
    assert_true(u.confidence >= 0.9);
    NEAR(u.temp_mdegc.value, 72000, 1500);
    assert_true(u.temp_high_mdegc.value < 74500 && u.temp_low_mdegc.value > 70000);
    assert_true(u.too_hot);
    NEAR(u.idle_power_mw.value, 22000, 1000);
    assert_false(u.idle_excess);
    assert_true(u.util_permille.value > 900);
    assert_false(b.drift.rising);
    assert_int_equal(b.start, BASELINE_FIRST);
    assert_int_equal(b.idle_clock_memory_khz.typical, 405000);
    assert_false(judge(&b, 300000, 76000, 980).too_hot);
    assert_true(judge(&b, 60000, 45000, 10).idle_excess);
    assert_false(judge(&b, 25000, 45000, 10).idle_excess);
}

static void warming_up_and_unknown_powers_say_nothing(void **state)
{
    (void)state;
    struct baseline b = learn((struct course){.days = 30});
    /* Nothing near 400 W was ever drawn for ten minutes. */
    struct usual u = judge(&b, 400000, 93000, 980);
    assert_int_equal(u.temp_mdegc.state, READING_UNREAD);
    assert_false(u.too_hot);
    /* 200 W neither, but it is no wonder to be cooler there than at 300 W. */
    u = judge(&b, 200000, 93000, 980);
    assert_true(u.too_hot && u.at_more_power && u.fan_permille.state != READING_OK);
    u = judge(&b, 300000, 93000, 980);
    assert_true(u.temp_low_mdegc.value > 69000); /* the minutes of warming up are not in it */
}

/* A quarter of an hour of work a day; it takes ten minutes to get warm. */
static void the_minutes_of_warming_up_do_not_count(void **state)
{
    (void)state;
    struct baseline b;
    struct baseline_learner *l = baseline_learner_new(0);
    for (int d = 0; d < 20; d++)
        for (int m = 0; m < 60; m++)
            baseline_learn(l, &(struct baseline_row){.at = {(FIRST_DAY + d) * (int64_t)DAY_MS + m * 60000LL},
                                                     .minutes = 1,
                                                     .power_mw = reading_ok(m < 15 ? 300000 : 20000),
                                                     .power_limit_mw = reading_ok(450000),
                                                     .temp_mdegc = reading_ok(m < 10 ? 40000 : 70000)});
    baseline_conclude(l, &b);
    baseline_learner_free(l);
    assert_int_equal(judge(&b, 300000, 70000, 980).temp_mdegc.value, 70000);
}

static void too_short_a_history_calls_nothing_usual(void **state)
{
    (void)state;
    struct baseline b = learn((struct course){.days = BASELINE_DAYS_NEEDED - 1});
    struct usual u = judge(&b, 300000, 99000, 980);
    assert_true(u.confidence <= 0);
    assert_int_equal(u.days, BASELINE_DAYS_NEEDED - 1);
    assert_false(u.too_hot);
    assert_int_equal(u.temp_mdegc.state, READING_UNREAD);
    assert_int_equal(u.idle_power_mw.state, READING_UNREAD);
    /* Many days, but work on few of them */
    b = learn((struct course){.days = 30, .every = 6});
    assert_false(judge(&b, 300000, 99000, 980).too_hot);
    baseline_judge(NULL, &(struct gpu){.state = GPU_OK}, 3, reading_absent(READING_UNREAD), &u);
    assert_int_equal(u.days, 0);
}

static void dust_is_a_slow_rise_at_the_same_power(void **state)
{
    (void)state;
    struct baseline b = learn((struct course){.days = 100, .dust = 2.0 / 30});
    assert_true(b.drift.rising);
    assert_false(b.drift.strong);
    NEAR(b.drift.mdegc_per_month, 2000, 250);
    NEAR(b.drift.power_mw, 300000, 3000);
    assert_int_equal(b.drift.since.ms, FIRST_DAY * (int64_t)DAY_MS);
    assert_int_equal(b.start, BASELINE_FIRST);
    b = learn((struct course){.days = 100, .dust = 4.0 / 30});
    assert_true(b.drift.strong);
    /* Six weeks are not enough to tell dust from weather. */
    b = learn((struct course){.days = 40, .dust = 4.0 / 30});
    assert_false(b.drift.rising);
}

static void a_fan_that_works_harder_each_month_is_dust_too(void **state)
{
    (void)state;
    struct baseline b = learn((struct course){.days = 100, .fan_dust = 2});
    assert_int_equal(b.start, BASELINE_FIRST);
    assert_true(b.drift.rising);
    NEAR(b.drift.fan_permille_per_month, 60, 10);
    assert_int_equal(b.drift.mdegc_per_month, 0);
}

static void a_warm_summer_is_not_dust(void **state)
{
    (void)state;
    struct baseline b = learn((struct course){.days = 100, .season = 2.0 / 30});
    assert_false(b.drift.rising);
}

static void a_sensor_of_the_air_tells_summer_from_dust_where_nothing_ever_idles(void **state)
{
    (void)state;
    struct course summer = {.days = 90, .season = 12.0 / 90, .all_day = true, .air = true};
    assert_false(learn(summer).drift.rising);
    summer.dust = 4.0 / 30;
    struct baseline dusty = learn(summer);
    assert_true(dusty.drift.strong && dusty.drift.air_known);
    NEAR(dusty.drift.mdegc_per_month, 4000, 400);
    summer.air = false;
    assert_true(learn(summer).drift.rising);
}

static void what_drifts_on_every_gpu_may_be_the_room(void **state)
{
    (void)state;
    static struct baselines all;
    struct usual u;
    char words[DRIFT_WORDS];
    struct snapshot *now = snapshot_new(2);
    assert_non_null(now);
    all = (struct baselines){.count = 2};
    for (int i = 0; i < 2; i++) {
        all.list[i] = learn((struct course){.days = 90, .season = 12.0 / 90, .all_day = true});
        snprintf(all.list[i].id.uuid, sizeof all.list[i].id.uuid, "GPU-%d", i);
        now->gpus[i].id = all.list[i].id;
    }
    baselines_judge(&all, now, &now->gpus[0], &u);
    assert_true(u.drift.rising && u.drift.elsewhere && !u.drift.strong);
    assert_non_null(strstr(baseline_drift_words(&u.drift, words), "other GPUs"));
    all.count = 1;
    baselines_judge(&all, now, &now->gpus[0], &u);
    assert_true(u.drift.rising && !u.drift.elsewhere && u.drift.strong);
    snapshot_unref(now);
}

static void a_warm_room_is_not_the_fault_of_the_cooling(void **state)
{
    (void)state;
    struct baseline b = learn((struct course){.days = 30, .season = 0.3, .air = true}),
                    blind = learn((struct course){.days = 30, .season = 0.3});
    air_now = reading_ok(31000);
    struct usual u = judge(&b, 300000, 81000, 980);
    assert_false(u.too_hot);
    NEAR(u.temp_mdegc.value, 81000, 1000);
    assert_int_equal(u.ambient_mdegc.value, 31000);
    air_now = reading_ok(22000); /* the same heat in cool air is another matter */
    u = judge(&b, 300000, 82000, 980);
    NEAR(u.temp_mdegc.value, 72000, 1000);
    assert_true(u.too_hot);
    /* Without the sensor now, or in the history, the days stand for the air. */
    u = judge(&blind, 300000, 82000, 980);
    assert_int_equal(u.ambient_mdegc.state, READING_UNREAD);
    assert_false(u.too_hot);
    air_now = (struct reading){0};
    u = judge(&b, 300000, 82000, 980);
    assert_int_equal(u.ambient_mdegc.state, READING_UNREAD);
    assert_false(u.too_hot);
}

static void a_new_fan_curve_starts_a_new_baseline(void **state)
{
    (void)state;
    struct baseline b = learn((struct course){.days = 60, .fan_day = 40});
    assert_int_equal(b.start, BASELINE_NEW_FAN_CURVE);
    assert_int_equal(b.since.ms, (FIRST_DAY + 40) * (int64_t)DAY_MS);
    struct usual u = judge(&b, 300000, 80000, 980);
    assert_int_equal(u.days, 20);
    NEAR(u.temp_mdegc.value, 66000, 1500);
    /* Just changed: nothing is usual yet */
    b = learn((struct course){.days = 44, .fan_day = 40});
    assert_int_equal(b.start, BASELINE_NEW_FAN_CURVE);
    assert_false(judge(&b, 300000, 99000, 980).too_hot);
}

static void another_power_limit_starts_a_new_baseline(void **state)
{
    (void)state;
    struct baseline b = learn((struct course){.days = 60, .limit_day = 45});
    assert_int_equal(b.start, BASELINE_NEW_LIMIT);
    assert_int_equal(b.power_limit_mw, 300000);
    assert_int_equal(b.since.ms, (FIRST_DAY + 45) * (int64_t)DAY_MS);
    struct usual u = judge(&b, 240000, 64000, 980);
    assert_int_equal(u.days, 15);
    NEAR(u.temp_mdegc.value, 64000, 1500);
    /* Still the old baseline, but the GPU has another limit by now */
    b = learn((struct course){.days = 30});
    static struct gpu gpu = {.state = GPU_OK};
    gpu.power_mw = reading_ok(300000);
    gpu.power_limit_mw = reading_ok(350000);
    gpu.temp_mdegc = reading_ok(95000);
    baseline_judge(&b, &gpu, 19, reading_absent(READING_UNREAD), &u);
    assert_false(u.too_hot);
}

static void hours_count_where_their_power_was_steady(void **state)
{
    (void)state;
    struct baseline b;
    struct baseline_learner *l = baseline_learner_new(0);
    for (int d = 0; d < 20; d++)
        for (int h = 0; h < 24; h++) {
            bool burst = h == 12;
            baseline_learn(l, &(struct baseline_row){.at = {(FIRST_DAY + d) * (int64_t)DAY_MS + h * 3600000LL},
                                                     .minutes = 60,
                                                     .power_mw = reading_ok(300000),
                                                     .power_min_mw = reading_ok(burst ? 30000 : 290000),
                                                     .power_max_mw = reading_ok(burst ? 440000 : 310000),
                                                     .power_limit_mw = reading_ok(450000),
                                                     .temp_mdegc = reading_ok(burst ? 50000 : 71000),
                                                     .util_permille = reading_ok(900)});
        }
    baseline_conclude(l, &b);
    baseline_learner_free(l);
    struct usual u = judge(&b, 300000, 71000, 900);
    assert_int_equal(u.days, 20);
    assert_int_equal(u.temp_mdegc.value, 71000);
}

static void random_rows_give_sound_baselines(void **state)
{
    (void)state;
    unsigned seed = 99;
    for (int round = 0; round < 30; round++) {
        struct baseline b;
        struct baseline_learner *l = baseline_learner_new(noise(&seed, 12) * 3600000);
        int64_t at = FIRST_DAY * (int64_t)DAY_MS;
        for (int i = 0; i < 6000; i++) {
            struct baseline_row row = {.at = {at}, .minutes = noise(&seed, 5) == 0 ? 60 : 1};
            struct reading *readings[] = {&row.power_mw,   &row.power_min_mw, &row.power_max_mw, &row.power_limit_mw,
                                          &row.temp_mdegc, &row.fan_permille, &row.util_permille};
            for (size_t k = 0; k < ARRAY_LEN(readings); k++)
                if (noise(&seed, 3) != 0)
                    *readings[k] = reading_ok(noise(&seed, 500000));
            at += 60000 * (1 + (noise(&seed, 50) == 0 ? 3000 : 0));
            baseline_learn(l, &row);
        }
        baseline_conclude(l, &b);
        baseline_learner_free(l);
        assert_true(b.days <= BASELINE_DAYS_MAX && b.since.ms <= b.until.ms + DAY_MS);
        for (int i = 0; i < BASELINE_BINS; i++)
            assert_true(b.temp_mdegc[i].low <= b.temp_mdegc[i].typical && b.temp_mdegc[i].typical <= b.temp_mdegc[i].high);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_clean_gpu_has_a_usual_temperature),
        TEST(warming_up_and_unknown_powers_say_nothing),
        TEST(the_minutes_of_warming_up_do_not_count),
        TEST(too_short_a_history_calls_nothing_usual),
        TEST(dust_is_a_slow_rise_at_the_same_power),
        TEST(a_fan_that_works_harder_each_month_is_dust_too),
        TEST(a_warm_summer_is_not_dust),
        TEST(a_sensor_of_the_air_tells_summer_from_dust_where_nothing_ever_idles),
        TEST(what_drifts_on_every_gpu_may_be_the_room),
        TEST(a_warm_room_is_not_the_fault_of_the_cooling),
        TEST(a_new_fan_curve_starts_a_new_baseline),
        TEST(another_power_limit_starts_a_new_baseline),
        TEST(hours_count_where_their_power_was_steady),
        TEST(random_rows_give_sound_baselines),
    };
    return cmocka_run_group_tests_name("baseline", tests, NULL, NULL);
}
