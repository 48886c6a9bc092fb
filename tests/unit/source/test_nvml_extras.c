/* SPDX-License-Identifier: Apache-2.0
 * Profiling metrics, instances, events, and what doctor is told.
 */
#include "base/cleanup.h"
#include "fake_nvml.h"

static struct fake_machine m;

static void opened(const char *release, const char *script)
{
    fake_machine_init(&m, release, script);
    assert_int_equal(fake_machine_open(&m), 0);
}

static struct gpu sample_after(int64_t ms, unsigned groups)
{
    clock_manual_advance_ms(&m.clock, ms);
    return fake_machine_sample(&m, 0, groups);
}

/* GPM */

static const char busy[] = "gpu X\n profile h200\n gpm 1 99.9999\n gpm 2 96.6\n gpm 3 14.2756\n gpm 5 93.7445\n gpm 10 16.4217\n"
                           " gpm 20 20.2325\n gpm 21 27.5\n gpm 60 nan\n gpm 61 -4\n gpm 13 37100\n";

static void profiling_values_come_with_the_second_sample(void **state)
{
    (void)state;
    opened("", busy);
    struct gpu g = sample_after(0, GROUP_ALL);
    assert_absent(g.sm_active_permille, READING_PENDING);
    assert_absent(g.pcie_tx_bytes_per_s, READING_PENDING);
    gpu_done(&g);
    g = sample_after(1000, GROUP_FAST);
    assert_reading(g.graphics_active_permille, 1000);
    assert_reading(g.sm_active_permille, 966);
    assert_reading(g.sm_occupancy_permille, 143);
    assert_reading(g.tensor_active_permille, 937);
    assert_reading(g.dram_active_permille, 164);
    assert_reading(g.pcie_tx_bytes_per_s, 21215314);
    assert_reading(g.pcie_rx_bytes_per_s, 28835840);
    assert_absent(g.nvlink_rx_bytes_per_s, READING_IMPLAUSIBLE);
    assert_absent(g.nvlink_tx_bytes_per_s, READING_IMPLAUSIBLE);
    assert_absent(g.fp16_active_permille, READING_IMPLAUSIBLE);
    gpu_done(&g);
    fake_machine_done(&m);
}

/* The mean of each span times the span, however long it was: a counter, and not a guess from moments. */
static void bytes_over_pcie_are_those_between_profiling_samples(void **state)
{
    (void)state;
    opened("", busy);
    struct gpu g = sample_after(0, GROUP_ALL);
    assert_absent(g.pcie_tx_bytes, READING_UNSUPPORTED);
    gpu_done(&g);
    g = sample_after(1000, GROUP_FAST);
    assert_reading(g.pcie_tx_bytes, 21215314);
    assert_reading(g.pcie_rx_bytes, 28835840);
    gpu_done(&g);
    g = sample_after(10, GROUP_FAST); /* too soon: nothing new was counted */
    assert_reading(g.pcie_rx_bytes, 28835840);
    gpu_done(&g);
    g = sample_after(1990, GROUP_FAST);
    assert_reading(g.pcie_rx_bytes, 3 * 28835840);
    gpu_done(&g);
    g = sample_after(1000, GROUP_FAST | GROUP_LEAN); /* while a game runs it is not asked, and still has its last */
    assert_reading(g.pcie_rx_bytes, 3 * 28835840);
    gpu_done(&g);
    fake_machine_done(&m);
}

static void a_quick_one_shot_does_not_pay_for_profiling(void **state)
{
    (void)state;
    opened("", busy);
    struct gpu g = sample_after(0, GROUP_QUICK);
    assert_absent(g.sm_active_permille, READING_PENDING);
    assert_int_equal(m.calls("nvmlGpmSampleAlloc") + m.calls("nvmlGpmSampleGet") + m.calls("nvmlGpmQueryDeviceSupport"), 0);
    assert_int_equal(m.calls("nvmlEventSetCreate"), 0);
    assert_absent(g.xid_last, READING_PENDING);
    gpu_done(&g);
    g = sample_after(1000, GROUP_QUICK);
    gpu_done(&g);
    g = sample_after(1000, GROUP_QUICK);
    assert_reading(g.sm_active_permille, 966);
    gpu_done(&g);
    fake_machine_done(&m);
}

