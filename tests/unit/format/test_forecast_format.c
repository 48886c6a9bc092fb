/* SPDX-License-Identifier: Apache-2.0
 * Forecasts as text, JSON (there and back) and Prometheus series.
 */
#include "test.h"

#include <jansson.h>
#include <math.h>

#include "base/cleanup.h"
#include "format/forecast_forms.h"
#include "format/json/json.h"
#include "format/table/page_table.h"

static struct forecast *two_gpus(void)
{
    struct forecast *f = calloc(1, sizeof *f + 2 * sizeof *f->gpus);
    f->at.ms = 1763168523456; /* 2025-11-15T01:02:03.456Z */
    f->count = 2;
    for (int i = 0; i < 2; i++) {
        struct forecast_gpu *g = &f->gpus[i];
        g->gpu_index = i;
        str_copy(g->id.name, sizeof g->id.name, STR("NVIDIA H200"));
        str_copy(g->id.uuid, sizeof g->id.uuid, i ? STR("GPU-b") : STR("GPU-a"));
        g->heat = (struct forecast_heat){
            .when = {.verdict = FORECAST_NEVER, .reason = "steady at 62 °C, 27 °C below its limit", .basis_s = 60},
            .now_mdegc = reading_ok(62000),
            .limit_mdegc = reading_ok(89000),
            .final_c = 62.1,
            .tau_s = 20};
    }
    f->gpus[0].vram = (struct forecast_vram){.when = {.verdict = FORECAST_EXPECTED,
                                                      .likely_s = 720.5,
                                                      .earliest_s = 650,
                                                      .latest_s = 800,
                                                      .basis_s = 300,
                                                      .reason = "python3 (pid 4242) has been growing by 512 MiB a minute for 5m"},
                                             .used_bytes = reading_ok(18000LL << 20),
                                             .room_bytes = reading_ok(24132LL << 20),
                                             .bytes_per_s = 512.0 * 1048576 / 60,
                                             .pid = 4242,
                                             .name = "python3",
                                             .user = "alice"};
    f->gpus[1].vram = (struct forecast_vram){.when = {.verdict = FORECAST_NO_TREND, .reason = "steady at 3.0 GiB for 5m"}};
    f->gpus[1].vram.used_bytes = f->gpus[1].vram.room_bytes = reading_absent(READING_FAILED);
    return f;
}

static struct buf text_of(const struct forecast *f, int only, int width, bool utf8)
{
    struct page page = {.width = width, .utf8 = utf8};
    struct forecast_basis basis = {.host = "box", .remembered = true};
    struct buf out = BUF(65536);
    table_forecast(&out, &page, f, &basis, only);
    return out;
}

static void a_line_says_what_when_between_and_why(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    struct forecast *f = two_gpus();
    AUTO_BUF struct buf out = text_of(f, ALL_GPUS, 0, true);
    assert_non_null(strstr(out.at, "GPU 0: memory full in 12m: python3 (pid 4242) has been growing by 512 MiB a minute for 5m.\n"));
    assert_non_null(strstr(out.at, "GPU 0   memory       full in 12m            01:14 (01:12–01:15): python3 (pid 4242) has"));
    assert_non_null(strstr(out.at, "GPU 1   memory       no trend               steady at 3.0 GiB for 5m\n"));
    assert_non_null(strstr(out.at, "        temperature  won't throttle         steady at 62 °C, 27 °C below its limit\n"));
    assert_null(strstr(out.at, "host")); /* no store, no line */
    free(f);
}

static void a_moment_is_as_precise_as_it_is_near(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    struct forecast *f = two_gpus();
    struct forecast_when *w = &f->gpus[0].vram.when;
    w->earliest_s = 10 * 3600;
    w->likely_s = 5 * 86400;
    w->latest_s = 10 * 86400;
    AUTO_BUF struct buf out = text_of(f, 0, 0, true);
    assert_non_null(strstr(out.at, "Thu 01:02 (11:02–2025-11-25): "));
    w->earliest_s = 59;
    AUTO_BUF struct buf soon = text_of(f, 0, 0, true);
    assert_non_null(strstr(soon.at, "(01:03:02–2025-11-25): "));
    free(f);
}

static void no_line_is_wider_than_the_page(void **state)
{
    (void)state;
    struct forecast *f = two_gpus();
    for (int width = 60; width <= 120; width += 20) {
        AUTO_BUF struct buf out = text_of(f, ALL_GPUS, width, false);
        for (const char *line = out.at; *line;) {
            const char *end = strchr(line, '\n');
            assert_non_null(end);
            assert_true(end - line <= width);
            line = end + 1;
        }
        assert_null(strstr(out.at, "–")); /* ASCII where the page knows no more */
    }
    free(f);
}

static void one_gpu_is_spoken_of_alone(void **state)
{
    (void)state;
    struct forecast *f = two_gpus();
    AUTO_BUF struct buf out = text_of(f, 1, 0, true);
    assert_null(strstr(out.at, "GPU 0"));
    assert_non_null(strstr(out.at, "No sign of full memory or thermal throttling."));
    free(f);
}

