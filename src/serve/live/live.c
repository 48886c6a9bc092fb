/* SPDX-License-Identifier: Apache-2.0
 * Arrival, requests and samples of live clients of both kinds; and the plain WebSocket, one of the two.
 */
#include "serve/live/live.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "http/exchange.h"
#include "serve/data/data.h"
#include "serve/live/ws.h"

enum { DATA_MAX = 64 << 20, QUEUE_MAX = 8 << 20, UNREAD_MAX = 256 * 1024 };

static void on_updates_timer(void *arg)
{
    live_update(arg);
}

int live_init(struct broadcast *l, struct loop *loop, struct data *data, size_t sessions_max)
{
    l->data = data;
    if (hub_init(&l->hub, loop) || eio_init(&l->eio, loop, &socketio_ops, sessions_max))
        return -ENOMEM;
    l->eio.owner = l;
    l->updates_timer = watch_timer(loop->base, on_updates_timer, l);
    return l->updates_timer ? 0 : -ENOMEM;
}

void live_stop(struct broadcast *l, struct loop *loop)
{
    eio_stop(&l->eio);
    live_update(l);
    for (struct conn *c = loop->conns; c; c = c->next)
        if (c->protocol == &ws_protocol)
            ws_close(c->state, WS_GOING_AWAY, "the server stops");
}

void live_done(struct broadcast *l)
{
    watch_free(l->updates_timer);
    eio_done(&l->eio);
    hub_done(&l->hub);
    blob_unref(l->status);
}

void live_publish(struct broadcast *l)
{
    struct hub *h = &l->hub;
    h->sample_interval_ms = l->interval_ms;
    if (h->count > 0)
        engine_keep_fresh(l->data->engine);
    struct batch *b = batch_new(h->batch ? h->batch->number + 1 : 1);
    if (!b)
        return;
    /* Compose even without clients: a rise that no client saw must not reach the next one to connect. */
    compose_sample(b, l->data->periodic, data_why(l->data), &l->usage, l->high_usage_percent);
    hub_publish(h, b);
}

void live_arrived(struct broadcast *l, struct subscriber *s)
{
    hub_join(&l->hub, s);
    AUTO_BUF struct buf data = BUF(DATA_MAX);
    if (!l->status || l->status_sequence != l->data->latest->sequence) {
        compose_status(JSON_TO(&data), l->data->latest, data_why(l->data), l->interval_ms);
        blob_unref(l->status);
        l->status = blob_take(&data);
        l->status_sequence = l->data->latest->sequence;
    }
    if (l->status)
        hub_send(s, TOPIC_STATUS, (struct str){l->status->at, l->status->len});
}

static void send_error(struct subscriber *s, const char *code, const char *message)
{
    AUTO_BUF struct buf data = BUF(1024);
    answer_write(JSON_TO(&data), &problem_answer, &(struct http_problem){code, message}, NULL);
    hub_send(s, TOPIC_ERROR, buf_view(&data));
}

void live_revoked(struct subscriber *s, const char *why)
{
    send_error(s, "unauthorized", why);
}

static void send_update(struct broadcast *l, struct subscriber *s)
{
    if (s->ops->queued(s) > UNREAD_MAX)
        return; /* it doesn't read its messages: another request won't help */
    struct blob *summary = data_body(l->data, BODY_SUMMARY);
    if (summary)
        hub_send(s, TOPIC_STATUS_UPDATE, str_trim((struct str){summary->at, summary->len}));
}

void live_update(struct broadcast *l)
{
    if (!l->updates_wanted)
        return;
    l->updates_wanted = false;
    watch_off(l->updates_timer);
    for (struct subscriber *s = l->hub.first; s; s = s->next) {
        if (s->wants_update)
            send_update(l, s);
        s->wants_update = false;
    }
}

/* One client must not keep the drivers busy: beyond its share it gets the newest existing sample. */
static bool has_share(struct subscriber *s)
{
    int64_t now = loop_now_ms();
    if (now - s->asked_ms >= 1000) {
        s->asked_ms = now;
        s->asked = 0;
    }
    return s->asked++ < LIVE_FRESH_PER_S;
}

/* One fresh sample serves all clients that ask at the same time. */
static void request_update(struct broadcast *l, struct subscriber *s)
{
    if (!has_share(s) || data_is_fresh(l->data, GROUP_QUICK, l->max_age_ms)) {
        send_update(l, s);
        return;
    }
    s->wants_update = l->updates_wanted = true;
    if (!watch_is_on(l->updates_timer))
        watch_on(l->updates_timer, FRESH_WAIT_MS);
}

