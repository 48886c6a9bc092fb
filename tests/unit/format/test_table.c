/* SPDX-License-Identifier: Apache-2.0 */
#include "format/table/table.h"

#include <jansson.h>

#include "host/identity.h"
#include "insight/area/part.h"
#include "insight/verdict/judge.h"
#include "insight/view/why.h"
#include "model/finding.h"
#include "sample.h"

static void assert_keeps_to(const struct buf *b, int width)
{
    struct str rest = buf_view(b), line;
    while (str_cut(&rest, '\n', &line))
        if (text_width(line) > width)
            fail_msg("%d columns on a page of %d: " STR_FMT, text_width(line), width, STR_ARG(line));
}

static struct snapshot *nasty_machine(void)
{
    struct snapshot *s = sample_machine();
    snprintf(s->gpus[0].id.name, GPU_NAME_SIZE, "NVIDIA 日本日本日本日本日本日本日本日本 with a name that does not end");
    for (int i = 0; i < 40; i++) {
        struct process *p = gpu_add_process(&s->gpus[0], 9000 + i);
        snprintf(p->name, sizeof p->name, "a-very-long-process-name-%d-\033[31m", i);
        snprintf(p->user, sizeof p->user, "somebody-with-a-long-name");
        snprintf(p->command, sizeof p->command, "%s --with --arguments \xff\xfe", p->name);
        p->mem_bytes = reading_ok(i * MIB_BYTES);
    }
    return s;
}

static void every_line_fits_every_page(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = nasty_machine();
    struct process_filter filter = {.only = ALL_GPUS};
    AUTO_PROCESS_ROWS struct process_rows rows;
    assert_int_equal(process_rows_init(&rows, s, &filter), 0);
    for (int width = 30; width <= 200; width++) {
        struct page page = {.width = width, .utf8 = width % 2};
        AUTO_BUF struct buf status = BUF(1 << 20), ps = BUF(1 << 20), devices = BUF(1 << 20);
        table_status(&status, &page, s, ALL_GPUS);
        assert_keeps_to(&status, width);
        assert_null(strchr(status.at, '\033'));
        if (width < 56)
            continue;
        table_ps(&ps, &page, s, &rows);
        table_devices(&devices, &page, s, ALL_GPUS);
        assert_false(status.failed || ps.failed || devices.failed);
        assert_keeps_to(&ps, width);
        assert_null(strchr(ps.at, '\033'));
    }
}

static void states_are_said_in_words(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    struct page page = {.width = 100, .utf8 = true};
    AUTO_BUF struct buf b = BUF(1 << 20);
    table_status(&b, &page, s, ALL_GPUS);
    assert_non_null(strstr(b.at, "asleep, left alone"));
    assert_non_null(strstr(b.at, "lost: GPU is lost"));
    assert_non_null(strstr(b.at, "SIMULATED"));
    assert_non_null(strstr(b.at, "└ 1g.10gb"));
    assert_non_null(strstr(b.at, "train.py · llama (alice)"));
    assert_non_null(strstr(b.at, "hidden without privileges"));
}

static void one_gpu_alone_is_shown_alone(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    struct page page = {.width = 80, .utf8 = true};
    AUTO_BUF struct buf b = BUF(1 << 20);
    table_status(&b, &page, s, 0);
    assert_non_null(strstr(b.at, "RTX 4090"));
    assert_null(strstr(b.at, "lost"));
    assert_null(strstr(b.at, "SIMULATED")); /* that is another one */
}

static void columns_that_no_gpu_knows_are_left_out(void **state)
{
    (void)state;
    struct snapshot *s = sample_machine();
    struct page page = {.width = 80, .utf8 = true};
    AUTO_BUF struct buf with = BUF(1 << 20), without = BUF(1 << 20);
    table_status(&with, &page, s, 0);
    s->gpus[0].fan_permille = reading_absent(READING_UNSUPPORTED);
    table_status(&without, &page, s, 0);
    assert_non_null(strstr(with.at, "FAN"));
    assert_null(strstr(without.at, "FAN"));
    snapshot_unref(s);
}

/* The screen that people know from the first page of the documentation, to the last blank. */
static void judge(struct snapshot *s)
{
    struct judge *j = judge_new();
    assert_non_null(j);
    verdict_free(s->verdict);
    s->verdict = NULL;
    judge_take(j, s);
    judge_free(j);
}

