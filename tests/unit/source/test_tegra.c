/* SPDX-License-Identifier: Apache-2.0
 * The GPU of a Jetson by the kernel's files.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "source/source.h"
#include "source/tegra/tegra.h"
#include "test.h"
#include "tree.h"

static void reads_every_board_as_its_files_say(void **state)
{
    (void)state;
    static const char *const machines[] = {"jetson-xavier-nx", "jetson-nano-idle"};
    for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
        struct tree t;
        char golden[PATH_SIZE];
        tree_machine(&t, machines[i]);
        AUTO_FREE char *text = source_write(&tegra_source, &t.env);
        snprintf(golden, sizeof golden, "tegra-%s.txt", machines[i]);
        assert_golden(golden, text);
        tree_done(&t);
    }
}

static struct gpu sample(struct tree *t)
{
    struct source *source = NULL;
    struct error err = {0};
    struct gpu gpu = {0};
    assert_int_equal(tegra_source.open(&t->env, "", &source, &err), 0);
    tegra_source.sample(source, 0, GROUP_ALL, &gpu);
    tegra_source.close(source);
    return gpu;
}

static void a_gated_gpu_is_asleep_and_its_load_is_not_read(void **state)
{
    (void)state;
    struct tree t;
    tree_machine(&t, "jetson-xavier-nx");
    tree_write(&t, "/sys/class/devfreq/17000000.gv11b/device/power/runtime_status", "suspended\n");
    watch_opens();
    struct gpu gpu = sample(&t);
    assert_int_equal(gpu.state, GPU_ASLEEP);
    assert_int_equal(opened("device/load"), 0);
    assert_int_equal(opened("cur_freq"), 0);
    fault_clear();
    tree_done(&t);
}

static void what_is_missing_or_odd_is_absent(void **state)
{
    (void)state;
    struct tree t;
    tree_machine(&t, "jetson-nano-idle");
    tree_remove(&t, "/sys/bus/iio");
    tree_remove(&t, "/sys/devices/pwm-fan");
    tree_write(&t, "/sys/class/thermal/thermal_zone2/temp", "");
    tree_write(&t, "/sys/class/devfreq/57000000.gpu/device/load", "many\n");
    struct gpu gpu = sample(&t);
    assert_int_equal(gpu.state, GPU_OK);
    assert_int_not_equal(gpu.util_permille.state, READING_OK);
    assert_int_not_equal(gpu.temp_mdegc.state, READING_OK);
    assert_int_equal(gpu.power_mw.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.fan_permille.state, READING_UNSUPPORTED);
    gpu_done(&gpu);
    /* An idle rail can seem to give current back. */
    tree_write(&t, "/sys/class/hwmon/hwmon0/name", "ina3221\n");
    tree_write(&t, "/sys/class/hwmon/hwmon0/in1_label", "VDD_GPU\n");
    tree_write(&t, "/sys/class/hwmon/hwmon0/in1_input", "5000\n");
    tree_write(&t, "/sys/class/hwmon/hwmon0/curr1_input", "-8\n");
    gpu = sample(&t);
    assert_int_equal(gpu.power_mw.state, READING_UNSUPPORTED);
    gpu_done(&gpu);
    tree_write(&t, "/sys/class/hwmon/hwmon0/curr1_input", "400\n");
    gpu = sample(&t);
    assert_int_equal(gpu.power_mw.value, 2000);
    gpu_done(&gpu);
    tree_done(&t);
}

static void gpus_of_other_makers_are_left_alone(void **state)
{
    (void)state;
    struct tree t;
    struct source *source = NULL;
    struct error err = {0};
    tree_machine(&t, "rk3588-panthor");
    assert_int_equal(tegra_source.open(&t.env, "", &source, &err), -ENODEV);
    assert_int_equal(tegra_source.open(&t.env, "all", &source, &err), -EINVAL);
    tree_done(&t);
}

static void lines_that_are_none_are_not_read(void **state)
{
    (void)state;
    int32_t pid;
    int64_t bytes;
    char release[GPU_TEXT_SIZE] = "kept";
    assert_true(tegra_client_parse(STR("user   python3   6120   12K"), &pid, &bytes));
    assert_int_equal(pid, 6120);
    assert_int_equal(bytes, 12 * 1024);
    static const char *const bad[] = {"",
                                      "total 12K",
                                      "user python3 6120",
                                      "user python3 -1 12K",
                                      "user a b K",
                                      "user a 99999999999 1K",
                                      "user a 1 9223372036854775807K",
                                      "user a 1 -5K",
                                      "user a 1 12M"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(tegra_client_parse(str_from(bad[i]), &pid, &bytes));
    assert_false(tegra_release_parse(STR("# Rolling release"), release));
    assert_false(tegra_release_parse(STR("# R35 (release)"), release));
    assert_string_equal(release, "kept");
    assert_true(tegra_release_parse(STR("# R36 (release), REVISION: 4.3, GCID: 38968081"), release));
    assert_string_equal(release, "L4T 36.4.3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_every_board_as_its_files_say), TEST(a_gated_gpu_is_asleep_and_its_load_is_not_read),
        TEST(what_is_missing_or_odd_is_absent),   TEST(gpus_of_other_makers_are_left_alone),
        TEST(lines_that_are_none_are_not_read),
    };
    return RUN_TESTS(tests);
}
