/* SPDX-License-Identifier: Apache-2.0
 * The gate with its thread, clients, and a worker that answers each request after a moment.
 */
#include "guard/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "test.h"

struct upstream {
    int fd, port;
    pthread_t thread;
    _Atomic int now, most, visits, last; /* the connection that came last */
    _Atomic bool hold;                   /* requests are not answered yet */
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
    for (int fd; (fd = accept(u->fd, NULL, NULL)) >= 0 || errno == EMFILE;) {
        if (fd < 0) { /* the test has taken all that were left, before this thread waited */
            be_slow(10);
            continue;
        }
        struct visit *v = malloc(sizeof *v);
        *v = (struct visit){u, fd};
        u->visits++;
        u->last = fd;
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
    do { /* another program may be given the port in between */
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
    gate_configure(g, &(struct guard_gate_spec){.waiting_max = 0, .wait_ms = 90000}); /* no request may wait */
    ask(&c);
    assert_int_equal(c.status, 503);
    gate_configure(g, &(struct guard_gate_spec){.waiting_max = 64, .wait_ms = 50}); /* nor for long */
    ask(&c);
    assert_int_equal(c.status, 503);
    close_all(g, &u);
}

/* A connection from one of loopback's addresses; -1: no descriptors. */
static int connect_from(struct gate *g, unsigned which)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + which)};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)gate_port(g)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&from, sizeof from) || connect(fd, (struct sockaddr *)&to, sizeof to))) {
        close(fd);
        return -1;
    }
    return fd;
}

static int64_t answered_in_ms(struct gate *g)
{
    struct client c = {.gate = g, .times = 1};
    struct mono begin = clock_mono(&clock_system);
    ask(&c);
    assert_int_equal(c.status, 200);
    return mono_since_ms(clock_mono(&clock_system), begin);
}

/* As many descriptors as there may be; how many clients that leaves room for beside the gate's own side. */
static int room_for_clients(int wanted)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur == RLIM_INFINITY ? wanted : MIN_OF(wanted, (int)(limit.rlim_cur / 2) - 200);
}

static void half_requests_make_room(int addresses)
{
    enum { MANY = 10000 };
    static int fds[MANY];
    struct upstream u;
    struct gate *g = open_gate(&u, false, 64, 90000);
    int many = room_for_clients(MANY);
    int64_t slowest = 0;
    for (int i = 0; i < many; i++) {
        static const char half[] = "POST /v1/chat HTTP/1.1\r\nHost: x\r\nContent-Le";
        fds[i] = connect_from(g, 1 + (unsigned)(i % addresses));
        assert_true(fds[i] >= 0);
        (void)!send(fds[i], half, i % 2 ? sizeof half - 1 : 0, MSG_NOSIGNAL);
        if (i % (many / 4) == many / 4 - 1)
            slowest = MAX_OF(slowest, answered_in_ms(g));
    }
    assert_true(slowest < 1000);
    for (int i = 0; i < many; i++)
        close(fds[i]);
    close_all(g, &u);
}

static void half_requests_from_one_address_keep_no_client_out(void **state)
{
    (void)state;
    half_requests_make_room(1);
}

static void half_requests_from_many_addresses_keep_no_client_out(void **state)
{
    (void)state;
    half_requests_make_room(100);
}

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void out_of_descriptors_it_waits_and_says_nothing(void **state)
{
    (void)state;
    enum { FEW = 64 };
    struct upstream u;
    struct gate *g = open_gate(&u, false, FEW, 90000);
    struct rlimit limit, before;
    getrlimit(RLIMIT_NOFILE, &before);
    limit = before;
    gate_set(g, GATE_CLOSED);
    int fds[FEW], count = 0;
    for (; count < FEW / 4; count++) { /* these wait, and make no room for others */
        static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        fds[count] = connect_from(g, 1);
        assert_true(send(fds[count], request, sizeof request - 1, MSG_NOSIGNAL) > 0);
    }
    size_t in_flight, waiting;
    assert_true(EVENTUALLY((gate_count(g, &in_flight, &waiting), waiting == FEW / 4)));
    int spare = socket(AF_INET, SOCK_STREAM, 0); /* the last one: the other end of it finds none */
    limit.rlim_cur = (rlim_t)spare + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)gate_port(g)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    double used = cpu_seconds();
    assert_int_equal(connect(spare, (struct sockaddr *)&to, sizeof to), 0);
    be_slow(600);
    assert_true(cpu_seconds() - used < 0.2);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    gate_set(g, GATE_OPEN);
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    char text[64];
    assert_true(send(spare, request, sizeof request - 1, MSG_NOSIGNAL) > 0);
    assert_true(recv(spare, text, sizeof text, 0) > 0); /* it is let in after all */
    close(spare);
    while (count)
        close(fds[--count]);
    close_all(g, &u);
}

static void a_client_that_closes_its_sending_side_is_answered(void **state)
{
    (void)state;
    struct upstream u;
    struct gate *g = open_gate(&u, false, 8, 90000);
    for (int waits = 0; waits < 2; waits++) {
        static const char request[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd";
        char text[512] = "";
        size_t len = 0, in_flight, waiting;
        gate_set(g, waits ? GATE_CLOSED : GATE_OPEN);
        int fd = connect_from(g, 1);
        assert_true(send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0);
        shutdown(fd, SHUT_WR);
        if (waits) {
            assert_true(EVENTUALLY((gate_count(g, &in_flight, &waiting), waiting == 1)));
            gate_set(g, GATE_OPEN);
        }
        for (ssize_t n; len < sizeof text - 1 && (n = recv(fd, text + len, sizeof text - 1 - len, 0)) > 0;)
            len += (size_t)n;
        assert_non_null(strstr(text, "200 OK"));
        assert_string_equal(text + len - 2, "ok");
        close(fd);
    }
    close_all(g, &u);
}

static bool has_no_more_to_read(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* As without the gate: a worker may stop working for a client that hung up, also long after it has the request. */
static void a_worker_that_is_at_work_sees_its_client_hang_up(void **state)
{
    (void)state;
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    struct upstream u;
    struct gate *g = open_gate(&u, false, 8, 90000);
    u.hold = true;
    int fd = connect_from(g, 1);
    assert_true(send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0);
    assert_true(EVENTUALLY(u.now == 1));
    assert_false(has_no_more_to_read(u.last));
    shutdown(fd, SHUT_WR);
    assert_true(EVENTUALLY(has_no_more_to_read(u.last)));
    u.hold = false;
    close(fd);
    close_all(g, &u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(throttled_it_lets_one_through_at_a_time),
        TEST(closed_it_keeps_them_until_it_opens),
        TEST(settings_change_while_it_runs),
        TEST(half_requests_from_one_address_keep_no_client_out),
        TEST(half_requests_from_many_addresses_keep_no_client_out),
        TEST(out_of_descriptors_it_waits_and_says_nothing),
        TEST(a_client_that_closes_its_sending_side_is_answered),
        TEST(a_worker_that_is_at_work_sees_its_client_hang_up),
    };
    return RUN_TESTS(tests);
}