static void the_screen_is_the_one_that_is_documented(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int util, temp, power, limit, fan, rpm;
        double used, total;
        const char *process, *command, *model, *container, *user;
    } gpus[] = {
        {"RTX 4090", 350, 50, 134, 450, 330, 0, 6.1, 24, "ollama", "", "llama3.1-8b", "", "ollama"},
        {"RTX 4090", 970, 93, 316, 450, 1000, 0, 19.7, 24, "python3", "python3 train.py", "", "", "alice"},
        {"RX 7900 XTX", 10, 48, 38, 327, 330, 0, 7.1, 24, "python3", "", "", "comfyui", "bob"},
        {"Arc A770", 60, 39, 45, 190, 0, 1020, 0.3, 15.9, "mpv", "", "", "", "alice"},
    };
    struct snapshot *s = snapshot_new(ARRAY_LEN(gpus));
    snprintf(s->host.name, sizeof s->host.name, "desk");
    for (size_t i = 0; i < ARRAY_LEN(gpus); i++) {
        struct gpu *g = &s->gpus[i];
        g->index = (int)i;
        snprintf(g->id.name, sizeof g->id.name, "%s", gpus[i].name);
        g->util_permille = reading_ok(gpus[i].util);
        g->temp_mdegc = reading_ok(gpus[i].temp * 1000);
        g->power_mw = reading_ok(gpus[i].power * 1000);
        g->power_limit_mw = reading_ok(gpus[i].limit * 1000);
        g->mem_used_bytes = reading_ok((int64_t)(gpus[i].used * (1 << 30)));
        g->mem_total_bytes = reading_ok((int64_t)(gpus[i].total * (1 << 30)));
        if (gpus[i].rpm)
            g->fan_rpm = reading_ok(gpus[i].rpm);
        else
            g->fan_permille = reading_ok(gpus[i].fan);
        struct process *p = gpu_add_process(g, 100 + (int)i);
        snprintf(p->name, sizeof p->name, "%s", gpus[i].process);
        snprintf(p->command, sizeof p->command, "%s", gpus[i].command);
        process_find_title(p);
        snprintf(p->model, sizeof p->model, "%s", gpus[i].model);
        snprintf(p->container, sizeof p->container, "%s", gpus[i].container);
        snprintf(p->user, sizeof p->user, "%s", gpus[i].user);
    }
    s->gpus[1].throttle_bits = reading_ok(THROTTLE_SW_THERMAL);
    judge(s);
    struct page page = {.width = 120, .utf8 = true};
    AUTO_BUF struct buf b = BUF(1 << 20);
    table_status(&b, &page, s, ALL_GPUS);
    table_status_hints(&b, &page, s);
    assert_string_equal(b.at, "desk   4 GPUs   533 W   ▲ GPU 1 is throttling (93 °C)\n"
                              "  GPU            UTIL        VRAM GiB    TEMP    POWER W   FAN       TOP PROCESS\n"
                              "  0 RTX 4090     █▊░░░  35%   6.1/24.0   50 °C   134/450    33%      ollama · llama3.1-8b (ollama)\n"
                              "▲ 1 RTX 4090     ████▉  97%  19.7/24.0   93 °C   316/450   100%      train.py (alice)  THERMAL\n"
                              "  2 RX 7900 XTX  ▏░░░░   1%   7.1/24.0   48 °C    38/327    33%      python3 (bob, comfyui)\n"
                              "  3 Arc A770     ▎░░░░   6%   0.3/15.9   39 °C    45/190  1020 rpm   mpv (alice)\n"
                              "why: whirr why · live: whirr top\n");
    snapshot_unref(s);
}

static void hot_spot_and_memory_are_shown_where_there_is_room(void **state)
{
    (void)state;
    struct snapshot *s = sample_machine();
    s->gpus[0].temp_hotspot_mdegc = reading_ok(88000);
    s->gpus[0].temp_memory_mdegc = reading_ok(92000);
    struct page wide = {.width = 120, .utf8 = true}, narrow = {.width = 70, .utf8 = true};
    AUTO_BUF struct buf with = BUF(1 << 20), without = BUF(1 << 20);
    table_status(&with, &wide, s, 0);
    table_status(&without, &narrow, s, 0);
    assert_non_null(strstr(with.at, "HOTSPOT"));
    assert_non_null(strstr(with.at, "88 °C"));
    assert_non_null(strstr(with.at, "VRAM TEMP"));
    assert_non_null(strstr(with.at, "92 °C"));
    assert_null(strstr(without.at, "HOTSPOT"));
    snapshot_unref(s);
}

