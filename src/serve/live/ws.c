/* SPDX-License-Identifier: Apache-2.0
 * WebSockets: turns frames into messages and back.
 */
#include "serve/live/ws.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "http/http.h"
#include "http/loop.h"

enum {
    PING_MS = 40000,      /* ping a silent client after this time */
    SILENT_MS = 100000,   /* and drop it after this time */
    STALL_MS = 30000,     /* limit for output that does not move */
    CLOSE_WAIT_MS = 1000, /* limit for the reply to our close frame */
    CONTROL_QUEUE_MAX = 65536,
};

static void send_frame(struct ws *w, unsigned opcode, struct str payload)
{
    uint8_t head[WS_HEAD_MAX];
    size_t head_len = ws_frame_head(head, opcode, payload.len);
    conn_send(w->conn, (struct piece[]){{(char *)head, head_len, NULL}, PIECE_STR(payload)}, 2);
}

void ws_send_text(struct ws *w, struct str text)
{
    if (!w->close_sent)
        send_frame(w, WS_TEXT, text);
}

void ws_send_frames(struct ws *w, struct blob *frames)
{
    if (!w->close_sent && frames->len)
        conn_send(w->conn, &(struct piece){frames->at, frames->len, frames}, 1);
}

void ws_close(struct ws *w, unsigned code, const char *reason)
{
    if (w->close_sent)
        return;
    char payload[WS_CONTROL_MAX] = {(char)(code >> 8), (char)code};
    size_t len = MIN_OF(strlen(reason), sizeof payload - 2);
    memcpy(payload + 2, reason, len);
    send_frame(w, WS_CLOSE, (struct str){payload, len + 2});
    w->close_sent = true;
    conn_set_deadline(w->conn, CLOSE_WAIT_MS);
}

/* The peer broke the protocol: say why and leave. */
static void fail(struct ws *w, unsigned code, const char *reason)
{
    ws_close(w, code, reason);
    conn_finish(w->conn, true);
}

static void on_close_frame(struct ws *w, struct str payload)
{
    unsigned code = WS_NORMAL;
    if (payload.len >= 2)
        code = (unsigned)(unsigned char)payload.at[0] << 8 | (unsigned char)payload.at[1];
    if (payload.len == 1 || !ws_close_code_is_valid(code))
        fail(w, WS_PROTOCOL_ERROR, "bad close code");
    else if (payload.len > 2 && !ws_text_is_valid((struct str){payload.at + 2, payload.len - 2}))
        fail(w, WS_BAD_TEXT, "the reason is not UTF-8");
    else {
        ws_close(w, code, "");
        conn_finish(w->conn, false);
    }
}

static void deliver(struct ws *w, struct str text)
{
    if (w->in_binary)
        w->ops->binary(w);
    else if (!ws_text_is_valid(text))
        fail(w, WS_BAD_TEXT, "not UTF-8");
    else if (!w->close_sent)
        w->ops->message(w, text);
}

static void forget_partial(struct ws *w)
{
    free(TAKE(w->partial));
    w->partial_len = 0;
    w->in_message = false;
}

static void on_data_frame(struct ws *w, const struct ws_frame *f)
{
    if ((f->opcode == WS_CONTINUATION) != w->in_message) {
        fail(w, WS_PROTOCOL_ERROR, "fragments out of order");
        return;
    }
    if (f->opcode == WS_BINARY && !w->ops->binary) {
        fail(w, WS_UNSUPPORTED, "messages are text");
        return;
    }
    if (f->opcode != WS_CONTINUATION)
        w->in_binary = f->opcode == WS_BINARY;
    if (f->final && !w->in_message) {
        deliver(w, f->payload);
        return;
    }
    if (w->partial_len + f->payload.len > WS_MESSAGE_MAX) {
        fail(w, WS_TOO_BIG, "message too big");
        return;
    }
    w->in_message = true;
    if (f->payload.len) {
        char *more = realloc(w->partial, w->partial_len + f->payload.len);
        if (!more) {
            conn_close(w->conn);
            return;
        }
        memcpy(more + w->partial_len, f->payload.at, f->payload.len);
        w->partial = more;
        w->partial_len += f->payload.len;
    }
    if (f->final) {
        AUTO_FREE char *text = TAKE(w->partial);
        size_t len = w->partial_len;
        forget_partial(w);
        deliver(w, (struct str){text ? text : "", len});
    }
}

