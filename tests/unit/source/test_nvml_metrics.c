/* SPDX-License-Identifier: Apache-2.0
 * What the NVML source reads of a card: values, groups, what is unsupported and that it is asked once, what old drivers lack.
 */
#include "base/cleanup.h"
#include "fake_nvml.h"

static const char one_h200[] = "gpu NVIDIA H200\n profile h200\n pci 0000:00:06.0\n";
static const char one_geforce[] = "gpu NVIDIA GeForce RTX 4090\n";

static struct fake_machine m;

static struct gpu first_sample(const char *release, const char *script, unsigned groups)
{
    fake_machine_init(&m, release, script);
    assert_int_equal(fake_machine_open(&m), 0);
    return fake_machine_sample(&m, 0, groups);
}

static void end(struct gpu *g)
{
    gpu_done(g);
    fake_machine_done(&m);
}

static void lists_cards_with_identity(void **state)
{
    (void)state;
    struct gpu_id ids[8];
    fake_machine_init(&m, "", "gpu NVIDIA GeForce RTX 4090\n pci 0000:41:00.0\ngpu NVIDIA H200\n pci 0001:00:06.0\n");
    assert_int_equal(fake_machine_open(&m), 0);
    assert_int_equal(nvml_source.list(m.source, ids, 8), 2);
    assert_string_equal(ids[0].name, "NVIDIA GeForce RTX 4090");
    assert_string_equal(ids[0].pci_address, "0000:41:00.0");
    assert_string_equal(ids[0].uuid, "GPU-00000000-1111-2222-3333-444444444444");
    assert_string_equal(ids[1].pci_address, "0001:00:06.0");
    assert_string_equal(ids[1].vendor, "nvidia");
    assert_int_equal(nvml_source.list(m.source, ids, 1), 1);
    fake_machine_done(&m);
}

static void cleans_names_that_are_not_text(void **state)
{
    (void)state;
    struct gpu_id id;
    fake_machine_init(&m, "", "gpu NVIDIA \xff\x01 odd\n");
    assert_int_equal(fake_machine_open(&m), 0);
    assert_int_equal(nvml_source.list(m.source, &id, 1), 1);
    assert_string_equal(id.name, "NVIDIA ?? odd");
    fake_machine_done(&m);
}

static void reads_the_fast_group(void **state)
{
    (void)state;
    struct gpu g = first_sample("", one_h200, GROUP_FAST);
    assert_int_equal(g.state, GPU_OK);
    assert_string_equal(g.source, "nvml");
    assert_reading(g.util_permille, 0);
    assert_reading(g.temp_mdegc, 38000);
    assert_absent(g.temp_limit_mdegc, READING_UNREAD); /* expensive, and does not change */
    assert_absent(g.temp_margin_mdegc, READING_UNREAD);
    assert_reading(g.temp_memory_mdegc, 38000);
    assert_reading(g.power_mw, 79400);
    assert_reading(g.power_limit_mw, 700000);
    assert_reading(g.mem_total_bytes, 143771LL << 20);
    assert_reading(g.mem_used_bytes, 0);
    assert_reading(g.mem_reserved_bytes, 616LL << 20);
    assert_int_equal(g.mem_used_bytes.value + g.mem_free_bytes.value + g.mem_reserved_bytes.value, g.mem_total_bytes.value);
    assert_reading(g.clock_graphics_khz, 345000);
    assert_reading(g.clock_memory_khz, 3201000);
    assert_reading(g.pstate, 0);
    assert_reading(g.throttle_bits, THROTTLE_IDLE);
    assert_absent(g.fan_permille, READING_UNSUPPORTED);
    assert_absent(g.temp_hotspot_mdegc, READING_UNSUPPORTED); /* no such thing in NVML */
    end(&g);
}

