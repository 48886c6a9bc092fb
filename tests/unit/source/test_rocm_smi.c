/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

#include <errno.h>
#include <signal.h>
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
    static const char *const answers[][2] = {
        {"rx6700xt", "rocm430.json"}, {"rx6700xt", "rocm571.json"}, {"rx6700xt", "rocm602.json"}, {"rx6700xt", "rocm612.json"},
        {"mi100", "rocm571.json"},    {"mi100", "rocm602.json"},    {"vega", "rocm390.json"},     {"vega", "rocm400.json"}};
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
    assert_string_equal(err.text, "neither rocm-smi nor amd-smi is installed");
    f.env.rocm_smi = "/opt/rocm/bin/rocm-smi";
    f.runs = 0;
    assert_int_equal(rocm_smi_source.open(&f.env, "", &source, &err), -ENODEV);
    assert_string_equal(err.text, "cannot run '/opt/rocm/bin/rocm-smi'");
    assert_int_equal(f.runs, 1);
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

/* How a run of the program can fail. */
static const struct fault {
    const char *what;
    int rc;
    enum { SAYS_NOTHING, SAYS_HALF, SAYS_TOO_MUCH, LISTS_ONE, SAYS_OTHERWISE } output;
    const char *otherwise;
} faults[] = {
    {"it is gone", -ENOENT, SAYS_NOTHING, NULL},
    {"it may not be run", -EACCES, SAYS_NOTHING, NULL},
    {"there is no descriptor", -EMFILE, SAYS_NOTHING, NULL},
    {"there is no process", -EAGAIN, SAYS_NOTHING, NULL},
    {"it hangs", -ETIMEDOUT, SAYS_NOTHING, NULL},
    {"it fails", 1, SAYS_NOTHING, NULL},
    {"it crashes", 128 + SIGSEGV, SAYS_HALF, NULL},
    {"it says nothing", 0, SAYS_NOTHING, NULL},
    {"it does not end its output", 0, SAYS_TOO_MUCH, NULL},
    {"it says why", 1, SAYS_OTHERWISE, "Traceback (most recent call last):\nOSError: /dev/kfd\n"},
    {"it lists nothing", 0, SAYS_OTHERWISE, "{}"},
    {"its list is empty", 0, SAYS_OTHERWISE, "[]"},
    {"it lists one GPU less", 0, LISTS_ONE, NULL},
};

/* Two GPUs, whose power in watts is the time in milliseconds: an old answer cannot pass for a new one. */
struct program {
    struct fake fake;
    const char *name;
    int fails; /* this run does; 0: none */
    const struct fault *fault;
};

static void answer(const struct program *p, const char *option, int count, struct buf *out)
{
    static const char *const pci[] = {"0000:07:00.0", "0000:0a:00.0"};
    long long now_ms = (long long)(clock_mono(p->fake.env.clock).ns / NS_PER_MS);
    bool amd_smi = strcmp(p->name, "amd-smi") == 0;
    for (int i = 0; i < count; i++) {
        buf_text(out, i ? ", " : amd_smi ? "[" : "{");
        if (strcmp(option, "static") == 0)
            buf_printf(out, "{\"gpu\": %d, \"bus\": {\"bdf\": \"%s\"}}", i, pci[i]);
        else if (strcmp(option, "metric") == 0)
            buf_printf(out, "{\"gpu\": %d, \"power\": {\"socket_power\": %lld}}", i, now_ms);
        else
            buf_printf(out, "\"card%d\": {\"PCI Bus\": \"%s\", \"Current Socket Power (W)\": \"%lld\"}", i, pci[i], now_ms);
    }
    buf_text(out, amd_smi ? "]" : "}");
}

static int program_launch(const struct env *env, const struct launch *launch, struct error *err)
{
    struct program *p = env->user;
    const char *option = launch->argv[1];
    if (strcmp(launch->argv[0], p->name) != 0)
        return error_set(err, -ENOENT, "cannot run '%s'", launch->argv[0]);
    const struct fault *fault = ++p->fake.runs == p->fails ? p->fault : NULL;
    if (fault && fault->rc < 0)
        return error_set(err, fault->rc, "cannot run '%s'", launch->argv[0]);
    if (!p->fake.knows_names && strcmp(option, "--showid") == 0)
        return 2;
    if (!fault || fault->output == LISTS_ONE)
        answer(p, option, fault ? 1 : 2, launch->out);
    else if (fault->output == SAYS_HALF)
        buf_text(launch->out, "{\"card0\": {\"PCI Bus\": \"0000:07");
    else if (fault->output == SAYS_OTHERWISE)
        buf_text(launch->out, fault->otherwise);
    else if (fault->output == SAYS_TOO_MUCH)
        launch->out->failed = true;
    return fault ? fault->rc : 0;
}

