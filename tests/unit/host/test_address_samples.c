/* SPDX-License-Identifier: Apache-2.0
 * Where a process spends its CPU time: lines of /proc/PID/maps, names of files, sentences, and real processes that compute.
 */
#include "host/evidence/address_samples.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "test.h"

enum { NOBODY = 65534, MS = 300 };

static void executable_mappings_are_read(void **state)
{
    (void)state;
    struct address_map map;
    assert_true(address_map_parse(STR("7f3a10000000-7f3a10021000 r-xp 00028000 08:01 1311 /usr/lib/x/libc.so.6"), &map));
    assert_true(map.from == 0x7f3a10000000 && map.to == 0x7f3a10021000 && map.offset == 0x28000 &&
                str_is(map.path, "/usr/lib/x/libc.so.6"));
    assert_true(address_map_parse(STR("7ffd1-7ffd2 r-xp 00000000 00:00 0                          [vdso]"), &map));
    assert_true(str_is(map.path, "[vdso]"));
    assert_true(address_map_parse(STR("1000-2000 r-xp 00000000 08:01 12 /opt/my app/libtorch.so (deleted)"), &map));
    assert_true(str_is(map.path, "/opt/my app/libtorch.so"));
    assert_true(address_map_parse(STR("1000-2000 rwxp 00000000 00:00 0"), &map));
    assert_true(str_is(map.path, ""));
    assert_false(address_map_parse(STR("1000-2000 rw-p 00000000 00:00 0 [heap]"), &map));
    assert_false(address_map_parse(STR(""), &map));
    assert_false(address_map_parse(STR("x-y r-xp 0 0 0"), &map));
}

static void files_have_their_group(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool program;
        enum address_group group;
    } cases[] = {
        {"/usr/bin/python3.11", true, ADDRESS_PYTHON},
        {"/usr/lib/libpython3.12.so.1.0", false, ADDRESS_PYTHON},
        {"/usr/lib/python3.12/lib-dynload/_json.cpython-312-x86_64-linux-gnu.so", false, ADDRESS_PYTHON},
        {"/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06", false, ADDRESS_DRIVER},
        {"[vdso]", false, ADDRESS_DRIVER},
        {"/opt/rocm/lib/libhsa-runtime64.so.1", false, ADDRESS_DRIVER},
        {"/x/libnvrtc.so.12", false, ADDRESS_COMPILER},
        {"/x/triton/_C/libtriton.so", false, ADDRESS_COMPILER},
        {"/x/torch/lib/libtorch_cpu.so", false, ADDRESS_LIBRARIES},
        {"/x/numpy/_core/_multiarray_umath.cpython-312-x86_64-linux-gnu.so", false, ADDRESS_LIBRARIES},
        {"/usr/lib/libcudart.so.12", false, ADDRESS_LIBRARIES},
        {"/opt/llama/llama-server", true, ADDRESS_PROGRAM},
        {"", false, ADDRESS_KERNEL},
        {"[vsyscall]", false, ADDRESS_KERNEL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (address_group_of(str_from(cases[i].path), cases[i].program) != cases[i].group)
            fail_msg("%s is %s", cases[i].path, address_group_name(address_group_of(str_from(cases[i].path), cases[i].program)));
}

static void the_sentence_says_what_matters_most_first(void **state)
{
    (void)state;
    char words[ADDRESS_WORDS];
    struct address_samples s = {.state = READING_OK, .cpu_permille = 1000, .samples = 199, .over_ms = 1000};
    s.permille[ADDRESS_PYTHON] = 812;
    s.permille[ADDRESS_DRIVER] = 141;
    s.permille[ADDRESS_LIBRARIES] = 47;
    s.objects[0] = (struct address_object){"libpython3.12.so.1.0", 812};
    s.objects[1] = (struct address_object){"libcuda.so.580.65.06", 141};
    assert_string_equal(address_samples_words(&s, words), "81% of its CPU time is Python code, 14% waits in libcuda");
    s = (struct address_samples){.state = READING_OK, .cpu_permille = 1000};
    s.permille[ADDRESS_COMPILER] = 600;
    s.permille[ADDRESS_LIBRARIES] = 400;
    s.objects[0] = (struct address_object){"libnvrtc.so.12", 600};
    s.objects[1] = (struct address_object){"libtorch_cpu.so", 300};
    assert_string_equal(address_samples_words(&s, words),
                        "60% of its CPU time compiles in libnvrtc, 40% is in libraries (libtorch_cpu)");
    s.functions[0] = (struct address_function){"at::native::add", "libtorch_cpu.so", 250};
    s.functions[1] = (struct address_function){"other", "libtorch_cpu.so", 60};
    assert_string_equal(address_samples_words(&s, words),
                        "60% of its CPU time compiles in libnvrtc, 40% is in libraries (libtorch_cpu); functions: "
                        "at::native::add() in libtorch_cpu.so 25%");
    s = (struct address_samples){.state = READING_OK, .cpu_permille = 2};
    assert_string_equal(address_samples_words(&s, words), "it used no CPU time");
    s = (struct address_samples){.state = READING_DENIED, .why = "it may not be"};
    assert_string_equal(address_samples_words(&s, words), "it may not be");
}

/* ---- real processes ---- */

__attribute__((noinline, noclone)) static void spin(void)
{
    for (volatile unsigned long i = 0;; i++)
        ;
}

static pid_t start(const char *const *argv)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!argv)
        spin();
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static bool sampled(pid_t pid, struct address_samples *s, enum address_group wanted)
{
    struct env env;
    env_init_system(&env);
    address_samples_take(&env, pid, MS, true, s);
    return s->state != READING_OK || (s->permille[wanted] > 600 && s->samples > 5);
}

