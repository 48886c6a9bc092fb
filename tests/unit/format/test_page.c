/* SPDX-License-Identifier: Apache-2.0 */
#include "format/table/page_table.h"

#include "format/table/grid.h"
#include "test.h"

static const struct page plain = {.width = 20, .utf8 = true}, ascii = {.width = 20},
                         colored = {.width = 20, .utf8 = true, .color = true};

#define ASSERT_TEXT(b, expected) assert_string_equal((b).at ? (b).at : "", expected)

static void widths_are_columns_not_bytes(void **state)
{
    (void)state;
    assert_int_equal(width_of("plain"), 5);
    assert_int_equal(width_of("größe"), 5);
    assert_int_equal(width_of("日本"), 4);
    assert_int_equal(width_of("e\xcc\x81"), 1); /* e and a combining accent */
    assert_int_equal(width_of("🔥"), 2);
    assert_int_equal(width_of("\xff\xfe"), 2); /* each stray byte is shown as one sign */
}

static void cut_text_ends_with_an_ellipsis_and_fits(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(1000);
    assert_int_equal(page_fit(&b, &plain, STR("GeForce RTX 4090"), 10), 10);
    ASSERT_TEXT(b, "GeForce R…");
    AUTO_BUF struct buf wide = BUF(1000);
    assert_true(page_fit(&wide, &plain, STR("日本日本日本"), 6) <= 6);
    ASSERT_TEXT(wide, "日本…");
    AUTO_BUF struct buf whole = BUF(1000);
    page_fit(&whole, &plain, STR("fits"), 4);
    ASSERT_TEXT(whole, "fits");
}

static void names_of_others_cannot_move_the_cursor(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(1000);
    page_fit(&b, &plain, STR("a\033[2Jb\nc\x7f\xff"), 0);
    ASSERT_TEXT(b, "a?[2Jb?c??");
}

static void ascii_pages_get_ascii_only(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(1000);
    page_fit(&b, &ascii, STR("71 °C – größe…"), 0);
    page_bar(&b, &ascii, INK_LOAD, reading_ok(500), 4);
    for (size_t i = 0; i < b.len; i++)
        assert_true((unsigned char)b.at[i] < 0x80);
    assert_string_equal(b.at, "71 C - gr??e~##..");
    assert_string_equal(page_dash(&ascii), "-");
}

static void bars_are_exactly_as_wide_as_asked(void **state)
{
    (void)state;
    for (int permille = -50; permille <= 1100; permille += 7) {
        for (int width = 1; width < 12; width++) {
            AUTO_BUF struct buf b = BUF(1000);
            page_bar(&b, &plain, INK_LOAD, reading_ok(permille), width);
            assert_int_equal(text_width(buf_view(&b)), width);
        }
    }
}

static void a_little_is_not_nothing_and_absent_is_neither(void **state)
{
    (void)state;
    AUTO_BUF struct buf zero = BUF(100), little = BUF(100), absent = BUF(100);
    page_bar(&zero, &plain, INK_LOAD, reading_ok(0), 3);
    page_bar(&little, &plain, INK_LOAD, reading_ok(1), 3);
    page_bar(&absent, &plain, INK_LOAD, reading_absent(READING_UNSUPPORTED), 3);
    ASSERT_TEXT(zero, "░░░");
    ASSERT_TEXT(little, "▏░░");
    ASSERT_TEXT(absent, "   ");
}

static void colour_only_where_the_page_has_it(void **state)
{
    (void)state;
    AUTO_BUF struct buf with = BUF(100), without = BUF(100);
    page_cell(&with, &colored, INK_BAD, RIGHT, "hot", 5);
    page_cell(&without, &plain, INK_BAD, RIGHT, "hot", 5);
    ASSERT_TEXT(with, "  \033[1;31mhot\033[0m");
    ASSERT_TEXT(without, "  hot");
}

static void words_are_wrapped_behind_the_indent(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(1000);
    page_wrap(&b, &plain, INK_PLAIN, "one two three four five six", 4, 0);
    ASSERT_TEXT(b, "one two three four\n    five six\n");
    AUTO_BUF struct buf longer = BUF(1000);
    page_wrap(&longer, &plain, INK_PLAIN, "averyveryverylongwordindeed x", 2, 0);
    ASSERT_TEXT(longer, "averyveryverylongwordindeed\n  x\n");
    AUTO_BUF struct buf units = BUF(1000); /* a number keeps its unit */
    page_wrap(&units, &plain, INK_PLAIN, "it draws about 319 W, at 71 °C.", 0, 0);
    ASSERT_TEXT(units, "it draws about\n319 W, at 71 °C.\n");
}

