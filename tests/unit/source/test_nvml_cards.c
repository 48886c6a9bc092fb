/* SPDX-License-Identifier: Apache-2.0
 * Cards that come, go, fail and sleep; what opens and what does not; what NVIDIA_VISIBLE_DEVICES shows.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "fake_nvml.h"

static struct fake_machine m;

static const char two[] = "gpu A\n pci 0000:01:00.0\ngpu B\n pci 0000:02:00.0\n";
static const char three[] = "gpu A\ngpu B\ngpu C\n";

static void opened(const char *script)
{
    fake_machine_init(&m, "", script);
    assert_int_equal(fake_machine_open(&m), 0);
}

static enum gpu_state state_of(size_t gpu)
{
    struct gpu g = fake_machine_sample(&m, gpu, GROUP_QUICK);
    enum gpu_state state = g.state;
    gpu_done(&g);
    return state;
}

/* Opening */

static void says_why_it_does_not_open(void **state)
{
    (void)state;
    static const struct {
        const char *script, *words, *hint;
    } cases[] = {
        {"fail nvmlInit_v2 9\n", "Driver Not Loaded", "not loaded"},
        {"fail nvmlInit_v2 18\n", "Driver/library version mismatch", "different versions"},
        {"fail nvmlInit_v2 4\n", "Insufficient Permissions", "/dev/nvidiactl"},
        {"fail nvmlInit_v2 999\n", "Unknown Error", "NVML"},
        {"driver 1\n", "no GPU", "NVIDIA"},
        {"fail nvmlDeviceGetCount_v2 999\ngpu X\n", "Unknown Error", "count"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fake_machine_init(&m, "", cases[i].script);
        assert_int_equal(fake_machine_open(&m), -ENODEV);
        assert_non_null(strstr(m.err.text, cases[i].words));
        assert_non_null(strstr(m.err.text, cases[i].hint));
        fake_machine_done(&m);
    }
}

static void a_missing_or_foreign_library_is_told(void **state)
{
    (void)state;
    fake_machine_init(&m, "", two);
    m.env.nvml_library = "libnvidia-ml-that-is-not-there.so.1";
    assert_int_equal(fake_machine_open(&m), -ENODEV);
    assert_non_null(strstr(m.err.text, "libnvidia-ml-that-is-not-there.so.1"));
    m.env.nvml_library = on_linux() ? "libm.so.6" : "kernel32.dll"; /* a library of the system */
    assert_int_equal(fake_machine_open(&m), -ENODEV);
    assert_non_null(strstr(m.err.text, "not NVIDIA's"));
    fake_machine_done(&m);
}

/* Losing */

static void a_lost_card_does_not_touch_the_others(void **state)
{
    (void)state;
    opened(three);
    assert_int_equal(state_of(1), GPU_OK);
    m.script("gpu A\ngpu B\n gone 1\ngpu C\n temperature 77\n");
    struct gpu lost = fake_machine_sample(&m, 1, GROUP_QUICK), other = fake_machine_sample(&m, 2, GROUP_QUICK);
    assert_int_equal(lost.state, GPU_LOST);
    assert_string_equal(lost.error_message, "GPU is lost");
    assert_absent(lost.temp_mdegc, READING_FAILED);
    assert_int_equal(other.state, GPU_OK);
    assert_reading(other.temp_mdegc, 77000); /* by its address, though indexes moved */
    assert_string_equal(other.id.name, "C");
    struct gpu_id ids[4];
    assert_int_equal(nvml_source.list(m.source, ids, 4), 3);
    assert_string_equal(ids[1].name, "B");
    gpu_done(&lost);
    gpu_done(&other);
    fake_machine_done(&m);
}

static void a_lost_card_is_tried_every_five_seconds_and_comes_back(void **state)
{
    (void)state;
    opened(two);
    m.script("gpu A\ngpu B\n gone 1\n");
    assert_int_equal(state_of(1), GPU_LOST);
    m.reset_calls();
    assert_int_equal(state_of(1), GPU_LOST);
    assert_int_equal(m.calls("nvmlDeviceGetTemperature") + m.calls("nvmlDeviceGetHandleByPciBusId_v2"), 0);
    m.script(two);
    assert_int_equal(state_of(1), GPU_LOST);
    clock_manual_advance_ms(&m.clock, 5000);
    assert_int_equal(state_of(1), GPU_OK);
    fake_machine_done(&m);
}

static void a_card_without_an_address_is_found_again_by_its_uuid(void **state)
{
    (void)state;
    static const char without[] = "gpu A\n pci none\ngpu B\n pci none\n temperature 66\n";
    opened(without);
    assert_int_equal(state_of(1), GPU_OK);
    m.script("gpu A\n pci none\ngpu B\n pci none\n gone 1\n");
    assert_int_equal(state_of(1), GPU_LOST);
    m.script(without);
    clock_manual_advance_ms(&m.clock, 5000);
    struct gpu back = fake_machine_sample(&m, 1, GROUP_QUICK);
    assert_int_equal(back.state, GPU_OK);
    assert_string_equal(back.id.name, "B");
    assert_reading(back.temp_mdegc, 66000);
    gpu_done(&back);
    fake_machine_done(&m);
}

static void a_card_that_needs_a_reset_says_so(void **state)
{
    (void)state;
    opened("gpu A\n fail nvmlDeviceGetTemperature 16\ngpu B\n");
    struct gpu g = fake_machine_sample(&m, 0, GROUP_ALL);
    assert_int_equal(g.state, GPU_ERROR);
    assert_string_equal(g.error_message, "GPU requires restart");
    assert_absent(g.util_permille, READING_FAILED); /* also what was read before it failed */
    gpu_done(&g);
    assert_int_equal(state_of(1), GPU_OK);
    fake_machine_done(&m);
}

static void a_card_that_answers_nothing_is_in_error(void **state)
{
    (void)state;
    opened("gpu A\ngpu B\n");
    m.script("gpu A\n fail * 999\ngpu B\n");
    struct gpu g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_int_equal(g.state, GPU_ERROR);
    assert_string_equal(g.error_message, "Unknown Error");
    gpu_done(&g);
    assert_int_equal(state_of(1), GPU_OK);
    m.script(two);
    assert_int_equal(state_of(0), GPU_OK);
    fake_machine_done(&m);
}

static void one_failing_call_is_one_failed_reading(void **state)
{
    (void)state;
    opened("fail nvmlDeviceGetPowerUsage 999\ngpu A\n");
    struct gpu g = fake_machine_sample(&m, 0, GROUP_FAST);
    assert_int_equal(g.state, GPU_OK);
    assert_absent(g.power_mw, READING_FAILED);
    assert_reading(g.temp_mdegc, 45000);
    gpu_done(&g);
    m.script("gpu A\n");
    g = fake_machine_sample(&m, 0, GROUP_FAST);
    assert_reading(g.power_mw, 60000); /* a failure is asked again, a refusal is not */
    gpu_done(&g);
    fake_machine_done(&m);
}

/* Opens, and samples both cards twice; what it says when it does not open. */
static int live_a_little(const char *script)
{
    fake_machine_init(&m, "", script);
    int rc = fake_machine_open(&m);
    for (size_t i = 0; rc == 0 && i < 4; i++) {
        struct gpu g = {0};
        clock_manual_advance_ms(&m.clock, 1000);
        nvml_source.refresh(m.source, GROUP_ALL, &m.err);
        nvml_source.sample(m.source, i % 2, GROUP_ALL, &g);
        gpu_done(&g);
    }
    return rc;
}

static void each_call_of_the_driver_fails_in_turn_and_all_is_well_again(void **state)
{
    (void)state;
    static const char cards[] =
        "gpu A\n profile h200\n process 1 compute 500\n gpm 1\n event xid 31\ngpu B\n mig 1\n instance 1g.18gb 1 0 16384 100\n";
    static const int codes[] = {999, 15, 16, 4}; /* unknown, lost, needs a reset, not permitted */
    assert_int_equal(live_a_little(cards), 0);
    unsigned long calls = m.calls(NULL);
    fake_machine_done(&m);
    assert_true(calls > 100);
    for (unsigned long n = 1; n <= calls; n++) {
        char script[512];
        snprintf(script, sizeof script, "fail %lu %d\n%s", n, codes[n % ARRAY_LEN(codes)], cards);
        if (live_a_little(script) < 0) {
            assert_true(m.err.text[0]);
        } else {
            m.script(cards);
            for (size_t i = 0; i < 2; i++) {
                clock_manual_advance_ms(&m.clock, 30000);
                struct gpu g = fake_machine_sample(&m, i, GROUP_ALL);
                if (g.state != GPU_OK || g.temp_mdegc.state != READING_OK || g.mem_used_bytes.state != READING_OK)
                    fail_msg("after call %lu of %lu failed with %d, GPU %zu is in state %d", n, calls, codes[n % ARRAY_LEN(codes)],
                             i, g.state);
                gpu_done(&g);
            }
        }
        fake_machine_done(&m);
    }
}

static void a_card_without_a_handle_is_listed_by_its_address(void **state)
{
    (void)state;
    fake_machine_init(&m, "", "gpu A\n pci 0000:01:00.0\ngpu B\n pci 0000:02:00.0\n fail nvmlDeviceGetHandleByIndex_v2 15\n");
    for (int i = 1; i <= 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/bus/pci/drivers/nvidia/0000:0%d:00.0/x", i);
        fake_machine_file(&m, path, "");
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:0%d:00.0/vendor", i);
        fake_machine_file(&m, path, "0x10de\n");
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:0%d:00.0/class", i);
        fake_machine_file(&m, path, "0x030200\n");
    }
    fake_machine_file(&m, "/proc/driver/nvidia/gpus/0000:02:00.0/information",
                      "Model: \t\t NVIDIA B\nIRQ:   \t\t 51\nGPU UUID: \t GPU-00000001-1111-2222-3333-444444444444\n");
    assert_int_equal(fake_machine_open(&m), 0);
    struct gpu_id ids[4];
    assert_int_equal(nvml_source.list(m.source, ids, 4), 2);
    assert_string_equal(ids[1].pci_address, "0000:02:00.0");
    assert_string_equal(ids[1].name, "NVIDIA B");
    assert_string_equal(ids[1].uuid, "GPU-00000001-1111-2222-3333-444444444444");
    assert_int_equal(state_of(0), GPU_OK);
    assert_int_equal(state_of(1), GPU_LOST);
    fake_machine_done(&m);
}

static void a_library_that_forgot_it_was_started_is_started_again(void **state)
{
    (void)state;
    opened(two);
    m.script("fail nvmlDeviceGetTemperature 1\ngpu A\n pci 0000:01:00.0\ngpu B\n pci 0000:02:00.0\n");
    assert_int_equal(state_of(0), GPU_ERROR);
    m.script(two);
    assert_int_equal(state_of(0), GPU_OK);
    assert_int_equal(m.calls("nvmlInit_v2"), 2);
    /* The fake was in fact never closed in between: balance its account. */
    int (*shutdown)(void);
    *(void **)&shutdown = fake_machine_symbol(&m, "nvmlShutdown");
    shutdown();
    fake_machine_done(&m);
}

/* Sleeping */

static void put_card(int bus, const char *status, const char *control)
{
    static const struct {
        const char *file, *text;
    } always[] = {{"vendor", "0x10de\n"}, {"class", "0x030000\n"}, {"device", "0x2684\n"}};
    char path[128];
    for (size_t i = 0; i < ARRAY_LEN(always); i++) {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/%s", bus, always[i].file);
        fake_machine_file(&m, path, always[i].text);
    }
    snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/power/runtime_status", bus);
    fake_machine_file(&m, path, status);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/power/control", bus);
    fake_machine_file(&m, path, control);
}

static void sleeping_cards_are_listed_without_a_single_call(void **state)
{
    (void)state;
    fake_machine_init(&m, "", two);
    put_card(1, "suspended\n", "auto\n");
    put_card(2, "suspended\n", "auto\n");
    fake_machine_file(&m, "/sys/module/nvidia/version", "580.159.04\n");
    fake_machine_file(&m, "/sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n");
    fake_machine_file(&m, "/sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
    fake_machine_file(&m, "/proc/driver/nvidia/gpus/0000:01:00.0/information",
                      "Model: \t\t NVIDIA RTX 4070 Laptop\nGPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?\n");
    assert_int_equal(fake_machine_open(&m), 0);
    struct gpu_id ids[4];
    assert_int_equal(nvml_source.list(m.source, ids, 4), 2);
    assert_string_equal(ids[0].pci_address, "0000:01:00.0");
    assert_string_equal(ids[0].name, "NVIDIA RTX 4070 Laptop");
    assert_string_equal(ids[0].uuid, "");
    assert_string_equal(ids[1].name, "NVIDIA GPU 10de:2684");
    struct driver_info driver = {0};
    nvml_source.driver(m.source, &driver);
    assert_string_equal(driver.driver_version, "580.159.04"); /* the kernel tells that one */
    assert_string_equal(driver.nvml_version, "");
    struct gpu g = fake_machine_sample(&m, 0, GROUP_ALL);
    assert_int_equal(g.state, GPU_ASLEEP);
    assert_absent(g.power_mw, READING_ASLEEP);
    assert_int_equal(m.calls(NULL), 0);
    fake_machine_done(&m);
}

static void a_card_that_wakes_is_opened_and_gets_its_name(void **state)
{
    (void)state;
    fake_machine_init(&m, "", two);
    put_card(1, "suspended\n", "auto\n");
    put_card(2, "suspended\n", "auto\n");
    assert_int_equal(fake_machine_open(&m), 0);
    assert_int_equal(state_of(0), GPU_ASLEEP);
    put_card(2, "active\n", "auto\n");
    assert_int_equal(state_of(1), GPU_OK);
    assert_int_equal(state_of(0), GPU_ASLEEP);
    assert_int_equal(m.calls("nvmlDeviceGetHandleByPciBusId_v2"), 1); /* the other was not opened */
    assert_true(nvml_source.changed(m.source));
    struct gpu_id ids[4];
    assert_int_equal(nvml_source.list(m.source, ids, 4), 2);
    assert_string_equal(ids[1].name, "B");
    struct driver_info driver = {0};
    nvml_source.driver(m.source, &driver);
    assert_string_equal(driver.nvml_version, "13.580.159");
    assert_false(nvml_source.changed(m.source));
    fake_machine_done(&m);
}

static void the_library_is_closed_while_all_cards_sleep(void **state)
{
    (void)state;
    fake_machine_init(&m, "", "gpu A\n pci 0000:01:00.0\n profile h200\n");
    put_card(1, "active\n", "auto\n");
    assert_int_equal(fake_machine_open(&m), 0);
    struct gpu g = fake_machine_sample(&m, 0, GROUP_ALL);
    assert_int_equal(g.state, GPU_OK);
    gpu_done(&g);
    put_card(1, "suspended\n", "auto\n");
    assert_int_equal(state_of(0), GPU_ASLEEP);
    assert_int_equal(m.open_count(), 0);
    m.reset_calls();
    assert_int_equal(state_of(0), GPU_ASLEEP);
    assert_int_equal(m.calls(NULL), 0);
    put_card(1, "active\n", "auto\n");
    assert_int_equal(state_of(0), GPU_OK);
    assert_int_equal(m.open_count(), 1);
    fake_machine_done(&m);
}

static void sampled_for(int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += 1000) {
        state_of(0);
        clock_manual_advance_ms(&m.clock, 1000);
    }
}

static void an_idle_card_that_may_sleep_is_left_alone(void **state)
{
    (void)state;
    fake_machine_init(&m, "", "gpu A\n pci 0000:01:00.0\n process 9 graphics 4\n");
    put_card(1, "active\n", "auto\n");
    assert_int_equal(fake_machine_open(&m), 0);
    sampled_for(31000);
    m.reset_calls();
    struct gpu g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_int_equal(g.state, GPU_ASLEEP);
    assert_non_null(strstr(g.error_message, "left alone"));
    gpu_done(&g);
    assert_int_equal(m.open_count(), 0);
    put_card(1, "suspended\n", "auto\n");
    g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_int_equal(g.state, GPU_ASLEEP);
    assert_string_equal(g.error_message, "");
    gpu_done(&g);
    fake_machine_done(&m);
}

static void a_card_that_does_not_fall_asleep_is_watched_again(void **state)
{
    (void)state;
    fake_machine_init(&m, "", "gpu A\n pci 0000:01:00.0\n");
    put_card(1, "active\n", "auto\n");
    assert_int_equal(fake_machine_open(&m), 0);
    sampled_for(32000);
    assert_int_equal(state_of(0), GPU_ASLEEP);
    clock_manual_advance_ms(&m.clock, 15000);
    assert_int_equal(state_of(0), GPU_OK);
    sampled_for(45000); /* idle again, but the next rest comes later */
    assert_int_equal(state_of(0), GPU_OK);
    sampled_for(20000);
    assert_int_equal(state_of(0), GPU_ASLEEP);
    fake_machine_done(&m);
}

static void a_busy_or_always_powered_card_is_never_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *script, *control;
    } cases[] = {
        {"gpu A\n pci 0000:01:00.0\n gpu_util 3\n", "auto\n"},
        {"gpu A\n pci 0000:01:00.0\n process 9 compute 4\n", "auto\n"},
        {"gpu A\n pci 0000:01:00.0\n", "on\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fake_machine_init(&m, "", cases[i].script);
        put_card(1, "active\n", cases[i].control);
        assert_int_equal(fake_machine_open(&m), 0);
        sampled_for(60000);
        assert_int_equal(state_of(0), GPU_OK);
        fake_machine_done(&m);
    }
}

