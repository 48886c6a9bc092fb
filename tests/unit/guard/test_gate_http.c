/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/gate.h"

#include "test.h"

static struct gate_head request_of(const char *text)
{
    struct gate_head head;
    assert_int_equal(gate_parse_request(str_from(text), &head), 1);
    return head;
}

static struct gate_head response_of(const char *text, const char *request)
{
    struct gate_head asked = request_of(request), head;
    assert_int_equal(gate_parse_response(str_from(text), &asked, &head), 1);
    return head;
}

static void requests_end_where_their_fields_say(void **state)
{
    (void)state;
    struct gate_head h = request_of("GET / HTTP/1.1\r\nHost: x\r\n\r\nrest");
    assert_int_equal(h.len, 27);
    assert_int_equal(h.body, GATE_BODY_NONE);
    h = request_of("POST /v1 HTTP/1.1\r\nHost: x\r\ncontent-length: 12\r\n\r\n");
    assert_int_equal(h.body, GATE_BODY_LENGTH);
    assert_int_equal(h.length, 12);
    h = request_of("POST /v1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive, Upgrade\r\n\r\n");
    assert_int_equal(h.body, GATE_BODY_CHUNKED);
    assert_true(h.upgrade);
    assert_true(request_of("GET / HTTP/1.0\r\n\r\n").close);
    assert_false(request_of("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").close);
}

static void what_is_not_whole_waits_and_what_is_wrong_is_refused(void **state)
{
    (void)state;
    struct gate_head h;
    static char endless[GATE_HEAD_MAX + 1];
    assert_int_equal(gate_parse_request(STR("POST / HTTP/1.1\r\nHost: x\r\n"), &h), 0);
    assert_int_equal(gate_parse_request(STR("nonsense\r\n\r\n"), &h), -1);
    assert_int_equal(gate_parse_request(STR("GET / HTTP/2\r\n\r\n"), &h), -1);
    memset(endless, 'a', GATE_HEAD_MAX);
    assert_int_equal(gate_parse_request(str_from(endless), &h), -1);
    /* Two lengths, or a length and chunks: the worker could read another message than the gate. */
    assert_int_equal(gate_parse_request(STR("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), &h),
                     -1);
    assert_int_equal(
        gate_parse_request(STR("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), &h), -1);
    assert_int_equal(gate_parse_request(STR("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"), &h), -1);
    assert_int_equal(gate_parse_request(STR("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"), &h), -1);
}

/* What two readers could read in two ways is passed on to neither. */
static void the_gate_reads_as_strictly_as_the_server(void **state)
{
    (void)state;
    struct gate_head h;
    static const char *const bad[] = {
        "POST / HTTP/1.1\nHost: x\nContent-Length: 1\n\n",
        "POST / HTTP/1.1\nHost: x\r\nContent-Length: 1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nX: 1\r\n Content-Length: 1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (gate_parse_request(str_from(bad[i]), &h) != -1)
            fail_msg("accepted: %s", bad[i]);
    static const char *const chunks[] = {"5 junk\r\nhello", "5\nhello",         "5;a\001\r\n",
                                         "5\r\nhelloX\r\n", "0\r\ngarbage\r\n", "x\r\n"};
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        struct gate_progress p;
        gate_progress_begin(&p, &(struct gate_head){.body = GATE_BODY_CHUNKED});
        if (gate_progress_feed(&p, str_from(chunks[i])) != -1)
            fail_msg("accepted: %s", chunks[i]);
    }
    /* Old clients that keep their connection are let keep it. */
    assert_false(request_of("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").close);
}

static void an_old_worker_says_that_it_keeps_the_connection(void **state)
{
    (void)state;
    const char *asked = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    assert_false(response_of("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n", asked).close);
    assert_false(response_of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", asked).close);
    assert_true(response_of("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n", asked).close);
    assert_true(response_of("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n", asked).close);
}

static void the_head_of_a_response_may_come_in_pieces(void **state)
{
    (void)state;
    struct gate_head asked = request_of("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), h;
    const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    for (size_t len = 0; len < sizeof whole - 1; len++)
        assert_int_equal(gate_parse_response((struct str){whole, len}, &asked, &h), 0);
    assert_int_equal(gate_parse_response(STR(whole), &asked, &h), 1);
    assert_int_equal(gate_parse_response(STR("nonsense\r\n\r\n"), &asked, &h), -1);
}

static void responses_depend_on_what_was_asked(void **state)
{
    (void)state;
    const char *get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", *head = "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n";
    const char *upgrade = "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    assert_int_equal(response_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", get).body, GATE_BODY_LENGTH);
    assert_int_equal(response_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", head).body, GATE_BODY_NONE);
    assert_int_equal(response_of("HTTP/1.1 200 OK\r\n\r\n", get).body, GATE_BODY_UNTIL_CLOSE);
    assert_int_equal(response_of("HTTP/1.1 204 No Content\r\n\r\n", get).body, GATE_BODY_NONE);
    assert_true(response_of("HTTP/1.1 100 Continue\r\n\r\n", get).is_interim);
    assert_int_equal(response_of("HTTP/1.1 101 Switching\r\n\r\n", upgrade).body, GATE_BODY_OPAQUE);
}

/* Every way to cut a chunked body into two pieces gives the same end. */
static void chunked_bodies_end_wherever_they_are_cut(void **state)
{
    (void)state;
    const char body[] = "5;x=y\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: t\r\n\r\nNEXT";
    size_t whole = strlen(body) - 4;
    for (size_t cut = 0; cut <= whole; cut++) {
        struct gate_progress p;
        gate_progress_begin(&p, &(struct gate_head){.body = GATE_BODY_CHUNKED});
        int64_t first = gate_progress_feed(&p, (struct str){body, cut});
        assert_int_equal(first, cut);
        assert_int_equal(p.done, cut == whole);
        int64_t second = gate_progress_feed(&p, (struct str){body + cut, strlen(body) - cut});
        assert_int_equal(first + second, whole);
        assert_true(p.done);
    }
}

static void broken_chunks_are_refused(void **state)
{
    (void)state;
    static const char *const broken[] = {"xyz\r\n", "ffffffffffffffffff\r\n", "1\r\nab\r\n"};
    for (size_t i = 0; i < 3; i++) {
        struct gate_progress p;
        gate_progress_begin(&p, &(struct gate_head){.body = GATE_BODY_CHUNKED});
        assert_int_equal(gate_progress_feed(&p, str_from(broken[i])), -1);
    }
}

static void a_length_ends_exactly(void **state)
{
    (void)state;
    struct gate_progress p;
    gate_progress_begin(&p, &(struct gate_head){.body = GATE_BODY_LENGTH, .length = 5});
    assert_int_equal(gate_progress_feed(&p, STR("abc")), 3);
    assert_false(p.done);
    assert_int_equal(gate_progress_feed(&p, STR("defgh")), 2);
    assert_true(p.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_end_where_their_fields_say),
        TEST(what_is_not_whole_waits_and_what_is_wrong_is_refused),
        TEST(the_gate_reads_as_strictly_as_the_server),
        TEST(an_old_worker_says_that_it_keeps_the_connection),
        TEST(the_head_of_a_response_may_come_in_pieces),
        TEST(responses_depend_on_what_was_asked),
        TEST(chunked_bodies_end_wherever_they_are_cut),
        TEST(broken_chunks_are_refused),
        TEST(a_length_ends_exactly),
    };
    return RUN_TESTS(tests);
}
