/* SPDX-License-Identifier: Apache-2.0
 * What is learned from a history: what a process and a memory clock add to the power of an idle GPU.
 */
#include "past/past_usual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "insight/view/idle_audit.h"
#include "store/internal.h"
#include "store/own_database.h"
#include "store/sim_history.h"

enum { MINUTE = 60000, START_S = 1800000000 };

struct stretch {
    int minutes;
    int64_t power_w, util_permille, memory_clock_mhz;
    int32_t pids[2]; /* 0: none */
    bool unseen;     /* no sample was taken */
};

static struct snapshot *moment(int64_t at_ms, const struct stretch *t)
{
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    s->taken_at = (struct wall){at_ms};
    snprintf(s->host.name, sizeof s->host.name, "box");
    struct gpu *g = &s->gpus[0];
    snprintf(g->id.uuid, sizeof g->id.uuid, "GPU-1");
    g->power_mw = reading_ok(t->power_w * 1000);
    g->power_limit_mw = reading_ok(450000);
    g->util_permille = reading_ok(t->util_permille);
    g->temp_mdegc = reading_ok(38000);
    g->clock_memory_khz = reading_ok(t->memory_clock_mhz * 1000);
    g->clock_memory_max_khz = reading_ok(10501000);
    g->processes_state = READING_OK;
    for (size_t i = 0; i < ARRAY_LEN(t->pids); i++) {
        if (!t->pids[i])
            continue;
        struct process *p = gpu_add_process(g, t->pids[i]);
        assert_non_null(p);
        p->type = PROCESS_COMPUTE;
        p->start_key = t->pids[i];
        snprintf(p->name, sizeof p->name, "python3");
        p->mem_bytes = reading_ok(512LL << 20);
        p->util_permille = reading_ok(0);
    }
    return s;
}

static int64_t write_stretches(struct store *s, const struct stretch *list, size_t count)
{
    int64_t at = START_S * 1000LL;
    for (size_t i = 0; i < count; i++)
        for (int m = 0; m < list[i].minutes; m++, at += MINUTE)
            for (int half = 0; half < 2 && !list[i].unseen; half++) {
                struct snapshot *one = moment(at + half * MINUTE / 2, &list[i]);
                write_one(s, one);
                snapshot_unref(one);
            }
    return at;
}

/* What the audit says at the end of these stretches. */
static struct why *audited(const struct stretch *list, size_t count)
{
    static int number;
    char file[32];
    snprintf(file, sizeof file, "usual-%d.db", number++);
    struct store *s = open_store(file);
    struct error err = {0};
    struct baselines *usual = NULL;
    struct idle_facts rest = {.looked = true};
    int64_t at = write_stretches(s, list, count);
    if (past_usual(s, "box", (struct wall){at}, &usual, &err) < 0)
        fail_msg("%s", err.text);
    struct snapshot *now = moment(at, &list[count - 1]);
    struct why *why = why_explain_usual(now, NULL, usual);
    assert_non_null(why);
    why_audit(why, now, &rest);
    snapshot_unref(now);
    free(usual);
    store_close(s);
    return why;
}

static const char *text_of(const struct why *why, enum idle_code code, int32_t pid)
{
    const struct idle_audit *a = &why->gpus[0].idle_audit;
    for (size_t i = 0; i < a->count; i++)
        if (a->findings[i].code == code && a->findings[i].pid == pid)
            return a->findings[i].text;
    fail_msg("no finding %s: %s", idle_code_name(code), a->answer);
    return NULL;
}

static void what_a_process_added_when_it_came_is_measured(void **state)
{
    (void)state;
    const struct stretch day[] = {{30, 21, 0, 405, {0}, false}, {5, 200, 900, 10501, {7}, false}, {30, 38, 10, 10501, {7}, false}};
    struct why *why = audited(day, ARRAY_LEN(day));
    assert_string_equal(text_of(why, IDLE_CODE_CONTEXT, 7),
                        "python3 holds a compute context, 512 MiB: 17 W (38 W since it came, 21 W before)");
    assert_string_equal(text_of(why, IDLE_CODE_MEMORY_CLOCK, 0),
                        "the memory clock stays at 10501 MHz of 10501 MHz: 17 W (38 W at this clock, 21 W at 405 MHz)");
    assert_int_equal(why->gpus[0].idle_audit.findings[0].added_mw.value, 17000);
    why_free(why);
}

