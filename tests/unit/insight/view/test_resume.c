/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/view/why.h"
#include "test.h"

static struct snapshot *moment(int64_t at_s, int64_t limit_w, const char *fan_control)
{
    struct snapshot *s = snapshot_new(1);
    assert_non_null(s);
    s->taken_at = (struct wall){1800000000000 + at_s * 1000};
    struct gpu *g = &s->gpus[0];
    snprintf(g->id.uuid, sizeof g->id.uuid, "GPU-1");
    g->util_permille = reading_ok(0);
    g->temp_mdegc = reading_ok(38000);
    g->power_mw = reading_ok(21000);
    g->power_limit_mw = reading_ok(limit_w * 1000);
    gpu_set_property(g, PROPERTY_fan_control, fan_control);
    return s;
}

static struct why *after_resume(struct recent *past, struct snapshot *before, struct snapshot *after, struct snapshot *now)
{
    recent_add(past, NULL, before);
    after->suspended_ms = 3600000;
    recent_add(past, before, after);
    return why_explain(now, past);
}

static void what_a_driver_forgot_over_a_suspend_is_said(void **state)
{
    (void)state;
    struct recent past = {0};
    struct snapshot *before = moment(0, 350, "manual"), *after = moment(3600, 450, "automatic"),
                    *now = moment(3900, 450, "automatic");
    struct why *why = after_resume(&past, before, after, now);
    assert_string_equal(why->gpus[0].after_resume, "power limit 450 W (before 350 W), fan control automatic (before manual)");
    assert_non_null(strstr(why->gpus[0].answer, "Since the host resumed 5m ago: power limit 450 W (before 350 W)"));
    why_free(why);
    why = why_explain_past(now, &past, NULL);
    assert_null(strstr(why->gpus[0].answer, "resumed")); /* about now only */
    why_free(why);
    recent_done(&past);
    snapshot_unref(before);
    snapshot_unref(after);
    snapshot_unref(now);
}

static void settings_that_came_back_and_old_resumes_are_not_mentioned(void **state)
{
    (void)state;
    struct recent past = {0};
    struct snapshot *before = moment(0, 350, "manual"), *after = moment(3600, 450, "automatic");
    struct snapshot *restored = moment(3700, 350, "manual"), *tomorrow = moment(3600 + 90000, 450, "automatic");
    struct why *why = after_resume(&past, before, after, restored);
    assert_string_equal(why->gpus[0].after_resume, "");
    why_free(why);
    why = why_explain(tomorrow, &past);
    assert_string_equal(why->gpus[0].after_resume, "");
    why_free(why);
    recent_done(&past);
    snapshot_unref(before);
    snapshot_unref(after);
    snapshot_unref(restored);
    snapshot_unref(tomorrow);
}

static void without_a_suspend_a_new_limit_is_intended(void **state)
{
    (void)state;
    struct recent past = {0};
    struct snapshot *before = moment(0, 350, "manual"), *now = moment(60, 450, "manual");
    recent_add(&past, NULL, before);
    recent_add(&past, before, now);
    struct why *why = why_explain(now, &past);
    assert_string_equal(why->gpus[0].after_resume, "");
    assert_null(strstr(why->gpus[0].answer, "resumed"));
    why_free(why);
    recent_done(&past);
    snapshot_unref(before);
    snapshot_unref(now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_driver_forgot_over_a_suspend_is_said),
        TEST(settings_that_came_back_and_old_resumes_are_not_mentioned),
        TEST(without_a_suspend_a_new_limit_is_intended),
    };
    return RUN_TESTS(tests);
}
