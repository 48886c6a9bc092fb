/* SPDX-License-Identifier: Apache-2.0
 * Sends slices over a connection that HTTP has handed over.
 */
#include "http/exchange.h"

#include <stdio.h>
#include <stdlib.h>

#include "http/credential.h"
#include "http/http.h"
#include "http/site.h"

enum { STALL_MS = 300000, ASK_AGAIN_MS = 100 };

struct download {
    struct site *site;
    struct conn *conn;
    struct download_source *source;
    struct tenure tenure;
    bool asked;   /* waiting for a slice */
    bool chunked; /* HTTP/1.1 */
};

static void ask(struct download *d)
{
    if (d->asked || d->conn->finishing || conn_queued(d->conn))
        return;
    d->asked = d->source->ask(d->source);
    conn_set_deadline(d->conn, d->asked ? 0 : ASK_AGAIN_MS);
}

void download_slice(struct conn *c, struct blob *slice, bool more)
{
    struct download *d = c->state;
    char size[24];
    int len = snprintf(size, sizeof size, "%zx\r\n", slice ? slice->len : 0);
    d->asked = false;
    if (slice && d->chunked)
        conn_send(c, (struct piece[]){{size, (size_t)len, NULL}, piece_blob(slice), PIECE_STR(STR("\r\n"))}, 3);
    else if (slice)
        conn_send(c, &(struct piece){slice->at, slice->len, slice}, 1);
    conn_set_deadline(c, STALL_MS);
    if (more) {
        ask(d);
        return;
    }
    if (d->chunked)
        conn_send(c, &PIECE_STR(STR("0\r\n\r\n")), 1);
    conn_finish(c, false);
}

void download_break_off(struct conn *c)
{
    struct download *d = c->state;
    d->asked = false;
    conn_close(c);
}

static size_t ignore_input(struct conn *c, char *at, size_t len)
{
    (void)c, (void)at;
    return len;
}

static void drained(struct conn *c)
{
    ask(c->state);
}

static void expired(struct conn *c)
{
    struct download *d = c->state;
    if (conn_queued(c) && loop_now_ms() - c->progress_ms >= STALL_MS)
        conn_close(c);
    else if (conn_queued(c))
        conn_set_deadline(c, STALL_MS);
    else
        ask(d);
}

/* The client may have closed only its sending side; if it is gone, sending fails. */
static void hangup(struct conn *c)
{
    (void)c;
}

static void closed(struct conn *c)
{
    struct download *d = c->state;
    tenure_end(&d->tenure);
    d->source->gone(d->source, d->asked);
    d->site->downloads--;
    c->place->downloads--;
    free(d);
    c->state = NULL;
}

static const struct protocol download_protocol = {
    .input = ignore_input, .drained = drained, .expired = expired, .hangup = hangup, .closed = closed, .input_max = 1};

bool download_has_room(struct exchange *x)
{
    bool others_have = x->site->downloads >= DOWNLOADS_MAX, peer_has = x->conn->place->downloads >= DOWNLOADS_OF_ONE;
    if (peer_has)
        exchange_error_with(x, 429, "Retry-After: 10\r\n", "too_many_downloads",
                            "Too many downloads from this address are running already.");
    else if (others_have)
        exchange_error_with(x, 503, "Retry-After: 10\r\n", "busy", "Too many downloads are running already.");
    return !peer_has && !others_have;
}

/* Aborted without the last chunk, so that no client takes it for complete. */
static void revoked(void *owner, const char *why)
{
    struct download *d = owner;
    (void)why;
    conn_close(d->conn);
}

bool download_begin(struct exchange *x, const struct reply *head, struct download_source *source, struct blob *first, bool more)
{
    struct download *d = calloc(1, sizeof *d);
    if (!d)
        return false; /* router_handle() answers 500 */
    *d = (struct download){.site = x->site, .conn = x->conn, .source = source, .chunked = x->request->minor > 0};
    if (!tenure_begin(&d->tenure, x, d, revoked)) {
        free(d);
        return false;
    }
    bool only_head = x->request->method == HTTP_HEAD;
    exchange_begin(x, head);
    x->site->downloads++;
    x->conn->place->downloads++;
    http_hand_over(x->conn, &download_protocol, d);
    if (only_head)
        conn_finish(x->conn, false);
    else
        download_slice(x->conn, first, more);
    return true;
}
