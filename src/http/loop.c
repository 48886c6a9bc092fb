/* SPDX-License-Identifier: Apache-2.0
 * The event loop around libevent's, and the connections on it, whose bytes it moves between a socket and a protocol.
 */
#include "http/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/os/net.h"
#include "http/tls/tls.h"

enum {
    WRITE_PARTS = 16,
    LINGER_MS = 2000,
    LINGER_BYTES = 4 << 20,
    OUT_MAX = 64 << 20, /* no protocol of ours comes close: a last resort against bugs */
};

struct out {
    struct out *next;
    struct blob *blob; /* NULL: the bytes follow this struct */
    const char *at;
    size_t len;
};

static void free_out(struct out *o)
{
    blob_unref(o->blob);
    free(o);
}

/* ---- output ---- */

/* Bytes sent, 0: socket full, -1: broken. */
static ssize_t transmit(struct conn *c, const struct iovec *parts, size_t count)
{
    if (c->tls)
        return tls_write(c->tls, parts, count);
    for (;;) {
        ssize_t n = net_send_parts(c->fd, parts, count);
        if (n >= 0)
            return n;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return 0;
        if (errno != EINTR)
            return -1;
    }
}

static bool enqueue(struct conn *c, const struct piece *part, size_t skip)
{
    size_t len = part->len - skip;
    if (len == 0)
        return true;
    struct out *o = c->out_bytes + len > OUT_MAX ? NULL : malloc(sizeof *o + (part->blob ? 0 : len));
    if (!o)
        return false;
    *o = (struct out){.at = part->at + skip, .len = len};
    if (part->blob) {
        o->blob = blob_ref(part->blob);
    } else {
        memcpy(o + 1, part->at + skip, len);
        o->at = (const char *)(o + 1);
    }
    if (c->out_last)
        c->out_last->next = o;
    else
        c->out_first = o;
    c->out_last = o;
    c->out_bytes += len;
    return true;
}

void conn_send(struct conn *c, const struct piece *parts, size_t count)
{
    if (c->closing || count == 0)
        return;
    size_t sent = 0;
    if (!c->out_first) {
        struct iovec iov[WRITE_PARTS];
        size_t used = MIN_OF(count, (size_t)WRITE_PARTS);
        for (size_t i = 0; i < used; i++)
            iov[i] = (struct iovec){(void *)parts[i].at, parts[i].len};
        ssize_t n = transmit(c, iov, used);
        if (n < 0) {
            conn_close(c);
            return;
        }
        sent = (size_t)n;
        c->loop->bytes_out += sent;
        c->progress_ms = loop_now_ms();
    }
    for (size_t i = 0; i < count; i++) {
        size_t skip = MIN_OF(sent, parts[i].len);
        sent -= skip;
        if (!enqueue(c, &parts[i], skip)) {
            conn_close(c);
            return;
        }
    }
    if (c->out_first)
        watch_on(c->writable, WATCH_NO_TIMEOUT);
}

static void take_sent(struct conn *c, size_t n)
{
    c->out_bytes -= n;
    while (n) {
        struct out *o = c->out_first;
        size_t part = MIN_OF(n, o->len);
        o->at += part;
        o->len -= part;
        n -= part;
        if (o->len)
            break;
        c->out_first = o->next;
        if (!o->next)
            c->out_last = NULL;
        free_out(o);
    }
}

static size_t linger_input(struct conn *c, char *at, size_t len)
{
    (void)at;
    /* `state` counts discarded bytes: don't wait for a client that never ends. */
    c->state = (void *)((uintptr_t)c->state + len);
    if ((uintptr_t)c->state > LINGER_BYTES)
        conn_close(c);
    return len;
}

static const struct protocol lingering_protocol = {.input = linger_input, .input_max = 1};

static void finish_now(struct conn *c)
{
    if (!c->lingering || c->tls || c->peer_done) {
        conn_close(c);
        return;
    }
    shutdown(c->fd, SHUT_WR);
    if (c->protocol->closed)
        c->protocol->closed(c);
    c->protocol = &lingering_protocol;
    c->state = NULL;
    free(TAKE(c->kept));
    c->kept_len = 0;
    conn_read_again(c);
    conn_set_deadline(c, LINGER_MS);
}

static void on_readable(void *arg);

