/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "source/rocm_smi/parse.h"
#include "sysroot.h"
#include "test.h"
#include "tree.h"

/* A program that prints what the test says. */
struct fake {
    struct clock_manual clock;
    struct env env;
    const char *text;   /* for rocm-smi, and for `amd-smi static` */
    const char *second; /* for `amd-smi metric` */
    const char *only;   /* this program exists, no other */
    bool knows_names;   /* options like --showtemp */
    int runs;
};

static int fake_launch(const struct env *env, const struct launch *launch, struct error *err)
{
    struct fake *f = env->user;
    f->runs++;
    if (f->only && strcmp(f->only, launch->argv[0]) != 0)
        return error_set(err, -ENOENT, "cannot run '%s'", launch->argv[0]);
    if (!f->knows_names && strcmp(launch->argv[1], "--showid") == 0) {
        buf_text(launch->err, "rocm-smi: error: unrecognized arguments: --showid\n");
        return 2;
    }
    buf_text(launch->out, strcmp(launch->argv[1], "metric") == 0 ? f->second : f->text);
    return 0;
}

static void fake_init(struct fake *f)
{
    *f = (struct fake){.knows_names = true};
    clock_manual_init(&f->clock, (struct wall){1790000000000});
    env_init_system(&f->env);
    f->env.sysroot = "";
    f->env.rocm_smi = NULL;
    f->env.clock = &f->clock.clock;
    f->env.launch = fake_launch;
    f->env.user = f;
}

static void every_recorded_release_reads_as_its_text_says(void **state)
{
    (void)state;
    static const char *const answers[][2] = {{"rx6700xt", "rocm430.json"}, {"rx6700xt", "rocm571.json"},
                                             {"rx6700xt", "rocm602.json"}, {"rx6700xt", "rocm612.json"},
                                             {"mi100", "rocm571.json"},    {"mi100", "rocm602.json"}};
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct fake f;
        char name[PATH_SIZE], path[PATH_SIZE];
        fake_init(&f);
        snprintf(name, sizeof name, "%s-rocm-smi", answers[i][0]);
        snprintf(path, sizeof path, "/rocm-smi/%s", answers[i][1]);
        AUTO_FREE char *json = machine_file(name, path, NULL);
        assert_non_null(json);
        f.text = json;
        AUTO_FREE char *text = source_write(&rocm_smi_source, &f.env);
        snprintf(name, sizeof name, "rocm-smi-%s_%s.txt", answers[i][0], answers[i][1]);
        assert_golden(name, text);
    }
}

static const char static_json[] =
    "WARNING: something\n[{\"gpu\": 0, \"asic\": {\"market_name\": \"AMD Instinct MI300X\", \"device_id\": \"0x74a1\", \"rev_id\": "
    "\"0x00\","
    "\"asic_serial\": \"0xE3AA140F9A5F9E31\", \"num_compute_units\": 304, \"target_graphics_version\": \"gfx942\"},"
    "\"bus\": {\"bdf\": \"0000:05:00.0\", \"max_pcie_width\": 16}, \"vbios\": {\"version\": \"022.040\"},"
    "\"limit\": {\"max_power\": {\"value\": 750, \"unit\": \"W\"}, \"socket_power\": {\"value\": 700, \"unit\": \"W\"}},"
    "\"driver\": {\"name\": \"amdgpu\", \"version\": \"6.12.12\"}}]";
