/* SPDX-License-Identifier: Apache-2.0
 * Plays every story of tests/golden/verdict and holds the verdict against what its README asks. Each miss is printed with what was
 * said; the score by kind is printed at the end.
 */
#include <glob.h>
#include <stdio.h>
#include <strings.h>

#include "base/cleanup.h"
#include "story.h"
#include "test.h"

static bool is_one_of(struct str words, const char *word)
{
    struct str one;
    while (str_word(&words, &one))
        if (str_is(one, word))
            return true;
    return false;
}

/* -2: the host with all of its GPUs */
enum { ALL = -2 };

static const struct finding *first_of(const struct told *t, int gpu)
{
    return gpu == ALL ? verdict_main(t->last->verdict) : verdict_first(t->last->verdict, gpu);
}

static bool has_code(const struct told *t, int gpu, struct str code)
{
    const struct verdict *v = t->last->verdict;
    for (size_t i = 0; i < v->count; i++)
        if ((gpu == ALL || v->findings[i].gpu_index == gpu) && str_is(code, finding_code_name(v->findings[i].code)))
            return true;
    return false;
}

static bool part_says(const struct why_part *part, const char *words, bool suggestions_only)
{
    bool said = !suggestions_only && (strcasestr(part->answer, words) || strcasestr(part->brief.headline, words) ||
                                      strcasestr(part->brief.doing, words));
    for (size_t i = 0; i < part->suggestion_count; i++)
        said |= strcasestr(part->suggestions[i], words) != NULL;
    for (size_t i = 0; !suggestions_only && i < part->cause_count; i++) {
        said |= strcasestr(part->causes[i].text, words) != NULL;
        for (size_t e = 0; e < part->causes[i].evidence_count; e++)
            said |= strcasestr(part->causes[i].evidence[e], words) != NULL;
    }
    return said;
}

static bool says(const struct told *t, int gpu, struct str text, bool suggestions_only)
{
    char words[128];
    const struct verdict *v = t->last->verdict;
    str_copy(words, sizeof words, text);
    bool said = gpu == ALL && !suggestions_only && strcasestr(t->why->answer, words);
    said |= gpu == ALL && part_says(&t->why->machine, words, suggestions_only);
    for (size_t i = 0; i < t->why->gpu_count; i++)
        said |= (gpu == ALL || t->why->gpus[i].gpu_index == gpu) && part_says(&t->why->gpus[i], words, suggestions_only);
    for (size_t i = 0; !suggestions_only && i < v->count; i++)
        said |= (gpu == ALL || v->findings[i].gpu_index == gpu) && strcasestr(v->findings[i].headline, words);
    return said;
}

static bool gives_advice(const struct told *t)
{
    size_t count = t->why->machine.suggestion_count;
    for (size_t i = 0; i < t->why->gpu_count; i++)
        count += t->why->gpus[i].suggestion_count;
    return count > 0;
}

/* "801 or none" */
static bool pid_is_one_of(int32_t pid, struct str words)
{
    struct str one;
    int64_t number;
    while (str_word(&words, &one))
        if (str_is(one, "none") ? pid == 0 : str_to_i64(one, &number) && number == pid)
            return true;
    return false;
}

static bool holds(const struct told *t, int gpu, struct str key, struct str value)
{
    const struct finding *first = first_of(t, gpu);
    int64_t number = 0;
    bool is_number = str_to_i64(value, &number);
    if (str_is(key, "severity"))
        return is_one_of(value, severity_text(first ? first->severity : SEVERITY_INFO));
    if (str_is(key, "first"))
        return first && is_one_of(value, finding_code_name(first->code));
    if (str_is(key, "leads"))
        return first && is_number && first->gpu_index == number;
    if (str_is(key, "pid"))
        return first && pid_is_one_of(first->pid, value);
    if (str_is(key, "calm"))
        return (!first || first->severity == SEVERITY_INFO) && !gives_advice(t);
    if (str_is(key, "has")) {
        struct str code;
        while (str_word(&value, &code))
            if (has_code(t, gpu, code))
                return true;
        return false;
    }
    if (str_is(key, "never"))
        return !has_code(t, gpu, value);
    if (str_is(key, "says"))
        return says(t, gpu, value, false);
    if (str_is(key, "omits"))
        return !says(t, gpu, value, false);
    if (str_is(key, "no-suggestion"))
        return !says(t, gpu, value, true);
    fail_msg("not understood: " STR_FMT, STR_ARG(key));
    return false;
}

