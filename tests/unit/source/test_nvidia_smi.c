/* SPDX-License-Identifier: Apache-2.0
 * The source on the stand-in program of tests/fakes: the real launcher, the real columns, every way to fail.
 */
#include "source/source.h"

#include <errno.h>
#include <signal.h>

#include "base/units.h"
#include "sysroot.h"

struct machine {
    struct sysroot root;
    char program[512], log[128];
    struct source *source;
    struct error err;
};

static void set_up(struct machine *m, const char *mode)
{
    *m = (struct machine){0};
    sysroot_init(&m->root);
    const char *source_root = getenv("WHIRR_SOURCE_ROOT");
    assert_non_null(source_root);
    snprintf(m->program, sizeof m->program, "%s/tests/fakes/nvidia-smi", source_root);
    snprintf(m->log, sizeof m->log, "%s/log", m->root.path);
    m->root.env.nvidia_smi = m->program;
    m->root.env.visible_devices = NULL;
    setenv("FAKE_SMI_MODE", mode, 1);
    setenv("FAKE_SMI_LOG", m->log, 1);
    unsetenv("FAKE_SMI_GPUS");
    unsetenv("FAKE_SMI_PID");
    unsetenv("FAKE_SMI_DELAY");
}

static void tear_down(struct machine *m)
{
    nvidia_smi_source.close(m->source);
    sysroot_done(&m->root);
}

static int open_source(struct machine *m)
{
    return nvidia_smi_source.open(&m->root.env, "", &m->source, &m->err);
}

static int count_cards(struct machine *m)
{
    struct gpu_id ids[GPU_MAX];
    return nvidia_smi_source.list(m->source, ids, GPU_MAX);
}

static struct gpu sample(struct machine *m, size_t gpu, unsigned groups)
{
    struct gpu out = {0};
    nvidia_smi_source.sample(m->source, gpu, groups, &out);
    return out;
}

static void refresh(struct machine *m, unsigned groups)
{
    clock_manual_advance_ms(&m->root.clock, 1000);
    m->err = (struct error){0};
    int rc = nvidia_smi_source.refresh(m->source, groups, &m->err);
    if (rc != 0)
        fail_msg("refresh gives %d: %s", rc, m->err.text);
}

/* How often the program was run with an argument that begins so. */
static int runs(struct machine *m, const char *argument)
{
    char line[4096];
    int count = 0;
    FILE *f = fopen(m->log, "r");
    while (f && fgets(line, sizeof line, f))
        count += strstr(line, argument) != NULL;
    if (f)
        fclose(f);
    return count;
}

static void reads_all_cards(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(open_source(&m), 0);
    assert_int_equal(count_cards(&m), 2);
    refresh(&m, GROUP_ALL);
    struct gpu a = sample(&m, 0, GROUP_ALL), b = sample(&m, 1, GROUP_ALL);
    assert_int_equal(a.state, GPU_OK);
    assert_string_equal(a.id.name, "NVIDIA Fake 0");
    assert_string_equal(b.id.pci_address, "0000:02:00.0");
    assert_string_equal(b.id.vendor, "nvidia");
    assert_int_equal(a.temp_mdegc.value, 40000);
    assert_int_equal(b.temp_mdegc.value, 41000);
    assert_int_equal(b.power_mw.value, 11500);
    assert_int_equal(a.mem_used_bytes.value, 100LL * MIB_BYTES);
    assert_int_equal(a.mem_used_bytes.value + a.mem_free_bytes.value + a.mem_reserved_bytes.value, a.mem_total_bytes.value);
    assert_int_equal(a.util_permille.value, 100);
    assert_int_equal(a.throttle_bits.value, THROTTLE_POWER_CAP);
    assert_int_equal(a.temp_limit_mdegc.value, 93000); /* of -q -x */
    assert_int_equal(a.temp_memory_mdegc.state, READING_UNSUPPORTED);
    assert_int_equal(a.energy_mj.state, READING_UNSUPPORTED); /* nvidia-smi does not tell */
    assert_string_equal(a.architecture.value, "Fake");
    assert_string_equal(a.driver_version.value, "580.1.2");
    struct driver_info driver = {0};
    nvidia_smi_source.driver(m.source, &driver);
    assert_string_equal(driver.driver_version, "580.1.2");
    assert_string_equal(driver.cuda_version, "13.0");
    assert_string_equal(driver.nvml_version, "580.1");
    gpu_done(&a);
    gpu_done(&b);
    tear_down(&m);
}

