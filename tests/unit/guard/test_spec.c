/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/spec.h"

#include <errno.h>
#include <signal.h>

#include "../config/config_fixture.h"

static int make(const char *text, struct guard_spec *spec, struct error *err)
{
    struct config *c = loaded(text);
    int rc = spec_from_config(c, 0, spec, err);
    config_free(c); /* the spec keeps its own copies */
    return rc;
}

static void a_worker_takes_what_it_does_not_set_from_the_defaults(void **state)
{
    (void)state;
    struct guard_spec s;
    assert_int_equal(
        make("[worker]\nprocess_check_interval_secs = 2\ntemperature_threshold_celsius = 80\n"
             "[guard.worker.o]\nmethods = [\"ollama\", \"checkpoint\"]\nurl = \"http://127.0.0.1:11434\"\nclear_for = \"7s\"\n",
             &s, NULL),
        0);
    assert_string_equal(s.name, "o");
    assert_int_equal(s.method_count, 2);
    assert_int_equal(s.limits.methods, 2);
    assert_string_equal(s.methods[0].name, "ollama");
    assert_int_equal(s.interval_ms, 2000);
    assert_int_equal(s.limits.leave_clear_ms, 7000);
    assert_int_equal(s.hot_mdegc, 80000);
    assert_int_equal(s.cool_mdegc, 75000);
    assert_int_equal(s.match.port, 11434); /* nothing else was said: who listens there */
    assert_true(s.limits.hot_pauses);      /* no gate: nothing to throttle with */
    assert_int_equal(s.settings.evict_signal, SIGUSR1);
    spec_done(&s);
}

static void matches_commands_and_gates_are_read(void **state)
{
    (void)state;
    struct guard_spec s;
    assert_int_equal(
        make("[guard.worker.x]\nmethods = [\"command\"]\nmatch = { unit = \"x.service\" }\nevict_command = [\"a\", \"b c\"]\n"
             "url = \"http://127.0.0.1:1\"\ngate = \"127.0.0.1:2\"\ngate_mode = \"refuse\"\ngpus = [0, \"GPU-1\"]\n",
             &s, NULL),
        0);
    assert_string_equal(s.match.unit, "x.service");
    assert_int_equal(s.match.port, 0);
    assert_string_equal(s.settings.evict_command[1], "b c");
    assert_null(s.settings.evict_command[2]);
    assert_true(s.gate.refuse);
    assert_false(s.limits.hot_pauses);
    assert_int_equal(s.gpu_count, 2);
    assert_string_equal(s.gpus[1], "GPU-1");
    spec_done(&s);
}

static void a_method_of_the_users_own_is_a_row(void **state)
{
    (void)state;
    struct guard_spec s;
    assert_int_equal(make("[guard.method.mine]\nunload = \"DELETE /models/{id}\"\nlist = \"GET /m\"\nitems = \"[]\"\nid = \"n\"\n"
                          "[guard.worker.x]\nmethods = [\"mine\"]\nurl = \"http://127.0.0.1:1\"\n",
                          &s, NULL),
                     0);
    assert_string_equal(s.methods[0].name, "mine");
    assert_string_equal(s.methods[0].row->unload.method, "DELETE");
    assert_string_equal(s.methods[0].row->unload.path, "/models/{id}");
    assert_null(s.methods[0].row->reload.path);
    spec_done(&s);
}

