/* SPDX-License-Identifier: Apache-2.0
 * What changed on a GPU: when a value counts as another one, what came with it, and what is said of it.
 */
#include "insight/baseline/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "insight/view/why.h"
#include "model/finding_code.h"
#include "test.h"

#define NOW ((struct wall){1794916800000}) /* 2026-11-17T12:00:00Z */
#define NOV_12 ((struct wall){1794484800000})

static struct gpu *gpu_with(struct gpu *g, const char *driver, int64_t limit_w)
{
    *g = (struct gpu){0};
    snprintf(g->id.uuid, sizeof g->id.uuid, "GPU-1");
    snprintf(g->id.name, sizeof g->id.name, "NVIDIA RTX 4090");
    gpu_set_property(g, PROPERTY_driver_version, driver);
    g->power_limit_requested_mw = g->power_limit_mw = reading_ok(limit_w * 1000);
    return g;
}

static enum change_seen see(struct change_watch *w, enum change_code code, const struct gpu *g, int64_t at_s,
                            struct gpu_change *ret)
{
    return change_watch_see(w, code, &(struct host){.kernel = "6.8.0-48-generic"}, g, (struct wall){NOW.ms + at_s * 1000}, ret);
}

static void another_driver_counts_at_once_and_is_named(void **state)
{
    (void)state;
    struct change_watch w = {0};
    struct gpu g;
    struct gpu_change c;
    char words[CHANGE_WORDS];
    assert_int_equal(see(&w, CHANGE_DRIVER, gpu_with(&g, "575.57.08", 450), 0, &c), WATCHED_FIRST);
    assert_int_equal(see(&w, CHANGE_DRIVER, &g, 5, &c), WATCHED_SAME);
    g.driver_version.state = READING_FAILED; /* not read compares nothing */
    assert_int_equal(see(&w, CHANGE_DRIVER, &g, 7, &c), WATCHED_SAME);
    assert_int_equal(see(&w, CHANGE_DRIVER, gpu_with(&g, "580.95.05", 450), 10, &c), WATCHED_CHANGED);
    assert_int_equal(c.since.ms, NOW.ms + 10000);
    assert_string_equal(change_words(&c, words), "the driver went from 575.57.08 to 580.95.05");
    assert_int_equal(see(&w, CHANGE_DRIVER, &g, 15, &c), WATCHED_SAME);
}

static void a_setting_counts_once_it_holds(void **state)
{
    (void)state;
    struct change_watch w = {0};
    struct gpu g;
    struct gpu_change c;
    char words[CHANGE_WORDS];
    gpu_with(&g, "1", 350);
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 0, &c), WATCHED_SAME);
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 60, &c), WATCHED_FIRST);
    gpu_with(&g, "1", 450); /* a boot, before the tool that sets it has run */
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 70, &c), WATCHED_SAME);
    gpu_with(&g, "1", 350);
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 80, &c), WATCHED_SAME);
    gpu_with(&g, "1", 250);
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 140, &c), WATCHED_SAME);
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 199, &c), WATCHED_SAME);
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 200, &c), WATCHED_CHANGED);
    assert_int_equal(c.since.ms, NOW.ms + 140000);
    assert_string_equal(change_words(&c, words), "its power limit went from 350 W to 250 W");
}

/* What is as it was is not looked at closely, and 0 is a value like any other. */
static void a_switch_that_goes_off_is_a_change(void **state)
{
    (void)state;
    struct change_watch w = {0};
    struct gpu g;
    struct gpu_change c;
    gpu_with(&g, "1", 350)->persistence_mode = reading_ok(1);
    assert_int_equal(see(&w, CHANGE_PERSISTENCE, &g, 0, &c), WATCHED_SAME);
    assert_int_equal(see(&w, CHANGE_PERSISTENCE, &g, 60, &c), WATCHED_FIRST);
    for (int at = 70; at < 100; at += 10)
        assert_int_equal(see(&w, CHANGE_PERSISTENCE, &g, at, &c), WATCHED_SAME);
    g.persistence_mode = reading_ok(0);
    assert_int_equal(see(&w, CHANGE_PERSISTENCE, &g, 100, &c), WATCHED_SAME);
    assert_int_equal(see(&w, CHANGE_PERSISTENCE, &g, 160, &c), WATCHED_CHANGED);
    assert_string_equal(c.before, "1");
    assert_string_equal(c.after, "0");
}

