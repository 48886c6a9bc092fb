/* SPDX-License-Identifier: Apache-2.0
 * Every recorded output of nvidia-smi: no crash, right values, absent where absent. Expected values were taken from the recordings
 * by other means. The machines of tests/machines answer through the stand-in for the program; whole recordings below
 * WHIRR_FIXTURES are an extra.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/units.h"
#include "source/nvidia_smi/nvidia_smi_report.h"
#include "source/source.h"
#include "sysroot.h"
#include "test.h"
#include "tree.h"

enum { NA = -1 };

static char *load(const char *name)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/nvidia/%s", fixtures_dir(), name);
    struct env env;
    env_init_system(&env);
    struct buf text = BUF(16 << 20);
    assert_int_equal(file_read_all(&env, path, &text), 0);
    return buf_take(&text);
}

/* The machine, with the stand-in for nvidia-smi that answers from it. */
static void open_machine(struct tree *t, const char *name)
{
    static char program[PATH_SIZE];
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    tree_machine(t, name);
    snprintf(program, sizeof program, "%s/tests/fakes/nvidia-smi", root ? root : ".");
    t->env.nvidia_smi = program;
    setenv("FAKE_SMI_MACHINE", t->root, 1);
}

/* What one GPU of an open machine says. */
static void sample_machine(const struct tree *t, size_t gpu, struct gpu *ret, struct driver_info *driver)
{
    struct source *source = NULL;
    struct error err = {0};
    if (nvidia_smi_source.open(&t->env, "", &source, &err) < 0)
        fail_msg("%s: %s", t->root, err.text);
    assert_int_equal(nvidia_smi_source.refresh(source, GROUP_ALL, &err), 0);
    *ret = (struct gpu){0};
    nvidia_smi_source.sample(source, gpu, GROUP_ALL, ret);
    struct gpu_id ids[GPU_MAX];
    assert_true(nvidia_smi_source.list(source, ids, GPU_MAX) > (int)gpu);
    ret->id = ids[gpu];
    nvidia_smi_source.driver(source, driver);
    nvidia_smi_source.close(source);
}

static void check(const char *file, const char *what, struct reading r, int64_t want, int64_t scale)
{
    if (want == NA ? r.state == READING_OK : r.state != READING_OK || r.value != want * scale)
        fail_msg("%s: %s is %s %lld, not %lld", file, what, reading_state_name(r.state), (long long)r.value,
                 (long long)(want * scale));
}

/* What was said is either a number or a known way to say that there is none: nothing was misread. */
static void nothing_failed(const char *file, const char *text, const struct gpu *gpu)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (gpu->metric[i].state == READING_FAILED)
            fail_msg("%s: %s could not be read", file, metric_table[i].json);
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (gpu->property[i].state == READING_FAILED && !strstr(text, "[REDACTED]"))
            fail_msg("%s: %s could not be read", file, property_table[i].json);
    int64_t total, used, unused, reserved;
    if (reading_get(gpu->mem_total_bytes, &total) && reading_get(gpu->mem_used_bytes, &used) &&
        reading_get(gpu->mem_free_bytes, &unused) && reading_get(gpu->mem_reserved_bytes, &reserved))
        assert_in_range(used + unused + reserved - total + (4 << 20), 0, 8 << 20); /* each is rounded to MiB on its own */
}

