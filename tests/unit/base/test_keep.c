/* SPDX-License-Identifier: Apache-2.0 */
#include "base/keep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "test.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/whirr-keep-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[128];
    const char *const names[] = {"a", "a.damaged", "a.new"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void what_is_kept_is_read_back_and_only_its_owner_may(void **state)
{
    (void)state;
    struct error err = {0};
    struct stat st;
    assert_int_equal(keep_write(in_folder("a"), STR("first"), &err), 0);
    assert_int_equal(keep_write(in_folder("a"), STR("second"), &err), 0);
    AUTO_BUF struct buf text = BUF(100);
    assert_int_equal(keep_read(in_folder("a"), &text, &err), 0);
    assert_string_equal(text.at, "second");
    assert_int_equal(stat(in_folder("a"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_not_equal(access(in_folder("a.new"), F_OK), 0);
}

static void a_file_that_is_not_there_or_too_long_says_so(void **state)
{
    (void)state;
    struct error err = {0};
    AUTO_BUF struct buf text = BUF(3);
    assert_int_equal(keep_read(in_folder("missing"), &text, &err), -ENOENT);
    assert_int_equal(keep_write(in_folder("a"), STR("too long"), &err), 0);
    assert_int_equal(keep_read(in_folder("a"), &text, &err), -EFBIG);
}

static void a_file_for_which_there_is_no_memory_is_not_called_too_long(void **state)
{
    (void)state;
    struct error err = {0};
    struct buf text = {.max = 100, .failed = true, .no_memory = true};
    assert_int_equal(keep_write(in_folder("a"), STR("short"), &err), 0);
    assert_int_equal(keep_read(in_folder("a"), &text, &err), -ENOMEM);
    assert_non_null(strstr(err.text, "out of memory"));
}

static void a_write_that_cannot_succeed_leaves_nothing_behind(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(keep_write(in_folder("no/such"), STR("x"), &err), -ENOENT);
    assert_non_null(strstr(err.text, "cannot write"));
}

static void a_damaged_file_is_moved_aside_over_the_one_before(void **state)
{
    (void)state;
    struct error err = {0};
    keep_write(in_folder("a"), STR("one"), &err);
    assert_int_equal(keep_aside(in_folder("a"), &err), 0);
    keep_write(in_folder("a"), STR("two"), &err);
    assert_int_equal(keep_aside(in_folder("a"), &err), 0);
    AUTO_BUF struct buf text = BUF(100);
    assert_int_equal(keep_read(in_folder("a.damaged"), &text, &err), 0);
    assert_string_equal(text.at, "two");
    assert_int_equal(keep_aside(in_folder("a"), &err), -ENOENT);
}

static void each_name_has_a_file_of_its_own(void **state)
{
    (void)state;
    char plain[128], dotted[128], climbing[128];
    keep_path("/k", "a_b-1", ".json", plain, sizeof plain);
    keep_path("/k", "a.b-1", ".json", dotted, sizeof dotted);
    keep_path("/k", "../b", "", climbing, sizeof climbing);
    assert_string_equal(plain, "/k/a_b-1.json");
    assert_string_not_equal(dotted, plain);
    assert_null(strchr(climbing + 3, '/'));
    assert_null(strchr(climbing, '.'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_kept_is_read_back_and_only_its_owner_may, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_is_not_there_or_too_long_says_so, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_for_which_there_is_no_memory_is_not_called_too_long, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_write_that_cannot_succeed_leaves_nothing_behind, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_moved_aside_over_the_one_before, make_folder, remove_folder),
        TEST(each_name_has_a_file_of_its_own),
    };
    return RUN_TESTS(tests);
}