static void a_limit_of_a_lease_and_one_that_moves_all_the_time_are_no_news(void **state)
{
    (void)state;
    struct change_watch w = {0};
    struct gpu g;
    struct gpu_change c;
    see(&w, CHANGE_POWER_LIMIT, gpu_with(&g, "1", 350), 0, &c);
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 60, &c), WATCHED_FIRST);
    gpu_with(&g, "1", 250);
    snprintf(g.settings.id, sizeof g.settings.id, "quiet");
    for (int at = 100; at < 600; at += 10)
        assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, at, &c), WATCHED_SAME);
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, gpu_with(&g, "1", 350), 700, &c), WATCHED_SAME);
    int changed = 0, quietly = 0;
    for (int at = 1000; at < 11000; at += 10) {
        enum change_seen seen = see(&w, CHANGE_POWER_LIMIT, gpu_with(&g, "1", at / 1000 % 2 ? 300 : 350), at, &c);
        changed += seen == WATCHED_CHANGED;
        quietly += seen == WATCHED_QUIETLY;
    }
    assert_int_equal(changed, CHANGES_A_DAY);
    assert_true(quietly > 0);
    gpu_with(&g, "1", 80); /* a laptop's limit follows its heat */
    snprintf(g.id.name, sizeof g.id.name, "NVIDIA RTX 4070 Laptop GPU");
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 20000, &c), WATCHED_SAME);
    assert_int_equal(see(&w, CHANGE_POWER_LIMIT, &g, 21000, &c), WATCHED_SAME);
}

static void idle_minutes_on_both_sides_measure_what_came_with_it(void **state)
{
    (void)state;
    struct gpu_change c = {.code = CHANGE_DRIVER, .since = NOV_12};
    struct change_row rows[200];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool since = i >= 100, works = i % 10 == 3;
        rows[i] = (struct change_row){.at = {NOV_12.ms + ((int64_t)i - 100) * MINUTE_MS},
                                      .power_mw = reading_ok(works         ? 300000
                                                             : i % 10 == 4 ? 90000
                                                             : since       ? 51000
                                                                           : 22000),
                                      .util_permille = reading_ok(works ? 900 : 0),
                                      .lanes = reading_ok(since ? 8 : 16)};
    }
    change_measure(&c, rows, ARRAY_LEN(rows));
    assert_int_equal(c.idle_before_mw.value, 22000);
    assert_int_equal(c.idle_since_mw.value, 51000);
    assert_int_equal(c.lanes_before.value, 16);
    assert_int_equal(c.lanes_since.value, 8);
    c = (struct gpu_change){.code = CHANGE_DRIVER, .since = NOV_12};
    change_measure(&c, rows + 95, 105);
    assert_int_equal(c.idle_before_mw.state, READING_UNREAD); /* five minutes are too few */
    assert_int_equal(c.idle_since_mw.value, 51000);
}

/* ---- what is said ---- */

struct told {
    struct snapshot *now;
    struct baselines *usual;
    struct why *why;
};

static struct gpu_change driver_of_nov_12(void)
{
    struct gpu_change c = {.id = {.uuid = "GPU-1"}, .code = CHANGE_DRIVER, .since = NOV_12, .before = "575", .after = "580"};
    return c;
}

static struct told tell(const struct gpu_change *changes, size_t count, struct gpu as)
{
    struct told t = {.now = snapshot_new(1), .usual = calloc(1, sizeof *t.usual)};
    assert_true(t.now && t.usual);
    t.now->taken_at = NOW;
    t.now->gpus[0] = as;
    for (size_t i = 0; i < count; i++)
        changes_add(&t.usual->changes, &changes[i]);
    t.why = why_explain_usual(t.now, NULL, t.usual);
    assert_non_null(t.why);
    return t;
}

static void told_done(struct told *t)
{
    why_free(t->why);
    free(t->usual);
    snapshot_unref(t->now);
}

static struct gpu idle_at(int64_t watts)
{
    struct gpu g;
    gpu_with(&g, "580", 450);
    g.util_permille = reading_ok(0);
    g.power_mw = reading_ok(watts * 1000);
    g.temp_mdegc = reading_ok(40000);
    return g;
}

static const struct finding *found(const struct told *t, finding_code code)
{
    return verdict_find(t->why->verdict, 0, code);
}

static void idle_power_that_rose_with_the_driver_is_said_with_both(void **state)
{
    (void)state;
    struct gpu_change c = driver_of_nov_12();
    c.idle_before_mw = reading_ok(22000);
    c.idle_since_mw = reading_ok(51000);
    struct told t = tell(&c, 1, idle_at(51));
    const struct finding *f = found(&t, FINDING_DRIVER_CHANGED);
    assert_non_null(f);
    assert_string_equal(f->headline, "GPU 0: idle power is 51 W since the driver went from 575 to 580 on Nov 12 (22 W before)");
    assert_int_equal(f->severity, SEVERITY_NOTICE);
    assert_non_null(strstr(t.why->gpus[0].answer, f->headline));
    assert_true(t.why->gpus[0].suggestion_count > 0);
    told_done(&t);
    t = tell(&c, 1, idle_at(23)); /* it does not draw that now */
    assert_null(found(&t, FINDING_DRIVER_CHANGED));
    told_done(&t);
    c.idle_since_mw = reading_ok(25000); /* days differ by so much */
    t = tell(&c, 1, idle_at(25));
    assert_null(found(&t, FINDING_DRIVER_CHANGED));
    told_done(&t);
    c.id = (struct gpu_id){.uuid = "GPU-2"};
    c.idle_since_mw = reading_ok(51000);
    t = tell(&c, 1, idle_at(51)); /* of another GPU */
    assert_null(found(&t, FINDING_DRIVER_CHANGED));
    told_done(&t);
}