static void processes_that_draw_stay_between_the_slow_reads(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(open_source(&m), 0);
    refresh(&m, GROUP_QUICK);
    struct gpu first = sample(&m, 0, GROUP_QUICK);
    assert_int_equal(first.process_count, 2);
    gpu_done(&first);
    refresh(&m, GROUP_QUICK);
    assert_int_equal(runs(&m, "-q -x"), 1);
    assert_int_equal(runs(&m, "--query-compute-apps"), 1);
    struct gpu gpu = sample(&m, 0, GROUP_QUICK);
    assert_int_equal(gpu.processes_state, READING_OK);
    assert_int_equal(gpu.process_count, 2);
    struct process *compute = gpu_find_process(&gpu, 4242), *graphics = gpu_find_process(&gpu, 999991);
    assert_non_null(compute);
    assert_int_equal(compute->type, PROCESS_COMPUTE);
    assert_int_equal(compute->mem_bytes.value, 1002LL * MIB_BYTES);
    assert_string_equal(compute->name, "python3");
    assert_non_null(graphics);
    assert_int_equal(graphics->type, PROCESS_GRAPHICS);
    gpu_done(&gpu);
    /* It ends: the next list is without it. */
    setenv("FAKE_SMI_PID", "0", 1);
    refresh(&m, GROUP_QUICK);
    gpu = sample(&m, 0, GROUP_QUICK);
    assert_null(gpu_find_process(&gpu, 4242));
    gpu_done(&gpu);
    tear_down(&m);
}

static void a_process_of_our_own_proc_is_left_to_be_looked_up(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    sysroot_write(&m.root, "/proc/4242/comm", "somebody\n");
    assert_int_equal(open_source(&m), 0);
    refresh(&m, GROUP_QUICK);
    struct gpu gpu = sample(&m, 0, GROUP_QUICK);
    assert_string_equal(gpu_find_process(&gpu, 4242)->name, "");
    assert_string_equal(gpu_find_process(&gpu, 999991)->name, "Xorg");
    gpu_done(&gpu);
    tear_down(&m);
}

static void the_first_sample_is_served_by_the_query_of_open(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(open_source(&m), 0);
    assert_int_equal(nvidia_smi_source.refresh(m.source, GROUP_FAST, &m.err), 0);
    assert_int_equal(runs(&m, "--query-gpu"), 1);
    assert_int_equal(nvidia_smi_source.refresh(m.source, GROUP_FAST, &m.err), 0);
    assert_int_equal(runs(&m, "--query-gpu"), 2);
    tear_down(&m);
}

static void quick_samples_ask_for_fewer_columns(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(open_source(&m), 0);
    refresh(&m, GROUP_FAST);
    refresh(&m, GROUP_FAST);
    assert_int_equal(runs(&m, "persistence_mode"), 1); /* open */
    assert_int_equal(runs(&m, "--query-gpu=index,name,temperature.gpu,power.draw,memory.used,memory.total,utilization.gpu,"
                              "utilization.memory,uuid"),
                     3);
    tear_down(&m);
}

static void old_drivers_lose_columns_not_cards(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "old");
    assert_int_equal(open_source(&m), 0);
    refresh(&m, GROUP_FAST);
    struct gpu gpu = sample(&m, 0, GROUP_FAST);
    assert_int_equal(gpu.temp_mdegc.value, 40000);
    assert_int_equal(gpu.throttle_bits.value, THROTTLE_POWER_CAP); /* by its old name */
    assert_int_equal(gpu.mem_reserved_bytes.state, READING_UNSUPPORTED);
    gpu_done(&gpu);
    AUTO_BUF struct buf text = BUF(65536);
    nvidia_smi_source.describe(m.source, &text);
    assert_non_null(strstr(text.at, "memory.reserved"));
    tear_down(&m);
}

static void ancient_drivers_are_read_through_xml(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ancient");
    assert_int_equal(open_source(&m), 0);
    assert_int_equal(count_cards(&m), 2);
    refresh(&m, GROUP_QUICK);
    struct gpu gpu = sample(&m, 1, GROUP_QUICK);
    assert_int_equal(gpu.state, GPU_OK);
    assert_int_equal(gpu.temp_mdegc.value, 41000);
    assert_int_equal(gpu.util_permille.value, 110);
    assert_int_equal(gpu.process_count, 1);
    gpu_done(&gpu);
    tear_down(&m);
}

