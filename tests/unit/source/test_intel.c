/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "source/intel/intel.h"
#include "test.h"
#include "tree.h"

static void reads_every_recorded_card_as_its_files_say(void **state)
{
    (void)state;
    static const char *const machines[] = {"arc-a380-i915",  "arc-a380-xe",  "arc-b580-xe",  "arc-b580-xe-limits",
                                           "cometlake-i915", "lunarlake-xe", "tigerlake-xe", "vega10-procfs"};
    for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
        struct tree t;
        char name[PATH_SIZE];
        tree_machine(&t, machines[i]);
        AUTO_FREE char *text = source_write(&intel_source, &t.env);
        snprintf(name, sizeof name, "intel-%s.txt", machines[i]);
        assert_golden(name, text);
        tree_done(&t);
    }
    static const char *const trees[] = {"intel/arc-a380-i915", "intel/arc-a380-xe", "intel/cometlake-i915", "amd/vega10-procfs"};
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        struct tree t;
        char name[PATH_SIZE];
        if (!tree_recorded(&t, trees[i]))
            continue;
        AUTO_FREE char *text = source_write(&intel_source, &t.env);
        snprintf(name, sizeof name, "intel-%s.txt", strrchr(trees[i], '/') + 1);
        assert_golden(name, text);
    }
}

struct machine {
    struct tree tree;
    struct source *source;
    struct gpu gpu;
};

static void open_machine(struct machine *m)
{
    struct error err = {0};
    struct gpu_id ids[4];
    assert_int_equal(intel_source.open(&m->tree.env, "", &m->source, &err), 0);
    assert_true(intel_source.list(m->source, ids, ARRAY_LEN(ids)) > 0);
}

static void sample(struct machine *m, int64_t later_ms)
{
    clock_manual_advance_ms(&m->tree.clock, later_ms);
    gpu_done(&m->gpu);
    m->gpu = (struct gpu){0};
    intel_source.refresh(m->source, GROUP_ALL, NULL);
    intel_source.sample(m->source, 0, GROUP_ALL, &m->gpu);
}

static int setup(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    tree_init(&m->tree);
    *state = m;
    return 0;
}

static int teardown(void **state)
{
    struct machine *m = *state;
    intel_source.close(m->source);
    gpu_done(&m->gpu);
    tree_done(&m->tree);
    free(m);
    return 0;
}

static void xe_card(struct machine *m)
{
    struct tree *t = &m->tree;
    tree_card(t, "card1", "xe", "0000:03:00.0", "8086:E20B", 129);
    tree_device(t, "card1", "tile0/gt0/freq0/act_freq", "2400\n");
    tree_device(t, "card1", "tile0/gt0/freq0/rp0_freq", "2850\n");
    tree_device(t, "card1", "tile0/gt0/freq0/throttle/status", "0\n");
    tree_device(t, "card1", "tile0/gt0/gtidle/idle_residency_ms", "1000\n");
    tree_device(t, "card1", "tile0/gt1/freq0/act_freq", "1500\n");
    tree_device(t, "card1", "tile0/gt1/freq0/rp0_freq", "1950\n");
    tree_device(t, "card1", "tile0/gt1/gtidle/idle_residency_ms", "9000\n");
    tree_device(t, "card1", "hwmon/hwmon3/energy1_input", "0\n");
    tree_device(t, "card1", "hwmon/hwmon3/energy2_input", "5000000\n");
    tree_device(t, "card1", "hwmon/hwmon3/temp2_input", "61000\n");
    tree_device(t, "card1", "hwmon/hwmon3/temp2_label", "pkg\n");
    tree_device(t, "card1", "hwmon/hwmon3/temp3_input", "58000\n");
    tree_device(t, "card1", "hwmon/hwmon3/temp3_label", "vram\n");
    tree_device(t, "card1", "hwmon/hwmon3/fan1_input", "900\n");
    tree_device(t, "card1", "hwmon/hwmon3/fan2_input", "1200\n");
    tree_process(t, 7, "init");
    open_machine(m);
}