static void a_loop_of_its_own_is_the_programs(void **state)
{
    (void)state;
    struct address_samples s;
    pid_t pid = start(NULL);
    bool seen = EVENTUALLY(sampled(pid, &s, ADDRESS_PROGRAM));
    end(pid);
    if (s.state == READING_DENIED)
        SKIP("perf_event_open is not permitted here");
    assert_int_equal(s.state, READING_OK);
    assert_true(seen && s.threads == 1 && s.cpu_permille > 0);
    assert_true(strstr(s.objects[0].name, "test_address_samples") != NULL);
    assert_string_equal(s.functions[0].name, "spin");
    assert_true(s.functions[0].permille > 500 && strcmp(s.functions[0].object, s.objects[0].name) == 0);
}

static void a_loop_in_python_is_python(void **state)
{
    (void)state;
    if (access("/usr/bin/python3", X_OK) < 0)
        SKIP("no /usr/bin/python3");
    struct address_samples s;
    char words[ADDRESS_WORDS];
    static const char *const argv[] = {"/usr/bin/python3", "-c", "while True: pass", NULL};
    pid_t pid = start(argv);
    bool seen = EVENTUALLY(sampled(pid, &s, ADDRESS_PYTHON));
    end(pid);
    if (s.state == READING_DENIED)
        SKIP("perf_event_open is not permitted here");
    assert_true(seen);
    assert_non_null(strstr(address_samples_words(&s, words), "of its CPU time is Python code"));
}

static void a_sleeper_uses_nothing(void **state)
{
    (void)state;
    struct address_samples s;
    struct env env;
    char words[ADDRESS_WORDS];
    static const char *const argv[] = {"sleep", "1000", NULL};
    env_init_system(&env);
    pid_t pid = start(argv);
    (void)EVENTUALLY((address_samples_take(&env, pid, 50, false, &s), s.state != READING_OK || s.cpu_permille < 10));
    end(pid);
    if (s.state == READING_DENIED)
        SKIP("perf_event_open is not permitted here");
    assert_string_equal(address_samples_words(&s, words), "it used no CPU time");
    address_samples_take(&env, pid, 50, false, &s);
    assert_int_not_equal(s.state, READING_OK);
    assert_string_equal(s.why, "the process has ended");
}

static void what_is_not_permitted_says_what_would_permit_it(void **state)
{
    (void)state;
    if (getuid() != 0)
        SKIP("only root can be another user");
    pid_t pid = start(NULL), other = fork();
    if (other == 0) {
        struct env env;
        struct address_samples s;
        env_init_system(&env);
        if (setuid(NOBODY) < 0)
            _exit(9);
        struct mono before = clock_mono(env.clock);
        address_samples_take(&env, pid, 1000, false, &s);
        _exit((s.state != READING_DENIED) + 2 * !strstr(s.why, "CAP_PERFMON") +
              4 * (mono_since_ms(clock_mono(env.clock), before) >= 1000));
    }
    int status = 0;
    assert_int_equal(waitpid(other, &status, 0), other);
    end(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(executable_mappings_are_read),
        TEST(files_have_their_group),
        TEST(the_sentence_says_what_matters_most_first),
        TEST(a_loop_of_its_own_is_the_programs),
        TEST(a_loop_in_python_is_python),
        TEST(a_sleeper_uses_nothing),
        TEST(what_is_not_permitted_says_what_would_permit_it),
    };
    return RUN_TESTS(tests);
}