static void reads_only_the_groups_asked_for(void **state)
{
    (void)state;
    struct gpu g = first_sample("", one_h200, GROUP_FAST);
    assert_absent(g.energy_mj, READING_UNREAD);
    assert_absent(g.ecc_corrected, READING_UNREAD);
    assert_absent(g.clock_graphics_max_khz, READING_UNREAD);
    assert_int_equal(g.serial.state, READING_UNREAD);
    assert_int_equal(g.processes_state, READING_UNREAD);
    assert_int_equal(m.calls("nvmlDeviceGetTotalEnergyConsumption"), 0);
    assert_int_equal(m.calls("nvmlDeviceGetTotalEccErrors"), 0);
    assert_int_equal(m.calls("nvmlDeviceGetComputeRunningProcesses_v3"), 0);
    gpu_done(&g);
    g = fake_machine_sample(&m, 0, GROUP_RARE);
    assert_reading(g.energy_mj, 123456789);
    assert_absent(g.temp_mdegc, READING_UNREAD);
    end(&g);
}

static void reads_slow_and_static_groups(void **state)
{
    (void)state;
    struct gpu g = first_sample("", one_h200, GROUP_ALL);
    assert_reading(g.ecc_enabled, 1);
    assert_reading(g.ecc_corrected, 0);
    assert_reading(g.ecc_dram_uncorrected_lifetime, 0);
    assert_reading(g.remapped_rows_failed, 0);
    assert_reading(g.bar1_total_bytes, 262144LL << 20);
    assert_reading(g.throttle_power_us, 26060182);
    assert_reading(g.power_average_mw, 79940);
    assert_reading(g.power_memory_mw, 38870);
    assert_absent(g.power_module_mw, READING_UNSUPPORTED);
    assert_reading(g.recovery_action, 0);
    assert_reading(g.mig_enabled, 0);
    assert_reading(g.clock_graphics_max_khz, 1980000);
    assert_reading(g.power_limit_min_mw, 200000);
    assert_reading(g.power_limit_max_mw, 700000);
    assert_reading(g.temp_limit_mdegc, 89000);
    assert_reading(g.pcie_generation, 5);
    assert_reading(g.temp_shutdown_mdegc, 95000);
    assert_reading(g.temp_max_operating_mdegc, 87000);
    assert_absent(g.temp_target_mdegc, READING_UNSUPPORTED);
    assert_reading(g.fan_count, 0);
    assert_reading(g.persistence_mode, 1);
    assert_string_equal(g.architecture.value, "Hopper");
    assert_string_equal(g.brand.value, "NVIDIA");
    assert_string_equal(g.compute_capability.value, "9.0");
    assert_string_equal(g.virtualization.value, "pass-through");
    assert_string_equal(g.pci_device_id.value, "10de:2335");
    assert_string_equal(g.pci_subsystem_id.value, "10de:18bf");
    assert_string_equal(g.memory_kind.value, "dedicated");
    assert_string_equal(g.driver_version.value, "580.159.04");
    end(&g);
}

static void reads_faults_place_by_place(void **state)
{
    (void)state;
    struct gpu g =
        first_sample("", "gpu X\n sram 10\n banks 7\n repair 1\n unrepairable 1\n remapped 2\n remap_pending 1\n", GROUP_ALL);
    assert_reading(g.ecc_sram_parity_lifetime, 10);
    assert_reading(g.ecc_sram_secded_lifetime, 11);
    assert_reading(g.ecc_sram_corrected_lifetime, 12);
    assert_reading(g.ecc_sram_parity, 13);
    assert_reading(g.ecc_sram_secded, 14);
    assert_reading(g.ecc_sram_corrected, 15);
    assert_reading(g.ecc_sram_from_l2, 16);
    assert_reading(g.ecc_sram_from_sm, 17);
    assert_reading(g.ecc_sram_from_pcie, 18);
    assert_reading(g.ecc_sram_from_mcu, 19);
    assert_reading(g.ecc_sram_from_other, 20);
    assert_reading(g.ecc_sram_threshold, 1);
    assert_reading(g.remap_banks_max, 7);
    assert_reading(g.remap_banks_none, 4);
    assert_reading(g.channel_repair_pending, 1);
    assert_reading(g.tpc_repair_pending, 0);
    assert_reading(g.unrepairable_memory, 1);
    assert_reading(g.remapped_rows_corrected, 2);
    assert_reading(g.remapped_rows_pending, 1);
    end(&g);
}

