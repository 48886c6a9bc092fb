/* SPDX-License-Identifier: Apache-2.0
 * The TOML reader's own behaviour: positions, messages, limits. Its conformance is the business of test_toml_corpus.
 */
#include "base/toml.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "test.h"

static struct toml_document *parsed(const char *text)
{
    struct toml_document *doc = NULL;
    struct toml_error err = {0};
    int rc = toml_parse(str_from(text), &doc, &err);
    if (rc != 0)
        fail_msg("%d:%d: %s", err.at.line, err.at.column, err.text);
    return doc;
}

static void values_remember_where_they_stand(void **state)
{
    (void)state;
    AUTO_TOML struct toml_document *doc = parsed("# c\n[server]\n  listen = \"a\"\n[[alert]]\nname='\xc3\xa4 x'\n"
                                                 "[[alert]]\nkinds = [ 1,\n 22 ]\n");
    const struct toml_value *server = toml_get(toml_root(doc), "server");
    assert_int_equal(server->at.line, 2);
    const struct toml_value *listen = toml_get(server, "listen");
    assert_int_equal(listen->key_at.line, 3);
    assert_int_equal(listen->key_at.column, 3);
    assert_int_equal(listen->at.column, 12);
    const struct toml_value *alert = toml_get(toml_root(doc), "alert");
    assert_int_equal(alert->count, 2);
    assert_int_equal(alert->last->at.line, 6);
    const struct toml_value *kinds = toml_get(alert->last, "kinds");
    assert_int_equal(kinds->last->integer, 22);
    assert_int_equal(kinds->last->at.line, 8);
    assert_int_equal(kinds->last->at.column, 2);
}

static void errors_point_at_the_place_and_say_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line, column;
        const char *says;
    } cases[] = {
        {"a = yes", 1, 5, "this is not a value; text is written in quotes"},
        {"a = 1\n\na = 2", 3, 1, "'a' is already defined in line 1"},
        {"a 1", 1, 3, "'=' is missing behind the key 'a'"},
        {"x = [1,\n 2\n 3]", 3, 2, "',' or ']' is missing in this array"},
        {"[a]\nb = \"c\nd = 1", 2, 5, "the closing \" of this text is missing"},
        {"a = \"C:\\Users\"", 1, 8, "\\U needs 8 hexadecimal digits"},
        {"\xc3\xa4 = 1", 1, 1, "'\xc3\xa4' cannot stand in a key (letters, digits, - and _ can; anything else in quotes)"},
        {"a = 1 b = 2", 1, 7, "nothing may follow behind a value on the same line"},
        {"a = \"\xc3\xa4\" x", 1, 9, "nothing may follow behind a value on the same line"},
        {"a = 012", 1, 5, "this is not a number; text is written in quotes"},
        {"a = 9223372036854775808", 1, 5, "this number does not fit into 64 bits"},
        {"a = 2026-02-30", 1, 5, "this is not a date or time (like 2026-11-15T01:02:03Z); text is written in quotes"},
        {"a = \n", 1, 5, "a value is missing"},
        {"[a\n", 1, 3, "']' is missing at the end of the table's name"},
        {"\n\n# \x01", 3, 3, "control character 0x01 in a comment"},
        {"a = \"\xff\"", 1, 6, "byte 0xff is not UTF-8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct toml_document *doc = NULL;
        struct toml_error err;
        assert_int_equal(toml_parse(str_from(cases[i].text), &doc, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].says);
        assert_int_equal(err.at.line, cases[i].line);
        assert_int_equal(err.at.column, cases[i].column);
        assert_null(doc);
    }
}

/* The same piece again and again; '#' in it becomes the number of the repetition. */
static int parse_repeated(const char *first, const char *again, size_t times, const char *last)
{
    AUTO_BUF struct buf text = BUF(4 << 20);
    buf_text(&text, first);
    for (size_t i = 0; i < times; i++) {
        for (const char *p = again; *p; p++) {
            if (*p == '#')
                buf_printf(&text, "%zu", i);
            else
                buf_char(&text, *p);
        }
    }
    buf_text(&text, last);
    AUTO_TOML struct toml_document *doc = NULL;
    return toml_parse(buf_view(&text), &doc, NULL);
}

static void limits_end_in_errors_not_in_crashes(void **state)
{
    (void)state;
    assert_int_equal(parse_repeated("a = ", "[", 63, ""), -EINVAL); /* within the depth, but never closed */
    assert_int_equal(parse_repeated("a = ", "[", 100000, ""), -E2BIG);
    assert_int_equal(parse_repeated("a = ", "{b=", 100000, ""), -E2BIG);
    assert_int_equal(parse_repeated("a", ".a", 100000, " = 1"), -E2BIG);
    assert_int_equal(parse_repeated("[a", ".a", 60, "]"), 0);
    assert_int_equal(parse_repeated("", "k# = 1\n", 65000, ""), 0);
    assert_int_equal(parse_repeated("", "k# = 1\n", 66000, ""), -E2BIG);
    assert_int_equal(parse_repeated("# ", "0123456789", 110000, ""), -E2BIG);
}

static void every_prefix_of_a_document_ends_without_harm(void **state)
{
    (void)state;
    const char *text =
        "a.\"b c\" = \"x\\u00e4\\\"\"\n[t]\nm = \"\"\"\n y \\\n  z\"\"\"\nl = '''q'''\n[[s.u]]\nd = 2026-01-02 03:04:05.6+07:00\n"
        "i = {a = [1, 2.5, 0xff], b.c = -inf}\n";
    for (size_t len = 0; len <= strlen(text); len++) {
        AUTO_FREE char *exact = malloc(len ? len : 1); /* so that a sanitizer sees one byte too far */
        assert_non_null(exact);
        memcpy(exact, text, len);
        AUTO_TOML struct toml_document *doc = NULL;
        struct toml_error err = {0};
        int rc = toml_parse((struct str){exact, len}, &doc, &err);
        assert_true(rc == 0 ? doc != NULL : err.text[0] && err.at.line > 0);
    }
}

static void text_keeps_what_was_written(void **state)
{
    (void)state;
    AUTO_TOML struct toml_document *doc =
        parsed("a = \"x\\u0000y\"\nb = \"\"\"\n1\\\n   2\n\"quoted\"\"\"\"\"\nc = '''\nC:\\x''''\n\"\" = 1\n");
    const struct toml_value *a = toml_get(toml_root(doc), "a");
    assert_int_equal(a->text.len, 3);
    assert_memory_equal(a->text.at, "x\0y", 4);
    assert_string_equal(toml_get(toml_root(doc), "b")->text.at, "12\n\"quoted\"\"");
    assert_string_equal(toml_get(toml_root(doc), "c")->text.at, "C:\\x'");
    assert_int_equal(toml_get(toml_root(doc), "")->integer, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_remember_where_they_stand),    TEST(errors_point_at_the_place_and_say_what_to_do),
        TEST(limits_end_in_errors_not_in_crashes), TEST(every_prefix_of_a_document_ends_without_harm),
        TEST(text_keeps_what_was_written),
    };
    return RUN_TESTS(tests);
}