/* clang-format off */
/* NA: absent. Memory in MiB, temperature in C, power in mW, shares in percent, clock in MHz. */
static const struct {
    const char *machine, *file, *name, *pci;
    int64_t total, used, temp, power_mw, limit_w, util, mem_util, fan, clock, pstate, slowdown, throttle, processes, instances;
    const char *driver, *cuda;
} xmls[] = {
    {"a100-mig", "smi-xml-telegraf/a100-sxm4-v12.xml", "NVIDIA A100-SXM4-80GB", "0000:01:00.0",
     81920, 50, 27, 67030, 500, NA, NA, NA, 1275, 0, 89, 0, 0, 4, "535.54.03", "12.2"},
    {"a10g", "smi-xml-telegraf/a10g.xml", "NVIDIA A10G", "0000:00:1e.0", 23028, 22, 17,
     25580, 300, 0, 0, 0, 210, 8, 95, THROTTLE_IDLE, 1, 0, "515.105.01", "11.7"},
    {"gtx1070ti", "smi-xml-telegraf/gtx-1070-ti.xml", "GeForce GTX 1070 Ti", "0000:01:00.0", 4096,
     42, 39, NA, NA, 0, 0, 100, 135, 8, NA, NA, NA, 0, "", ""},
    {"gtx1660ti", "smi-xml-telegraf/gtx-1660-ti.xml", "Graphics Device", "0000:43:00.0", 5912, 0,
     40, 8930, 130, 0, 1, 0, 300, 8, 93, THROTTLE_IDLE, 0, 0, "418.43", "10.1"},
    {"quadro-p400", "smi-xml-telegraf/quadro-p400.xml", "Quadro P400", "0000:43:00.0", 1998, 0, 33,
     NA, NA, 0, 3, 34, 139, 8, 100, THROTTLE_IDLE, 0, 0, "418.43", "10.1"},
    {"rtx3080-windows", "smi-xml-telegraf/rtx-3080-v12.xml", "NVIDIA GeForce RTX 3080", "0000:04:00.0",
     10240, 1128, 31, 22780, 336, 0, 37, 0, 210, 8, 95, THROTTLE_IDLE, 5, 0, "536.40", "12.2"},
    {"rtx3080", "smi-xml-telegraf/rtx-3080-v13.xml", "NVIDIA GeForce RTX 3080", "0000:0c:00.0",
     10240, 9184, 27, 139620, 320, 65, 9, 0, 1950, 2, 95, 0, 0, 0, "595.58.03", "13.2"},
    {"rtx3090", "smi-xml-telegraf/rtx-3090-v12.xml", "NVIDIA GeForce RTX 3090", "0000:00:10.0",
     24576, 1, 37, 27230, 200, 0, 0, 0, 0, 8, 95, THROTTLE_IDLE, 0, 0, "525.147.05", "12.0"},
    {"t4", "smi-xml-telegraf/tesla-t4.xml", "Tesla T4", "0000:00:1e.0", 15360, 1032, 40,
     26780, 70, 0, 0, NA, 585, 0, 93, 0, 2, 0, "515.105.01", "11.7"},
    {"h200", "h200-driver-580.159.04/q.xml", "NVIDIA H200", "0000:00:06.0", 143771, 0, 38,
     79920, 700, 0, 0, NA, 345, 0, 89, THROTTLE_IDLE, 0, 0, "580.159.04", "13.0"},
    {"h200-load", "h200-driver-580.159.04/q_load.xml", "NVIDIA H200", "0000:00:06.0", 143771,
     1011, 59, 691170, 700, 100, 23, NA, 1455, 0, 88, THROTTLE_POWER_CAP, 1, 0, "580.159.04", "13.0"},
};
/* clang-format on */

static void check_xml(size_t i, const char *file, struct str text)
{
    AUTO_REPORT struct smi_report r = {0};
    struct error err = {0};
    if (smi_read_xml(&r, text, &err) != 0)
        fail_msg("%s: %s", file, err.text);
    assert_int_equal(r.count, 1);
    const struct gpu *gpu = &r.cards[0].gpu;
    assert_string_equal(gpu->id.name, xmls[i].name);
    assert_int_equal(strlen(gpu->id.uuid), strlen("GPU-00000000-0000-0000-0000-000000000000"));
    assert_string_equal(gpu->id.pci_address, xmls[i].pci);
    assert_string_equal(r.driver.driver_version, xmls[i].driver);
    assert_string_equal(r.driver.cuda_version, xmls[i].cuda);
    check(file, "total", gpu->mem_total_bytes, xmls[i].total, MIB_BYTES);
    check(file, "used", gpu->mem_used_bytes, xmls[i].used, MIB_BYTES);
    check(file, "temperature", gpu->temp_mdegc, xmls[i].temp, 1000);
    check(file, "power", gpu->power_mw, xmls[i].power_mw, 1);
    check(file, "power limit", gpu->power_limit_mw, xmls[i].limit_w, 1000);
    check(file, "utilization", gpu->util_permille, xmls[i].util, 10);
    check(file, "memory utilization", gpu->mem_util_permille, xmls[i].mem_util, 10);
    check(file, "fan", gpu->fan_permille, xmls[i].fan, 10);
    check(file, "clock", gpu->clock_graphics_khz, xmls[i].clock, 1000);
    check(file, "state", gpu->pstate, xmls[i].pstate, 1);
    check(file, "throttle", gpu->throttle_bits, xmls[i].throttle, 1);
    check(file, "instances", reading_ok((int64_t)gpu->instance_count), xmls[i].instances, 1);
    if (xmls[i].processes != NA)
        check(file, "processes", reading_ok((int64_t)gpu->process_count), xmls[i].processes, 1);
    else
        assert_int_equal(gpu->processes_state, READING_UNREAD);
    check(file, "slowdown", gpu->temp_limit_mdegc, xmls[i].slowdown, 1000);
    nothing_failed(file, text.at, gpu);
}