/* By the documentation of R615: no such driver was seen. */
static void reads_what_drivers_since_615_have(void **state)
{
    (void)state;
    struct gpu g = first_sample(
        "", "gpu X\n temperature 70\n hottest 84\n mizer 1\n bank_remaps 3\n bank_pending 1\n throttle 0x600\n", GROUP_ALL);
    assert_reading(g.temp_hotspot_mdegc, 84000);
    assert_reading(g.power_mizer, 1);
    assert_reading(g.bank_remap_active, 3);
    assert_reading(g.bank_remap_inactive, 1);
    assert_reading(g.bank_remap_pending, 1);
    assert_reading(g.bank_remap_groups_max, 62);
    assert_reading(g.bank_remap_groups_none, 2);
    assert_reading(g.throttle_bits, THROTTLE_RELIABILITY | THROTTLE_OTHER);
    end(&g);
    g = first_sample("", "gpu X\n temperature 70\n hottest 0\n", GROUP_ALL); /* cooler than the chip */
    assert_absent(g.temp_hotspot_mdegc, READING_UNSUPPORTED);
    end(&g);
}

static void older_drivers_refuse_the_hottest_sensor_once(void **state)
{
    (void)state;
    static const char *const releases[] = {"-470", "-580"};
    for (size_t i = 0; i < ARRAY_LEN(releases); i++) {
        struct gpu g = first_sample(releases[i], "gpu X\n temperature 70\n", GROUP_ALL);
        assert_absent(g.temp_hotspot_mdegc, READING_UNSUPPORTED);
        assert_absent(g.power_mizer, READING_UNSUPPORTED);
        assert_absent(g.bank_remap_pending, READING_UNSUPPORTED);
        gpu_done(&g);
        m.reset_calls();
        g = fake_machine_sample(&m, 0, GROUP_ALL);
        assert_int_equal(m.calls("nvmlDeviceGetTemperature"), 1); /* the chip's alone */
        assert_int_equal(m.calls("nvmlDeviceGetTemperatureV") + m.calls("nvmlDeviceGetPowerMizerMode_v1") +
                             m.calls("nvmlDeviceGetBankRemapperStatus_v1"),
                         0);
        end(&g);
    }
}

static void reads_where_the_card_stands(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n slot 3\n module 6\n fabric 3\n clique 5\n c2c 1\n sms 132\n encryption 1\n",
                                GROUP_SLOW | GROUP_STATIC);
    assert_reading(g.platform_slot, 3);
    assert_reading(g.platform_tray, 4);
    assert_reading(g.platform_host, 5);
    assert_reading(g.module_id, 6);
    assert_reading(g.fabric_ready, 1);
    assert_reading(g.fabric_clique, 5);
    assert_reading(g.c2c_enabled, 1);
    assert_reading(g.compute_units, 132);
    assert_reading(g.dram_encryption, 1);
    end(&g);
    g = first_sample("", "gpu X\n fabric 2\n clique 5\n", GROUP_SLOW);
    assert_reading(g.fabric_ready, 0);
    assert_absent(g.fabric_clique, READING_UNSUPPORTED);
    end(&g);
    g = first_sample("", "gpu X\n", GROUP_SLOW);
    assert_absent(g.fabric_ready, READING_UNSUPPORTED);
    end(&g);
}

