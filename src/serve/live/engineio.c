/* SPDX-License-Identifier: Apache-2.0
 * Engine.IO sessions: polling, the WebSocket transport, and the heartbeat.
 */
#include "serve/live/engineio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "http/exchange.h"
#include "http/http.h"
#include "http/loop.h"
#include "serve/live/ws.h"

enum { RECORD_SEPARATOR = 0x1e, TICK_MS = 1000, QUEUE_MAX = 64 << 20 };

/* ---- finding sessions ---- */

static size_t engineio_bucket_of(const char *sid)
{
    size_t hash = 5381;
    for (const char *c = sid; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    return hash % EIO_BUCKETS;
}

static struct eio_session *engineio_find(struct eio *e, const char *sid)
{
    for (struct eio_session *s = e->buckets[engineio_bucket_of(sid)]; s; s = s->next)
        if (strcmp(s->sid, sid) == 0 && !s->closing)
            return s;
    return NULL;
}

static void start_polling(struct eio_session *s)
{
    struct peer *p = s->peer;
    s->older = p->newest_session;
    if (p->newest_session)
        p->newest_session->newer = s;
    else
        p->oldest_session = s;
    p->newest_session = s;
    p->polling++;
    s->eio->polling++;
    s->polls = true;
}

static void stop_polling(struct eio_session *s)
{
    struct peer *p = s->peer;
    if (!s->polls)
        return;
    *(s->older ? &s->older->newer : &p->oldest_session) = s->newer;
    *(s->newer ? &s->newer->older : &p->newest_session) = s->older;
    s->older = s->newer = NULL;
    p->polling--;
    s->eio->polling--;
    s->polls = false;
}

static void unlink_session(struct eio_session *s)
{
    stop_polling(s);
    struct eio_session **at = &s->eio->buckets[engineio_bucket_of(s->sid)];
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    s->eio->count--;
    peers_leave(s->eio->peers, s->peer);
}

/* ---- output ---- */

/* Resumes the waiting poll, which then sees new packets or the end of the session. The session owns it only while it waits. */
static void wake_poll(struct eio_session *s)
{
    struct conn *poll = TAKE(s->poll);
    if (poll)
        http_unpark(poll);
}

static void enqueue(struct eio_session *s, struct str packet)
{
    if (s->queue.len)
        buf_char(&s->queue, RECORD_SEPARATOR);
    buf_str(&s->queue, packet);
    wake_poll(s);
}

static void send_packet(struct eio_session *s, struct str packet)
{
    if (s->ws)
        ws_send_text(s->ws, packet);
    else
        enqueue(s, packet);
}

void eio_send(struct eio_session *s, struct str message)
{
    AUTO_BUF struct buf packet = BUF(message.len + 1);
    buf_char(&packet, '4');
    buf_str(&packet, message);
    if (!packet.failed)
        send_packet(s, buf_view(&packet));
}

void eio_send_raw(struct eio_session *s, struct blob *bytes)
{
    if (bytes->len == 0)
        return;
    if (s->ws)
        ws_send_frames(s->ws, bytes);
    else
        enqueue(s, (struct str){bytes->at, bytes->len});
}

size_t eio_queued(const struct eio_session *s)
{
    return s->ws ? ws_queued(s->ws) : s->queue.len;
}

/* ---- end of a session ---- */

static void destroy(struct eio_session *s)
{
    tenure_end(&s->tenure);
    s->eio->ops->closed(s);
    unlink_session(s);
    if (s->ws)
        s->ws->owner = NULL;
    if (s->probe)
        s->probe->owner = NULL;
    buf_done(&s->queue);
    free(s);
}

/* Notifies the client as its transport allows; the next tick frees the session, when no callback uses it. */
static void close_because(struct eio_session *s, unsigned code, const char *reason)
{
    if (s->closing)
        return;
    s->closing = true;
    if (s->ws) {
        ws_send_text(s->ws, STR("1"));
        ws_close(s->ws, code, reason);
    }
    if (s->probe)
        ws_close(s->probe, WS_NORMAL, "");
    wake_poll(s); /* responds with a close packet, or a refusal */
}

void eio_close(struct eio_session *s)
{
    close_because(s, WS_NORMAL, "");
}

static void revoked(void *owner, const char *why)
{
    struct eio_session *s = owner;
    s->eio->ops->revoked(s, why);
    close_because(s, WS_UNAUTHORIZED, why);
}

/* ---- heartbeat ---- */

static void tick_session(struct eio_session *s, int64_t now)
{
    if (s->closing) {
        destroy(s);
        return;
    }
    if (now - s->heard_ms > EIO_PING_MS + EIO_TIMEOUT_MS || (!s->joined && now - s->opened_ms > EIO_JOIN_MS)) {
        eio_close(s);
        return;
    }
    if (now - s->pinged_ms >= EIO_PING_MS) {
        s->pinged_ms = now;
        send_packet(s, STR("2"));
    }
}

static void on_tick(void *arg)
{
    struct eio *e = arg;
    int64_t now = loop_now_ms();
    for (int i = 0; i < EIO_BUCKETS; i++) {
        for (struct eio_session *s = e->buckets[i], *next; s; s = next) {
            next = s->next;
            tick_session(s, now);
        }
    }
    if (e->count == 0) {
        watch_off(e->ticker);
        e->ticking = false;
    }
}

/* ---- packets of the client ---- */

static void on_packet(struct eio_session *s, struct str packet)
{
    s->heard_ms = loop_now_ms();
    if (packet.len == 0 || s->closing)
        return;
    switch (packet.at[0]) {
    case '1': eio_close(s); break;
    case '4': s->eio->ops->message(s, (struct str){packet.at + 1, packet.len - 1}); break;
    default: break; /* 3: a pong, counted above; 6: noop */
    }
}

/* ---- the WebSocket transport ---- */

static void finish_upgrade(struct eio_session *s, struct ws *w)
{
    s->ws = w;
    s->probe = NULL;
    stop_polling(s); /* from now on, the limit on connections applies instead */
    tenure_end(&s->tenure);
    s->eio->ops->upgraded(s);
    struct str rest = buf_view(&s->queue), packet;
    while (str_cut(&rest, RECORD_SEPARATOR, &packet))
        ws_send_text(w, packet);
    buf_done(&s->queue);
    wake_poll(s); /* responds with a noop packet */
}

static void on_ws_message(struct ws *w, struct str text)
{
    struct eio_session *s = w->owner;
    if (!s)
        return;
    if (s->ws == w) {
        on_packet(s, text);
    } else if (str_is(text, "2probe")) {
        s->heard_ms = loop_now_ms();
        ws_send_text(w, STR("3probe"));
        s->probed = true;
        wake_poll(s); /* the client waits for its poll to end before it switches */
    } else if (str_is(text, "5") && !s->ws && !s->closing) {
        finish_upgrade(s, w);
    } else {
        ws_close(w, WS_PROTOCOL_ERROR, "probe expected");
    }
}

/* Attachments of binary events: we don't understand them, but the client is alive. */
static void on_ws_binary(struct ws *w)
{
    struct eio_session *s = w->owner;
    if (s && s->ws == w)
        s->heard_ms = loop_now_ms();
}

static void on_ws_drained(struct ws *w)
{
    struct eio_session *s = w->owner;
    if (s && s->ws == w && !s->closing)
        s->eio->ops->drained(s);
}

static void on_ws_revoked(struct ws *w, const char *why)
{
    struct eio_session *s = w->owner;
    if (s && s->ws == w && !s->closing)
        revoked(s, why);
    else
        ws_revoke(w, why);
}

static void on_ws_closed(struct ws *w)
{
    struct eio_session *s = w->owner;
    if (!s)
        return;
    if (s->probe == w) {
        s->probe = NULL;
        s->probed = false;
    }
    if (s->ws == w) {
        s->ws = NULL;
        s->closing = true;
    }
}

static const struct ws_ops ws_ops = {
    .message = on_ws_message, .binary = on_ws_binary, .drained = on_ws_drained, .revoked = on_ws_revoked, .closed = on_ws_closed};

/* ---- requests ---- */

static void reply_text(struct exchange *x, struct str text)
{
    AUTO_BLOB struct blob *body = blob_copy(text);
    if (body)
        exchange_reply(x, &(struct reply){.type = "text/plain; charset=UTF-8", .body = body, .cache = "no-store"});
}

/* Drops the oldest session of the same peer that never became a client: a peer that abandons sessions only harms itself. */
static bool engineio_make_room(struct peer *peer)
{
    for (struct eio_session *s = peer->oldest_session; s; s = s->newer) {
        if (s->joined || s->poll || s->probe)
            continue;
        destroy(s);
        return true;
    }
    return false;
}

static bool has_room(struct eio *e, struct peer *peer)
{
    if (e->count >= e->max || peer->polling >= EIO_POLLING_PER_PEER || e->polling >= EIO_POLLING_MAX)
        return engineio_make_room(peer);
    return true;
}

static struct eio_session *open_session(struct eio *e, const struct exchange *x, bool polls)
{
    const struct conn *c = x->conn;
    uint8_t random[(EIO_SID_SIZE - 1) / 2];
    if (polls ? !has_room(e, c->place) : e->count >= e->max)
        return NULL;
    struct eio_session *s = calloc(1, sizeof *s);
    if (!s || getrandom(random, sizeof random, 0) != sizeof random) {
        free(s);
        return NULL;
    }
    hex_encode(random, sizeof random, s->sid);
    s->eio = e;
    s->queue = BUF(QUEUE_MAX);
    s->opened_ms = s->heard_ms = s->pinged_ms = loop_now_ms();
    s->peer = peers_enter(e->peers, &c->place->id);
    if (!s->peer || (polls && !tenure_begin(&s->tenure, x, s, revoked)) || !e->ops->opened(s)) {
        tenure_end(&s->tenure);
        if (s->peer)
            peers_leave(e->peers, s->peer);
        free(s);
        return NULL;
    }
    if (polls)
        start_polling(s);
    s->next = e->buckets[engineio_bucket_of(s->sid)];
    e->buckets[engineio_bucket_of(s->sid)] = s;
    e->count++;
    if (!e->ticking)
        e->ticking = watch_on(e->ticker, TICK_MS);
    return s;
}

static void write_open(const struct eio_session *s, bool upgrades, char *text, size_t size)
{
    snprintf(text, size, "0{\"sid\":\"%s\",\"upgrades\":[%s],\"pingInterval\":%d,\"pingTimeout\":%d,\"maxPayload\":%d}", s->sid,
             upgrades ? "\"websocket\"" : "", EIO_PING_MS, EIO_TIMEOUT_MS, HTTP_BODY_MAX);
}

static void too_many(struct exchange *x)
{
    if (x->conn->place->polling >= EIO_POLLING_PER_PEER)
        exchange_error_with(x, 429, "Retry-After: 5\r\n", "too_many_sessions", "Too many sessions from this address poll already.");
    else
        exchange_error_with(x, 503, "Retry-After: 5\r\n", "too_many_sessions", "All places are taken.");
}

static void accept_websocket(struct eio *e, struct exchange *x, struct eio_session *s)
{
    if (s && (s->ws || s->probe)) {
        exchange_error(x, 400, "bad_request", "This session has a WebSocket already.");
        return;
    }
    struct ws *w = ws_accept(x, &ws_ops, s);
    if (!w)
        return;
    if (s) {
        s->probe = w;
        return;
    }
    s = open_session(e, x, false);
    if (!s) {
        ws_close(w, WS_POLICY, "all places are taken");
        return;
    }
    w->owner = s;
    s->ws = w;
    e->ops->upgraded(s);
    char text[256];
    write_open(s, false, text, sizeof text);
    ws_send_text(w, str_from(text));
}

/* Clients treat an aborted poll as the end of the session, and open another one. */
static void poll_gone(struct conn *c, void *owner)
{
    struct eio_session *s = owner;
    if (s->poll != c)
        return;
    s->poll = NULL;
    eio_close(s);
}

/* Sends as many packets as a client accepts at once; the others wait for its next poll. */
static void reply_packets(struct exchange *x, struct eio_session *s)
{
    struct str rest = buf_view(&s->queue), packet;
    for (int i = 0; i < EIO_POLL_PACKETS && rest.len && str_cut(&rest, RECORD_SEPARATOR, &packet); i++)
        ;
    size_t len = (size_t)(rest.len ? rest.at - 1 - s->queue.at : packet.at + packet.len - s->queue.at);
    AUTO_BLOB struct blob *body = rest.len ? blob_copy((struct str){s->queue.at, len}) : blob_take(&s->queue);
    if (rest.len) {
        s->queue.len = rest.len;
        memmove(s->queue.at, rest.at, rest.len);
    } else {
        s->queue = BUF(QUEUE_MAX);
    }
    if (body)
        exchange_reply(x, &(struct reply){.type = "text/plain; charset=UTF-8", .body = body, .cache = "no-store"});
    if (!s->queue.len)
        s->eio->ops->drained(s);
}

static void answer_poll(struct exchange *x, struct eio_session *s)
{
    struct http_client *h = x->conn->state;
    if (s->poll) { /* a second simultaneous poll: one of them would never end */
        exchange_error(x, 400, "bad_request", "This session is being polled already.");
        eio_close(s);
    } else if (s->queue.len) {
        reply_packets(x, s);
    } else if (s->ws || s->closing || s->probed) {
        reply_text(x, s->closing ? STR("1") : STR("6"));
    } else {
        s->poll = x->conn;
        exchange_park(x);
        h->parked_gone = poll_gone;
        h->parked_owner = s;
    }
}

static void take_post(struct exchange *x, struct eio_session *s)
{
    struct str rest = x->body, packet;
    if (!ws_text_is_valid(rest)) {
        exchange_error(x, 400, "bad_request", "Packets are UTF-8 text.");
        return;
    }
    while (str_cut(&rest, RECORD_SEPARATOR, &packet))
        on_packet(s, packet);
    reply_text(x, STR("ok"));
}

void eio_handle(struct eio *e, struct exchange *x)
{
    char version[8], transport[16], sid[EIO_SID_SIZE + 8];
    if (!http_query(x->request, "EIO", version, sizeof version) || strcmp(version, "4") != 0) {
        exchange_error(x, 400, "bad_request", "Engine.IO 4 (Socket.IO 3 and 4) is supported: EIO=4 is missing.");
        return;
    }
    if (!http_query(x->request, "transport", transport, sizeof transport))
        transport[0] = '\0';
    bool websocket = strcmp(transport, "websocket") == 0;
    if (!websocket && strcmp(transport, "polling") != 0) {
        exchange_error(x, 400, "bad_request", "The transports are \"polling\" and \"websocket\".");
        return;
    }
    struct eio_session *s = NULL;
    if (http_query(x->request, "sid", sid, sizeof sid)) {
        s = engineio_find(e, sid);
        struct http_client *h = http_client_of(x->conn);
        if (!s && x->waited && h) { /* closed while this poll waited */
            reply_text(x, STR("1"));
            return;
        }
        if (!s) {
            exchange_error(x, 400, "unknown_session", "There is no such session (any more).");
            return;
        }
    }
    if (websocket) {
        accept_websocket(e, x, s);
    } else if (x->request->method == HTTP_POST) {
        if (s)
            take_post(x, s);
        else
            exchange_error(x, 400, "unknown_session", "A session is opened with GET.");
    } else if (s) {
        answer_poll(x, s);
    } else if ((s = open_session(e, x, true))) {
        char text[256];
        write_open(s, true, text, sizeof text);
        reply_text(x, str_from(text));
    } else {
        too_many(x);
    }
}

/* ---- lifecycle ---- */

int eio_init(struct eio *e, struct loop *loop, const struct eio_ops *ops, size_t sessions_max)
{
    *e = (struct eio){.ops = ops, .peers = &loop->peers, .max = sessions_max};
    e->ticker = watch_ticker(loop->base, on_tick, e);
    return e->ticker ? 0 : -ENOMEM;
}

void eio_stop(struct eio *e)
{
    for (int i = 0; i < EIO_BUCKETS; i++)
        for (struct eio_session *s = e->buckets[i]; s; s = s->next)
            eio_close(s);
}

void eio_done(struct eio *e)
{
    for (int i = 0; i < EIO_BUCKETS; i++)
        while (e->buckets[i])
            destroy(e->buckets[i]);
    watch_free(e->ticker);
    *e = (struct eio){0};
}