static void every_xml_has_the_right_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(xmls); i++) {
        AUTO_FREE char *text = machine_file(xmls[i].machine, "/nvidia-smi/q.xml", NULL);
        assert_non_null(text);
        check_xml(i, xmls[i].machine, str_from(text));
    }
    for (size_t i = 0; fixtures_dir() && i < ARRAY_LEN(xmls); i++) {
        AUTO_FREE char *text = load(xmls[i].file);
        check_xml(i, xmls[i].file, str_from(text));
    }
}

static void a_divided_card_shows_its_instances(void **state)
{
    (void)state;
    AUTO_FREE char *text = machine_file("a100-mig", "/nvidia-smi/q.xml", NULL);
    AUTO_REPORT struct smi_report r = {0};
    assert_int_equal(smi_read_xml(&r, str_from(text), NULL), 0);
    const struct gpu *gpu = &r.cards[0].gpu;
    assert_int_equal(gpu->mig_enabled.value, 1);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(gpu->instances[i].index, i);
        assert_int_equal(gpu->instances[i].mem_total_bytes.value, 19968LL * MIB_BYTES);
        assert_int_equal(gpu->instances[i].compute_units.value, 14);
        assert_int_equal(r.cards[0].slices[i].gpu_instance, 3 + i);
    }
}

/* Sections of a capture: "# $ COMMAND" and a line of #, then the output up to the next line of #. */
static bool next_section(struct str *rest, struct str *command, struct str *output)
{
    struct str line;
    while (str_cut(rest, '\n', &line)) {
        if (!str_starts(line, "# $ "))
            continue;
        *command = (struct str){line.at + 4, line.len - 4};
        while (str_cut(rest, '\n', &line) && !str_starts(line, "####"))
            ;
        const char *end = rest->len ? memmem(rest->at, rest->len, "\n####", 5) : NULL;
        size_t len = end ? (size_t)(end - rest->at) : rest->len;
        *output = (struct str){rest->at, len};
        *rest = (struct str){rest->at + len, rest->len - len};
        return true;
    }
    return false;
}

/* clang-format off */
static const struct {
    const char *machines[2]; /* idle, under load; NULL: none */
    const char *file, *name, *pci, *driver, *cuda;
    struct {
        int64_t total, used, temp, power_mw, limit_w, util, mem_util, fan, clock_video, throttle, margin, processes;
    } rows[2]; /* idle, under load */
} captures[] = {
    {{"rtx2080s", "rtx2080s-load"},
     "smi-captures-geforce/linux-x86_64__nvidia-geforce-rtx-2080-super__595.71.05.txt", "NVIDIA GeForce RTX 2080 SUPER",
     "0000:0c:00.0", "595.71.05", "13.2", {{8192, 214, 40, 39320, 250, 0, 9, 38, 705, THROTTLE_POWER_CAP, NA, 0}, {8192, 819, 45,
     111500, 250, 8, 3, 38, 1905, 0, NA, 2}}},
    {{"rtx2080s-610", NULL},
     "smi-captures-geforce/linux-x86_64__nvidia-geforce-rtx-2080-super__610.57.04.txt", "NVIDIA GeForce RTX 2080 SUPER",
     "0000:0c:00.0", "610.57.04", "13.3", {{8192, 211, 33, 39170, 250, 0, 0, 38, 675, THROTTLE_IDLE, NA, 0}, {8192, 815, 38,
     98140, 250, 8, 3, 38, 1920, 0, NA, 2}}},
    {{"rtx4080s", "rtx4080s-load"},
     "smi-captures-geforce/linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt", "NVIDIA GeForce RTX 4080 SUPER",
     "0000:01:00.0", "595.71.05", "13.2", {{16376, 596, 43, 26200, 320, 0, 23, 0, 1185, THROTTLE_IDLE, NA, 1}, {16376, 1474, 46,
     84240, 320, 7, 2, 0, 2145, 0, NA, 3}}},
    {{"h100", "h100-load"},
     "smi-captures-h100/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt", "NVIDIA H100 80GB HBM3", "0000:00:09.0",
     "590.48.01", "13.1", {{81559, 0, 41, 69850, 700, 0, 0, NA, 765, THROTTLE_IDLE, 46, 0}, {81559, 19818, 59, 631950, 700, 100,
     11, NA, 1545, 0, 26, 3}}},
    {{"h100-mig", "h100-mig-load"},
     "smi-captures-h100/linux-x86_64__nvidia-h100-mig__590.48.01.txt", "NVIDIA H100 80GB HBM3", "0000:00:09.0", "590.48.01",
     "13.1", {{81559, 59, 42, 71150, 700, NA, NA, NA, 765, THROTTLE_IDLE, 45, 0}, {81559, 11125, 53, 433780, 700, NA, NA, NA,
     1545, 0, 24, 3}}},
};
/* clang-format on */

