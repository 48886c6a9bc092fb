/* SPDX-License-Identifier: Apache-2.0
 * The amdgpu source on generated machines: what drivers, cards and cables do wrong.
 */
#include "source/source.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "model/snapshot.h"
#include "test.h"
#include "tree.h"

static const char pci[] = "0000:03:00.0";

struct machine {
    struct tree tree;
    struct source *source;
    struct gpu_id ids[8];
    int count;
    struct gpu gpu;
};

/* A card with everything a modern one has. */
static void whole_card(struct tree *t, const char *name, const char *address, int render)
{
    static const char *const files[][2] = {
        {"gpu_busy_percent", "37\n"},
        {"mem_busy_percent", "12\n"},
        {"mem_info_vram_total", "17163091968\n"},
        {"mem_info_vram_used", "668274688\n"},
        {"mem_info_gtt_total", "16786171904\n"},
        {"mem_info_gtt_used", "62369792\n"},
        {"pp_dpm_sclk", "0: 500Mhz \n1: 2100Mhz *\n2: 2660Mhz \n"},
        {"pp_dpm_mclk", "0: 96Mhz \n1: 1000Mhz *\n"},
        {"current_link_speed", "16.0 GT/s PCIe\n"},
        {"current_link_width", "16\n"},
        {"power/runtime_status", "active\n"},
        {"hwmon/hwmon4/name", "amdgpu\n"},
        {"hwmon/hwmon4/temp1_input", "56000\n"},
        {"hwmon/hwmon4/temp1_label", "edge\n"},
        {"hwmon/hwmon4/temp1_crit", "100000\n"},
        {"hwmon/hwmon4/temp1_crit_hyst", "-273150\n"},
        {"hwmon/hwmon4/temp2_input", "59000\n"},
        {"hwmon/hwmon4/temp2_label", "junction\n"},
        {"hwmon/hwmon4/temp2_crit", "110000\n"},
        {"hwmon/hwmon4/power1_average", "36000000\n"},
        {"hwmon/hwmon4/power1_cap", "289000000\n"},
        {"hwmon/hwmon4/fan1_input", "0\n"},
        {"hwmon/hwmon4/fan1_max", "3400\n"},
        {"hwmon/hwmon4/pwm1", "0\n"},
        {"hwmon/hwmon4/in0_input", "775\n"},
        {"hwmon/hwmon4/in0_label", "vddgfx\n"},
        {"hwmon/hwmon4/freq1_input", "1890000000\n"},
        {"hwmon/hwmon4/freq1_label", "sclk\n"},
    };
    tree_card(t, name, "amdgpu", address, "1002:73BF", render);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        tree_device(t, name, files[i][0], files[i][1]);
}

static void list(struct machine *m)
{
    m->count = amdgpu_source.list(m->source, m->ids, ARRAY_LEN(m->ids));
}

static void open_machine(struct machine *m)
{
    struct error err = {0};
    assert_int_equal(amdgpu_source.open(&m->tree.env, "", &m->source, &err), 0);
    list(m);
}

static void sample_of(struct machine *m, size_t which)
{
    clock_manual_advance_ms(&m->tree.clock, 1000);
    gpu_done(&m->gpu);
    m->gpu = (struct gpu){0};
    amdgpu_source.refresh(m->source, GROUP_ALL, NULL);
    amdgpu_source.sample(m->source, which, GROUP_ALL, &m->gpu);
}

static void sample(struct machine *m)
{
    sample_of(m, 0);
}

static int setup(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    tree_init(&m->tree);
    whole_card(&m->tree, "card0", pci, 128);
    tree_process(&m->tree, 1, "init");
    *state = m;
    return 0;
}

static int teardown(void **state)
{
    struct machine *m = *state;
    amdgpu_source.close(m->source);
    gpu_done(&m->gpu);
    tree_done(&m->tree);
    free(m);
    return 0;
}

static void a_healthy_card_gives_everything(void **state)
{
    struct machine *m = *state;
    open_machine(m);
    sample(m);
    assert_int_equal(m->gpu.state, GPU_OK);
    assert_int_equal(m->gpu.util_permille.value, 370);
    assert_int_equal(m->gpu.clock_graphics_khz.value, 2100000);
    assert_int_equal(m->gpu.fan_rpm.state, READING_OK); /* 0 rpm is a speed */
    assert_int_equal(m->gpu.fan_rpm.value, 0);
    assert_int_equal(m->gpu.pcie_generation.value, 4);
}

