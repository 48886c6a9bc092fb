/* SPDX-License-Identifier: Apache-2.0
 * Programs that are started, on every system: the program is this test itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/env.h"
#include "base/os/pipe.h"
#include "base/os/program.h"
#include "test.h"

#ifdef _WIN32
#include <windows.h>

#include <shellapi.h>
#endif

enum { ARGUMENTS_MOST = 32, TEXT_SIZE = 65536 };

static struct env env;

/* ---- the program ---- */

static void pause_for(int ms)
{
    poll(NULL, 0, ms);
}

#ifdef _WIN32
/* As Windows itself takes the line apart, in UTF-8. */
static void read_arguments(int *argc, char ***argv)
{
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), argc);
    static char *texts[ARGUMENTS_MOST];
    for (int i = 0; i < *argc && i < ARGUMENTS_MOST; i++) {
        texts[i] = malloc(TEXT_SIZE);
        WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, texts[i], TEXT_SIZE, NULL, NULL);
    }
    *argv = texts;
}
#else
static void read_arguments(int *argc, char ***argv)
{
    (void)argc, (void)argv;
}
#endif

static int say_arguments(int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        printf("[%s]", argv[i]);
    return 0;
}

static int count_input(void)
{
    char piece[4096];
    size_t all = 0, got;
    while ((got = fread(piece, 1, sizeof piece, stdin)) > 0)
        all += got;
    printf("%zu", all);
    return 0;
}

static int start_child_and_wait(void)
{
    pid_t pid;
    const char *argv[] = {env.self_program, "sleep", NULL};
    if (launch_spawn(argv, -1, STDOUT_FILENO, STDERR_FILENO, &pid) < 0)
        return 9;
    printf("%d\n", (int)pid);
    fflush(stdout);
    pause_for(600000);
    return 0;
}

static int be_program(int argc, char **argv)
{
    const char *what = argv[1];
    if (strcmp(what, "arguments") == 0)
        return say_arguments(argc, argv);
    if (strcmp(what, "count") == 0)
        return count_input();
    if (strcmp(what, "parent") == 0)
        return start_child_and_wait();
    if (strcmp(what, "sleep") == 0)
        pause_for(600000);
    fputs("noise", stderr);
    fputs("hello", stdout);
    return atoi(what);
}

/* ---- the tests ---- */

static int run_self(const char *const *words, int64_t timeout_ms, struct str in, struct buf *out, struct error *err)
{
    const char *argv[ARGUMENTS_MOST] = {env.self_program};
    for (size_t i = 0; words[i]; i++)
        argv[i + 1] = words[i];
    const struct launch launch = {.argv = argv, .timeout_ms = timeout_ms, .out = out, .in = in};
    return launch_program(&env, &launch, err);
}

static void arguments_arrive_as_they_are(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(TEXT_SIZE);
    struct error err = {0};
    static const char *const words[] = {"arguments",
                                        "plain",
                                        "two words",
                                        "",
                                        "quoted \"word\"",
                                        "\"",
                                        "back\\slash",
                                        "ends in\\",
                                        "two\\\\",
                                        "a\\\"b",
                                        "tab\tin",
                                        "%PATH% !x!",
                                        "& | < >",
                                        "--x=\\\\a b\\",
                                        "é 日 \xf0\x9f\x98\x80",
                                        "'single'",
                                        "^caret",
                                        NULL};
    assert_int_equal(run_self(words, 60000, (struct str){0}, &out, &err), 0);
    char expected[1024] = "";
    for (size_t i = 1; words[i]; i++)
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "[%s]", words[i]);
    assert_string_equal(out.at, expected);
}

static void output_and_status_are_its_own(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(100);
    struct error err = {0};
    assert_int_equal(run_self((const char *[]){"3", NULL}, 60000, (struct str){0}, &out, &err), 3);
    assert_string_equal(out.at, "hello");
}

static void all_of_the_input_arrives(void **state)
{
    (void)state;
    AUTO_BUF struct buf in = BUF(1 << 20), out = BUF(100);
    struct error err = {0};
    for (int i = 0; i < 30000; i++)
        buf_text(&in, "0123456789"); /* more than a pipe holds */
    assert_int_equal(run_self((const char *[]){"count", NULL}, 60000, buf_view(&in), &out, &err), 0);
    assert_string_equal(out.at, "300000");
}