/* Every ten seconds while no client looks, every thirty of an idle GPU, at once when a client looks. */
static void without_viewers_profiling_is_asked_less_often(void **state)
{
    (void)state;
    enum { UNSEEN = GROUP_FAST | GROUP_UNSEEN };
    static const struct {
        const char *script;
        int64_t rests_ms;
    } cases[] = {{"gpu X\n gpu_util 50\n profile h200\n gpm 1 50\n gpm 2 96.6\n", 10000},
                 {"gpu X\n gpu_util 0\n profile h200\n gpm 1 0\n gpm 2 0\n", 30000}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        opened("", cases[i].script);
        struct gpu g = sample_after(0, GROUP_ALL);
        gpu_done(&g);
        g = sample_after(1000, GROUP_FAST);
        gpu_done(&g);
        m.reset_calls();
        for (int64_t ms = 5000; ms <= cases[i].rests_ms; ms += 5000) {
            g = sample_after(5000, UNSEEN);
            assert_int_equal(m.calls("nvmlGpmSampleGet"), ms == cases[i].rests_ms);
            assert_int_equal(g.sm_active_permille.state, READING_OK);
            gpu_done(&g);
        }
        g = sample_after(1000, GROUP_FAST);
        assert_int_equal(m.calls("nvmlGpmSampleGet"), 2);
        gpu_done(&g);
        fake_machine_done(&m);
    }
}

static void samples_close_together_share_their_profiling_values(void **state)
{
    (void)state;
    opened("", busy);
    struct gpu g = sample_after(0, GROUP_ALL);
    gpu_done(&g);
    g = sample_after(1000, GROUP_FAST);
    gpu_done(&g);
    m.reset_calls();
    g = sample_after(10, GROUP_FAST);
    assert_reading(g.sm_active_permille, 966);
    assert_int_equal(m.calls("nvmlGpmSampleGet"), 0);
    gpu_done(&g);
    fake_machine_done(&m);
}

/* A live view shows none of them: ten seconds are soon enough, and the first frame does not wait for it. */
static void a_glance_asks_for_profiling_values_now_and_then(void **state)
{
    (void)state;
    enum { GLANCE = GROUP_QUICK | GROUP_STATIC | GROUP_GLANCE };
    opened("", busy);
    struct gpu g = sample_after(0, GLANCE);
    assert_int_equal(m.calls("nvmlGpmSampleAlloc") + m.calls("nvmlGpmSampleGet"), 0);
    for (int i = 0; i < 3; i++) {
        gpu_done(&g);
        g = sample_after(1000, GLANCE);
    }
    assert_reading(g.sm_active_permille, 966);
    unsigned long before = m.calls("nvmlGpmMetricsGet");
    for (int i = 0; i < 8; i++) {
        gpu_done(&g);
        g = sample_after(1000, GLANCE);
        assert_reading(g.sm_active_permille, 966);
    }
    assert_int_equal(m.calls("nvmlGpmMetricsGet"), before);
    gpu_done(&g);
    g = sample_after(2000, GLANCE);
    assert_int_equal(m.calls("nvmlGpmMetricsGet"), before + 1);
    gpu_done(&g);
    g = sample_after(1000, GROUP_QUICK);
    assert_int_equal(m.calls("nvmlGpmMetricsGet"), before + 2);
    gpu_done(&g);
    fake_machine_done(&m);
}