/* The clock of a card in GFXOFF: the starred row and hwmon say 0, gpu_metrics still has the last one. */
static void a_gated_clock_is_0_mhz(void **state)
{
    struct machine *m = *state;
    uint8_t table[120] = {[0] = 120, [2] = 1, [3] = 3};
    memset(table + 4, 0xff, sizeof table - 4);
    table[54] = 1200 & 0xff;
    table[55] = 1200 >> 8;
    tree_write_bytes(&m->tree, "/sys/class/drm/card0/device/gpu_metrics", table, sizeof table);
    tree_device(&m->tree, "card0", "pp_dpm_sclk", "0: 500Mhz \n1: 0Mhz *\n2: 2660Mhz \n");
    tree_device(&m->tree, "card0", "hwmon/hwmon4/freq1_input", "0\n");
    open_machine(m);
    sample(m);
    assert_int_equal(m->gpu.clock_graphics_khz.state, READING_OK);
    assert_int_equal(m->gpu.clock_graphics_khz.value, 0);
    tree_remove(&m->tree, "/sys/class/drm/card0/device/hwmon/hwmon4/freq1_input");
    sample(m);
    assert_int_equal(m->gpu.clock_graphics_khz.state, READING_OK);
    assert_int_equal(m->gpu.clock_graphics_khz.value, 0);
    tree_device(&m->tree, "card0", "hwmon/hwmon4/freq1_input", "31000000\n"); /* an RX 5500 XT whose row says 0 while it runs */
    sample(m);
    assert_int_equal(m->gpu.clock_graphics_khz.value, 31000);
    tree_remove(&m->tree, "/sys/class/drm/card0/device/pp_dpm_sclk");
    tree_remove(&m->tree, "/sys/class/drm/card0/device/hwmon/hwmon4/freq1_input");
    sample(m);
    assert_int_equal(m->gpu.clock_graphics_khz.value, 1200000);
}

static void socket_power_of_the_table_where_hwmon_has_none(void **state)
{
    struct machine *m = *state;
    uint8_t table[128] = {[0] = 128, [2] = 2, [3] = 2};
    memset(table + 4, 0xff, sizeof table - 4);
    table[40] = 9123 & 0xff;
    table[41] = 9123 >> 8;
    tree_write_bytes(&m->tree, "/sys/class/drm/card0/device/gpu_metrics", table, sizeof table);
    tree_remove(&m->tree, "/sys/class/drm/card0/device/hwmon/hwmon4/power1_average");
    open_machine(m);
    sample(m);
    assert_int_equal(m->gpu.power_mw.value, 9123);
}

/* Turns, target and duty cycle each in its own scale; a duty cycle of 0 on a fan that turns is no speed. */
static void a_fan_is_read_in_its_own_scales(void **state)
{
    struct machine *m = *state;
    tree_device(&m->tree, "card0", "hwmon/hwmon4/fan1_input", "1395\n");
    tree_device(&m->tree, "card0", "hwmon/hwmon4/fan1_target", "1400\n");
    tree_device(&m->tree, "card0", "hwmon/hwmon4/fan1_max", "3100\n");
    tree_device(&m->tree, "card0", "hwmon/hwmon4/pwm1_enable", "2\n");
    tree_device(&m->tree, "card0", "gpu_od/fan_ctrl/fan_zero_rpm_enable",
                "FAN_ZERO_RPM_ENABLE:\n1\nOD_RANGE:\nZERO_RPM_ENABLE: 0 1\n");
    tree_device(&m->tree, "card0", "gpu_od/fan_ctrl/fan_zero_rpm_stop_temperature",
                "FAN_ZERO_RPM_STOP_TEMPERATURE:\n67\nOD_RANGE:\nZERO_RPM_STOP_TEMPERATURE: 50 110\n");
    open_machine(m);
    sample(m);
    assert_int_equal(m->gpu.fan_rpm.value, 1395);
    assert_int_equal(m->gpu.fan_target_rpm.value, 1400);
    assert_int_equal(m->gpu.fan_target_permille.state, READING_UNREAD);
    assert_int_equal(m->gpu.fan_permille.value, 450);
    assert_string_equal(m->gpu.fan_control.value, "automatic");
    assert_int_equal(m->gpu.fan_zero_rpm.value, 1);
    assert_int_equal(m->gpu.fan_zero_rpm_stop_mdegc.value, 67000);
    tree_remove(&m->tree, "/sys/class/drm/card0/device/hwmon/hwmon4/fan1_max");
    tree_device(&m->tree, "card0", "hwmon/hwmon4/pwm1_enable", "0\n");
    sample(m);
    assert_int_equal(m->gpu.fan_permille.state, READING_UNSUPPORTED);
    assert_string_equal(m->gpu.fan_control.value, "firmware");
    tree_device(&m->tree, "card0", "hwmon/hwmon4/pwm1", "128\n");
    sample(m);
    assert_int_equal(m->gpu.fan_permille.value, 502);
}