static void on_writable(void *arg)
{
    struct conn *c = arg;
    if (!c->out_first && c->tls) { /* TLS itself had to write before it could read on */
        on_readable(c);
        return;
    }
    while (c->out_first) {
        struct iovec iov[WRITE_PARTS];
        size_t count = 0;
        for (struct out *o = c->out_first; o && count < WRITE_PARTS; o = o->next)
            iov[count++] = (struct iovec){(void *)o->at, o->len};
        ssize_t n = transmit(c, iov, count);
        if (n < 0) {
            conn_close(c);
            return;
        }
        if (n == 0)
            break;
        c->loop->bytes_out += (size_t)n;
        c->progress_ms = loop_now_ms();
        take_sent(c, (size_t)n);
    }
    if (c->out_first) {
        watch_on(c->writable, WATCH_NO_TIMEOUT);
        return;
    }
    if (c->finishing)
        finish_now(c);
    else if (c->protocol->drained)
        c->protocol->drained(c);
}

/* ---- input ---- */

static void keep(struct conn *c, const char *at, size_t len)
{
    if (len == 0)
        return;
    if (len > c->protocol->input_max || !(c->kept = malloc(len))) {
        conn_close(c);
        return;
    }
    memcpy(c->kept, at, len);
    c->kept_len = len;
}

static void feed(struct conn *c, char *at, size_t len)
{
    for (;;) {
        const struct protocol *protocol = c->protocol;
        size_t used = len ? protocol->input(c, at, len) : 0;
        at += used;
        len -= used;
        if (c->closing)
            return;
        if (c->protocol == protocol)
            break;
    }
    keep(c, at, len);
}

static size_t lay_out_kept(struct conn *c)
{
    size_t len = c->kept_len;
    if (len)
        memcpy(c->loop->space, c->kept, len);
    free(TAKE(c->kept));
    c->kept_len = 0;
    return len;
}

/* Feeds the kept input again. */
static void resume_one(struct conn *c)
{
    size_t len = lay_out_kept(c);
    if (len)
        feed(c, c->loop->space, len);
}

static void on_readable(void *arg)
{
    struct conn *c = arg;
    size_t len = lay_out_kept(c);
    char *space = c->loop->space;
    size_t room = LOOP_SPACE - len;
    ssize_t n = c->tls ? tls_read(c->tls, space + len, room) : net_recv(c->fd, space + len, room);
    if (n > 0) {
        feed(c, space, len + (size_t)n);
        /* Decrypted bytes inside TLS don't make the descriptor readable. */
        if (c->tls && !c->closing && !c->reading_paused && tls_pending(c->tls))
            watch_call_soon(c->readable);
        return;
    }
    keep(c, space, len);
    if (c->closing)
        return;
    if (n == 0) {
        watch_off(c->readable);
        c->peer_done = true;
        if (c->protocol->hangup)
            c->protocol->hangup(c);
        else
            conn_close(c);
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        conn_close(c);
    } else if (c->tls && tls_wants_write(c->tls)) {
        watch_on(c->writable, WATCH_NO_TIMEOUT);
    }
}

/* ---- life of a connection ---- */

static void leave_place(struct loop *loop, struct peer *place)
{
    place->connections--;
    peers_leave(&loop->peers, place);
}

static void start_sweeping(struct loop *loop)
{
    if (loop->sweeping)
        return;
    loop->sweeping = true;
    watch_on(loop->sweep, 1000);
}

static void loop_add(struct loop *loop, struct conn *c)
{
    c->next = loop->conns;
    c->prev = NULL;
    if (loop->conns)
        loop->conns->prev = c;
    loop->conns = c;
    loop->conn_count++;
    start_sweeping(loop);
}

struct conn *conn_new(struct loop *loop, int fd, const struct listener *listener, struct peer *place, struct tls_session *tls)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c) {
        c->readable = watch_readable(loop->base, fd, on_readable, c);
        c->writable = watch_writable(loop->base, fd, on_writable, c);
    }
    if (!c || !c->readable || !c->writable) {
        if (c) {
            watch_free(c->readable);
            watch_free(c->writable);
        }
        free(c);
        tls_session_free(tls);
        net_close(fd);
        leave_place(loop, place);
        return NULL;
    }
    c->loop = loop;
    c->listener = listener;
    c->place = place;
    c->tls = tls;
    c->fd = fd;
    c->deadline_ms = INT64_MAX;
    watch_on(c->readable, WATCH_NO_TIMEOUT);
    loop_add(loop, c);
    return c;
}

