/* SPDX-License-Identifier: Apache-2.0
 * The basic source, and all sources of kernel files together on one machine.
 */
#include "source/source.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "test.h"
#include "tree.h"

struct machine {
    struct tree tree;
    struct source *source;
    struct gpu_id ids[8];
    int count;
    struct gpu gpu;
};

static int setup(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    tree_init(&m->tree);
    tree_process(&m->tree, 1, "init");
    *state = m;
    return 0;
}

static int teardown(void **state)
{
    struct machine *m = *state;
    drm_source.close(m->source);
    gpu_done(&m->gpu);
    tree_done(&m->tree);
    free(m);
    return 0;
}

static void open_machine(struct machine *m, const char *params)
{
    struct error err = {0};
    assert_int_equal(drm_source.open(&m->tree.env, params, &m->source, &err), 0);
    m->count = drm_source.list(m->source, m->ids, ARRAY_LEN(m->ids));
}

static void sample(struct machine *m, size_t which)
{
    clock_manual_advance_ms(&m->tree.clock, 1000);
    gpu_done(&m->gpu);
    m->gpu = (struct gpu){0};
    drm_source.refresh(m->source, GROUP_ALL, NULL);
    drm_source.sample(m->source, which, GROUP_ALL, &m->gpu);
}

static void msm_fd(struct machine *m, long long ns)
{
    char text[512];
    snprintf(text, sizeof text,
             "drm-driver:\tmsm\ndrm-client-id:\t7\ndrm-engine-gpu:\t%lld ns\ndrm-cycles-gpu:\t1153645024\n"
             "drm-maxfreq-gpu:\t800000000 Hz\ndrm-resident-memory:\t10 MiB\n",
             ns);
    tree_fd(&m->tree, 42, 5, "renderD128", text);
}

static void a_phone_chip_shows_what_fdinfo_gives_and_nothing_else(void **state)
{
    struct machine *m = *state;
    tree_card(&m->tree, "card0", "msm", NULL, "qcom,adreno-630.2", 128);
    tree_process(&m->tree, 42, "glmark2");
    msm_fd(m, 1734371319);
    open_machine(m, "");
    assert_int_equal(m->count, 1);
    assert_string_equal(m->ids[0].vendor, "qualcomm");
    assert_string_equal(m->ids[0].name, "Qualcomm Adreno (qcom,adreno-630.2)");
    assert_string_equal(m->ids[0].pci_address, "");
    sample(m, 0);
    assert_int_equal(m->gpu.util_permille.state, READING_PENDING);
    msm_fd(m, 1734371319 + 330000000);
    sample(m, 0);
    assert_int_equal(m->gpu.util_permille.value, 330);
    assert_string_equal(m->gpu.utilization_basis.value, "fdinfo");
    assert_int_equal(m->gpu.mem_used_bytes.value, 10 << 20);
    assert_int_equal(m->gpu.process_count, 1);
    assert_int_equal(m->gpu.processes[0].util_permille.value, 330);
    size_t known = 0;
    for (size_t i = 0; i < METRIC_COUNT; i++)
        known += m->gpu.metric[i].state == READING_OK;
    assert_int_equal(known, 2);
}

static void nouveau_has_sensors_and_says_nothing_of_its_clients(void **state)
{
    struct machine *m = *state;
    tree_card(&m->tree, "card0", "nouveau", "0000:01:00.0", "10DE:1B80", 128);
    tree_device(&m->tree, "card0", "hwmon/hwmon1/temp1_input", "44000\n");
    tree_device(&m->tree, "card0", "hwmon/hwmon1/fan1_input", "1100\n");
    tree_process(&m->tree, 42, "Xorg");
    tree_fd(&m->tree, 42, 5, "renderD128", "pos:\t0\nflags:\t02100002\n");
    open_machine(m, "");
    sample(m, 0);
    sample(m, 0);
    assert_string_equal(m->ids[0].vendor, "nvidia");
    assert_int_equal(m->gpu.temp_mdegc.value, 44000);
    assert_int_equal(m->gpu.fan_rpm.value, 1100);
    assert_int_equal(m->gpu.util_permille.state, READING_UNSUPPORTED);
}

