/* SPDX-License-Identifier: Apache-2.0
 * Runs every scenario of tests/golden/why: what must be said, and that the answer changes when its evidence is taken away.
 */
#include <glob.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"
#include "why_expect.h"

static size_t check_block(const struct scenario_machine *m, const struct scenario_block *block, const struct why *why)
{
    size_t failures = 0;
    for (struct expectation e = expectation_first(block, why); expectation_next(&e);) {
        if (expectation_holds(m, why, e.part, e.key, e.value))
            continue;
        if (!failures++)
            print_error("  without [" STR_FMT "]:\n", STR_ARG(block->without));
        print_error("    FAILS: " STR_FMT "\n", STR_ARG(e.line));
    }
    return failures;
}

static void scenario_holds(void **state)
{
    struct scenario s;
    char before[WHY_ANSWER_SIZE] = "";
    size_t failures = 0;
    assert_true(scenario_read(&s, *state));
    for (size_t i = 0; i < s.block_count; i++) {
        struct scenario_machine m;
        assert_true(scenario_build(&s, s.blocks[i].without, &m));
        struct why *why = why_explain_usual(m.now, m.has_past ? &m.past : NULL, m.usual);
        assert_non_null(why);
        size_t failed = check_block(&m, &s.blocks[i], why);
        if (i == 0)
            str_copy(before, sizeof before, str_from(why->answer));
        else if (strcmp(before, why->answer) == 0 && ++failed)
            print_error("  without [" STR_FMT "]: the answer did not change\n", STR_ARG(s.blocks[i].without));
        if (failed)
            expectation_print(why);
        failures += failed;
        why_free(why);
        scenario_machine_done(&m);
    }
    scenario_done(&s);
    assert_int_equal(failures, 0);
}

static glob_t files;

static void there_are_enough_scenarios_and_each_takes_evidence_away(void **state)
{
    (void)state;
    size_t calm = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct scenario s;
        assert_true(scenario_read(&s, files.gl_pathv[i]));
        if (s.kind == SCENARIO_EXPLAINED && s.block_count < 2)
            fail_msg("%s takes no evidence away", files.gl_pathv[i]);
        for (size_t b = 0; b < s.block_count; b++) {
            struct scenario_machine m;
            if (!scenario_build(&s, s.blocks[b].without, &m) || s.blocks[b].count == 0)
                fail_msg("%s: block %zu is not well formed", files.gl_pathv[i], b);
            scenario_machine_done(&m);
        }
        calm += s.kind != SCENARIO_EXPLAINED;
        scenario_done(&s);
    }
    assert_true(files.gl_pathc >= 120);
    assert_true(calm >= 10);
}

int main(void)
{
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s/tests/golden/why/*.scenario", root ? root : ".");
    if (glob(pattern, 0, NULL, &files) != 0)
        return fprintf(stderr, "no scenarios at %s\n", pattern), 1;
    AUTO_FREE struct CMUnitTest *tests = calloc(files.gl_pathc + 1, sizeof *tests);
    tests[0] = (struct CMUnitTest)TEST(there_are_enough_scenarios_and_each_takes_evidence_away);
    for (size_t i = 0; i < files.gl_pathc; i++)
        tests[i + 1] = (struct CMUnitTest){strrchr(files.gl_pathv[i], '/') + 1, scenario_holds, NULL, NULL, files.gl_pathv[i]};
    int failed = _cmocka_run_group_tests("why", tests, files.gl_pathc + 1, NULL, NULL);
    globfree(&files);
    return failed;
}