/* Every file fails in every way: the others must not be affected, and nothing may be made up. */
static void one_failing_file_spoils_only_its_own_reading(void **state)
{
    struct machine *m = *state;
    static const struct {
        const char *file;
        enum metric metric;
    } files[] = {
        {"gpu_busy_percent", METRIC_util_permille},
        {"mem_busy_percent", METRIC_mem_util_permille},
        {"mem_info_vram_total", METRIC_mem_total_bytes},
        {"temp1_input", METRIC_temp_mdegc},
        {"temp2_input", METRIC_temp_hotspot_mdegc},
        {"power1_average", METRIC_power_mw},
        {"power1_cap", METRIC_power_limit_mw},
        {"fan1_input", METRIC_fan_rpm},
        {"in0_input", METRIC_voltage_mv},
        {"current_link_width", METRIC_pcie_width},
    };
    static const struct {
        int error;
        enum reading_state state;
    } errors[] = {{EIO, READING_FAILED},         {EBUSY, READING_FAILED},           {EPERM, READING_DENIED},
                  {EINVAL, READING_UNSUPPORTED}, {EOPNOTSUPP, READING_UNSUPPORTED}, {ENODEV, READING_FAILED},
                  {ENOENT, READING_UNSUPPORTED}, {EACCES, READING_DENIED}};
    tree_remove(&m->tree, "/proc"); /* else the load of processes stands in for that of the chip */
    open_machine(m);
    for (size_t e = 0; e < ARRAY_LEN(errors); e++)
        for (size_t f = 0; f < ARRAY_LEN(files); f++) {
            fault_clear();
            fault_read(files[f].file, errors[e].error);
            sample(m);
            assert_int_equal(m->gpu.state, GPU_OK);
            assert_int_equal(m->gpu.metric[files[f].metric].state, errors[e].state);
            for (size_t other = 0; other < ARRAY_LEN(files); other++)
                if (other != f)
                    assert_int_equal(m->gpu.metric[files[other].metric].state, READING_OK);
        }
}

static void a_missing_file_is_an_unsupported_reading(void **state)
{
    struct machine *m = *state;
    open_machine(m);
    tree_remove(&m->tree, "/sys/class/drm/card0/device/mem_info_vram_used");
    tree_remove(&m->tree, "/sys/class/drm/card0/device/hwmon/hwmon4/temp2_input");
    sample(m);
    assert_int_equal(m->gpu.mem_used_bytes.state, READING_UNSUPPORTED);
    assert_int_equal(m->gpu.mem_free_bytes.state, READING_UNSUPPORTED);
    assert_int_equal(m->gpu.temp_hotspot_mdegc.state, READING_UNSUPPORTED);
    assert_int_equal(m->gpu.temp_mdegc.value, 56000);
}

static void empty_padded_and_cut_files(void **state)
{
    struct machine *m = *state;
    char padded[4096] = "91\n";
    open_machine(m);
    tree_write_bytes(&m->tree, "/sys/class/drm/card0/device/gpu_busy_percent", padded, sizeof padded);
    tree_device(&m->tree, "card0", "mem_busy_percent", "");
    tree_device(&m->tree, "card0", "hwmon/hwmon4/power1_cap", "lots\n");
    fault_short("pp_dpm_sclk", 5); /* "0: 50" */
    sample(m);
    assert_int_equal(m->gpu.util_permille.value, 910);
    assert_int_equal(m->gpu.mem_util_permille.state, READING_UNSUPPORTED);
    assert_int_equal(m->gpu.power_limit_mw.state, READING_FAILED);
    assert_int_equal(m->gpu.clock_graphics_khz.value, 1890000); /* from the sensor instead */
}

