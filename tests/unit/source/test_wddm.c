/* SPDX-License-Identifier: Apache-2.0 */
#include "source/wddm/wddm.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "fake_wddm.h"
#include "test.h"

enum { AMD = 0x1002, INTEL = 0x8086, NVIDIA = 0x10de, ROUND = GROUP_ALL };
#define CARD UINT64_C(0x1c2e5)
#define CHIP UINT64_C(0x30000d1b6) /* both halves are used */

static const struct env nowhere = {.sysroot = ""};

static struct machine {
    struct source *source;
    struct gpu_id ids[8];
    int count;
} m;
static struct gpu gpu; /* the last one that was sampled */

/* A card with memory of its own, and a chip's graphics that shares the host's. */
static void two_adapters(void)
{
    fake_wddm_clear();
    fake_wddm_adapter(CARD, u"AMD Radeon RX 7600", AMD, 3)->size = (struct kmt_segment_size){8 * GIB_BYTES, 0, 16 * GIB_BYTES};
    fake_wddm_adapter(CHIP, u"Intel(R) UHD Graphics 770", INTEL, 0)->size =
        (struct kmt_segment_size){128 * MIB_BYTES, 0, 16 * GIB_BYTES};
    fake_wddm.adapters[1].address.device = 2;
}

static int set_up(void **state)
{
    (void)state;
    m = (struct machine){0};
    two_adapters();
    return 0;
}

static void start(void)
{
    struct error err = {0};
    assert_int_equal(wddm_open_with(&nowhere, &fake_wddm_calls, &m.source, &err), 0);
    m.count = wddm_source.list(m.source, m.ids, ARRAY_LEN(m.ids));
}

static int refresh(void)
{
    return wddm_source.refresh(m.source, ROUND, NULL);
}

static void sample(size_t which)
{
    gpu_done(&gpu);
    gpu = (struct gpu){0};
    wddm_source.sample(m.source, which, ROUND, &gpu);
}

/* The second look, which has rates. */
static void look_twice(size_t which)
{
    assert_int_equal(refresh(), 0);
    assert_int_equal(refresh(), 0);
    sample(which);
}

static int tear_down(void **state)
{
    (void)state;
    gpu_done(&gpu);
    gpu = (struct gpu){0};
    if (m.source)
        wddm_source.close(m.source);
    return fake_wddm.handles; /* none is left open */
}

static void assert_reads(struct reading r, int64_t expected)
{
    assert_int_equal(r.state, READING_OK);
    assert_true(r.value == expected);
}

static void lists_gpus_by_name_and_address(void **state)
{
    (void)state;
    start();
    assert_int_equal(m.count, 2);
    assert_string_equal(m.ids[0].name, "AMD Radeon RX 7600");
    assert_string_equal(m.ids[0].vendor, "amd");
    assert_string_equal(m.ids[0].pci_address, "0000:03:00.0");
    assert_string_equal(m.ids[1].pci_address, "0000:00:02.0");
    assert_string_equal(m.ids[1].vendor, "intel");
    look_twice(0);
    assert_string_equal(gpu.driver_version.value, "31.0.15.3623");
    assert_string_equal(gpu.pci_device_id.value, "1002:7480");
}

/* In a virtual machine a card may be the first device of the first bus of a segment of its own. */
static void an_address_has_its_segment(void **state)
{
    (void)state;
    fake_wddm_adapter(0x81, u"NVIDIA A10-4Q", 0x10de, 0xabcd00);
    fake_wddm_adapter(0x82, u"A card without an address", AMD, UINT32_MAX);
    fake_wddm_adapter(0x83, u"A card that says nothing", AMD, 0);
    struct fake_adapter *acpi = fake_wddm_adapter(0x84, u"Qualcomm(R) Adreno(TM)", 0x4d4f4351, 0);
    acpi->address.device = 3;
    start();
    assert_int_equal(m.count, 6);
    assert_string_equal(m.ids[2].pci_address, "abcd:00:00.0");
    for (int i = 3; i < m.count; i++)
        assert_string_equal(m.ids[i].pci_address, "");
}

