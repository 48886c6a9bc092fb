/* SPDX-License-Identifier: Apache-2.0
 * Scores the blind set (tests/golden/why-blind/README.md): in how many scenarios the cause, the process, calm, advice, activity and
 * symptoms are right, now and asked about as a moment of the past. The score and each miss are printed; only the score can fail.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "test.h"
#include "why_expect.h"

enum aspect { CAUSE, PROCESS, BOTH, CALM, ADVICE, ACTIVITY, SYMPTOMS, WORST, WORDS, PAST, ASPECT_COUNT };

static const struct {
    const char *words;
    int least_permille;
} aspects[ASPECT_COUNT] = {
    [CAUSE] = {"the right cause", 970},
    [PROCESS] = {"the right process", 970},
    [BOTH] = {"cause and process", 970},
    [CALM] = {"calm called calm", 1000},
    [ADVICE] = {"no advice without its symptom", 1000},
    [ACTIVITY] = {"the right activity", 970},
    [SYMPTOMS] = {"the right symptoms", 970},
    [WORST] = {"the worst GPU first", 970},
    [WORDS] = {"words that must be said", 970},
    [PAST] = {"cause and process, in the past", 970},
};

static size_t asked[ASPECT_COUNT], right[ASPECT_COUNT];

static enum aspect aspect_of(struct str key)
{
    static const struct {
        const char *key;
        enum aspect aspect;
    } lines[] = {
        {"cause", CAUSE},         {"also", CAUSE},           {"never", CAUSE},       {"pid", PROCESS},      {"calm", CALM},
        {"advice", ADVICE},       {"no-suggestion", ADVICE}, {"activity", ACTIVITY}, {"process", ACTIVITY}, {"symptom", SYMPTOMS},
        {"no-symptom", SYMPTOMS}, {"worst", WORST},          {"says", WORDS},
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (str_is(key, lines[i].key))
            return lines[i].aspect;
    return ASPECT_COUNT;
}

/* The process that a reader takes for the one: of the first cause that has one. */
static bool pid_holds(const struct why_part *part, struct str value)
{
    int64_t pid;
    if (!str_to_i64(value, &pid))
        return part->cause_count && part->causes[0].pid == 0;
    for (size_t i = 0; i < part->cause_count; i++)
        if (part->causes[i].pid)
            return part->causes[i].pid == pid;
    return false;
}

/* "GPU 3 ..." before any other GPU */
static bool comes_first(const char *answer, struct str value)
{
    const char *first = strstr(answer, "GPU ");
    return first && strncmp(first + 4, value.at, value.len) == 0 && (first[4 + value.len] < '0' || first[4 + value.len] > '9');
}

static bool one_holds(const struct scenario_machine *m, const struct why *why, const struct why_part *part, struct str key,
                      struct str value)
{
    if (str_is(key, "worst"))
        return comes_first(why->answer, value);
    if (!part)
        return false;
    if (str_is(key, "pid"))
        return pid_holds(part, value);
    if (str_is(key, "calm"))
        return !part->activity.symptoms && !part->suggestion_count && part->severity == SEVERITY_INFO;
    if (str_is(key, "advice"))
        return !part->suggestion_count;
    return expectation_holds(m, why, part, key, value);
}

/* "A or B" */
static bool some_holds(const struct scenario_machine *m, const struct why *why, const struct why_part *part, struct str key,
                       struct str value)
{
    if (str_is(key, "says") || str_is(key, "no-suggestion"))
        return one_holds(m, why, part, key, value);
    struct str one = value, or ;
    bool holds = false;
    if (str_is(key, "process"))
        return one_holds(m, why, part, key, value);
    while (!holds && str_word(&value, &one)) {
        holds = one_holds(m, why, part, key, one);
        str_word(&value, & or);
    }
    return holds;
}

static void check(const struct scenario *s, const struct scenario_machine *m, const struct why *why, bool missed[ASPECT_COUNT],
                  bool told[ASPECT_COUNT])
{
    for (struct expectation e = expectation_first(&s->blocks[0], why); expectation_next(&e);) {
        enum aspect aspect = aspect_of(e.key);
        if (aspect == ASPECT_COUNT)
            fail_msg("not understood: " STR_FMT, STR_ARG(e.line));
        told[aspect] = true;
        if (some_holds(m, why, e.part, e.key, e.value))
            continue;
        missed[aspect] = true;
        print_message("    misses [gpu %d]: " STR_FMT "\n", e.part ? e.part->gpu_index : -1, STR_ARG(e.line));
    }
}

