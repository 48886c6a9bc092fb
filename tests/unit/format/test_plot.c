/* SPDX-License-Identifier: Apache-2.0 */
#include "format/plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "test.h"

static const struct page utf8 = {.width = 60, .utf8 = true}, ascii = {.width = 60},
                         colored = {.width = 60, .utf8 = true, .color = true};

/* 2026-03-01T00:00:00Z */
#define BEGIN 1772323200.0
enum { POINTS = 60 };

struct curve {
    double times[POINTS], mean[POINTS], min[POINTS], max[POINTS];
};

static struct plot plot_of(struct curve *c, const char *unit, enum plot_style style)
{
    for (int i = 0; i < POINTS; i++) {
        c->times[i] = BEGIN + i * 60;
        c->min[i] = c->max[i] = c->mean[i];
    }
    struct plot plot = {.title = "power",
                        .unit = unit,
                        .lines = {{.label = "", .times = c->times, .mean = c->mean, .min = c->min, .max = c->max, .count = POINTS}},
                        .line_count = 1,
                        .since = BEGIN,
                        .until = BEGIN + 3600,
                        .width = 40,
                        .height = 5,
                        .style = style,
                        .with_times = true};
    plot.margin = plot_margin(&plot);
    return plot;
}

static size_t rows_of(struct buf *b, struct str rows[32])
{
    struct str rest = buf_view(b);
    size_t count = 0;
    while (count < 32 && str_cut(&rest, '\n', &rows[count]))
        count++;
    return count;
}

static void a_line_stands_at_its_value_between_labelled_axes(void **state)
{
    (void)state;
    struct curve c;
    struct str rows[32];
    for (int i = 0; i < POINTS; i++)
        c.mean[i] = 100;
    for (int i = POINTS / 2; i < POINTS; i++)
        c.mean[i] = 0;
    struct plot plot = plot_of(&c, "W", PLOT_ASCII);
    AUTO_BUF struct buf out = BUF(10000);
    plot_write(&out, &ascii, &plot);
    size_t count = rows_of(&out, rows);
    assert_int_equal(count, 1 + 5 + 2);
    assert_true(str_starts(rows[0], "power W  last 0"));
    assert_true(str_starts(rows[1], "100 +''''"));
    assert_true(str_starts(rows[5], "  0 +  "));
    assert_true(str_ends(rows[5], "____"));
    assert_true(str_starts(rows[6], "    +"));
    assert_true(str_contains(rows[7], "00:30"));
    for (size_t i = 0; i < count; i++)
        assert_true(text_width(rows[i]) <= 40);
}

static void nothing_is_drawn_where_nothing_is_known(void **state)
{
    (void)state;
    struct curve c;
    struct str rows[32];
    for (int i = 0; i < POINTS; i++)
        c.mean[i] = i < 15 || i >= 45 ? 50 : NAN;
    struct plot plot = plot_of(&c, "%", PLOT_ASCII);
    AUTO_BUF struct buf out = BUF(10000);
    plot_write(&out, &ascii, &plot);
    rows_of(&out, rows);
    /* The middle row has the line, 36 columns wide; its middle half is empty. */
    assert_true(str_starts(rows[3], " 50 +"));
    struct str field = {rows[3].at + 5, rows[3].len - 5};
    assert_true(field.len >= 30);
    assert_true(field.at[2] != ' ' && field.at[field.len - 1] != ' ');
    for (size_t i = 11; i < 25; i++)
        assert_int_equal(field.at[i], ' ');
}

static void large_numbers_get_a_larger_unit(void **state)
{
    (void)state;
    struct curve c;
    for (int i = 0; i < POINTS; i++)
        c.mean[i] = 40960;
    struct plot plot = plot_of(&c, "MiB", PLOT_BRAILLE);
    AUTO_BUF struct buf out = BUF(10000);
    plot_write(&out, &utf8, &plot);
    assert_non_null(strstr(out.at, "power GiB  last 40.0"));
}

