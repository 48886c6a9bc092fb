/* SPDX-License-Identifier: Apache-2.0
 * A crowd of WebSocket clients, and the least a server could do for them.
 *
 *   ws_crowd listen PORT CLIENTS SAMPLES       connects that many, and for each of the next samples tells how long it took from the
 *                                              first client that heard of it to the last one that had all of it
 *   ws_crowd floor PORT CLIENTS BYTES SAMPLES  accepts that many and sends them so many bytes with a bare loop of writev, once a
 *                                              second; tells the time and CPU time of each loop
 *
 * One line of JSON a sample. A sample is the bytes between two pauses of at least 100 ms.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 100 };

static double now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void fail(const char *what)
{
    fprintf(stderr, "ws_crowd: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void raise_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* 10,000 of them fit into the ports of one address. */
static int connect_one(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to))
        fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void handshake(int fd)
{
    static const char request[] = "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    if (send(fd, request, sizeof request - 1, 0) != sizeof request - 1)
        fail("handshake");
}

/* Reads what is there; bytes, or -1 at the end. */
static ssize_t drain(int fd, char *space, size_t size)
{
    ssize_t total = 0;
    for (;;) {
        ssize_t n = recv(fd, space, size, MSG_DONTWAIT);
        if (n > 0)
            total += n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            return -1;
        else
            return total;
    }
}

static int listen_to(int port, int clients, int samples)
{
    static char space[1 << 20];
    int poller = epoll_create1(0);
    uint64_t *bytes = calloc((size_t)clients, sizeof *bytes);
    struct epoll_event *events = calloc(4096, sizeof *events);
    for (int i = 0; i < clients; i++) {
        int fd = connect_one(port);
        handshake(fd);
        struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.u64 = (uint64_t)fd << 32 | (uint32_t)i};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e))
            fail("epoll");
    }
    printf("{\"connected\": %d}\n", clients);
    fflush(stdout);
    int seen = 0, gone = 0;
    double first = 0, last = 0;
    for (bool settled = false; seen < samples && gone == 0;) {
        int n = epoll_wait(poller, events, 4096, first ? PAUSE_MS : 60000);
        if (n < 0)
            fail("epoll_wait");
        double now = now_ms(CLOCK_MONOTONIC);
        if (n > 0 && !first)
            first = now;
        for (int i = 0; i < n; i++) {
            ssize_t got = drain((int)(events[i].data.u64 >> 32), space, sizeof space);
            if (got < 0)
                gone++;
            else
                bytes[(uint32_t)events[i].data.u64] += (uint64_t)got;
        }
        if (n > 0) {
            last = now_ms(CLOCK_MONOTONIC);
            continue;
        }
        if (!first)
            fail("nothing came");
        uint64_t least = UINT64_MAX, most = 0, without = 0;
        for (int i = 0; i < clients; i++) {
            least = bytes[i] < least ? bytes[i] : least;
            most = bytes[i] > most ? bytes[i] : most;
            without += bytes[i] == 0;
            bytes[i] = 0;
        }
        if (settled) { /* the first pause ends the greetings */
            printf("{\"spread_ms\": %.2f, \"least\": %llu, \"most\": %llu, \"without\": %llu}\n", last - first,
                   (unsigned long long)least, (unsigned long long)most, (unsigned long long)without);
            fflush(stdout);
            seen++;
        }
        settled = true;
        first = 0;
    }
    return gone ? 1 : 0;
}

static int be_floor(int port, int clients, size_t bytes, int samples)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 4096))
        fail("listen");
    int *fds = calloc((size_t)clients, sizeof *fds);
    char *payload = calloc(1, bytes), request[1024];
    for (int i = 0; i < clients; i++) {
        fds[i] = accept(listener, NULL, NULL);
        if (fds[i] < 0 || recv(fds[i], request, sizeof request, 0) <= 0)
            fail("accept");
    }
    for (int s = 0; s <= samples; s++) {
        sleep(1);
        double start = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < clients; i++) {
            struct iovec part = {payload, bytes};
            if (writev(fds[i], &part, 1) != (ssize_t)bytes)
                fail("writev");
        }
        printf("{\"loop_ms\": %.2f, \"cpu_ms\": %.2f}\n", now_ms(CLOCK_MONOTONIC) - start, now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu);
        fflush(stdout);
    }
    sleep(1);
    return 0;
}

int main(int argc, char **argv)
{
    raise_limit();
    if (argc == 5 && strcmp(argv[1], "listen") == 0)
        return listen_to((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10), (int)strtol(argv[4], NULL, 10));
    if (argc == 6 && strcmp(argv[1], "floor") == 0)
        return be_floor((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10), (size_t)strtol(argv[4], NULL, 10),
                        (int)strtol(argv[5], NULL, 10));
    fprintf(stderr, "usage: ws_crowd listen PORT CLIENTS SAMPLES | floor PORT CLIENTS BYTES SAMPLES\n");
    return 2;
}