static void without_xml_the_query_is_enough(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "noxml");
    assert_int_equal(open_source(&m), 0);
    refresh(&m, GROUP_ALL);
    struct gpu gpu = sample(&m, 0, GROUP_ALL);
    assert_int_equal(gpu.temp_mdegc.value, 40000);
    assert_int_equal(gpu.temp_limit_mdegc.state, READING_UNSUPPORTED);
    assert_int_equal(gpu.processes_state, READING_OK);
    assert_int_equal(gpu.process_count, 1);
    gpu_done(&gpu);
    tear_down(&m);
}

static void a_card_that_is_lost_in_its_row_stays_listed(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(open_source(&m), 0);
    setenv("FAKE_SMI_MODE", "lost", 1);
    refresh(&m, GROUP_FAST);
    struct gpu good = sample(&m, 0, GROUP_FAST), lost = sample(&m, 1, GROUP_FAST);
    assert_int_equal(good.state, GPU_OK);
    assert_int_equal(lost.state, GPU_LOST);
    assert_string_equal(lost.error_message, "GPU is lost");
    assert_string_equal(lost.id.name, "NVIDIA Fake 1");
    assert_int_equal(lost.temp_mdegc.state, READING_FAILED);
    assert_int_equal(count_cards(&m), 2);
    setenv("FAKE_SMI_MODE", "ok", 1);
    refresh(&m, GROUP_FAST);
    gpu_done(&lost);
    lost = sample(&m, 1, GROUP_FAST);
    assert_int_equal(lost.state, GPU_OK); /* back again */
    gpu_done(&lost);
    gpu_done(&good);
    tear_down(&m);
}

static void a_row_that_does_not_say_which_card_it_is_about_is_said_and_makes_no_new_card(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(open_source(&m), 0);
    for (int i = 0; i < 2; i++) {
        setenv("FAKE_SMI_MODE", "nameless", 1);
        refresh(&m, GROUP_FAST);
        struct gpu good = sample(&m, 0, GROUP_FAST), unsaid = sample(&m, 1, GROUP_FAST);
        assert_int_equal(good.state, GPU_OK);
        assert_int_equal(unsaid.state, GPU_ERROR);
        assert_non_null(strstr(unsaid.error_message, "without its UUID and PCI address"));
        gpu_done(&good);
        gpu_done(&unsaid);
        setenv("FAKE_SMI_MODE", "unnumbered", 1);
        refresh(&m, GROUP_FAST);
        struct gpu back = sample(&m, 1, GROUP_FAST);
        assert_int_equal(back.state, GPU_OK);
        assert_int_equal(back.temp_mdegc.value, 41000);
        gpu_done(&back);
    }
    assert_int_equal(count_cards(&m), 2);
    tear_down(&m);
}

static void a_lost_card_that_hides_the_others_is_left_out(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    setenv("FAKE_SMI_GPUS", "3", 1);
    assert_int_equal(open_source(&m), 0);
    assert_int_equal(count_cards(&m), 3);
    setenv("FAKE_SMI_MODE", "hides", 1);
    refresh(&m, GROUP_QUICK);
    struct gpu a = sample(&m, 0, GROUP_QUICK), b = sample(&m, 1, GROUP_QUICK), c = sample(&m, 2, GROUP_QUICK);
    assert_int_equal(a.state, GPU_OK);
    assert_int_equal(a.temp_mdegc.value, 40000);
    assert_int_equal(b.state, GPU_LOST);
    assert_non_null(strstr(b.error_message, "GPU is lost"));
    assert_int_equal(c.temp_mdegc.value, 42000);
    gpu_done(&a);
    gpu_done(&b);
    gpu_done(&c);
    /* It is not asked again with every sample. */
    int before = runs(&m, "--query-gpu");
    refresh(&m, GROUP_FAST);
    assert_int_equal(runs(&m, "--query-gpu"), before + 1);
    b = sample(&m, 1, GROUP_FAST);
    assert_int_equal(b.state, GPU_LOST);
    gpu_done(&b);
    tear_down(&m);
}

static void a_card_lost_from_the_beginning_is_found_in_sysfs(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "hides");
    for (int i = 1; i <= 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02d:00.0/vendor", i);
        sysroot_write(&m.root, path, "0x10de\n");
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02d:00.0/class", i);
        sysroot_write(&m.root, path, "0x030000\n");
    }
    assert_int_equal(open_source(&m), 0);
    assert_int_equal(count_cards(&m), 2);
    struct gpu a = sample(&m, 0, GROUP_FAST), b = sample(&m, 1, GROUP_FAST);
    assert_int_equal((a.state == GPU_LOST) + (b.state == GPU_LOST), 1);
    assert_int_equal((a.state == GPU_OK) + (b.state == GPU_OK), 1);
    gpu_done(&a);
    gpu_done(&b);
    tear_down(&m);
}

