/* SPDX-License-Identifier: Apache-2.0
 * The one name of a process.
 */
#include "model/process.h"

#include "base/str.h"
#include "test.h"

static struct process process(const char *name, const char *title, const char *model)
{
    struct process p = {.pid = 4242, .visible = true};
    str_copy(p.name, sizeof p.name, str_from(name));
    str_copy(p.title, sizeof p.title, str_from(title));
    str_copy(p.model, sizeof p.model, str_from(model));
    str_copy(p.user, sizeof p.user, STR("alice"));
    return p;
}

static void expect(const struct process *p, unsigned with, const char *wanted)
{
    char words[PROCESS_WORDS];
    assert_string_equal(process_words(p, with, words), wanted);
}

static void a_process_is_its_script_with_its_model_then_who_and_where(void **state)
{
    (void)state;
    struct process p = process("python3", "train.py", "meta-llama/Llama-3.1-8B");
    str_copy(p.container, sizeof p.container, STR("docker:4f2a9c1b3d7e"));
    expect(&p, 0, "train.py");
    expect(&p, SHORT_NAME, "train.py · Llama-3.1-8B");
    expect(&p, LONG_NAME, "train.py · Llama-3.1-8B (alice, docker:4f2a9c1b3d7e)");
    str_copy(p.container_name, sizeof p.container_name, STR("train-llama"));
    expect(&p, LONG_NAME, "train.py · Llama-3.1-8B (alice, train-llama)");
    expect(&p, EXACT_NAME, "train.py (pid 4242, alice, train-llama)");
    expect(&p, SHORT_NAME | WITH_USER, "train.py · Llama-3.1-8B (alice)");
    str_copy(p.container_name, sizeof p.container_name, STR("ml/trainer-0/main"));
    expect(&p, WITH_OWNER, "train.py (alice, ml/trainer-0)");
    str_copy(p.job, sizeof p.job, STR("4711"));
    expect(&p, WITH_OWNER, "train.py (alice, job 4711)");
}

static void an_interpreter_alone_is_named_when_nothing_better_is_known(void **state)
{
    (void)state;
    struct process p = process("python3", "", "");
    expect(&p, LONG_NAME, "python3 (alice)");
    p = process("llama-server", "", "qwen3-8b-q4_k_m");
    expect(&p, SHORT_NAME, "llama-server · qwen3-8b-q4_k_m");
    p = process("blender", "", "Blender"); /* no model beside a program of the same name */
    expect(&p, SHORT_NAME, "blender");
}

static void a_process_that_cannot_be_seen_is_its_number(void **state)
{
    (void)state;
    struct process p = process("", "", "");
    expect(&p, EXACT_NAME, "process 4242 (alice)");
    p.visible = false;
    expect(&p, LONG_NAME, "process 4242 (alice, outside this container or PID namespace)");
    expect(&p, SHORT_NAME, "process 4242");
}

static void names_of_any_length_fit_and_are_cut_between_characters(void **state)
{
    (void)state;
    struct process p = process("", "", "");
    memset(p.name, 'n', sizeof p.name - 1);
    for (size_t i = 0; i + 2 < sizeof p.model; i += 2)
        memcpy(p.model + i, "ü", 2);
    memset(p.user, 'u', sizeof p.user - 1);
    memset(p.container_name, 'c', sizeof p.container_name - 1);
    char words[PROCESS_WORDS], clean[PROCESS_WORDS];
    process_words(&p, LONG_NAME | WITH_PID, words);
    str_copy_clean(clean, sizeof clean, str_from(words));
    assert_string_equal(clean, words);
    assert_int_equal(words[strlen(words) - 1], ')');
    assert_non_null(strstr(words, "… (pid 4242, uuu"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_process_is_its_script_with_its_model_then_who_and_where),
                                       TEST(an_interpreter_alone_is_named_when_nothing_better_is_known),
                                       TEST(a_process_that_cannot_be_seen_is_its_number),
                                       TEST(names_of_any_length_fit_and_are_cut_between_characters)};
    return RUN_TESTS(tests);
}
