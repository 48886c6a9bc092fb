/* SPDX-License-Identifier: Apache-2.0
 * The one ranking of findings, and what a verdict answers.
 */
#include "model/finding.h"
#include "model/finding_code.h"

#include "base/cleanup.h"
#include "test.h"

static void assert_before(const struct finding *a, const struct finding *b)
{
    assert_true(finding_compare(a, b) < 0);
    assert_true(finding_compare(b, a) > 0);
    assert_int_equal(finding_compare(a, a), 0);
}

static void severity_ranks_before_everything_else(void **state)
{
    (void)state;
    struct finding worse = {.code = FINDING_CODE_COUNT - 1, .severity = SEVERITY_CRITICAL, .confidence = 0.1, .gpu_index = 7};
    struct finding milder = {.code = 0, .severity = SEVERITY_WARNING, .confidence = 1, .power_mw = 700000};
    assert_before(&worse, &milder);
}

static void trouble_ranks_by_likelihood_then_kind_then_watts_then_index(void **state)
{
    (void)state;
    const struct finding first = {.code = 3, .severity = SEVERITY_WARNING, .confidence = 0.9, .power_mw = 100, .gpu_index = 1};
    struct finding other = first;
    other.confidence = 0.7;
    other.code = 0;
    other.power_mw = 900000;
    assert_before(&first, &other);
    other = first;
    other.code = 4;
    other.power_mw = 900000;
    assert_before(&first, &other);
    other = first;
    other.power_mw = 99;
    other.gpu_index = 0;
    assert_before(&first, &other);
    other = first;
    other.gpu_index = 2;
    assert_before(&first, &other);
    other = first;
    other.pid = 1;
    assert_before(&first, &other);
}

/* Two confidences of one likelihood rank alike, or a sentence that was read back would be ranked anew. */
static void confidences_of_one_likelihood_rank_alike(void **state)
{
    (void)state;
    struct finding a = {.code = 3, .severity = SEVERITY_WARNING, .confidence = 0.99}, b = a;
    b.confidence = likelihood_confidence(likelihood_words(a.confidence));
    assert_int_equal(finding_compare(&a, &b), 0);
}

static void without_trouble_the_gpu_that_draws_most_comes_first(void **state)
{
    (void)state;
    struct finding strong = {.code = 9, .severity = SEVERITY_INFO, .confidence = 0.3, .power_mw = 300000, .gpu_index = 5};
    struct finding weak = {.code = 1, .severity = SEVERITY_INFO, .confidence = 1, .power_mw = 20000};
    assert_before(&strong, &weak);
}

static void likelihoods_have_words_and_the_words_a_confidence(void **state)
{
    (void)state;
    assert_string_equal(likelihood_words(1), "very likely");
    assert_string_equal(likelihood_words(0.84), "likely");
    assert_string_equal(likelihood_words(0.3), "possible");
    assert_string_equal(likelihood_words(0.29), "can't tell");
    static const double some[] = {0, 0.3, 0.5, 0.6, 0.85, 1};
    for (size_t i = 0; i < ARRAY_LEN(some); i++) {
        const char *words = likelihood_words(some[i]);
        assert_string_equal(likelihood_words(likelihood_confidence(words)), words);
    }
    assert_true(likelihood_confidence("perhaps") == 0);
}

static void every_name_is_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < FINDING_CODE_COUNT; i++) {
        finding_code code = FINDING_CODE_COUNT;
        assert_true(finding_code_from_name(finding_code_name((finding_code)i), &code));
        assert_int_equal(code, i);
    }
    for (int i = SEVERITY_INFO; i <= SEVERITY_CRITICAL; i++) {
        enum severity severity = SEVERITY_INFO;
        assert_true(severity_from_text(severity_text((enum severity)i), &severity));
        assert_int_equal(severity, i);
    }
    finding_code code;
    enum severity severity;
    assert_false(finding_code_from_name("fan_flies", &code));
    assert_false(severity_from_text("dire", &severity));
    assert_string_equal(finding_area_name(AREA_COUNT), "unknown");
}

/* GPU 0 is throttling and has a mild finding; GPU 2 has only the mild one; GPU 1 has none, and was looked at in part. */
static struct verdict *some_verdict(void)
{
    struct verdict *v = verdict_new(3, 4);
    assert_non_null(v);
    v->findings[v->count++] = (struct finding){.code = FINDING_FAN_STOPPED, .severity = SEVERITY_CRITICAL, .gpu_index = 0};
    v->findings[v->count++] = (struct finding){.code = FINDING_HIDDEN_LOAD, .severity = SEVERITY_WARNING, .gpu_index = -1};
    v->findings[v->count++] = (struct finding){.code = FINDING_NEIGHBOUR_HEAT, .severity = SEVERITY_INFO, .gpu_index = 0};
    v->findings[v->count++] = (struct finding){.code = FINDING_NEIGHBOUR_HEAT, .severity = SEVERITY_INFO, .gpu_index = 2};
    for (int i = 0; i < 3; i++)
        v->gpus[i].gpu_index = i;
    strcpy(v->gpus[1].missing, "its errors");
    return v;
}