static void a_load_of_more_than_all_is_no_load(void **state)
{
    struct machine *m = *state;
    open_machine(m);
    tree_device(&m->tree, "card0", "gpu_busy_percent", "255\n");
    sample(m);
    gpu_drop_implausible(&m->gpu);
    assert_int_equal(m->gpu.util_permille.state, READING_IMPLAUSIBLE);
}

static void it_may_be_freezing(void **state)
{
    struct machine *m = *state;
    open_machine(m);
    tree_device(&m->tree, "card0", "hwmon/hwmon4/temp1_input", "-12000\n");
    sample(m);
    assert_int_equal(m->gpu.temp_mdegc.state, READING_OK);
    assert_int_equal(m->gpu.temp_mdegc.value, -12000);
}

static void a_sleeping_card_is_left_alone(void **state)
{
    struct machine *m = *state;
    open_machine(m);
    sample(m);
    tree_process(&m->tree, 42, "app");
    tree_amd_fd(&m->tree, 42, 5, pci, 1, 0, 10);
    tree_device(&m->tree, "card0", "power/runtime_status", "suspended\n");
    watch_opens();
    sample(m);
    assert_int_equal(m->gpu.state, GPU_ASLEEP);
    assert_int_equal(m->gpu.util_permille.state, READING_ASLEEP);
    assert_int_equal(m->gpu.processes_state, READING_ASLEEP);
    assert_int_equal(m->gpu.mem_total_bytes.value, 17163091968LL); /* safe to read */
    static const char *const waking[] = {"gpu_busy_percent",   "temp1_input", "power1_average", "pp_dpm_sclk", "gpu_metrics",
                                         "current_link_speed", "fan1_input",  "hwmon",          "fdinfo/5"};
    for (size_t i = 0; i < ARRAY_LEN(waking); i++)
        assert_int_equal(opened(waking[i]), 0);
}

static void pcie_bw_is_never_read(void **state)
{
    struct machine *m = *state;
    tree_device(&m->tree, "card0", "pcie_bw", "11886 2528 256\n"); /* the kernel sleeps a second in it */
    watch_opens();
    open_machine(m);
    sample(m);
    assert_int_equal(opened("pcie_bw"), 0);
}

static void eperm_of_a_card_that_fell_asleep_is_sleep(void **state)
{
    struct machine *m = *state;
    open_machine(m);
    static const char *const refused[] = {"gpu_busy_percent", "temp1_input", "power1_average", "temp2_input"};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        fault_read(refused[i], EPERM);
    sample(m);
    assert_int_equal(m->gpu.state, GPU_ERROR); /* awake and refusing: a reset */
    tree_device(&m->tree, "card0", "power/runtime_status", "suspended\n");
    sample(m);
    assert_int_equal(m->gpu.state, GPU_ASLEEP);
}

static void fall_asleep(void *context)
{
    tree_device(context, "card0", "power/runtime_status", "suspended\n");
}

static void falling_asleep_between_the_check_and_the_read(void **state)
{
    struct machine *m = *state;
    open_machine(m);
    fault_before_open("gpu_busy_percent", fall_asleep, &m->tree);
    fault_read("temp1_input", EPERM);
    sample(m);
    assert_int_equal(m->gpu.state, GPU_ASLEEP);
    assert_int_equal(m->gpu.util_permille.state, READING_ASLEEP);
}

static void unplug(void *context)
{
    tree_remove(context, "/sys/class/drm/card0");
}

static void unplug_in_mid_read_is_a_lost_card(void **state)
{
    struct machine *m = *state;
    whole_card(&m->tree, "card1", "0000:04:00.0", 129);
    open_machine(m);
    assert_int_equal(m->count, 2);
    fault_before_open("mem_info_vram_total", unplug, &m->tree);
    fault_read("temp1_input", ENODEV);
    sample(m);
    assert_int_equal(m->gpu.state, GPU_LOST);
    assert_true(strlen(m->gpu.error_message) > 0);
    fault_clear();
    sample_of(m, 1);
    assert_int_equal(m->gpu.state, GPU_OK);
}