/* What is growing is not calm, even if it is too early to say when it will be full. */
static void growth_that_was_watched_too_briefly_is_the_answer(void **state)
{
    (void)state;
    struct forecast *f = two_gpus();
    struct forecast_when *w = &f->gpus[1].vram.when;
    w->rising = true;
    snprintf(w->reason, sizeof w->reason, "the memory in use is growing by 964 MiB a minute, watched too briefly to say when");
    AUTO_BUF struct buf out = text_of(f, 1, 0, true);
    assert_null(strstr(out.at, "No sign of"));
    assert_non_null(strstr(out.at, "Can't tell yet. GPU 1: the memory in use is growing by 964 MiB a minute"));
    free(f);
}

static void an_open_end_is_said(void **state)
{
    (void)state;
    struct forecast *f = two_gpus();
    f->gpus[0].vram.when.latest_s = HUGE_VAL;
    AUTO_BUF struct buf out = text_of(f, 0, 0, true);
    assert_non_null(strstr(out.at, "(01:12 or later)"));
    AUTO_BUF struct buf json = BUF(65536);
    struct json_writer j = JSON_WRITER(&json);
    json_forecast(&j, f, &(struct forecast_basis){0}, 0);
    assert_non_null(strstr(json.at, "\"latest_seconds\":null"));
    free(f);
}

static void a_store_at_its_cap_is_no_news(void **state)
{
    (void)state;
    struct forecast *f = two_gpus();
    f->gpus[0].vram.when.verdict = FORECAST_NO_TREND;
    f->has_store = true;
    f->store.when.verdict = FORECAST_REACHED;
    str_copy(f->store.when.reason, sizeof f->store.when.reason, STR("4.0 GiB are stored"));
    AUTO_BUF struct buf out = text_of(f, ALL_GPUS, 0, true);
    assert_non_null(strstr(out.at, "No sign of"));
    assert_non_null(strstr(out.at, "host    history      at its limit"));
    free(f);
}

static void json_comes_back_the_same(void **state)
{
    (void)state;
    struct forecast *f = two_gpus();
    f->has_store = true;
    f->store = (struct forecast_store){
        .when = {.verdict = FORECAST_EXPECTED, .likely_s = 7200, .earliest_s = 7000, .latest_s = 8000, .reason = "grows"},
        .of_disk = true,
        .used_bytes = reading_ok(1 << 30),
        .cap_bytes = reading_ok(4LL << 30),
        .disk_free_bytes = reading_ok(123456789),
        .bytes_per_s = 100};
    AUTO_BUF struct buf first = BUF(65536), second = BUF(65536);
    struct forecast_basis basis = {.host = "box", .simulated = true, .remembered = true, .watched_s = 12.5}, read = {0};
    struct json_writer j = JSON_WRITER(&first), k = JSON_WRITER(&second);
    json_forecast(&j, f, &basis, ALL_GPUS);
    struct forecast *back = forecast_from_json(buf_view(&first), &read);
    assert_non_null(back);
    read.host = "box";
    json_forecast(&k, back, &read, ALL_GPUS);
    assert_string_equal(first.at, second.at);
    assert_int_equal(back->gpus[0].vram.pid, 4242);
    assert_int_equal(back->gpus[1].vram.used_bytes.state, f->gpus[1].vram.used_bytes.state); /* the reason, too */
    free(back);
    free(f);
}

static void what_is_something_else_is_refused(void **state)
{
    (void)state;
    struct forecast_basis basis;
    assert_null(forecast_from_json(STR(""), &basis));
    assert_null(forecast_from_json(STR("[]"), &basis));
    assert_null(forecast_from_json(STR("{\"gpus\":3}"), &basis));
    struct forecast *f = forecast_from_json(STR("{\"gpus\":[{\"memory\":{\"seconds\":\"x\",\"verdict\":7}},null]}"), &basis);
    assert_non_null(f);
    assert_int_equal(f->count, 2);
    assert_int_equal(f->gpus[0].vram.when.verdict, FORECAST_UNKNOWN);
    free(f);
}

static void only_what_has_a_time_has_a_series(void **state)
{
    (void)state;
    struct forecast *f = two_gpus();
    AUTO_BUF struct buf out = BUF(65536);
    prometheus_forecast(&out, f);
    assert_non_null(strstr(out.at, "gpu_memory_full_seconds{gpu=\"0\",uuid=\"GPU-a\",name=\"NVIDIA H200\"} 720.5\n"));
    assert_null(strstr(out.at, "gpu_memory_full_seconds{gpu=\"1\""));
    assert_null(strstr(out.at, "gpu_throttle_forecast_seconds"));
    assert_non_null(strstr(out.at, "gpu_temperature_final_celsius{gpu=\"1\",uuid=\"GPU-b\",name=\"NVIDIA H200\"} 62.1\n"));
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_says_what_when_between_and_why),
        TEST(a_moment_is_as_precise_as_it_is_near),
        TEST(no_line_is_wider_than_the_page),
        TEST(one_gpu_is_spoken_of_alone),
        TEST(growth_that_was_watched_too_briefly_is_the_answer),
        TEST(an_open_end_is_said),
        TEST(a_store_at_its_cap_is_no_news),
        TEST(json_comes_back_the_same),
        TEST(what_is_something_else_is_refused),
        TEST(only_what_has_a_time_has_a_series),
    };
    return RUN_TESTS(tests);
}
