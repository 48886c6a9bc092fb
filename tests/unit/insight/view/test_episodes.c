/* SPDX-License-Identifier: Apache-2.0 */
#include "insight/view/episodes.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "model/finding_code.h"
#include "model/metric.h"
#include "test.h"

enum { STEP = 60000, POINTS_MAX = 256 };

static struct episode_point points[POINTS_MAX];
static size_t count;

/* One letter a minute: . calm, W work of process 1, V of process 2, H too hot while 1 works, N warm without work, D not readable,
 * M memory held by 3, space: nothing stored. */
static void draw(const char *minutes)
{
    count = 0;
    for (size_t i = 0; minutes[i]; i++) {
        char c = minutes[i];
        if (c == ' ')
            continue;
        struct episode_point *p = &points[count++];
        *p = (struct episode_point){.at_ms = 1000000000 + (int64_t)i * STEP};
        if (c == 'D')
            continue;
        bool works = c == 'W' || c == 'V' || c == 'H';
        p->util_permille = reading_ok(works ? 900 : 0);
        p->temp_max_mdegc = reading_ok(c == 'H' ? 90000 : c == 'N' ? 70000 : works ? 75000 : 40000);
        p->mem_permille = reading_ok(c == 'M' ? 700 : works ? 500 : 10);
        p->slowed_permille = reading_ok(c == 'H' ? 800 : 0);
        p->throttle_bits = c == 'H' ? THROTTLE_HW_THERMAL : 0;
        p->worker = c == 'V' ? 2 : c == 'M' ? 3 : works ? 1 : 0;
        p->worker_works = works;
    }
}

/* "W0-9" for each episode: its kind and its minutes. */
static void expect(const char *minutes, const char *wanted)
{
    struct episode found[POINTS_MAX];
    size_t n, left_out;
    AUTO_BUF struct buf got = BUF(4096);
    static const char letters[] = {
        [EPISODE_HELD] = 'M', [EPISODE_NOISE] = 'N', [EPISODE_WORK] = 'W', [EPISODE_HOT] = 'H', [EPISODE_DARK] = 'D'};
    draw(minutes);
    assert_int_equal(episodes_find(points, count, STEP, found, POINTS_MAX, &n, &left_out), 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(found[i].first <= found[i].peak && found[i].peak <= found[i].last);
        buf_printf(&got, "%s%c%lld-%lld", i ? " " : "", letters[found[i].kind],
                   (long long)(points[found[i].first].at_ms - 1000000000) / STEP,
                   (long long)(points[found[i].last].at_ms - 1000000000) / STEP);
    }
    if (strcmp(got.at ? got.at : "", wanted) != 0)
        fail_msg("'%s' has '%s', not '%s'", minutes, got.at ? got.at : "", wanted);
}

static void a_job_is_one_episode_from_its_beginning_to_its_end(void **state)
{
    (void)state;
    expect("", "");
    expect("..........", "");
    expect("..WWWWWWWW..", "W2-9");
    expect("WWWW", "W0-3");
    expect("..WWWWVVVV..", "W2-5 W6-9");
    expect("MMMMMMMM", "M0-7");
    expect("..NNNN..", "N2-5");
    expect("..DDDD..", "D2-5");
}

static void a_short_break_does_not_end_it_and_a_long_one_does(void **state)
{
    (void)state;
    expect("WWWWWWWWWW.WWWWWWWWWW", "W0-20");
    expect("WWWWWWWWWW.WWWWWWWWWW..WWWWWWWW", "W0-30");
    expect("WWWWWWWWWW........WWWWWWWWWW", "W0-9 W18-27");
    expect("W....W....W", "W0-0 W5-5 W10-10");
    /* Another process in between is no break of the first. */
    expect("WWWWWWWWWW  VV  WWWWWWWWWW", "W0-9 W12-13 W16-25");
}

static void heat_is_an_episode_of_its_own(void **state)
{
    (void)state;
    expect("WWWWHHHHHHWWWW", "W0-3 H4-9 W10-13");
}

static void where_nothing_was_stored_an_episode_ends(void **state)
{
    (void)state;
    expect("WWWW          WWWW", "W0-3 W14-17");
    expect("WWWW WWWW", "W0-8");
}

static void those_that_come_again_are_one_group_when_asked_for(void **state)
{
    (void)state;
    struct episode found[POINTS_MAX];
    struct episode_group groups[POINTS_MAX];
    size_t n, left_out;
    draw("WW.........WWWWW.........VV........HHH.......W");
    assert_int_equal(episodes_find(points, count, STEP, found, POINTS_MAX, &n, &left_out), 0);
    assert_int_equal(n, 5);
    assert_int_equal(episodes_group(found, n, points, STEP, false, groups), 5);
    assert_int_equal(groups[0].shown.kind, EPISODE_HOT); /* what may matter most comes first */
    assert_int_equal(episodes_group(found, n, points, STEP, true, groups), 3);
    for (size_t i = 0; i < 3; i++) {
        if (groups[i].shown.kind != EPISODE_WORK || groups[i].shown.worker != 1)
            continue;
        assert_int_equal(groups[i].times, 3);
        assert_int_equal(groups[i].total_ms, 8 * STEP);
        assert_int_equal(groups[i].shown.last - groups[i].shown.first, 4); /* the longest is shown */
        assert_int_equal(groups[i].until_ms - groups[i].since_ms, 46 * STEP);
    }
}

static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct episode found[2];
    size_t n, left_out;
    draw("WW.........WW.........WW........WW");
    assert_int_equal(episodes_find(points, count, STEP, found, 2, &n, &left_out), 0);
    assert_int_equal(n, 2);
    assert_int_equal(left_out, 2);
}

static void trouble_matters_more_than_work_and_long_more_than_short(void **state)
{
    (void)state;
    static struct why_part part;
    part = (struct why_part){.cause_count = 1, .causes = {{.code = FINDING_COMPUTE_LOAD, .confidence = 0.9}}};
    double work = episode_weight(&part, 3600000);
    assert_true(episode_weight(&part, 7200000) > work);
    part.causes[0].code = FINDING_HEAT_LIMIT;
    assert_true(episode_weight(&part, 3600000) > work);
    part.causes[0].code = FINDING_NOTHING_UNUSUAL;
    assert_true(episode_weight(&part, 3600000) == 0);
    part.causes[0].code = FINDING_ASLEEP;
    assert_true(episode_weight(&part, 3600000) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_one_episode_from_its_beginning_to_its_end),
        TEST(a_short_break_does_not_end_it_and_a_long_one_does),
        TEST(heat_is_an_episode_of_its_own),
        TEST(where_nothing_was_stored_an_episode_ends),
        TEST(those_that_come_again_are_one_group_when_asked_for),
        TEST(what_does_not_fit_is_counted),
        TEST(trouble_matters_more_than_work_and_long_more_than_short),
    };
    return RUN_TESTS(tests);
}