static void a_card_that_returns_is_itself_again(void **state)
{
    struct machine *m = *state;
    whole_card(&m->tree, "card1", "0000:04:00.0", 129);
    open_machine(m);
    assert_string_equal(m->ids[0].pci_address, pci);
    assert_string_equal(m->ids[1].pci_address, "0000:04:00.0");
    assert_false(amdgpu_source.changed(m->source));
    tree_remove(&m->tree, "/sys/class/drm/card0");
    assert_true(amdgpu_source.changed(m->source));
    list(m);
    assert_int_equal(m->count, 2); /* it keeps its place */
    assert_false(amdgpu_source.changed(m->source));
    sample(m);
    assert_int_equal(m->gpu.state, GPU_LOST);
    whole_card(&m->tree, "card7", pci, 135); /* bound again: another number */
    assert_true(amdgpu_source.changed(m->source));
    list(m);
    assert_int_equal(m->count, 2);
    assert_string_equal(m->ids[0].pci_address, pci);
    sample(m);
    assert_int_equal(m->gpu.state, GPU_OK);
}

static void a_new_card_stands_behind_the_old_ones(void **state)
{
    struct machine *m = *state;
    open_machine(m);
    whole_card(&m->tree, "card1", "0000:01:00.0", 129);
    assert_true(amdgpu_source.changed(m->source));
    list(m);
    assert_int_equal(m->count, 2);
    assert_string_equal(m->ids[0].pci_address, pci);
    assert_string_equal(m->ids[1].pci_address, "0000:01:00.0");
}

static void connectors_other_vendors_and_partitions_are_not_our_cards(void **state)
{
    struct machine *m = *state;
    tree_write(&m->tree, "/sys/class/drm/card0-DP-1/status", "connected\n");
    tree_write(&m->tree, "/sys/class/drm/version", "drm 1.1.0 20060810\n");
    tree_card(&m->tree, "card1", "i915", "0000:00:02.0", "8086:9B41", 129);
    tree_card(&m->tree, "card2", "nvidia", "0000:01:00.0", "10DE:2684", 130);
    tree_device(&m->tree, "card3", "uevent", "DRIVER=amdgpu_xcp\nMODALIAS=platform:amdgpu_xcp\n");
    tree_device(&m->tree, "card3", "drm/renderD131/dev", "226:131\n");
    open_machine(m);
    assert_int_equal(m->count, 1);
    assert_string_equal(m->ids[0].vendor, "amd");
}

static void no_card_is_said_in_words(void **state)
{
    struct machine *m = *state;
    struct error err = {0};
    tree_remove(&m->tree, "/sys/class/drm/card0");
    assert_int_equal(amdgpu_source.open(&m->tree.env, "", &m->source, &err), -ENODEV);
    assert_non_null(strstr(err.text, "amdgpu"));
    tree_remove(&m->tree, "/sys");
    assert_int_equal(amdgpu_source.open(&m->tree.env, "", &m->source, &err), -ENODEV);
    m->source = NULL;
}

static void hwmon_is_found_again_under_another_number(void **state)
{
    struct machine *m = *state;
    open_machine(m);
    tree_remove(&m->tree, "/sys/class/drm/card0/device/hwmon/hwmon4");
    tree_device(&m->tree, "card0", "hwmon/hwmon9/temp1_input", "61000\n");
    tree_device(&m->tree, "card0", "hwmon/hwmon9/temp1_label", "edge\n");
    sample(m);
    assert_int_equal(m->gpu.temp_mdegc.value, 61000);
}

static void errors_of_all_blocks_add_up(void **state)
{
    struct machine *m = *state;
    tree_device(&m->tree, "card0", "ras/umc_err_count", "ue: 2\nce: 17\nde: 0\n");
    tree_device(&m->tree, "card0", "ras/gfx_err_count", "ue: 1\nce: 3\n");
    tree_device(&m->tree, "card0", "ras/sdma_err_count", "Query currently inaccessible\n");
    tree_device(&m->tree, "card0", "ras/gpu_vram_bad_pages", "0x00000012 : 0x00001000 : R\n0x00000017 : 0x00001000 : P\n");
    open_machine(m);
    sample(m);
    assert_int_equal(m->gpu.ecc_uncorrected.value, 3);
    assert_int_equal(m->gpu.ecc_corrected.value, 20);
    assert_int_equal(m->gpu.ecc_enabled.value, 1);
    assert_int_equal(m->gpu.retired_pages_dbe.value, 1);
    assert_int_equal(m->gpu.retired_pages_pending.value, 1);
}

