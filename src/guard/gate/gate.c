/* SPDX-License-Identifier: Apache-2.0
 * The gate: one thread with an event loop that admits clients and forwards requests.
 */
#include "guard/gate/gate.h"

#include <errno.h>
#include <event2/util.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guard/gate/gate_link.h"

enum { LOOK_AGAIN_MS = 100, BACKLOG = 4096, PAUSE_MS = 200, ROOM_AT_ONCE = 64 };

static void on_client(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int len, void *user)
{
    (void)listener;
    (void)len;
    link_new(user, fd, address);
}

/* Out of descriptors or memory. The waiting client keeps the listener ready: without a pause this would spin. */
static void on_listen_error(struct evconnlistener *listener, void *user)
{
    struct gate *g = user;
    const struct timeval pause = {.tv_usec = PAUSE_MS * 1000};
    if (links_make_room(g, ROOM_AT_ONCE) > 0)
        return;
    evconnlistener_disable(listener);
    evtimer_add(g->again, &pause);
}

static void on_again(evutil_socket_t fd, short events, void *user)
{
    (void)fd;
    (void)events;
    evconnlistener_enable(((struct gate *)user)->listener);
}

/* The oldest connection that may proceed now. */
static struct gate_link *longest_waiting(struct gate *g)
{
    struct gate_link *found = NULL;
    for (struct gate_link *l = g->links; l; l = l->next)
        if (l->state == LINK_WAITING && link_may_pass(g, l))
            found = l;
    return found;
}

static void on_wake(evutil_socket_t fd, short events, void *user)
{
    (void)events;
    struct gate *g = user;
    uint64_t count;
    (void)!read(fd, &count, sizeof count);
    if (g->ending) {
        event_base_loopbreak(g->base);
        return;
    }
    for (struct gate_link *l; (l = longest_waiting(g));)
        link_admit(l);
    void (*ring)(void *) = g->ring; /* clients that came while it was being unloaded */
    if (ring && g->waiting && (g->mode == GATE_ASLEEP || g->mode == GATE_READS))
        ring(g->bell);
}

static void *gate_run(void *user)
{
    struct gate *g = user;
    event_base_dispatch(g->base);
    return NULL;
}

static int read_upstream(struct gate *g, const char *url, struct error *err)
{
    if (strncmp(url, "http://", 7) != 0)
        return error_set(err, -EINVAL, "a gate needs a worker behind http://, not '%s'", url);
    char host[256];
    str_copy(host, sizeof host, (struct str){url + 7, strcspn(url + 7, "/?#")});
    if (strncmp(host, "localhost", 9) == 0) {
        char rest[256];
        snprintf(rest, sizeof rest, "127.0.0.1%s", host + 9);
        str_copy(host, sizeof host, str_from(rest));
    }
    int len = sizeof g->upstream;
    if (!strrchr(host, ':') || evutil_parse_sockaddr_port(host, (struct sockaddr *)&g->upstream, &len) < 0)
        return error_set(err, -EINVAL, "the gate cannot use '%s': it needs an address and a port, like http://127.0.0.1:8080", url);
    g->upstream_len = len;
    return 0;
}

static int gate_listen(struct gate *g, struct error *err)
{
    struct sockaddr_storage address;
    int len = sizeof address;
    if (evutil_parse_sockaddr_port(g->spec.listen, (struct sockaddr *)&address, &len) < 0)
        return error_set(err, -EINVAL, "'%s' is not a valid address for a gate; expected one like 127.0.0.1:8081", g->spec.listen);
    g->listener = evconnlistener_new_bind(g->base, on_client, g, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC,
                                          BACKLOG, (struct sockaddr *)&address, len);
    if (!g->listener)
        return error_set(err, -errno, "the gate cannot listen on %s: %s", g->spec.listen, strerror(errno));
    g->again = evtimer_new(g->base, on_again, g);
    if (!g->again)
        return error_set(err, -ENOMEM, "out of memory");
    evconnlistener_set_error_cb(g->listener, on_listen_error);
    socklen_t got = sizeof address;
    getsockname(evconnlistener_get_fd(g->listener), (struct sockaddr *)&address, &got);
    g->port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                  : ((struct sockaddr_in *)&address)->sin_port);
    return 0;
}

int gate_new(const struct guard_gate_spec *spec, const char *upstream, struct gate **ret, struct error *err)
{
    struct gate *g = calloc(1, sizeof *g);
    if (!g)
        return error_set(err, -ENOMEM, "out of memory");
    g->spec = *spec;
    gate_configure(g, spec);
    g->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    g->base = event_base_new();
    int rc = g->wake_fd < 0 || !g->base ? error_set(err, -ENOMEM, "out of memory or descriptors") : read_upstream(g, upstream, err);
    if (rc == 0)
        rc = gate_listen(g, err);
    if (rc == 0) {
        g->wake = event_new(g->base, g->wake_fd, EV_READ | EV_PERSIST, on_wake, g);
        if (!g->wake || event_add(g->wake, NULL) < 0 || pthread_create(&g->thread, NULL, gate_run, g) != 0)
            rc = error_set(err, -ENOMEM, "cannot start the gate");
        else
            g->started = true;
    }
    if (rc < 0) {
        gate_free(g);
        return rc;
    }
    *ret = g;
    return 0;
}

void gate_free(struct gate *g)
{
    if (!g)
        return;
    if (g->started) {
        g->ending = true;
        (void)!write(g->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
        pthread_join(g->thread, NULL);
    }
    g->ending = true;
    while (g->links)
        link_free(g->links);
    if (g->listener)
        evconnlistener_free(g->listener);
    if (g->wake)
        event_free(g->wake);
    if (g->again)
        event_free(g->again);
    if (g->base)
        event_base_free(g->base);
    if (g->wake_fd >= 0)
        close(g->wake_fd);
    free(g);
}

void gate_set(struct gate *g, enum gate_mode mode)
{
    if (!g)
        return;
    g->mode = (int)mode;
    (void)!write(g->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
}

void gate_count(struct gate *g, size_t *in_flight, size_t *waiting)
{
    *in_flight = g ? g->in_flight : 0;
    *waiting = g ? g->waiting : 0;
}

void gate_asked(struct gate *g, uint64_t *total, size_t *in_flight)
{
    *total = g ? g->asked : 0;
    *in_flight = g ? g->asking : 0;
}

void gate_set_bell(struct gate *g, void (*ring)(void *user), void *user)
{
    if (!g)
        return;
    g->bell = user;
    g->ring = ring;
}

void gate_configure(struct gate *g, const struct guard_gate_spec *spec)
{
    if (!g)
        return;
    g->refuse = spec->refuse;
    g->waiting_max = spec->waiting_max;
    g->wait_ms = spec->wait_ms;
}

static bool accepts(const struct gate *g)
{
    AUTO_CLOSE int fd = socket(g->upstream.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = 1};
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return fd >= 0 && connect(fd, (const struct sockaddr *)&g->upstream, (socklen_t)g->upstream_len) == 0;
}

bool gate_await_worker(const struct gate *g, int64_t timeout_ms, const _Atomic bool *ending)
{
    struct mono begin = clock_mono(&clock_system);
    while (!accepts(g)) {
        if (*ending || mono_since_ms(clock_mono(&clock_system), begin) >= timeout_ms)
            return false;
        poll(NULL, 0, LOOK_AGAIN_MS);
    }
    return true;
}

int gate_port(const struct gate *g)
{
    return g->port;
}
