/* SPDX-License-Identifier: Apache-2.0
 * Checks of a fake GPU in this process: the real helper and the real judge, modelled times, and faults whose kind, place, bit and
 * moment are drawn. WHIRR_CHECK_FAULTS, WHIRR_CHECK_HEALTHY: how many of each; WHIRR_CHECK_SEED: which.
 */
#include <stdio.h>

#include "base/env.h"
#include "check/check_helper.h"
#include "check/check_record.h"
#include "insight/check/judge.h"
#include "test.h"

enum { ALL_TESTS = (1 << CHECK_TEST_COUNT) - 1, WORDS = 2400000 };

static uint64_t drawn;

static uint32_t draw(uint32_t below)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(drawn >> 33) % below;
}

static long wanted(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/* What the helper reports about a GPU with this fault, as its caller sees it. */
static void run_once(const char *fault, uint32_t seed, double seconds, bool fold, struct check_run *run)
{
    char *text = NULL;
    size_t size = 0;
    struct env env;
    char noisy[160];
    snprintf(noisy, sizeof noisy, "%s,noise=%u", fault, seed % 999983);
    setenv("WHIRR_FAKE_COMPUTE", noisy, 1);
    env_init_system(&env);
    env.cuda_library = getenv("WHIRR_FAKE_COMPUTE_LIBRARY");
    struct check_order order = {.uuid = "GPU-00000000-0000-0000-0000-000000000000",
                                .level = CHECK_LEVEL_STANDARD,
                                .tests = ALL_TESTS,
                                .seconds = seconds,
                                .deadline_s = 60,
                                .seed = seed,
                                .fold = fold};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(check_helper(&env, &order, out), 0);
    fclose(out);
    check_run_init(run, CHECK_LEVEL_STANDARD, ALL_TESTS);
    struct str rest = {text, size}, line;
    int rc = 0;
    while (str_cut(&rest, '\n', &line) && rc == 0)
        rc = record_read(line, run);
    assert_int_equal(rc, 1);
    free(text);
    run->asked_s = seconds;
    snprintf(run->driver, sizeof run->driver, "580.1");
    run->clock_khz = reading_ok(4000);
    run->link_generation = run->link_generation_max = reading_ok(1);
    run->link_width = run->link_width_max = reading_ok(4);
    run->samples = 20;
}

enum { PAST = 6 };
static struct check_run past[PAST];

static void learn_past(void)
{
    for (size_t i = 0; i < PAST; i++) {
        run_once("none", (uint32_t)(100 + i), 4, false, &past[i]);
        check_judge(&past[i], NULL, 0, NULL, 0);
        assert_int_equal(past[i].verdict, CHECK_IS_HEALTHY);
    }
}

static void nobody_healthy_is_blamed(void **state)
{
    (void)state;
    struct check_run run;
    long count = wanted("WHIRR_CHECK_HEALTHY", 4), blamed = 0;
    learn_past();
    for (long i = 0; i < count; i++) {
        run_once("none", (uint32_t)wanted("WHIRR_CHECK_SEED", 7) * 7919u + (uint32_t)i, 4, i % 5 == 4, &run);
        check_judge(&run, past, PAST, NULL, 0);
        if (run.verdict != CHECK_IS_HEALTHY) {
            print_message("run %ld: %s\n", i, run.words);
            blamed++;
        }
        assert_true(run.covered_bytes == run.wanted_bytes);
    }
    assert_int_equal(blamed, 0);
}

/* Kinds of faults, and in which test they must show; the lowest bits of one wrong step are found by `full` alone. */
static const struct {
    const char *kind;
    enum check_test test;
    bool slow;
    unsigned bit_from;
    bool fold;
    uint32_t latest_ms;
} kinds[] = {
    {"flip", CHECK_MEMORY, false, 0, false, 2000},     {"stuck0", CHECK_MEMORY, false, 0, false, 1},
    {"stuck1", CHECK_MEMORY, false, 0, false, 1},      {"row", CHECK_MEMORY, false, 0, false, 1},
    {"coupling", CHECK_MEMORY, false, 0, false, 1},    {"read_flip", CHECK_MEMORY, false, 0, false, 2400},
    {"all_dead", CHECK_MEMORY, false, 0, false, 1},    {"fma", CHECK_FLOATS, false, 5, false, 400},
    {"fma", CHECK_FLOATS, false, 0, true, 400},        {"fma_once", CHECK_FLOATS, false, 0, true, 400},
    {"whole", CHECK_WHOLE, false, 0, false, 1000},     {"tensor", CHECK_TENSOR, false, 0, false, 1000},
    {"link_bit", CHECK_LINK, false, 0, false, 100},    {"memory_slow", CHECK_STREAM, true, 0, false, 1},
    {"compute_slow", CHECK_FLOATS, true, 0, false, 1}, {"link_slow", CHECK_LINK, true, 0, false, 1},
};

static bool is_named_rightly(const struct check_run *run, size_t kind)
{
    for (enum check_test i = 0; i < CHECK_TEST_COUNT; i++)
        if (run->test[i].wrong && (kinds[kind].slow || i != kinds[kind].test))
            return false;
    if (kinds[kind].slow)
        return run->verdict == CHECK_IS_DEGRADED && (check_suspects(run) >> kinds[kind].test & 1);
    return run->verdict == CHECK_IS_FAILING && run->test[kinds[kind].test].wrong > 0;
}

static void faults_are_found_and_named(void **state)
{
    (void)state;
    struct check_run run;
    long count = wanted("WHIRR_CHECK_FAULTS", 16), found = 0;
    drawn = (uint64_t)wanted("WHIRR_CHECK_SEED", 7);
    learn_past();
    for (long i = 0; i < count; i++) {
        char fault[160];
        size_t kind = (size_t)i % (sizeof kinds / sizeof kinds[0]);
        unsigned bit = kinds[kind].bit_from + draw(kinds[kind].test == CHECK_LINK ? 8 : 32 - kinds[kind].bit_from);
        uint32_t word = draw(WORDS), other = draw(WORDS - 100000);
        snprintf(fault, sizeof fault, "%s,at=%u,word=%u,other=%u,bit=%u,step=%u,lane=%u,round=%u,factor=%.2f", kinds[kind].kind,
                 draw(kinds[kind].latest_ms), word, word > 2000000 ? word / 2 : other, bit, draw(1024), draw(256), draw(16),
                 0.4 + draw(25) / 100.0);
        run_once(fault, draw(1u << 30), 4, kinds[kind].fold, &run);
        check_judge(&run, past, PAST, NULL, 0);
        if (is_named_rightly(&run, kind))
            found++;
        else
            print_message("missed %s: %s: %s\n", fault, check_verdict_name(run.verdict), run.words);
    }
    assert_true(found * 100 >= count * 98 || count - found <= 1);
}

static void what_was_not_tested_is_not_healthy(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        enum check_end end;
        enum check_verdict verdict;
    } cases[] = {
        {"no_device", CHECK_NO_DRIVER, CHECK_IS_NOT_JUDGED},
        {"exclusive", CHECK_IN_USE, CHECK_IS_NOT_JUDGED},
        {"no_memory,factor=100000", CHECK_NO_MEMORY, CHECK_IS_NOT_JUDGED},
        {"no_memory,factor=6000000", CHECK_DONE, CHECK_IS_NOT_JUDGED},
        {"lost,at=900", CHECK_LOST, CHECK_IS_FAILING},
    };
    struct check_run run;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_once(cases[i].fault, 5, 4, false, &run);
        check_judge(&run, NULL, 0, NULL, 0);
        print_message("%s: %s, %s\n", cases[i].fault, check_end_name(run.end), run.words);
        assert_int_equal(run.end, cases[i].end);
        assert_int_equal(run.verdict, cases[i].verdict);
    }
}