/* The activity of the engine costs more than all other values together. */
static void the_engine_of_a_resting_card_is_asked_once_a_minute(void **state)
{
    (void)state;
    opened("", "gpu X\n profile h200\n");
    struct gpu g = sample_after(0, GROUP_ALL);
    gpu_done(&g);
    g = sample_after(1000, GROUP_QUICK);
    assert_reading(g.graphics_active_permille, 0);
    m.script("gpu X\n profile h200\n gpm 1 7\n");
    for (int i = 0; i < 50; i++) {
        gpu_done(&g);
        g = sample_after(1000, GROUP_QUICK);
        assert_reading(g.graphics_active_permille, 0);
    }
    gpu_done(&g);
    g = sample_after(10000, GROUP_QUICK);
    assert_reading(g.graphics_active_permille, 70);
    m.script("gpu X\n profile h200\n");
    gpu_done(&g);
    g = sample_after(1000, GROUP_QUICK);
    assert_reading(g.graphics_active_permille, 0);
    m.script("gpu X\n profile h200\n gpm 1 9\n gpm 2 3\n"); /* something works again */
    gpu_done(&g);
    g = sample_after(1000, GROUP_QUICK);
    assert_reading(g.graphics_active_permille, 90);
    gpu_done(&g);
    fake_machine_done(&m);
}

static void cards_without_profiling_are_not_asked_twice(void **state)
{
    (void)state;
    opened("", "gpu X\n");
    for (int i = 0; i < 3; i++) {
        struct gpu g = sample_after(1000, GROUP_ALL);
        assert_absent(g.sm_active_permille, READING_UNSUPPORTED);
        gpu_done(&g);
    }
    assert_int_equal(m.calls("nvmlGpmQueryDeviceSupport"), 1);
    fake_machine_done(&m);
}

static void a_profiling_metric_that_is_refused_is_left_out(void **state)
{
    (void)state;
    opened("", "gpu X\n gpm 1\n gpm 2 50\n"); /* `gpm 1`: supported; only metric 2 has a value */
    struct gpu g = sample_after(0, GROUP_ALL);
    gpu_done(&g);
    g = sample_after(1000, GROUP_FAST);
    assert_reading(g.sm_active_permille, 500);
    assert_absent(g.tensor_active_permille, READING_UNSUPPORTED);
    gpu_done(&g);
    fake_machine_done(&m);
}

/* Instances */

static const char divided[] = "gpu NVIDIA A100-SXM4-40GB\n profile h200\n mig 1\n"
                              " instance 3g.20gb 2 0 20096 1000\n instance 1g.5gb 9 0 4864 10 MIG-aaaa\n"
                              " process 5 compute 900 in 2 0\n process 6 compute 7 in 9 0\n process 5 compute 11 in 9 0\n";

static void instances_stand_below_their_card(void **state)
{
    (void)state;
    opened("", divided);
    struct gpu g = sample_after(0, GROUP_ALL);
    assert_reading(g.mig_enabled, 1);
    assert_absent(g.util_permille, READING_UNSUPPORTED);
    assert_int_equal(g.instance_count, 2);
    const struct gpu *first = &g.instances[0], *second = &g.instances[1];
    assert_string_equal(first->profile, "3g.20gb");
    assert_string_equal(second->id.uuid, "MIG-aaaa");
    assert_string_equal(second->id.name, "NVIDIA A100-SXM4-40GB MIG 1g.5gb");
    assert_string_equal(second->id.pci_address, g.id.pci_address);
    assert_int_equal(second->index, 1);
    assert_reading(first->mem_total_bytes, 20096LL << 20);
    assert_reading(second->mem_used_bytes, 10LL << 20);
    assert_absent(first->temp_mdegc, READING_UNSUPPORTED);
    assert_reading(g.temp_mdegc, 38000);
    gpu_done(&g);
    fake_machine_done(&m);
}

static void processes_belong_to_their_instance(void **state)
{
    (void)state;
    opened("", divided);
    struct gpu g = sample_after(0, GROUP_QUICK);
    assert_int_equal(g.process_count, 3); /* pid 5 runs in two instances */
    assert_int_equal(g.processes[0].instance, 0);
    assert_int_equal(g.processes[1].instance, 1);
    assert_absent(g.processes[0].util_permille, READING_UNSUPPORTED);
    assert_int_equal(m.calls("nvmlDeviceGetProcessUtilization"), 0);
    assert_int_equal(g.instances[0].process_count, 1);
    assert_int_equal(g.instances[1].process_count, 2);
    assert_int_equal(g.instances[1].processes[0].pid, 6);
    assert_reading(g.instances[1].processes[1].mem_bytes, 11LL << 20);
    gpu_done(&g);
    fake_machine_done(&m);
}

