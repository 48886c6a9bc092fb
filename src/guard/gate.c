/* SPDX-License-Identifier: Apache-2.0
 * The gate: one thread with an event loop. A connection of a client has at most one of its own to the worker.
 */
#include "guard/gate.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"
#include "guard/gate_http.h"
#include "net/http_message.h"

enum { CLIENTS_MAX = 4096, BUFFERED_MAX = 256 * 1024, RETRY_AFTER_S = 30, LOOK_AGAIN_MS = 100 };

enum link_state {
    LINK_HEAD,    /* between two requests */
    LINK_WAITING, /* for the gate to open */
    LINK_PASSING, /* a request is in flight */
    LINK_ENDING,  /* what is buffered still goes out */
};

struct gate_link {
    struct gate *gate;
    struct gate_link *next, *prev;
    enum link_state state;
    struct bufferevent *client, *worker; /* worker NULL: not connected */
    struct gate_head request;
    struct gate_progress request_body, response_body;
    bool response_begun, reusable;
    struct event *timer; /* of waiting */
};

struct gate {
    struct guard_gate_spec spec; /* how it began */
    _Atomic bool refuse;         /* and what may be changed while it runs */
    _Atomic size_t waiting_max;
    _Atomic int64_t wait_ms;
    struct sockaddr_storage upstream;
    int upstream_len;
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *wake;
    int wake_fd, port;
    pthread_t thread;
    bool started;
    struct gate_link *links; /* the youngest first */
    size_t link_count;
    _Atomic int mode;
    _Atomic bool ending;
    _Atomic size_t in_flight, waiting, asking;
    _Atomic uint64_t asked;
    void (*_Atomic ring)(void *user);
    void *_Atomic bell;
};

static void advance(struct gate_link *l);

/* ---- one link ---- */

static void leave_state(struct gate_link *l)
{
    if (l->state == LINK_PASSING) {
        l->gate->in_flight--;
        l->gate->asking -= !l->request.only_reads;
    }
    if (l->state == LINK_WAITING)
        l->gate->waiting--;
    if (l->timer)
        event_del(l->timer);
}

static void link_free(struct gate_link *l)
{
    struct gate *g = l->gate;
    bool was_passing = l->state == LINK_PASSING;
    leave_state(l);
    if (l->next)
        l->next->prev = l->prev;
    if (l->prev)
        l->prev->next = l->next;
    else
        g->links = l->next;
    g->link_count--;
    bufferevent_free(l->client);
    if (l->worker)
        bufferevent_free(l->worker);
    if (l->timer)
        event_free(l->timer);
    free(l);
    if (was_passing && !g->ending)
        (void)!write(g->wake_fd, &(uint64_t){1}, sizeof(uint64_t)); /* the next in line may go */
}

static void end_after_writing(struct gate_link *l)
{
    leave_state(l);
    l->state = LINK_ENDING;
    if (l->worker)
        bufferevent_free(l->worker);
    l->worker = NULL;
    bufferevent_disable(l->client, EV_READ);
    if (evbuffer_get_length(bufferevent_get_output(l->client)) == 0)
        link_free(l);
}

static void refuse(struct gate_link *l, int status, const char *text)
{
    AUTO_BUF struct buf body = BUF(512);
    http_error_body(&body, status == 503 ? "paused" : status == 400 ? "bad_request" : "bad_gateway", text);
    struct evbuffer *out = bufferevent_get_output(l->client);
    evbuffer_add_printf(out,
                        "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nRetry-After: %d\r\n"
                        "Connection: close\r\n\r\n",
                        status, http_status_text(status), body.len, RETRY_AFTER_S);
    evbuffer_add(out, buf_view(&body).at, body.len);
    end_after_writing(l);
}

static void on_wait_over(evutil_socket_t fd, short events, void *user)
{
    (void)fd;
    (void)events;
    refuse(user, 503, "Something else is using the GPU; the worker is paused.");
}

/* ---- the worker's side ---- */

