/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>

#include "test.h"

/* A server for one connection: keeps the request, sends the reply. */
struct server {
    int listener;
    int port;
    const char *reply; /* NULL: never answers */
    char request[4096];
    pthread_t thread;
};

static void *serve(void *argument)
{
    struct server *s = argument;
    int fd = accept(s->listener, NULL, NULL);
    size_t len = 0;
    while (len < sizeof s->request - 1) {
        ssize_t got = read(fd, s->request + len, sizeof s->request - 1 - len);
        if (got <= 0)
            break;
        len += (size_t)got;
        s->request[len] = '\0';
        const char *end = strstr(s->request, "\r\n\r\n");
        const char *length = strstr(s->request, "Content-Length: ");
        if (end && strlen(end + 4) >= (length ? strtoul(length + 16, NULL, 10) : 0))
            break;
    }
    if (s->reply) {
        ssize_t sent = write(fd, s->reply, strlen(s->reply));
        (void)sent;
    } else {
        char rest[16];
        ssize_t got = read(fd, rest, sizeof rest); /* until the client gives up */
        (void)got;
    }
    close(fd);
    return NULL;
}

static void start(struct server *s, const char *reply)
{
    *s = (struct server){.reply = reply};
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(s->listener, 1), 0);
    getsockname(s->listener, (struct sockaddr *)&address, &size);
    s->port = ntohs(address.sin_port);
    pthread_create(&s->thread, NULL, serve, s);
}

static void stop(struct server *s)
{
    pthread_join(s->thread, NULL);
    close(s->listener);
}

static int call(const struct server *s, const char *method, const char *body, int64_t timeout_ms, struct buf *reply,
                struct error *err)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/api/generate", s->port);
    struct http_request r = {.method = method, .url = url, .body = body, .timeout_ms = timeout_ms};
    struct env env;
    env_init_system(&env);
    return http_call(&env, &r, reply, err);
}