static void displays_and_cards_of_other_sources_are_left_out(void **state)
{
    struct machine *m = *state;
    tree_card(&m->tree, "card0", "ast", "0000:05:00.0", "1A03:2000", -1); /* a server's display: no render node */
    tree_card(&m->tree, "card1", "amdgpu", "0000:03:00.0", "1002:744C", 128);
    tree_card(&m->tree, "card2", "xe", "0000:04:00.0", "8086:E20B", 129);
    tree_card(&m->tree, "card3", "nvidia", "0000:01:00.0", "10DE:2684", 130);
    tree_card(&m->tree, "card4", "vgem", NULL, "vgem", 131);
    struct error err = {0};
    assert_int_equal(drm_source.open(&m->tree.env, "", &m->source, &err), -ENODEV);
    open_machine(m, "all"); /* unless asked for */
    assert_int_equal(m->count, 3);
    assert_string_equal(m->ids[0].pci_address, "0000:01:00.0");
    assert_int_equal(drm_source.open(&m->tree.env, "some", &(struct source *){0}, &err), -EINVAL);
}

static void a_sleeping_or_missing_card_says_so(void **state)
{
    struct machine *m = *state;
    tree_card(&m->tree, "card0", "virtio-pci", "0000:00:01.0", "1AF4:1050", 128);
    open_machine(m, "");
    tree_device(&m->tree, "card0", "power/runtime_status", "suspended\n");
    sample(m, 0);
    assert_int_equal(m->gpu.state, GPU_ASLEEP);
    tree_remove(&m->tree, "/sys/class/drm/card0");
    sample(m, 0);
    assert_int_equal(m->gpu.state, GPU_LOST);
}

/* AMD, Intel and another on one host, through the engine: order, indices and identities hold while cards come and go. */
static const struct snapshot *take(struct engine *e)
{
    const struct snapshot *s = engine_sample(e, GROUP_ALL, -1, 10000); /* -1: not even one of this millisecond */
    assert_non_null(s);
    return s;
}

static void several_vendors_share_a_host_and_indices_stay(void **state)
{
    struct machine *m = *state;
    struct tree *t = &m->tree;
    tree_card(t, "card2", "amdgpu", "0000:03:00.0", "1002:744C", 128);
    tree_device(t, "card2", "gpu_busy_percent", "30\n");
    tree_card(t, "card0", "i915", "0000:00:02.0", "8086:9B41", 129);
    tree_write(t, "/sys/class/drm/card0/gt_act_freq_mhz", "300\n");
    tree_card(t, "card1", "nouveau", "0000:01:00.0", "10DE:1B80", 130);
    tree_device(t, "card1", "hwmon/hwmon1/temp1_input", "44000\n");
    t->env.clock = &clock_system; /* the engine waits in real time */
    t->env.nvml_library = "/nonexistent/libnvidia-ml.so.1";
    struct error err = {0};
    struct engine *e = engine_new(&(struct engine_options){.env = &t->env}, &err);
    assert_non_null(e);
    {
        AUTO_SNAPSHOT const struct snapshot *s = take(e);
        assert_int_equal(s->gpu_count, 3);
        assert_string_equal(s->gpus[0].id.pci_address, "0000:01:00.0"); /* NVIDIA first, then by address */
        assert_string_equal(s->gpus[1].id.pci_address, "0000:00:02.0");
        assert_string_equal(s->gpus[2].id.pci_address, "0000:03:00.0");
        assert_string_equal(s->gpus[0].source, "drm");
        assert_string_equal(s->gpus[1].source, "intel");
        assert_string_equal(s->gpus[2].source, "amdgpu");
        assert_int_equal(snapshot_find_gpu(s, "0000:03:00.0"), 2);
        assert_int_equal(snapshot_find_gpu(s, "03:00.0"), 2);
    }
    tree_remove(t, "/sys/class/drm/card0");
    tree_card(t, "card3", "amdgpu", "0000:02:00.0", "1002:73BF", 131);
    {
        AUTO_SNAPSHOT const struct snapshot *s = take(e);
        assert_int_equal(s->gpu_count, 4);
        assert_int_equal(s->gpus[1].state, GPU_LOST);
        assert_string_equal(s->gpus[2].id.pci_address, "0000:03:00.0");
        assert_int_equal(s->gpus[2].util_permille.value, 300); /* the rest goes on */
        assert_string_equal(s->gpus[3].id.pci_address, "0000:02:00.0");
    }
    tree_card(t, "card9", "i915", "0000:00:02.0", "8086:9B41", 129);
    tree_write(t, "/sys/class/drm/card9/gt_act_freq_mhz", "450\n");
    {
        AUTO_SNAPSHOT const struct snapshot *s = take(e);
        assert_int_equal(s->gpu_count, 4);
        assert_int_equal(s->gpus[1].state, GPU_OK); /* it is itself again */
        assert_int_equal(s->gpus[1].clock_graphics_khz.value, 450000);
    }
    engine_free(e);
}

