/* SPDX-License-Identifier: Apache-2.0
 * Where a driver's library and programs are looked for.
 */
#include "source/driver_places.h"

#include <dlfcn.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"
#include "tree.h"

static struct tree t;
static char asked[32][PATH_SIZE];
static size_t asked_count;
static const char *loadable; /* what a path must end with */

static void *fake_load(const struct env *env, const char *name, struct error *err)
{
    (void)env;
    snprintf(asked[asked_count++], PATH_SIZE, "%s", name);
    if (loadable && str_ends(str_from(name), loadable))
        return dlopen(NULL, RTLD_NOW);
    error_set(err, -ENOENT, "%s: refused", name);
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    tree_init(&t);
    t.env.load_library = fake_load;
    asked_count = 0;
    loadable = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_done(&t);
    return 0;
}

static void the_loader_comes_first(void **state)
{
    (void)state;
    char used[PATH_SIZE];
    tree_write(&t, "/usr/lib/wsl/lib/libnvidia-ml.so.1", "");
    loadable = "libnvidia-ml.so.1";
    assert_non_null(place_load_library(&t.env, "libnvidia-ml.so.1", used, NULL));
    assert_string_equal(used, "");
    assert_int_equal(asked_count, 1);
}

static void known_places_come_next_and_only_those_that_have_it(void **state)
{
    (void)state;
    static const char *const places[] = {"/usr/lib/wsl/lib/", "/run/opengl-driver/lib/", "/run/nvidia/driver/usr/lib64/",
                                         "/usr/local/nvidia/lib64/"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        char path[PATH_SIZE], used[PATH_SIZE];
        struct error err = {0};
        snprintf(path, sizeof path, "%slibcuda.so.1", places[i]);
        tree_write(&t, path, "");
        loadable = path;
        asked_count = 0;
        assert_non_null(place_load_library(&t.env, "libcuda.so.1", used, &err));
        assert_string_equal(used, path);
        assert_int_equal(asked_count, 2);
        assert_int_equal(err.code, 0);
        tree_remove(&t, path);
    }
}

static void the_extension_of_a_flatpak_runtime_is_found_by_its_version(void **state)
{
    (void)state;
    char used[PATH_SIZE];
    AUTO_BUF struct buf list = BUF(4096);
#if defined __x86_64__
    tree_write(&t, "/usr/lib/x86_64-linux-gnu/GL/nvidia-580-95-05/lib/libnvidia-ml.so.1", "");
    tree_write(&t, "/usr/lib/x86_64-linux-gnu/GL/default/lib/libnvidia-ml.so.1", "");
    loadable = "nvidia-580-95-05/lib/libnvidia-ml.so.1";
    assert_non_null(place_load_library(&t.env, "libnvidia-ml.so.1", used, NULL));
    places_list(&t.env, &list);
    assert_true(str_contains(buf_view(&list), "/GL/nvidia-580-95-05/lib"));
    assert_false(str_contains(buf_view(&list), "/GL/default"));
#else
    (void)used;
#endif
}

static void a_path_is_the_only_one_tried(void **state)
{
    (void)state;
    char used[PATH_SIZE], program[PATH_SIZE] = "kept";
    tree_write(&t, "/usr/lib/wsl/lib/libnvidia-ml.so.1", "");
    assert_null(place_load_library(&t.env, "/opt/libnvidia-ml.so.1", used, NULL));
    assert_int_equal(asked_count, 1);
    assert_false(place_find_program(&t.env, "./nvidia-smi", program));
    assert_string_equal(program, "kept");
}

static void a_file_that_is_there_and_does_not_load_says_why(void **state)
{
    (void)state;
    char used[PATH_SIZE];
    struct error err = {0};
    assert_null(place_load_library(&t.env, "libnvidia-ml.so.1", used, &err));
    assert_string_equal(err.text, "libnvidia-ml.so.1: refused");
    tree_write(&t, "/run/opengl-driver/lib/libnvidia-ml.so.1", "");
    assert_null(place_load_library(&t.env, "libnvidia-ml.so.1", used, &err));
    assert_non_null(strstr(err.text, "/run/opengl-driver/lib/libnvidia-ml.so.1: refused"));
}

static void programs_have_places_too(void **state)
{
    (void)state;
    char program[PATH_SIZE] = "kept";
    assert_false(place_find_program(&t.env, "rocm-smi", program));
    assert_string_equal(program, "kept");
    tree_write(&t, "/opt/rocm/bin/rocm-smi", "");
    assert_true(place_find_program(&t.env, "rocm-smi", program));
    assert_true(str_ends(str_from(program), "/opt/rocm/bin/rocm-smi") && str_starts(str_from(program), t.root));
}

#define PLACE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_loader_comes_first),
        PLACE_TEST(known_places_come_next_and_only_those_that_have_it),
        PLACE_TEST(the_extension_of_a_flatpak_runtime_is_found_by_its_version),
        PLACE_TEST(a_path_is_the_only_one_tried),
        PLACE_TEST(a_file_that_is_there_and_does_not_load_says_why),
        PLACE_TEST(programs_have_places_too),
    };
    return RUN_TESTS(tests);
}
