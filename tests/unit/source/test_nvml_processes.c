/* SPDX-License-Identifier: Apache-2.0
 * Who is on a card: every layout of the process lists, merging, and the pitfalls of process utilization.
 */
#include "base/cleanup.h"
#include "fake_nvml.h"

static struct fake_machine m;

static struct gpu first_sample(const char *release, const char *script)
{
    fake_machine_init(&m, release, script);
    assert_int_equal(fake_machine_open(&m), 0);
    return fake_machine_sample(&m, 0, GROUP_QUICK);
}

static void end(struct gpu *g)
{
    gpu_done(g);
    fake_machine_done(&m);
}

static void lists_processes_in_every_layout(void **state)
{
    (void)state;
    static const struct {
        const char *release, *call;
    } layouts[] = {
        {"-390", "nvmlDeviceGetComputeRunningProcesses"},       {"-470", "nvmlDeviceGetComputeRunningProcesses_v2"},
        {"-510", "nvmlDeviceGetComputeRunningProcesses_v3"},    {"-535.43", "nvmlDeviceGetComputeRunningProcesses_v3"},
        {"-535.98", "nvmlDeviceGetComputeRunningProcesses_v2"}, {"-535.104", "nvmlDeviceGetComputeRunningProcesses_v3"},
        {"-580", "nvmlDeviceGetComputeRunningProcesses_v3"},
    };
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
        struct gpu g = first_sample(layouts[i].release, "gpu X\n gpu_util 50\n process 4242 compute 1002\n process 77 compute 30\n"
                                                        " process 900 graphics 512\n process 4243 compute 7\n");
        assert_int_equal(g.processes_state, READING_OK);
        assert_int_equal(g.process_count, 4);
        static const int pids[] = {4242, 77, 4243, 900}, mib[] = {1002, 30, 7, 512};
        for (size_t p = 0; p < 4; p++) {
            assert_int_equal(g.processes[p].pid, pids[p]);
            assert_reading(g.processes[p].mem_bytes, (int64_t)mib[p] << 20);
            assert_int_equal(g.processes[p].instance, -1);
        }
        assert_int_equal(g.processes[0].type, PROCESS_COMPUTE);
        assert_int_equal(g.processes[3].type, PROCESS_GRAPHICS);
        assert_int_equal(m.calls(layouts[i].call), 1);
        end(&g);
    }
}

static void a_process_in_both_lists_is_one_with_the_larger_memory(void **state)
{
    (void)state;
    struct gpu g = first_sample(
        "", "gpu X\n gpu_util 50\n process 5 compute 100\n process 5 graphics 250\n process 6 graphics na\n process 6 compute 9\n");
    assert_int_equal(g.process_count, 2);
    assert_int_equal(g.processes[0].type, PROCESS_BOTH);
    assert_reading(g.processes[0].mem_bytes, 250LL << 20);
    assert_int_equal(g.processes[1].type, PROCESS_BOTH);
    assert_reading(g.processes[1].mem_bytes, 9LL << 20);
    end(&g);
}

static void memory_of_all_ones_is_absent(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute na\n");
    assert_int_equal(g.process_count, 1);
    assert_absent(g.processes[0].mem_bytes, READING_UNSUPPORTED);
    end(&g);
}

static void mps_clients_are_compute_processes(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 mps 100\n process 5 compute 100\n process 8 mps 40\n");
    assert_int_equal(g.process_count, 2);
    assert_int_equal(g.processes[0].type, PROCESS_COMPUTE);
    assert_int_equal(g.processes[1].pid, 8);
    end(&g);
}

static void a_long_list_grows_and_is_cut_at_its_maximum(void **state)
{
    (void)state;
    AUTO_BUF struct buf script = BUF(1 << 20);
    buf_text(&script, "gpu X\n gpu_util 50\n");
    for (int i = 0; i < 1500; i++)
        buf_printf(&script, " process %d compute 1\n", 1000 + i);
    struct gpu g = first_sample("", script.at);
    assert_int_equal(g.process_count, GPU_PROCESSES_MAX);
    assert_int_equal(g.processes_left_out, 1500 - GPU_PROCESSES_MAX);
    end(&g);
}

