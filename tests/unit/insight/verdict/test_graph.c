/* SPDX-License-Identifier: Apache-2.0
 * Roots and effects.
 */
#include "insight/verdict/graph.h"

#include "model/finding_code.h"
#include "test.h"

static struct snapshot *machine(size_t gpus)
{
    struct snapshot *s = snapshot_new(gpus);
    assert_non_null(s);
    for (size_t i = 0; i < gpus; i++)
        s->gpus[i].index = (int)i;
    return s;
}

static void a_root_comes_before_its_effect_and_is_as_severe(void **state)
{
    (void)state;
    struct verdict *v = verdict_new(2, 4);
    struct snapshot *s = machine(2);
    assert_non_null(v);
    v->findings[v->count++] = (struct finding){.code = FINDING_HEAT_LIMIT, .severity = SEVERITY_CRITICAL, .confidence = 0.95};
    v->findings[v->count++] = (struct finding){.code = FINDING_FAN_FAILING, .severity = SEVERITY_WARNING, .confidence = 0.7};
    v->findings[v->count++] = (struct finding){.code = FINDING_CLOCKS_LOW, .severity = SEVERITY_NOTICE, .confidence = 0.9};
    v->findings[v->count++] =
        (struct finding){.code = FINDING_FAN_BY_HAND, .severity = SEVERITY_WARNING, .confidence = 0.9, .gpu_index = 1};
    graph_link(v, s);
    verdict_rank(v);
    assert_int_equal(v->findings[0].code, FINDING_FAN_FAILING);
    assert_int_equal(v->findings[0].severity, SEVERITY_CRITICAL);
    assert_int_equal(v->findings[1].code, FINDING_HEAT_LIMIT);
    assert_true(v->findings[1].is_effect);
    assert_int_equal(v->findings[2].severity, SEVERITY_WARNING); /* of another GPU: neither cause nor effect */
    assert_false(v->findings[2].is_effect);
    assert_int_equal(v->findings[3].code, FINDING_CLOCKS_LOW);
    verdict_free(v);
    snapshot_unref(s);
}

static void a_guess_is_no_root(void **state)
{
    (void)state;
    struct verdict *v = verdict_new(1, 2);
    struct snapshot *s = machine(1);
    assert_non_null(v);
    v->findings[v->count++] = (struct finding){.code = FINDING_HEAT_LIMIT, .severity = SEVERITY_CRITICAL, .confidence = 0.95};
    v->findings[v->count++] = (struct finding){.code = FINDING_FAN_BY_HAND, .severity = SEVERITY_INFO, .confidence = 0.3};
    graph_link(v, s);
    verdict_rank(v);
    assert_int_equal(v->findings[0].code, FINDING_HEAT_LIMIT);
    assert_false(v->findings[0].is_effect);
    verdict_free(v);
    snapshot_unref(s);
}

/* Two findings of one GPU, linked. The caller's. */
static struct verdict *linked(finding_code a, finding_code b, double sure, int64_t throttle_bits)
{
    struct verdict *v = verdict_new(1, 2);
    struct snapshot *s = machine(1);
    assert_non_null(v);
    s->gpus[0].throttle_bits = reading_ok(throttle_bits);
    v->findings[v->count++] = (struct finding){.code = a, .severity = SEVERITY_WARNING, .confidence = sure};
    v->findings[v->count++] = (struct finding){.code = b, .severity = SEVERITY_WARNING, .confidence = 0.9};
    graph_link(v, s);
    verdict_rank(v);
    snapshot_unref(s);
    return v;
}

static void a_weak_cause_leaves_the_effect_where_it_is(void **state)
{
    (void)state;
    struct verdict *v = linked(FINDING_AIRFLOW, FINDING_HEAT_LIMIT, 0.95, THROTTLE_HW_THERMAL);
    assert_int_equal(v->findings[0].code, FINDING_HEAT_LIMIT);
    assert_false(v->findings[0].is_effect);
    verdict_free(v);
    v = linked(FINDING_FAN_BY_HAND, FINDING_HEAT_LIMIT, 0.5, THROTTLE_HW_THERMAL); /* not sure enough */
    assert_false(verdict_find(v, 0, FINDING_HEAT_LIMIT)->is_effect);
    verdict_free(v);
}

static void an_edge_holds_only_where_its_needs_are_met(void **state)
{
    (void)state;
    struct verdict *v = linked(FINDING_HEAT_LIMIT, FINDING_CLOCKS_LOW, 0.95, THROTTLE_HW_THERMAL);
    assert_true(verdict_find(v, 0, FINDING_CLOCKS_LOW)->is_effect);
    assert_int_equal(verdict_find(v, 0, FINDING_CLOCKS_LOW)->root, FINDING_HEAT_LIMIT);
    verdict_free(v);
    v = linked(FINDING_HEAT_LIMIT, FINDING_CLOCKS_LOW, 0.95, 0); /* hot, and yet nothing throttles */
    assert_false(verdict_find(v, 0, FINDING_CLOCKS_LOW)->is_effect);
    verdict_free(v);
}

static void what_the_root_says_already_is_left_out(void **state)
{
    (void)state;
    struct verdict *v = linked(FINDING_SLOWDOWN, FINDING_POWER_LIMIT, 0.95, THROTTLE_POWER_BRAKE);
    assert_int_equal(v->count, 1);
    assert_int_equal(v->findings[0].code, FINDING_SLOWDOWN);
    verdict_free(v);
    v = linked(FINDING_SLOWDOWN, FINDING_CLOCKS_LOW, 0.95, THROTTLE_POWER_BRAKE); /* by how much it is slower is news */
    assert_int_equal(v->count, 2);
    assert_int_equal(verdict_find(v, 0, FINDING_CLOCKS_LOW)->root, FINDING_SLOWDOWN);
    verdict_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_root_comes_before_its_effect_and_is_as_severe), TEST(a_guess_is_no_root),
        TEST(a_weak_cause_leaves_the_effect_where_it_is),      TEST(an_edge_holds_only_where_its_needs_are_met),
        TEST(what_the_root_says_already_is_left_out),
    };
    return RUN_TESTS(tests);
}