static void check_values(size_t capture, size_t row, const char *file, const struct gpu *gpu)
{
    assert_string_equal(gpu->id.name, captures[capture].name);
    assert_string_equal(gpu->id.pci_address, captures[capture].pci);
    assert_string_equal(gpu->driver_version.value, captures[capture].driver);
    check(file, "total", gpu->mem_total_bytes, captures[capture].rows[row].total, MIB_BYTES);
    check(file, "used", gpu->mem_used_bytes, captures[capture].rows[row].used, MIB_BYTES);
    check(file, "temperature", gpu->temp_mdegc, captures[capture].rows[row].temp, 1000);
    check(file, "power", gpu->power_mw, captures[capture].rows[row].power_mw, 1);
    check(file, "limit", gpu->power_limit_mw, captures[capture].rows[row].limit_w, 1000);
    check(file, "utilization", gpu->util_permille, captures[capture].rows[row].util, 10);
    check(file, "memory utilization", gpu->mem_util_permille, captures[capture].rows[row].mem_util, 10);
    check(file, "fan", gpu->fan_permille, captures[capture].rows[row].fan, 10);
    check(file, "video clock", gpu->clock_video_khz, captures[capture].rows[row].clock_video, 1000);
    check(file, "throttle", gpu->throttle_bits, captures[capture].rows[row].throttle, 1);
    check(file, "margin", gpu->temp_margin_mdegc, captures[capture].rows[row].margin, 1000);
}

static void check_rows(size_t capture, size_t row, struct str output, struct smi_report *r)
{
    const struct smi_field *columns[300];
    struct str rest = output, header;
    assert_true(str_cut(&rest, '\n', &header));
    size_t count = smi_read_header(header, columns, ARRAY_LEN(columns));
    assert_true(count > 200);
    assert_int_equal(smi_read_csv(r, output, columns, count), 1);
    const struct gpu *gpu = &r->cards[0].gpu;
    check_values(capture, row, captures[capture].file, gpu);
    nothing_failed(captures[capture].file, output.at, gpu);
    /* Each column of ours that the driver printed was applied: none is left unread. */
    for (size_t i = 0; i < count; i++)
        if (columns[i] && columns[i]->target == FIELD_METRIC)
            assert_int_not_equal(gpu->metric[columns[i]->id].state, READING_UNREAD);
}

/* The captures have other columns than we ask for: time, name, address, serial, UUID, pid, process, memory. */
static void check_apps(size_t capture, size_t row, struct str output, struct smi_report *r)
{
    AUTO_BUF struct buf text = BUF(65536);
    struct str line, cells[8];
    while (str_cut(&output, '\n', &line)) {
        size_t count = 0;
        while (count < 8 && str_cut(&line, ',', &cells[count]))
            count++;
        if (count == 8)
            buf_printf(&text, STR_FMT "," STR_FMT "," STR_FMT "," STR_FMT "\n", STR_ARG(cells[5]), STR_ARG(cells[6]),
                       STR_ARG(cells[7]), STR_ARG(cells[4]));
    }
    smi_read_apps(r, buf_view(&text));
    check(captures[capture].file, "processes", reading_ok((int64_t)r->cards[0].gpu.process_count),
          captures[capture].rows[row].processes, 1);
    for (size_t i = 0; i < r->cards[0].gpu.process_count; i++) {
        const struct process *p = &r->cards[0].gpu.processes[i];
        assert_int_equal(p->mem_bytes.state, READING_OK);
        assert_true(p->name[0] && !strchr(p->name, '/'));
    }
}