static void numbers_are_short_and_absent_ones_a_dash(void **state)
{
    (void)state;
    char text[NUMBER_SIZE];
    show_bytes(text, &plain, reading_ok(17825792000));
    assert_string_equal(text, "16.6 GiB");
    show_bytes(text, &plain, reading_ok(327155712));
    assert_string_equal(text, "312 MiB");
    show_bytes(text, &plain, reading_absent(READING_DENIED));
    assert_string_equal(text, "–");
    show_bytes_of(text, &plain, reading_ok(18874368000), reading_ok(25769803776));
    assert_string_equal(text, "17.6/24.0 GiB");
    show_bytes_of(text, &plain, reading_absent(READING_DENIED), reading_ok(25769803776));
    assert_string_equal(text, "–/24.0 GiB");
    show_percent(text, &plain, reading_ok(784));
    assert_string_equal(text, "78%");
    show_percent(text, &plain, reading_ok(3));
    assert_string_equal(text, "<1%");
    show_percent(text, &plain, reading_ok(0));
    assert_string_equal(text, "0%");
    show_watts(text, &plain, reading_ok(3740));
    assert_string_equal(text, "3.7 W");
    show_watts(text, &plain, reading_ok(279600));
    assert_string_equal(text, "280 W");
    show_age(text, &plain, 40500);
    assert_string_equal(text, "40s");
    show_age(text, &plain, 11220000);
    assert_string_equal(text, "3h 7m");
    show_age(text, &plain, -1);
    assert_string_equal(text, "–");
}

static const struct grid_column columns[] = {{"ID", RIGHT, 0}, {"RARE", LEFT, 5}, {"USEFUL", LEFT, 1}, {"COMMAND", LEFT, 0}};

static void fill(struct grid *g, const char *rare)
{
    grid_init(g, columns, 4);
    for (int i = 0; i < 2; i++) {
        grid_add(g, INK_PLAIN, i ? "10" : "9");
        grid_add(g, INK_PLAIN, rare);
        grid_add(g, INK_PLAIN, "abc");
        grid_add(g, INK_PLAIN, "a command that is quite long");
    }
}

static void grids_leave_out_the_least_important_columns_first(void **state)
{
    (void)state;
    AUTO_GRID struct grid g;
    fill(&g, "xyz");
    struct page page = {.width = 0, .utf8 = true};
    AUTO_BUF struct buf all = BUF(4000), some = BUF(4000), few = BUF(4000);
    grid_write(&all, &page, &g);
    assert_non_null(strstr(all.at, "RARE"));
    assert_non_null(strstr(all.at, "quite long"));
    page.width = 30;
    grid_write(&some, &page, &g);
    assert_null(strstr(some.at, "RARE"));
    assert_non_null(strstr(some.at, "USEFUL"));
    assert_non_null(strstr(some.at, "…"));
    page.width = 22;
    grid_write(&few, &page, &g);
    assert_null(strstr(few.at, "USEFUL"));
    assert_non_null(strstr(few.at, "COMMAND"));
}

static void grids_leave_out_columns_that_know_nothing(void **state)
{
    (void)state;
    AUTO_GRID struct grid g;
    fill(&g, "–");
    struct page page = {.width = 0, .utf8 = true};
    AUTO_BUF struct buf b = BUF(4000);
    grid_write(&b, &page, &g);
    assert_null(strstr(b.at, "RARE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(widths_are_columns_not_bytes),
        TEST(cut_text_ends_with_an_ellipsis_and_fits),
        TEST(names_of_others_cannot_move_the_cursor),
        TEST(ascii_pages_get_ascii_only),
        TEST(bars_are_exactly_as_wide_as_asked),
        TEST(a_little_is_not_nothing_and_absent_is_neither),
        TEST(colour_only_where_the_page_has_it),
        TEST(words_are_wrapped_behind_the_indent),
        TEST(numbers_are_short_and_absent_ones_a_dash),
        TEST(grids_leave_out_the_least_important_columns_first),
        TEST(grids_leave_out_columns_that_know_nothing),
    };
    return RUN_TESTS(tests);
}
