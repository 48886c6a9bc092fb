/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_message.h"

#include <stdio.h>

#include "test.h"

static struct http_message request;

static ssize_t head(const char *text)
{
    return http_parse_request(str_from(text), &request);
}

#define HOST "Host: localhost\r\n"

static void a_plain_request_is_read(void **state)
{
    (void)state;
    const char *text = "GET /api/gpu/devices?gpu=1&x=a%20b+c HTTP/1.1\r\n" HOST "Accept:  */* \r\nX-Empty:\r\n\r\nrest";
    assert_int_equal(head(text), (ssize_t)strlen(text) - 4);
    assert_int_equal(request.method, HTTP_GET);
    assert_string_equal(request.path, "/api/gpu/devices");
    assert_true(str_is(request.host, "localhost"));
    assert_true(request.keep_alive);
    assert_int_equal(request.content_length, -1);
    assert_true(str_is(http_field(&request, "ACCEPT"), "*/*"));
    assert_non_null(http_field(&request, "x-empty").at);
    assert_null(http_field(&request, "cookie").at);
    char value[8];
    assert_true(http_query(&request, "gpu", value, sizeof value));
    assert_string_equal(value, "1");
    assert_true(http_query(&request, "x", value, sizeof value));
    assert_string_equal(value, "a b c");
    assert_false(http_query(&request, "y", value, sizeof value));
    assert_true(http_query(&request, "x", value, 5)); /* cut, not absent: it must not pass for a request without it */
    assert_string_equal(value, "a b ");
}

static void an_incomplete_head_waits_at_every_byte(void **state)
{
    (void)state;
    const char *text = "\r\nPOST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n";
    for (size_t len = 0; len < strlen(text); len++)
        assert_int_equal(http_parse_request((struct str){text, len}, &request), 0);
    assert_int_equal(head(text), (ssize_t)strlen(text));
    assert_int_equal(request.content_length, 3);
}

static void malformed_heads_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"GET / HTTP/1.1\n" HOST "\r\n", 400},         /* bare LF */
        {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400}, /* bare CR */
        {"GET  / HTTP/1.1\r\n" HOST "\r\n", 400},      /* two blanks */
        {"GET / HTTP/1.1 \r\n" HOST "\r\n", 400},      /* blank behind */
        {"GET /\r\n" HOST "\r\n", 400},                /* HTTP/0.9 */
        {"GET / HTTP/2.0\r\n" HOST "\r\n", 505},       /* another major version */
        {"GET / HTTP/1.x\r\n" HOST "\r\n", 400},       /**/
        {"GET / http/1.1\r\n" HOST "\r\n", 400},       /**/
        {"G@T / HTTP/1.1\r\n" HOST "\r\n", 400},       /* not a token */
        {"GET x HTTP/1.1\r\n" HOST "\r\n", 400},       /* no path */
        {"GET /%00 HTTP/1.1\r\n" HOST "\r\n", 400},    /* NUL */
        {"GET /%0a HTTP/1.1\r\n" HOST "\r\n", 400},    /* control character */
        {"GET /%4 HTTP/1.1\r\n" HOST "\r\n", 400},     /* cut escape */
        {"GET /%zz HTTP/1.1\r\n" HOST "\r\n", 400},    /* no digits */
        {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},      /* one that names nothing */
        {"GET / HTTP/1.0\r\nHost: \r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: localhost:80evil.com\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: user@localhost\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: localhost, evil\r\n\r\n", 400},
        {"GET http://localhost:80evil.com/ HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET http://user@localhost/ HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET http://localhost/ HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},                                                             /* no Host */
        {"GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400},                                                /* two */
        {"GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n", 400},                                          /* obs-fold */
        {"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400},                                         /* blank before the colon */
        {"GET / HTTP/1.1\r\n" HOST "no colon\r\n\r\n", 400},                                         /**/
        {"GET / HTTP/1.1\r\n" HOST "X: a\x01\r\n\r\n", 400},                                         /* control character */
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},          /* conflict */
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400},          /* and even without one */
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n", 400},                            /**/
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n", 400},                              /**/
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", 400},                              /**/
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 9999999999999999999\r\n\r\n", 400},             /**/
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400}, /* smuggling */
        {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
        {"POST / HTTP/1.1\r\n" HOST "Expect: miracles\r\n\r\n", 417},
        {"GET http:// HTTP/1.1\r\n" HOST "\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ssize_t got = head(cases[i].text);
        if (got != -cases[i].status)
            fail_msg("case %zu: %zd instead of -%d: %s", i, got, cases[i].status, cases[i].text);
    }
}