static void a_card_without_ras_has_no_error_counts(void **state)
{
    struct machine *m = *state;
    tree_device(&m->tree, "card0", "ras/umc_err_count", "Query currently inaccessible\n");
    open_machine(m);
    sample(m);
    assert_int_not_equal(m->gpu.ecc_uncorrected.state, READING_OK);
}

static void load_comes_from_fdinfo_where_the_chip_cannot_tell_it(void **state)
{
    struct machine *m = *state;
    tree_remove(&m->tree, "/sys/class/drm/card0/device/gpu_busy_percent");
    tree_process(&m->tree, 42, "game");
    tree_amd_fd(&m->tree, 42, 5, pci, 1, 0, 10);
    open_machine(m);
    sample(m);
    assert_int_equal(m->gpu.util_permille.state, READING_PENDING);
    tree_amd_fd(&m->tree, 42, 5, pci, 1, 420000000, 10);
    sample(m);
    assert_int_equal(m->gpu.util_permille.value, 420);
    assert_string_equal(m->gpu.utilization_basis.value, "fdinfo");
}

static void an_apu_counts_host_memory_as_its_own(void **state)
{
    struct machine *m = *state;
    tree_device(&m->tree, "card0", "hwmon/hwmon4/in1_label", "vddnb\n");
    tree_device(&m->tree, "card0", "hwmon/hwmon4/in1_input", "615\n");
    tree_process(&m->tree, 42, "game");
    tree_amd_fd(&m->tree, 42, 5, pci, 1, 0, 1000);
    open_machine(m);
    sample(m);
    assert_string_equal(m->gpu.memory_kind.value, "shared");
    assert_int_equal(m->gpu.mem_total_bytes.value, 17163091968LL + 16786171904LL);
    assert_int_equal(m->gpu.mem_used_bytes.value, 668274688LL + 62369792LL);
    /* Without /proc/meminfo the driver's own numbers are what is known. */
    assert_int_equal(m->gpu.mem_free_bytes.value, 17163091968LL - 668274688LL + 16786171904LL - 62369792LL);
    assert_int_equal(m->gpu.processes[0].mem_bytes.value, 1064 * 1024); /* VRAM and GTT */
}

static void errors_of_the_link_are_those_that_the_kernel_counts(void **state)
{
    struct machine *m = *state;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/aer_dev_correctable", pci);
    tree_write(&m->tree, path, "RxErr 2\nBadTLP 3\nTimeout -4\nTOTAL_ERR_COR 5\n");
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/aer_dev_nonfatal", pci);
    tree_write(&m->tree, path, "CmpltTO 1\nUnsupReq 9\nTOTAL_ERR_NONFATAL 10\n");
    open_machine(m);
    sample(m);
    assert_int_equal(m->gpu.pcie_corrected_errors.value, 5);
    assert_int_equal(m->gpu.pcie_uncorrected_errors.value, 1); /* requests that are not supported come with every start */
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/aer_dev_fatal", pci);
    tree_write(&m->tree, path, "DLP 2\nTOTAL_ERR_FATAL 2\n");
    sample(m);
    assert_int_equal(m->gpu.pcie_uncorrected_errors.value, 3);
}

static void a_card_without_a_fan_shows_the_laptops(void **state)
{
    struct machine *m = *state;
    static const char *const files[] = {"fan1_input", "fan1_max", "pwm1"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "/sys/class/drm/card0/device/hwmon/hwmon4/%s", files[i]);
        tree_remove(&m->tree, path);
    }
    tree_write(&m->tree, "/sys/class/hwmon/hwmon0/name", "nct6775\n"); /* a desktop's case fan is not a GPU's fan */
    tree_write(&m->tree, "/sys/class/hwmon/hwmon0/fan1_input", "800\n");
    open_machine(m);
    sample(m);
    assert_int_not_equal(m->gpu.fan_rpm.state, READING_OK);
    tree_write(&m->tree, "/sys/class/hwmon/hwmon1/name", "asus\n");
    tree_write(&m->tree, "/sys/class/hwmon/hwmon1/fan1_label", "cpu_fan\n");
    tree_write(&m->tree, "/sys/class/hwmon/hwmon1/fan1_input", "4400\n");
    tree_write(&m->tree, "/sys/class/hwmon/hwmon1/fan2_label", "gpu_fan\n");
    tree_write(&m->tree, "/sys/class/hwmon/hwmon1/fan2_input", "3100\n");
    clock_manual_advance_ms(&m->tree.clock, 20000);
    sample(m);
    assert_int_equal(m->gpu.fan_rpm.value, 3100);
    assert_string_equal(m->gpu.fan_basis.value, "platform: asus fan2");
}

