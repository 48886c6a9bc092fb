/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source_control.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "fake_nvml.h"
#include "test.h"
#include "tree.h"

#define VALUE(number) ((struct control_value){.low = (number), .high = (number)})
static const struct control_value stock = {.stock = true};

static int parse(enum control_kind kind, const struct control_gpu *gpu, const char *text, struct control_value *v,
                 struct error *err)
{
    struct control_state s;
    *err = (struct error){0};
    int rc = control_look(gpu, kind, &s, err);
    return rc < 0 ? rc : control_parse(kind, text, &s, v, err);
}

static int set(enum control_kind kind, const struct control_gpu *gpu, const char *text)
{
    struct control_value v;
    struct error err = {0};
    int rc = parse(kind, gpu, text, &v, &err);
    return rc < 0 ? rc : control_write(gpu, kind, v, &err);
}

/* What is requested now. */
static struct control_value now(enum control_kind kind, const struct control_gpu *gpu)
{
    struct control_state s;
    struct error err = {0};
    assert_int_equal(control_look(gpu, kind, &s, &err), 0);
    assert_true(s.now_known);
    return s.now;
}

static int why(enum control_kind kind, const struct control_gpu *gpu, const char *words)
{
    struct control_state s;
    struct error err = {0};
    int rc = control_look(gpu, kind, &s, &err);
    if (!strstr(err.text, words))
        fail_msg("'%s' is not in '%s'", words, err.text);
    return rc;
}

/* ---- NVIDIA ---- */

struct nvidia {
    struct fake_machine machine;
    struct control_set set;
    const struct control_gpu *gpu;
    void (*forget)(void);
};

static void open_fake(struct nvidia *n, const char *release, const char *script)
{
    fake_machine_init(&n->machine, release, script);
    assert_int_equal(control_open(&n->machine.env, &n->set, &n->machine.err), 0);
    n->gpu = &n->set.gpus[0];
    *(void **)&n->forget = fake_machine_symbol(&n->machine, "fake_nvml_forget_settings");
    n->forget();
}

static void close_fake(struct nvidia *n)
{
    control_close(&n->set);
    fake_machine_done(&n->machine);
}

static void a_limit_is_set_in_watts_in_percent_of_stock_and_back(void **state)
{
    (void)state;
    struct nvidia n;
    open_fake(&n, "", "gpu NVIDIA GeForce RTX 4090\n");
    assert_int_equal(now(CONTROL_POWER, n.gpu).low, 450000);
    assert_int_equal(set(CONTROL_POWER, n.gpu, "330W"), 0);
    assert_int_equal(now(CONTROL_POWER, n.gpu).low, 330000);
    assert_int_equal(set(CONTROL_POWER, n.gpu, "75%"), 0);
    assert_int_equal(now(CONTROL_POWER, n.gpu).low, 337000);
    assert_int_equal(set(CONTROL_POWER, n.gpu, "stock"), 0);
    assert_int_equal(now(CONTROL_POWER, n.gpu).low, 450000);
    close_fake(&n);
}

