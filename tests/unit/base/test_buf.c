/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>

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

static void markup_is_kept_from_whoever_reads_it(void **state)
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
        TEST(markup_is_kept_from_whoever_reads_it),
    };
    return RUN_TESTS(tests);
}