static void kfd_node(struct machine *m, int node, int gpu_id, int location, const char *unique)
{
    char path[PATH_SIZE], text[512];
    snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%d/properties", node);
    snprintf(text, sizeof text,
             "cpu_cores_count 0\nsimd_count 320\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\n"
             "location_id %d\ndomain 0\nunique_id %s\n",
             location, unique);
    tree_write(&m->tree, path, text);
    snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%d/gpu_id", node);
    snprintf(text, sizeof text, "%d\n", gpu_id);
    tree_write(&m->tree, path, text);
}

static void rocm_processes_come_from_kfd(void **state)
{
    struct machine *m = *state;
    kfd_node(m, 1, 5555, 0x300, "77");
    tree_write(&m->tree, "/sys/class/kfd/kfd/proc/4242/vram_5555", "8589934592\n");
    tree_write(&m->tree, "/sys/class/kfd/kfd/proc/4242/stats_5555/cu_occupancy", "20\n");
    tree_write(&m->tree, "/sys/class/kfd/kfd/proc/4243/vram_5555", "0\n"); /* has opened the card, does not use it */
    tree_process(&m->tree, 4242, "python3");
    tree_fd(&m->tree, 4242, 9, "renderD128",
            "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\ndrm-resident-vram:\t8388600 KiB\n");
    open_machine(m);
    sample(m);
    assert_int_equal(m->gpu.process_count, 1);
    assert_int_equal(m->gpu.processes[0].pid, 4242);
    assert_int_equal(m->gpu.processes[0].type, PROCESS_COMPUTE);
    assert_int_equal(m->gpu.processes[0].mem_bytes.value, 8589934592LL); /* the same buffers, not twice */
    assert_int_equal(m->gpu.processes[0].util_permille.value, 250);      /* 20 of 80 compute units */
    assert_string_equal(m->gpu.compute_capability.value, "gfx942");
    assert_string_equal(m->ids[0].uuid, "amd-000000000000004d");
}

static void a_node_that_does_not_count_its_units_has_processes_without_a_share(void **state)
{
    struct machine *m = *state;
    kfd_node(m, 1, 5555, 0x300, "77");
    tree_write(&m->tree, "/sys/class/kfd/kfd/topology/nodes/1/properties",
               "simd_count 320\nvendor_id 4098\nlocation_id 768\ndomain 0\n");
    tree_write(&m->tree, "/sys/class/kfd/kfd/proc/4242/vram_5555", "8589934592\n");
    tree_write(&m->tree, "/sys/class/kfd/kfd/proc/4242/stats_5555/cu_occupancy", "20\n");
    open_machine(m);
    sample(m);
    assert_int_equal(m->gpu.process_count, 1);
    assert_int_equal(m->gpu.processes[0].mem_bytes.value, 8589934592LL);
    assert_int_not_equal(m->gpu.processes[0].util_permille.state, READING_OK);
}

static void partitions_are_instances_and_know_their_processes(void **state)
{
    struct machine *m = *state;
    tree_device(&m->tree, "card0", "current_compute_partition", "DPX\n");
    kfd_node(m, 1, 5555, 0x300, "77");
    kfd_node(m, 2, 6666, 0x301, "77");
    tree_write(&m->tree, "/sys/class/kfd/kfd/proc/4242/vram_5555", "0\n");
    tree_write(&m->tree, "/sys/class/kfd/kfd/proc/4242/vram_6666", "1048576\n");
    tree_write(&m->tree, "/sys/class/kfd/kfd/proc/4243/vram_5555", "1048576\n");
    tree_write(&m->tree, "/sys/class/kfd/kfd/proc/4243/vram_6666", "1048576\n");
    open_machine(m);
    assert_int_equal(m->count, 1);
    sample(m);
    assert_int_equal(m->gpu.instance_count, 2);
    assert_string_equal(m->gpu.instances[1].profile, "DPX");
    assert_string_equal(m->gpu.instances[1].id.uuid, "amd-000000000000004d:1");
    assert_int_equal(m->gpu.mig_enabled.value, 1);
    assert_int_equal(m->gpu.compute_units.value, 160);
    assert_int_equal(gpu_find_process(&m->gpu, 4242)->instance, 1);
    assert_int_equal(gpu_find_process(&m->gpu, 4243)->instance, -1);
    assert_int_equal(gpu_find_process(&m->gpu, 4243)->mem_bytes.value, 2097152);
}