static void finish_response(struct gate_link *l)
{
    bool again = l->reusable && l->request_body.done;
    leave_state(l);
    l->state = LINK_HEAD;
    (void)!write(l->gate->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
    if (again)
        advance(l);
    else
        end_after_writing(l);
}

/* Moves what belongs to the message on; stops reading from one side while the other does not take it. */
static void pass(struct bufferevent *from, struct bufferevent *to, size_t len)
{
    evbuffer_remove_buffer(bufferevent_get_input(from), bufferevent_get_output(to), len);
    if (evbuffer_get_length(bufferevent_get_output(to)) > BUFFERED_MAX)
        bufferevent_disable(from, EV_READ);
}

static bool read_response_head(struct gate_link *l)
{
    struct evbuffer *in = bufferevent_get_input(l->worker);
    size_t len = MIN_OF(evbuffer_get_length(in), (size_t)GATE_HEAD_MAX);
    struct gate_head head;
    int there = gate_parse_response((struct str){(const char *)evbuffer_pullup(in, (ev_ssize_t)len), len}, &l->request, &head);
    if (there < 0)
        refuse(l, 502, "The worker did not answer in HTTP.");
    if (there <= 0)
        return false;
    pass(l->worker, l->client, head.len);
    if (head.is_interim)
        return evbuffer_get_length(in) > 0 && read_response_head(l);
    l->response_begun = true;
    l->reusable = !head.close && !l->request.close && head.body != GATE_BODY_UNTIL_CLOSE && head.body != GATE_BODY_OPAQUE;
    gate_progress_begin(&l->response_body, &head);
    if (head.body == GATE_BODY_OPAQUE) /* from now on both directions are somebody else's protocol */
        l->request_body = (struct gate_progress){.body = GATE_BODY_OPAQUE};
    return true;
}

static void on_worker_read(struct bufferevent *b, void *user)
{
    struct gate_link *l = user;
    if (l->state != LINK_PASSING || (!l->response_begun && !read_response_head(l)))
        return;
    struct evbuffer *in = bufferevent_get_input(b);
    size_t len = evbuffer_get_length(in);
    int64_t ours = gate_progress_feed(&l->response_body, (struct str){(const char *)evbuffer_pullup(in, -1), len});
    if (ours < 0) {
        end_after_writing(l);
        return;
    }
    pass(b, l->client, (size_t)ours);
    if (l->response_body.body == GATE_BODY_OPAQUE)
        advance(l);
    else if (l->response_body.done)
        finish_response(l);
}

static void on_worker_event(struct bufferevent *b, short what, void *user)
{
    struct gate_link *l = user;
    if (what & BEV_EVENT_CONNECTED) {
        int on = 1;
        setsockopt(bufferevent_getfd(b), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return;
    }
    if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
        return;
    if (l->state == LINK_PASSING && !l->response_begun)
        refuse(l, 502, "The worker cannot be reached.");
    else if (l->state == LINK_PASSING)
        end_after_writing(l); /* also how a body without a length ends */
    else if (l->state == LINK_HEAD && l->request.is_old)
        end_after_writing(l); /* its client may take that for the end of the answer */
    else {
        bufferevent_free(l->worker); /* it let an idle connection go */
        l->worker = NULL;
    }
}

static void on_worker_write(struct bufferevent *b, void *user)
{
    (void)b;
    struct gate_link *l = user;
    bufferevent_enable(l->client, EV_READ);
}

/* ---- the client's side ---- */

static bool connect_worker(struct gate_link *l)
{
    if (l->worker)
        return true;
    l->worker = bufferevent_socket_new(l->gate->base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (!l->worker)
        return false;
    bufferevent_setcb(l->worker, on_worker_read, on_worker_write, on_worker_event, l);
    bufferevent_setwatermark(l->worker, EV_READ, 0, BUFFERED_MAX);
    bufferevent_enable(l->worker, EV_READ | EV_WRITE);
    return bufferevent_socket_connect(l->worker, (struct sockaddr *)&l->gate->upstream, l->gate->upstream_len) == 0;
}

static bool admits(const struct gate *g, const struct gate_link *l)
{
    return g->mode == GATE_OPEN || (g->mode == GATE_ONE && g->in_flight == 0) || (g->mode == GATE_READS && l->request.only_reads);
}

static void admit(struct gate_link *l)
{
    leave_state(l);
    l->state = LINK_PASSING;
    l->gate->in_flight++;
    l->gate->asking += !l->request.only_reads;
    l->gate->asked += !l->request.only_reads;
    l->response_begun = false;
    if (!connect_worker(l)) {
        refuse(l, 502, "The worker cannot be reached.");
        return;
    }
    pass(l->client, l->worker, l->request.len);
    gate_progress_begin(&l->request_body, &l->request);
    advance(l);
}

static void wait_or_refuse(struct gate_link *l)
{
    struct gate *g = l->gate;
    bool closed = g->mode == GATE_CLOSED;
    if ((closed && g->refuse) || g->waiting >= g->waiting_max) {
        refuse(l, 503, "Something else is using the GPU; the worker is paused.");
        return;
    }
    l->state = LINK_WAITING;
    g->waiting++;
    void (*ring)(void *) = g->ring;
    if (ring && (g->mode == GATE_ASLEEP || g->mode == GATE_READS))
        ring(g->bell);
    int64_t wait_ms = g->wait_ms;
    struct timeval limit = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
    if (!l->timer)
        l->timer = evtimer_new(g->base, on_wait_over, l);
    if (l->timer)
        evtimer_add(l->timer, &limit);
}

static void read_request_head(struct gate_link *l)
{
    struct evbuffer *in = bufferevent_get_input(l->client);
    size_t len = MIN_OF(evbuffer_get_length(in), (size_t)GATE_HEAD_MAX);
    int there = len ? gate_parse_request((struct str){(const char *)evbuffer_pullup(in, (ev_ssize_t)len), len}, &l->request) : 0;
    if (there < 0)
        refuse(l, 400, "That is not HTTP/1.1 as the gate understands it.");
    else if (there && admits(l->gate, l))
        admit(l);
    else if (there)
        wait_or_refuse(l);
}

/* What the client has sent goes where it belongs. */
static void advance(struct gate_link *l)
{
    if (l->state == LINK_HEAD) {
        read_request_head(l);
        return;
    }
    if (l->state != LINK_PASSING || !l->worker || l->request_body.done)
        return;
    struct evbuffer *in = bufferevent_get_input(l->client);
    size_t len = evbuffer_get_length(in);
    int64_t ours = len ? gate_progress_feed(&l->request_body, (struct str){(const char *)evbuffer_pullup(in, -1), len}) : 0;
    if (ours < 0)
        link_free(l);
    else if (ours > 0)
        pass(l->client, l->worker, (size_t)ours);
}

static void on_client_read(struct bufferevent *b, void *user)
{
    (void)b;
    advance(user);
}

static void on_client_write(struct bufferevent *b, void *user)
{
    struct gate_link *l = user;
    if (l->state == LINK_ENDING && evbuffer_get_length(bufferevent_get_output(b)) == 0)
        link_free(l);
    else if (l->worker)
        bufferevent_enable(l->worker, EV_READ);
}

static void on_client_event(struct bufferevent *b, short what, void *user)
{
    (void)b;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        link_free(user); /* the worker sees the end of its connection and stops the work */
}

static void on_client(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int len, void *user)
{
    (void)listener;
    (void)address;
    (void)len;
    struct gate *g = user;
    struct gate_link *l = g->link_count < CLIENTS_MAX ? calloc(1, sizeof *l) : NULL;
    if (l)
        l->client = bufferevent_socket_new(g->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!l || !l->client) {
        evutil_closesocket(fd);
        free(l);
        return;
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    l->gate = g;
    l->next = g->links;
    if (l->next)
        l->next->prev = l;
    g->links = l;
    g->link_count++;
    bufferevent_setcb(l->client, on_client_read, on_client_write, on_client_event, l);
    bufferevent_setwatermark(l->client, EV_READ, 0, BUFFERED_MAX);
    bufferevent_enable(l->client, EV_READ | EV_WRITE);
}

/* ---- the gate ---- */

/* The oldest connection that may go now. */
static struct gate_link *longest_waiting(struct gate *g)
{
    struct gate_link *found = NULL;
    for (struct gate_link *l = g->links; l; l = l->next)
        if (l->state == LINK_WAITING && admits(g, l))
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
        admit(l);
    void (*ring)(void *) = g->ring; /* who came while it was being unloaded */
    if (ring && g->waiting && (g->mode == GATE_ASLEEP || g->mode == GATE_READS))
        ring(g->bell);
}

static void *run(void *user)
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

static int listen_there(struct gate *g, struct error *err)
{
    struct sockaddr_storage address;
    int len = sizeof address;
    if (evutil_parse_sockaddr_port(g->spec.listen, (struct sockaddr *)&address, &len) < 0)
        return error_set(err, -EINVAL, "'%s' is not a valid address for a gate; expected one like 127.0.0.1:8081", g->spec.listen);
    g->listener = evconnlistener_new_bind(g->base, on_client, g, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC,
                                          128, (struct sockaddr *)&address, len);
    if (!g->listener)
        return error_set(err, -errno, "the gate cannot listen on %s: %s", g->spec.listen, strerror(errno));
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
        rc = listen_there(g, err);
    if (rc == 0) {
        g->wake = event_new(g->base, g->wake_fd, EV_READ | EV_PERSIST, on_wake, g);
        if (!g->wake || event_add(g->wake, NULL) < 0 || pthread_create(&g->thread, NULL, run, g) != 0)
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
