/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/method.h"

#include <errno.h>
#include <stdio.h>

#include "../sysroot.h"

static void what_was_written_is_read_back(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    sysroot_init(&root);
    char dir[128];
    snprintf(dir, sizeof dir, "%s/guard", root.path);
    struct journal j = {0};
    assert_int_equal(journal_open(&j, dir, "a/b", NULL), 0);
    struct journal_entry e = {.state = GUARD_EVICTING,
                              .step = "checkpoint",
                              .acted = {"ollama", "checkpoint"},
                              .acted_count = 2,
                              .items = {{.id = "m:\"1\"", .name = "m", .extra = "{\"context_length\": 4096}"}},
                              .item_count = 1,
                              .pids = {{42, 7}},
                              .pid_count = 1,
                              .leader = {9, 8},
                              .claimant = {77, 6},
                              .gpus = {{1, 5LL << 32, "GPU-a"}},
                              .gpu_count = 1,
                              .bytes = 5LL << 32,
                              .held = true};
    struct journal_entry r;
    assert_int_equal(journal_read(&j, &r, NULL), -ENOENT);
    assert_int_equal(journal_write(&j, &e, NULL), 0);
    assert_int_equal(journal_read(&j, &r, NULL), 0);
    assert_int_equal(r.state, GUARD_EVICTING);
    assert_string_equal(r.step, "checkpoint");
    assert_int_equal(r.acted_count, 2);
    assert_string_equal(r.acted[1], "checkpoint");
    assert_string_equal(r.items[0].id, "m:\"1\"");
    assert_string_equal(r.items[0].name, "m");
    assert_string_equal(r.items[0].extra, "{\"context_length\": 4096}");
    assert_int_equal(r.pids[0].pid, 42);
    assert_int_equal(r.pids[0].start_key, 7);
    assert_int_equal(r.leader.pid, 9);
    assert_int_equal(r.claimant.pid, 77);
    assert_int_equal(r.claimant.start_key, 6);
    assert_int_equal(r.gpu_count, 1);
    assert_int_equal(r.gpus[0].gpu, 1);
    assert_string_equal(r.gpus[0].uuid, "GPU-a");
    assert_true(r.gpus[0].bytes == 5LL << 32 && r.bytes == 5LL << 32);
    assert_true(r.held);
}

static void a_damaged_journal_is_moved_aside_and_said(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    sysroot_init(&root);
    static const char *const broken[] = {"", "{", "{\"state\": \"flying\"}", "[]", "{\"state\": 7}"};
    for (size_t i = 0; i < 5; i++) {
        sysroot_write(&root, "/x.journal", broken[i]);
        struct journal j = {0};
        struct error err = {0};
        struct journal_entry r;
        assert_int_equal(journal_open(&j, root.path, "x", NULL), 0);
        assert_int_equal(journal_read(&j, &r, &err), -EBADMSG);
        assert_non_null(strstr(err.text, "damaged"));
        assert_int_equal(journal_read(&j, &r, NULL), -ENOENT);
    }
}

static void more_than_fits_is_cut_not_overrun(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot root;
    sysroot_init(&root);
    char text[65536] = "{\"state\": \"paused\", \"acted\": [";
    for (int i = 0; i < 100; i++)
        strcat(text, i ? ", \"w\"" : "\"w\"");
    strcat(text, "], \"gpus\": [");
    for (int i = 0; i < 100; i++)
        sprintf(text + strlen(text), "%s[%d, 1]", i ? ", " : "", i);
    strcat(text, ", [999999, 1]]}");
    sysroot_write(&root, "/x.journal", text);
    struct journal j = {0};
    struct journal_entry r;
    assert_int_equal(journal_open(&j, root.path, "x", NULL), 0);
    assert_int_equal(journal_read(&j, &r, NULL), 0);
    assert_int_equal(r.acted_count, JOURNAL_METHODS_MAX);
    assert_int_equal(r.gpu_count, JOURNAL_GPUS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_written_is_read_back),
        TEST(a_damaged_journal_is_moved_aside_and_said),
        TEST(more_than_fits_is_cut_not_overrun),
    };
    return RUN_TESTS(tests);
}