static void score(const char *path)
{
    struct scenario s;
    struct scenario_machine m;
    bool missed[ASPECT_COUNT] = {0}, told[ASPECT_COUNT] = {0}, then_missed[ASPECT_COUNT] = {0}, then_told[ASPECT_COUNT] = {0};
    assert_true(scenario_read(&s, path));
    if (!scenario_build(&s, (struct str){0}, &m))
        fail_msg("%s is not well formed", path);
    struct why *why = why_explain_usual(m.now, m.has_past ? &m.past : NULL, m.usual);
    struct why *then = why_explain_past(m.now, m.has_past ? &m.past : NULL, m.usual);
    assert_true(why && then);
    check(&s, &m, why, missed, told);
    bool any = false;
    for (size_t i = 0; i < ASPECT_COUNT; i++)
        any |= missed[i];
    if (any) {
        print_message("  ^ %s: " STR_FMT "\n", strrchr(path, '/') + 1, STR_ARG(s.title));
        expectation_print(why);
    }
    check(&s, &m, then, then_missed, then_told);
    if (then_missed[CAUSE] || then_missed[PROCESS])
        print_message("  ^ %s, in the past: %s\n", strrchr(path, '/') + 1, then->answer);
    missed[CALM] |= told[CALM] && missed[CAUSE];
    told[BOTH] = told[PAST] = true;
    missed[BOTH] = missed[CAUSE] || missed[PROCESS];
    missed[PAST] = then_missed[CAUSE] || then_missed[PROCESS];
    for (size_t i = 0; i < ASPECT_COUNT; i++) {
        asked[i] += told[i];
        right[i] += told[i] && !missed[i];
    }
    why_free(why);
    why_free(then);
    scenario_machine_done(&m);
    scenario_done(&s);
}

static glob_t files;

/* Each set was written after the mends that the one before it led to; those of the first have no prefix. */
static bool in_set(const char *path, const char *prefix)
{
    struct str name = str_from(strrchr(path, '/') + 1);
    return prefix[0] ? str_starts(name, prefix) : !str_starts(name, "second-") && !str_starts(name, "third-");
}

static void score_set(const char *prefix, size_t least)
{
    bool low = false;
    size_t count = 0;
    for (size_t i = 0; i < ASPECT_COUNT; i++)
        asked[i] = right[i] = 0;
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (in_set(files.gl_pathv[i], prefix)) {
            score(files.gl_pathv[i]);
            count++;
        }
    for (size_t i = 0; i < ASPECT_COUNT; i++) {
        if (!asked[i])
            continue;
        print_message("%-32s %3zu of %3zu  (at least %.0f%%)\n", aspects[i].words, right[i], asked[i],
                      aspects[i].least_permille / 10.0);
        low |= right[i] * 1000 < asked[i] * (size_t)aspects[i].least_permille;
    }
    assert_true(count >= least);
    assert_false(low);
}

static void the_first_blind_set_is_explained_right(void **state)
{
    (void)state;
    score_set("", 94);
}

static void the_second_blind_set_is_explained_right(void **state)
{
    (void)state;
    score_set("second-", 45);
}

static void the_third_blind_set_is_explained_right(void **state)
{
    (void)state;
    score_set("third-", 32);
}

int main(void)
{
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s/tests/golden/why-blind/*.scenario", root ? root : ".");
    if (glob(pattern, 0, NULL, &files) != 0)
        return fprintf(stderr, "no scenarios at %s\n", pattern), 1;
    const struct CMUnitTest tests[] = {TEST(the_first_blind_set_is_explained_right), TEST(the_second_blind_set_is_explained_right),
                                       TEST(the_third_blind_set_is_explained_right)};
    int failed = _cmocka_run_group_tests("why_blind", tests, ARRAY_LEN(tests), NULL, NULL);
    globfree(&files);
    return failed;
}