static void each_instance_is_asked_where_the_whole_list_is_denied(void **state)
{
    (void)state;
    AUTO_BUF struct buf script = BUF(4096);
    buf_printf(&script, "%s mig_private 1\n", divided);
    opened("", script.at);
    struct gpu g = sample_after(0, GROUP_QUICK);
    assert_int_equal(g.processes_state, READING_OK);
    assert_int_equal(g.process_count, 3);
    assert_int_equal(g.instances[0].process_count, 1);
    assert_int_equal(g.instances[1].process_count, 2);
    gpu_done(&g);
    fake_machine_done(&m);
}

static void profiling_works_for_instances(void **state)
{
    (void)state;
    opened("", divided);
    struct gpu g = sample_after(0, GROUP_ALL);
    gpu_done(&g);
    g = sample_after(1000, GROUP_FAST);
    assert_reading(g.instances[0].sm_active_permille, 0);
    gpu_done(&g);
    fake_machine_done(&m);
}

static void dividing_a_card_is_noticed_with_the_rare_group(void **state)
{
    (void)state;
    opened("", "gpu X\n profile h200\n");
    struct gpu g = sample_after(0, GROUP_ALL);
    assert_int_equal(g.instance_count, 0);
    gpu_done(&g);
    m.script(divided);
    g = sample_after(1000, GROUP_FAST);
    assert_int_equal(g.instance_count, 0);
    gpu_done(&g);
    g = sample_after(1000, GROUP_FAST | GROUP_SLOW | GROUP_RARE);
    assert_int_equal(g.instance_count, 2);
    gpu_done(&g);
    m.script("gpu X\n profile h200\n");
    g = sample_after(1000, GROUP_FAST | GROUP_SLOW | GROUP_RARE);
    assert_int_equal(g.instance_count, 0);
    assert_reading(g.util_permille, 0); /* what a divided card refused is asked again */
    gpu_done(&g);
    fake_machine_done(&m);
}

static void the_environment_may_show_one_instance(void **state)
{
    (void)state;
    static const char *const lists[] = {"MIG-aaaa", "0:1"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        fake_machine_init(&m, "",
                          "gpu NVIDIA A100\n mig 1\n instance 3g.20gb 2 0 20096 1000\n instance 1g.5gb 9 0 4864 10 MIG-aaaa\n"
                          "gpu Other\n mig 1\n instance 1g.5gb 3 0 4864 10 MIG-cccc\n");
        m.env.visible_devices = lists[i];
        assert_int_equal(fake_machine_open(&m), 0);
        struct gpu_id ids[4];
        assert_int_equal(nvml_source.list(m.source, ids, 4), 1);
        assert_string_equal(ids[0].name, "NVIDIA A100");
        struct gpu g = sample_after(0, GROUP_QUICK);
        assert_int_equal(g.instance_count, 1);
        assert_string_equal(g.instances[0].id.uuid, "MIG-aaaa");
        gpu_done(&g);
        fake_machine_done(&m);
    }
}

/* Events */

static void critical_errors_arrive_once_and_stay_as_the_last(void **state)
{
    (void)state;
    opened("", "gpu A\ngpu B\n event xid 79\n event xid 4711\n");
    struct gpu g = sample_after(0, GROUP_ALL);
    assert_absent(g.xid_last, READING_PENDING);
    gpu_done(&g);
    struct event events[8];
    assert_int_equal(nvml_source.events(m.source, events, 8), 2);
    assert_int_equal(events[0].kind, EVENT_DRIVER_FAULT);
    assert_int_equal(events[0].gpu_index, 1);
    assert_int_equal(events[0].code, 79);
    assert_string_equal(events[0].text, "XID 79: the GPU fell off the bus: the host can no longer reach it");
    assert_string_equal(events[1].text, "XID 4711");
    assert_int_equal(events[0].at.ms, clock_wall(m.env.clock).ms);
    assert_int_equal(nvml_source.events(m.source, events, 8), 0);
    g = fake_machine_sample(&m, 1, GROUP_FAST);
    assert_reading(g.xid_last, 4711);
    gpu_done(&g);
    fake_machine_done(&m);
}

