/* SPDX-License-Identifier: Apache-2.0
 * One verdict in every form: on random machines, each form has the severity and the first finding of the verdict that the snapshot
 * was published with.
 */
#include "test.h"

#include <jansson.h>

#include "base/cleanup.h"
#include "format/health_forms.h"
#include "format/json/json.h"
#include "format/prometheus/prometheus.h"
#include "format/table/table.h"
#include "insight/verdict/health.h"
#include "insight/verdict/judge.h"
#include "insight/verdict/verdict.h"
#include "insight/view/why.h"
#include "model/finding.h"
#include "random_machine.h"
#include "tui/draw.h"

enum { MACHINES = 300, WIDTH = 400, HEIGHT = 60, TEXT_MAX = 8 << 20 };

struct looked_at {
    struct judge *judge;
    struct snapshot *now;
    struct why *why;
    struct health *health;
    const struct finding *first; /* NULL: nothing was found */
    int number;
};

/* Calm but for a few readings: on a machine that is wrong everywhere only the worst is seen. */
static void calm_down(struct random *r, struct gpu *gpu)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (chance(r, 98))
            gpu->metric[i] = reading_absent(READING_UNSUPPORTED);
    gpu->state = GPU_OK;
    gpu->util_permille = reading_ok(20);
    gpu->temp_mdegc = chance(r, 95) ? reading_ok(40000) : gpu->temp_mdegc;
    gpu->power_mw = chance(r, 90) ? reading_ok(25000) : gpu->power_mw;
    gpu->fan_permille = chance(r, 95) ? reading_ok(300) : gpu->fan_permille;
    gpu->mem_total_bytes = reading_ok(24LL << 30);
    gpu->mem_used_bytes = reading_ok(chance(r, 90) ? 1LL << 30 : 24LL << 30);
}

static void look(struct looked_at *m, struct random *r, int number)
{
    *m = (struct looked_at){.judge = judge_new(), .now = random_snapshot(r), .number = number};
    for (size_t i = 0; number % 2 && i < m->now->gpu_count; i++)
        calm_down(r, &m->now->gpus[i]);
    for (size_t i = 0; number % 2 && i < m->now->source_count; i++)
        m->now->sources[i].state = SOURCE_OK;
    judge_take(m->judge, m->now);
    m->why = why_judge(m->now, &(struct judge_basis){.past = judge_recent(m->judge)});
    m->health = judge_copy_health(m->judge);
    m->first = verdict_main(m->now->verdict);
    assert_true(m->why && m->health && m->now->verdict);
}

static void look_away(struct looked_at *m)
{
    why_free(m->why);
    health_free(m->health);
    judge_free(m->judge);
    snapshot_unref(m->now);
}

static void check_json(const struct looked_at *m, struct buf *text, const char *form)
{
    assert_false(text->failed);
    json_error_t error;
    json_t *body = json_loadb(text->at, text->len, 0, &error);
    if (!body)
        fail_msg("machine %d, %s: %s", m->number, form, error.text);
    const json_t *finding = json_object_get(body, "finding");
    finding = finding ? finding : json_array_get(json_object_get(body, "findings"), 0);
    const char *severity = json_string_value(json_object_get(body, "severity"));
    const char *code = json_string_value(json_object_get(finding, "code"));
    const char *expected = severity_text(m->first ? m->first->severity : SEVERITY_INFO);
    const char *expected_code = m->first ? finding_code_name(m->first->code) : NULL;
    if (!severity || strcmp(severity, expected) != 0 ||
        (code ? !expected_code || strcmp(code, expected_code) != 0 : !!expected_code))
        fail_msg("machine %d, %s: %s %s instead of %s %s", m->number, form, severity ? severity : "null", code ? code : "null",
                 expected, expected_code ? expected_code : "null");
    json_decref(body);
}

static void test_json_has_the_first_finding(void **state)
{
    (void)state;
    struct random r = {0x9e3779b97f4a7c15};
    size_t met[SEVERITY_CRITICAL + 1] = {0};
    for (int n = 0; n < MACHINES; n++) {
        struct looked_at m;
        const struct health_basis basis = {.log_state = "absent", .log_message = ""};
        look(&m, &r, n);
        AUTO_BUF struct buf metrics = BUF(TEXT_MAX), summary = BUF(TEXT_MAX), why = BUF(TEXT_MAX), health = BUF(TEXT_MAX);
        json_metrics(&JSON_WRITER(&metrics), m.now, ALL_GPUS);
        json_summary(&JSON_WRITER(&summary), m.now, m.why);
        json_why(&JSON_WRITER(&why), m.now, m.why, ALL_GPUS);
        json_health(&JSON_WRITER(&health), m.health, &basis, m.now->verdict, HEALTH_ALL);
        check_json(&m, &metrics, "status");
        check_json(&m, &summary, "summary");
        check_json(&m, &why, "why");
        check_json(&m, &health, "health");
        assert_int_equal(why_severity(m.why), m.first ? m.first->severity : SEVERITY_INFO);
        met[m.first ? m.first->severity : SEVERITY_INFO]++;
        look_away(&m);
    }
    for (size_t i = 0; i <= SEVERITY_CRITICAL; i++)
        assert_true(met[i] > 0);
}