static void posts_a_body_and_gives_the_answer(void **state)
{
    (void)state;
    struct server s;
    start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
    AUTO_BUF struct buf body = BUF(100);
    struct error err = {0};
    assert_int_equal(call(&s, "POST", "{\"model\": \"m\"}", 60000, &body, &err), 200);
    stop(&s);
    assert_string_equal(body.at, "done");
    assert_non_null(strstr(s.request, "POST /api/generate HTTP/1.1\r\n"));
    assert_non_null(strstr(s.request, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(s.request, "\r\n\r\n{\"model\": \"m\"}"));
}

static void an_error_status_is_an_answer_and_redirects_are_not_followed(void **state)
{
    (void)state;
    struct server s;
    struct error err = {0};
    start(&s, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(call(&s, "GET", NULL, 60000, NULL, &err), 302);
    stop(&s);
    start(&s, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(call(&s, "GET", NULL, 60000, NULL, &err), 503);
    stop(&s);
}

static void a_flood_ends_at_the_maximum(void **state)
{
    (void)state;
    struct server s;
    start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n01234567890123456789");
    AUTO_BUF struct buf body = BUF(10);
    struct error err = {0};
    assert_int_equal(call(&s, "GET", NULL, 60000, &body, &err), -EFBIG);
    stop(&s);
}

static void silence_and_absence_are_told_apart(void **state)
{
    (void)state;
    struct server s;
    struct error err = {0};
    start(&s, NULL);
    assert_int_equal(call(&s, "GET", NULL, 50, NULL, &err), -ETIMEDOUT);
    shutdown(s.listener, SHUT_RDWR); /* it may have been given up before the connection was taken */
    stop(&s);
    assert_int_equal(call(&s, "GET", NULL, 60000, NULL, &err), -ECONNREFUSED); /* the server is gone */
    assert_non_null(strstr(err.text, "GET http://127.0.0.1"));
}

static void only_http_is_spoken(void **state)
{
    (void)state;
    struct env env;
    env_init_system(&env);
    struct http_request r = {.method = "GET", .url = "file:///etc/passwd"};
    struct error err = {0};
    assert_int_equal(http_call(&env, &r, NULL, &err), -EINVAL);
}

static void says_how_long_the_server_asks_to_wait(void **state)
{
    (void)state;
    struct server s;
    start(&s, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 17\r\nContent-Length: 0\r\n\r\n");
    char url[64];
    int64_t pause = -1;
    struct error err = {0};
    struct env env;
    env_init_system(&env);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", s.port);
    assert_int_equal(http_call(&env, &(struct http_request){.method = "GET", .url = url, .retry_after_ms = &pause}, NULL, &err),
                     429);
    assert_int_equal(pause, 17000);
    stop(&s);
}

static void a_secret_url_is_in_no_message(void **state)
{
    (void)state;
    struct error err = {0};
    struct env env;
    env_init_system(&env);
    const struct http_request r = {.method = "POST", .url = "http://user:pa55@127.0.0.1:1/t0ken", .body = "{}", .secret_url = true};
    assert_true(http_call(&env, &r, NULL, &err) < 0);
    assert_true(err.text[0] && !strstr(err.text, "t0ken") && !strstr(err.text, "pa55"));
}

static void a_request_that_is_no_longer_wanted_ends_soon(void **state)
{
    (void)state;
    static const _Atomic bool cancel = true;
    struct server s;
    start(&s, NULL);
    char url[64];
    struct error err = {0};
    struct env env;
    env_init_system(&env);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", s.port);
    struct mono before = clock_mono(&clock_system);
    const struct http_request r = {.method = "GET", .url = url, .timeout_ms = 60000, .cancel = &cancel};
    assert_int_equal(http_call(&env, &r, NULL, &err), -ECANCELED);
    assert_true(mono_since_ms(clock_mono(&clock_system), before) < 30000);
    shutdown(s.listener, SHUT_RDWR); /* it may have been given up before the connection was taken */
    stop(&s);
}

static int deliver(const struct server *s, int64_t timeout_ms, int64_t *pause_ms, struct error *err)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/hook", s->port);
    struct http_request r = {
        .method = "POST", .url = url, .body = "{}", .timeout_ms = timeout_ms, .status_is_enough = true, .retry_after_ms = pause_ms};
    struct env env;
    AUTO_BUF struct buf body = BUF(16);
    env_init_system(&env);
    return http_call(&env, &r, &body, err);
}

static void what_was_acknowledged_is_delivered_whatever_follows(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        int status;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", 200},
        {"HTTP/1.1 201 Created\r\nContent-Length: 40\r\n\r\nlonger than sixteen bytes, which is all.", 201},
        {"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 202},
        {"HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\nshort", 500},
        {"HTTP/1.1 100 Continue\r\n\r\n", -EIO},
        {"HTTP/1.1 200 O", -EIO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server s;
        struct error err = {0};
        int64_t pause_ms = -1;
        start(&s, cases[i].reply);
        assert_int_equal(deliver(&s, 60000, &pause_ms, &err), cases[i].status);
        assert_int_equal(pause_ms, 0);
        stop(&s);
    }
}

static void an_absurd_time_to_wait_is_a_day(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int64_t ms;
    } cases[] = {{"7", 7000}, {"99999999999999999999999999", 86400000}, {"-5", 0}, {"soon", 0}, {"86401", 86400000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server s;
        struct error err = {0};
        char reply[160];
        int64_t pause_ms = -1;
        snprintf(reply, sizeof reply, "HTTP/1.1 429 Later\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", cases[i].value);
        start(&s, reply);
        assert_int_equal(deliver(&s, 60000, &pause_ms, &err), 429);
        assert_int_equal(pause_ms, cases[i].ms);
        stop(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(says_how_long_the_server_asks_to_wait),
        TEST(a_secret_url_is_in_no_message),
        TEST(a_request_that_is_no_longer_wanted_ends_soon),
        TEST(posts_a_body_and_gives_the_answer),
        TEST(an_error_status_is_an_answer_and_redirects_are_not_followed),
        TEST(a_flood_ends_at_the_maximum),
        TEST(silence_and_absence_are_told_apart),
        TEST(only_http_is_spoken),
        TEST(what_was_acknowledged_is_delivered_whatever_follows),
        TEST(an_absurd_time_to_wait_is_a_day),
    };
    return RUN_TESTS(tests);
}