static void every_machine_that_is_asked_has_the_right_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(captures); i++) {
        const char *name = captures[i / 2].machines[i % 2];
        struct tree t;
        struct gpu gpu;
        struct driver_info driver = {0};
        if (!name)
            continue;
        open_machine(&t, name);
        sample_machine(&t, 0, &gpu, &driver);
        check_values(i / 2, i % 2, name, &gpu);
        check(name, "processes", reading_ok((int64_t)gpu.process_count), captures[i / 2].rows[i % 2].processes, 1);
        assert_string_equal(driver.driver_version, captures[i / 2].driver);
        assert_string_equal(driver.cuda_version, captures[i / 2].cuda);
        assert_true(driver.nvml_version[0]);
        gpu_done(&gpu);
        tree_done(&t);
    }
}

static void every_capture_has_the_right_values(void **state)
{
    (void)state;
    for (size_t i = 0; fixtures_dir() && i < ARRAY_LEN(captures); i++) {
        AUTO_FREE char *text = load(captures[i].file);
        struct str rest = str_from(text), command, output;
        AUTO_REPORT struct smi_report r = {0};
        struct driver_info driver = {0};
        size_t queries = 0;
        while (next_section(&rest, &command, &output)) {
            if (str_contains(command, "--query-gpu=")) {
                smi_report_done(&r);
                check_rows(i, queries++, output, &r);
            } else if (str_contains(command, "--query-compute-apps=")) {
                check_apps(i, queries - 1, output, &r);
            } else if (str_contains(command, "--version")) {
                smi_read_version(&driver, output);
            }
        }
        assert_int_equal(queries, 2);
        assert_string_equal(driver.driver_version, captures[i].driver);
        assert_string_equal(driver.cuda_version, captures[i].cuda);
        assert_true(driver.nvml_version[0]);
    }
}

/* Everything that a machine says through the source, as in the other golden files. */
static void every_machine_reads_as_its_golden_file_says(void **state)
{
    (void)state;
    static const char *const machines[] = {
        "a100-mig",
        "a10g",
        "gtx1070ti",
        "gtx1660ti",
        "h100",
        "h100-load",
        "h100-mig",
        "h200",
        "h200-load",
        "h100-mig-load",
        "nvidia-odd-cells",
        "quadro-p400",
        "rtx2080s",
        "rtx2080s-610",
        "rtx3080",
        "rtx2080s-load",
        "rtx3080-windows",
        "rtx3090",
        "rtx4080s",
        "rtx4080s-load",
        "rtx4090x4-one-lost",
        "t4",
        "h200-mig-shared-load",
        "l40s-load",
        "laptop-rtx5080",
        "rtx2080s-windows",
        "vgpu-a6000-24q",
    };
    for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
        struct tree t;
        char golden[PATH_SIZE];
        open_machine(&t, machines[i]);
        AUTO_FREE char *text = source_write(&nvidia_smi_source, &t.env);
        snprintf(golden, sizeof golden, "nvidia-smi-%s.txt", machines[i]);
        assert_golden(golden, text);
        tree_done(&t);
    }
}

static void instances_are_named_by_the_list(void **state)
{
    (void)state;
    struct tree t;
    struct gpu gpu;
    struct driver_info driver;
    open_machine(&t, "h100-mig");
    sample_machine(&t, 0, &gpu, &driver);
    assert_int_equal(gpu.instance_count, 4);
    assert_string_equal(gpu.instances[0].profile, "3g.40gb");
    assert_string_equal(gpu.instances[1].profile, "2g.20gb");
    assert_string_equal(gpu.instances[3].profile, "1g.10gb");
    assert_string_equal(gpu.instances[3].id.uuid, "MIG-00000003-0000-0000-0000-000000000003");
    gpu_done(&gpu);
    tree_done(&t);
}

