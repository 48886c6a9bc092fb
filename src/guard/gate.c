/* SPDX-License-Identifier: Apache-2.0
 * The gate: one thread with an event loop that admits clients and forwards requests. A client's connection has at most one
 * connection to the worker. Idle connections and partial requests time out soon, and make room for others.
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
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/os/net.h"

/* ---- where messages end, by whirr's common HTTP parser ---- */

/* The common part of both kinds of heads. */
static void note_head(struct gate_head *ret, const struct http_message *m, size_t len)
{
    *ret = (struct gate_head){.len = len, .status = m->status, .close = !m->keep_alive, .is_old = m->minor == 0};
    ret->length = m->content_length > 0 ? m->content_length : 0;
}

int gate_parse_request(struct str bytes, struct gate_head *ret)
{
    struct http_message m;
    ssize_t len = http_parse_passed_on(bytes, &m);
    if (len <= 0)
        return len < 0 ? -1 : 0;
    note_head(ret, &m, (size_t)len);
    ret->is_head = m.method == HTTP_HEAD;
    ret->only_reads = m.method == HTTP_HEAD || m.method == HTTP_GET || m.method == HTTP_OPTIONS;
    ret->upgrade = http_field_has_word(&m, "connection", "upgrade");
    ret->body = m.chunked ? GATE_BODY_CHUNKED : ret->length ? GATE_BODY_LENGTH : GATE_BODY_NONE;
    return 1;
}

int gate_parse_response(struct str bytes, const struct gate_head *request, struct gate_head *ret)
{
    static const enum gate_body bodies[] = {[HTTP_NO_BODY] = GATE_BODY_NONE,
                                            [HTTP_LENGTH] = GATE_BODY_LENGTH,
                                            [HTTP_CHUNKED] = GATE_BODY_CHUNKED,
                                            [HTTP_UNTIL_CLOSE] = GATE_BODY_UNTIL_CLOSE};
    struct http_message m;
    struct http_body body;
    ssize_t len = http_parse_response(bytes, &m);
    if (len <= 0)
        return len < 0 ? -1 : 0;
    note_head(ret, &m, (size_t)len);
    ret->is_interim = m.status < 200 && m.status != 101;
    http_body_of_response(&body, &m, request->is_head);
    ret->body = body.done ? GATE_BODY_NONE : bodies[body.framing];
    if (m.status == 101 && request->upgrade)
        ret->body = GATE_BODY_OPAQUE;
    return 1;
}

void gate_progress_begin(struct gate_progress *p, const struct gate_head *head)
{
    static const enum http_framing framings[] = {[GATE_BODY_NONE] = HTTP_NO_BODY,
                                                 [GATE_BODY_LENGTH] = HTTP_LENGTH,
                                                 [GATE_BODY_CHUNKED] = HTTP_CHUNKED,
                                                 [GATE_BODY_UNTIL_CLOSE] = HTTP_UNTIL_CLOSE,
                                                 [GATE_BODY_OPAQUE] = HTTP_UNTIL_CLOSE};
    p->body = head->body;
    http_body_begin(&p->http, framings[head->body], head->length);
    p->done = p->http.done;
}

int64_t gate_progress_feed(struct gate_progress *p, struct str bytes)
{
    struct str rest = bytes, piece;
    int got = 0;
    if (p->done)
        return 0;
    if (p->body == GATE_BODY_OPAQUE)
        return (int64_t)bytes.len;
    while ((got = http_body_next(&p->http, &rest, &piece)) > 0)
        ;
    p->done = p->http.done;
    return got < 0 ? -1 : (int64_t)(bytes.len - rest.len);
}

/* ---- a client: its requests on their way to the worker, and the answers back ---- */

enum link_state {
    LINK_HEAD,    /* between two requests, or with a partial one */
    LINK_WAITING, /* until the gate opens */
    LINK_PASSING, /* a request is in flight */
    LINK_ENDING,  /* buffered output is still sent */
};

struct gate_link {
    struct gate *gate;
    struct gate_link *next, *prev;
    enum link_state state;
    struct bufferevent *client, *worker; /* worker NULL: not connected */
    struct gate_head request;
    struct gate_progress request_body, response_body;
    bool response_begun, reusable;
    bool client_done;    /* it closed its sending side, and may be gone */
    bool half;           /* part of a request's head has arrived */
    struct event *timer; /* for waiting, and for the head */
    struct in6_addr from;
};