static void what_contexts_cost_here_is_said_where_this_one_was_not_measured(void **state)
{
    (void)state;
    const struct stretch there = {20, 38, 0, 10501, {7}, false};
    struct idle_facts rest = {.looked = true};
    struct snapshot *now = moment(1700000000000, &there);
    now->gpus[0].processes[0].parked_mw = reading_ok(17000);
    struct why *why = why_explain_usual(now, NULL, NULL);
    why_audit(why, now, &rest);
    assert_string_equal(text_of(why, IDLE_CODE_CONTEXT, 7), "python3 holds a compute context, 512 MiB: 17 W");
    assert_int_equal(why->gpus[0].idle_audit.findings[0].added_mw.value, 17000);
    snapshot_unref(now);
    why_free(why);
}

static void one_that_adds_nothing_is_said_to(void **state)
{
    (void)state;
    const struct stretch day[] = {{20, 21, 0, 405, {0}, false}, {20, 21, 0, 405, {7}, false}};
    struct why *why = audited(day, ARRAY_LEN(day));
    assert_non_null(strstr(text_of(why, IDLE_CODE_CONTEXT, 7), ": less than 1 W (21 W since it came, 21 W before)"));
    why_free(why);
}

/* Two that came together, one that came between samples, one that came into a busy hour: its power is not known. */
static void what_cannot_be_told_apart_has_no_watts(void **state)
{
    (void)state;
    const struct stretch together[] = {{20, 21, 0, 405, {0}, false}, {20, 38, 0, 10501, {7, 8}, false}};
    const struct stretch unseen[] = {{20, 21, 0, 405, {0}, false}, {20, 0, 0, 0, {0}, true}, {20, 38, 0, 10501, {7}, false}};
    const struct stretch busy[] = {{20, 21, 0, 405, {0}, false}, {70, 200, 900, 10501, {9}, false}, {20, 38, 0, 10501, {7}, false}};
    struct why *why = audited(together, ARRAY_LEN(together));
    assert_null(strstr(text_of(why, IDLE_CODE_CONTEXT, 7), "since it came"));
    assert_null(strstr(text_of(why, IDLE_CODE_CONTEXT, 8), "since it came"));
    why_free(why);
    why = audited(unseen, ARRAY_LEN(unseen));
    assert_null(strstr(text_of(why, IDLE_CODE_CONTEXT, 7), "since it came"));
    why_free(why);
    why = audited(busy, ARRAY_LEN(busy));
    assert_null(strstr(text_of(why, IDLE_CODE_CONTEXT, 7), "since it came"));
    why_free(why);
}

static void a_clock_that_was_never_lower_has_no_watts(void **state)
{
    (void)state;
    const struct stretch day[] = {{40, 38, 0, 10501, {0}, false}};
    struct why *why = audited(day, ARRAY_LEN(day));
    assert_string_equal(text_of(why, IDLE_CODE_MEMORY_CLOCK, 0), "the memory clock stays at 10501 MHz of 10501 MHz");
    why_free(why);
}

static void a_clock_below_its_top_keeps_nothing(void **state)
{
    (void)state;
    const struct stretch day[] = {{40, 38, 0, 9000, {0}, false}};
    struct why *why = audited(day, ARRAY_LEN(day));
    for (size_t i = 0; i < why->gpus[0].idle_audit.count; i++)
        assert_int_not_equal(why->gpus[0].idle_audit.findings[i].code, IDLE_CODE_MEMORY_CLOCK);
    why_free(why);
}

/* Displays by the mode in use, and by the one they prefer where that is all there is. */
static void displays_say_which_mode_it_is(void **state)
{
    (void)state;
    const struct stretch idle = {1, 21, 0, 405, {0}, false};
    struct snapshot *now = moment(START_S * 1000LL, &idle);
    struct idle_facts rest = {.looked = true,
                              .display_count = 2,
                              .displays = {{"DP-1", true, true, 2560, 1440, 165, 165}, {"DP-2", true, false, 1920, 1080, 60, 144}}};
    struct why *why = why_explain(now, NULL);
    assert_non_null(why);
    why_audit(why, now, &rest);
    assert_int_equal(why->gpus[0].idle_audit.count, 2);
    assert_string_equal(why->gpus[0].idle_audit.findings[0].text, "DP-1 is on: 2560x1440 at 165 Hz");
    assert_string_equal(why->gpus[0].idle_audit.findings[1].text, "DP-2 is on, preferred mode 1920x1080 at 60 Hz (up to 144 Hz)");
    why_free(why);
    snapshot_unref(now);
}

static int note_first(void *user, const struct store_gpu *gpu)
{
    *(struct store_gpu *)user = *gpu;
    return 1;
}

static void assert_same(const struct baseline *a, const struct baseline *b)
{
    assert_int_equal(a->days, b->days);
    assert_int_equal(a->since.ms, b->since.ms);
    assert_int_equal(a->until.ms, b->until.ms);
    assert_int_equal(a->idle_power_mw.days, b->idle_power_mw.days);
    assert_int_equal(a->level_count, b->level_count);
    for (size_t i = 0; i < a->level_count; i++)
        assert_int_equal(a->levels[i].power_mw, b->levels[i].power_mw);
    assert_int_equal(a->step_count, b->step_count);
    for (size_t i = 0; i < a->step_count; i++)
        assert_int_equal(a->steps[i].since_mw, b->steps[i].since_mw);
}

