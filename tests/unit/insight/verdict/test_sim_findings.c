/* SPDX-License-Identifier: Apache-2.0
 * The answer key of the simulator: after the time that it says, every scenario has its finding first. Process rows and GPU are of
 * one instant.
 */
#include "base/cleanup.h"
#include "insight/verdict/judge.h"
#include "source/sim/sim.h"
#include "test.h"

#include "sim_snapshot.h"

enum { STEP_S = 5 };

static const struct snapshot *watch(const struct sim_scenario *scenario)
{
    struct sim_machine m;
    char params[128];
    const struct snapshot *last = NULL;
    struct judge *j = judge_new();
    assert_non_null(j);
    snprintf(params, sizeof params, "scenario=%s", scenario->name);
    sim_machine_start(&m, params);
    double watched_s = scenario->shows_after_s > 0 ? scenario->shows_after_s : 120;
    for (int s = 0; s <= watched_s; s += STEP_S) {
        struct snapshot *now = sim_machine_sample(&m, GROUP_ALL);
        judge_take(j, now);
        snapshot_unref(last);
        last = now;
        clock_manual_advance_ms(&m.clock, STEP_S * 1000);
    }
    judge_free(j);
    sim_machine_stop(&m);
    return last;
}

static void every_scenario_has_its_finding_first(void **state)
{
    (void)state;
    const struct sim_scenario *scenarios;
    size_t count = sim_scenarios(&scenarios), wrong = 0;
    for (size_t i = 0; i < count; i++) {
        AUTO_SNAPSHOT const struct snapshot *s = watch(&scenarios[i]);
        const struct finding *first = verdict_main(s->verdict);
        assert_non_null(first);
        enum limit limit = scenarios[i].limit ? gpu_top_process(&s->gpus[0])->limit.code : LIMIT_UNJUDGED;
        if (limit != scenarios[i].limit) {
            wrong++;
            print_message("%s: limited by %s, not %s\n", scenarios[i].name, limit_words(limit), limit_words(scenarios[i].limit));
        }
        if (first->code == scenarios[i].finding || verdict_first(s->verdict, 0)->code == scenarios[i].finding)
            continue;
        wrong++;
        print_message("%s: must be %s\n", scenarios[i].name, finding_code_name(scenarios[i].finding));
        for (size_t k = 0; k < MIN_OF(s->verdict->count, (size_t)5); k++)
            print_message("    %s %.2f %s: %s\n", severity_text(s->verdict->findings[k].severity),
                          s->verdict->findings[k].confidence, finding_code_name(s->verdict->findings[k].code),
                          s->verdict->findings[k].headline);
    }
    assert_int_equal(wrong, 0);
}

/* Work pauses every ten minutes, and the fan turns on for a moment: what was done until then explains it, however seldom one looks.
 * One sample falls into the first second of each pause. */
static void a_checkpoint_is_calm(void **state)
{
    (void)state;
    enum { IN_PAUSE_MS = 613500, UNTIL_MS = 1300000 };
    static const int every_s[] = {1, 2, 5, 10, 15, 20, 30, 60};
    size_t raised = 0;
    for (size_t i = 0; i < ARRAY_LEN(every_s); i++) {
        int step_ms = every_s[i] * 1000;
        struct sim_machine m;
        struct judge *j = judge_new();
        assert_non_null(j);
        sim_machine_start(&m, "scenario=training,gpus=2,model=rtx4090");
        clock_manual_advance_ms(&m.clock, IN_PAUSE_MS % step_ms);
        for (int ms = IN_PAUSE_MS % step_ms; ms <= UNTIL_MS; ms += step_ms) {
            AUTO_SNAPSHOT const struct snapshot *now = sim_machine_sample(&m, GROUP_ALL);
            judge_take(j, (struct snapshot *)now);
            const struct finding *first = verdict_main(now->verdict);
            raised += first->severity > SEVERITY_INFO;
            if (first->severity > SEVERITY_INFO)
                print_message("after %d s, every %d s: %s\n", ms / 1000, every_s[i], first->headline);
            clock_manual_advance_ms(&m.clock, step_ms);
        }
        judge_free(j);
        sim_machine_stop(&m);
    }
    assert_int_equal(raised, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_scenario_has_its_finding_first), TEST(a_checkpoint_is_calm)};
    return RUN_TESTS(tests);
}
