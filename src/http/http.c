/* SPDX-License-Identifier: Apache-2.0
 * From bytes to exchanges. A request that can't be answered yet is parked: its bytes stay with the connection, and it is parsed
 * and handled again from the start when there is news. So no handler has to be split in two.
 */
#include "http/http.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "http/access.h"
#include "http/loop.h"
#include "http/site.h"

enum {
    HEAD_TIMEOUT_MS = 10000, /* from the first byte of a request (or the connection) to the end of its head */
    BODY_TIMEOUT_MS = 20000,
    IDLE_TIMEOUT_MS = 75000,
    STALL_TIMEOUT_MS = 20000,    /* output that doesn't move */
    SENDING_TIMEOUT_MS = 300000, /* output that trickles */
    PIPELINE_OUT_MAX = 256 * 1024,
};

static void send_continue(struct conn *c)
{
    conn_send(c, &PIECE_STR(STR("HTTP/1.1 100 Continue\r\n\r\n")), 1);
}

static void reject(struct conn *c, const struct http_message *request, int status)
{
    struct http_client *h = c->state;
    struct exchange x = {.site = h->site, .server = h->site->server, .conn = c, .request = request, .close = true, .linger = true};
    switch (status) {
    case 408: exchange_error(&x, 408, "timeout", "The request took longer than %d s to arrive.", HEAD_TIMEOUT_MS / 1000); break;
    case 413: exchange_error(&x, 413, "body_too_large", "The body is larger than %d bytes.", HTTP_BODY_MAX); break;
    case 414: exchange_error(&x, 414, "target_too_long", "The request line is longer than %d bytes.", HTTP_LINE_MAX); break;
    case 417: exchange_error(&x, 417, "expectation_failed", "Only \"Expect: 100-continue\" is understood."); break;
    case 431:
        exchange_error(&x, 431, "head_too_large", "The header is larger than %d bytes or has more than %d fields.", HTTP_HEAD_MAX,
                       HTTP_FIELDS_MAX);
        break;
    case 501: exchange_error(&x, 501, "not_implemented", "Only the transfer encoding \"chunked\" is understood."); break;
    case 505: exchange_error(&x, 505, "version_not_supported", "HTTP/1.0 and HTTP/1.1 are supported."); break;
    default: exchange_error(&x, 400, "bad_request", "This is not a well-formed HTTP/1.1 request."); break;
    }
}

/* Rejects a request regardless of its body; true if answered. */
static bool refuse_early(struct exchange *x)
{
    if (!access_check_host(x) || !access_check_origin(x) || !access_check_token(x))
        return true;
    return !router_find(x);
}

/* Partial results must not reach the next request, which may be another client's behind the same proxy. */
static void forget_work(struct http_client *h)
{
    if (h->answer)
        h->drop_answer(TAKE(h->answer));
    if (h->work)
        h->drop_work(TAKE(h->work));
}

/* Handles one request at the front. Returns the bytes consumed, 0 if incomplete or parked. */
static size_t one_request(struct conn *c, char *at, size_t len)
{
    struct http_client *h = c->state;
    struct http_message request;
    ssize_t head = http_parse_request((struct str){at, len}, &request);
    if (head < 0)
        reject(c, NULL, (int)-head);
    if (head <= 0)
        return 0;

    struct exchange x = {.site = h->site,
                         .server = h->site->server,
                         .conn = c,
                         .request = &request,
                         .waited = h->waited,
                         .close = !request.keep_alive};
    bool body_follows = http_has_body(&request);
    if (h->site->stopping)
        x.close = true;
    if (request.content_length > HTTP_BODY_MAX) {
        reject(c, &request, 413);
        return 0;
    }
    if (body_follows)
        x.close = x.linger = true; /* while the body is unread */
    if (refuse_early(&x)) {
        if (c->state == h) { /* the answer may have ended the connection and its state */
            forget_work(h);
            h->waited = false;
        }
        return body_follows ? 0 : (size_t)head;
    }

    size_t used = (size_t)head;
    if (body_follows) {
        ssize_t body = http_parse_body(&request, at + head, len - (size_t)head, &x.body);
        if (body < 0) {
            reject(c, &request, (int)-body);
            return 0;
        }
        if (body == 0) {
            if (request.expect_continue && !h->continued)
                send_continue(c);
            if (!h->continued)
                conn_set_deadline(c, BODY_TIMEOUT_MS);
            h->continued = true;
            h->partial = true;
            return 0;
        }
        used += (size_t)body;
        x.close = !request.keep_alive || h->site->stopping;
        x.linger = false;
    }
    router_handle(&x);
    if (h != c->state || c->protocol != &http_protocol)
        return used; /* upgraded */
    if (h->parked)
        return 0;
    forget_work(h); /* answered without it, as after a reload: don't keep it for the next request */
    h->waited = false;
    return used;
}