static void a_card_in_no_rack_has_no_slot(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n slot 0\n", GROUP_SLOW | GROUP_STATIC);
    assert_absent(g.platform_slot, READING_UNSUPPORTED);
    assert_absent(g.platform_host, READING_UNSUPPORTED);
    end(&g);
}

static void tells_driver_cuda_and_library_versions(void **state)
{
    (void)state;
    fake_machine_init(&m, "-535.104", "driver 535.104.05\nnvml 12.535.104\ncuda 12020\ngpu X\n");
    assert_int_equal(fake_machine_open(&m), 0);
    struct driver_info info = {0};
    nvml_source.driver(m.source, &info);
    assert_string_equal(info.driver_version, "535.104.05");
    assert_string_equal(info.cuda_version, "12.2");
    assert_string_equal(info.nvml_version, "12.535.104");
    fake_machine_done(&m);
}

static void asks_for_what_is_unsupported_only_once(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n encoder na\n margin na\n ecc na\n", GROUP_ALL);
    gpu_done(&g);
    m.reset_calls();
    g = fake_machine_sample(&m, 0, GROUP_ALL);
    assert_absent(g.encoder_permille, READING_UNSUPPORTED);
    assert_absent(g.ecc_enabled, READING_UNSUPPORTED);
    assert_int_equal(m.calls("nvmlDeviceGetEncoderUtilization"), 0);
    assert_int_equal(m.calls("nvmlDeviceGetMarginTemperature"), 0);
    assert_int_equal(m.calls("nvmlDeviceGetEccMode"), 0);
    assert_int_equal(m.calls("nvmlDeviceGetMigMode"), 0);
    assert_int_equal(m.calls("nvmlDeviceGetDecoderUtilization"), 1);
    end(&g);
}

static void asks_again_for_what_was_denied_with_the_static_group(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "fail nvmlDeviceGetPowerUsage 4\ngpu X\n", GROUP_FAST);
    assert_absent(g.power_mw, READING_DENIED);
    gpu_done(&g);
    m.script("gpu X\n");
    g = fake_machine_sample(&m, 0, GROUP_FAST);
    assert_absent(g.power_mw, READING_DENIED);
    gpu_done(&g);
    g = fake_machine_sample(&m, 0, GROUP_FAST | GROUP_STATIC);
    assert_reading(g.power_mw, 60000);
    end(&g);
}

static void never_asks_for_pcie_throughput_nor_a_passive_cards_fan(void **state)
{
    (void)state;
    struct gpu g = first_sample("", one_h200, GROUP_ALL);
    gpu_done(&g);
    g = fake_machine_sample(&m, 0, GROUP_ALL);
    assert_int_equal(m.calls("nvmlDeviceGetPcieThroughput"), 0);
    assert_int_equal(m.calls("nvmlDeviceGetFanSpeed_v2") + m.calls("nvmlDeviceGetFanSpeed"), 0);
    end(&g);
}

static void shows_the_fastest_of_several_fans(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n fans 3\n fan 40\n rpm 1500\n", GROUP_FAST | GROUP_STATIC);
    assert_reading(g.fan_permille, 400); /* the fake turns the others slower */
    assert_reading(g.fan_rpm, 1500);
    assert_reading(g.fan_count, 3);
    end(&g);
}

static void a_laptops_gpu_fan_comes_from_the_platform(void **state)
{
    (void)state;
    static const struct {
        const char *chassis, *script;
        bool found;
    } cases[] = {
        {"10\n", "gpu X\n fans 0\n", true},
        {"23\n", "gpu X\n fans 0\n", false},        /* a server */
        {"10\n", "gpu X\n fans 0\ngpu Y\n", false}, /* whose fan is it? */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fake_machine_init(&m, "", cases[i].script);
        fake_machine_file(&m, "/sys/class/dmi/id/chassis_type", cases[i].chassis);
        fake_machine_file(&m, "/sys/class/hwmon/hwmon3/fan1_label", "cpu_fan\n");
        fake_machine_file(&m, "/sys/class/hwmon/hwmon3/fan1_input", "1000\n");
        fake_machine_file(&m, "/sys/class/hwmon/hwmon3/fan2_label", "gpu_fan\n");
        fake_machine_file(&m, "/sys/class/hwmon/hwmon3/fan2_input", "2400\n");
        assert_int_equal(fake_machine_open(&m), 0);
        struct gpu g = fake_machine_sample(&m, 0, GROUP_FAST);
        assert_absent(g.fan_permille, READING_UNSUPPORTED);
        if (cases[i].found)
            assert_reading(g.fan_rpm, 2400);
        else
            assert_absent(g.fan_rpm, READING_UNSUPPORTED);
        end(&g);
    }
}