static void what_is_drawn_in_software_is_no_gpu(void **state)
{
    (void)state;
    fake_wddm_adapter(0x77, u"Microsoft Basic Render Driver", 0x1414, 0);
    fake_wddm_adapter(0x78, u"Some Renderer", AMD, 9)->type |= KMT_SOFTWARE;
    fake_wddm_adapter(0x79, u"A display alone", AMD, 10)->type = 2;
    struct fake_adapter *npu = fake_wddm_adapter(0x80, u"Intel(R) AI Boost", INTEL, 0);
    npu->address.device = 11;
    npu->type = KMT_COMPUTE_ONLY;
    start();
    assert_int_equal(m.count, 3);
    assert_int_equal(m.ids[1].kind, DEVICE_GPU);
    assert_int_equal(m.ids[2].kind, DEVICE_NPU);
}

static void a_host_without_gpus_or_counters_says_so(void **state)
{
    (void)state;
    struct source *source = NULL;
    struct error err = {0};
    fake_wddm_clear();
    assert_int_equal(wddm_open_with(&nowhere, &fake_wddm_calls, &source, &err), -ENODEV);
    assert_string_equal(err.text, "Windows lists no graphics adapter with a driver of its maker");
    two_adapters();
    fake_wddm.no_counters = PDH_CSTATUS_NO_OBJECT;
    assert_int_equal(wddm_open_with(&nowhere, &fake_wddm_calls, &source, &err), -ENODEV);
    assert_non_null(strstr(err.text, "no performance counters of GPUs (PDH 0xc0000bb8)"));
    assert_int_equal(fake_wddm.handles, 0);
    fake_wddm.enum_fails = true;
    assert_int_equal(wddm_open_with(&nowhere, &fake_wddm_calls, &source, &err), -EIO);
}

static void load_is_that_of_the_busiest_engine(void **state)
{
    (void)state;
    fake_wddm_load(CARD, 10, 0, "3D", 20);
    fake_wddm_load(CARD, 11, 0, "3D", 25.04);
    fake_wddm_load(CARD, 10, 1, "Compute_0", 30);
    fake_wddm_load(CARD, 11, 5, "VideoDecode", 12);
    fake_wddm_load(CARD, 11, 6, "VideoEncode", 7.5);
    fake_wddm_load(CHIP, 10, 0, "3D", 90);
    start();
    look_twice(0);
    assert_reads(gpu.util_permille, 450);
    assert_reads(gpu.decoder_permille, 120);
    assert_reads(gpu.encoder_permille, 75);
    assert_int_equal(gpu.process_count, 2);
    assert_reads(gpu_find_process(&gpu, 10)->util_permille, 300);
    assert_int_equal(gpu_find_process(&gpu, 10)->type, PROCESS_COMPUTE);
    assert_reads(gpu_find_process(&gpu, 11)->util_permille, 250);
    assert_reads(gpu_find_process(&gpu, 11)->encoder_permille, 75);
    assert_int_equal(gpu_find_process(&gpu, 11)->type, PROCESS_GRAPHICS);
    sample(1);
    assert_reads(gpu.util_permille, 900);
    assert_int_not_equal(gpu.encoder_permille.state, READING_OK); /* it has no such engine */
}

static void a_first_look_has_no_rates_yet(void **state)
{
    (void)state;
    fake_wddm_load(CARD, 10, 0, "3D", 20);
    fake_wddm_memory(CARD, 0, GIB_BYTES, MIB_BYTES);
    fake_wddm_memory(CARD, 10, GIB_BYTES, MIB_BYTES);
    start();
    refresh();
    sample(0);
    assert_int_equal(gpu.util_permille.state, READING_PENDING);
    assert_int_equal(gpu_find_process(&gpu, 10)->util_permille.state, READING_PENDING);
    assert_reads(gpu.mem_used_bytes, GIB_BYTES);
}