static void a_verdict_answers_for_each_gpu(void **state)
{
    (void)state;
    struct verdict *v = some_verdict();
    assert_ptr_equal(verdict_main(v), &v->findings[0]);
    assert_ptr_equal(verdict_first(v, 0), &v->findings[0]);
    assert_ptr_equal(verdict_first(v, -1), &v->findings[1]);
    assert_null(verdict_first(v, 1));
    assert_ptr_equal(verdict_find(v, 0, FINDING_NEIGHBOUR_HEAT), &v->findings[2]);
    assert_null(verdict_find(v, 2, FINDING_FAN_STOPPED));
    assert_int_equal(verdict_severity(v, 0), SEVERITY_CRITICAL);
    assert_int_equal(verdict_severity(v, 1), SEVERITY_INFO);
    verdict_free(v);
}

static void work_is_not_placed_where_a_finding_forbids_it(void **state)
{
    (void)state;
    struct verdict *v = some_verdict();
    assert_ptr_equal(verdict_forbids(v, 0), &v->findings[0]);
    assert_null(verdict_forbids(v, 2));
    v->findings[0].severity = SEVERITY_INFO; /* no trouble is no reason */
    assert_null(verdict_forbids(v, 0));
    verdict_free(v);
}

static void calm_takes_that_everything_was_looked_at(void **state)
{
    (void)state;
    struct verdict *v = some_verdict();
    v->gpus[2].looked = AREAS_OF_CALM;
    assert_true(verdict_is_calm(v, 2));
    snprintf(v->gpus[2].missing, sizeof v->gpus[2].missing, "kernel log"); /* said, and no area falls with it */
    assert_true(verdict_is_calm(v, 2));
    for (unsigned area = 0; area < AREA_COUNT; area++)
        if (AREAS_OF_CALM & 1u << area) {
            v->gpus[2].looked = AREAS_OF_CALM & ~(1u << area);
            assert_false(verdict_is_calm(v, 2));
        }
    assert_false(verdict_is_calm(v, 3)); /* not judged at all */
    verdict_free(v);
}

static void a_guess_at_trouble_takes_calm_away(void **state)
{
    (void)state;
    struct verdict *v = some_verdict();
    v->gpus[2].looked = AREAS_OF_CALM;
    struct finding *f = (struct finding *)verdict_first(v, 2);
    f->code = FINDING_VRAM_HELD;
    f->severity = SEVERITY_INFO;
    assert_true(verdict_is_calm(v, 2));
    f->code = FINDING_VRAM_FULL_SOON; /* hours ahead: no alarm, and not calm */
    assert_false(verdict_is_calm(v, 2));
    f->muted = true;
    assert_true(verdict_is_calm(v, 2));
    verdict_free(v);
}

static void areas_are_listed_in_words(void **state)
{
    (void)state;
    char words[AREAS_WORDS];
    assert_string_equal(areas_words(0, words), "");
    assert_string_equal(areas_words(1u << AREA_FAN | 1u << AREA_LINK, words), "fan, link");
    assert_true(strstr(areas_words((1u << AREA_COUNT) - 1, words), ", host") != NULL); /* all of them fit */
}

static void a_snapshot_that_was_not_judged_has_no_answers(void **state)
{
    (void)state;
    assert_null(verdict_main(NULL));
    assert_null(verdict_first(NULL, 0));
    assert_null(verdict_forbids(NULL, 0));
    assert_int_equal(verdict_severity(NULL, 0), SEVERITY_INFO);
    assert_false(verdict_is_calm(NULL, 0));
    verdict_free(NULL);
}

static void a_copy_outlives_the_verdict(void **state)
{
    (void)state;
    struct verdict *v = some_verdict(), *copy = verdict_copy(v);
    verdict_free(v);
    assert_int_equal(copy->count, 4);
    assert_int_equal(verdict_main(copy)->code, FINDING_FAN_STOPPED);
    assert_false(verdict_is_calm(copy, 1));
    verdict_free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(severity_ranks_before_everything_else),
        TEST(trouble_ranks_by_likelihood_then_kind_then_watts_then_index),
        TEST(confidences_of_one_likelihood_rank_alike),
        TEST(without_trouble_the_gpu_that_draws_most_comes_first),
        TEST(likelihoods_have_words_and_the_words_a_confidence),
        TEST(every_name_is_read_back),
        TEST(a_verdict_answers_for_each_gpu),
        TEST(work_is_not_placed_where_a_finding_forbids_it),
        TEST(calm_takes_that_everything_was_looked_at),
        TEST(a_guess_at_trouble_takes_calm_away),
        TEST(areas_are_listed_in_words),
        TEST(a_snapshot_that_was_not_judged_has_no_answers),
        TEST(a_copy_outlives_the_verdict),
    };
    return RUN_TESTS(tests);
}