static void derives_the_limit_from_the_margin_where_there_is_no_threshold(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n temperature 38\n slowdown na\n margin 49\n field 194 -2\n", GROUP_STATIC);
    assert_reading(g.temp_limit_mdegc, 89000);
    end(&g);
    g = first_sample("", "gpu X\n slowdown na\n margin na\n", GROUP_FAST | GROUP_STATIC);
    assert_absent(g.temp_limit_mdegc, READING_UNSUPPORTED);
    end(&g);
}

static void asks_for_the_margin_when_the_temperature_has_changed(void **state)
{
    (void)state;
    static const char *const call = "nvmlDeviceGetMarginTemperature";
    struct gpu g = first_sample("", "gpu X\n temperature 38\n margin 49\n", GROUP_ALL);
    const struct {
        const char *script;
        unsigned groups;
        unsigned long calls;
        int64_t margin;
    } looks[] = {
        {"gpu X\n temperature 38\n margin 49\n", GROUP_QUICK | GROUP_SLOW, 0, 49000},
        {"gpu X\n temperature 39\n margin 48\n", GROUP_QUICK | GROUP_SLOW, 1, 48000},
        {"gpu X\n temperature 39\n margin 47\n", GROUP_QUICK | GROUP_SLOW, 0, 48000},
        {"gpu X\n temperature 39\n margin 47\n", GROUP_QUICK | GROUP_SLOW | GROUP_RARE, 1, 47000},
        {"gpu X\n temperature na\n margin 46\n", GROUP_QUICK | GROUP_SLOW, 1, 46000}, /* who knows */
        {"gpu X\n temperature na\n margin 45\n", GROUP_QUICK | GROUP_SLOW, 1, 45000},
    };
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        gpu_done(&g);
        m.script(looks[i].script);
        m.reset_calls();
        g = fake_machine_sample(&m, 0, looks[i].groups);
        assert_reading(g.temp_margin_mdegc, looks[i].margin);
        assert_int_equal(m.calls(call), looks[i].calls);
    }
    end(&g);
}

/* The plain call of an H200 is a mean over a second: 0.3 s after the end of a load it has most of it. */
static void power_is_that_of_this_instant_where_the_driver_knows_it(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 2\n power 626000\n field 185.0 626000\n field 186.0 121000\n", GROUP_ALL);
    assert_reading(g.power_mw, 121000);
    assert_reading(g.power_instant_mw, 121000);
    assert_reading(g.power_average_mw, 626000);
    assert_int_equal(m.calls("nvmlDeviceGetPowerUsage"), 0);
    gpu_done(&g);
    m.reset_calls();
    g = fake_machine_sample(&m, 0, GROUP_FAST);
    assert_reading(g.power_mw, 121000);
    assert_int_equal(m.calls("nvmlDeviceGetPowerUsage"), 0);
    end(&g);
}

static void power_is_the_drivers_average_where_nothing_else_is_known(void **state)
{
    (void)state;
    static const char *const scripts[] = {"gpu X\n power 626000\n", "gpu X\n power 626000\n field 186.0 0\n",
                                          "gpu X\n power 626000\n field 186.0 fail 2\n"};
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        struct gpu g = first_sample("", scripts[i], GROUP_FAST);
        assert_reading(g.power_mw, 626000);
        assert_absent(g.power_instant_mw, READING_UNSUPPORTED);
        end(&g);
    }
}