static void names_come_from_libdrm_before_our_own_table(void **state)
{
    struct machine *m = *state;
    tree_device(&m->tree, "card0", "revision", "0xc1\n");
    tree_write(&m->tree, "/usr/share/libdrm/amdgpu.ids",
               "# comment\n73BF,\tC0,\tAMD Radeon RX 6900 XT\n73BF,\tC1,\tAMD Radeon Made Up\n");
    open_machine(m);
    assert_string_equal(m->ids[0].name, "AMD Radeon Made Up");
    tree_remove(&m->tree, "/usr");
    list(m);
    assert_string_equal(m->ids[0].name, "AMD Radeon RX 6800 XT");
    tree_device(&m->tree, "card0", "uevent", "DRIVER=amdgpu\nPCI_ID=1002:FEED\nPCI_SLOT_NAME=0000:03:00.0\n");
    tree_write(&m->tree, "/usr/share/misc/pci.ids",
               "# x\n1002  AMD/ATI\n\tfeed  Chip 99 [Radeon RX 99999]\n8086  Intel\n\tfeed  Other\n");
    list(m);
    assert_string_equal(m->ids[0].name, "AMD Radeon RX 99999");
    tree_remove(&m->tree, "/usr");
    list(m);
    assert_string_equal(m->ids[0].name, "AMD GPU 1002:feed");
}

#define MACHINE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_TEST(a_healthy_card_gives_everything),
        MACHINE_TEST(a_gated_clock_is_0_mhz),
        MACHINE_TEST(socket_power_of_the_table_where_hwmon_has_none),
        MACHINE_TEST(a_fan_is_read_in_its_own_scales),
        MACHINE_TEST(one_failing_file_spoils_only_its_own_reading),
        MACHINE_TEST(a_missing_file_is_an_unsupported_reading),
        MACHINE_TEST(empty_padded_and_cut_files),
        MACHINE_TEST(a_load_of_more_than_all_is_no_load),
        MACHINE_TEST(it_may_be_freezing),
        MACHINE_TEST(a_sleeping_card_is_left_alone),
        MACHINE_TEST(pcie_bw_is_never_read),
        MACHINE_TEST(eperm_of_a_card_that_fell_asleep_is_sleep),
        MACHINE_TEST(falling_asleep_between_the_check_and_the_read),
        MACHINE_TEST(unplug_in_mid_read_is_a_lost_card),
        MACHINE_TEST(a_card_that_returns_is_itself_again),
        MACHINE_TEST(a_new_card_stands_behind_the_old_ones),
        MACHINE_TEST(connectors_other_vendors_and_partitions_are_not_our_cards),
        MACHINE_TEST(no_card_is_said_in_words),
        MACHINE_TEST(hwmon_is_found_again_under_another_number),
        MACHINE_TEST(errors_of_all_blocks_add_up),
        MACHINE_TEST(a_card_without_ras_has_no_error_counts),
        MACHINE_TEST(load_comes_from_fdinfo_where_the_chip_cannot_tell_it),
        MACHINE_TEST(an_apu_counts_host_memory_as_its_own),
        MACHINE_TEST(errors_of_the_link_are_those_that_the_kernel_counts),
        MACHINE_TEST(a_card_without_a_fan_shows_the_laptops),
        MACHINE_TEST(rocm_processes_come_from_kfd),
        MACHINE_TEST(a_node_that_does_not_count_its_units_has_processes_without_a_share),
        MACHINE_TEST(partitions_are_instances_and_know_their_processes),
        MACHINE_TEST(names_come_from_libdrm_before_our_own_table),
    };
    return RUN_TESTS(tests);
}