static void a_short_or_disturbed_run_has_no_speed(void **state)
{
    (void)state;
    struct check_run run;
    run_once("memory_slow,factor=0.5", 3, 2, false, &run);
    check_judge(&run, NULL, 0, NULL, 0);
    assert_int_equal(run.verdict, CHECK_IS_HEALTHY);
    run_once("memory_slow,factor=0.5", 3, 4, false, &run);
    run.disturbed = true;
    check_judge(&run, NULL, 0, NULL, 0);
    assert_int_equal(run.verdict, CHECK_IS_HEALTHY);
    assert_non_null(strstr(run.words, "speed not judged (others used it)"));
    run.disturbed = false;
    check_judge(&run, NULL, 0, NULL, 0);
    assert_int_equal(run.verdict, CHECK_IS_DEGRADED);
}

static void three_siblings_tell_which_one_is_slow(void **state)
{
    (void)state;
    struct check_run run, other[2];
    const struct check_run *siblings[] = {&other[0], &other[1]};
    run_once("memory_slow,factor=0.9", 3, 4, false, &run);
    for (uint32_t i = 0; i < 2; i++)
        run_once("none", 40 + i, 4, false, &other[i]);
    check_judge(&run, NULL, 0, siblings, 1);
    assert_int_equal(run.verdict, CHECK_IS_HEALTHY);
    check_judge(&run, NULL, 0, siblings, 2);
    assert_int_equal(run.verdict, CHECK_IS_DEGRADED);
    assert_non_null(strstr(run.words, "beside its siblings"));
}

