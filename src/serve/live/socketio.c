/* SPDX-License-Identifier: Apache-2.0
 * Socket.IO packets. Clients get the same events and data as those of the plain WebSocket.
 */
#include "serve/live/live.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "serve/live/engineio.h"

enum { QUEUE_MAX = 8 << 20 };

struct sio_client {
    struct subscriber subscriber; /* first member */
    struct eio_session *session;
};

bool sio_parse(struct str text, struct sio_packet *ret)
{
    if (text.len == 0 || text.at[0] < '0' || text.at[0] > '6')
        return false;
    *ret = (struct sio_packet){.type = (enum sio_type)(text.at[0] - '0'), .space = STR("/")};
    struct str rest = {text.at + 1, text.len - 1};
    if (ret->type == SIO_BINARY_EVENT || ret->type == SIO_BINARY_ACK) { /* "51-": one attachment follows in a separate message */
        size_t count = 0;
        while (count < rest.len && rest.at[count] >= '0' && rest.at[count] <= '9')
            count++;
        if (count == 0 || count == rest.len || rest.at[count] != '-')
            return false;
        rest = (struct str){rest.at + count + 1, rest.len - count - 1};
    }
    if (rest.len && rest.at[0] == '/') {
        const char *comma = memchr(rest.at, ',', rest.len);
        size_t len = comma ? (size_t)(comma - rest.at) : rest.len;
        ret->space = (struct str){rest.at, len};
        rest = (struct str){rest.at + len + (comma ? 1 : 0), rest.len - len - (comma ? 1 : 0)};
    }
    size_t digits = 0;
    while (digits < rest.len && rest.at[digits] >= '0' && rest.at[digits] <= '9')
        digits++;
    if (digits) {
        ret->has_id = str_to_u64((struct str){rest.at, digits}, &ret->id);
        if (!ret->has_id || digits > 19)
            return false;
        rest = (struct str){rest.at + digits, rest.len - digits};
    }
    ret->data = rest;
    return true;
}

/* ---- to the client ---- */

static void client_send(struct subscriber *s, struct blob *bytes)
{
    struct sio_client *c = (struct sio_client *)s;
    if (c->session->closing)
        return;
    eio_send_raw(c->session, bytes);
    if (eio_queued(c->session) > QUEUE_MAX)
        eio_close(c->session);
}

static size_t client_queued(const struct subscriber *s)
{
    return eio_queued(((const struct sio_client *)s)->session);
}

static const struct subscriber_ops client_ops = {.send = client_send, .queued = client_queued};

static void send_text(struct eio_session *s, const char *text)
{
    eio_send(s, str_from(text));
}

/* ---- from the client ---- */

static void on_connect(struct eio_session *s, const struct sio_packet *p)
{
    struct sio_client *c = s->user;
    AUTO_BUF struct buf out = BUF(1024);
    if (!str_is(p->space, "/")) {
        buf_printf(&out, "4" STR_FMT ",{\"message\":\"Invalid namespace\"}", STR_ARG(p->space));
        eio_send(s, buf_view(&out));
        return;
    }
    if (c->subscriber.joined)
        return;
    buf_printf(&out, "0{\"sid\":\"%s\"}", s->sid);
    eio_send(s, buf_view(&out));
    s->joined = true;
    live_arrived(s->eio->owner, &c->subscriber);
}

/* ["subscribe", {"events": [...]}]; also ["subscribe", ["gpu_stats"]], which people try first. */
static void on_event(struct eio_session *s, const struct sio_packet *p)
{
    struct sio_client *c = s->user;
    if (!c->subscriber.joined || !str_is(p->space, "/"))
        return;
    AUTO_JSON json_t *array = json_loadb(p->data.at, p->data.len, JSON_REJECT_DUPLICATES, NULL);
    const char *name = json_string_value(json_array_get(array, 0));
    if (name) {
        json_t *argument = json_array_get(array, 1), *wrapped = NULL;
        if (json_is_array(argument))
            argument = wrapped = json_pack("{s:O}", "events", argument);
        live_message(s->eio->owner, &c->subscriber, name, argument);
        json_decref(wrapped);
        if (p->has_id && !s->closing) {
            char ack[40];
            snprintf(ack, sizeof ack, "3%llu[]", (unsigned long long)p->id);
            send_text(s, ack);
        }
    }
}

static void on_message(struct eio_session *s, struct str text)
{
    struct sio_packet p;
    if (!sio_parse(text, &p)) {
        eio_close(s);
        return;
    }
    switch (p.type) {
    case SIO_CONNECT: on_connect(s, &p); break;
    case SIO_EVENT:
    case SIO_BINARY_EVENT: on_event(s, &p); break; /* binary data is a placeholder here, which no handler reads */
    case SIO_DISCONNECT:
        if (str_is(p.space, "/"))
            hub_leave(s->user);
        break;
    case SIO_BINARY_ACK:
    case SIO_ACK:
    case SIO_CONNECT_ERROR: break;
    }
}

static bool on_opened(struct eio_session *s)
{
    struct sio_client *c = calloc(1, sizeof *c);
    if (!c)
        return false;
    c->subscriber = (struct subscriber){.ops = &client_ops, .language = LANGUAGE_SIO_POLL, .topics = TOPICS_ALL};
    c->session = s;
    s->user = c;
    return true;
}

static void on_upgraded(struct eio_session *s)
{
    struct sio_client *c = s->user;
    c->subscriber.language = LANGUAGE_SIO_WS;
}

static void on_drained(struct eio_session *s)
{
    hub_drained(s->user);
}

/* The second packet is a disconnect by the server, after which clients don't reconnect on their own. */
static void on_revoked(struct eio_session *s, const char *why)
{
    struct sio_client *c = s->user;
    if (!c->subscriber.joined)
        return;
    live_revoked(&c->subscriber, why);
    hub_leave(&c->subscriber);
    send_text(s, "1");
}

static void on_closed(struct eio_session *s)
{
    struct sio_client *c = s->user;
    hub_leave(&c->subscriber);
    free(c);
}

const struct eio_ops socketio_ops = {
    .opened = on_opened,
    .message = on_message,
    .upgraded = on_upgraded,
    .drained = on_drained,
    .revoked = on_revoked,
    .closed = on_closed,
};