static void no_permission_for_the_lists_is_told(void **state)
{
    (void)state;
    struct gpu g =
        first_sample("", "fail nvmlDeviceGetComputeRunningProcesses_v3 4\nfail nvmlDeviceGetGraphicsRunningProcesses_v3 4\n"
                         "fail nvmlDeviceGetMPSComputeRunningProcesses_v3 3\ngpu X\n gpu_util 50\n process 5 compute 1\n");
    assert_int_equal(g.processes_state, READING_DENIED);
    assert_int_equal(g.process_count, 0);
    end(&g);
}

static void a_card_without_graphics_lists_still_has_the_others(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "fail nvmlDeviceGetGraphicsRunningProcesses_v3 3\ngpu X\n gpu_util 50\n process 5 compute 1\n");
    assert_int_equal(g.processes_state, READING_OK);
    assert_int_equal(g.process_count, 1);
    gpu_done(&g);
    g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_int_equal(m.calls("nvmlDeviceGetGraphicsRunningProcesses_v3"), 1);
    end(&g);
}

static void tells_what_each_process_does(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute 1 75 40 3 2\n process 6 compute 1\n");
    assert_reading(g.processes[0].util_permille, 750);
    assert_reading(g.processes[0].mem_util_permille, 400);
    assert_reading(g.processes[0].encoder_permille, 30);
    assert_reading(g.processes[0].decoder_permille, 20);
    assert_reading(g.processes[1].util_permille, 0); /* on the card, no sample: idle */
    end(&g);
}

static void no_new_samples_mean_idle_not_failure(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute 1\n"); /* the fake answers NOT_FOUND */
    assert_reading(g.processes[0].util_permille, 0);
    end(&g);
}

static void holds_the_last_sample_for_two_seconds(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute 1 75 40\n");
    assert_reading(g.processes[0].util_permille, 750);
    gpu_done(&g);
    m.script("gpu X\n gpu_util 50\n process 5 compute 1\n");
    clock_manual_advance_ms(&m.clock, 1000);
    g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_reading(g.processes[0].util_permille, 750);
    gpu_done(&g);
    clock_manual_advance_ms(&m.clock, 1500);
    g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_reading(g.processes[0].util_permille, 0);
    end(&g);
}

static void a_gpu_at_rest_without_newer_samples_has_ended_its_work(void **state)
{
    (void)state;
    enum { UNSEEN = GROUP_QUICK | GROUP_UNSEEN };
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute 1\n row 5 500 75 40 0 0\n");
    gpu_done(&g);
    m.script("gpu X\n gpu_util 0\n process 5 compute 1\n row 5 100 60 10 0 0\n"); /* between two bursts */
    clock_manual_advance_ms(&m.clock, 1000);
    g = fake_machine_sample(&m, 0, UNSEEN);
    assert_reading(g.processes[0].util_permille, 600);
    gpu_done(&g);
    m.script("gpu X\n gpu_util 0\n process 5 compute 1\n");
    clock_manual_advance_ms(&m.clock, 1000);
    g = fake_machine_sample(&m, 0, UNSEEN);
    assert_reading(g.processes[0].util_permille, 0);
    end(&g);
}

static void drops_nonsense_rows_and_takes_the_newest(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute 1\n process 6 compute 1\n process 7 compute 1\n"
                                    " row 5 100 50 10 0 0\n row 5 10 60 20 0 0\n row 5 300 90 90 0 0\n" /* unordered */
                                    " row 6 -5000 37100 100 0 0\n row 6 20 30 1 0 0\n"                  /* 37100 % in the future */
                                    " row 7 10 101 0 0 0\n row 0 10 5 5 5 5\n row 7 -100000000 1 1 1 1\n");
    assert_reading(g.processes[0].util_permille, 600);
    assert_reading(g.processes[1].util_permille, 300);
    assert_reading(g.processes[2].util_permille, 0);
    end(&g);
}

static void rows_seen_before_are_not_taken_again(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute 1\n row 5 0 50 10 0 0\n");
    assert_reading(g.processes[0].util_permille, 500);
    gpu_done(&g);
    m.script(
        "gpu X\n gpu_util 50\n process 5 compute 1\n row 5 1900 90 10 0 0\n"); /* newer than 2 s ago, older than what was seen */
    g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_reading(g.processes[0].util_permille, 500);
    end(&g);
}

static void a_row_of_long_ago_says_nothing_about_now(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute 1\n row 5 10000 90 10 0 0\n");
    assert_reading(g.processes[0].util_permille, 0);
    end(&g);
}