static size_t ws_input(struct conn *c, char *at, size_t len)
{
    struct ws *w = c->state;
    size_t used = 0;
    w->heard_ms = loop_now_ms();
    while (used < len && !c->closing && !c->finishing) {
        struct ws_frame f;
        ssize_t n = ws_frame_parse(at + used, len - used, &f);
        if (n == 0)
            break;
        if (n < 0) {
            fail(w, (unsigned)-n, n == -WS_TOO_BIG ? "message too big" : "bad frame");
            return len;
        }
        used += (size_t)n;
        if (f.opcode == WS_CLOSE)
            on_close_frame(w, f.payload);
        else if (f.opcode == WS_PING) {
            /* Don't answer pings forever if the client does not read the pongs. */
            if (conn_queued(c) < CONTROL_QUEUE_MAX && !w->close_sent)
                send_frame(w, WS_PONG, f.payload);
        } else if (f.opcode != WS_PONG)
            on_data_frame(w, &f);
    }
    return c->closing || c->finishing ? len : used;
}

static void ws_drained(struct conn *c)
{
    struct ws *w = c->state;
    if (w->ops->drained && !w->close_sent)
        w->ops->drained(w);
}

static void ws_expired(struct conn *c)
{
    struct ws *w = c->state;
    int64_t now = loop_now_ms();
    bool stalled = conn_queued(c) && now - c->progress_ms >= STALL_MS;
    if (w->close_sent || stalled || now - w->heard_ms >= SILENT_MS) {
        conn_close(c);
        return;
    }
    if (!conn_queued(c) && now - w->heard_ms >= PING_MS)
        send_frame(w, WS_PING, STR(""));
    conn_set_deadline(c, conn_queued(c) ? STALL_MS / 2 : PING_MS);
}

static void ws_closed(struct conn *c)
{
    struct ws *w = c->state;
    tenure_end(&w->tenure);
    if (w->ops->closed)
        w->ops->closed(w);
    free(w->partial);
    free(w);
    c->state = NULL;
}

const struct protocol ws_protocol = {
    .input = ws_input,
    .drained = ws_drained,
    .expired = ws_expired,
    .closed = ws_closed,
    .input_max = WS_MESSAGE_MAX + 64,
};

/* ---- handshake ---- */

static bool key_is_valid(struct str key)
{
    /* base64 of 16 bytes */
    if (key.len != 24 || !str_ends(key, "=="))
        return false;
    for (size_t i = 0; i < 22; i++) {
        char c = key.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/'))
            return false;
    }
    return true;
}

static void answer_handshake(struct conn *c, struct str key)
{
    char text[24 + 36 + 1];
    memcpy(text, key.at, 24);
    memcpy(text + 24, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 37);
    uint8_t digest[SHA1_SIZE];
    sha1(str_from(text), digest);
    char accept[BASE64_SIZE(SHA1_SIZE)];
    base64_encode(digest, sizeof digest, accept);
    AUTO_BUF struct buf head = BUF(512);
    buf_printf(&head,
               "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
               accept);
    conn_send(c, &PIECE_STR(buf_view(&head)), 1);
}

static void on_revoked(void *owner, const char *why)
{
    struct ws *w = owner;
    w->ops->revoked(w, why);
}

struct ws *ws_accept(struct exchange *x, const struct ws_ops *ops, void *owner)
{
    const struct http_message *r = x->request;
    if (!http_field_has_word(r, "upgrade", "websocket") || !http_field_has_word(r, "connection", "upgrade") ||
        r->method != HTTP_GET || r->minor < 1) {
        exchange_error_with(x, 426, "Upgrade: websocket\r\nConnection: Upgrade\r\n", "upgrade_required",
                            "This path speaks WebSocket only.");
        return NULL;
    }
    if (!str_is(http_field(r, "sec-websocket-version"), "13")) {
        exchange_error_with(x, 426, "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n", "upgrade_required",
                            "Version 13 of the WebSocket protocol is supported.");
        return NULL;
    }
    struct str key = http_field(r, "sec-websocket-key");
    if (!key_is_valid(key)) {
        exchange_error(x, 400, "bad_request", "Sec-WebSocket-Key is missing or malformed.");
        return NULL;
    }
    struct ws *w = calloc(1, sizeof *w);
    if (!w || !tenure_begin(&w->tenure, x, w, on_revoked)) {
        free(w);
        exchange_error(x, 500, "internal", "Out of memory.");
        return NULL;
    }
    w->conn = x->conn;
    w->ops = ops;
    w->owner = owner;
    w->heard_ms = loop_now_ms();
    answer_handshake(x->conn, key);
    x->done = true;
    http_hand_over(x->conn, &ws_protocol, w);
    conn_set_deadline(x->conn, PING_MS);
    return w;
}