static void memory_is_the_cards_own_or_the_hosts(void **state)
{
    (void)state;
    fake_wddm_memory(CARD, 0, 3 * GIB_BYTES, GIB_BYTES);
    fake_wddm_memory(CARD, 10, 2 * GIB_BYTES, GIB_BYTES);
    fake_wddm_memory(CARD, 12, 0, 0); /* only opened it */
    fake_wddm_memory(CHIP, 0, 64 * MIB_BYTES, GIB_BYTES);
    fake_wddm_memory(CHIP, 10, 64 * MIB_BYTES, GIB_BYTES);
    start();
    look_twice(0);
    assert_reads(gpu.mem_total_bytes, 8 * GIB_BYTES);
    assert_reads(gpu.mem_used_bytes, 3 * GIB_BYTES);
    assert_reads(gpu.mem_free_bytes, 5 * GIB_BYTES);
    assert_reads(gpu.gtt_used_bytes, GIB_BYTES);
    assert_reads(gpu.gtt_total_bytes, 16 * GIB_BYTES);
    assert_reads(gpu.util_permille, 0); /* it is counted, and nothing runs on it */
    assert_int_equal(gpu.process_count, 1);
    assert_reads(gpu.processes[0].mem_bytes, 2 * GIB_BYTES);
    sample(1);
    assert_reads(gpu.mem_total_bytes, 16 * GIB_BYTES + 128 * MIB_BYTES);
    assert_reads(gpu.mem_used_bytes, GIB_BYTES + 64 * MIB_BYTES);
    assert_reads(gpu.processes[0].mem_bytes, GIB_BYTES + 64 * MIB_BYTES);
    assert_true(gpu_shares_memory(&gpu));
}

static void sensors_are_read_where_a_driver_has_them(void **state)
{
    (void)state;
    struct fake_adapter *a = &fake_wddm.adapters[0];
    a->now = (struct kmt_performance){.temperature = 615, .power = 420, .memory_hz = 2250000000, .memory_max_hz = 2500000000};
    a->caps = (struct kmt_performance_caps){.fan_rpm_max = 3300, .temperature_warning = 1000, .temperature_max = 1100};
    a->node = (struct kmt_node_performance){.hz = 2625000000, .max_hz = 2755000000, .mv = 950};
    start();
    look_twice(0);
    assert_reads(gpu.temp_mdegc, 61500);
    assert_reads(gpu.temp_limit_mdegc, 100000);
    assert_reads(gpu.fan_rpm, 0); /* it has one, and it stands still */
    assert_reads(gpu.clock_graphics_khz, 2625000);
    assert_reads(gpu.clock_memory_khz, 2250000);
    assert_reads(gpu.clock_graphics_max_khz, 2755000);
    assert_reads(gpu.voltage_mv, 950);
    assert_int_equal(gpu.power_mw.state, READING_UNSUPPORTED); /* a share of an unknown maximum is no power */
    sample(1);
    assert_int_equal(gpu.temp_mdegc.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.fan_rpm.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.clock_graphics_khz.state, READING_UNSUPPORTED);
}

static void an_adapter_that_goes_is_lost_and_comes_back_in_its_place(void **state)
{
    (void)state;
    start();
    struct fake_adapter card = fake_wddm.adapters[0];
    fake_wddm.adapters[0] = fake_wddm.adapters[1];
    fake_wddm.adapter_count = 1;
    assert_int_equal(refresh(), 0);
    assert_true(wddm_source.changed(m.source));
    assert_int_equal(wddm_source.list(m.source, m.ids, ARRAY_LEN(m.ids)), 2);
    assert_false(wddm_source.changed(m.source));
    sample(0);
    assert_int_equal(gpu.state, GPU_LOST);
    /* Its driver was started again: another LUID, the same card. */
    card.luid = 0x9999;
    fake_wddm.adapters[fake_wddm.adapter_count++] = card;
    fake_wddm_load(0x9999, 10, 0, "3D", 50);
    look_twice(0);
    assert_int_equal(gpu.state, GPU_OK);
    assert_reads(gpu.util_permille, 500);
    assert_int_equal(wddm_source.list(m.source, m.ids, ARRAY_LEN(m.ids)), 2);
}

