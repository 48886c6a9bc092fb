/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "base/cleanup.h"
#include "test.h"

static void cuts_at_separators_and_keeps_the_last_part(void **state)
{
    (void)state;
    struct str rest = STR("a,b,,c"), part;
    const char *expected[] = {"a", "b", "", "c"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(str_cut(&rest, ',', &part));
        assert_true(str_is(part, expected[i]));
    }
    assert_false(str_cut(&rest, ',', &part));
}

static void numbers_are_whole_or_refused(void **state)
{
    (void)state;
    int64_t i = 7;
    uint64_t u = 7;
    double d = 7;
    assert_true(str_to_i64(STR(" -42\n"), &i));
    assert_int_equal(i, -42);
    assert_false(str_to_i64(STR("42x"), &i));
    assert_false(str_to_i64(STR(""), &i));
    assert_false(str_to_i64(STR("99999999999999999999"), &i));
    assert_int_equal(i, -42);
    assert_true(str_to_u64(STR("0x10"), &u));
    assert_int_equal(u, 16);
    assert_false(str_to_u64(STR("-1"), &u));
    assert_false(str_to_double(STR("nan"), &d));
    assert_false(str_to_double(STR("inf"), &d));
    assert_false(str_to_double(STR("0x1p3"), &d));
    assert_true(str_to_scaled(STR("79.95"), 1000, &i));
    assert_int_equal(i, 79950);
}

static void copies_cut_between_characters(void **state)
{
    (void)state;
    char text[5];
    str_copy(text, sizeof text, STR("ab\xc3\xa4\xc3\xb6"));
    assert_string_equal(text, "ab\xc3\xa4");
    str_copy(text, 4, STR("ab\xc3\xa4"));
    assert_string_equal(text, "ab");
}

static void foreign_names_are_cleaned(void **state)
{
    (void)state;
    char text[32];
    str_copy_clean(text, sizeof text, STR("a\x01\xff\xc3\xa4\x1b[31m"));
    assert_string_equal(text, "a??\xc3\xa4?[31m");
    /* A control character above ASCII, the direction turned around; but not the dash and the quotation mark beside them. */
    str_copy_clean(text, sizeof text,
                   STR("\xc2\x9b"
                       "1m\xe2\x80\xae"
                       "a\xe2\x81\xa6\xe2\x80\x93\xc2\xa0"));
    assert_string_equal(text, "?1m?a?\xe2\x80\x93\xc2\xa0");
    str_copy_clean(text, sizeof text, STR("\xed\xa0\x80z")); /* a surrogate is not a character */
    assert_string_equal(text, "???z");
}

