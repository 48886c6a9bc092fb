/* SPDX-License-Identifier: Apache-2.0
 * How long a client at the gate may take for what it began.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "guard/gate.h"
#include "test.h"

static struct gate *open_gate(void)
{
    struct guard_gate_spec spec = {.waiting_max = 8, .wait_ms = 90000};
    struct gate *g = NULL;
    struct error err = {0};
    int rc;
    do { /* another program may be given the port in between */
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof a;
        AUTO_CLOSE int probe = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(bind(probe, (struct sockaddr *)&a, sizeof a), 0);
        getsockname(probe, (struct sockaddr *)&a, &len);
        close(probe);
        probe = -1;
        snprintf(spec.listen, sizeof spec.listen, "127.0.0.1:%d", ntohs(a.sin_port));
        rc = gate_new(&spec, "http://127.0.0.1:1", &g, &err);
    } while (rc == -EADDRINUSE);
    assert_int_equal(rc, 0);
    return g;
}

static void half_a_request_is_given_up_after_a_while(void **state)
{
    (void)state;
    struct gate *g = open_gate();
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)gate_port(g)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    char text[512] = "";
    /* Byte by byte: what counts is the whole head, not the last byte. */
    for (int i = 0; i < 600 && recv(fd, text, sizeof text - 1, MSG_DONTWAIT) < 0; i++) {
        assert_true(send(fd, i ? "a" : "GET / HTTP/1.1\r\nX-Slow: ", i ? 1 : 24, MSG_NOSIGNAL) > 0);
        be_slow(50);
    }
    assert_non_null(strstr(text, "408 Request Timeout"));
    assert_int_equal(recv(fd, text, sizeof text, 0), 0);
    gate_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(half_a_request_is_given_up_after_a_while)};
    return RUN_TESTS(tests);
}