/* After half a second: why the source can't be read, or what each GPU says; never an old answer, nor none without a word. */
static bool look(struct program *p, struct source *source)
{
    struct error err = {0};
    clock_manual_advance_ms(&p->fake.clock, 500);
    if (rocm_smi_source.refresh(source, GROUP_ALL, &err) < 0) {
        if (!err.text[0])
            fail_msg("%s: when %s in run %d, it does not say so", p->name, p->fault->what, p->fails);
        return false;
    }
    bool all = true;
    int64_t now_ms = clock_mono(p->fake.env.clock).ns / NS_PER_MS, then_ms = 0;
    for (size_t i = 0; i < 2; i++) {
        struct gpu gpu = {0};
        rocm_smi_source.sample(source, i, GROUP_ALL, &gpu);
        if (gpu.state == GPU_OK && !reading_get(gpu.power_mw, &then_ms))
            fail_msg("%s: when %s in run %d, GPU %zu has no power, and no reason", p->name, p->fault->what, p->fails, i);
        if (gpu.state == GPU_OK && now_ms - then_ms / 1000 > 1000)
            fail_msg("%s: when %s in run %d, GPU %zu shows what was %lld ms ago", p->name, p->fault->what, p->fails, i,
                     (long long)(now_ms - then_ms / 1000));
        assert_true(gpu.state == GPU_OK || gpu.error_message[0]);
        all = all && gpu.state == GPU_OK;
        gpu_done(&gpu);
    }
    return all;
}

/* Opens it, and looks for three seconds, in which one run may fail; then the next second must be fine. */
static void live(struct program *p)
{
    struct source *source = NULL;
    struct error err = {0};
    struct gpu_id ids[4];
    p->fake.runs = 0;
    clock_manual_init(&p->fake.clock, (struct wall){1790000000000});
    if (rocm_smi_source.open(&p->fake.env, "", &source, &err) < 0) {
        assert_true(err.text[0] && p->fails);
        return;
    }
    rocm_smi_source.list(source, ids, 4);
    for (int i = 0; i < 6; i++)
        look(p, source);
    int runs = p->fake.runs;
    clock_manual_advance_ms(&p->fake.clock, 1000);
    for (int i = 0; i < 2; i++) {
        if (rocm_smi_source.changed(source)) /* a GPU that was left out when it began */
            assert_int_equal(rocm_smi_source.list(source, ids, 4), 2);
        if (!look(p, source) && i == 1)
            fail_msg("%s: after a run in which %s (%d of %d), not all is well again", p->name, p->fault->what, p->fails, runs);
    }
    rocm_smi_source.close(source);
    p->fake.runs = runs;
}

static void fail_each_run(const char *name, bool knows_names)
{
    struct program p = {.name = name, .fault = &faults[0]};
    fake_init(&p.fake);
    p.fake.knows_names = knows_names;
    p.fake.env.launch = program_launch;
    p.fake.env.user = &p;
    live(&p);
    int runs = p.fake.runs;
    assert_true(runs >= 4);
    for (p.fails = 1; p.fails <= runs; p.fails++)
        for (p.fault = faults; p.fault < faults + ARRAY_LEN(faults); p.fault++)
            live(&p);
}

static void each_run_of_the_program_fails_in_turn_and_all_is_well_again(void **state)
{
    (void)state;
    fail_each_run("rocm-smi", true);
    fail_each_run("rocm-smi", false);
    fail_each_run("amd-smi", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_recorded_release_reads_as_its_text_says),     TEST(amd_smi_is_asked_where_rocm_smi_is_missing),
        TEST(an_older_release_is_asked_for_everything),          TEST(processes_are_told_where_there_is_one_card),
        TEST(graphics_on_the_die_counts_what_it_borrows),        TEST(it_runs_at_most_once_a_second_and_failures_count),
        TEST(missing_programs_and_bad_output_are_said_in_words), TEST(each_run_of_the_program_fails_in_turn_and_all_is_well_again),
    };
    return RUN_TESTS(tests);
}