static void power_is_energy_over_time_and_a_dead_counter_is_passed_over(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    sample(m, 1000);
    assert_int_equal(m->gpu.power_mw.state, READING_PENDING);
    tree_device(&m->tree, "card1", "hwmon/hwmon3/energy2_input", "305000000\n");
    sample(m, 2000);
    assert_int_equal(m->gpu.power_mw.state, READING_OK);
    assert_int_equal(m->gpu.power_mw.value, 150000);
    assert_int_equal(m->gpu.energy_mj.value, 305000);
    /* The driver was loaded again: no negative power. */
    tree_device(&m->tree, "card1", "hwmon/hwmon3/energy2_input", "1000\n");
    sample(m, 1000);
    assert_int_equal(m->gpu.power_mw.state, READING_PENDING);
}

static void clocks_heat_and_the_fastest_fan(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    sample(m, 1000);
    assert_int_equal(m->gpu.clock_graphics_khz.value, 2400000);
    assert_int_equal(m->gpu.clock_graphics_max_khz.value, 2850000);
    assert_int_equal(m->gpu.clock_video_khz.value, 1500000);
    assert_int_equal(m->gpu.temp_mdegc.value, 61000);
    assert_int_equal(m->gpu.temp_memory_mdegc.value, 58000);
    assert_int_equal(m->gpu.fan_rpm.value, 1200);
    assert_int_equal(m->gpu.fan_count.value, 2);
    assert_int_equal(m->gpu.throttle_bits.value, 0);
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/act_freq", "0\n");
    sample(m, 1000);
    assert_int_equal(m->gpu.clock_graphics_khz.state, READING_OK); /* 0 MHz is a clock: it sleeps between two pieces of work */
    assert_int_equal(m->gpu.clock_graphics_khz.value, 0);
}

static void limits_of_chip_and_memory_are_read(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    tree_device(&m->tree, "card1", "hwmon/hwmon3/temp2_crit", "100000\n");
    tree_device(&m->tree, "card1", "hwmon/hwmon3/temp2_emergency", "105000\n");
    tree_device(&m->tree, "card1", "hwmon/hwmon3/temp3_crit", "95000\n");
    sample(m, 1000);
    assert_int_equal(m->gpu.temp_limit_mdegc.value, 100000);
    assert_int_equal(m->gpu.temp_shutdown_mdegc.value, 105000);
    assert_int_equal(m->gpu.temp_memory_limit_mdegc.value, 95000);
}

/* Time does not pass on a recorded machine: its counters are no rates. */
static void counters_of_a_recorded_machine_that_stand_still_are_no_rates(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    tree_remove(&m->tree, "/proc");
    for (int i = 0; i < 3; i++) {
        sample(m, 1000);
        assert_int_equal(m->gpu.power_mw.state, READING_PENDING);
        assert_int_equal(m->gpu.util_permille.state, READING_PENDING);
    }
}

static void throttling_is_told_in_the_words_of_all_vendors(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/throttle/status", "1\n");
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/throttle/reason_pl1", "1\n");
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/throttle/reason_pl4", "0\n");
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/throttle/reason_thermal", "1\n");
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/throttle/reason_vr_tdc", "0\n");
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/throttle/reasons", "pl1 thermal\n");
    sample(m, 1000);
    assert_int_equal(m->gpu.throttle_bits.value, THROTTLE_POWER_CAP | THROTTLE_SW_THERMAL);
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/throttle/reason_pl1", "0\n");
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/throttle/reason_thermal", "0\n");
    tree_device(&m->tree, "card1", "tile0/gt0/freq0/throttle/reason_of_next_year", "1\n");
    sample(m, 1000);
    assert_int_equal(m->gpu.throttle_bits.value, THROTTLE_OTHER);
}

static void xe_fd(struct machine *m, long long cycles, long long total)
{
    char text[512];
    snprintf(text, sizeof text,
             "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\ndrm-resident-vram0:\t2 GiB\ndrm-cycles-rcs:\t%lld\n"
             "drm-total-cycles-rcs:\t%lld\n",
             cycles, total);
    tree_fd(&m->tree, 42, 5, "renderD129", text);
}