static void print_told(const struct told *t)
{
    const struct verdict *v = t->last->verdict;
    print_message("    %s\n", t->why->answer);
    for (size_t i = 0; i < v->count; i++) {
        const struct finding *f = &v->findings[i];
        print_message("      [%d] %s %.2f %s pid %d: %s\n", f->gpu_index, severity_text(f->severity), f->confidence,
                      finding_code_name(f->code), (int)f->pid, f->headline);
    }
    for (size_t i = 0; i < t->why->gpu_count; i++)
        for (size_t k = 0; k < t->why->gpus[i].suggestion_count; k++)
            print_message("      > %s\n", t->why->gpus[i].suggestions[k]);
}

struct score {
    size_t stories, whole, headline; /* all expectations hold; those of severity and first code do */
    size_t raised;                   /* worse than information */
    size_t open;                     /* known to be told wrong */
};

static void score_story(const struct story *story, struct score *score)
{
    struct told t;
    bool whole = true, headline = true, open = false;
    if (!story_play(story, &t))
        fail_msg("%s is not well formed", story->name);
    const struct scenario_block *block = &story->scenario.blocks[0];
    int gpu = ALL;
    for (size_t i = 0; i < block->count; i++) {
        struct str value = block->lines[i], key;
        int64_t index;
        str_word(&value, &key);
        value = str_trim(value);
        if (str_is(key, "open")) {
            open = true;
        } else if (str_is(key, "gpu")) {
            gpu = str_to_i64(value, &index) ? (int)index : ALL;
        } else if (!holds(&t, gpu, key, value)) {
            print_message("    misses: " STR_FMT "\n", STR_ARG(block->lines[i]));
            whole = false;
            headline &= gpu != ALL || !(str_is(key, "severity") || str_is(key, "first") || str_is(key, "leads"));
        }
    }
    if (!whole) {
        print_message("  ^ %s: " STR_FMT "\n", story->name, STR_ARG(story->scenario.title));
        print_told(&t);
    }
    const struct finding *first = first_of(&t, ALL);
    score->stories++;
    score->whole += whole;
    score->headline += headline;
    score->open += open && !whole;
    if (open && whole)
        print_message("  %s is told right: it need not be open any more\n", story->name);
    score->raised += first && first->severity > SEVERITY_INFO;
    told_done(&t);
}

static void play(const char *file, size_t least)
{
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    char folder[512];
    struct stories all = {0};
    struct score score = {0};
    snprintf(folder, sizeof folder, "%s/tests/golden/verdict", root ? root : ".");
    assert_true(stories_read(&all, folder, file));
    for (size_t i = 0; i < all.count; i++)
        score_story(&all.list[i], &score);
    print_message("%-20s %zu stories: headline right %zu, all right %zu, raised %zu, open %zu\n", file, score.stories,
                  score.headline, score.whole, score.raised, score.open);
    stories_done(&all);
    assert_true(score.stories >= least);
    assert_int_equal(score.stories, score.whole + score.open);
}

static void faults_are_found(void **state)
{
    (void)state;
    play("faults.stories", 58);
}

static void calm_is_left_alone(void **state)
{
    (void)state;
    play("calm.stories", 42);
}

static void what_cannot_be_known_is_not_claimed(void **state)
{
    (void)state;
    play("unknown.stories", 28);
}

static void work_is_named(void **state)
{
    (void)state;
    play("work.stories", 22);
}

static void faults_of_the_second_set_are_found(void **state)
{
    (void)state;
    play("second-faults.stories", 20);
}

static void calm_of_the_second_set_is_left_alone(void **state)
{
    (void)state;
    play("second-calm.stories", 20);
}

static void limits_and_bits_of_every_day_are_no_trouble(void **state)
{
    (void)state;
    play("third.stories", 13);
}

static void faults_of_the_fourth_set_are_found(void **state)
{
    (void)state;
    play("fourth-faults.stories", 25);
}

