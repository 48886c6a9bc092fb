/* SPDX-License-Identifier: Apache-2.0
 * What the daemon answers about the past becomes trails, marks and a snapshot of that moment.
 */
#include "test.h"

#include <stdio.h>

#include <math.h>

#include "base/cleanup.h"
#include "sim_snapshot.h"
#include "tui/feed/answers.h"

static json_t *load(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static void test_a_moment_has_its_readings_and_processes(void **state)
{
    (void)state;
    struct sim_machine m;
    sim_machine_start(&m, "gpus=2,scenario=training");
    struct snapshot *live = sim_machine_sample(&m, GROUP_ALL);
    char text[2048];
    snprintf(text, sizeof text,
             "{\"series\":[{\"of\":\"gpu\",\"gpu_index\":1,\"gpu_uuid\":\"%s\",\"times\":[100,105,200],\"metrics\":["
             "{\"name\":\"utilization_percent\",\"mean\":[10,20,99]},{\"name\":\"temperature_celsius\",\"mean\":[50,null,80]},"
             "{\"name\":\"memory_used_mb\",\"mean\":[1024,2048,4096]}]}]}",
             live->gpus[1].id.uuid);
    json_t *history = load(text);
    snprintf(text, sizeof text,
             "{\"processes\":[{\"gpu_index\":1,\"gpu_uuid\":\"%s\",\"pid\":77,\"name\":\"miner\",\"user\":\"eve\",\"command\":"
             "\"miner -x\","
             "\"type\":\"compute\",\"memory_mean_mb\":512,\"utilization_mean_percent\":95.5},"
             "{\"gpu_index\":1,\"gpu_uuid\":\"%s\",\"pid\":78,\"name\":\"later\",\"first_seen\":\"1970-01-01T00:02:00.000Z\"}]}",
             live->gpus[1].id.uuid, live->gpus[1].id.uuid);
    json_t *processes = load(text);
    struct snapshot *then = answer_moment(live, history, processes, (struct wall){106000});
    assert_non_null(then);
    assert_int_equal(then->taken_at.ms, 106000);
    assert_int_equal(then->gpus[0].process_count, 0); /* today's processes were not there */
    assert_int_not_equal(then->gpus[0].power_mw.state, READING_OK);
    assert_int_equal(then->gpus[1].process_count, 1);
    assert_string_equal(then->gpus[1].processes[0].user, "eve");
    assert_int_equal(then->gpus[1].processes[0].util_permille.value, 955);
    assert_int_equal(then->gpus[1].util_permille.value, 200);
    assert_int_equal(then->gpus[1].mem_used_bytes.value, 2LL << 30);
    assert_int_equal(then->gpus[1].mem_total_bytes.value, live->gpus[1].mem_total_bytes.value);
    snapshot_unref(then);
    assert_null(answer_moment(live, history, processes, (struct wall){5000})); /* nothing was stored by then */
    json_decref(history);
    json_decref(processes);
    snapshot_unref(live);
    sim_machine_stop(&m);
}

static void test_health_and_forecast_become_badges(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(2);
    struct top_badge badges[2];
    s->gpus[1].index = 1;
    json_t *health = load("{\"gpus\":[{\"gpu_index\":1,\"state\":\"degraded\",\"reason\":\"ECC errors\"}]}");
    json_t *forecast = load("{\"gpus\":[{\"gpu_index\":0,\"memory\":{\"verdict\":\"expected\",\"seconds\":90}},"
                            "{\"gpu_index\":1,\"memory\":{\"verdict\":\"no_trend\",\"seconds\":null}}]}");
    answer_badges(health, forecast, s, badges);
    assert_string_equal(badges[0].health, "");
    assert_int_equal(badges[0].full_ms, 90000);
    assert_string_equal(badges[1].reason, "ECC errors");
    assert_int_equal(badges[1].full_ms, 0);
    answer_badges(NULL, NULL, s, badges);
    assert_string_equal(badges[1].health, "");
    json_decref(health);
    json_decref(forecast);
    snapshot_unref(s);
}

static void test_answers_of_another_shape_are_no_harm(void **state)
{
    (void)state;
    static const char *const texts[] = {"{}", "[]", "{\"series\":7}", "{\"series\":[7,{\"times\":\"x\",\"metrics\":{}}]}",
                                        "{\"events\":[1,{}],\"alerts\":[2,{\"state\":\"firing\"}],\"workers\":[3,{}]}"};
    struct snapshot *live = snapshot_new(1);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct news *n = calloc(1, sizeof *n);
        struct buf out = BUF(65536);
        json_t *json = load(texts[i]);
        assert_int_equal(answer_series(json, live, n), 0);
        answer_marks(json, n);
        answer_alerts(json, &out);
        answer_guard(json, n);
        struct top_details d = {0};
        answer_process_run(json, 0, 0, &d);
        answer_lifeline(json, 16, &d);
        top_details_done(&d);
        assert_true(out.len > 0);
        buf_done(&out);
        json_decref(json);
        news_free(n);
    }
    snapshot_unref(live);
}