/* The number behind the labels of a GPU's series; -1: there is none. */
static int exported_severity(const char *text, int gpu)
{
    char start[64];
    snprintf(start, sizeof start, "\nwhirr_severity{gpu=\"%d\"", gpu);
    const char *line = strstr(text, start), *end = line ? strchr(line, '}') : NULL;
    return end ? atoi(end + 1) : -1;
}

static void check_series(const struct looked_at *m, const char *text)
{
    for (size_t i = 0; i < m->now->gpu_count; i++)
        if (exported_severity(text, m->now->gpus[i].index) != (int)verdict_severity(m->now->verdict, m->now->gpus[i].index))
            fail_msg("machine %d, GPU %zu: %s", m->number, i, text);
    char code[128];
    snprintf(code, sizeof code, "code=\"%s\",severity=\"%s\"", m->first ? finding_code_name(m->first->code) : "",
             m->first ? severity_text(m->first->severity) : "");
    const char *first = strstr(text, "whirr_finding{");
    const char *end = first ? strchr(first, '\n') : NULL, *found = first ? strstr(first, code) : NULL;
    if (m->first ? !found || found > end : !!first)
        fail_msg("machine %d: %s is not first in %s", m->number, code, text);
}

static void test_series_have_it(void **state)
{
    (void)state;
    struct random r = {0x2545f4914f6cdd1d};
    for (int n = 0; n < MACHINES; n++) {
        struct looked_at m;
        look(&m, &r, n);
        AUTO_BUF struct buf text = BUF(TEXT_MAX);
        buf_char(&text, '\n');
        prometheus_findings(&text, m.now);
        buf_char(&text, '\0');
        check_series(&m, text.at);
        look_away(&m);
    }
}

/* One sign of trouble for all: what is marked in the table is marked in the line, of the host where there is no GPU. */
static void test_people_see_it(void **state)
{
    (void)state;
    struct random r = {0xd1342543de82ef95};
    struct page page = {.utf8 = true};
    for (int n = 0; n < MACHINES; n++) {
        struct looked_at m;
        look(&m, &r, n);
        AUTO_BUF struct buf status = BUF(TEXT_MAX), bar = BUF(TEXT_MAX);
        status_verdict(&status, &page, m.now, ALL_GPUS);
        table_bar(&bar, &page, m.now, ALL_GPUS, "plain");
        buf_char(&status, '\0');
        buf_char(&bar, '\0');
        bool unusual = m.first && m.first->severity > SEVERITY_INFO;
        bool marked = !m.now->gpu_count && verdict_severity(m.now->verdict, -1) > SEVERITY_INFO;
        for (size_t i = 0; m.now->verdict && i < m.now->verdict->gpu_count; i++)
            marked |= verdict_severity(m.now->verdict, m.now->verdict->gpus[i].gpu_index) > SEVERITY_INFO;
        if (unusual && (!strstr(status.at, m.first->headline) || !strstr(status.at, "▲")))
            fail_msg("machine %d: no '%s' in %s", n, m.first->headline, status.at);
        if (!!strstr(bar.at, "▲") != marked)
            fail_msg("machine %d: %s", n, bar.at);
        look_away(&m);
    }
}

/* The live view takes the snapshot and the explanation over. */
static void draw(struct looked_at *m, struct buf *text)
{
    static struct top top;
    struct canvas canvas = {0};
    top_init(&top, &top_defaults);
    top.utf8 = true;
    top_resize(&top, WIDTH, HEIGHT);
    assert_int_equal(canvas_resize(&canvas, WIDTH, HEIGHT), 0);
    top_sample(&top, snapshot_ref(m->now), TAKE(m->why), false);
    draw_frame(&top, &canvas);
    canvas_write(&canvas, text);
    buf_char(text, '\0');
    canvas_done(&canvas);
    top_done(&top);
}

static void test_the_live_view_shows_it(void **state)
{
    (void)state;
    struct random r = {0x853c49e6748fea9b};
    for (int n = 0; n < MACHINES; n++) {
        struct looked_at m;
        look(&m, &r, n);
        AUTO_BUF struct buf text = BUF(TEXT_MAX);
        draw(&m, &text);
        const char *headline = strchr(strchr(text.at, '\n') + 1, '\n') + 2; /* below the tabs and the host */
        bool marked = strncmp(headline, "▲", strlen("▲")) == 0, bad = m.first && m.first->severity > SEVERITY_INFO;
        if (marked != bad)
            fail_msg("machine %d: %s of %s", n, headline, m.first ? m.first->headline : "nothing");
        look_away(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_json_has_the_first_finding), TEST(test_series_have_it), TEST(test_people_see_it),
                                       TEST(test_the_live_view_shows_it)};
    return RUN_TESTS(tests);
}
