/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/promql.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "test.h"

/* The rows as "name=value,name=value 1.5;". */
static int write_row(void *user, const struct vector_row *row)
{
    struct buf *out = user;
    for (size_t i = 0; i < row->label_count; i++)
        buf_printf(out, "%s%s=%s", i ? "," : "", row->labels[i].name, row->labels[i].value);
    buf_printf(out, " %g;", row->value);
    return 0;
}

static int read_text(const char *text, struct buf *out)
{
    AUTO_BUF struct buf answer = BUF(1 << 21);
    *out = BUF(1 << 16);
    buf_text(&answer, text);
    return vector_read(&answer, write_row, out);
}

static void expect_rows(const char *text, const char *rows)
{
    AUTO_BUF struct buf out = BUF(0);
    assert_int_equal(read_text(text, &out), 0);
    assert_string_equal(out.at ? out.at : "", rows);
}

static void expect_refused(const char *text)
{
    AUTO_BUF struct buf out = BUF(0);
    assert_int_equal(read_text(text, &out), -EBADMSG);
}

#define ANSWER(rows) "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[" rows "]}}"

static void rows_have_labels_and_a_value(void **state)
{
    (void)state;
    expect_rows(ANSWER(""), "");
    expect_rows(
        ANSWER(
            "{\"metric\":{\"host\":\"a\",\"gpu\":\"0\"},\"value\":[1763272800.5,\"12.5\"]},{\"metric\":{},\"value\":[1,\"-3e2\"]}"),
        "host=a,gpu=0 12.5; -300;");
}

static void order_and_space_do_not_matter(void **state)
{
    (void)state;
    expect_rows(
        " { \"data\" : { \"result\" : [ { \"value\" : [ 1 , \"2\" ] , \"metric\" : { \"a\" : \"b\" } } ] , \"x\":[1,{\"y\":null}]},"
        "\"warnings\":[\"w\"], \"stats\":{\"n\":1.5e3,\"t\":true} }\n",
        "a=b 2;");
}

static void texts_are_unescaped(void **state)
{
    (void)state;
    expect_rows(
        ANSWER("{\"metric\":{\"a\":\"q\\\" b\\\\ s\\/ t\\t n\\n \\u00e9\\u20ac \\ud83d\\ude00 \\ud83d.\"},\"value\":[1,\"1\"]}"),
        "a=q\" b\\ s/ t\t n\n \u00e9\u20ac \U0001F600 \ufffd. 1;");
}

static void what_is_no_number_is_left_out(void **state)
{
    (void)state;
    expect_rows(
        ANSWER("{\"metric\":{\"a\":\"1\"},\"value\":[1,\"NaN\"]},{\"metric\":{\"a\":\"2\"},\"value\":[1,\"+Inf\"]},"
               "{\"metric\":{\"a\":\"3\"},\"histogram\":[1,{\"count\":\"2\"}]},{\"metric\":{\"a\":\"4\"},\"value\":[1,\"4\"]}"),
        "a=4 4;");
}

static void labels_beyond_the_room_are_left_out(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF(1 << 16);
    AUTO_BUF struct buf out = BUF(0);
    buf_text(&text, "{\"data\":{\"result\":[{\"metric\":{");
    for (int i = 0; i < VECTOR_LABELS + 3; i++)
        buf_printf(&text, "%s\"l%d\":\"%d\"", i ? "," : "", i, i);
    buf_text(&text, "},\"value\":[1,\"7\"]}]}}");
    assert_int_equal(read_text(text.at, &out), 0);
    assert_non_null(strstr(out.at, "l63=63 7;"));
}

static void what_is_no_answer_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "<html>",
        "null",
        "[]",
        "{}",
        "{\"data\":{}}",
        "{\"data\":[]}",
        "{\"data\":{\"result\":{}}}",
        "{\"data\":{\"result\":[1]}}",
        ANSWER("") "x",
        ANSWER("{\"metric\":{\"a\":1},\"value\":[1,\"1\"]}"),
        ANSWER("{\"metric\":{},\"value\":[1,2]}"),
        ANSWER("{\"metric\":{\"a\":\"\\x\"},\"value\":[1,\"1\"]}"),
        ANSWER("{\"metric\":{\"a\":\"\\u12g4\"},\"value\":[1,\"1\"]}"),
        ANSWER("{\"metric\":{},\"value\":[1,\"1\"]},"),
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        expect_refused(texts[i]);
    /* Cut off anywhere. */
    static const char whole[] = ANSWER("{\"metric\":{\"a\":\"\\u00e9\"},\"value\":[1,\"1\"]}");
    for (size_t len = 0; len + 1 < sizeof whole; len++) {
        char text[sizeof whole] = {0};
        memcpy(text, whole, len);
        expect_refused(text);
    }
}

static void depth_has_an_end(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF(1 << 21);
    buf_text(&text, "{\"x\":");
    for (int i = 0; i < 1000000; i++)
        buf_char(&text, '[');
    expect_refused(text.at);
}

static int stop(void *user, const struct vector_row *row)
{
    (void)row;
    ++*(int *)user;
    return -ENOMEM;
}

static void the_reader_can_end_it(void **state)
{
    (void)state;
    AUTO_BUF struct buf answer = BUF(4096);
    int calls = 0;
    buf_text(&answer, ANSWER("{\"metric\":{},\"value\":[1,\"1\"]},{\"metric\":{},\"value\":[1,\"1\"]}"));
    assert_int_equal(vector_read(&answer, stop, &calls), -ENOMEM);
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(rows_have_labels_and_a_value),
                                       TEST(order_and_space_do_not_matter),
                                       TEST(texts_are_unescaped),
                                       TEST(what_is_no_number_is_left_out),
                                       TEST(labels_beyond_the_room_are_left_out),
                                       TEST(what_is_no_answer_is_refused),
                                       TEST(depth_has_an_end),
                                       TEST(the_reader_can_end_it)};
    return RUN_TESTS(tests);
}