static void calm_of_the_fourth_set_is_left_alone(void **state)
{
    (void)state;
    play("fourth-calm.stories", 18);
}

static void what_the_fourth_set_cannot_know_is_not_claimed(void **state)
{
    (void)state;
    play("fourth-unknown.stories", 14);
}

static void work_of_the_fourth_set_is_named(void **state)
{
    (void)state;
    play("fourth-work.stories", 14);
}

static void faults_of_the_fifth_set_are_found(void **state)
{
    (void)state;
    play("fifth-faults.stories", 20);
}

static void calm_of_the_fifth_set_is_left_alone(void **state)
{
    (void)state;
    play("fifth-calm.stories", 20);
}

static void what_the_fifth_set_cannot_know_is_not_claimed(void **state)
{
    (void)state;
    play("fifth-unknown.stories", 8);
}

static void work_of_the_fifth_set_is_named(void **state)
{
    (void)state;
    play("fifth-work.stories", 12);
}

static void trouble_around_the_gpus_is_found(void **state)
{
    (void)state;
    play("node.stories", 14);
}

static void a_late_rank_is_named_and_no_other(void **state)
{
    (void)state;
    play("jobs.stories", 19);
}

static void what_limits_a_program_is_claimed_as_far_as_it_shows(void **state)
{
    (void)state;
    play("limits.stories", 16);
}

static void model_servers_are_judged_by_what_they_say(void **state)
{
    (void)state;
    play("serving.stories", 6);
}

/* The stories of a set of tests/golden/why-blind, one a file, by the first word of its name: a score, not a specification. */
static struct score score_blind(const char *set, const char *kind)
{
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    char folder[512], pattern[640];
    struct score score = {0};
    glob_t files;
    snprintf(folder, sizeof folder, "%s/tests/golden/why-blind", root ? root : ".");
    snprintf(pattern, sizeof pattern, "%s/%s/%s-*.story", folder, set, kind);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct stories one = {0};
        assert_true(stories_read(&one, folder, files.gl_pathv[i] + strlen(folder) + 1));
        score_story(&one.list[0], &score);
        stories_done(&one);
    }
    globfree(&files);
    print_message("blind %s %-10s %zu stories: headline right %zu, all right %zu, raised %zu\n", set, kind, score.stories,
                  score.headline, score.whole, score.raised);
    return score;
}

static void check_blind(const char *set, size_t stories, size_t least_percent)
{
    static const char *const kinds[] = {"chain", "fault", "calm", "time", "limit"};
    struct score sum = {0};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct score one = score_blind(set, kinds[i]);
        sum.stories += one.stories;
        sum.whole += one.whole;
    }
    assert_int_equal(sum.stories, stories);
    assert_true(sum.whole * 100 >= sum.stories * least_percent);
}

static void the_blind_stories_are_told_right(void **state)
{
    (void)state;
    check_blind("fourth", 150, 97);
    check_blind("fifth", 40, 97);
    check_blind("sixth", 30, 97);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(faults_are_found),
                                       TEST(calm_is_left_alone),
                                       TEST(what_cannot_be_known_is_not_claimed),
                                       TEST(work_is_named),
                                       TEST(faults_of_the_second_set_are_found),
                                       TEST(calm_of_the_second_set_is_left_alone),
                                       TEST(limits_and_bits_of_every_day_are_no_trouble),
                                       TEST(faults_of_the_fourth_set_are_found),
                                       TEST(calm_of_the_fourth_set_is_left_alone),
                                       TEST(what_the_fourth_set_cannot_know_is_not_claimed),
                                       TEST(work_of_the_fourth_set_is_named),
                                       TEST(faults_of_the_fifth_set_are_found),
                                       TEST(calm_of_the_fifth_set_is_left_alone),
                                       TEST(what_the_fifth_set_cannot_know_is_not_claimed),
                                       TEST(work_of_the_fifth_set_is_named),
                                       TEST(trouble_around_the_gpus_is_found),
                                       TEST(a_late_rank_is_named_and_no_other),
                                       TEST(model_servers_are_judged_by_what_they_say),
                                       TEST(what_limits_a_program_is_claimed_as_far_as_it_shows),
                                       TEST(the_blind_stories_are_told_right)};
    return RUN_TESTS(tests);
}