/* A year has thousands of moments to explain: each row is read once for all of them, and what was usual by then is the same. */
static void moment_after_moment_is_learned_like_each_alone(void **state)
{
    (void)state;
    enum { DAY_MINUTES = 1440 };
    const struct stretch days[] = {{30, 21, 0, 405, {0}, false},   {DAY_MINUTES, 0, 0, 0, {0}, true},
                                   {30, 25, 0, 405, {0}, false},   {DAY_MINUTES, 0, 0, 0, {0}, true},
                                   {30, 38, 0, 10501, {0}, false}, {90, 38, 0, 10501, {7}, false}};
    struct store *s = open_store("course.db");
    struct error err = {0};
    struct store_gpu gpu;
    struct usual_course *course = NULL;
    struct wall end = {write_stretches(s, days, ARRAY_LEN(days))};
    assert_int_equal(store_gpus(s, "box", note_first, &gpu, &err), 0);
    assert_int_equal(usual_course_new(s, &gpu, 1, end, &course, &err), 0);
    const int64_t asked[] = {30, 30 + DAY_MINUTES + 30, 2 * (30 + DAY_MINUTES) + 120};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        struct wall at = {START_S * 1000LL + asked[i] * MINUTE};
        const struct baselines *known;
        struct baselines *alone = NULL;
        assert_int_equal(usual_course_at(course, at, &known, &err), 0);
        assert_int_equal(past_usual(s, "box", at, &alone, &err), 0);
        assert_int_equal(known->count, 1);
        assert_int_equal(known->list[0].days, i + 1);
        assert_same(&known->list[0], &alone->list[0]);
        free(alone);
    }
    /* A question about the past is answered with what is known by now. */
    const struct baselines *known;
    assert_int_equal(usual_course_at(course, (struct wall){START_S * 1000LL}, &known, &err), 0);
    assert_int_equal(known->list[0].days, 3);
    usual_course_free(course);
    store_close(s);
}

/* A day of work: idle at night, a job of four hours at each of two powers, an evening of half an hour's turns. Values are never
 * quite the same, and each day is a little warmer or cooler than the one before. */
static void set_course(struct gpu *g, int64_t minute)
{
    int64_t hour = minute / 60 % 24, day = minute / 1440, noise = minute * 7919 % 41 - 20;
    bool works = (hour >= 8 && hour < 16) || (hour >= 18 && hour < 21 && minute % 60 < 30);
    int64_t power_w = !works ? 22 : hour < 12 ? 210 : 380;
    g->power_mw = reading_ok(power_w * 1000 * (1000 + noise) / 1000);
    g->util_permille = reading_ok(works ? 930 + noise : 0);
    g->temp_mdegc = reading_ok(30000 + power_w * 100 + day % 5 * 400 + noise * 20);
    g->fan_permille = reading_ok(works ? 300 + power_w + day % 3 * 4 + noise / 4 : 0);
    g->clock_graphics_khz = reading_ok(works ? 2500000 : 210000);
    g->clock_memory_khz = reading_ok(works ? 10501000 : 405000);
}

static int64_t write_course(struct store *s, int days)
{
    enum { BATCH = 240 };
    struct stretch plain = {.power_w = 0};
    struct snapshot *batch[BATCH];
    struct error err = {0};
    int64_t begin = START_S / 86400 * 86400000LL;
    for (int64_t minute = 0; minute < days * 1440LL; minute += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            batch[i] = moment(begin + (minute + i) * MINUTE, &plain);
            set_course(&batch[i]->gpus[0], minute + i);
        }
        if (store_write(s, (const struct snapshot *const *)batch, BATCH, NULL, 0, &err) < 0)
            fail_msg("%s", err.text);
        for (int i = 0; i < BATCH; i++)
            snapshot_unref(batch[i]);
    }
    return begin + days * 1440LL * MINUTE;
}

/* Within a share of the value, in permille, or so many units. */
static void assert_near(const char *what, size_t at, const struct baseline_band *a, const struct baseline_band *b, int64_t permille,
                        int64_t least)
{
    const int64_t values[][2] = {{a->low, b->low}, {a->typical, b->typical}, {a->high, b->high}};
    if (a->days != b->days)
        fail_msg("%s %zu: %d days from minutes, %d from hours", what, at, a->days, b->days);
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        if (llabs(values[i][0] - values[i][1]) > MAX_OF(values[i][0] * permille / 1000, least))
            fail_msg("%s %zu: %lld from minutes, %lld from hours", what, at, (long long)values[i][0], (long long)values[i][1]);
}