/* "events": the topics wanted from now on; "interval_seconds": the shortest interval. */
static void subscribe(struct subscriber *s, const json_t *json)
{
    const json_t *events = json_object_get(json, "events"), *interval = json_object_get(json, "interval_seconds");
    unsigned topics = s->topics;
    if (events) {
        topics = TOPICS_ALWAYS;
        if (!json_is_array(events) || json_array_size(events) > 64) {
            send_error(s, "bad_message", "\"events\" must be a list of event names.");
            return;
        }
        for (size_t i = 0; i < json_array_size(events); i++) {
            const char *name = json_string_value(json_array_get(events, i));
            enum topic topic;
            if (!name || !topic_from_name(str_from(name), &topic)) {
                send_error(s, "unknown_event", "There is no event of that name; /openapi.json lists them.");
                return;
            }
            topics |= 1u << topic;
        }
    }
    if (interval) {
        double seconds = json_number_value(interval);
        if (!json_is_number(interval) || !(seconds >= 0) || seconds > LIVE_INTERVAL_MAX_S) {
            send_error(s, "bad_message", "\"interval_seconds\" must be a number from 0 (every sample) to 86400.");
            return;
        }
        s->interval_ms = (int64_t)(seconds * 1000);
        s->due_ms = loop_now_ms();
    }
    s->topics = topics;
}

void live_message(struct broadcast *l, struct subscriber *s, const char *type, const json_t *json)
{
    if (strcmp(type, "request_gpu_update") == 0)
        request_update(l, s);
    else if (strcmp(type, "subscribe") == 0)
        subscribe(s, json);
    else
        send_error(s, "unknown_type", "Clients may send \"request_gpu_update\" and \"subscribe\".");
}

/* ---- the plain WebSocket ---- */

struct live_client {
    struct subscriber subscriber; /* first member */
    struct broadcast *live;
    struct ws *ws;
};

static void client_send(struct subscriber *s, struct blob *bytes)
{
    struct live_client *c = (struct live_client *)s;
    ws_send_frames(c->ws, bytes);
    if (ws_queued(c->ws) > QUEUE_MAX) /* announcements pile up for a client that never reads */
        conn_close(c->ws->conn);
}

static size_t client_queued(const struct subscriber *s)
{
    return ws_queued(((const struct live_client *)s)->ws);
}

static const struct subscriber_ops client_ops = {.send = client_send, .queued = client_queued};

static void on_message(struct ws *w, struct str text)
{
    struct live_client *c = w->owner;
    AUTO_JSON json_t *json = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(json, "type"));
    if (type)
        live_message(c->live, &c->subscriber, type, json);
    else
        send_error(&c->subscriber, "bad_message", "Messages are JSON objects with a \"type\".");
}

static void on_drained(struct ws *w)
{
    struct live_client *c = w->owner;
    hub_drained(&c->subscriber);
}

static void on_revoked(struct ws *w, const char *why)
{
    struct live_client *c = w->owner;
    live_revoked(&c->subscriber, why);
    ws_revoke(w, why);
}

static void on_closed(struct ws *w)
{
    struct live_client *c = w->owner;
    hub_leave(&c->subscriber);
    free(c);
}

static const struct ws_ops ws_ops = {.message = on_message, .drained = on_drained, .revoked = on_revoked, .closed = on_closed};

/* ?events=gpu_stats,alert&interval_seconds=10: for clients that only listen. */
static bool read_query(struct exchange *x, struct subscriber *s)
{
    char text[512];
    if (http_query(x->request, "events", text, sizeof text)) {
        struct str rest = str_from(text), name;
        enum topic topic;
        s->topics = TOPICS_ALWAYS;
        while (str_cut(&rest, ',', &name)) {
            if (!topic_from_name(str_trim(name), &topic)) {
                exchange_error(x, 400, "bad_parameter", "There is no event '" STR_FMT "'.", STR_ARG(name));
                return false;
            }
            s->topics |= 1u << topic;
        }
    }
    double seconds;
    if (http_query(x->request, "interval_seconds", text, sizeof text) && str_to_double(str_from(text), &seconds)) {
        s->interval_ms = (int64_t)(seconds * 1000);
        s->due_ms = loop_now_ms();
    }
    return true;
}

void live_websocket(struct broadcast *l, struct exchange *x)
{
    struct live_client *c = calloc(1, sizeof *c);
    if (!c)
        return;
    c->live = l;
    c->subscriber = (struct subscriber){.ops = &client_ops, .language = LANGUAGE_WS, .topics = TOPICS_ALL};
    if (read_query(x, &c->subscriber))
        c->ws = ws_accept(x, &ws_ops, c);
    if (!c->ws) {
        free(c);
        return;
    }
    live_arrived(l, &c->subscriber);
}