static void conn_destroy(struct conn *c)
{
    if (c->protocol && c->protocol->closed)
        c->protocol->closed(c);
    while (c->out_first) {
        struct out *o = c->out_first;
        c->out_first = o->next;
        free_out(o);
    }
    watch_free(c->readable);
    watch_free(c->writable);
    tls_session_free(c->tls);
    net_close(c->fd);
    leave_place(c->loop, c->place);
    free(c->kept);
    free(c);
}

static void bury(struct conn *c)
{
    c->next_ready = c->loop->dead;
    c->loop->dead = c;
}

void conn_close(struct conn *c)
{
    if (c->closing)
        return;
    c->closing = true;
    watch_off(c->readable);
    watch_off(c->writable);
    if (!c->resuming)
        bury(c);
    watch_call_soon(c->loop->later);
}

void conn_finish(struct conn *c, bool linger)
{
    if (c->closing || c->finishing)
        return;
    c->finishing = true;
    c->lingering = linger;
    if (!c->out_first)
        finish_now(c);
}

void conn_resume(struct conn *c)
{
    if (c->resuming || c->closing)
        return;
    c->resuming = true;
    c->next_ready = NULL;
    if (c->loop->ready_last)
        c->loop->ready_last->next_ready = c;
    else
        c->loop->ready = c;
    c->loop->ready_last = c;
    watch_call_soon(c->loop->later);
}

void conn_set_deadline(struct conn *c, int64_t in_ms)
{
    c->deadline_ms = in_ms > 0 ? loop_now_ms() + in_ms : INT64_MAX;
}

void conn_pause_reading(struct conn *c)
{
    if (!c->reading_paused && !c->closing)
        watch_off(c->readable);
    c->reading_paused = true;
}

void conn_read_again(struct conn *c)
{
    if (!c->reading_paused || c->closing)
        return;
    c->reading_paused = false;
    if (!c->peer_done)
        watch_on(c->readable, WATCH_NO_TIMEOUT);
}

/* ---- the loop ---- */

int64_t loop_now_ms(void)
{
    return clock_mono(&clock_system).ns / NS_PER_MS;
}

static void free_closed(struct loop *loop)
{
    while (loop->dead) {
        struct conn *c = loop->dead;
        loop->dead = c->next_ready;
        if (c->prev)
            c->prev->next = c->next;
        else
            loop->conns = c->next;
        if (c->next)
            c->next->prev = c->prev;
        loop->conn_count--;
        conn_destroy(c);
    }
}

static void on_later(void *arg)
{
    struct loop *loop = arg;
    /* Connections that become ready meanwhile wait for the next iteration. */
    struct conn *c = loop->ready;
    loop->ready = loop->ready_last = NULL;
    while (c) {
        struct conn *next = c->next_ready;
        c->next_ready = NULL;
        c->resuming = false;
        if (!c->closing)
            resume_one(c);
        else
            bury(c); /* closed while queued: this list is the last to hold it */
        c = next;
    }
    free_closed(loop);
}

static void on_sweep(void *arg)
{
    struct loop *loop = arg;
    int64_t now = loop_now_ms();
    loop->sweeping = false;
    for (struct conn *c = loop->conns; c; c = c->next) {
        if (c->closing || c->deadline_ms > now)
            continue;
        c->deadline_ms = INT64_MAX;
        if (c->protocol->expired)
            c->protocol->expired(c);
        else
            conn_close(c);
    }
    if (loop->conns)
        start_sweeping(loop);
}

int loop_init(struct loop *loop, struct error *err)
{
    *loop = (struct loop){0};
    loop->base = watch_base_new();
    loop->space = malloc(LOOP_SPACE);
    if (loop->base) {
        loop->later = watch_ticker(loop->base, on_later, loop);
        loop->sweep = watch_timer(loop->base, on_sweep, loop);
    }
    if (!loop->base || !loop->space || !loop->later || !loop->sweep) {
        loop_done(loop);
        return error_set(err, -ENOMEM, "cannot set up the event loop");
    }
    return 0;
}

void loop_free_closed(struct loop *loop)
{
    while (loop->ready) {
        struct conn *c = loop->ready;
        loop->ready = c->next_ready;
        c->resuming = false;
        if (c->closing)
            bury(c);
    }
    loop->ready_last = NULL;
    free_closed(loop);
}

void loop_done(struct loop *loop)
{
    for (struct conn *c = loop->conns; c; c = c->next)
        conn_close(c);
    loop_free_closed(loop);
    watch_free(loop->later);
    watch_free(loop->sweep);
    watch_base_free(loop->base);
    free(loop->space);
    *loop = (struct loop){0};
}
