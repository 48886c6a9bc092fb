/* SPDX-License-Identifier: Apache-2.0
 * Steps that came without a request, learned from samples; and what they let expect.
 */
#include "remedy/effect.h"

#include "test.h"

/* A GPU that draws 79 W at rest, and 43 W more for each context. */
enum { REST_MW = 79000, CONTEXT_MW = 43000, SECOND_MS = 1000 };

struct bench {
    struct learner learner;
    struct gpu gpu;
    struct wall now;
    struct effects all;
    int32_t pids[8];
    size_t count;
    int64_t util_permille;
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    *state = b;
    b->now.ms = 1700000000000;
    strcpy(b->gpu.id.uuid, "GPU-1");
    strcpy(b->gpu.id.name, "H200");
    b->gpu.processes_state = READING_OK;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    gpu_done(&b->gpu);
    effects_done(&b->all);
    free(b);
    return 0;
}

static void pass(struct bench *b, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        struct effect e;
        gpu_cut_processes(&b->gpu, 0);
        for (size_t k = 0; k < b->count; k++) {
            struct process *p = gpu_add_process(&b->gpu, b->pids[k]);
            p->type = PROCESS_COMPUTE;
            strcpy(p->name, "python3");
            strcpy(p->user, "alice");
        }
        b->gpu.util_permille = reading_ok(b->util_permille);
        b->gpu.power_mw = reading_ok(REST_MW + (int64_t)b->count * CONTEXT_MW + b->util_permille * 500);
        b->gpu.power_limit_mw = reading_ok(700000);
        b->now.ms += SECOND_MS;
        if (learn_sample(&b->learner, &b->gpu, b->now, &e))
            effects_put(&b->all, &e);
    }
}

static void a_context_that_comes_teaches_what_closing_it_saves(void **state)
{
    struct bench *b = *state;
    pass(b, 30);
    assert_int_equal(b->all.count, 0);
    b->pids[b->count++] = 4242;
    pass(b, 30);
    assert_int_equal(b->all.count, 1);
    const struct effect *e = &b->all.list[0];
    assert_int_equal(e->cause, EFFECT_CONTEXT);
    assert_int_equal(e->before.power_mw.value - e->after.power_mw.value, CONTEXT_MW);
    assert_non_null(strstr(e->what, "python3 (alice)"));
    struct remedy close = {.code = REMEDY_CLOSE_CONTEXT}, boost = {.code = REMEDY_NO_BOOST};
    effects_expect(&b->all, &b->gpu, &close);
    effects_expect(&b->all, &b->gpu, &boost);
    assert_int_equal(close.source, EXPECTED_OWN_HISTORY);
    assert_int_equal(close.expected.power_mw.value, -CONTEXT_MW);
    assert_int_equal(boost.expected.power_mw.value, -CONTEXT_MW);
    pass(b, 60); /* once is enough */
    assert_int_equal(b->all.count, 1);
    b->count = 0;
    pass(b, 30);
    assert_int_equal(b->all.count, 2);
    assert_int_equal(b->all.list[1].before.power_mw.value - b->all.list[1].after.power_mw.value, CONTEXT_MW);
}

static void several_at_once_or_work_teach_nothing(void **state)
{
    struct bench *b = *state;
    pass(b, 30);
    b->pids[b->count++] = 1;
    b->pids[b->count++] = 2;
    pass(b, 30);
    assert_int_equal(b->all.count, 0);
    b->util_permille = 900;
    b->count = 1;
    pass(b, 60);
    assert_int_equal(b->all.count, 0);
    b->gpu.processes_hidden = 1;
    b->util_permille = 0;
    b->count = 0;
    pass(b, 60);
    assert_int_equal(b->all.count, 0);
}

static void before_a_step_was_seen_nothing_is_known_and_another_model_tells_nothing(void **state)
{
    struct bench *b = *state;
    struct remedy r = {.code = REMEDY_CLOSE_CONTEXT};
    effects_expect(&b->all, &b->gpu, &r);
    assert_int_equal(r.source, EXPECTED_NOT_KNOWN);
    pass(b, 30);
    b->pids[b->count++] = 7;
    pass(b, 30);
    strcpy(b->gpu.id.uuid, "GPU-2");
    effects_expect(&b->all, &b->gpu, &r);
    assert_int_equal(r.source, EXPECTED_SIBLINGS);
    r = (struct remedy){.code = REMEDY_CLOSE_CONTEXT};
    strcpy(b->gpu.id.name, "L40S");
    effects_expect(&b->all, &b->gpu, &r);
    assert_int_equal(r.source, EXPECTED_NOT_KNOWN);
}