static void counters_that_vanish_leave_reasons(void **state)
{
    (void)state;
    fake_wddm_load(CARD, 10, 0, "3D", 20);
    fake_wddm_memory(CARD, 0, GIB_BYTES, MIB_BYTES);
    start();
    look_twice(0);
    assert_reads(gpu.util_permille, 200);
    static const struct {
        uint32_t status;
        enum reading_state reason;
    } cases[] = {{PDH_ACCESS_DENIED, READING_DENIED}, {PDH_CSTATUS_NO_COUNTER, READING_UNSUPPORTED}, {0xc0000bbc, READING_FAILED}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fake_wddm.values_status = cases[i].status;
        assert_int_equal(refresh(), 0);
        sample(0);
        assert_int_equal(gpu.util_permille.state, cases[i].reason);
        assert_int_equal(gpu.mem_used_bytes.state, cases[i].reason);
        assert_int_equal(gpu.processes_state, cases[i].reason);
        assert_reads(gpu.mem_total_bytes, 8 * GIB_BYTES);
    }
    fake_wddm.collect_status = 0xc0000bbc;
    assert_int_equal(refresh(), -EIO);
    fake_wddm.collect_status = PDH_ACCESS_DENIED;
    assert_int_equal(refresh(), -EACCES);
    fake_wddm.collect_status = fake_wddm.values_status = 0;
    look_twice(0);
    assert_reads(gpu.util_permille, 200);
}

/* Of an adapter that no counter names, nothing is known: no zeros. */
static void an_adapter_without_counters_has_no_load(void **state)
{
    (void)state;
    fake_wddm_load(CHIP, 10, 0, "3D", 20);
    start();
    look_twice(0);
    assert_int_equal(gpu.util_permille.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.mem_used_bytes.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.mem_free_bytes.state, READING_UNREAD);
}

static void values_that_cannot_be_are_left_out(void **state)
{
    (void)state;
    fake_wddm_load(CARD, 10, 0, "3D", NAN);
    fake_wddm_load(CARD, 11, 0, "3D", -5);
    fake_wddm_load(CARD, 12, 0, "3D", INFINITY);
    fake_wddm_load(CARD, 13, 0, "3D", 80);
    fake_wddm_load(CARD, 14, 0, "3D", 60); /* together more than there is */
    fake_wddm_load(CARD, 15, 0, "3D", 40);
    fake_wddm.values[fake_wddm.value_count - 1].status = 0xc0000bba;
    fake_wddm_memory(CARD, 0, INT64_MAX, -1);
    fake_wddm_value("GPU Adapter Memory", "Dedicated Usage", "luid_0x00000000_0x0001C2E5_phys_1")->whole = INT64_MAX;
    start();
    look_twice(0);
    assert_reads(gpu.util_permille, 1000);
    assert_int_equal(gpu.process_count, 2);
    assert_int_equal(gpu.mem_used_bytes.state, READING_IMPLAUSIBLE);
    assert_int_equal(gpu.gtt_used_bytes.state, READING_UNSUPPORTED);
}

static void lies_about_sizes_are_seen_through(void **state)
{
    (void)state;
    fake_wddm_load(CARD, 10, 0, "3D", 20);
    fake_wddm_memory(CARD, 0, GIB_BYTES, MIB_BYTES);
    start();
    fake_wddm.count_lie = 1 << 20;
    look_twice(0);
    assert_int_equal(gpu.util_permille.state, READING_FAILED);
    fake_wddm.count_lie = 0;
    fake_wddm.name_outside = true;
    look_twice(0);
    assert_int_equal(gpu.util_permille.state, READING_UNSUPPORTED);
    fake_wddm.name_outside = false;
    fake_wddm.name_unended = true;
    look_twice(0);
    assert_int_equal(gpu.process_count, 0);
    fake_wddm.name_unended = false;
    fake_wddm.grows = true;
    look_twice(0);
    assert_int_equal(gpu.mem_used_bytes.state, READING_FAILED);
}