struct gate {
    struct guard_gate_spec spec; /* the initial settings */
    _Atomic bool refuse;         /* and those that may change at run time */
    _Atomic size_t waiting_max;
    _Atomic int64_t wait_ms;
    struct sockaddr_storage upstream;
    int upstream_len;
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *wake, *again; /* again: resumes accepting after a pause */
    int wake_fd, port;
    pthread_t thread;
    bool started;
    struct gate_link *links, *oldest; /* newest first */
    size_t link_count;
    _Atomic int mode;
    _Atomic bool ending;
    _Atomic size_t in_flight, waiting, asking;
    _Atomic uint64_t asked;
    void (*_Atomic ring)(void *user);
    void *_Atomic bell;
};

enum { CLIENTS_MAX = 4096, BUFFERED_MAX = 256 * 1024, RETRY_AFTER_S = 30 };
/* Timeouts in seconds: for the rest of a head, the next piece of a body, the next request, and for a client to read its answer. */
enum { HEAD_S = 10, BODY_S = 30, IDLE_S = 120, STALL_S = 120 };

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
    *(l->next ? &l->next->prev : &g->oldest) = l->prev;
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
        (void)!write(g->wake_fd, &(uint64_t){1}, sizeof(uint64_t)); /* the next one may proceed */
}

/* How long the client may be silent: forever while it waits for its answer. Unread output always has a limit. */
static void give_time(struct gate_link *l)
{
    const struct timeval idle = {.tv_sec = IDLE_S}, body = {.tv_sec = BODY_S}, stall = {.tv_sec = STALL_S};
    const struct timeval *silent = l->state == LINK_HEAD ? &idle
                                   : l->state == LINK_PASSING && !l->request_body.done && l->request_body.body != GATE_BODY_OPAQUE
                                       ? &body
                                       : NULL;
    bufferevent_set_timeouts(l->client, silent, &stall);
}

static void set_timer(struct gate_link *l, int64_t ms, event_callback_fn over)
{
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    if (l->timer)
        event_free(l->timer);
    l->timer = evtimer_new(l->gate->base, over, l);
    if (l->timer)
        evtimer_add(l->timer, &limit);
}

static void end_after_writing(struct gate_link *l)
{
    leave_state(l);
    l->state = LINK_ENDING;
    if (l->worker)
        bufferevent_free(l->worker);
    l->worker = NULL;
    bufferevent_disable(l->client, EV_READ);
    give_time(l);
    if (evbuffer_get_length(bufferevent_get_output(l->client)) == 0)
        link_free(l);
}

static void gate_link_refuse(struct gate_link *l, int status, const char *text)
{
    AUTO_BUF struct buf body = BUF(512);
    http_error_body(&body,
                    status == 503   ? "paused"
                    : status == 400 ? "bad_request"
                    : status == 408 ? "timeout"
                                    : "bad_gateway",
                    text);
    struct evbuffer *out = bufferevent_get_output(l->client);
    evbuffer_add_printf(out,
                        "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %u\r\nRetry-After: %d\r\n"
                        "Connection: close\r\n\r\n",
                        status, http_status_text(status), (unsigned)body.len, RETRY_AFTER_S);
    evbuffer_add(out, buf_view(&body).at, body.len);
    end_after_writing(l);
}

static void on_wait_over(evutil_socket_t fd, short events, void *user)
{
    (void)fd;
    (void)events;
    gate_link_refuse(user, 503, "Something else is using the GPU; the worker is paused.");
}

/* ---- the worker's side ---- */

