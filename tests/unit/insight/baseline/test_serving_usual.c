/* SPDX-License-Identifier: Apache-2.0
 * Days of a model server, made up, and what is learned from them: what is compared with what, how much is needed, what is left out.
 */
#include "insight/baseline/serving_usual.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "test.h"

enum { FIRST_DAY = 20500 };

static struct serving_row minute(int64_t day, int m, double requests, double tokens)
{
    return (struct serving_row){.at = {(FIRST_DAY + day) * (int64_t)DAY_MS + m * (int64_t)MINUTE_MS},
                                .model = "Qwen3-8B",
                                .gpu_name = "L4",
                                .gpus = 1,
                                .ms = MINUTE_MS,
                                .busy_ms = requests > 0 ? MINUTE_MS : 0,
                                .request_ms = (int64_t)(requests * MINUTE_MS),
                                .generated_milli = (int64_t)(tokens * 60 * 1000),
                                .prompt_milli = reading_ok((int64_t)(tokens * 60 * 1000)),
                                .energy_uj = reading_ok(60 * INT64_C(50000000))};
}

static void learn_days(struct serving_learner *l, int days, int minutes, double requests, double tokens)
{
    for (int d = 0; d < days; d++)
        for (int m = 0; m < minutes; m++) {
            struct serving_row row = minute(d, m, requests, tokens);
            serving_learn(l, &row);
        }
}

static struct serving_verdict judge(struct serving_learner *l, struct serving_row now)
{
    struct serving_baselines *b = calloc(1, sizeof *b);
    assert_non_null(b);
    serving_conclude(l, b);
    struct serving_verdict v = serving_judge(b, &now);
    free(b);
    return v;
}

static struct serving_verdict judge_after(int days, int minutes, struct serving_row now)
{
    struct serving_learner *l = serving_learner_new(0);
    assert_non_null(l);
    learn_days(l, days, minutes, 8, 400);
    struct serving_verdict v = judge(l, now);
    serving_learner_free(l);
    return v;
}

static void half_of_the_usual_tokens_is_slow(void **state)
{
    (void)state;
    const struct serving_verdict v = judge_after(8, 30, minute(9, 0, 8, 200));
    assert_true(v.slow);
    assert_int_equal(v.days, 8);
    assert_int_equal(v.tokens_milli, 200000);
    assert_int_equal(v.usual_tokens_milli, 400000);
    assert_int_equal(v.usual_per_kilojoule_milli.value, 8000000); /* 400 tokens/s at 50 W */
    assert_int_equal(v.per_kilojoule_milli.value, 4000000);
    assert_false(judge_after(8, 30, minute(9, 0, 8, 320)).slow);
}

static void a_week_of_days_with_enough_minutes_is_needed(void **state)
{
    (void)state;
    assert_int_equal(judge_after(6, 30, minute(9, 0, 8, 100)).days, 0);
    assert_int_equal(judge_after(30, SERVING_MINUTES_LEAST - 1, minute(31, 0, 8, 100)).days, 0);
    assert_true(judge_after(7, SERVING_MINUTES_LEAST, minute(9, 0, 8, 100)).slow);
    assert_int_equal(serving_judge(NULL, &(struct serving_row){.model = "", .gpu_name = ""}).days, 0);
}

static void only_like_is_compared_with_like(void **state)
{
    (void)state;
    struct serving_row now = minute(9, 0, 8, 200);
    now.model = "Qwen3-32B";
    assert_int_equal(judge_after(8, 30, now).days, 0);
    now = minute(9, 0, 8, 200);
    now.gpu_name = "H100";
    assert_int_equal(judge_after(8, 30, now).days, 0);
    now = minute(9, 0, 8, 200);
    now.gpus = 2;
    assert_int_equal(judge_after(8, 30, now).days, 0);
    assert_int_equal(judge_after(8, 30, minute(9, 0, 4, 50)).days, 0);  /* 5 to 8 requests are known */
    assert_int_equal(judge_after(8, 30, minute(9, 0, 16, 50)).days, 0); /* and no more */
    assert_false(judge_after(8, 30, minute(9, 0, 5, 250)).slow);        /* five eighths of the requests */
    assert_true(judge_after(8, 30, minute(9, 0, 5, 150)).slow);
    now = minute(9, 0, 8, 200);
    now.prompt_milli.value *= 4; /* longer prompts */
    assert_int_equal(judge_after(8, 30, now).days, 0);
    now = minute(9, 0, 8, 200);
    now.busy_ms = MINUTE_MS / 2; /* it had nothing to do for half of the time */
    assert_int_equal(judge_after(8, 30, now).days, 0);
}

static void days_that_were_as_slow_make_it_usual(void **state)
{
    (void)state;
    struct serving_learner *l = serving_learner_new(0);
    for (int d = 0; d < 12; d++)
        for (int m = 0; m < 30; m++) {
            struct serving_row row = minute(d, m, 8, d % 3 ? 400 : 200);
            serving_learn(l, &row);
        }
    assert_int_equal(judge(l, minute(13, 0, 8, 210)).days, 12);
    assert_false(judge(l, minute(13, 0, 8, 210)).slow);
    assert_true(judge(l, minute(13, 0, 8, 150)).slow);
    serving_learner_free(l);
}

static void energy_is_judged_where_it_is_known(void **state)
{
    (void)state;
    struct serving_row now = minute(9, 0, 8, 400);
    now.energy_uj.value *= 2;
    assert_false(judge_after(8, 30, now).slow);
    assert_true(judge_after(8, 30, now).hungry);
    now.energy_uj = reading_absent(READING_UNSUPPORTED);
    assert_false(judge_after(8, 30, now).hungry);
    assert_int_equal(judge_after(8, 30, now).per_kilojoule_milli.state, READING_UNREAD);
}

/* A host that has had hundreds of models, for years. */
static void more_models_and_days_than_there_is_room_for_are_left_out(void **state)
{
    (void)state;
    struct serving_learner *l = serving_learner_new(0);
    char name[16];
    learn_days(l, 500, 10, 8, 400);
    for (int i = 0; i < 200; i++) {
        struct serving_row row = minute(500, i, 8, 100);
        snprintf(name, sizeof name, "model-%d", i);
        row.model = name;
        serving_learn(l, &row);
    }
    const struct serving_verdict v = judge(l, minute(501, 0, 8, 100));
    assert_int_equal(v.days, SERVING_DAYS_MAX);
    assert_true(v.slow);
    serving_learner_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(half_of_the_usual_tokens_is_slow),   TEST(a_week_of_days_with_enough_minutes_is_needed),
        TEST(only_like_is_compared_with_like),    TEST(days_that_were_as_slow_make_it_usual),
        TEST(energy_is_judged_where_it_is_known), TEST(more_models_and_days_than_there_is_room_for_are_left_out),
    };
    return RUN_TESTS(tests);
}