static void takes_power_from_the_module_where_the_gpu_has_none(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n power na\n field 186.1 300000\n", GROUP_FAST);
    assert_reading(g.power_mw, 300000);
    gpu_done(&g);
    m.reset_calls();
    g = fake_machine_sample(&m, 0, GROUP_FAST);
    assert_reading(g.power_mw, 300000);
    assert_int_equal(m.calls("nvmlDeviceGetPowerUsage"), 0);
    end(&g);
}

static void drops_numbers_that_cannot_be(void **state)
{
    (void)state;
    struct gpu g = first_sample(
        "", "gpu X\n gpu_util 37100\n power 0xfffffff0\n pstate 32\n field 82 nan\n graphics 4294967295\n temperature 4294967295\n",
        GROUP_FAST);
    assert_absent(g.util_permille, READING_IMPLAUSIBLE);
    assert_absent(g.power_mw, READING_IMPLAUSIBLE);
    assert_absent(g.pstate, READING_UNSUPPORTED);
    assert_absent(g.temp_memory_mdegc, READING_IMPLAUSIBLE);
    assert_absent(g.clock_graphics_khz, READING_IMPLAUSIBLE);
    assert_absent(g.temp_mdegc, READING_IMPLAUSIBLE);
    assert_reading(g.power_limit_mw, 450000);
    end(&g);
}

static void shows_reasons_it_does_not_know_as_other(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n throttle 0x1040\n", GROUP_FAST);
    assert_reading(g.throttle_bits, THROTTLE_HW_THERMAL | THROTTLE_OTHER);
    end(&g);
}

static void counts_the_reserve_as_used_only_with_the_old_call(void **state)
{
    (void)state;
    struct gpu g = first_sample("-470", "gpu X\n total 24564\n used 1000\n reserved 500\n", GROUP_FAST);
    assert_reading(g.mem_used_bytes, 1500LL << 20);
    assert_reading(g.mem_free_bytes, (24564LL - 1500) << 20);
    assert_absent(g.mem_reserved_bytes, READING_UNSUPPORTED);
    end(&g);
    g = first_sample("", "fail nvmlDeviceGetMemoryInfo_v2 25\ngpu X\n total 24564\n used 1000\n reserved 500\n", GROUP_FAST);
    assert_reading(g.mem_used_bytes, 1500LL << 20);
    gpu_done(&g);
    g = fake_machine_sample(&m, 0, GROUP_FAST);
    assert_int_equal(m.calls("nvmlDeviceGetMemoryInfo_v2"), 1);
    end(&g);
}

/* GB10: the pool is the host's, and what can still be had is what the host has available, less a reserve. */
static void memory_that_is_the_hosts_is_read_from_the_host(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu NVIDIA GB10\n profile gb10\n total 122000\n", GROUP_FAST | GROUP_STATIC);
    assert_absent(g.mem_total_bytes, READING_UNSUPPORTED); /* no /proc/meminfo */
    assert_absent(g.mem_used_bytes, READING_UNSUPPORTED);
    assert_absent(g.mem_free_bytes, READING_UNSUPPORTED);
    assert_string_equal(g.memory_kind.value, "shared");
    end(&g);
    if (!on_linux())
        return;

    /* A name we do not know, but its memory is exactly the host's. */
    fake_machine_init(&m, "", "gpu NVIDIA Something\n total 122000\n reserved 0\n");
    char meminfo[128];
    snprintf(meminfo, sizeof meminfo, "MemTotal:  %d kB\nMemFree: 1 kB\nMemAvailable: %d kB\n", 122000 * 1024, 10 << 20);
    fake_machine_file(&m, "/proc/meminfo", meminfo);
    assert_int_equal(fake_machine_open(&m), 0);
    g = fake_machine_sample(&m, 0, GROUP_FAST | GROUP_STATIC);
    assert_reading(g.mem_total_bytes, 122000LL << 20);
    assert_reading(g.mem_used_bytes, (122000LL << 20) - (10LL << 30));
    assert_reading(g.mem_free_bytes, (10LL << 30) - (122000LL << 20) / 64);
    assert_absent(g.mem_reserved_bytes, READING_UNSUPPORTED);
    assert_string_equal(g.memory_kind.value, "shared");
    end(&g);
}