static void names_go_without_maker_and_family(void **state)
{
    (void)state;
    static const char *const names[][3] = {
        {"nvidia", "NVIDIA GeForce RTX 4090", "RTX 4090"},
        {"amd", "AMD Radeon RX 7900 XTX", "RX 7900 XTX"},
        {"intel", "Intel(R) Arc A770", "Arc A770"},
        {"amd", "AMD Radeon 780M", "780M"},
        {"amd", "Radeon Vega 8 Graphics", "Radeon Vega 8 Graphics"},
        {"amd", "Navi 31 [Radeon RX 7900]", "Navi 31 [Radeon RX 7900]"},
        {"nvidia", "NVIDIA H100 80GB HBM3", "H100 80GB HBM3"},
        {"intel", "Alder Lake-P GT2", "Alder Lake-P GT2"},
        {"nvidia", "Tesla T4", "T4"},
        {"", "", "unknown GPU"},
        {"nvidia", "NVIDIA", "NVIDIA"},
        {"amd", "AMD Radeon Graphics", "Radeon Graphics"},
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct gpu gpu = {0};
        snprintf(gpu.id.vendor, sizeof gpu.id.vendor, "%s", names[i][0]);
        snprintf(gpu.id.name, sizeof gpu.id.name, "%s", names[i][1]);
        assert_string_equal(gpu_short_name(&gpu), names[i][2]);
    }
}

static void the_worst_is_the_verdict_and_the_rest_is_counted(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(64);
    for (int i = 0; i < 64; i++) {
        struct gpu *g = &s->gpus[i];
        g->index = i;
        snprintf(g->id.name, sizeof g->id.name, "H100");
        g->util_permille = reading_ok(900);
        g->temp_mdegc = reading_ok(60000);
    }
    struct page page = {.width = 80, .utf8 = true};
    judge(s);
    AUTO_BUF struct buf calm = BUF(1 << 20), ill = BUF(1 << 20);
    table_status(&calm, &page, s, ALL_GPUS);
    assert_non_null(strstr(calm.at, "64 GPUs   ● no trouble seen\n"));
    s->gpus[7].temp_mdegc = reading_ok(95000);
    s->gpus[61].state = GPU_LOST;
    judge(s);
    table_status(&ill, &page, s, ALL_GPUS);
    assert_non_null(strstr(ill.at, "64 GPUs   ▲ GPU 61 is lost; also GPU 7 is hot (95 °C)\n"));
    assert_non_null(strstr(ill.at, "\n▲  7 H100"));
    assert_non_null(strstr(ill.at, "\n▲ 61 H100  lost"));
    assert_non_null(strstr(ill.at, "\n   0 H100"));
    s->gpus[9].state = GPU_LOST;
    judge(s);
    AUTO_BUF struct buf two = BUF(1 << 20), narrow = BUF(1 << 20);
    table_status(&two, &page, s, ALL_GPUS);
    assert_non_null(strstr(two.at, "64 GPUs   ▲ GPU 9 is lost; also GPU 61 is lost, 1 more\n"));
    table_status(&narrow, &(struct page){.width = 30, .utf8 = true}, s, ALL_GPUS);
    assert_non_null(strstr(narrow.at, "▲ GPU 9 is lost, 2 more\n"));
    snapshot_unref(s);
}

static void rows_are_filtered_and_sorted(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = nasty_machine();
    struct process_filter filter = {.only = ALL_GPUS, .sort = "memory", .name = "LONG-process"};
    struct process_rows rows;
    assert_int_equal(process_rows_init(&rows, s, &filter), 0);
    assert_int_equal(rows.count, 40);
    for (size_t i = 1; i < rows.count; i++)
        assert_true(rows.rows[i - 1].process->mem_bytes.value >= rows.rows[i].process->mem_bytes.value);
    process_rows_done(&rows);
    filter = (struct process_filter){.only = 0, .user = "alice"};
    assert_int_equal(process_rows_init(&rows, s, &filter), 0);
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows.rows[0].process->pid, 4242);
    process_rows_done(&rows);
    filter = (struct process_filter){.only = ALL_GPUS, .type = PROCESS_GRAPHICS};
    assert_int_equal(process_rows_init(&rows, s, &filter), 0);
    assert_int_equal(rows.rows[0].process->pid, 1203);
    assert_int_equal(rows.unknown, 3);
    process_rows_done(&rows);
    for (size_t i = 0; process_sort_keys[i]; i++)
        assert_true(process_sort_key(process_sort_keys[i]));
    assert_false(process_sort_key("nonsense"));
}