/* One of each kind, and what stands beside it. */
static void what_cannot_be_seen_is_not_in_a_name(void **state)
{
    (void)state;
    static const uint32_t unseen[] = {0x9f,    0xad,    0x34f,   0x61c,   0x6dd,   0x115f,  0x180e,  0x200b,   0x200d,  0x200f,
                                      0x2028,  0x202e,  0x2060,  0x2064,  0x2069,  0x206f,  0x3164,  0xe000,   0xf8ff,  0xfdd0,
                                      0xfe0f,  0xfeff,  0xffa0,  0xfff9,  0xfffe,  0xffff,  0x110bd, 0x13430,  0x1bca0, 0x1d173,
                                      0x1fffe, 0x40000, 0xe0001, 0xe0041, 0xe007f, 0xe0100, 0xf0000, 0x100000, 0x10ffff};
    static const uint32_t seen[] = {0x20,   0x7e,   0xa0,   0xac,    0xae,    0x370,   0x5d0,   0x627,  0x905,
                                    0x1100, 0x2010, 0x2027, 0x202f,  0x20ac,  0x3042,  0x4e2d,  0xac00, 0xf900,
                                    0xfdf0, 0xff21, 0xfffd, 0x10000, 0x1d400, 0x1f600, 0x20000, 0x30000};
    char in[5], text[8];
    for (size_t i = 0; i < ARRAY_LEN(unseen); i++) {
        str_copy_clean(text, sizeof text, (struct str){in, str_put_utf8(unseen[i], in)});
        if (strcmp(text, "?") != 0)
            fail_msg("U+%04X is in a name", unseen[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
        size_t len = str_put_utf8(seen[i], in);
        str_copy_clean(text, sizeof text, (struct str){in, len});
        if (strlen(text) != len || memcmp(text, in, len) != 0)
            fail_msg("U+%04X is not in a name", seen[i]);
    }
}

static void distance_finds_typing_errors(void **state)
{
    (void)state;
    assert_int_equal(str_distance("status", "status"), 0);
    assert_int_equal(str_distance("statsu", "status"), 1);
    assert_int_equal(str_distance("sttas", "status"), 2);
    assert_int_equal(str_distance("ca", "abc"), 3);
    assert_int_equal(str_distance("", "abc"), 3);
}

static void places_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        int port;
    } good[] = {{"localhost", "localhost", -1},
                {"localhost:80", "localhost", 80},
                {"localhost:", "localhost", -1},
                {"a-b_c.d~e:65535", "a-b_c.d~e", 65535},
                {"127.0.0.1:0", "127.0.0.1", 0},
                {"[::1]", "::1", -1},
                {"[::1]:9447", "::1", 9447},
                {"[fe80::1%eth0]:1", "fe80::1%eth0", 1},
                {"[::ffff:10.0.0.1]", "::ffff:10.0.0.1", -1},
                {"box.", "box.", -1}};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct str_place place;
        if (!str_to_place(str_from(good[i].text), &place) || !str_is(place.host, good[i].host) || place.port != good[i].port)
            fail_msg("%s", good[i].text);
    }
    static const char *const bad[] = {"",
                                      ":",
                                      ":80",
                                      "localhost:80evil.com",
                                      "localhost:80:80",
                                      "localhost:x",
                                      "localhost:-1",
                                      "localhost:+80",
                                      "localhost: 80",
                                      "localhost:65536",
                                      "localhost:000080",
                                      "localhost:0x50",
                                      "local host",
                                      " localhost",
                                      "localhost ",
                                      "localhost\t",
                                      "user@localhost",
                                      "u:p@localhost:80",
                                      "localhost/",
                                      "localhost/x",
                                      "localhost?x",
                                      "localhost#x",
                                      "localhost\\x",
                                      "localhost%2eevil.example",
                                      "localhost,evil.example",
                                      "localhost;evil",
                                      "http://localhost",
                                      "::1",
                                      "::1:80",
                                      "[::1",
                                      "::1]",
                                      "[::1]evil.example",
                                      "[::1]80",
                                      "[::1]:80x",
                                      "[::1]]",
                                      "[[::1]]",
                                      "[localhost]",
                                      "[127.0.0.1]",
                                      "[]",
                                      "[]:80",
                                      "[::1%]",
                                      "[::1%a b]",
                                      "[v1.x]",
                                      "*",
                                      "*.localhost",
                                      "h\xc3\xb6st",
                                      "localhost\x7f",
                                      "(localhost)",
                                      "<localhost>",
                                      "\"localhost\"",
                                      "localhost:80 evil"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct str_place place;
        if (str_to_place(str_from(bad[i]), &place))
            fail_msg("'%s' is no place", bad[i]);
    }
    struct str_place place;
    assert_false(str_to_place((struct str){"local\0host", 10}, &place));
}

static void a_listener_has_a_port_and_may_have_every_address(void **state)
{
    (void)state;
    static const char *const every[] = {"*:80", ":80", "[::]:80"};
    struct str_place place;
    for (size_t i = 0; i < ARRAY_LEN(every); i++)
        if (!str_to_listen(str_from(every[i]), &place) || !str_is(place.host, "::") || place.port != 80 || !place.bracketed)
            fail_msg("%s", every[i]);
    static const char *const bad[] = {"", "*", ":", "*:", "*:x", "localhost", "*80", "**:80", "127.0.0.1:0x50", "127.0.0.1:80evil"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (str_to_listen(str_from(bad[i]), &place))
            fail_msg("'%s' is no listener", bad[i]);
}

static void loopback_is_an_address_not_the_beginning_of_a_name(void **state)
{
    (void)state;
    static const char *const near[] = {"127.0.0.1", "127.255.0.9", "::1", "localhost", "LocalHost", "localhost.", "a.localhost"};
    static const char *const far[] = {"127.evil.example", "127.0.0.1.nip.io", "127.1",      "10.0.0.1",          "::2",
                                      "0.0.0.0",          "notlocalhost",     ".localhost", "localhost.example", ""};
    for (size_t i = 0; i < ARRAY_LEN(near); i++)
        if (!str_is_loopback(str_from(near[i])))
            fail_msg("%s never leaves the host", near[i]);
    for (size_t i = 0; i < ARRAY_LEN(far); i++)
        if (str_is_loopback(str_from(far[i])))
            fail_msg("%s may be anywhere", far[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cuts_at_separators_and_keeps_the_last_part),
        TEST(numbers_are_whole_or_refused),
        TEST(copies_cut_between_characters),
        TEST(foreign_names_are_cleaned),
        TEST(what_cannot_be_seen_is_not_in_a_name),
        TEST(distance_finds_typing_errors),
        TEST(places_are_read_strictly),
        TEST(a_listener_has_a_port_and_may_have_every_address),
        TEST(loopback_is_an_address_not_the_beginning_of_a_name),
    };
    return RUN_TESTS(tests);
}