/* The first card of a vendor comes while the program runs: its source had given up, and is tried again at once. */
static void the_first_card_of_a_vendor_is_found_when_it_is_plugged_in(void **state)
{
    struct machine *m = *state;
    tree_card(&m->tree, "card0", "i915", "0000:00:02.0", "8086:9B41", 128);
    m->tree.env.clock = &clock_system;
    struct error err = {0};
    const char *const sources[] = {"amdgpu", "intel"};
    struct engine *e = engine_new(&(struct engine_options){.env = &m->tree.env, .sources = sources, .source_count = 2}, &err);
    assert_non_null(e);
    for (int i = 0; i < 2; i++) { /* the second look remembers what was there */
        AUTO_SNAPSHOT const struct snapshot *s = take(e);
        assert_int_equal(s->gpu_count, 1);
    }
    tree_card(&m->tree, "card1", "amdgpu", "0000:03:00.0", "1002:744C", 129);
    AUTO_SNAPSHOT const struct snapshot *s = take(e);
    assert_int_equal(s->gpu_count, 2);
    assert_string_equal(s->gpus[1].source, "amdgpu");
    engine_free(e);
}

/* Its devfreq has its name, and its zone is the one that throttles it. */
static void a_gpu_inside_of_a_chip_has_clocks_and_heat_where_they_are_its_own(void **state)
{
    struct machine *m = *state;
    tree_done(&m->tree);
    tree_machine(&m->tree, "rk3588-panthor");
    open_machine(m, "");
    assert_int_equal(m->count, 1);
    sample(m, 0);
    assert_int_equal(m->gpu.clock_graphics_khz.value, 700000);
    assert_int_equal(m->gpu.clock_graphics_max_khz.value, 1000000);
    assert_int_equal(m->gpu.temp_mdegc.value, 47000);
    assert_string_equal(m->gpu.temperature_basis.value, "thermal zone gpu-thermal");
    assert_string_equal(m->gpu.memory_kind.value, "shared");
    assert_int_equal(m->gpu.mem_total_bytes.value, 16252928LL * 1024);
    assert_int_equal(m->gpu.mem_free_bytes.value, 12582912LL * 1024 - (512LL << 20));
    tree_write(&m->tree, "/sys/class/thermal/thermal_zone1/type", "soc-thermal\n");
    tree_write(&m->tree, "/sys/class/thermal/thermal_zone1/cdev0/type", "devfreq-dmc\n");
    tree_remove(&m->tree, "/sys/class/devfreq/fb000000.gpu");
    sample(m, 0);
    assert_int_not_equal(m->gpu.clock_graphics_khz.state, READING_OK);
    assert_int_equal(m->gpu.temp_mdegc.state, READING_UNSUPPORTED);
}

#define MACHINE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_TEST(a_phone_chip_shows_what_fdinfo_gives_and_nothing_else),
        MACHINE_TEST(nouveau_has_sensors_and_says_nothing_of_its_clients),
        MACHINE_TEST(displays_and_cards_of_other_sources_are_left_out),
        MACHINE_TEST(a_sleeping_or_missing_card_says_so),
        MACHINE_TEST(several_vendors_share_a_host_and_indices_stay),
        MACHINE_TEST(a_gpu_inside_of_a_chip_has_clocks_and_heat_where_they_are_its_own),
        MACHINE_TEST(the_first_card_of_a_vendor_is_found_when_it_is_plugged_in),
    };
    return RUN_TESTS(tests);
}