static void test_a_run_is_found_by_gpu_and_start(void **state)
{
    (void)state;
    json_t *runs =
        load("{\"processes\":[{\"gpu_index\":0,\"started_at\":\"2026-11-14T10:00:00Z\",\"first_seen\":\"2026-11-14T10:00:10Z\","
             "\"last_seen\":"
             "\"2026-11-14T10:01:50Z\",\"energy_joules\":7200,\"memory_peak_mb\":1000},{\"gpu_index\":1,\"energy_joules\":1}]}");
    json_t *history =
        load("{\"series\":[{\"times\":[1794650410,1794650460],\"metrics\":[{\"name\":\"memory_mb\",\"mean\":[500,1000]},"
             "{\"name\":\"utilization_percent\",\"mean\":[null,50]}]}]}");
    struct top_details d = {0};
    struct wall start;
    assert_true(wall_parse(STR("2026-11-14T10:00:00Z"), &start));
    answer_process_run(runs, 0, start.ms + 60000, &d); /* another process that had its number before */
    assert_int_equal(d.since_ms, 0);
    answer_process_run(runs, 0, start.ms, &d);
    assert_int_equal(d.since_ms, start.ms + 10000);
    assert_int_equal(d.energy_mj, 7200000);
    answer_lifeline(history, 10, &d);
    assert_int_equal(d.slots, 10);
    assert_float_equal(d.vram[0], 0.5, 0.001);
    assert_float_equal(d.vram[9], 1, 0.001);
    assert_true(isnan(d.util[0]));
    assert_float_equal(d.util[9], 0.5, 0.001);
    free(TAKE(d.vram));
    d.peak_bytes = 0; /* of a run whose memory is not known, there is nothing to draw */
    answer_lifeline(history, 10, &d);
    assert_true(isnan(d.vram[9]));
    assert_float_equal(d.util[9], 0.5, 0.001);
    top_details_done(&d);
    json_decref(runs);
    json_decref(history);
}

static void test_since_when_a_process_is_idle(void **state)
{
    (void)state;
    json_t *history = load("{\"series\":[{\"times\":[100,160,220,280],\"metrics\":[{\"name\":\"memory_mb\",\"max\":[1,1,1,1]},"
                           "{\"name\":\"utilization_percent\",\"max\":[0,50,1,0]}]}]}");
    assert_int_equal(answer_idle_since(history, 0), 220000);
    assert_int_equal(answer_idle_since(history, 230000), 230000); /* it was started in that minute */
    assert_int_equal(answer_idle_since(NULL, 0), 0);
    json_decref(history);
    history = load("{\"series\":[{\"times\":[100],\"metrics\":[{\"name\":\"utilization_percent\",\"max\":[null]}]}]}");
    assert_int_equal(answer_idle_since(history, 0), 0);
    json_decref(history);
}

static void test_alerts_that_are_over_are_not_listed(void **state)
{
    (void)state;
    struct buf out = BUF(65536);
    json_t *json = load("{\"alerts\":[{\"alert\":\"a\",\"state\":\"resolved\",\"summary\":\"old\"}]}");
    answer_alerts(json, &out);
    assert_string_equal(out.at, "No alerts.\n");
    buf_done(&out);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_moment_has_its_readings_and_processes),
        TEST(test_health_and_forecast_become_badges),
        TEST(test_answers_of_another_shape_are_no_harm),
        TEST(test_a_run_is_found_by_gpu_and_start),
        TEST(test_since_when_a_process_is_idle),
        TEST(test_alerts_that_are_over_are_not_listed),
    };
    return RUN_TESTS(tests);
}
