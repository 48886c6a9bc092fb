/* SPDX-License-Identifier: Apache-2.0
 * What a command is called in a report. Its sums are checked by tests/e2e/test_report.py.
 */
#include "past/report.h"

#include "test.h"

static void expect(const char *name, const char *command, const char *wanted)
{
    struct process p = {0};
    char got[REPORT_NAME_SIZE];
    str_copy(p.name, sizeof p.name, str_from(name));
    str_copy(p.command, sizeof p.command, str_from(command));
    report_command(&p, got);
    assert_string_equal(got, wanted);
}

static void a_command_is_the_program_and_what_it_runs(void **state)
{
    (void)state;
    expect("gmx", "gmx mdrun -deffnm npt", "gmx");
    expect("ollama", "/usr/local/bin/ollama runner --model x", "ollama");
    expect("python3", "python3 train.py --model a", "python3 train.py");
    expect("python3", "/usr/bin/python3 -u /home/a/train.py --model a", "python3 train.py");
    expect("python3", "python3 -m vllm.entrypoints.openai.api_server --api-key ***",
           "python3 -m vllm.entrypoints.openai.api_server");
    expect("python3", "python3 -c import_torch", "python3");
    expect("java", "java -Xmx4g -jar /opt/tool.jar serve", "java tool.jar");
    expect("game.exe", "Z:\\games\\game.exe -fullscreen", "game.exe");
    expect("python3", "", "python3");
    expect("", "", "");
}

static void a_name_of_any_length_fits(void **state)
{
    (void)state;
    char command[PROCESS_COMMAND_SIZE];
    memset(command, 'x', sizeof command - 1);
    command[sizeof command - 1] = '\0';
    struct process p = {0};
    char got[REPORT_NAME_SIZE];
    str_copy(p.command, sizeof p.command, str_from(command));
    report_command(&p, got);
    assert_true(strlen(got) == REPORT_NAME_SIZE - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_command_is_the_program_and_what_it_runs), TEST(a_name_of_any_length_fits)};
    return RUN_TESTS(tests);
}