static void hostile_names_stay_text(void **state)
{
    (void)state;
    static const uint16_t evil[] = {'G', 0x1b, '[', '2', 'J', 0xd800, 'x', 0xd83d, 0xde00, 0x202e, '\n', 0};
    uint16_t endless[KMT_PATH];
    for (size_t i = 0; i < KMT_PATH; i++)
        endless[i] = 0x65e5;
    fake_wddm.adapters[0].name = evil;
    fake_wddm.adapters[1].name = endless;
    start();
    assert_string_equal(m.ids[0].name, "G?[2J?x\xf0\x9f\x98\x80?");
    assert_true(strlen(m.ids[1].name) < sizeof m.ids[1].name && strlen(m.ids[1].name) % 3 == 0);
    fake_wddm.adapters[0].mute = true;
    look_twice(0);
    assert_int_equal(gpu.state, GPU_OK);
    assert_int_equal(gpu.temp_mdegc.state, READING_UNSUPPORTED);
}

static void names_of_instances_parse_strictly(void **state)
{
    (void)state;
    struct wddm_row row;
    assert_true(wddm_instance_parse(STR("pid_1234_luid_0x00000003_0x0000C2E5_phys_1_eng_3_engtype_VideoDecode"), &row));
    assert_int_equal(row.pid, 1234);
    assert_true(row.luid == UINT64_C(0x30000c2e5));
    assert_int_equal(row.engine, 1 << 16 | 3);
    assert_int_equal(row.type, ENGINE_DECODE);
    static const char *const wrong[] = {"",
                                        "_Total",
                                        "pid_",
                                        "pid_x_luid_0x0_0x1_phys_0",
                                        "pid_4294967296_luid_0x0_0x1_phys_0",
                                        "pid_4294967295_luid_0x0_0x1_phys_0",
                                        "luid_0x0",
                                        "luid_0x0_",
                                        "luid_0x1ffffffff_0x1_phys_0",
                                        "luid_0x0_0x1_phys_",
                                        "luid_0x0_0x1_phys_0_eng_99999",
                                        "luid_-1_0x1_phys_0"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(wddm_instance_parse(str_from(wrong[i]), &row));
}

static void more_than_there_is_room_for_is_cut(void **state)
{
    (void)state;
    fake_wddm_clear();
    for (uint32_t i = 0; i < FAKE_ADAPTERS; i++)
        fake_wddm_adapter(i + 1, u"AMD Radeon", AMD, i + 1);
    for (int i = 0; i < 2000; i++)
        fake_wddm_memory(1, i + 1, MIB_BYTES, 0);
    start();
    assert_int_equal(m.count, ARRAY_LEN(m.ids));
    look_twice(0);
    assert_int_equal(gpu.process_count, GPU_PROCESSES_MAX);
    assert_int_equal(gpu.processes_left_out, 2000 - GPU_PROCESSES_MAX);
}

#define WITH_TWO(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TWO(lists_gpus_by_name_and_address),
        WITH_TWO(an_address_has_its_segment),
        WITH_TWO(what_is_drawn_in_software_is_no_gpu),
        WITH_TWO(a_host_without_gpus_or_counters_says_so),
        WITH_TWO(load_is_that_of_the_busiest_engine),
        WITH_TWO(a_first_look_has_no_rates_yet),
        WITH_TWO(memory_is_the_cards_own_or_the_hosts),
        WITH_TWO(sensors_are_read_where_a_driver_has_them),
        WITH_TWO(an_adapter_that_goes_is_lost_and_comes_back_in_its_place),
        WITH_TWO(counters_that_vanish_leave_reasons),
        WITH_TWO(an_adapter_without_counters_has_no_load),
        WITH_TWO(values_that_cannot_be_are_left_out),
        WITH_TWO(lies_about_sizes_are_seen_through),
        WITH_TWO(hostile_names_stay_text),
        WITH_TWO(names_of_instances_parse_strictly),
        WITH_TWO(more_than_there_is_room_for_is_cut),
    };
    return RUN_TESTS(tests);
}