static void every_odd_cell_is_absent_for_its_reason(void **state)
{
    (void)state;
    struct tree t;
    struct gpu gpus[4];
    struct driver_info driver;
    open_machine(&t, "nvidia-odd-cells");
    for (size_t i = 0; i < ARRAY_LEN(gpus); i++)
        sample_machine(&t, i, &gpus[i], &driver);
    const struct gpu *a = &gpus[0], *b = &gpus[1], *c = &gpus[2], *d = &gpus[3];
    assert_int_equal(a->util_permille.state, READING_UNSUPPORTED);
    assert_int_equal(a->mem_used_bytes.value, 312LL * MIB_BYTES);
    assert_int_equal(a->fan_permille.value, 500);
    assert_int_equal(b->mem_total_bytes.state, READING_UNSUPPORTED);
    assert_int_equal(b->power_mw.value, 32100);
    assert_int_equal(c->state, GPU_LOST);
    assert_int_equal(d->state, GPU_ERROR);
    assert_int_equal(d->temp_mdegc.state, READING_FAILED);
    assert_int_equal(d->util_permille.state, READING_DENIED);
    assert_int_equal(d->mem_used_bytes.value, 10LL * MIB_BYTES);
    assert_int_equal(d->power_mw.state, READING_FAILED);
    for (size_t i = 0; i < ARRAY_LEN(gpus); i++)
        gpu_done(&gpus[i]);
    tree_done(&t);
}

static void the_h200_in_the_columns_of_the_contract(void **state)
{
    (void)state;
    const struct smi_field *columns[COLUMNS_ALWAYS + 1];
    for (size_t i = 0; i < COLUMNS_ALWAYS; i++)
        columns[i] = &smi_columns[i];
    columns[COLUMNS_ALWAYS] = smi_column_find(STR("fan.speed"));
    AUTO_REPORT struct smi_report r = {0};
    struct str row = STR("0, NVIDIA H200, 38, 79.95, 0, 143771, 0, 0, [N/A]\n");
    assert_int_equal(smi_read_csv(&r, row, columns, ARRAY_LEN(columns)), 1);
    const struct gpu *gpu = &r.cards[0].gpu;
    assert_string_equal(gpu->id.name, "NVIDIA H200");
    check("h200", "temperature", gpu->temp_mdegc, 38, 1000);
    check("h200", "power", gpu->power_mw, 79950, 1);
    check("h200", "used", gpu->mem_used_bytes, 0, MIB_BYTES);
    check("h200", "total", gpu->mem_total_bytes, 143771, MIB_BYTES);
    check("h200", "fan", gpu->fan_permille, NA, 1);
}

static void the_newest_help_knows_all_of_our_columns(void **state)
{
    (void)state;
    AUTO_FREE char *text = machine_file("h200", "/nvidia-smi/help-query-gpu", NULL);
    assert_non_null(text);
    for (size_t i = 0; i < smi_column_count; i++) {
        char quoted[128];
        snprintf(quoted, sizeof quoted, "\"%s\"", smi_columns[i].name);
        if (!strstr(text, quoted))
            fail_msg("the driver does not know %s", quoted);
    }
}

/* What nvidia-smi prints instead of an answer. */
static const char no_driver[] = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
                                "latest NVIDIA driver is installed and running.\n\n",
                  no_devices[] = "No devices were found\n",
                  mismatch[] = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.211\n",
                  lost[] = "Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.  Reboot the system to recover "
                           "this GPU\n",
                  unknown[] = "Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error\n",
                  missing[] = "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n"
                              "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
                              "|   0  NVIDIA RTX PRO 6000 Blac...    On  |   00000000:16:00.0 Off |                  Off |\n"
                              "| 58%   87C    P1            299W /  300W |   88450MiB /  97887MiB |    100%      Default |\n",
                  table[] = "|   5  ERR!                On   | 00000000:91:00.0 Off |                 ERR! |\n"
                            "|ERR!  ERR! ERR!    ERR! / ERR! |      0MiB / 81920MiB |    ERR!      Default |\n";

