/* SPDX-License-Identifier: Apache-2.0
 * The gate with its thread, clients, and a worker that answers each request after a moment.
 */
#include "guard/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "test.h"

struct upstream {
    int fd, port;
    pthread_t thread;
    _Atomic int now, most, visits;
    _Atomic bool hold; /* requests are not answered yet */
};

struct visit {
    struct upstream *upstream;
    int fd;
};

static void *serve_one(void *argument)
{
    struct visit *v = argument;
    char text[1024];
    while (recv(v->fd, text, sizeof text, 0) > 0) {
        int now = ++v->upstream->now;
        if (now > v->upstream->most)
            v->upstream->most = now;
        be_slow(10);
        EVENTUALLY(!v->upstream->hold);
        v->upstream->now--;
        static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        (void)!send(v->fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
    }
    close(v->fd);
    v->upstream->visits--;
    free(v);
    return NULL;
}

static void *serve(void *argument)
{
    struct upstream *u = argument;
    for (int fd; (fd = accept(u->fd, NULL, NULL)) >= 0;) {
        struct visit *v = malloc(sizeof *v);
        *v = (struct visit){u, fd};
        u->visits++;
        pthread_t thread;
        pthread_create(&thread, NULL, serve_one, v);
        pthread_detach(thread);
    }
    return NULL;
}

static int local_socket(int port, bool listens)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    if (listens) {
        assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
        assert_int_equal(listen(fd, 64), 0);
    } else {
        assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    }
    return fd;
}

static struct gate *open_gate(struct upstream *u, bool refuse, size_t waiting_max, int64_t wait_ms)
{
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    *u = (struct upstream){.fd = local_socket(0, true)};
    getsockname(u->fd, (struct sockaddr *)&a, &len);
    u->port = ntohs(a.sin_port);
    pthread_create(&u->thread, NULL, serve, u);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", u->port);
    struct guard_gate_spec spec = {.refuse = refuse, .waiting_max = waiting_max, .wait_ms = wait_ms};
    struct gate *g = NULL;
    struct error err = {0};
    int rc;
    do { /* somebody else may be given the port in between */
        int probe = local_socket(0, true);
        getsockname(probe, (struct sockaddr *)&a, &len);
        close(probe);
        snprintf(spec.listen, sizeof spec.listen, "127.0.0.1:%d", ntohs(a.sin_port));
        rc = gate_new(&spec, url, &g, &err);
    } while (rc == -EADDRINUSE);
    assert_int_equal(rc, 0);
    return g;
}

static void close_all(struct gate *g, struct upstream *u)
{
    gate_free(g);
    shutdown(u->fd, SHUT_RDWR);
    pthread_join(u->thread, NULL);
    close(u->fd);
    assert_true(EVENTUALLY(u->visits == 0)); /* their threads end by themselves */
}

struct client {
    struct gate *gate;
    int status, times;
};

static void *ask(void *argument)
{
    struct client *c = argument;
    int fd = local_socket(gate_port(c->gate), false);
    for (int i = 0; i < c->times; i++) {
        static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        char text[512] = "";
        (void)!send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
        size_t len = 0;
        for (ssize_t n; len < sizeof text - 1 && !strstr(text, "ok") && (n = recv(fd, text + len, sizeof text - 1 - len, 0)) > 0;)
            len += (size_t)n;
        c->status = atoi(len > 9 ? text + 9 : "0");
    }
    close(fd);
    return NULL;
}

static void crowd(struct gate *g, struct client *clients, pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++) {
        clients[i] = (struct client){.gate = g, .times = 2};
        pthread_create(&threads[i], NULL, ask, &clients[i]);
    }
}

static void throttled_it_lets_one_through_at_a_time(void **state)
{
    (void)state;
    struct upstream u;
    struct gate *g = open_gate(&u, false, 64, 90000);
    struct client clients[6];
    pthread_t threads[6];
    gate_set(g, GATE_ONE);
    crowd(g, clients, threads, 6);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(u.most, 1);
    for (int i = 0; i < 6; i++)
        assert_int_equal(clients[i].status, 200);
    gate_set(g, GATE_OPEN);
    u.hold = true;
    crowd(g, clients, threads, 6);
    assert_true(EVENTUALLY(u.now == 6));
    u.hold = false;
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    close_all(g, &u);
}

static void closed_it_keeps_them_until_it_opens(void **state)
{
    (void)state;
    struct upstream u;
    struct gate *g = open_gate(&u, false, 64, 90000);
    struct client clients[4];
    pthread_t threads[4];
    size_t in_flight, waiting;
    gate_set(g, GATE_CLOSED);
    crowd(g, clients, threads, 4);
    assert_true(EVENTUALLY((gate_count(g, &in_flight, &waiting), waiting == 4)));
    assert_int_equal(u.most, 0);
    gate_set(g, GATE_OPEN);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(clients[i].status, 200);
    }
    close_all(g, &u);
}

static void settings_change_while_it_runs(void **state)
{
    (void)state;
    struct upstream u;
    struct gate *g = open_gate(&u, false, 64, 90000);
    gate_set(g, GATE_CLOSED);
    gate_configure(g, &(struct guard_gate_spec){.refuse = true, .waiting_max = 64, .wait_ms = 90000});
    struct client c = {.gate = g, .times = 1};
    ask(&c);
    assert_int_equal(c.status, 503);
    gate_configure(g, &(struct guard_gate_spec){.waiting_max = 0, .wait_ms = 90000}); /* nobody may wait */
    ask(&c);
    assert_int_equal(c.status, 503);
    gate_configure(g, &(struct guard_gate_spec){.waiting_max = 64, .wait_ms = 50}); /* nor for long */
    ask(&c);
    assert_int_equal(c.status, 503);
    close_all(g, &u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(throttled_it_lets_one_through_at_a_time),
        TEST(closed_it_keeps_them_until_it_opens),
        TEST(settings_change_while_it_runs),
    };
    return RUN_TESTS(tests);
}