static void utilization_without_support_or_permission_is_absent(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process_utilization na\n process 5 compute 1 50\n");
    assert_absent(g.processes[0].util_permille, READING_UNSUPPORTED);
    gpu_done(&g);
    g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_absent(g.processes[0].util_permille, READING_UNSUPPORTED);
    assert_int_equal(m.calls("nvmlDeviceGetProcessUtilization"), 1);
    end(&g);
    g = first_sample("", "fail nvmlDeviceGetProcessUtilization 4\ngpu X\n gpu_util 50\n process 5 compute 1 50\n");
    assert_absent(g.processes[0].util_permille, READING_DENIED);
    assert_reading(g.processes[0].mem_bytes, 1LL << 20);
    end(&g);
    g = first_sample("", "fail nvmlDeviceGetProcessUtilization 999\ngpu X\n gpu_util 50\n process 5 compute 1 50\n");
    assert_absent(g.processes[0].util_permille, READING_FAILED);
    end(&g);
}

static void an_empty_card_is_not_asked_who_does_what(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n");
    assert_int_equal(g.process_count, 0);
    assert_int_equal(g.processes_state, READING_OK);
    assert_int_equal(m.calls("nvmlDeviceGetProcessUtilization"), 0);
    end(&g);
}

static void a_first_look_at_an_idle_gpu_does_not_ask_who_does_what(void **state)
{
    (void)state;
    struct gpu g = first_sample("", "gpu X\n gpu_util 0\n process 5 compute 1\n");
    assert_reading(g.processes[0].util_permille, 0);
    assert_int_equal(m.calls("nvmlDeviceGetProcessUtilization"), 0);
    gpu_done(&g);
    g = fake_machine_sample(&m, 0, GROUP_QUICK); /* a client that goes on watching has it asked */
    assert_int_equal(m.calls("nvmlDeviceGetProcessUtilization"), 1);
    end(&g);
}

/* Who is on a GPU is asked when its memory has changed, by every client that looks, and else every five seconds. */
static void without_viewers_lists_hold_while_the_memory_is_the_same(void **state)
{
    (void)state;
    enum { UNSEEN = GROUP_QUICK | GROUP_UNSEEN };
    const char *call = "nvmlDeviceGetComputeRunningProcesses_v3";
    struct gpu g = first_sample("", "gpu X\n used 500\n gpu_util 50\n process 5 compute 100\n process 7 graphics 1\n");
    unsigned long before = m.calls(call);
    for (int i = 0; i < 4; i++) {
        gpu_done(&g);
        clock_manual_advance_ms(&m.clock, 1000);
        g = fake_machine_sample(&m, 0, UNSEEN);
        assert_int_equal(g.process_count, 2);
        assert_reading(g.processes[0].mem_bytes, 100LL << 20);
        assert_int_equal(g.processes[1].type, PROCESS_GRAPHICS);
        assert_int_equal(m.calls(call), before);
    }
    gpu_done(&g);
    clock_manual_advance_ms(&m.clock, 1000);
    g = fake_machine_sample(&m, 0, UNSEEN);
    assert_int_equal(m.calls(call), before + 1);
    gpu_done(&g);
    m.script("gpu X\n used 400\n gpu_util 50\n process 7 graphics 1\n");
    g = fake_machine_sample(&m, 0, UNSEEN);
    assert_int_equal(g.process_count, 1);
    assert_int_equal(m.calls(call), before + 2);
    gpu_done(&g);
    g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_int_equal(m.calls(call), before + 3);
    end(&g);
}