static void one_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct error err = {0};
    const struct launch launch = {.argv = (const char *[]){"no-such-program-here", NULL}, .timeout_ms = 1000};
    assert_int_equal(launch_program(&env, &launch, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no-such-program-here"));
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) < 0;
}

static void at_its_deadline_it_ends_with_its_children(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(100);
    struct error err = {0};
    assert_int_equal(run_self((const char *[]){"parent", NULL}, 3000, (struct str){0}, &out, &err), -ETIMEDOUT);
    assert_true(out.len > 0); /* else it had no time to start one */
#ifdef _WIN32                 /* elsewhere a child that starts one of its own gives it a group of its own */
    pid_t child = (pid_t)strtol(out.at, NULL, 10);
    assert_true(EVENTUALLY(is_gone(child)));
#else
    (void)is_gone;
#endif
}

/* What it wrote, until both of its ends are closed. */
static void spawned_program_is_read_waited_for_and_ended(void **state)
{
    (void)state;
    int ends[2], status = -1;
    pid_t pid;
    char text[16] = "";
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(launch_spawn((const char *[]){env.self_program, "4", NULL}, -1, ends[1], ends[1], &pid), 0);
    close(ends[1]);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    for (size_t used = 0; used < sizeof text - 1;) {
        assert_int_equal(pipe_poll(&p, 1, 60000), 1);
        ssize_t got = read(ends[0], text + used, sizeof text - 1 - used);
        if (got <= 0)
            break; /* and not a wait without end: no one else has the other end */
        used += (size_t)got;
    }
    assert_true(strcmp(text, "noisehello") == 0 || strcmp(text, "hellonoise") == 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
    assert_int_equal(waitpid(pid, &status, WNOHANG), -1);
    close(ends[0]);

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(launch_spawn((const char *[]){env.self_program, "sleep", NULL}, -1, ends[1], ends[1], &pid), 0);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    p.fd = ends[0];
    assert_int_equal(pipe_poll(&p, 1, 20), 0);
    assert_int_equal(kill(-pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(ends[0]);
    close(ends[1]);
}

#ifdef _WIN32
/* cmd.exe takes the line of a batch file apart in its own way. */
static void a_batch_file_gets_no_argument_that_could_be_a_command(void **state)
{
    (void)state;
    static const char *const refused[] = {"a&b", "%PATH%", "a\"b", "x|y", "new\nline"};
    AUTO_BUF struct buf out = BUF(100);
    struct error err = {0};
    FILE *file = fopen("launch-self.bat", "wb");
    assert_non_null(file);
    fputs("@echo got %1\r\n", file);
    fclose(file);
    struct launch launch = {.timeout_ms = 60000, .out = &out};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        launch.argv = (const char *[]){".\\launch-self.bat", refused[i], NULL};
        assert_int_equal(launch_program(&env, &launch, &err), -EINVAL);
    }
    launch.argv = (const char *[]){".\\launch-self.bat", "plain", NULL};
    assert_int_equal(launch_program(&env, &launch, &err), 0);
    assert_non_null(strstr(out.at, "got plain"));
    unlink("launch-self.bat");
}

static void a_program_inherits_nothing_that_it_was_not_given(void **state)
{
    (void)state;
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    HANDLE ours, theirs;
    DWORD there;
    pid_t pid;
    assert_true(CreatePipe(&ours, &theirs, &inherited, 0));
    assert_int_equal(launch_spawn((const char *[]){env.self_program, "sleep", NULL}, -1, -1, -1, &pid), 0);
    CloseHandle(theirs);
    assert_false(PeekNamedPipe(ours, NULL, 0, NULL, &there, NULL)); /* the other end is closed */
    assert_int_equal(kill(-pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    CloseHandle(ours);
}
#endif

int main(int argc, char **argv)
{
    env_init_system(&env);
    read_arguments(&argc, &argv);
    if (argc > 1)
        return be_program(argc, argv);
    const struct CMUnitTest tests[] = {
        TEST(arguments_arrive_as_they_are),
        TEST(output_and_status_are_its_own),
        TEST(all_of_the_input_arrives),
        TEST(one_that_is_not_there_is_named),
        TEST(at_its_deadline_it_ends_with_its_children),
        TEST(spawned_program_is_read_waited_for_and_ended),
#ifdef _WIN32
        TEST(a_batch_file_gets_no_argument_that_could_be_a_command),
        TEST(a_program_inherits_nothing_that_it_was_not_given),
#endif
    };
    return RUN_TESTS(tests);
}