static void mistakes_name_the_worker_and_what_is_missing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"[guard.worker.x]\nmethods = [\"checkpoint\"]\n", "no processes are configured"},
        {"[guard.worker.x]\nmatch = { name = \"a\" }\n", "no method"},
        {"[guard.worker.x]\nmethods = [\"magic\"]\nmatch = { name = \"a\" }\n", "unknown method 'magic'"},
        {"[guard.worker.x]\nmethods = [\"ollama\"]\nmatch = { name = \"a\" }\n", "needs the url"},
        {"[guard.worker.x]\nmethods = [\"command\"]\nmatch = { name = \"a\" }\n", "evict_command"},
        {"[guard.worker.x]\nmethods = [\"process\"]\nmatch = { name = \"a\" }\n", "whirr guard run"},
        {"[guard.worker.x]\nmethods = [\"checkpoint\"]\nmatch = { colour = \"a\" }\n", "matches nothing"},
        {"[guard.worker.x]\nmethods = [\"signal\"]\nmatch = { name = \"a\" }\nevict_signal = \"SIGSTOP\"\n", "not a usable signal"},
        {"[guard.worker.x]\nmethods = [\"checkpoint\"]\nmatch = { name = \"a\" }\ngate = \"127.0.0.1:1\"\n",
         "a gate needs the url"},
        {"[guard.worker.x]\nmethods = [\"ollama\"]\nurl = \"http://127.0.0.1:9\"\ngate = \"127.0.0.1:9\"\n",
         "is the address of the url"},
        {"[guard.worker.x]\nmethods = [\"ollama\"]\nurl = \"http://localhost:9/v1\"\ngate = \"0.0.0.0:9\"\n",
         "is the address of the url"},
        {"[guard.worker.x]\nmethods = [\"ollama\"]\nurl = \"http://127.0.0.1\"\ngate = \"localhost:80\"\n",
         "is the address of the url"},
        {"[guard.method.m]\nunload = \"nonsense\"\n[guard.worker.x]\nmethods = [\"m\"]\nurl = \"http://127.0.0.1:1\"\n",
         "not a method"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct guard_spec s;
        struct error err = {0};
        assert_true(make(cases[i].text, &s, &err) < 0);
        if (!strstr(err.text, cases[i].said) || !strstr(err.text, "guard.worker.x"))
            fail_msg("%s\nsaid: %s", cases[i].text, err.text);
    }
}

static void a_url_tells_the_port_of_a_local_server_only(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        int port;
    } cases[] = {{"http://localhost:8080/v1", 8080}, {"http://[::1]:9", 9}, {"http://127.0.0.1", 80}, {"http://10.0.0.2:8080", 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct guard_spec s = {0};
        assert_int_equal(spec_set_url(&s, cases[i].url, NULL), 0);
        assert_int_equal(s.match.port, cases[i].port);
    }
    struct guard_spec s = {0};
    assert_int_equal(spec_set_url(&s, "http://127.0.0.1:99999", NULL), -EINVAL);
}

static void workers_are_checked_together(void **state)
{
    (void)state;
    static const struct {
        const char *second_gate, *said;
    } cases[] = {{"127.0.0.1:9", "the gate 127.0.0.1:9 is that of guard.worker.a already"},
                 {"0.0.0.0:9", "is that of guard.worker.a already"},
                 {"127.0.0.1:10", NULL},
                 {"127.0.0.2:9", NULL},
                 {"none", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "[guard.worker.a]\nmethods = [\"ollama\"]\nurl = \"http://127.0.0.1:1\"\ngate = \"127.0.0.1:9\"\n"
                 "[guard.worker.b]\nmethods = [\"ollama\"]\nurl = \"http://127.0.0.1:2\"\ngate = \"%s\"\n",
                 cases[i].second_gate);
        struct config *c = loaded(text);
        problems = (struct config_problems){0};
        spec_check_config(c, false, &problems);
        assert_int_equal(problems.errors, cases[i].said != NULL);
        if (cases[i].said)
            assert_non_null(strstr(problems.list[0].text, cases[i].said));
        config_free(c);
    }
}

static void a_worker_that_would_not_be_guarded_is_an_error(void **state)
{
    (void)state;
    struct config *c = loaded("[guard.worker.x]\nmethods = [\"checkpoint\"]\n");
    problems = (struct config_problems){0};
    spec_check_config(c, false, &problems);
    assert_int_equal(problems.errors, 1);
    assert_non_null(strstr(problems.list[0].text, "is not guarded"));
    problems = (struct config_problems){0};
    spec_check_config(c, true, &problems); /* as the daemon sees it: it goes on without that one */
    assert_int_equal(problems.errors, 0);
    assert_int_equal(problems.count, 1);
    config_free(c);
}

int main(void)
{
    make_config_folder();
    const struct CMUnitTest tests[] = {
        TEST(a_worker_takes_what_it_does_not_set_from_the_defaults),
        TEST(matches_commands_and_gates_are_read),
        TEST(a_method_of_the_users_own_is_a_row),
        TEST(mistakes_name_the_worker_and_what_is_missing),
        TEST(a_url_tells_the_port_of_a_local_server_only),
        TEST(workers_are_checked_together),
        TEST(a_worker_that_would_not_be_guarded_is_an_error),
    };
    return RUN_TESTS(tests);
}
