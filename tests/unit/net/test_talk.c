/* SPDX-License-Identifier: Apache-2.0
 * GET on the loopback, with a stand-in that frames its answers in every way, sends nonsense, and hangs.
 */
#include "net/talk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

struct stand_in {
    int listener;
    uint16_t port;
    const char *says; /* NULL: it hangs */
    bool stays;       /* does not close behind its answer */
    pthread_t thread;
    char heard[512];
};

static void *stand_in_main(void *user)
{
    struct stand_in *s = user;
    int fd = accept(s->listener, NULL, NULL);
    for (size_t len = 0; fd >= 0 && !strstr(s->heard, "\r\n\r\n");) {
        ssize_t n = recv(fd, s->heard + len, sizeof s->heard - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    for (size_t i = 0, len = s->says ? strlen(s->says) : 0; i < len; i += 7) /* in pieces */
        if (send(fd, s->says + i, MIN_OF(len - i, (size_t)7), MSG_NOSIGNAL) < 0)
            break;
    char end;
    if (!s->says || s->stays)
        while (recv(fd, &end, 1, 0) > 0) {
        }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static int ask(const char *says, bool stays, size_t max, const char *wanted)
{
    struct stand_in s = {.says = says, .stays = stays, .listener = socket(AF_INET, SOCK_STREAM, 0)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    AUTO_BUF struct buf body = BUF(max);
    assert_int_equal(bind(s.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s.listener, 1), 0);
    assert_int_equal(getsockname(s.listener, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(pthread_create(&s.thread, NULL, stand_in_main, &s), 0);
    int rc = talk_get("127.0.0.1", ntohs(at.sin_port), "metrics", "X-Whirr: yes", says ? 20000 : 200, NULL, &body);
    assert_int_equal(pthread_join(s.thread, NULL), 0);
    close(s.listener);
    assert_non_null(strstr(s.heard, "GET /metrics HTTP/1.1\r\n"));
    assert_non_null(strstr(s.heard, "\r\nX-Whirr: yes\r\n\r\n"));
    if (wanted)
        assert_string_equal(body.at ? body.at : "", wanted);
    return rc;
}

static void answers_end_where_they_say(void **state)
{
    (void)state;
    /* A server that keeps the connection is not waited for. */
    assert_int_equal(ask("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nvllm:x 5\nxyz", true, 4096, "vllm:x 5\nxyz"), 200);
    assert_int_equal(
        ask("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nvllm:\r\n4\r\nx 5\n\r\n0\r\n\r\n", true, 4096, "vllm:x 5\n"),
        200);
    assert_int_equal(ask("HTTP/1.0 200 OK\r\n\r\nuntil the end", false, 4096, "until the end"), 200);
    assert_int_equal(ask("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", true, 4096, ""), 404);
}

static void what_is_cut_off_too_long_or_no_http_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(ask("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nvllm:x 5\n", false, 4096, NULL), -ECONNRESET);
    assert_int_equal(ask("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nvllm:x 5\nxyz", false, 8, NULL), -EFBIG);
    assert_int_equal(ask("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false, 4096, NULL), -EPROTO);
    assert_int_equal(ask("SSH-2.0-OpenSSH_9.6\r\n\r\n", false, 4096, NULL), -EPROTO);
    assert_int_equal(ask("", false, 4096, NULL), -ECONNRESET);
    assert_int_equal(ask(NULL, false, 4096, NULL), -ETIMEDOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_end_where_they_say),
        TEST(what_is_cut_off_too_long_or_no_http_is_an_error),
    };
    return RUN_TESTS(tests);
}