static void few_tokens_have_a_tenth(void **state)
{
    (void)state;
    static const struct {
        int64_t milli;
        const char *text;
    } cases[] = {{9400, "model, 9.4 tok/s"}, {10000, "model, 10 tok/s"}, {10600, "model, 11 tok/s"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct snapshot *s = snapshot_new(1);
        struct process *p = gpu_add_process(&s->gpus[0], 7);
        str_copy(p->model, sizeof p->model, STR("model"));
        p->tokens_milli = reading_ok(cases[i].milli);
        AUTO_PROCESS_ROWS struct process_rows rows;
        assert_int_equal(process_rows_init(&rows, s, &(struct process_filter){.only = ALL_GPUS}), 0);
        AUTO_BUF struct buf out = BUF(1 << 16);
        table_ps(&out, &(struct page){.width = 200}, s, &rows);
        if (!strstr(out.at, cases[i].text))
            fail_msg("'%s' is not in\n%s", cases[i].text, out.at);
        snapshot_unref(s);
    }
}

static void without_gpu_the_reason_and_the_way_out_are_told(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(0);
    s->source_count = 1;
    s->sources[0] = (struct source_status){.name = "nvml", .names_driver = true, .message = "no library"};
    struct page page = {.width = 80, .utf8 = true};
    AUTO_BUF struct buf b = BUF(1 << 20);
    table_status(&b, &page, s, ALL_GPUS);
    assert_non_null(strstr(b.at, "No GPU was found"));
    assert_non_null(strstr(b.at, "no library"));
    assert_non_null(strstr(b.at, "whirr doctor"));
    snapshot_unref(s);
}

static void what_is_called_idle_is_marked_idle(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    struct page page = {.width = 80, .utf8 = true};
    AUTO_BUF struct buf b = BUF(1 << 20);
    struct why *why = why_explain(s, NULL);
    assert_non_null(why);
    why->gpus[0].activity.code = ACTIVITY_KEPT_FROM_IDLING; /* by something that no user would mind */
    why->gpus[0].brief = (struct why_brief){.state = "idle"};
    why->gpus[0].severity = SEVERITY_INFO;
    table_why(&b, &page, s, why, 0, NULL);
    assert_non_null(strstr(b.at, "○ "));
    assert_null(strstr(b.at, "● "));
    why_free(why);
}

static void a_name_of_full_keeps_away_from_its_value(void **state)
{
    (void)state;
    struct snapshot *s = sample_machine();
    struct page page = {.width = 80, .utf8 = true};
    AUTO_BUF struct buf b = BUF(1 << 20);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        s->gpus[0].metric[i] = reading_ok(1);
    table_full(&b, &page, s, 0);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        char name[64];
        snprintf(name, sizeof name, "\n  %s  ", metric_table[i].json);
        if (!strstr(b.at, name))
            fail_msg("not in a line of its own with a gap:%s", name);
    }
    snapshot_unref(s);
}

static void what_is_worth_explaining_is_counted(void **state)
{
    (void)state;
    static const struct {
        const char *body, *words;
    } cases[] = {
        {"{\"episodes\": [], \"episodes_left_out\": 1}", "One thing is worth explaining.\n"},
        {"{\"episodes\": [], \"episodes_left_out\": 2}", "2 things are worth explaining, the most important first.\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf b = BUF(10000);
        json_t *body = json_loads(cases[i].body, 0, NULL);
        assert_int_equal(table_past(&b, &(struct page){.width = 100}, body), 0);
        assert_non_null(strstr(b.at, cases[i].words));
        json_decref(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_line_fits_every_page),
        TEST(states_are_said_in_words),
        TEST(one_gpu_alone_is_shown_alone),
        TEST(columns_that_no_gpu_knows_are_left_out),
        TEST(the_screen_is_the_one_that_is_documented),
        TEST(hot_spot_and_memory_are_shown_where_there_is_room),
        TEST(names_go_without_maker_and_family),
        TEST(the_worst_is_the_verdict_and_the_rest_is_counted),
        TEST(rows_are_filtered_and_sorted),
        TEST(few_tokens_have_a_tenth),
        TEST(without_gpu_the_reason_and_the_way_out_are_told),
        TEST(what_is_called_idle_is_marked_idle),
        TEST(a_name_of_full_keeps_away_from_its_value),
        TEST(what_is_worth_explaining_is_counted),
    };
    return RUN_TESTS(tests);
}
