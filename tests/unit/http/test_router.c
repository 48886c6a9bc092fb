/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/site.h"
#include "test.h"

static const struct route *handled; /* the route of the last request that reached a handler */

static void handle_json(struct exchange *x)
{
    AUTO_BUF struct buf body = BUF(64);
    handled = x->route;
    buf_text(&body, "{}");
    exchange_json(x, 200, &body);
}

/* As a handler that runs out of memory. */
static void handle_nothing(struct exchange *x)
{
    handled = x->route;
}

static const struct route first_table[] = {
    {.path = "/things", .methods = HTTP_GET, .type = "application/json", .needs = RIGHT_READ, .handle = handle_json},
    {.path = "/things", .methods = HTTP_POST, .needs = RIGHT_SILENCE, .handle = handle_json},
    {.path = "/login", .methods = HTTP_GET | HTTP_POST, .handle = handle_json},
    {.path = "/broken", .methods = HTTP_GET, .needs = RIGHT_READ, .handle = handle_nothing},
};
static const struct route second_table[] = {
    {.path = "/things", .methods = HTTP_DELETE, .needs = RIGHT_READ, .handle = handle_json},
    {.path = "/part", .methods = HTTP_PUT, .needs = RIGHT_READ},
};

static bool table(const struct exchange *x, size_t i, struct route_table *ret)
{
    (void)x;
    static char owner[] = "the second table";
    if (i == 0)
        *ret = (struct route_table){.routes = first_table, .count = ARRAY_LEN(first_table)};
    else
        *ret =
            (struct route_table){.routes = second_table, .count = ARRAY_LEN(second_table), .owner = owner, .handle = handle_json};
    return i < 2;
}

static void send_to_login(struct exchange *x)
{
    exchange_reply(x, &(struct reply){.status = 303, .fields = "Location: /login\r\n"});
}

static struct exchange last; /* as the router left it */
static char answer[8192];