static void a_card_that_vanishes_is_lost_and_a_new_one_is_announced(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(open_source(&m), 0);
    assert_false(nvidia_smi_source.changed(m.source));
    setenv("FAKE_SMI_GPUS", "1", 1);
    refresh(&m, GROUP_FAST);
    struct gpu gone = sample(&m, 1, GROUP_FAST);
    assert_int_equal(gone.state, GPU_LOST);
    gpu_done(&gone);
    assert_int_equal(count_cards(&m), 2);
    setenv("FAKE_SMI_GPUS", "3", 1);
    refresh(&m, GROUP_FAST);
    assert_true(nvidia_smi_source.changed(m.source));
    assert_int_equal(count_cards(&m), 3);
    assert_false(nvidia_smi_source.changed(m.source));
    tear_down(&m);
}

static void failures_name_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        int code;
        const char *part;
    } cases[] = {
        {"no-driver", -ENODEV, "driver is not running"},
        {"mismatch", -ENODEV, "different versions"},
        {"no-devices", -ENODEV, "finds no GPU"},
        {"crash", -EIO, "139"},
        {"silent", -EIO, "no message"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine m;
        set_up(&m, cases[i].mode);
        assert_int_equal(open_source(&m), cases[i].code);
        if (!strstr(m.err.text, cases[i].part))
            fail_msg("%s says '%s'", cases[i].mode, m.err.text);
        tear_down(&m);
    }
}

static void a_missing_program_is_no_device(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    m.root.env.nvidia_smi = "/no/such/nvidia-smi";
    assert_int_equal(open_source(&m), -ENODEV);
    assert_non_null(strstr(m.err.text, "not installed"));
    tear_down(&m);
}

/* A launcher that only looks at the limit it is given. */
static int64_t given_ms;
static int launch_that_hangs(const struct env *env, const struct launch *launch, struct error *err)
{
    (void)env;
    given_ms = launch->timeout_ms;
    clock_manual_advance_ms((struct clock_manual *)env->clock, launch->timeout_ms + 20); /* a kill takes its time */
    return error_set(err, -ETIMEDOUT, "killed");
}

static void a_program_that_hangs_is_killed_within_five_seconds(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(open_source(&m), 0);
    int (*launch)(const struct env *, const struct launch *, struct error *) = m.root.env.launch;
    m.root.env.launch = launch_that_hangs;
    clock_manual_advance_ms(&m.root.clock, 1000);
    assert_int_equal(nvidia_smi_source.refresh(m.source, GROUP_ALL, &m.err), -ETIMEDOUT);
    assert_in_range(given_ms, 4000, 4900);
    assert_non_null(strstr(m.err.text, "killed"));
    m.root.env.launch = launch;
    refresh(&m, GROUP_ALL); /* and is asked again, however long it took */
    tear_down(&m);
}

static void a_driver_that_comes_back_is_read_again(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(open_source(&m), 0);
    setenv("FAKE_SMI_MODE", "no-driver", 1);
    clock_manual_advance_ms(&m.root.clock, 1000);
    assert_int_equal(nvidia_smi_source.refresh(m.source, GROUP_FAST, &m.err), -ENODEV);
    setenv("FAKE_SMI_MODE", "ok", 1);
    refresh(&m, GROUP_FAST);
    struct gpu gpu = sample(&m, 0, GROUP_FAST);
    assert_int_equal(gpu.temp_mdegc.value, 40000);
    gpu_done(&gpu);
    tear_down(&m);
}

