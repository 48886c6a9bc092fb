/* SPDX-License-Identifier: Apache-2.0
 * Which alerts and changes of health are left out beside the row of a finding.
 */
#include "model/finding_code.h"
#include "past/history_answer.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"

enum { BEGIN = 1790000000, S = 1000 };

/* A fan that stood still for ten minutes on one GPU of `box`. */
static struct told_finding fan = {FINDING_FAN_STOPPED, SEVERITY_CRITICAL, 7, (int64_t)BEGIN *S, ((int64_t)BEGIN + 600) * S, "box"};

static bool is_told(const struct store_event_row *event)
{
    const struct told_findings all = {&fan, 1};
    return told_already(&all, event);
}

static struct store_event_row alert_after(int64_t seconds)
{
    static const char data[] = "{\"alert\":\"fan_stopped\",\"code\":\"fan_stopped\",\"pending_since\":null}";
    return (struct store_event_row){
        .at = {(BEGIN + seconds) * S}, .gpu_id = 7, .host = "box", .kind = "alert", .severity = "critical", .data = data};
}

static struct store_event_row health_after(int64_t seconds, const char *severity, const char *data)
{
    return (struct store_event_row){
        .at = {(BEGIN + seconds) * S}, .gpu_id = 7, .host = "box", .kind = "health", .severity = severity, .data = data};
}

static void the_alert_of_a_finding_is_told_by_it(void **state)
{
    (void)state;
    struct store_event_row e = alert_after(15);
    assert_true(is_told(&e));
    e = alert_after(630); /* resolved */
    assert_true(is_told(&e));
    e.kind = "guard";
    assert_false(is_told(&e));
}

static void another_gpu_host_code_or_time_is_another_trouble(void **state)
{
    (void)state;
    struct store_event_row e = alert_after(15);
    e.gpu_id = 8;
    assert_false(is_told(&e));
    e = alert_after(15);
    e.host = "other";
    assert_false(is_told(&e));
    e = alert_after(15);
    e.data = "{\"alert\":\"hot\",\"code\":\"hot\"}";
    assert_false(is_told(&e));
    e = alert_after(-120);
    assert_false(is_told(&e));
    e = alert_after(3600);
    assert_false(is_told(&e));
}

/* An alert that is resolved long after has begun in the time of the finding. */
static void an_alert_has_the_time_since_it_began(void **state)
{
    (void)state;
    struct store_event_row e = alert_after(1200);
    char data[200], since[WALL_TEXT_SIZE];
    wall_format((struct wall){(int64_t)(BEGIN + 15) * S}, since);
    snprintf(data, sizeof data, "{\"code\":\"fan_stopped\",\"started_at\":\"%s\"}", since);
    assert_false(is_told(&e));
    e.data = data;
    assert_true(is_told(&e));
}

static void what_is_graver_than_the_finding_stays(void **state)
{
    (void)state;
    struct store_event_row e = alert_after(15);
    fan.severity = SEVERITY_WARNING;
    assert_false(is_told(&e));
    e.severity = "warning";
    assert_true(is_told(&e));
    fan.severity = SEVERITY_CRITICAL;
}

static void a_change_of_health_is_told_by_what_made_it(void **state)
{
    (void)state;
    struct store_event_row e = health_after(1, "critical", "{\"state\":\"failing\",\"before\":\"healthy\"}");
    assert_true(is_told(&e));
    e = health_after(620, "info", "{\"state\":\"healthy\",\"before\":\"failing\"}");
    assert_true(is_told(&e));
    e = health_after(620, "info", "{\"state\":\"healthy\",\"before\":\"unknown\"}");
    assert_false(is_told(&e));
    fan.code = FINDING_LOUD; /* changes no health */
    e = health_after(1, "warning", "{\"state\":\"degraded\",\"before\":\"healthy\"}");
    assert_false(is_told(&e));
    fan.code = FINDING_FAN_STOPPED;
}

/* An alert of an own rule has no code, and data may have been in other hands. */
static void what_cannot_be_read_stays(void **state)
{
    (void)state;
    static const char *const datas[] = {NULL, "", "{", "[]", "7", "{\"code\":null}", "{\"code\":\"busy\"}", "{\"state\":\"odd\"}"};
    for (size_t i = 0; i < ARRAY_LEN(datas); i++) {
        struct store_event_row e = alert_after(15);
        e.data = datas[i];
        assert_false(is_told(&e));
        e.kind = "health";
        assert_false(is_told(&e));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_alert_of_a_finding_is_told_by_it),       TEST(another_gpu_host_code_or_time_is_another_trouble),
        TEST(an_alert_has_the_time_since_it_began),       TEST(what_is_graver_than_the_finding_stays),
        TEST(a_change_of_health_is_told_by_what_made_it), TEST(what_cannot_be_read_stays),
    };
    return RUN_TESTS(tests);
}