static void no_more_events_than_there_is_room_for(void **state)
{
    (void)state;
    opened("", "gpu A\n event xid 13\n event xid 31\n event 2\n");
    struct gpu g = sample_after(0, GROUP_ALL);
    gpu_done(&g);
    struct event events[2];
    assert_int_equal(nvml_source.events(m.source, events, 2), 2);
    assert_int_equal(nvml_source.events(m.source, events, 2), 1);
    assert_int_equal(events[0].kind, EVENT_ECC);
    fake_machine_done(&m);
}

static void a_driver_without_events_is_no_failure(void **state)
{
    (void)state;
    opened("", "fail nvmlEventSetCreate 3\ngpu A\n event xid 13\n");
    struct gpu g = sample_after(0, GROUP_ALL);
    assert_int_equal(g.state, GPU_OK);
    gpu_done(&g);
    struct event events[2];
    assert_int_equal(nvml_source.events(m.source, events, 2), 0);
    fake_machine_done(&m);
}

/* Doctor */

static void doctor_learns_what_is_missing_and_refused(void **state)
{
    (void)state;
    opened("-470", "gpu A\n encoder na\n fail nvmlDeviceGetPowerUsage 4\n");
    struct gpu g = sample_after(0, GROUP_ALL);
    gpu_done(&g);
    AUTO_BUF struct buf out = BUF(65536);
    nvml_source.describe(m.source, &out);
    assert_non_null(strstr(out.at, "libnvidia-ml-fake-470.so"));
    assert_non_null(strstr(out.at, "driver 470.0.04"));
    assert_non_null(strstr(out.at, "nvmlDeviceGetMemoryInfo_v2"));
    assert_non_null(strstr(out.at, "process lists: version 2, 24 bytes"));
    assert_non_null(strstr(out.at, "encoder_percent: Not Supported"));
    assert_non_null(strstr(out.at, "power_watts: Insufficient Permissions"));
    assert_null(strstr(out.at, "temperature_celsius:"));
    fake_machine_done(&m);
}

static void doctor_learns_of_hidden_cards(void **state)
{
    (void)state;
    fake_machine_init(&m, "", "gpu A\ngpu B\n");
    m.env.visible_devices = "1";
    assert_int_equal(fake_machine_open(&m), 0);
    AUTO_BUF struct buf out = BUF(65536);
    nvml_source.describe(m.source, &out);
    assert_non_null(strstr(out.at, "NVIDIA_VISIBLE_DEVICES=1 hides 1"));
    fake_machine_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(profiling_values_come_with_the_second_sample),
        TEST(bytes_over_pcie_are_those_between_profiling_samples),
        TEST(a_quick_one_shot_does_not_pay_for_profiling),
        TEST(samples_close_together_share_their_profiling_values),
        TEST(without_viewers_profiling_is_asked_less_often),
        TEST(a_glance_asks_for_profiling_values_now_and_then),
        TEST(the_engine_of_a_resting_card_is_asked_once_a_minute),
        TEST(cards_without_profiling_are_not_asked_twice),
        TEST(a_profiling_metric_that_is_refused_is_left_out),
        TEST(instances_stand_below_their_card),
        TEST(processes_belong_to_their_instance),
        TEST(each_instance_is_asked_where_the_whole_list_is_denied),
        TEST(profiling_works_for_instances),
        TEST(dividing_a_card_is_noticed_with_the_rare_group),
        TEST(the_environment_may_show_one_instance),
        TEST(critical_errors_arrive_once_and_stay_as_the_last),
        TEST(no_more_events_than_there_is_room_for),
        TEST(a_driver_without_events_is_no_failure),
        TEST(doctor_learns_what_is_missing_and_refused),
        TEST(doctor_learns_of_hidden_cards),
    };
    return RUN_TESTS(tests);
}