static void note_progress(struct conn *c, bool rest)
{
    struct http_client *h = c->state;
    if (h->parked || c->closing || c->finishing)
        return;
    if (c->peer_done && !conn_queued(c)) {
        conn_close(c);
    } else if (conn_queued(c)) {
        if (!h->sending_since_ms)
            h->sending_since_ms = loop_now_ms();
        conn_set_deadline(c, STALL_TIMEOUT_MS);
        h->partial = false;
    } else if (rest) {
        if (!h->partial)
            conn_set_deadline(c, HEAD_TIMEOUT_MS);
        h->partial = true;
    } else {
        conn_set_deadline(c, IDLE_TIMEOUT_MS);
        h->partial = false;
    }
}

static size_t http_input(struct conn *c, char *at, size_t len)
{
    struct http_client *h = c->state;
    size_t used = 0;
    if (h->parked) {
        if (len > HTTP_HEAD_MAX + HTTP_BODY_MAX)
            conn_pause_reading(c);
        return 0;
    }
    while (used < len) {
        if (conn_queued(c) > PIPELINE_OUT_MAX) { /* the client sends requests faster than it reads answers */
            conn_pause_reading(c);
            break;
        }
        size_t one = one_request(c, at + used, len - used);
        if (c->closing || c->finishing)
            return len;
        if (c->protocol != &http_protocol)
            return used + one;
        if (one == 0)
            break;
        used += one;
        h->continued = h->partial = false;
    }
    note_progress(c, used < len);
    return used;
}

static void http_drained(struct conn *c)
{
    struct http_client *h = c->state;
    h->sending_since_ms = 0;
    if (h->parked)
        return;
    conn_read_again(c);
    if (c->kept_len)
        conn_resume(c);
    else if (c->peer_done)
        conn_close(c);
    else
        conn_set_deadline(c, IDLE_TIMEOUT_MS);
}

static void http_expired(struct conn *c)
{
    struct http_client *h = c->state;
    int64_t now = loop_now_ms();
    if (h->parked)
        return;
    if (conn_queued(c)) {
        if (now - c->progress_ms < STALL_TIMEOUT_MS && now - h->sending_since_ms < SENDING_TIMEOUT_MS)
            conn_set_deadline(c, STALL_TIMEOUT_MS);
        else
            conn_close(c);
    } else if (h->partial) {
        reject(c, NULL, 408);
    } else {
        conn_close(c);
    }
}

static void stop_waiting(struct conn *c)
{
    struct http_client *h = c->state;
    if (!h->waiting)
        return;
    h->waiting = false;
    if (h->prev_waiter)
        http_client_of(h->prev_waiter)->next_waiter = h->next_waiter;
    else
        h->site->waiters = h->next_waiter;
    if (h->next_waiter)
        http_client_of(h->next_waiter)->prev_waiter = h->prev_waiter;
    h->next_waiter = h->prev_waiter = NULL;
}

static void leave_park(struct conn *c)
{
    struct http_client *h = c->state;
    if (!h->parked)
        return;
    h->parked = false;
    stop_waiting(c);
    h->parked_gone = NULL;
}

static void http_hangup(struct conn *c)
{
    struct http_client *h = c->state;
    /* "printf 'GET ...' | nc" closes its sending side but still wants the answer; a long poll would wait for a client that is
     * gone. */
    if (conn_queued(c) || c->resuming || (h->parked && !h->parked_gone))
        return;
    conn_close(c);
}

static void http_closed(struct conn *c)
{
    struct http_client *h = c->state;
    if (h->parked && h->parked_gone)
        h->parked_gone(c, h->parked_owner);
    leave_park(c);
    forget_work(h);
    free(h);
    c->state = NULL;
}

const struct protocol http_protocol = {
    .input = http_input,
    .drained = http_drained,
    .expired = http_expired,
    .hangup = http_hangup,
    .closed = http_closed,
    .input_max = HTTP_INPUT_MAX,
};

void http_begin(struct site *site, struct conn *c)
{
    struct http_client *h = calloc(1, sizeof *h);
    if (!h) {
        conn_close(c);
        return;
    }
    h->site = site;
    c->state = h;
    c->protocol = &http_protocol;
    conn_set_deadline(c, HEAD_TIMEOUT_MS);
}

void exchange_park(struct exchange *x)
{
    struct http_client *h = x->conn->state;
    h->parked = true;
    x->done = true;
    conn_set_deadline(x->conn, 0);
}

void http_unpark(struct conn *c)
{
    struct http_client *h = http_client_of(c);
    if (!h || !h->parked)
        return;
    leave_park(c);
    h->waited = true;
    conn_set_deadline(c, STALL_TIMEOUT_MS);
    conn_read_again(c);
    conn_resume(c);
}

void http_hand_over(struct conn *c, const struct protocol *protocol, void *state)
{
    leave_park(c);
    free(c->state);
    c->protocol = protocol;
    c->state = state;
    c->deadline_ms = INT64_MAX;
}