static void works_with_every_release_of_the_driver(void **state)
{
    (void)state;
    static const char *const releases[] = {"-390", "-470", "-510", "-535.43", "-535.98", "-535.104", "-580"};
    for (size_t i = 0; i < ARRAY_LEN(releases); i++) {
        struct gpu g = first_sample(releases[i], one_geforce, GROUP_ALL);
        assert_int_equal(g.state, GPU_OK);
        assert_reading(g.temp_mdegc, 45000);
        assert_reading(g.power_mw, 60000);
        assert_reading(g.mem_total_bytes, 24564LL << 20);
        assert_int_equal(g.processes_state, READING_OK);
        for (size_t k = 0; k < METRIC_COUNT; k++)
            assert_int_not_equal(g.metric[k].state, READING_UNREAD);
        end(&g);
    }
}

static void errors_of_links_are_summed_and_the_worst_link_named(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n field 91 18\n nvlinks_active 18\n nvlink_errors 312\n", GROUP_RARE);
    assert_reading(g.nvlink_errors, 18 * (1 + 2 + 3 + 4) + 312);
    assert_reading(g.nvlink_replays, 18 + 312);
    assert_reading(g.nvlink_crc_data_errors, 18 * 4);
    assert_reading(g.nvlink_worst_link, 3);
    end(&g);
    g = first_sample("", "gpu X\n field 91 18\n nvlinks_active 18\n", GROUP_RARE); /* as Blackwell answers */
    assert_absent(g.nvlink_errors, READING_UNSUPPORTED);
    assert_int_equal(m.calls("nvmlDeviceGetNvLinkErrorCounter"), 1);
    end(&g);
}

static void links_count_what_the_card_has(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n field 91 18\n nvlinks_active 12\n", GROUP_SLOW);
    assert_reading(g.nvlink_links, 18);
    assert_reading(g.nvlink_links_active, 12);
    assert_int_equal(m.calls("nvmlDeviceGetNvLinkState"), 18);
    end(&g);
    g = first_sample("", "gpu X\n", GROUP_SLOW);
    assert_absent(g.nvlink_links, READING_UNSUPPORTED);
    assert_int_equal(m.calls("nvmlDeviceGetNvLinkState"), 0);
    end(&g);
}

static void takes_traffic_from_byte_counters_without_gpm(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n field 197 1000000\n field 198 5\n", GROUP_ALL);
    assert_absent(g.pcie_tx_bytes_per_s, READING_PENDING);
    gpu_done(&g);
    m.script("gpu X\n field 197 3000000\n field 198 4\n");
    clock_manual_advance_ms(&m.clock, 2000);
    g = fake_machine_sample(&m, 0, GROUP_FAST);
    assert_reading(g.pcie_tx_bytes_per_s, 1000000);
    assert_absent(g.pcie_rx_bytes_per_s, READING_PENDING); /* the counter began anew */
    assert_absent(g.nvlink_tx_bytes_per_s, READING_UNSUPPORTED);
    end(&g);
}