static void error_texts_become_sentences(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        const char *part;
    } texts[] = {
        {no_driver, -ENODEV, "the NVIDIA driver is not running"},
        {no_devices, -ENODEV, "finds no GPU"},
        {mismatch, -ENODEV, "different versions"},
        {lost, -EIO, "a GPU is lost"},
        {unknown, -EIO, "cannot be reached"},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        assert_int_equal(smi_explain(str_from(texts[i].text), 1, &err), texts[i].code);
        if (!strstr(err.text, texts[i].part))
            fail_msg("'%s' becomes '%s'", texts[i].text, err.text);
    }
    const char *const cards[][2] = {{lost, "0000:05:00.0"}, {unknown, "0000:cb:00.0"}, {missing, "0000:34:00.0"}};
    for (size_t i = 0; i < ARRAY_LEN(cards); i++) {
        AUTO_REPORT struct smi_report r = {0};
        assert_int_equal(smi_lost_cards(&r, str_from(cards[i][0])), 1);
        assert_string_equal(r.cards[0].gpu.id.pci_address, cards[i][1]);
    }
}

/* Whatever text meets whichever reader: nothing crashes, and no card is made up from tables or help texts. */
static void through_every_reader(const char *name, struct str all)
{
    const struct smi_field *columns[COLUMNS_ALWAYS];
    for (size_t i = 0; i < COLUMNS_ALWAYS; i++)
        columns[i] = &smi_columns[i];
    struct str column;
    AUTO_REPORT struct smi_report csv = {0}, xml = {0}, gone = {0};
    struct error err = {0};
    struct driver_info driver = {0};
    size_t rows = smi_read_csv(&csv, all, columns, ARRAY_LEN(columns));
    if (!strstr(name, ".csv"))
        assert_int_equal(rows, 0);
    smi_read_apps(&csv, all);
    int rc = smi_read_xml(&xml, all, &err);
    assert_int_equal(rc == 0, strstr(name, ".xml") != NULL);
    smi_lost_cards(&gone, all);
    smi_read_list(&xml, all);
    smi_read_version(&driver, all);
    smi_explain(all, 1, &err);
    smi_unknown_column(all, &column);
    smi_unknown_option(all);
}

static size_t every_file_of(const char *path)
{
    size_t files = 0;
    struct env here = {.sysroot = ""};
    AUTO_DIR DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char name[PATH_SIZE];
        AUTO_BUF struct buf text = BUF(16 << 20);
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_type != DT_REG || file_read_all(&here, name, &text) < 0)
            continue;
        through_every_reader(name, buf_view(&text));
        files++;
    }
    return files;
}

static void every_file_through_every_reader(void **state)
{
    (void)state;
    static const char *const machines[] = {"a100-mig", "gtx1070ti", "h100-mig",        "h100-load",
                                           "h200",     "h200-load", "rtx3080-windows", "t4"};
    static const char *const folders[] = {"SYNTH-csv-cells",   "h200-driver-580.159.04", "smi-captures-geforce",
                                          "smi-captures-h100", "smi-error-texts",        "smi-xml-telegraf"};
    const char *const errors[] = {no_driver, no_devices, mismatch, lost, unknown, missing, table};
    size_t files = 0;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++)
        through_every_reader("error text", str_from(errors[i]));
    for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
        struct tree t;
        char path[2 * PATH_SIZE];
        tree_machine(&t, machines[i]);
        snprintf(path, sizeof path, "%s/nvidia-smi", t.root);
        files += every_file_of(path);
        tree_done(&t);
    }
    assert_true(files >= 15);
    for (size_t f = 0; fixtures_dir() && f < ARRAY_LEN(folders); f++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/nvidia/%s", fixtures_dir(), folders[f]);
        assert_true(every_file_of(path) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_xml_has_the_right_values),
        TEST(a_divided_card_shows_its_instances),
        TEST(every_machine_that_is_asked_has_the_right_values),
        TEST(every_capture_has_the_right_values),
        TEST(every_machine_reads_as_its_golden_file_says),
        TEST(instances_are_named_by_the_list),
        TEST(every_odd_cell_is_absent_for_its_reason),
        TEST(the_h200_in_the_columns_of_the_contract),
        TEST(the_newest_help_knows_all_of_our_columns),
        TEST(error_texts_become_sentences),
        TEST(every_file_through_every_reader),
    };
    return RUN_TESTS(tests);
}