static void what_was_seen_from_outside_is_kept(void **state)
{
    (void)state;
    static const struct {
        int64_t clock_khz, temp_mdegc, power_mw;
        bool at_work;
    } looks[] = {{400000, 40000, 90000, false}, {1000000, 71000, 300000, true}, {2000000, 70000, 350000, true}};
    struct check_run run;
    run_once("none", 3, 4, false, &run);
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        const struct gpu gpu = {.clock_sm_khz = reading_ok(looks[i].clock_khz),
                                .temp_mdegc = reading_ok(looks[i].temp_mdegc),
                                .power_mw = reading_ok(looks[i].power_mw)};
        assert_false(check_observe(&run, &gpu, looks[i].at_work));
    }
    check_judge(&run, NULL, 0, NULL, 0);
    assert_int_equal(run.clock_khz.state, READING_OK);
    assert_int_equal(run.clock_khz.value, 1500000); /* the mean while it computed */
    assert_int_equal(run.temp_max_mdegc.state, READING_OK);
    assert_int_equal(run.temp_max_mdegc.value, 71000);
    assert_int_equal(run.power_max_mw.state, READING_OK);
    assert_int_equal(run.power_max_mw.value, 350000);
}

static void only_runs_like_it_tell_what_is_usual(void **state)
{
    (void)state;
    static struct check_run run, fresh, other[PAST];
    run_once("none", 7, 4, false, &fresh);
    if (!past[0].driver[0]) /* no test before this one has */
        learn_past();
    for (int kind = 0; kind < 4; kind++) {
        memcpy(other, past, sizeof other);
        for (size_t i = 0; i < PAST; i++)
            switch (kind) {
            case 1: snprintf(other[i].driver, sizeof other[i].driver, "570.1"); break;
            case 2: other[i].verdict = CHECK_IS_DEGRADED; break;
            case 3: memset(other[i].value, 0, sizeof other[i].value); break; /* of another level */
            }
        run = fresh;
        check_judge(&run, other, PAST, NULL, 0);
        bool compared = false;
        for (size_t i = 0; i < CHECK_VALUE_COUNT; i++)
            compared |= run.value[i].basis == CHECK_BASIS_PAST;
        assert_int_equal(compared, kind == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_healthy_is_blamed),
        cmocka_unit_test(faults_are_found_and_named),
        cmocka_unit_test(what_was_not_tested_is_not_healthy),
        cmocka_unit_test(a_short_or_disturbed_run_has_no_speed),
        cmocka_unit_test(three_siblings_tell_which_one_is_slow),
        cmocka_unit_test(what_was_seen_from_outside_is_kept),
        cmocka_unit_test(only_runs_like_it_tell_what_is_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