/* In 32 bits it comes around every few seconds of a busy link, and there is no way to know how often. */
static void adds_up_bytes_only_from_counters_that_do_not_come_around(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n field 197 1000000\n field 198 5 32bit\n", GROUP_ALL);
    assert_absent(g.pcie_tx_bytes, READING_UNSUPPORTED); /* nothing was counted yet */
    gpu_done(&g);
    static const struct {
        const char *script;
        int64_t sent;
    } steps[] = {{"gpu X\n field 197 3000000\n field 198 9 32bit\n", 2000000},
                 {"gpu X\n field 197 40\n field 198 10 32bit\n", 2000000}, /* the driver was loaded anew */
                 {"gpu X\n field 197 45\n field 198 11 32bit\n", 2000005}};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        m.script(steps[i].script);
        clock_manual_advance_ms(&m.clock, 1000);
        g = fake_machine_sample(&m, 0, GROUP_FAST);
        assert_reading(g.pcie_tx_bytes, steps[i].sent);
        assert_absent(g.pcie_rx_bytes, READING_UNSUPPORTED);
        if (i + 1 < ARRAY_LEN(steps))
            gpu_done(&g);
    }
    end(&g);
}

static void a_first_look_knows_the_last_second_from_the_driver(void **state)
{
    (void)state;
    fake_machine_init(&m, "", "gpu X\n gpu_util 42\n power 81000\n");
    assert_int_equal(fake_machine_open(&m), 0);
    clock_manual_advance_ms(&m.clock, 1000); /* the fake's readings are of the second that began there */
    struct gpu g = fake_machine_sample(&m, 0, GROUP_ALL | GROUP_PAST), without = fake_machine_sample(&m, 0, GROUP_ALL);
    assert_int_equal(without.before_count, 0);
    assert_true(g.before_count >= 1 && g.before_count <= 4);
    for (size_t i = 0; i < g.before_count; i++) {
        assert_reading(g.before[i].util_permille, 420);
        assert_reading(g.before[i].power_mw, 81000);
        assert_true(i == 0 || g.before[i].at.ms > g.before[i - 1].at.ms);
    }
    gpu_done(&g);
    gpu_done(&without);
    fake_machine_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_first_look_knows_the_last_second_from_the_driver),
        TEST(lists_cards_with_identity),
        TEST(cleans_names_that_are_not_text),
        TEST(reads_the_fast_group),
        TEST(reads_only_the_groups_asked_for),
        TEST(reads_slow_and_static_groups),
        TEST(reads_faults_place_by_place),
        TEST(reads_what_drivers_since_615_have),
        TEST(older_drivers_refuse_the_hottest_sensor_once),
        TEST(reads_where_the_card_stands),
        TEST(a_card_in_no_rack_has_no_slot),
        TEST(tells_driver_cuda_and_library_versions),
        TEST(asks_for_what_is_unsupported_only_once),
        TEST(asks_again_for_what_was_denied_with_the_static_group),
        TEST(never_asks_for_pcie_throughput_nor_a_passive_cards_fan),
        TEST(shows_the_fastest_of_several_fans),
        TEST(a_laptops_gpu_fan_comes_from_the_platform),
        TEST(derives_the_limit_from_the_margin_where_there_is_no_threshold),
        TEST(asks_for_the_margin_when_the_temperature_has_changed),
        TEST(power_is_that_of_this_instant_where_the_driver_knows_it),
        TEST(power_is_the_drivers_average_where_nothing_else_is_known),
        TEST(takes_power_from_the_module_where_the_gpu_has_none),
        TEST(drops_numbers_that_cannot_be),
        TEST(shows_reasons_it_does_not_know_as_other),
        TEST(counts_the_reserve_as_used_only_with_the_old_call),
        TEST(memory_that_is_the_hosts_is_read_from_the_host),
        TEST(works_with_every_release_of_the_driver),
        TEST(errors_of_links_are_summed_and_the_worst_link_named),
        TEST(links_count_what_the_card_has),
        TEST(takes_traffic_from_byte_counters_without_gpm),
        TEST(adds_up_bytes_only_from_counters_that_do_not_come_around),
    };
    return RUN_TESTS(tests);
}