/* What each of these programs pays while the GPU draws so much with so much load; adds up to its power. */
static int64_t paid(struct bench *b, const struct parked_steps *steps, int64_t power_mw, int64_t util_permille, size_t which)
{
    int64_t sum = 0;
    b->gpu.power_mw = reading_ok(power_mw);
    b->gpu.idle_mw = reading_ok(REST_MW);
    b->gpu.util_permille = reading_ok(util_permille);
    for (size_t i = 0; i < b->gpu.process_count; i++) {
        struct process *p = &b->gpu.processes[i];
        p->power_mw = util_permille ? reading_ok((power_mw - REST_MW) / (int64_t)b->gpu.process_count) : reading_ok(0);
        p->parked_mw = reading_absent(READING_UNREAD);
    }
    b->gpu.not_attributed_mw = reading_ok(util_permille ? REST_MW : power_mw);
    parked_charge(steps, &b->gpu);
    for (size_t i = 0; i < b->gpu.process_count; i++)
        sum += b->gpu.processes[i].power_mw.value;
    assert_int_equal(sum + b->gpu.not_attributed_mw.value, power_mw);
    struct reading r = b->gpu.processes[which].parked_mw;
    return r.state == READING_OK ? r.value : -(int64_t)r.state;
}

static void who_holds_a_context_pays_for_it_while_the_gpu_rests(void **state)
{
    struct bench *b = *state;
    struct parked_steps steps = {0};
    pass(b, 30);
    b->pids[b->count++] = 4242;
    pass(b, 30);
    assert_int_equal(paid(b, &steps, REST_MW + CONTEXT_MW, 0, 0), -READING_PENDING); /* no step is known */
    for (size_t i = 0; i < b->all.count; i++)
        parked_note(&steps, &b->all.list[i]);
    assert_int_equal(paid(b, &steps, REST_MW + CONTEXT_MW, 0, 0), CONTEXT_MW);
    assert_int_equal(b->gpu.processes[0].power_mw.value, CONTEXT_MW);
    assert_int_equal(paid(b, &steps, REST_MW + 2 * CONTEXT_MW, 0, 0), CONTEXT_MW); /* the rest has another cause */
    assert_int_equal(paid(b, &steps, REST_MW + 1000, 0, 0), 1000);                 /* its driver lets the clocks go down */
    assert_int_equal(paid(b, &steps, REST_MW - 1000, 0, 0), 0);
    assert_int_equal(paid(b, &steps, 600000, 900, 0), 0); /* at work */
    assert_int_equal(paid(b, &steps, REST_MW + CONTEXT_MW, 20, 0), CONTEXT_MW);
    b->pids[b->count++] = 4243;
    pass(b, 1);
    assert_int_equal(paid(b, &steps, REST_MW + CONTEXT_MW, 0, 1), CONTEXT_MW / 2);
    b->gpu.processes[1].variables = VARIABLE_READ | VARIABLE_NO_BOOST;
    assert_int_equal(paid(b, &steps, REST_MW + CONTEXT_MW, 0, 1), 0);
    assert_int_equal(paid(b, &steps, REST_MW + CONTEXT_MW, 0, 0), CONTEXT_MW);
    b->gpu.processes[1].type = PROCESS_GRAPHICS;
    assert_int_equal(paid(b, &steps, REST_MW + CONTEXT_MW, 0, 1), -READING_UNSUPPORTED);
    b->gpu.processes_hidden = 1; /* it may be a hidden one's */
    assert_int_equal(paid(b, &steps, REST_MW + CONTEXT_MW, 0, 0), -READING_PENDING);
    b->gpu.processes_hidden = 0;
    strcpy(b->gpu.id.uuid, "GPU-2");
    assert_int_equal(paid(b, &steps, REST_MW + CONTEXT_MW, 0, 0), -READING_PENDING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_context_that_comes_teaches_what_closing_it_saves, setup, teardown),
        cmocka_unit_test_setup_teardown(several_at_once_or_work_teach_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(before_a_step_was_seen_nothing_is_known_and_another_model_tells_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(who_holds_a_context_pays_for_it_while_the_gpu_rests, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