static void what_the_gpu_does_not_take_is_refused_with_its_range(void **state)
{
    (void)state;
    struct nvidia n;
    struct control_value v;
    struct error err = {0};
    open_fake(&n, "", "gpu NVIDIA GeForce RTX 4090\n");
    assert_int_equal(parse(CONTROL_POWER, n.gpu, "100", &v, &err), -ERANGE);
    assert_string_equal(err.text, "a power limit of 100 W is outside of what this GPU takes: 150 W to 600 W");
    assert_int_equal(parse(CONTROL_POWER, n.gpu, "601W", &v, &err), -ERANGE);
    assert_int_equal(parse(CONTROL_CLOCKS, n.gpu, "100-1800", &v, &err), -ERANGE);
    assert_int_equal(parse(CONTROL_CLOCKS, n.gpu, "1800-1400", &v, &err), -ERANGE);
    assert_int_equal(parse(CONTROL_FAN, n.gpu, "10%", &v, &err), -ERANGE);
    static const char *const wrong[] = {"", "0", "-5", "-5W", "W", "nan", "1e9", "330 A", "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        for (int kind = 0; kind <= CONTROL_FAN; kind++)
            assert_true(parse((enum control_kind)kind, n.gpu, wrong[i], &v, &err) < 0);
    /* Also where a caller did not ask first. */
    assert_int_equal(control_write(n.gpu, CONTROL_POWER, VALUE(100000), &err), -ERANGE);
    assert_int_equal(control_write(n.gpu, CONTROL_POWER, VALUE(0), &err), -ERANGE);
    assert_int_equal(n.machine.calls("nvmlDeviceSetPowerManagementLimit"), 0);
    close_fake(&n);
}

static void clocks_are_locked_and_unlocked_but_never_read(void **state)
{
    (void)state;
    struct nvidia n;
    struct control_state s;
    open_fake(&n, "", "gpu NVIDIA GeForce RTX 4090\n");
    assert_int_equal(set(CONTROL_CLOCKS, n.gpu, "1400-1800"), 0);
    assert_int_equal(control_look(n.gpu, CONTROL_CLOCKS, &s, &n.machine.err), 0);
    assert_false(s.now_known);
    assert_int_equal(set(CONTROL_CLOCKS, n.gpu, "stock"), 0);
    assert_int_equal(n.machine.calls("nvmlDeviceSetGpuLockedClocks"), 1);
    assert_int_equal(n.machine.calls("nvmlDeviceResetGpuLockedClocks"), 1);
    close_fake(&n);
}

static void every_fan_is_set_and_given_back(void **state)
{
    (void)state;
    struct nvidia n;
    open_fake(&n, "", "gpu NVIDIA GeForce RTX 4090\n  fans 3\n");
    assert_true(now(CONTROL_FAN, n.gpu).stock);
    assert_int_equal(set(CONTROL_FAN, n.gpu, "45%"), 0);
    assert_int_equal(now(CONTROL_FAN, n.gpu).low, 45);
    assert_int_equal(n.machine.calls("nvmlDeviceSetFanSpeed_v2"), 3);
    assert_int_equal(set(CONTROL_FAN, n.gpu, "auto"), 0);
    assert_true(now(CONTROL_FAN, n.gpu).stock);
    assert_int_equal(n.machine.calls("nvmlDeviceSetDefaultFanSpeed_v2"), 3);
    close_fake(&n);
}

static void gpus_that_refuse_are_told_apart_before_anything_is_tried(void **state)
{
    (void)state;
    static const struct {
        const char *script, *words;
        enum control_kind kind;
        int code;
    } cases[] = {
        {"power_limit na\n", "laptops", CONTROL_POWER, -EOPNOTSUPP},
        {"virtualization 2\n", "virtual GPU", CONTROL_POWER, -EOPNOTSUPP},
        {"mig 1\n", "MIG", CONTROL_CLOCKS, -EOPNOTSUPP},
        {"fans 0\n", "no fan of its own", CONTROL_FAN, -EOPNOTSUPP},
        {"architecture 4\n", "Volta", CONTROL_CLOCKS, -EOPNOTSUPP},
        {"target na\n", "cannot be set", CONTROL_ACOUSTIC, -EOPNOTSUPP},
        {"power_min 450000\n  power_max 450000\n", "fixed", CONTROL_POWER, -EOPNOTSUPP},
        {"gone 0\nfail nvmlDeviceGetPowerManagementLimit 15\n", "GPU is lost", CONTROL_POWER, -ENODEV},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct nvidia n;
        char script[256];
        snprintf(script, sizeof script, "gpu NVIDIA GeForce RTX 4090\n  %s", cases[i].script);
        open_fake(&n, "", script);
        assert_int_equal(why(cases[i].kind, n.gpu, cases[i].words), cases[i].code);
        close_fake(&n);
    }
}

static void a_permission_that_was_lost_changes_nothing(void **state)
{
    (void)state;
    struct nvidia n;
    open_fake(&n, "", "gpu NVIDIA GeForce RTX 4090\n  settable 0\n");
    assert_int_equal(set(CONTROL_POWER, n.gpu, "330W"), -EACCES);
    assert_int_equal(set(CONTROL_FAN, n.gpu, "45%"), -EACCES);
    assert_int_equal(now(CONTROL_POWER, n.gpu).low, 450000);
    close_fake(&n);
}

static void what_holds_a_limit_lower_is_seen(void **state)
{
    (void)state;
    struct nvidia n;
    struct control_state s;
    open_fake(&n, "", "gpu NVIDIA H200\n  profile h200\n  power_held 500000\n");
    assert_int_equal(control_look(n.gpu, CONTROL_POWER, &s, &n.machine.err), 0);
    assert_int_equal(s.now.low, 700000);
    assert_reading(s.in_force, 500000);
    close_fake(&n);
}

static void old_drivers_have_what_they_have(void **state)
{
    (void)state;
    static const char *const releases[] = {"-390", "-470", "-510", "-535.43"};
    for (size_t i = 0; i < ARRAY_LEN(releases); i++) {
        struct nvidia n;
        open_fake(&n, releases[i], "gpu NVIDIA GeForce RTX 3090\n");
        assert_int_equal(set(CONTROL_POWER, n.gpu, "330W"), 0);
        assert_int_equal(now(CONTROL_POWER, n.gpu).low, 330000);
        close_fake(&n);
    }
}

/* Every call into the driver fails in turn: it is said, or it is done, never both, never neither. */
static void each_call_of_a_change_fails_in_turn(void **state)
{
    (void)state;
    for (int n_th = 1; n_th < 80; n_th++) {
        struct nvidia n;
        char script[128];
        open_fake(&n, "", "gpu NVIDIA GeForce RTX 4090\n");
        n.machine.reset_calls();
        snprintf(script, sizeof script, "fail %d 999\ngpu NVIDIA GeForce RTX 4090\n", n_th);
        n.machine.script(script);
        int rc = set(CONTROL_POWER, n.gpu, "330W");
        unsigned long made = n.machine.calls(NULL);
        n.machine.script("gpu NVIDIA GeForce RTX 4090\n");
        assert_int_equal(now(CONTROL_POWER, n.gpu).low, rc == 0 ? 330000 : 450000);
        close_fake(&n);
        if (made < (unsigned long)n_th)
            return; /* all of them have failed once */
    }
    fail_msg("a change takes more calls than were tried");
}

/* ---- AMD ---- */

struct files {
    struct tree tree;
    struct control_set set;
    const struct control_gpu *gpu;
};

static void open_files(struct files *f)
{
    struct error err = {0};
    tree_process(&f->tree, 7, "init");
    assert_int_equal(control_open(&f->tree.env, &f->set, &err), 0);
    f->gpu = &f->set.gpus[0];
}

static void close_files(struct files *f)
{
    control_close(&f->set);
    tree_done(&f->tree);
}

static void assert_file(struct files *f, const char *path, const char *want)
{
    char text[256];
    assert_true(file_read_head(&f->tree.env, path, text, sizeof text) >= 0);
    assert_string_equal(text, want);
}

#define AMD_HWMON "hwmon/hwmon2/"
#define AMD_DEVICE "/sys/class/drm/card0/device/"

static void amd_card(struct files *f)
{
    struct tree *t = &f->tree;
    tree_init(t);
    tree_card(t, "card0", "amdgpu", "0000:0a:00.0", "1002:73BF", 128);
    tree_device(t, "card0", AMD_HWMON "power1_cap", "272000000\n");
    tree_device(t, "card0", AMD_HWMON "power1_cap_min", "100000000\n");
    tree_device(t, "card0", AMD_HWMON "power1_cap_max", "312000000\n");
    tree_device(t, "card0", AMD_HWMON "power1_cap_default", "272000000\n");
    tree_device(t, "card0", AMD_HWMON "pwm1_enable", "2\n");
    tree_device(t, "card0", AMD_HWMON "pwm1", "64\n");
    tree_device(t, "card0", "power_dpm_force_performance_level", "auto\n");
}

static void amd_files_are_written_in_their_units(void **state)
{
    (void)state;
    struct files f;
    amd_card(&f);
    open_files(&f);
    assert_int_equal(set(CONTROL_POWER, f.gpu, "200W"), 0);
    assert_file(&f, AMD_DEVICE AMD_HWMON "power1_cap", "200000000");
    assert_int_equal(set(CONTROL_POWER, f.gpu, "stock"), 0);
    assert_file(&f, AMD_DEVICE AMD_HWMON "power1_cap", "272000000");
    assert_int_equal(set(CONTROL_POWER, f.gpu, "99W"), -ERANGE);
    assert_int_equal(set(CONTROL_FAN, f.gpu, "40%"), 0);
    assert_file(&f, AMD_DEVICE AMD_HWMON "pwm1_enable", "1");
    assert_file(&f, AMD_DEVICE AMD_HWMON "pwm1", "102");
    assert_int_equal(now(CONTROL_FAN, f.gpu).low, 40);
    assert_int_equal(set(CONTROL_FAN, f.gpu, "auto"), 0);
    assert_file(&f, AMD_DEVICE AMD_HWMON "pwm1_enable", "2");
    assert_int_equal(set(CONTROL_LEVEL, f.gpu, "low"), 0);
    assert_file(&f, AMD_DEVICE "power_dpm_force_performance_level", "low");
    assert_int_equal(set(CONTROL_LEVEL, f.gpu, "stock"), 0);
    assert_file(&f, AMD_DEVICE "power_dpm_force_performance_level", "auto");
    assert_int_equal(set(CONTROL_LEVEL, f.gpu, "turbo"), -EINVAL);
    close_files(&f);
}

static void amd_chips_of_the_third_generation_have_a_fan_target_instead(void **state)
{
    (void)state;
    struct files f;
    struct control_state s;
    struct control_value v;
    struct error err = {0};
    amd_card(&f);
    tree_device(&f.tree, "card0", "gpu_od/fan_ctrl/fan_curve", "0: 0C 0%\n");
    tree_device(&f.tree, "card0", "gpu_od/fan_ctrl/acoustic_target_rpm_threshold",
                "OD_ACOUSTIC_TARGET:\n1450\nOD_RANGE:\nACOUSTIC_TARGET: 500 3100\n");
    open_files(&f);
    assert_int_equal(why(CONTROL_FAN, f.gpu, "no fixed fan speed"), -EOPNOTSUPP);
    assert_int_equal(control_look(f.gpu, CONTROL_ACOUSTIC, &s, &err), 0);
    assert_int_equal(s.now.low, 1450);
    assert_int_equal(s.most, 3100);
    assert_true(control_quiet(CONTROL_ACOUSTIC, &s, reading_absent(READING_UNREAD), &v));
    assert_int_equal(v.low, 1015);
    assert_int_equal(control_write(f.gpu, CONTROL_ACOUSTIC, v, &err), 0);
    assert_file(&f, AMD_DEVICE "gpu_od/fan_ctrl/acoustic_target_rpm_threshold", "c"); /* the kernel takes that as: commit */
    close_files(&f);
}

static void each_system_call_of_a_change_fails_in_turn(void **state)
{
    (void)state;
    for (size_t n = 1; n < 200; n++) {
        struct files f;
        amd_card(&f);
        open_files(&f);
        fault_call(n, EIO);
        int rc = set(CONTROL_POWER, f.gpu, "200W");
        size_t made = fault_calls();
        fault_clear();
        assert_int_equal(now(CONTROL_POWER, f.gpu).low, rc == 0 ? 200000 : 272000);
        close_files(&f);
        if (made < n)
            return;
    }
    fail_msg("a change takes more calls than were tried");
}

/* ---- Intel ---- */

static void intel_card(struct files *f, const char *driver)
{
    struct tree *t = &f->tree;
    tree_init(t);
    tree_card(t, "card1", driver, "0000:03:00.0", "8086:E20B", 129);
    tree_device(t, "card1", "hwmon/hwmon3/power1_max", "190000000\n");
    tree_device(t, "card1", "hwmon/hwmon3/power1_rated_max", "190000000\n");
    if (strcmp(driver, "xe") == 0) {
        tree_device(t, "card1", "tile0/gt0/freq0/act_freq", "2400\n");
        tree_device(t, "card1", "tile0/gt0/freq0/min_freq", "400\n");
        tree_device(t, "card1", "tile0/gt0/freq0/max_freq", "2850\n");
        tree_device(t, "card1", "tile0/gt0/freq0/rpn_freq", "400\n");
        tree_device(t, "card1", "tile0/gt0/freq0/rp0_freq", "2850\n");
        return;
    }
    tree_write(t, "/sys/class/drm/card1/gt_min_freq_mhz", "300\n");
    tree_write(t, "/sys/class/drm/card1/gt_max_freq_mhz", "2450\n");
    tree_write(t, "/sys/class/drm/card1/gt_RPn_freq_mhz", "300\n");
    tree_write(t, "/sys/class/drm/card1/gt_RP0_freq_mhz", "2450\n");
}

static void intel_files_are_written_and_never_with_zero(void **state)
{
    (void)state;
    static const char *const drivers[] = {"xe", "i915"};
    for (size_t i = 0; i < ARRAY_LEN(drivers); i++) {
        struct files f;
        struct error err = {0};
        intel_card(&f, drivers[i]);
        open_files(&f);
        assert_int_equal(set(CONTROL_POWER, f.gpu, "120W"), 0);
        assert_file(&f, "/sys/class/drm/card1/device/hwmon/hwmon3/power1_max", "120000000");
        assert_int_equal(set(CONTROL_POWER, f.gpu, "0"), -EINVAL);
        assert_int_equal(set(CONTROL_POWER, f.gpu, "0%"), -EINVAL);
        assert_int_equal(control_write(f.gpu, CONTROL_POWER, VALUE(0), &err), -ERANGE);
        assert_int_equal(control_write(f.gpu, CONTROL_POWER, stock, &err), -EOPNOTSUPP);
        assert_int_equal(set(CONTROL_POWER, f.gpu, "stock"), 0);
        assert_file(&f, "/sys/class/drm/card1/device/hwmon/hwmon3/power1_max", "190000000");
        assert_int_equal(set(CONTROL_CLOCKS, f.gpu, "800-1200"), 0);
        assert_int_equal(now(CONTROL_CLOCKS, f.gpu).low, 800);
        assert_int_equal(now(CONTROL_CLOCKS, f.gpu).high, 1200);
        assert_int_equal(set(CONTROL_CLOCKS, f.gpu, "stock"), 0);
        assert_int_equal(now(CONTROL_CLOCKS, f.gpu).high, i == 0 ? 2850 : 2450);
        assert_int_equal(why(CONTROL_FAN, f.gpu, "no fan speed"), -EOPNOTSUPP);
        close_files(&f);
    }
}

static void a_limit_that_is_off_is_left_off(void **state)
{
    (void)state;
    struct files f;
    intel_card(&f, "xe");
    tree_device(&f.tree, "card1", "hwmon/hwmon3/power1_max", "0\n");
    open_files(&f);
    assert_int_equal(why(CONTROL_POWER, f.gpu, "switched off"), -EOPNOTSUPP);
    close_files(&f);
}

/* ---- what quiet means ---- */

static void quiet_is_below_stock_below_the_draw_and_never_above_the_present(void **state)
{
    (void)state;
    struct control_value v;
    struct control_state s = {.now = VALUE(450000),
                              .now_known = true,
                              .exact_stock = true,
                              .stock_value = VALUE(450000),
                              .least = 150000,
                              .most = 600000,
                              .unit = "W"};
    assert_true(control_quiet(CONTROL_POWER, &s, reading_absent(READING_FAILED), &v));
    assert_int_equal(v.low, 315000);
    assert_true(control_quiet(CONTROL_POWER, &s, reading_ok(440000), &v));
    assert_int_equal(v.low, 315000);
    assert_true(control_quiet(CONTROL_POWER, &s, reading_ok(240000), &v));
    assert_int_equal(v.low, 204000);
    s.least = 0;
    assert_true(control_quiet(CONTROL_POWER, &s, reading_ok(40000), &v)); /* idle: what starts later must be able to work */
    assert_int_equal(v.low, 150000);
    s.least = 150000;
    s.now = VALUE(200000);
    assert_false(control_quiet(CONTROL_POWER, &s, reading_ok(200000), &v) && v.low >= 200000);
    s.least = 400000;
    s.now = VALUE(450000);
    assert_true(control_quiet(CONTROL_POWER, &s, reading_ok(440000), &v));
    assert_int_equal(v.low, 400000);
    s.now_known = false;
    assert_false(control_quiet(CONTROL_POWER, &s, reading_ok(440000), &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_limit_is_set_in_watts_in_percent_of_stock_and_back),
        TEST(what_the_gpu_does_not_take_is_refused_with_its_range),
        TEST(clocks_are_locked_and_unlocked_but_never_read),
        TEST(every_fan_is_set_and_given_back),
        TEST(gpus_that_refuse_are_told_apart_before_anything_is_tried),
        TEST(a_permission_that_was_lost_changes_nothing),
        TEST(what_holds_a_limit_lower_is_seen),
        TEST(old_drivers_have_what_they_have),
        TEST(each_call_of_a_change_fails_in_turn),
        TEST(amd_files_are_written_in_their_units),
        TEST(amd_chips_of_the_third_generation_have_a_fan_target_instead),
        TEST(each_system_call_of_a_change_fails_in_turn),
        TEST(intel_files_are_written_and_never_with_zero),
        TEST(a_limit_that_is_off_is_left_off),
        TEST(quiet_is_below_stock_below_the_draw_and_never_above_the_present),
    };
    return RUN_TESTS(tests);
}
