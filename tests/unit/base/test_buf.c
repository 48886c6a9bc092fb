/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>

#include "base/cleanup.h"
#include "test.h"

static void grows_up_to_its_maximum_and_then_fails_for_good(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(10);
    buf_text(&b, "12345");
    buf_printf(&b, "%d", 67890);
    assert_false(b.failed);
    assert_string_equal(b.at, "1234567890");
    buf_char(&b, '!');
    assert_true(b.failed);
    buf_text(&b, "");
    assert_true(b.failed);
    assert_null(buf_take(&b));
}

static void an_empty_buffer_gives_an_empty_text(void **state)
{
    (void)state;
    struct buf b = BUF(10);
    char *text = buf_take(&b);
    assert_string_equal(text, "");
    free(text);
}

/* Spreadsheets take a cell that begins with one of these for a formula, and run it. */
static void cells_are_no_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *cell, *text, *number;
    } examples[] = {
        {"=1+1", "'=1+1", "=1+1"},
        {"+1+1", "'+1+1", "+1+1"},
        {"-a", "'-a", "-a"},
        {"@SUM(A1)", "'@SUM(A1)", "@SUM(A1)"},
        {"\t=1", "\"'\t=1\"", NULL},
        {"\r=1", "\"'\r=1\"", NULL},
        {"-5", "-5", "-5"},
        {"-5.25", "-5.25", "-5.25"},
        {"=A,\"b\"", "\"'=A,\"\"b\"\"\"", NULL},
        {"a=b", "a=b", "a=b"},
        {"", "", ""},
        {"a,b", "\"a,b\"", "\"a,b\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        AUTO_BUF struct buf text = BUF(64), number = BUF(64);
        buf_csv(&text, str_from(examples[i].cell), true);
        assert_string_equal(text.at ? text.at : "", examples[i].text);
        buf_csv(&number, str_from(examples[i].cell), false);
        if (examples[i].number)
            assert_string_equal(number.at ? number.at : "", examples[i].number);
    }
}

static void a_cell_ends_where_it_ends(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(8);
    buf_csv(&b, (struct str){"a,b", 1}, true);
    assert_string_equal(b.at, "a");
}

static void markup_is_escaped_for_readers(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(100);
    buf_markup(&b, STR("a<b> & \"c\""));
    assert_string_equal(b.at, "a&lt;b&gt; &amp; \"c\"");
}

static void why_it_failed_is_told_apart(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(3);
    struct error err = {0};
    buf_text(&b, "123");
    assert_int_equal(buf_check(&b, &err, "longer than %d", 3), 0);
    buf_char(&b, '4');
    assert_int_equal(buf_check(&b, &err, "longer than %d", 3), -EFBIG);
    assert_string_equal(err.text, "longer than 3");
    b.no_memory = true;
    assert_int_equal(buf_check(&b, &err, "longer than %d", 3), -ENOMEM);
    assert_string_equal(err.text, "out of memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(grows_up_to_its_maximum_and_then_fails_for_good),
        TEST(an_empty_buffer_gives_an_empty_text),
        TEST(why_it_failed_is_told_apart),
        TEST(cells_are_no_formulas),
        TEST(a_cell_ends_where_it_ends),
        TEST(markup_is_escaped_for_readers),
    };
    return RUN_TESTS(tests);
}
