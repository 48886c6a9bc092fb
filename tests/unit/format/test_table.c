/* SPDX-License-Identifier: Apache-2.0 */
#include "format/table/table.h"

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
    for (int width = 56; width <= 200; width++) {
        struct page page = {.width = width, .utf8 = width % 2};
        AUTO_BUF struct buf status = BUF(1 << 20), ps = BUF(1 << 20), devices = BUF(1 << 20);
        table_status(&status, &page, s, ALL_GPUS);
        table_ps(&ps, &page, s, &rows);
        table_devices(&devices, &page, s, ALL_GPUS);
        assert_false(status.failed || ps.failed || devices.failed);
        assert_keeps_to(&status, width);
        assert_keeps_to(&ps, width);
        assert_null(strchr(status.at, '\033'));
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
    assert_non_null(strstr(b.at, "slowed by power cap, software thermal slowdown"));
    assert_non_null(strstr(b.at, "python3 (alice) 16.6 GiB 75%"));
    assert_non_null(strstr(b.at, "processes not visible without privileges"));
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

static void more_processes_than_fit_are_counted(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = nasty_machine();
    struct page page = {.width = 80, .utf8 = true};
    AUTO_BUF struct buf b = BUF(1 << 20);
    table_status(&b, &page, s, 0);
    assert_non_null(strstr(b.at, "more\n"));
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
        assert_true(process_sort_known(process_sort_keys[i]));
    assert_false(process_sort_known("nonsense"));
}

static void without_gpu_the_reason_and_the_way_out_are_told(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(0);
    s->source_count = 1;
    s->sources[0] = (struct source_status){.name = "nvml", .message = "no library"};
    struct page page = {.width = 80, .utf8 = true};
    AUTO_BUF struct buf b = BUF(1 << 20);
    table_status(&b, &page, s, ALL_GPUS);
    assert_non_null(strstr(b.at, "No GPU was found"));
    assert_non_null(strstr(b.at, "no library"));
    assert_non_null(strstr(b.at, "whirr doctor"));
    snapshot_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_line_fits_every_page),
        TEST(states_are_said_in_words),
        TEST(one_gpu_alone_is_shown_alone),
        TEST(columns_that_no_gpu_knows_are_left_out),
        TEST(more_processes_than_fit_are_counted),
        TEST(rows_are_filtered_and_sorted),
        TEST(without_gpu_the_reason_and_the_way_out_are_told),
    };
    return RUN_TESTS(tests);
}