static void sleeping_cards_are_not_woken(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    setenv("FAKE_SMI_GPUS", "1", 1);
    sysroot_write(&m.root, "/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    sysroot_write(&m.root, "/sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n");
    sysroot_write(&m.root, "/sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "suspended\n");
    assert_int_equal(open_source(&m), 0);
    assert_int_equal(count_cards(&m), 1);
    refresh(&m, GROUP_ALL);
    assert_int_equal(runs(&m, ""), 0);
    struct gpu gpu = sample(&m, 0, GROUP_ALL);
    assert_int_equal(gpu.state, GPU_ASLEEP);
    assert_int_equal(gpu.temp_mdegc.state, READING_ASLEEP);
    gpu_done(&gpu);
    /* Awake, it is read. */
    sysroot_write(&m.root, "/sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "active\n");
    refresh(&m, GROUP_FAST);
    gpu = sample(&m, 0, GROUP_FAST);
    assert_int_equal(gpu.state, GPU_OK);
    assert_int_equal(gpu.temp_mdegc.value, 40000);
    gpu_done(&gpu);
    tear_down(&m);
}

static void a_sleeping_card_beside_one_that_works_is_left_alone(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    for (int i = 1; i <= 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02d:00.0/vendor", i);
        sysroot_write(&m.root, path, "0x10de\n");
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02d:00.0/class", i);
        sysroot_write(&m.root, path, "0x030000\n");
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02d:00.0/power/runtime_status", i);
        sysroot_write(&m.root, path, i == 1 ? "suspended\n" : "active\n");
    }
    assert_int_equal(open_source(&m), 0);
    assert_int_equal(count_cards(&m), 2);
    struct gpu asleep = sample(&m, 0, GROUP_FAST), awake = sample(&m, 1, GROUP_FAST);
    assert_int_equal(asleep.state, GPU_ASLEEP);
    assert_string_equal(asleep.id.pci_address, "0000:01:00.0");
    assert_int_equal(awake.temp_mdegc.value, 41000);
    assert_int_equal(runs(&m, "-i 0000:02:00.0"), runs(&m, "--query-gpu"));
    gpu_done(&asleep);
    gpu_done(&awake);
    tear_down(&m);
}

static void visible_devices_limit_what_is_shown(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    setenv("FAKE_SMI_GPUS", "3", 1);
    m.root.env.visible_devices = "GPU-00000001-1111-2222-3333-444444444444";
    assert_int_equal(open_source(&m), 0);
    assert_int_equal(count_cards(&m), 1);
    struct gpu gpu = sample(&m, 0, GROUP_FAST);
    assert_string_equal(gpu.id.name, "NVIDIA Fake 1");
    gpu_done(&gpu);
    tear_down(&m);

    set_up(&m, "ok");
    m.root.env.visible_devices = "none";
    assert_int_equal(open_source(&m), 0);
    assert_int_equal(count_cards(&m), 0);
    assert_int_equal(runs(&m, ""), 0);
    tear_down(&m);
}

static void a_recorded_machine_is_not_asked_through_this_ones_program(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    m.root.env.nvidia_smi = "nvidia-smi";
    assert_int_equal(open_source(&m), -ENODEV);
    assert_non_null(strstr(m.err.text, "recorded"));
    tear_down(&m);
}

static void parameters_are_refused(void **state)
{
    (void)state;
    struct machine m;
    set_up(&m, "ok");
    assert_int_equal(nvidia_smi_source.open(&m.root.env, "x=1", &m.source, &m.err), -EINVAL);
    tear_down(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_all_cards),
        TEST(processes_that_draw_stay_between_the_slow_reads),
        TEST(a_process_of_our_own_proc_is_left_to_be_looked_up),
        TEST(the_first_sample_is_served_by_the_query_of_open),
        TEST(quick_samples_ask_for_fewer_columns),
        TEST(old_drivers_lose_columns_not_cards),
        TEST(ancient_drivers_are_read_through_xml),
        TEST(without_xml_the_query_is_enough),
        TEST(a_card_that_is_lost_in_its_row_stays_listed),
        TEST(a_row_that_does_not_say_which_card_it_is_about_is_said_and_makes_no_new_card),
        TEST(a_lost_card_that_hides_the_others_is_left_out),
        TEST(a_card_lost_from_the_beginning_is_found_in_sysfs),
        TEST(a_card_that_vanishes_is_lost_and_a_new_one_is_announced),
        TEST(failures_name_what_is_wrong),
        TEST(a_missing_program_is_no_device),
        TEST(a_program_that_hangs_is_killed_within_five_seconds),
        TEST(a_driver_that_comes_back_is_read_again),
        TEST(sleeping_cards_are_not_woken),
        TEST(a_sleeping_card_beside_one_that_works_is_left_alone),
        TEST(visible_devices_limit_what_is_shown),
        TEST(a_recorded_machine_is_not_asked_through_this_ones_program),
        TEST(parameters_are_refused),
    };
    return RUN_TESTS(tests);
}