static void utilization_says_how_it_was_measured(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    tree_process(&m->tree, 42, "game");
    xe_fd(m, 0, 1000);
    sample(m, 1000);
    assert_int_equal(m->gpu.util_permille.state, READING_PENDING);
    xe_fd(m, 300, 2000);
    tree_device(&m->tree, "card1", "tile0/gt0/gtidle/idle_residency_ms", "1400\n");
    sample(m, 1000);
    assert_string_equal(m->gpu.utilization_basis.value, "fdinfo");
    assert_int_equal(m->gpu.util_permille.value, 300);
    assert_int_equal(m->gpu.mem_used_bytes.value, 2LL << 30);

    /* A process that we may not see could be the one that works: then the idle time of the GT counts. */
    tree_process(&m->tree, 43, "others");
    fault_open("43/fd", EACCES);
    tree_device(&m->tree, "card1", "tile0/gt0/gtidle/idle_residency_ms", "1900\n");
    sample(m, 1000);
    assert_string_equal(m->gpu.utilization_basis.value, "idle residency");
    assert_int_equal(m->gpu.util_permille.value, 500);
    assert_int_equal(m->gpu.processes_hidden, 1);
    assert_int_equal(m->gpu.mem_used_bytes.state, READING_DENIED);

    tree_remove(&m->tree, "/sys/class/drm/card1/device/tile0/gt0/gtidle");
    tree_remove(&m->tree, "/sys/class/drm/card1/device/tile0/gt1/gtidle");
    xe_fd(m, 500, 3000);
    sample(m, 1000);
    assert_string_equal(m->gpu.utilization_basis.value, "fdinfo of visible processes");
    assert_int_equal(m->gpu.util_permille.value, 200);
}

static void an_old_kernel_that_says_nothing_of_clients_is_not_taken_for_idle(void **state)
{
    struct machine *m = *state;
    tree_card(&m->tree, "card0", "i915", "0000:00:02.0", "8086:9B41", 128);
    tree_process(&m->tree, 42, "Xorg");
    tree_fd(&m->tree, 42, 5, "renderD128", "pos:\t0\nflags:\t02100002\n");
    open_machine(m);
    sample(m, 1000);
    sample(m, 1000);
    assert_int_not_equal(m->gpu.util_permille.state, READING_OK);
}

static void a_sleeping_card_is_left_alone(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    tree_process(&m->tree, 42, "game");
    xe_fd(m, 0, 1000);
    tree_device(&m->tree, "card1", "power/runtime_status", "suspended\n");
    watch_opens();
    sample(m, 1000);
    assert_int_equal(m->gpu.state, GPU_ASLEEP);
    assert_int_equal(m->gpu.temp_mdegc.state, READING_ASLEEP);
    static const char *const waking[] = {"energy2_input",     "temp2_input", "act_freq",          "throttle/status",
                                         "idle_residency_ms", "fdinfo/5",    "current_link_speed"};
    for (size_t i = 0; i < ARRAY_LEN(waking); i++)
        assert_int_equal(opened(waking[i]), 0);
    assert_true(opened("runtime_status") > 0);
}

static void energy_of_the_time_asleep_is_not_power_of_now(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    sample(m, 1000);
    tree_device(&m->tree, "card1", "power/runtime_status", "suspended\n");
    sample(m, 1000);
    tree_device(&m->tree, "card1", "power/runtime_status", "active\n");
    tree_device(&m->tree, "card1", "hwmon/hwmon3/energy2_input", "999000000\n");
    sample(m, 1000);
    assert_int_equal(m->gpu.power_mw.state, READING_PENDING);
}

static void falling_asleep_in_mid_read_is_asleep(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    sample(m, 1000);
    fault_read("energy2_input", EPERM);
    tree_device(&m->tree, "card1", "power/runtime_status", "active\n");
    sample(m, 1000);
    assert_int_equal(m->gpu.state, GPU_OK); /* awake: one refused file is not sleep */
    tree_device(&m->tree, "card1", "power/runtime_status", "suspending\n");
    sample(m, 1000);
    assert_int_equal(m->gpu.state, GPU_ASLEEP);
}