/* The status of the answer to a request; its text is in `answer`. */
static int ask(unsigned rights, const char *line, const char *fields)
{
    static const struct site_ops ops = {.table = table, .send_to_login = send_to_login};
    static struct site site;
    static struct loop loop;
    static struct http_message request;
    char text[1024];
    int pair[2], status = 0;
    site = (struct site){.ops = &ops, .options = {.cors_origins = {"https://grafana.example"}, .cors_origin_count = 1}};
    snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", line, fields);
    assert_true(http_parse_request(str_from(text), &request) > 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct conn conn = {.loop = &loop, .fd = pair[0]};
    last = (struct exchange){.site = &site, .conn = &conn, .request = &request, .rights = rights};
    handled = NULL;
    if (router_find(&last))
        router_handle(&last);
    assert_true(last.done);
    close(pair[0]);
    ssize_t len = read(pair[1], answer, sizeof answer - 1);
    close(pair[1]);
    assert_true(len > 0);
    answer[len] = '\0';
    assert_int_equal(sscanf(answer, "HTTP/1.1 %d", &status), 1);
    return status;
}

static void assert_says(const char *text)
{
    if (!strstr(answer, text))
        fail_msg("'%s' is not in:\n%s", text, answer);
}

static void path_and_method_choose_the_route(void **state)
{
    (void)state;
    assert_int_equal(ask(RIGHT_READ, "GET /things?gpu=0", ""), 200);
    assert_ptr_equal(handled, &first_table[0]);
    assert_int_equal(ask(RIGHTS_ALL, "POST /things", ""), 200);
    assert_ptr_equal(handled, &first_table[1]);
    assert_int_equal(ask(RIGHT_READ, "HEAD /things", ""), 200);
    assert_ptr_equal(handled, &first_table[0]);
    assert_null(strstr(answer, "{}"));
    assert_int_equal(ask(RIGHT_READ, "GET /thing%73", ""), 200);
}

static void a_row_without_a_handler_has_that_of_its_table(void **state)
{
    (void)state;
    assert_int_equal(ask(RIGHT_READ, "PUT /part", ""), 200);
    assert_ptr_equal(handled, &second_table[1]);
    assert_string_equal(last.owner, "the second table");
}

static void what_is_not_there_is_404_and_a_wrong_method_405(void **state)
{
    (void)state;
    assert_int_equal(ask(RIGHT_READ, "GET /thing", ""), 404);
    assert_int_equal(ask(RIGHT_READ, "GET /things/", ""), 404);
    assert_says("\"not_found\"");
    /* The first table that has the path decides. */
    assert_int_equal(ask(RIGHT_READ, "DELETE /things", ""), 405);
    assert_says("\r\nAllow: GET, HEAD, POST, OPTIONS\r\n");
    assert_null(handled);
}

static void options_tells_the_methods_and_other_sites_what_they_may(void **state)
{
    (void)state;
    assert_int_equal(ask(RIGHT_NONE, "OPTIONS /part", ""), 204);
    assert_says("\r\nAllow: PUT, OPTIONS\r\n");
    assert_null(strstr(answer, "Access-Control-Allow-Methods"));
    assert_int_equal(ask(RIGHT_NONE, "OPTIONS *", ""), 204);
    assert_int_equal(
        ask(RIGHT_NONE, "OPTIONS /things", "Origin: https://grafana.example\r\nAccess-Control-Request-Method: GET\r\n"), 204);
    assert_says("\r\nAccess-Control-Allow-Methods: GET, HEAD, POST, OPTIONS\r\n");
    assert_int_equal(ask(RIGHT_NONE, "OPTIONS /things", "Origin: https://evil.example\r\nAccess-Control-Request-Method: GET\r\n"),
                     204);
    assert_null(strstr(answer, "Access-Control-Allow-Methods"));
}

static void without_a_token_not_even_the_paths_are_told(void **state)
{
    (void)state;
    static const char *const lines[] = {"GET /things", "GET /nowhere", "POST /nowhere"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_int_equal(ask(RIGHT_NONE, lines[i], ""), 401);
        assert_says("\r\nWWW-Authenticate: Bearer realm=\"whirr\"\r\n");
        assert_says("\"token_needed\"");
    }
    assert_int_equal(ask(RIGHT_READ, "POST /things", ""), 401);
    assert_null(handled);
    assert_int_equal(ask(RIGHT_NONE, "POST /login", ""), 200);
    /* A browser gets the form. */
    assert_int_equal(ask(RIGHT_NONE, "GET /things", "Accept: text/html,*/*;q=0.8\r\n"), 303);
    assert_null(strstr(answer, "token_needed"));
    assert_int_equal(ask(RIGHT_NONE, "POST /things", "Accept: text/html,*/*;q=0.8\r\n"), 401);
    assert_says("\"token_needed\"");
}

static void a_form_that_is_not_accepted_is_406(void **state)
{
    (void)state;
    assert_int_equal(ask(RIGHT_READ, "GET /things", "Accept: text/csv\r\n"), 406);
    assert_says("This is only available as application/json.");
    assert_null(handled);
    assert_int_equal(ask(RIGHT_READ, "GET /things", "Accept: text/csv, */*;q=0.1\r\n"), 200);
    /* Without a type of its own the handler looks at Accept. */
    assert_int_equal(ask(RIGHTS_ALL, "POST /things", "Accept: text/csv\r\n"), 200);
}

static void a_handler_without_an_answer_is_500(void **state)
{
    (void)state;
    assert_int_equal(ask(RIGHT_READ, "GET /broken", ""), 500);
    assert_int_equal(last.site->errors_total, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(path_and_method_choose_the_route),
        TEST(a_row_without_a_handler_has_that_of_its_table),
        TEST(what_is_not_there_is_404_and_a_wrong_method_405),
        TEST(options_tells_the_methods_and_other_sites_what_they_may),
        TEST(without_a_token_not_even_the_paths_are_told),
        TEST(a_form_that_is_not_accepted_is_406),
        TEST(a_handler_without_an_answer_is_500),
    };
    return RUN_TESTS(tests);
}