static void sizes_have_limits(void **state)
{
    (void)state;
    static char text[HTTP_HEAD_MAX * 2];
    /* A request line that never ends. */
    memset(text, 'a', HTTP_LINE_MAX + 1);
    text[HTTP_LINE_MAX + 1] = '\0';
    assert_int_equal(head(text), -414);
    /* A field that never ends. */
    int n = snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" HOST "X: ");
    memset(text + n, 'a', HTTP_HEAD_MAX);
    text[n + HTTP_HEAD_MAX] = '\0';
    assert_int_equal(head(text), -431);
    /* Too many fields. */
    n = snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" HOST);
    for (int i = 0; i < HTTP_FIELDS_MAX; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "X: %d\r\n", i);
    snprintf(text + n, sizeof text - (size_t)n, "\r\n");
    assert_int_equal(head(text), -431);
    /* A path that is longer than any of ours is no error here: it is found nowhere. */
    n = snprintf(text, sizeof text, "GET /");
    memset(text + n, 'a', HTTP_PATH_SIZE);
    snprintf(text + n + HTTP_PATH_SIZE, 64, " HTTP/1.1\r\n" HOST "\r\n");
    assert_true(head(text) > 0);
    assert_string_equal(request.path, "");
}

static void connections_stay_open_as_the_version_says(void **state)
{
    (void)state;
    head("GET / HTTP/1.0\r\n\r\n");
    assert_false(request.keep_alive);
    head("GET / HTTP/1.0\r\nConnection: foo, Keep-Alive\r\n\r\n");
    assert_true(request.keep_alive);
    head("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    assert_false(request.keep_alive);
}

static void the_host_of_an_absolute_target_counts(void **state)
{
    (void)state;
    assert_true(head("GET http://evil.example/x?y HTTP/1.1\r\n" HOST "\r\n") > 0);
    assert_true(str_is(request.host, "evil.example"));
    assert_string_equal(request.path, "/x");
    assert_true(head("GET https://h HTTP/1.1\r\n" HOST "\r\n") > 0);
    assert_string_equal(request.path, "/");
    assert_true(head("OPTIONS * HTTP/1.1\r\n" HOST "\r\n") > 0);
    assert_string_equal(request.path, "*");
}

static void bodies_by_length(void **state)
{
    (void)state;
    struct str body;
    char text[] = "hello, next";
    head("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n");
    assert_true(http_has_body(&request));
    assert_int_equal(http_parse_body(&request, text, 4, &body), 0);
    assert_int_equal(http_parse_body(&request, text, 11, &body), 5);
    assert_true(str_is(body, "hello"));
    head("POST / HTTP/1.1\r\n" HOST "Content-Length: 65537\r\n\r\n");
    assert_int_equal(http_parse_body(&request, text, 11, &body), -413);
    head("POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
    assert_false(http_has_body(&request));
}

static void bodies_in_chunks(void **state)
{
    (void)state;
    head("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
    assert_true(http_has_body(&request));
    const char whole[] = "5\r\nhello\r\nA;name=value\r\n, in parts\r\n0\r\nTrailer: x\r\n\r\nnext";
    char text[sizeof whole];
    struct str body;
    for (size_t len = 0; len < sizeof whole - 5; len++) {
        memcpy(text, whole, len);
        assert_int_equal(http_parse_body(&request, text, len, &body), 0);
    }
    memcpy(text, whole, sizeof whole);
    assert_int_equal(http_parse_body(&request, text, sizeof whole - 1, &body), (ssize_t)sizeof whole - 5);
    assert_true(str_is(body, "hello, in parts"));

    static const struct {
        const char *text;
        int status;
    } bad[] = {{"x\r\n", 400},       {"\r\n", 400},          {"-1\r\n", 400},    {"5\nhello", 400},
               {"1\r\nab\r\n", 400}, {"fffffffff\r\n", 400}, {"10001\r\n", 413}, {"5 junk\r\n", 400},
               {"5 \r\n", 400},      {"5;\r\n", 400},        {"5;a=\r\n", 400},  {"0\r\ngarbage\r\n", 400}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char copy[32];
        strcpy(copy, bad[i].text);
        assert_int_equal(http_parse_body(&request, copy, strlen(copy), &body), -bad[i].status);
    }
}

static void cookies_are_found_by_name(void **state)
{
    (void)state;
    head("GET / HTTP/1.1\r\n" HOST "Cookie: a=1; whirr_token=x=y; b=2\r\n\r\n");
    assert_true(str_is(http_cookie(&request, "whirr_token"), "x=y"));
    assert_true(str_is(http_cookie(&request, "b"), "2"));
    assert_null(http_cookie(&request, "token").at);
}

static void answers_are_read_as_strictly(void **state)
{
    (void)state;
    static const char good[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nConnection: close\r\n\r\n";
    for (size_t len = 1; len < sizeof good - 1; len++)
        assert_int_equal(http_parse_response((struct str){good, len}, &request), 0);
    assert_int_equal(http_parse_response(STR(good), &request), sizeof good - 1);
    assert_int_equal(request.status, 404);
    assert_int_equal(request.content_length, 5);
    assert_false(request.keep_alive);
    assert_true(http_parse_response(STR("HTTP/1.1 204\r\n\r\n"), &request) > 0); /* without a reason */
    assert_true(http_parse_response(STR("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n"), &request) > 0);
    assert_true(request.keep_alive);
    static const char *const bad[] = {
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 99 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (http_parse_response(str_from(bad[i]), &request) >= 0)
            fail_msg("accepted: %s", bad[i]);
}

static void what_is_passed_on_is_not_judged_by_its_target(void **state)
{
    (void)state;
    static const char prompt[] = "GET /complete?prompt=a%0ab%zz HTTP/1.1\r\nHost: x\r\nExpect: something\r\n\r\n";
    assert_int_equal(http_parse_request(STR(prompt), &request), -400);
    assert_int_equal(http_parse_passed_on(STR(prompt), &request), sizeof prompt - 1);
    assert_true(http_parse_passed_on(STR("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), &request) > 0);
    assert_true(request.chunked);
    assert_true(http_parse_passed_on(STR("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"), &request) < 0);
}

/* However the bytes of a body are cut into pieces, its content and its end are the same. */
static void bodies_come_in_pieces(void **state)
{
    (void)state;
    static const char whole[] = "5;x=\"y z\"\r\nhello\r\nA\r\n, in parts\r\n0\r\nTrailer: t\r\n\r\nNEXT";
    for (size_t step = 1; step < sizeof whole; step++) {
        struct http_body b;
        struct str piece;
        char content[64];
        size_t len = 0, used = 0;
        http_body_begin(&b, HTTP_CHUNKED, 0);
        while (!b.done) {
            size_t end = used + step < sizeof whole - 1 ? used + step : sizeof whole - 1;
            struct str rest = {whole + used, end - used};
            while (http_body_next(&b, &rest, &piece) > 0) {
                memcpy(content + len, piece.at, piece.len);
                len += piece.len;
            }
            used = (size_t)(rest.at - whole);
        }
        assert_true(str_is((struct str){content, len}, "hello, in parts"));
        assert_int_equal(used, sizeof whole - 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_plain_request_is_read),
        TEST(an_incomplete_head_waits_at_every_byte),
        TEST(malformed_heads_are_refused),
        TEST(sizes_have_limits),
        TEST(connections_stay_open_as_the_version_says),
        TEST(the_host_of_an_absolute_target_counts),
        TEST(bodies_by_length),
        TEST(bodies_in_chunks),
        TEST(answers_are_read_as_strictly),
        TEST(what_is_passed_on_is_not_judged_by_its_target),
        TEST(bodies_come_in_pieces),
        TEST(cookies_are_found_by_name),
    };
    return RUN_TESTS(tests);
}