static void graphics_on_the_die_borrow_heat_fan_and_power_of_the_machine(void **state)
{
    struct machine *m = *state;
    struct tree *t = &m->tree;
    tree_card(t, "card0", "i915", "0000:00:02.0", "8086:9B41", 128);
    tree_write(t, "/sys/class/drm/card0/gt_act_freq_mhz", "300\n");
    tree_write(t, "/sys/class/hwmon/hwmon2/name", "coretemp\n");
    tree_write(t, "/sys/class/hwmon/hwmon2/temp1_label", "Package id 0\n");
    tree_write(t, "/sys/class/hwmon/hwmon2/temp1_input", "47000\n");
    tree_write(t, "/sys/class/hwmon/hwmon5/name", "thinkpad\n");
    tree_write(t, "/sys/class/hwmon/hwmon5/fan1_input", "2100\n");
    tree_write(t, "/sys/class/hwmon/hwmon5/pwm1", "128\n");
    tree_write(t, "/sys/class/powercap/intel-rapl:0:0/name", "core\n");
    tree_write(t, "/sys/class/powercap/intel-rapl:0:1/name", "uncore\n");
    tree_write(t, "/sys/class/powercap/intel-rapl:0:1/energy_uj", "1000000\n");
    open_machine(m);
    sample(m, 1000);
    tree_write(t, "/sys/class/powercap/intel-rapl:0:1/energy_uj", "3500000\n");
    sample(m, 1000);
    assert_int_equal(m->gpu.temp_mdegc.value, 47000);
    assert_string_equal(m->gpu.temperature_basis.value, "platform: coretemp Package id 0");
    assert_int_equal(m->gpu.fan_rpm.value, 2100);
    assert_int_equal(m->gpu.fan_permille.value, 502);
    assert_string_equal(m->gpu.fan_basis.value, "platform: thinkpad fan1");
    assert_int_equal(m->gpu.power_mw.value, 2500);
    assert_string_equal(m->gpu.memory_kind.value, "shared");
}

static void an_ordinary_user_may_not_read_the_processors_energy(void **state)
{
    struct machine *m = *state;
    tree_card(&m->tree, "card0", "i915", "0000:00:02.0", "8086:9B41", 128);
    tree_write(&m->tree, "/sys/class/powercap/intel-rapl:0:1/name", "uncore\n");
    tree_write(&m->tree, "/sys/class/powercap/intel-rapl:0:1/energy_uj", "1000000\n");
    fault_open("energy_uj", EACCES);
    open_machine(m);
    sample(m, 1000);
    assert_int_equal(m->gpu.power_mw.state, READING_DENIED);
}

static void the_link_is_that_of_the_slot_and_not_the_one_inside_the_card(void **state)
{
    struct machine *m = *state;
    struct tree *t = &m->tree;
    static const char *const ports[] = {"0000:00:01.0", "0000:00:01.0/0000:01:00.0", "0000:00:01.0/0000:01:00.0/0000:02:01.0"};
    static const char *const speeds[] = {"8.0 GT/s PCIe\n", "16.0 GT/s PCIe\n", "2.5 GT/s PCIe\n"};
    char path[PATH_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
        static const char *const files[][2] = {{"vendor", "0x8086\n"}, {"class", "0x060400\n"}, {"current_link_width", "8\n"}};
        for (size_t f = 0; f < ARRAY_LEN(files); f++) {
            snprintf(path, sizeof path, "/sys/devices/pci0000:00/%s/%s", ports[i], files[f][0]);
            tree_write(t, path, files[f][1]);
        }
        snprintf(path, sizeof path, "/sys/devices/pci0000:00/%s/current_link_speed", ports[i]);
        tree_write(t, path, speeds[i]);
    }
    snprintf(path, sizeof path, "/sys/devices/pci0000:00/%s/0000:03:00.0/uevent", ports[2]);
    tree_write(t, path, "DRIVER=xe\nPCI_ID=8086:56A5\nPCI_SLOT_NAME=0000:03:00.0\n");
    snprintf(path, sizeof path, "/sys/devices/pci0000:00/%s/0000:03:00.0/current_link_speed", ports[2]);
    tree_write(t, path, "2.5 GT/s PCIe\n");
    tree_write(t, "/sys/class/drm/card0/dev", "226:0\n");
    tree_link(t, "/sys/class/drm/card0/device", "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:03:00.0");
    open_machine(m);
    sample(m, 1000);
    assert_int_equal(m->gpu.pcie_generation.value, 4);
    assert_int_equal(m->gpu.pcie_width.value, 8);
}