static void finish_response(struct gate_link *l)
{
    bool again = l->reusable && l->request_body.done && !l->client_done;
    leave_state(l);
    l->state = LINK_HEAD;
    give_time(l);
    (void)!write(l->gate->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
    if (again)
        advance(l);
    else
        end_after_writing(l);
}

/* Forwards the message's bytes; stops reading from one side while the other doesn't accept them. */
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
        gate_link_refuse(l, 502, "The worker did not answer in HTTP.");
    if (there <= 0)
        return false;
    pass(l->worker, l->client, head.len);
    if (head.is_interim)
        return evbuffer_get_length(in) > 0 && read_response_head(l);
    l->response_begun = true;
    l->reusable = !head.close && !l->request.close && head.body != GATE_BODY_UNTIL_CLOSE && head.body != GATE_BODY_OPAQUE;
    gate_progress_begin(&l->response_body, &head);
    if (head.body == GATE_BODY_OPAQUE) /* from now on both directions carry another protocol */
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

/* The worker sees what it would without the gate: a client that sends nothing more. It decides itself whether the client is
 * gone. */
static void pass_end(struct gate_link *l)
{
    if (l->worker && evbuffer_get_length(bufferevent_get_output(l->worker)) == 0 && bufferevent_getfd(l->worker) >= 0)
        shutdown(bufferevent_getfd(l->worker), SHUT_WR);
}

static void on_worker_event(struct bufferevent *b, short what, void *user)
{
    struct gate_link *l = user;
    if (what & BEV_EVENT_CONNECTED) {
        net_set_option((int)bufferevent_getfd(b), IPPROTO_TCP, TCP_NODELAY, 1);
        if (l->client_done)
            pass_end(l);
        return;
    }
    if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
        return;
    if (l->state == LINK_PASSING && !l->response_begun)
        gate_link_refuse(l, 502, "The worker cannot be reached.");
    else if (l->state == LINK_PASSING)
        end_after_writing(l); /* also the end of a body without a length */
    else if (l->state == LINK_HEAD && l->request.is_old)
        end_after_writing(l); /* its client may take that for the end of the answer */
    else {
        bufferevent_free(l->worker); /* it closed an idle connection */
        l->worker = NULL;
    }
}

static void on_worker_write(struct bufferevent *b, void *user)
{
    (void)b;
    struct gate_link *l = user;
    if (!l->client_done)
        bufferevent_enable(l->client, EV_READ);
    else
        pass_end(l);
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

static bool link_may_pass(const struct gate *g, const struct gate_link *l)
{
    return g->mode == GATE_OPEN || (g->mode == GATE_ONE && g->in_flight == 0) || (g->mode == GATE_READS && l->request.only_reads);
}

static void link_admit(struct gate_link *l)
{
    leave_state(l);
    l->state = LINK_PASSING;
    l->gate->in_flight++;
    l->gate->asking += !l->request.only_reads;
    l->gate->asked += !l->request.only_reads;
    l->response_begun = false;
    if (!connect_worker(l)) {
        gate_link_refuse(l, 502, "The worker cannot be reached.");
        return;
    }
    pass(l->client, l->worker, l->request.len);
    gate_progress_begin(&l->request_body, &l->request);
    give_time(l);
    advance(l);
}

/* Drops the oldest waiting client that closed its sending side: it may be gone. */
static void drop_one_that_hung_up(struct gate *g)
{
    for (struct gate_link *l = g->oldest; l; l = l->prev)
        if (l->state == LINK_WAITING && l->client_done) {
            link_free(l);
            return;
        }
}

static void wait_or_refuse(struct gate_link *l)
{
    struct gate *g = l->gate;
    bool closed = g->mode == GATE_CLOSED;
    if (g->waiting >= g->waiting_max)
        drop_one_that_hung_up(g);
    if ((closed && g->refuse) || g->waiting >= g->waiting_max) {
        gate_link_refuse(l, 503, "Something else is using the GPU; the worker is paused.");
        return;
    }
    l->state = LINK_WAITING;
    g->waiting++;
    void (*ring)(void *) = g->ring;
    if (ring && (g->mode == GATE_ASLEEP || g->mode == GATE_READS))
        ring(g->bell);
    give_time(l);
    set_timer(l, g->wait_ms, on_wait_over);
}

static void on_head_over(evutil_socket_t fd, short events, void *user)
{
    (void)fd;
    (void)events;
    gate_link_refuse(user, 408, "The request took too long to arrive.");
}

static void read_request_head(struct gate_link *l)
{
    struct evbuffer *in = bufferevent_get_input(l->client);
    size_t len = MIN_OF(evbuffer_get_length(in), (size_t)GATE_HEAD_MAX);
    int there = len ? gate_parse_request((struct str){(const char *)evbuffer_pullup(in, (ev_ssize_t)len), len}, &l->request) : 0;
    bool half = there == 0 && len > 0;
    if (half && !l->half)
        set_timer(l, HEAD_S * 1000, on_head_over);
    else if (!half && l->half && l->timer)
        event_del(l->timer);
    l->half = half;
    if (there < 0)
        gate_link_refuse(l, 400, "That is not HTTP/1.1 as the gate understands it.");
    else if (there && link_may_pass(l->gate, l))
        link_admit(l);
    else if (there)
        wait_or_refuse(l);
}

/* Forwards what the client has sent. */
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
    if (ours >= 0 && l->request_body.done)
        give_time(l);
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

/* For a waiting request: whether its body is complete. */
static bool is_whole(struct gate_link *l)
{
    struct evbuffer *in = bufferevent_get_input(l->client);
    struct gate_progress body;
    size_t len = evbuffer_get_length(in);
    gate_progress_begin(&body, &l->request);
    if (!body.done && len > l->request.len)
        gate_progress_feed(&body, (struct str){(const char *)evbuffer_pullup(in, -1) + l->request.len, len - l->request.len});
    return body.done;
}

/* Complete requests are still answered, even if the client closed its sending side. A partial one is dropped. */
static void end_of_input(struct gate_link *l)
{
    bool whole = l->state == LINK_WAITING   ? is_whole(l)
                 : l->state == LINK_PASSING ? l->request_body.done || l->request_body.body == GATE_BODY_OPAQUE
                                            : l->state == LINK_ENDING;
    if (!whole) {
        link_free(l); /* the worker sees its connection close */
        return;
    }
    l->client_done = true;
    if (l->state == LINK_PASSING)
        pass_end(l);
}

static void on_client_event(struct bufferevent *b, short what, void *user)
{
    (void)b;
    if (what & BEV_EVENT_EOF)
        end_of_input(user);
    else if (what & (BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT))
        link_free(user); /* the worker sees its connection close and stops working */
}

/* ---- admission ---- */

static struct in6_addr address_of(const struct sockaddr *address)
{
    struct in6_addr from = {0};
    if (address->sa_family == AF_INET6) {
        from = ((const struct sockaddr_in6 *)address)->sin6_addr;
        memset(&from.s6_addr[8], 0, IN6_IS_ADDR_V4MAPPED(&from) ? 0 : 8); /* a host with one address of a network has them all */
    } else if (address->sa_family == AF_INET) {
        from.s6_addr[10] = from.s6_addr[11] = 0xff;
        memcpy(&from.s6_addr[12], &((const struct sockaddr_in *)address)->sin_addr, 4);
    }
    return from;
}

/* One address may take a quarter of the places; loopback, which includes all local clients and a proxy in front, three quarters. */
static bool has_its_share(const struct gate *g, const struct in6_addr *from)
{
    bool local = IN6_IS_ADDR_LOOPBACK(from) || (IN6_IS_ADDR_V4MAPPED(from) && from->s6_addr[12] == 127);
    size_t count = 0, share = local ? CLIENTS_MAX - CLIENTS_MAX / 4 : CLIENTS_MAX / 4;
    for (const struct gate_link *l = g->links; l && count < share; l = l->next)
        count += memcmp(&l->from, from, sizeof *from) == 0;
    return count >= share;
}

/* Closes the oldest idle connection, of one address or of all. */
static bool gate_link_make_room(struct gate *g, const struct in6_addr *from)
{
    for (struct gate_link *l = g->oldest; l; l = l->prev)
        if (l->state == LINK_HEAD && (!from || memcmp(&l->from, from, sizeof *from) == 0)) {
            link_free(l);
            return true;
        }
    return false;
}

static size_t links_make_room(struct gate *g, size_t count)
{
    size_t done = 0;
    while (done < count && gate_link_make_room(g, NULL))
        done++;
    return done;
}

static void link_new(struct gate *g, evutil_socket_t fd, const struct sockaddr *address)
{
    struct in6_addr from = address_of(address);
    bool room = (!has_its_share(g, &from) || gate_link_make_room(g, &from)) &&
                (g->link_count < CLIENTS_MAX || gate_link_make_room(g, NULL));
    struct gate_link *l = room ? calloc(1, sizeof *l) : NULL;
    if (l)
        l->client = bufferevent_socket_new(g->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!l || !l->client) {
        evutil_closesocket(fd);
        free(l);
        return;
    }
    net_set_option((int)fd, IPPROTO_TCP, TCP_NODELAY, 1);
    l->gate = g;
    l->from = from;
    l->next = g->links;
    *(l->next ? &l->next->prev : &g->oldest) = l;
    g->links = l;
    g->link_count++;
    bufferevent_setcb(l->client, on_client_read, on_client_write, on_client_event, l);
    bufferevent_setwatermark(l->client, EV_READ, 0, BUFFERED_MAX);
    give_time(l);
    bufferevent_enable(l->client, EV_READ | EV_WRITE);
}

/* ---- the gate ---- */

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