static void far_from_zero_the_axis_begins_near_the_values(void **state)
{
    (void)state;
    struct curve c;
    struct str rows[32];
    for (int i = 0; i < POINTS; i++)
        c.mean[i] = 70 + i % 3;
    struct plot plot = plot_of(&c, "°C", PLOT_BRAILLE);
    AUTO_BUF struct buf out = BUF(10000);
    plot_write(&out, &utf8, &plot);
    rows_of(&out, rows);
    assert_true(str_starts(rows[5], " 7") || str_starts(rows[5], "7"));
    AUTO_BUF struct buf plain = BUF(10000);
    plot_write(&plain, &ascii, &plot);
    assert_true(str_starts(buf_view(&plain), "power C "));
}

static void a_plot_of_nothing_says_so(void **state)
{
    (void)state;
    struct curve c;
    for (int i = 0; i < POINTS; i++)
        c.mean[i] = NAN;
    struct plot plot = plot_of(&c, "W", PLOT_BRAILLE);
    AUTO_BUF struct buf out = BUF(10000);
    plot_write(&out, &utf8, &plot);
    assert_non_null(strstr(out.at, "nothing stored"));
}

static void marks_stand_below_their_time_each_in_a_place_of_its_own(void **state)
{
    (void)state;
    struct curve c;
    struct str rows[32];
    for (int i = 0; i < POINTS; i++)
        c.mean[i] = 1;
    struct plot plot = plot_of(&c, "W", PLOT_ASCII);
    const struct plot_mark marks[] = {
        {BEGIN, INK_BAD, 'a'}, {BEGIN + 1, INK_WARN, 'b'}, {BEGIN + 1800, INK_BAD, 'c'}, {BEGIN - 60, INK_BAD, 'd'}};
    plot.marks = marks;
    plot.mark_count = 4;
    AUTO_BUF struct buf out = BUF(10000);
    plot_write(&out, &ascii, &plot);
    struct str last = rows[rows_of(&out, rows) - 1];
    assert_int_equal(last.at[plot.margin], 'a');
    assert_int_equal(last.at[plot.margin + 1], 'b');
    assert_int_equal(last.at[plot.margin + (40 - plot.margin) / 2], 'c');
    assert_false(str_contains(last, "d"));
}

static void every_size_and_range_is_drawn_within_its_width(void **state)
{
    (void)state;
    static const double spans[] = {2, 90, 3600, 86400, 86400 * 7, 86400 * 60, 86400.0 * 365 * 5};
    static const double values[] = {0, 1e-4, 0.5, 3, 1e6, -20, 1e12};
    struct curve c;
    for (size_t s = 0; s < sizeof spans / sizeof spans[0]; s++) {
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            for (int i = 0; i < POINTS; i++)
                c.mean[i] = values[v] * (1 + i % 5);
            struct plot plot = plot_of(&c, "", (enum plot_style)((s + v) % 3));
            for (int i = 0; i < POINTS; i++)
                c.times[i] = BEGIN + spans[s] * i / POINTS;
            plot.until = BEGIN + spans[s];
            plot.width = PLOT_WIDTH_LEAST + (int)v * 20;
            plot.height = PLOT_HEIGHT_LEAST + (int)s;
            AUTO_BUF struct buf out = BUF(100000), color = BUF(100000);
            plot_write(&out, &utf8, &plot);
            plot_write(&color, &colored, &plot);
            struct str rows[32];
            size_t count = rows_of(&out, rows);
            assert_false(out.failed || color.failed);
            assert_true(count >= (size_t)plot.height + 3);
            for (size_t i = 1; i < count; i++)
                assert_true(text_width(rows[i]) <= plot.width);
        }
    }
}

int main(void)
{
    setenv("TZ", "UTC", 1);
    tzset();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_stands_at_its_value_between_labelled_axes),
        cmocka_unit_test(nothing_is_drawn_where_nothing_is_known),
        cmocka_unit_test(large_numbers_get_a_larger_unit),
        cmocka_unit_test(far_from_zero_the_axis_begins_near_the_values),
        cmocka_unit_test(a_plot_of_nothing_says_so),
        cmocka_unit_test(marks_stand_below_their_time_each_in_a_place_of_its_own),
        cmocka_unit_test(every_size_and_range_is_drawn_within_its_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