static const char metric_json[] =
    "{\"gpu_data\": [{\"gpu\": 0, \"usage\": {\"gfx_activity\": {\"value\": 98, \"unit\": \"%\"}, \"umc_activity\": {\"value\": "
    "42, \"unit\": \"%\"},"
    "\"mm_activity\": \"N/A\"}, \"power\": {\"socket_power\": {\"value\": 745, \"unit\": \"W\"}, \"gfx_voltage\": \"N/A\"},"
    "\"clock\": {\"gfx_0\": {\"clk\": {\"value\": 1300, \"unit\": \"MHz\"}, \"max_clk\": {\"value\": 2100, \"unit\": \"MHz\"}}},"
    "\"temperature\": {\"edge\": \"N/A\", \"hotspot\": {\"value\": 61, \"unit\": \"C\"}, \"mem\": {\"value\": 48, \"unit\": "
    "\"C\"}},"
    "\"pcie\": {\"width\": 16, \"speed\": {\"value\": 32, \"unit\": \"GT/s\"}, \"replay_count\": 0},"
    "\"ecc\": {\"total_correctable_count\": 3, \"total_uncorrectable_count\": 0}, \"fan\": {\"rpm\": \"N/A\", \"usage\": \"N/A\"},"
    "\"mem_usage\": {\"total_vram\": {\"value\": 196592, \"unit\": \"MB\"}, \"used_vram\": {\"value\": 283, \"unit\": \"MB\"}}}]}";

static void amd_smi_is_asked_where_rocm_smi_is_missing(void **state)
{
    (void)state;
    struct fake f;
    fake_init(&f);
    f.only = "amd-smi";
    f.text = static_json;
    f.second = metric_json;
    AUTO_FREE char *text = source_write(&rocm_smi_source, &f.env);
    assert_golden("amd-smi.txt", text);
}

static void an_older_release_is_asked_for_everything(void **state)
{
    (void)state;
    struct fake f;
    fake_init(&f);
    f.knows_names = false;
    f.text = "{\"card0\": {\"PCI Bus\": \"0000:07:00.0\", \"GPU use (%)\": \"5\", \"Card series\": \"Navi 99 [Radeon X]\"}}";
    AUTO_FREE char *text = source_write(&rocm_smi_source, &f.env);
    assert_non_null(strstr(text, "name AMD Radeon X\n"));
    assert_non_null(strstr(text, "util_permille 50\n"));
}

static void processes_are_told_where_there_is_one_card(void **state)
{
    (void)state;
    struct rocm_cards cards = {0};
    struct error err = {0};
    assert_int_equal(
        rocm_smi_parse(
            STR("{\"card0\": {\"PCI Bus\": \"0000:07:00.0\"}, \"system\": {\"PID4242\": \"python3, 1, 8589934592, 0, 12\","
                "\"PIDx\": \"a, 1\", \"PID-4\": \"b, 1, 2\", \"Driver version\": \"6.7\"}}"),
            &cards, &err),
        0);
    assert_int_equal(cards.cards[0].process_count, 1);
    assert_int_equal(cards.cards[0].processes[0].pid, 4242);
    assert_int_equal(cards.cards[0].processes[0].mem_bytes.value, 8589934592LL);
    rocm_cards_done(&cards);
}

/* Strix Halo: a carve-out of 512 MiB, and everything else borrowed from the host. */
static void graphics_on_the_die_counts_what_it_borrows(void **state)
{
    (void)state;
    static const char text[] = "{\"card0\": {\"PCI Bus\": \"0000:C3:00.0\", \"Device ID\": \"0x1586\", %s"
                               "\"VRAM Total Memory (B)\": \"536870912\", \"VRAM Total Used Memory (B)\": \"415236096\","
                               "\"GTT Total Memory (B)\": \"33285996544\", \"GTT Total Used Memory (B)\": \"31138512896\"}}";
    static const char *const chips[] = {"\"GFX Version\": \"gfx1151\",", ""};
    for (size_t i = 0; i < ARRAY_LEN(chips); i++) {
        char whole[1024];
        struct rocm_cards cards = {0};
        struct error err = {0};
        snprintf(whole, sizeof whole, text, chips[i]);
        assert_int_equal(rocm_smi_parse(str_from(whole), &cards, &err), 0);
        assert_int_equal(cards.cards[0].mem_total_bytes.value, 536870912LL + 33285996544LL);
        assert_int_equal(cards.cards[0].mem_used_bytes.value, 415236096LL + 31138512896LL);
        assert_int_equal(cards.cards[0].mem_free_bytes.value, 121634816LL + 2147483648LL);
        assert_string_equal(cards.cards[0].memory_kind.value, "shared");
        rocm_cards_done(&cards);
    }
    char whole[1024];
    struct rocm_cards cards = {0};
    struct error err = {0};
    snprintf(whole, sizeof whole, text, "\"GFX Version\": \"gfx1031\",");
    assert_int_equal(rocm_smi_parse(str_from(whole), &cards, &err), 0);
    assert_int_equal(cards.cards[0].mem_total_bytes.value, 536870912LL); /* a card of its own */
    rocm_cards_done(&cards);
}