static void changes_of_one_boot_are_said_together(void **state)
{
    (void)state;
    struct gpu_change list[] = {driver_of_nov_12(), driver_of_nov_12()};
    list[1].code = CHANGE_PERSISTENCE;
    list[1].since.ms += 120000;
    snprintf(list[1].before, sizeof list[1].before, "1");
    snprintf(list[1].after, sizeof list[1].after, "0");
    list[0].idle_before_mw = list[1].idle_before_mw = reading_ok(22000);
    list[0].idle_since_mw = list[1].idle_since_mw = reading_ok(51000);
    struct told t = tell(list, 2, idle_at(51));
    const struct finding *f = found(&t, FINDING_DRIVER_CHANGED);
    assert_non_null(f);
    assert_non_null(
        strstr(f->headline, "since persistence mode was turned off and the driver went from 575 to 580 on Nov 12 (22 W"));
    assert_null(found(&t, FINDING_SETTING_CHANGED));
    told_done(&t);
}

static void a_change_alone_is_information_for_a_day(void **state)
{
    (void)state;
    struct gpu_change c = driver_of_nov_12();
    struct told t = tell(&c, 1, idle_at(22));
    assert_null(found(&t, FINDING_DRIVER_CHANGED));
    told_done(&t);
    c.since.ms = NOW.ms - 2 * HOUR_MS;
    t = tell(&c, 1, idle_at(22));
    assert_int_equal(found(&t, FINDING_DRIVER_CHANGED)->severity, SEVERITY_INFO);
    assert_non_null(strstr(t.why->gpus[0].answer, "The driver went from 575 to 580 at "));
    assert_int_equal(t.why->gpus[0].severity, SEVERITY_INFO);
    told_done(&t);
    t = tell(NULL, 0, idle_at(22));
    assert_null(found(&t, FINDING_DRIVER_CHANGED));
    told_done(&t);
}

static void a_lower_limit_that_holds_it_is_named_with_its_day_and_stays_information(void **state)
{
    (void)state;
    struct gpu_change c = driver_of_nov_12();
    c.code = CHANGE_POWER_LIMIT;
    snprintf(c.before, sizeof c.before, "350");
    snprintf(c.after, sizeof c.after, "250");
    struct gpu g = idle_at(250);
    g.util_permille = reading_ok(990);
    g.power_limit_mw = g.power_limit_requested_mw = reading_ok(250000);
    g.throttle_bits = reading_ok(THROTTLE_POWER_CAP);
    struct told t = tell(&c, 1, g);
    const struct finding *f = found(&t, FINDING_SETTING_CHANGED);
    assert_non_null(f);
    assert_int_equal(f->severity, SEVERITY_INFO);
    assert_string_equal(f->headline, "GPU 0: its power limit went from 350 W to 250 W on Nov 12");
    assert_non_null(strstr(t.why->gpus[0].answer, "Its power limit went from 350 W to 250 W on Nov 12."));
    told_done(&t);
}

static void fewer_lanes_since_another_driver_lead_the_link(void **state)
{
    (void)state;
    struct gpu_change c = driver_of_nov_12();
    c.lanes_before = reading_ok(16);
    c.lanes_since = reading_ok(4);
    struct gpu g = idle_at(300);
    g.util_permille = reading_ok(990);
    g.pcie_width = reading_ok(4);
    g.pcie_width_max = reading_ok(16);
    g.pcie_generation = g.pcie_generation_max = reading_ok(4);
    struct told t = tell(&c, 1, g);
    const struct finding *root = found(&t, FINDING_DRIVER_CHANGED), *link = found(&t, FINDING_PCIE_LINK);
    assert_true(root && link);
    assert_non_null(
        strstr(root->headline, "its PCIe link has 4 lanes since the driver went from 575 to 580 on Nov 12 (16 before)"));
    assert_true(link->is_effect && link->root == FINDING_DRIVER_CHANGED);
    assert_int_equal(root->severity, link->severity);
    told_done(&t);
}

int main(void)
{
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_driver_counts_at_once_and_is_named),
        cmocka_unit_test(a_setting_counts_once_it_holds),
        cmocka_unit_test(a_switch_that_goes_off_is_a_change),
        cmocka_unit_test(a_limit_of_a_lease_and_one_that_moves_all_the_time_are_no_news),
        cmocka_unit_test(idle_minutes_on_both_sides_measure_what_came_with_it),
        cmocka_unit_test(idle_power_that_rose_with_the_driver_is_said_with_both),
        cmocka_unit_test(changes_of_one_boot_are_said_together),
        cmocka_unit_test(a_change_alone_is_information_for_a_day),
        cmocka_unit_test(a_lower_limit_that_holds_it_is_named_with_its_day_and_stays_information),
        cmocka_unit_test(fewer_lanes_since_another_driver_lead_the_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
