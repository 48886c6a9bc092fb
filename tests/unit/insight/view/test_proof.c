/* SPDX-License-Identifier: Apache-2.0
 * What decides about a finding is found by asking the judge again.
 */
#include "insight/view/why.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/finding_code.h"
#include "test.h"

/* Two GPUs; the second is at work and this hot. */
static struct snapshot *machine(int64_t celsius)
{
    struct snapshot *s = snapshot_new(2);
    assert_non_null(s);
    s->taken_at = (struct wall){1800000000000};
    for (int i = 0; i < 2; i++) {
        struct gpu *g = &s->gpus[i];
        g->index = i;
        snprintf(g->id.uuid, sizeof g->id.uuid, "GPU-%d", i);
        g->util_permille = reading_ok(i ? 980 : 0);
        g->power_mw = reading_ok(i ? 310000 : 20000);
        g->power_limit_mw = reading_ok(450000);
        g->temp_mdegc = reading_ok(i ? celsius * 1000 : 35000);
        g->temp_limit_mdegc = reading_ok(92000);
        g->fan_permille = reading_ok(i ? 1000 : 0);
        g->throttle_bits = reading_ok(0);
    }
    return s;
}

static struct proof prove(const struct snapshot *s, int only, finding_code code)
{
    struct proof p;
    assert_int_equal(proof_make(s, &(struct judge_basis){0}, only, code, &p), 0);
    return p;
}

static const struct proof_reading *reading_named(const struct proof *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->readings[i].info->json, name) == 0)
            return &p->readings[i];
    return NULL;
}

static void a_finding_names_the_reading_that_decides_and_where_it_turns(void **state)
{
    (void)state;
    struct snapshot *s = machine(91);
    s->taken = (struct mono){100000000000};
    s->gpus[1].group_read[__builtin_ctz(GROUP_FAST)] = s->taken;
    s->gpus[1].group_read[__builtin_ctz(GROUP_SLOW)] = (struct mono){93000000000};
    struct proof p = prove(s, ALL_GPUS, FINDING_HEAT_LIMIT);
    for (size_t i = 0; i < p.count; i++) /* each reading has the age of its own group */
        assert_int_equal(p.readings[i].age_ms, !p.readings[i].of_host && p.readings[i].info->group == GROUP_SLOW ? 7000 : 0);
    assert_true(p.said && p.by_moment);
    assert_int_equal(p.gpu_index, 1);
    const struct proof_reading *temp = reading_named(&p, "temperature_celsius");
    assert_non_null(temp);
    assert_true(temp->needed && temp->turns);
    assert_ptr_equal(temp, &p.readings[0]);
    for (size_t i = 0; i < p.count; i++) /* what belongs to the part never moves */
        assert_false(p.readings[i].turns && p.readings[i].info->group == GROUP_STATIC);
    /* That it turns there is no claim: the judge says so. */
    s->gpus[1].temp_mdegc = reading_ok(temp->turn);
    struct proof below = prove(s, 1, FINDING_HEAT_LIMIT);
    assert_false(below.said);
    s->gpus[1].temp_mdegc = reading_ok(temp->turn + 1000);
    struct proof above = prove(s, 1, FINDING_HEAT_LIMIT);
    assert_true(above.said);
    /* The other GPU has nothing to do with it. */
    assert_null(reading_named(&p, "fan_count"));
    snapshot_unref(s);
}

static void what_is_not_said_has_a_reading_that_would_bring_it_about(void **state)
{
    (void)state;
    struct snapshot *s = machine(61);
    struct proof p = prove(s, 1, FINDING_HEAT_LIMIT);
    assert_false(p.said);
    const struct proof_reading *temp = reading_named(&p, "temperature_celsius");
    assert_non_null(temp);
    assert_true(temp->turns && temp->turn > 61000 && temp->turn % 1000 == 0);
    s->gpus[1].temp_mdegc = reading_ok(temp->turn);
    struct proof moved = prove(s, 1, FINDING_HEAT_LIMIT);
    assert_true(moved.said);
    p = prove(s, 0, FINDING_NO_DRIVER); /* of the host's drivers, not of readings */
    assert_true(!p.said && p.count == 0);
    snapshot_unref(s);
}

static void a_reading_that_was_not_seen_is_named_as_such(void **state)
{
    (void)state;
    struct snapshot *s = machine(61);
    s->gpus[1].temp_mdegc = reading_absent(READING_UNSUPPORTED);
    struct proof p = prove(s, 1, FINDING_HEAT_LIMIT);
    const struct proof_reading *temp = reading_named(&p, "temperature_celsius");
    assert_non_null(temp);
    assert_true(temp->turns && !temp->needed && temp->value.state == READING_UNSUPPORTED);
    snapshot_unref(s);
}

static void readings_that_say_the_same_decide_together(void **state)
{
    (void)state;
    struct snapshot *s = machine(93);
    s->gpus[1].throttle_bits = reading_ok(THROTTLE_HW_THERMAL);
    struct proof p = prove(s, 1, FINDING_HEAT_LIMIT);
    assert_true(p.said && p.by_moment && p.together);
    assert_true(p.count >= 2 && reading_named(&p, "throttle_reasons") && reading_named(&p, "temperature_celsius"));
    for (size_t i = 0; i < p.count; i++)
        s->gpus[1].metric[p.readings[i].info - metric_table] = reading_absent(READING_UNSUPPORTED);
    struct proof blind = prove(s, 1, FINDING_HEAT_LIMIT);
    assert_false(blind.said);
    snapshot_unref(s);
}

static void the_published_verdict_counts_where_the_moment_alone_does_not_bring_it_about(void **state)
{
    (void)state;
    struct snapshot *s = machine(61);
    s->verdict = verdict_new(2, 4);
    assert_non_null(s->verdict);
    s->verdict->findings[s->verdict->count++] =
        (struct finding){.code = FINDING_XID, .gpu_index = 1, .confidence = 0.9, .headline = "GPU 1 had XID 13"};
    struct proof p = prove(s, ALL_GPUS, FINDING_XID);
    assert_true(p.said && !p.by_moment);
    assert_string_equal(p.found.headline, "GPU 1 had XID 13");
    snapshot_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_names_the_reading_that_decides_and_where_it_turns),
        cmocka_unit_test(what_is_not_said_has_a_reading_that_would_bring_it_about),
        cmocka_unit_test(a_reading_that_was_not_seen_is_named_as_such),
        cmocka_unit_test(readings_that_say_the_same_decide_together),
        cmocka_unit_test(the_published_verdict_counts_where_the_moment_alone_does_not_bring_it_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