static void it_runs_at_most_once_a_second_and_failures_count(void **state)
{
    (void)state;
    struct fake f;
    struct source *source = NULL;
    struct error err = {0};
    struct gpu_id ids[4];
    fake_init(&f);
    f.text = "{\"card0\": {\"PCI Bus\": \"0000:07:00.0\"}, \"card3\": {\"PCI Bus\": \"0000:0A:00.0\"}}";
    assert_int_equal(rocm_smi_source.open(&f.env, "", &source, &err), 0);
    assert_int_equal(rocm_smi_source.list(source, ids, 4), 2);
    assert_string_equal(ids[1].pci_address, "0000:0a:00.0");
    assert_int_equal(rocm_smi_source.refresh(source, GROUP_ALL, &err), 0);
    assert_int_equal(f.runs, 1);
    clock_manual_advance_ms(&f.clock, 1500);
    f.text = "{\"card3\": {\"PCI Bus\": \"0000:0a:00.0\", \"GPU use (%)\": \"7\"}, \"card4\": {\"PCI Bus\": \"0000:0b:00.0\"}}";
    assert_int_equal(rocm_smi_source.refresh(source, GROUP_ALL, &err), 0);
    assert_int_equal(f.runs, 2);
    /* Cards keep their places; one that is gone is lost, and a new one is announced. */
    struct gpu gpu = {0};
    rocm_smi_source.sample(source, 0, GROUP_ALL, &gpu);
    assert_int_equal(gpu.state, GPU_LOST);
    gpu = (struct gpu){0};
    rocm_smi_source.sample(source, 1, GROUP_ALL, &gpu);
    assert_int_equal(gpu.util_permille.value, 70);
    gpu_done(&gpu);
    assert_true(rocm_smi_source.changed(source));
    assert_int_equal(rocm_smi_source.list(source, ids, 4), 3);
    assert_false(rocm_smi_source.changed(source));
    clock_manual_advance_ms(&f.clock, 1500);
    f.text = "Traceback (most recent call last):";
    assert_int_equal(rocm_smi_source.refresh(source, GROUP_ALL, &err), -EBADMSG);
    rocm_smi_source.close(source);
}

static void missing_programs_and_bad_output_are_said_in_words(void **state)
{
    (void)state;
    struct fake f;
    struct source *source = NULL;
    struct error err = {0};
    fake_init(&f);
    f.only = "none";
    assert_int_equal(rocm_smi_source.open(&f.env, "", &source, &err), -ENODEV);
    assert_non_null(strstr(err.text, "rocm-smi"));
    static const char *const bad[] = {
        "", "{", "[]", "{}", "null", "{\"card0\": 5}", "{\"card0\": {}}", "\x80\xff", "{\"card0\": {\"PCI Bus\": \"07\"}}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        fake_init(&f);
        f.text = bad[i];
        assert_true(rocm_smi_source.open(&f.env, "", &source, &err) < 0);
    }
    /* The program of this machine says nothing about a recorded one. */
    fake_init(&f);
    f.env.sysroot = "/recorded";
    assert_int_equal(rocm_smi_source.open(&f.env, "", &source, &err), -ENODEV);
    assert_int_equal(f.runs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_recorded_release_reads_as_its_text_says),     TEST(amd_smi_is_asked_where_rocm_smi_is_missing),
        TEST(an_older_release_is_asked_for_everything),          TEST(processes_are_told_where_there_is_one_card),
        TEST(graphics_on_the_die_counts_what_it_borrows),        TEST(it_runs_at_most_once_a_second_and_failures_count),
        TEST(missing_programs_and_bad_output_are_said_in_words),
    };
    return RUN_TESTS(tests);
}