static void unplug_and_replug_keep_the_place_in_the_list(void **state)
{
    struct machine *m = *state;
    xe_card(m);
    tree_card(&m->tree, "card2", "i915", "0000:04:00.0", "8086:56A5", 130);
    struct gpu_id ids[4];
    assert_true(intel_source.changed(m->source));
    assert_int_equal(intel_source.list(m->source, ids, 4), 2);
    assert_false(intel_source.changed(m->source));
    tree_remove(&m->tree, "/sys/class/drm/card1");
    sample(m, 1000);
    assert_int_equal(m->gpu.state, GPU_LOST);
    assert_true(intel_source.changed(m->source));
    assert_int_equal(intel_source.list(m->source, ids, 4), 2);
    assert_string_equal(ids[0].pci_address, "0000:03:00.0");
    tree_card(&m->tree, "card5", "xe", "0000:03:00.0", "8086:E20B", 131);
    assert_true(intel_source.changed(m->source));
    assert_int_equal(intel_source.list(m->source, ids, 4), 2);
    sample(m, 1000);
    assert_int_equal(m->gpu.state, GPU_OK);
}

static void vram_is_what_the_drivers_answer(void **state)
{
    (void)state;
    uint64_t i915[2 + 11 * 2] = {2}, xe[1 + 11 * 2] = {2};
    i915[2] = 0; /* class 0: host memory */
    i915[3] = 64ULL << 30;
    i915[2 + 11] = 1; /* class 1: the card's */
    i915[2 + 11 + 1] = 6ULL << 30;
    assert_int_equal(intel_vram_from_i915(i915, sizeof i915), 6LL << 30);
    assert_int_equal(intel_vram_from_i915(i915, 40), 0);
    xe[1] = 0;
    xe[2] = 64ULL << 30;
    xe[1 + 11] = 1;
    xe[1 + 11 + 1] = 12ULL << 30;
    assert_int_equal(intel_vram_from_xe(xe, sizeof xe), 12LL << 30);
    xe[0] = UINT32_MAX; /* a count that lies */
    assert_int_equal(intel_vram_from_xe(xe, sizeof xe), 12LL << 30);
}

#define MACHINE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_every_recorded_card_as_its_files_say),
        MACHINE_TEST(power_is_energy_over_time_and_a_dead_counter_is_passed_over),
        MACHINE_TEST(clocks_heat_and_the_fastest_fan),
        MACHINE_TEST(limits_of_chip_and_memory_are_read),
        MACHINE_TEST(counters_of_a_recorded_machine_that_stand_still_are_no_rates),
        MACHINE_TEST(throttling_is_told_in_the_words_of_all_vendors),
        MACHINE_TEST(utilization_says_how_it_was_measured),
        MACHINE_TEST(an_old_kernel_that_says_nothing_of_clients_is_not_taken_for_idle),
        MACHINE_TEST(a_sleeping_card_is_left_alone),
        MACHINE_TEST(energy_of_the_time_asleep_is_not_power_of_now),
        MACHINE_TEST(falling_asleep_in_mid_read_is_asleep),
        MACHINE_TEST(graphics_on_the_die_borrow_heat_fan_and_power_of_the_machine),
        MACHINE_TEST(an_ordinary_user_may_not_read_the_processors_energy),
        MACHINE_TEST(the_link_is_that_of_the_slot_and_not_the_one_inside_the_card),
        MACHINE_TEST(unplug_and_replug_keep_the_place_in_the_list),
        TEST(vram_is_what_the_drivers_answer),
    };
    return RUN_TESTS(tests);
}