static void a_card_that_is_plugged_in_is_appended(void **state)
{
    (void)state;
    fake_machine_init(&m, "", two);
    put_card(2, "active\n", "on\n");
    m.script("gpu B\n pci 0000:02:00.0\n");
    assert_int_equal(fake_machine_open(&m), 0);
    struct gpu g = fake_machine_sample(&m, 0, GROUP_ALL);
    gpu_done(&g);
    m.script(two);
    put_card(1, "active\n", "on\n");
    put_card(3, "active\n", "on\n"); /* the host's: NVML does not know it */
    for (int i = 0; i < 2; i++) {
        g = fake_machine_sample(&m, 0, GROUP_SLOW);
        assert_int_equal(g.state, GPU_OK);
        gpu_done(&g);
    }
    assert_true(nvml_source.changed(m.source));
    struct gpu_id ids[4];
    assert_int_equal(nvml_source.list(m.source, ids, 4), 2);
    assert_string_equal(ids[0].name, "B");
    assert_string_equal(ids[1].name, "A");
    assert_int_equal(state_of(1), GPU_OK);
    fake_machine_done(&m);
}

/* Showing */

static void shows_what_the_environment_allows(void **state)
{
    (void)state;
    static const struct {
        const char *visible, *shown;
    } cases[] = {
        {NULL, "ABC"},
        {"all", "ABC"},
        {"none", ""},
        {"void", "ABC"}, /* a CDI specification has chosen */
        {"", ""},
        {"0", "A"},
        {"2,0", "AC"},
        {" 1 ", "B"},
        {"GPU-00000001-1111-2222-3333-444444444444", "B"},
        {"GPU-00000002", "C"},
        {"GPU-00000002,0", "AC"},
        {"GPU-0000", ""}, /* begins all of them: names none, as in NVIDIA's own tools */
        {"GPU-0000,1", "B"},
        {"GPU-0000,GPU-00000002", "C"},
        {"7", ""},
        {"3,4,5", "ABC"}, /* the host's numbers of the three cards in this container */
        {"GPU-ffffffff-1111-2222-3333-444444444444", ""},
        {"/var/run/nvidia-container-devices", "ABC"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fake_machine_init(&m, "", three);
        m.env.visible_devices = cases[i].visible;
        assert_int_equal(fake_machine_open(&m), 0);
        struct gpu_id ids[4];
        char shown[8] = "";
        int count = nvml_source.list(m.source, ids, 4);
        for (int k = 0; k < count; k++)
            strcat(shown, ids[k].name);
        assert_string_equal(shown, cases[i].shown);
        if (cases[i].shown[0])
            assert_int_equal(state_of(0), GPU_OK);
        fake_machine_done(&m);
    }
}

static void told_to_show_nothing_it_touches_nothing(void **state)
{
    (void)state;
    fake_machine_init(&m, "", three);
    m.env.visible_devices = "none";
    assert_int_equal(fake_machine_open(&m), 0);
    assert_int_equal(nvml_source.refresh(m.source, GROUP_ALL, &m.err), 0);
    assert_int_equal(m.calls(NULL), 0);
    fake_machine_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(says_why_it_does_not_open),
        TEST(a_missing_or_foreign_library_is_told),
        TEST(a_lost_card_does_not_touch_the_others),
        TEST(a_lost_card_is_tried_every_five_seconds_and_comes_back),
        TEST(a_card_without_an_address_is_found_again_by_its_uuid),
        TEST(a_card_that_needs_a_reset_says_so),
        TEST(a_card_that_answers_nothing_is_in_error),
        TEST(one_failing_call_is_one_failed_reading),
        TEST(each_call_of_the_driver_fails_in_turn_and_all_is_well_again),
        TEST(a_card_without_a_handle_is_listed_by_its_address),
        TEST(a_library_that_forgot_it_was_started_is_started_again),
        TEST(sleeping_cards_are_listed_without_a_single_call),
        TEST(a_card_that_wakes_is_opened_and_gets_its_name),
        TEST(the_library_is_closed_while_all_cards_sleep),
        TEST(an_idle_card_that_may_sleep_is_left_alone),
        TEST(a_card_that_does_not_fall_asleep_is_watched_again),
        TEST(a_busy_or_always_powered_card_is_never_left_alone),
        TEST(a_card_that_is_plugged_in_is_appended),
        TEST(shows_what_the_environment_allows),
        TEST(told_to_show_nothing_it_touches_nothing),
    };
    return RUN_TESTS(tests);
}
