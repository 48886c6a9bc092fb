/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/hosts.h"

#include <errno.h>

#include "base/cleanup.h"
#include "test.h"

static void an_address_says_how_a_host_is_asked(void **state)
{
    (void)state;
    static const struct {
        const char *given, *text;
    } rows[] = {
        {"gpu2", "https://gpu2:9447"},
        {"gpu2.example.org:443", "https://gpu2.example.org:443"},
        {"https://gpu2", "https://gpu2:9447"},
        {"https://gpu2:8443/", "https://gpu2:8443"},
        {"http://gpu2", "http://gpu2:9447"},
        {"localhost", "http://localhost:9447"},
        {"127.0.0.1:1234", "http://127.0.0.1:1234"},
        {"[::1]:1234", "http://[::1]:1234"},
        {"[fe80::1%eth0]", "https://[fe80::1%eth0]:9447"},
        {"10.0.0.7", "https://10.0.0.7:9447"},
        {"ssh://gpu2", "ssh://gpu2"},
        {"ssh://alice@gpu2:2222", "ssh://alice@gpu2:2222"},
        {"ssh://gpu2/run/user/1000/whirr.sock", "ssh://gpu2/run/user/1000/whirr.sock"},
        {"ssh://alice@[::1]:22", "ssh://alice@[::1]:22"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct host_place place;
        struct error err = {0};
        char text[400];
        if (host_place_read(rows[i].given, NULL, &place, &err) < 0)
            fail_msg("%s: %s", rows[i].given, err.text);
        host_place_text(&place, text, sizeof text);
        assert_string_equal(text, rows[i].text);
        assert_string_equal(place.name, rows[i].given);
    }
}

static void what_is_no_address_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "-oProxyCommand=id",
                                        "a b",
                                        "gpu2:",
                                        "gpu2:0",
                                        "gpu2:65536",
                                        "gpu2:x",
                                        "[::1",
                                        "[::1]x",
                                        "gpu2/path",
                                        "ssh://",
                                        "ssh://-l",
                                        "ssh://@a",
                                        "ssh://-x@a",
                                        "ssh://a:b",
                                        "https://a/path",
                                        "ssh://a/s:/other",
                                        "ftp://a",
                                        "a;id",
                                        "$(id)",
                                        "a\nb",
                                        "ssh://a/\x01:"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct host_place place;
        struct error err = {0};
        if (host_place_read(wrong[i], NULL, &place, &err) != -EINVAL)
            fail_msg("'%s' was taken for an address", wrong[i]);
        assert_non_null(strstr(err.text, "expected NAME[:PORT]"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_says_how_a_host_is_asked),
        cmocka_unit_test(what_is_no_address_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