/* Of old times only hours are kept, and of a year they are read instead of minutes. What is usual must not depend on it: a degree,
 * 1% of the fan, 2% of the idle power and of utilization. */
static void hours_teach_what_minutes_do(void **state)
{
    (void)state;
    enum { DAYS = 2 * BASELINE_DAYS_NEEDED };
    struct store *s = open_store("hours.db");
    struct error err = {0};
    struct baselines *by_minutes = NULL, *by_hours = NULL;
    setenv("TZ", "UTC", 1); /* no midnight in the middle of a job */
    tzset();
    struct wall end = {write_course(s, DAYS)};
    assert_int_equal(past_usual(s, "box", end, &by_minutes, &err), 0);
    s->horizon_ms[SERIES_GPU][LEVEL_MINUTE] = s->horizon_ms[SERIES_GPU][LEVEL_RAW] = end.ms;
    assert_int_equal(past_usual(s, "box", end, &by_hours, &err), 0);
    const struct baseline *m = &by_minutes->list[0], *h = &by_hours->list[0];
    int bins = 0;
    for (size_t i = 0; i < BASELINE_BINS; i++) {
        assert_near("temperature", i, &m->temp_mdegc[i], &h->temp_mdegc[i], 0, 1000);
        assert_near("fan", i, &m->fan_permille[i], &h->fan_permille[i], 0, 10);
        bins += h->temp_mdegc[i].days >= BASELINE_DAYS_NEEDED;
    }
    assert_int_equal(bins, 3); /* idle, and both powers */
    assert_near("idle power", 0, &m->idle_power_mw, &h->idle_power_mw, 20, 0);
    assert_near("idle temperature", 0, &m->idle_temp_mdegc, &h->idle_temp_mdegc, 0, 1000);
    assert_true(h->idle_power_mw.typical > 20000);
    for (size_t i = 0; i < ARRAY_LEN(h->util_permille); i++)
        assert_near("utilization at", i, &m->util_permille[i], &h->util_permille[i], 20, 5);
    assert_int_equal(m->start, h->start);
    assert_int_equal(m->days, h->days);
    free(by_minutes);
    free(by_hours);
    store_close(s);
}

static struct baselines *learned_of(const char *url)
{
    struct sim_history h;
    struct store *s = NULL;
    struct error err = {0};
    struct baselines *usual = NULL;
    const struct store_options options = {.env = &test_env, .url = url, .host = "box", .limits = store_default_limits};
    sim_history_open(&h, "gpus=5,scenario=multi-user");
    h.interval_ms = 600000;
    if (store_open(&options, &s, &err) != 0)
        fail_msg("%s", err.text);
    write_samples(s, &h, 3 * 144);
    if (past_usual(s, "box", h.clock.today, &usual, &err) < 0)
        fail_msg("%s", err.text);
    store_close(s);
    sim_history_close(&h);
    return usual;
}

/* A server is asked by two connections at once, of which each learns about some of the GPUs. */
static void a_server_teaches_what_a_file_does(void **state)
{
    (void)state;
    const char *server = own_database("whirr_usual");
    if (!server)
        SKIP("no PostgreSQL (tools/with-postgres starts one)");
    struct baselines *file = learned_of(store_url("learned.db")), *there = learned_of(server);
    assert_int_equal(file->count, 5);
    assert_int_equal(there->count, file->count);
    for (size_t i = 0; i < file->count; i++) {
        assert_string_equal(there->list[i].id.uuid, file->list[i].id.uuid);
        assert_true(file->list[i].days > 0);
        assert_same(&there->list[i], &file->list[i]);
        assert_memory_equal(there->list[i].util_permille, file->list[i].util_permille, sizeof file->list[i].util_permille);
    }
    free(file);
    free(there);
}

int main(void)
{
    make_store_folder();
    const struct CMUnitTest tests[] = {
        TEST(what_a_process_added_when_it_came_is_measured),
        TEST(moment_after_moment_is_learned_like_each_alone),
        TEST(hours_teach_what_minutes_do),
        TEST(a_server_teaches_what_a_file_does),
        TEST(what_contexts_cost_here_is_said_where_this_one_was_not_measured),
        TEST(one_that_adds_nothing_is_said_to),
        TEST(what_cannot_be_told_apart_has_no_watts),
        TEST(a_clock_that_was_never_lower_has_no_watts),
        TEST(a_clock_below_its_top_keeps_nothing),
        TEST(displays_say_which_mode_it_is),
    };
    int failed = RUN_TESTS(tests);
    remove_store_folder();
    return failed;
}
