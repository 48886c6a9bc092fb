/* SPDX-License-Identifier: Apache-2.0 */
#include "skeleton.h"

#include <errno.h>

#include "base/cleanup.h"
#include "fake_skeleton.h"
#include "test.h"

static void reads_the_recorded_card_as_its_files_say(void **state)
{
    (void)state;
    struct tree t;
    tree_machine(&t, "../skeleton_vendor/skeleton");
    AUTO_FREE char *text = source_write(&skeleton_source, &t.env);
    assert_golden("skeleton.txt", text);
    tree_done(&t);
}

struct machine {
    struct tree tree;
    struct source *source;
    struct gpu_id ids[4];
};

/* Two cards. */
static void open_machine(struct machine *m)
{
    struct error err = {0};
    *m = (struct machine){0};
    tree_init(&m->tree);
    fake_skeleton_add(&m->tree, 0, "SKELETON-A", "0000:01:00.0");
    fake_skeleton_add(&m->tree, 1, "SKELETON-B", "0000:02:00.0");
    assert_int_equal(skeleton_source.open(&m->tree.env, "", &m->source, &err), 0);
    assert_int_equal(skeleton_source.list(m->source, m->ids, ARRAY_LEN(m->ids)), 2);
}

static void close_machine(struct machine *m)
{
    fault_clear();
    skeleton_source.close(m->source);
    tree_done(&m->tree);
}

static struct gpu sample(struct machine *m, size_t card)
{
    struct gpu gpu = {0};
    skeleton_source.sample(m->source, card, GROUP_ALL, &gpu);
    return gpu;
}

static void a_host_without_cards_says_so(void **state)
{
    (void)state;
    struct tree t;
    struct source *source = NULL;
    struct error err = {0};
    tree_init(&t);
    assert_int_equal(skeleton_source.open(&t.env, "", &source, &err), -ENODEV);
    assert_string_equal(err.text, "no GPUs in /sys/class/skeleton");
    assert_int_equal(skeleton_source.open(&t.env, "fast", &source, &err), -EINVAL);
    tree_done(&t);
}

static void a_value_that_is_not_there_is_absent_and_not_zero(void **state)
{
    (void)state;
    struct machine m;
    open_machine(&m);
    struct gpu gpu = sample(&m, 0);
    assert_int_equal(gpu.temp_mdegc.value, 40000);
    assert_int_equal(gpu.power_mw.state, READING_UNSUPPORTED);
    fault_read("card0/temperature", EACCES);
    gpu = sample(&m, 0);
    assert_int_equal(gpu.temp_mdegc.state, READING_DENIED);
    assert_int_equal(gpu.state, GPU_OK);
    close_machine(&m);
}

static void reasons_of_the_driver_become_those_of_the_model(void **state)
{
    (void)state;
    struct machine m;
    open_machine(&m);
    assert_int_equal(sample(&m, 0).throttle_bits.value, 0);
    fake_skeleton_set(&m.tree, 0, "throttle", "power heat");
    assert_int_equal(sample(&m, 0).throttle_bits.value, THROTTLE_POWER_CAP | THROTTLE_HW_THERMAL);
    fake_skeleton_set(&m.tree, 0, "throttle", "moon");
    assert_int_equal(sample(&m, 0).throttle_bits.value, THROTTLE_OTHER);
    close_machine(&m);
}

static void a_lost_card_keeps_its_place_and_a_new_one_is_noticed(void **state)
{
    (void)state;
    struct machine m;
    open_machine(&m);
    fake_skeleton_remove(&m.tree, 1);
    assert_false(skeleton_source.changed(m.source));
    assert_int_equal(skeleton_source.list(m.source, m.ids, ARRAY_LEN(m.ids)), 2);
    assert_int_equal(sample(&m, 1).state, GPU_LOST);
    fake_skeleton_add(&m.tree, 1, "SKELETON-B", "0000:02:00.0");
    fake_skeleton_add(&m.tree, 2, "SKELETON-C", "0000:03:00.0");
    assert_int_equal(sample(&m, 1).state, GPU_OK);
    assert_true(skeleton_source.changed(m.source));
    assert_int_equal(skeleton_source.list(m.source, m.ids, ARRAY_LEN(m.ids)), 3);
    assert_string_equal(m.ids[2].uuid, "SKELETON-C");
    assert_string_equal(m.ids[2].vendor, "skeleton");
    close_machine(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_the_recorded_card_as_its_files_say),
        TEST(a_host_without_cards_says_so),
        TEST(a_value_that_is_not_there_is_absent_and_not_zero),
        TEST(reasons_of_the_driver_become_those_of_the_model),
        TEST(a_lost_card_keeps_its_place_and_a_new_one_is_noticed),
    };
    return RUN_TESTS(tests);
}