/* For a client that looks, every sample asks; without one it is every two seconds, and on an idle GPU every thirty. */
static void without_viewers_the_driver_is_asked_less_often(void **state)
{
    (void)state;
    enum { UNSEEN = GROUP_QUICK | GROUP_UNSEEN };
    const char *call = "nvmlDeviceGetProcessUtilization";
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute 1\n row 5 0 50 10 0 0\n");
    for (int i = 0; i < 2; i++) {
        gpu_done(&g);
        clock_manual_advance_ms(&m.clock, 1000);
        g = fake_machine_sample(&m, 0, UNSEEN);
        assert_reading(g.processes[0].util_permille, 500);
        assert_int_equal(m.calls(call), 1 + i);
    }
    gpu_done(&g);
    /* A new one is not taken for idle. */
    m.script("gpu X\n used 600\n gpu_util 50\n process 5 compute 1\n process 6 compute 1\n row 6 0 70 10 0 0\n");
    g = fake_machine_sample(&m, 0, UNSEEN);
    assert_reading(g.processes[1].util_permille, 700);
    gpu_done(&g);
    unsigned long before = m.calls(call);
    clock_manual_advance_ms(&m.clock, 100);
    g = fake_machine_sample(&m, 0, GROUP_QUICK);
    assert_int_equal(m.calls(call), before + 1);
    gpu_done(&g);

    m.script("gpu X\n gpu_util 0\n process 5 compute 1\n process 6 compute 1\n");
    clock_manual_advance_ms(&m.clock, 5000);
    g = fake_machine_sample(&m, 0, UNSEEN);
    before = m.calls(call);
    for (int i = 0; i < 29; i++) {
        gpu_done(&g);
        clock_manual_advance_ms(&m.clock, 1000);
        g = fake_machine_sample(&m, 0, UNSEEN);
        assert_reading(g.processes[0].util_permille, 0);
        assert_int_equal(m.calls(call), before);
    }
    gpu_done(&g);
    clock_manual_advance_ms(&m.clock, 1000);
    g = fake_machine_sample(&m, 0, UNSEEN);
    assert_int_equal(m.calls(call), before + 1);
    gpu_done(&g);
    m.script("gpu X\n gpu_util 30\n process 5 compute 1\n process 6 compute 1\n"); /* it begins at once */
    clock_manual_advance_ms(&m.clock, 2000);
    g = fake_machine_sample(&m, 0, UNSEEN);
    assert_int_equal(m.calls(call), before + 2);
    end(&g);
}

/* A live view sees who computes in every sample, and does not ask a GPU that does nothing. */
static void a_glance_asks_a_busy_gpu_every_time_and_an_idle_one_rarely(void **state)
{
    (void)state;
    enum { GLANCE = GROUP_QUICK | GROUP_GLANCE };
    const char *call = "nvmlDeviceGetProcessUtilization";
    struct gpu g = first_sample("", "gpu X\n gpu_util 50\n process 5 compute 1\n row 5 0 50 10 0 0\n");
    unsigned long before = m.calls(call);
    for (int i = 0; i < 3; i++) {
        gpu_done(&g);
        clock_manual_advance_ms(&m.clock, 1000);
        g = fake_machine_sample(&m, 0, GLANCE);
        assert_int_equal(m.calls(call), before + 1 + (unsigned long)i);
    }
    gpu_done(&g);
    m.script("gpu X\n gpu_util 0\n process 5 compute 1\n");
    clock_manual_advance_ms(&m.clock, 5000);
    g = fake_machine_sample(&m, 0, GLANCE);
    before = m.calls(call);
    gpu_done(&g);
    clock_manual_advance_ms(&m.clock, 1000);
    g = fake_machine_sample(&m, 0, GLANCE);
    assert_int_equal(m.calls(call), before);
    gpu_done(&g);
    m.script("gpu X\n gpu_util 40\n process 5 compute 1\n row 5 0 40 10 0 0\n"); /* it begins at once */
    clock_manual_advance_ms(&m.clock, 1000);
    g = fake_machine_sample(&m, 0, GLANCE);
    assert_int_equal(m.calls(call), before + 1);
    end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lists_processes_in_every_layout),
        TEST(a_process_in_both_lists_is_one_with_the_larger_memory),
        TEST(memory_of_all_ones_is_absent),
        TEST(mps_clients_are_compute_processes),
        TEST(a_long_list_grows_and_is_cut_at_its_maximum),
        TEST(no_permission_for_the_lists_is_told),
        TEST(a_card_without_graphics_lists_still_has_the_others),
        TEST(tells_what_each_process_does),
        TEST(no_new_samples_mean_idle_not_failure),
        TEST(holds_the_last_sample_for_two_seconds),
        TEST(a_gpu_at_rest_without_newer_samples_has_ended_its_work),
        TEST(drops_nonsense_rows_and_takes_the_newest),
        TEST(rows_seen_before_are_not_taken_again),
        TEST(a_row_of_long_ago_says_nothing_about_now),
        TEST(utilization_without_support_or_permission_is_absent),
        TEST(an_empty_card_is_not_asked_who_does_what),
        TEST(a_first_look_at_an_idle_gpu_does_not_ask_who_does_what),
        TEST(without_viewers_lists_hold_while_the_memory_is_the_same),
        TEST(without_viewers_the_driver_is_asked_less_often),
        TEST(a_glance_asks_a_busy_gpu_every_time_and_an_idle_one_rarely),
    };
    return RUN_TESTS(tests);
}
