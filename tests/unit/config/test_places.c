/* SPDX-License-Identifier: Apache-2.0 */
#include "config/places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char folder[64], expected[PLACE_SIZE], path[PLACE_SIZE];

/* Nothing of the machine on which the test runs. */
static int clear(void **state)
{
    (void)state;
    static const char *const names[] = {"RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR", "STATE_DIRECTORY", "XDG_STATE_HOME"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("WHIRR_SYSTEM_ROOT", folder, 1);
    setenv("HOME", folder, 1);
    return 0;
}

static const char *below(const char *name)
{
    snprintf(expected, sizeof expected, "%s%s", folder, name);
    return expected;
}

static void a_place_of_ones_own_is_the_only_one_to_act_on(void **state)
{
    (void)state;
    setenv("XDG_RUNTIME_DIR", below("/session"), 1);
    assert_true(place_to_act("auto", path));
    assert_string_equal(path, below("/session/whirr.sock"));
    assert_true(place_socket("auto", path)); /* and there its daemon listens */
    assert_string_equal(path, below("/session/whirr.sock"));
    /* Who only looks goes on to the system's. */
    assert_true(place_of_daemon("auto", 0, path));
    assert_string_equal(path, below("/session/whirr.sock"));
    assert_true(place_of_daemon("auto", 1, path));
    assert_string_equal(path, below("/run/whirr/whirr.sock"));
    assert_false(place_of_daemon("auto", 2, path));
}

static void a_services_directory_goes_before_a_sessions(void **state)
{
    (void)state;
    setenv("XDG_RUNTIME_DIR", below("/session"), 1);
    setenv("RUNTIME_DIRECTORY", "/a/whirr:/b/whirr", 1);
    assert_true(place_to_act("auto", path));
    assert_string_equal(path, "/a/whirr/whirr.sock");
}

static void root_acts_on_the_system_also_from_a_login(void **state)
{
    (void)state;
    bool root = geteuid() == 0;
    assert_int_equal(place_to_act("auto", path), root);
    if (root)
        assert_string_equal(path, below("/run/whirr/whirr.sock"));
    setenv("XDG_RUNTIME_DIR", "/run/user/0", 1);
    assert_true(place_to_act("auto", path));
    assert_string_equal(path, root ? below("/run/whirr/whirr.sock") : "/run/user/0/whirr.sock");
}

static void a_socket_that_was_named_is_the_only_one(void **state)
{
    (void)state;
    assert_true(place_to_act("/x/y.sock", path));
    assert_string_equal(path, "/x/y.sock");
    assert_true(place_of_daemon("/x/y.sock", 0, path));
    assert_false(place_of_daemon("/x/y.sock", 1, path));
    assert_false(place_to_act("none", path));
    assert_false(place_of_daemon("none", 0, path));
}

static void databases_are_named_in_one_way(void **state)
{
    (void)state;
    char url[STORE_PLACE_SIZE], state_home[128];
    struct error err = {0};
    static const char *const cases[][2] = {{"gpu.db", "sqlite:gpu.db"},
                                           {"/a/b c.db", "sqlite:/a/b c.db"},
                                           {"sqlite:/a.db", "sqlite:/a.db"},
                                           {"/a\\b.db", "sqlite:/a\\b.db"},
                                           {"postgresql://u@h/d", "postgresql://u@h/d"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(store_place(cases[i][0], url, &err), 0);
        assert_string_equal(url, cases[i][1]);
    }
    assert_int_equal(store_place("none", url, &err), -ENOENT);
    snprintf(state_home, sizeof state_home, "%s/state", folder);
    setenv("XDG_STATE_HOME", state_home, 1);
    assert_int_equal(store_place("auto", url, &err), 0);
    assert_memory_equal(url, "sqlite:", 7);
    assert_string_equal(url + 7, below("/state/whirr/whirr.db"));
}

static void a_password_is_not_shown(void **state)
{
    (void)state;
    char text[256];
    static const char *const cases[][2] = {{"sqlite:/a.db", "/a.db"},
                                           {"postgresql://u:sesame@h/d", "postgresql://u:***@h/d"},
                                           {"postgresql://h/d?password=sesame", "postgresql://h/d?password=***"},
                                           {"postgresql://u@h:5432/d", "postgresql://u@h:5432/d"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        store_place_text(cases[i][0], text, sizeof text);
        assert_string_equal(text, cases[i][1]);
    }
}

static void the_lock_lies_in_the_state_directory(void **state)
{
    (void)state;
    struct error err = {0};
    setenv("STATE_DIRECTORY", below("/service"), 1);
    assert_int_equal(place_lock(path, &err), 0);
    assert_string_equal(path, below("/service/daemon.lock"));
}

int main(void)
{
    make_folder_here(folder);
#define PLACES(name) cmocka_unit_test_setup(name, clear)
    const struct CMUnitTest tests[] = {
        PLACES(a_place_of_ones_own_is_the_only_one_to_act_on),
        PLACES(a_services_directory_goes_before_a_sessions),
        PLACES(root_acts_on_the_system_also_from_a_login),
        PLACES(a_socket_that_was_named_is_the_only_one),
        PLACES(databases_are_named_in_one_way),
        PLACES(a_password_is_not_shown),
        PLACES(the_lock_lies_in_the_state_directory),
    };
    return RUN_TESTS(tests);
}
