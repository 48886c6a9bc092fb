/* SPDX-License-Identifier: Apache-2.0
 * Arrival, requests and samples of live clients, and the plain WebSocket among them.
 */
#include "serve/live/live.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/exchange.h"
#include "serve/api/core.h"
#include "serve/api/ready.h"
#include "serve/live/compose.h"
#include "serve/live/ws.h"

enum { DATA_MAX = 64 << 20, QUEUE_MAX = 8 << 20, UNREAD_MAX = 256 * 1024 };

void live_publish(struct server *server)
{
    struct hub *h = &server->hub;
    h->sample_interval_ms = server->options.interval_ms;
    if (h->count > 0)
        engine_look(server->data.engine);
    struct batch *b = batch_new(h->batch ? h->batch->number + 1 : 1);
    if (!b)
        return;
    /* Composed even without clients: a rise of usage that nobody saw is not told to the next one who comes. */
    compose_sample(b, server->data.periodic, data_why(&server->data), &server->usage, server->options.high_usage_percent);
    hub_publish(h, b);
}

void live_arrived(struct server *server, struct subscriber *s)
{
    hub_join(&server->hub, s);
    AUTO_BUF struct buf data = BUF(DATA_MAX);
    if (!server->status || server->status_sequence != server->data.latest->sequence) {
        struct json_writer j = JSON_WRITER(&data);
        compose_status(&j, server->data.latest, data_why(&server->data), server->options.interval_ms);
        blob_unref(server->status);
        server->status = blob_take(&data);
        server->status_sequence = server->data.latest->sequence;
    }
    if (server->status)
        hub_tell(s, TOPIC_STATUS, (struct str){server->status->at, server->status->len});
}

static void tell_error(struct subscriber *s, const char *code, const char *message)
{
    AUTO_BUF struct buf data = BUF(1024);
    struct json_writer j = JSON_WRITER(&data);
    jw_object(&j);
    jw_key_text(&j, "code", code);
    jw_key_text(&j, "message", message);
    jw_end(&j);
    hub_tell(s, TOPIC_ERROR, buf_view(&data));
}

static void send_update(struct server *server, struct subscriber *s)
{
    if (s->ops->queued(s) > UNREAD_MAX)
        return; /* it does not read what it gets: asking again makes nothing newer */
    struct blob *summary = data_body(&server->data, BODY_SUMMARY);
    if (summary)
        hub_tell(s, TOPIC_STATUS_UPDATE, str_trim((struct str){summary->at, summary->len}));
}

void live_update(struct server *server)
{
    if (!server->updates_wanted)
        return;
    server->updates_wanted = false;
    watch_off(server->updates_timer);
    for (struct subscriber *s = server->hub.first; s; s = s->next) {
        if (s->wants_update)
            send_update(server, s);
        s->wants_update = false;
    }
}

/* Asked on demand is sampled on demand, for all who ask at once together. */
static void request_update(struct server *server, struct subscriber *s)
{
    if (data_is_fresh(&server->data, GROUP_QUICK, server->options.max_age_ms)) {
        send_update(server, s);
        return;
    }
    s->wants_update = server->updates_wanted = true;
    if (!watch_is_on(server->updates_timer))
        watch_on(server->updates_timer, FRESH_WAIT_MS);
}

/* "events": the topics that it wants from now on; "interval_seconds": not more often than that. */
static void subscribe(struct subscriber *s, const json_t *json)
{
    const json_t *events = json_object_get(json, "events"), *interval = json_object_get(json, "interval_seconds");
    unsigned topics = s->topics;
    if (events) {
        topics = TOPICS_ALWAYS;
        if (!json_is_array(events) || json_array_size(events) > 64) {
            tell_error(s, "bad_message", "\"events\" must be a list of event names.");
            return;
        }
        for (size_t i = 0; i < json_array_size(events); i++) {
            const char *name = json_string_value(json_array_get(events, i));
            enum topic topic;
            if (!name || !topic_from_name(str_from(name), &topic)) {
                tell_error(s, "unknown_event", "There is no event of that name; /openapi.json lists them.");
                return;
            }
            topics |= 1u << topic;
        }
    }
    if (interval) {
        double seconds = json_number_value(interval);
        if (!json_is_number(interval) || !(seconds >= 0) || seconds > LIVE_INTERVAL_MAX_S) {
            tell_error(s, "bad_message", "\"interval_seconds\" must be a number from 0 (every sample) to 86400.");
            return;
        }
        s->interval_ms = (int64_t)(seconds * 1000);
        s->due_ms = loop_now_ms();
    }
    s->topics = topics;
}

void live_message(struct server *server, struct subscriber *s, const char *type, const json_t *json)
{
    if (strcmp(type, "request_gpu_update") == 0)
        request_update(server, s);
    else if (strcmp(type, "subscribe") == 0)
        subscribe(s, json);
    else
        tell_error(s, "unknown_type", "Clients may send \"request_gpu_update\" and \"subscribe\".");
}

/* ---- the plain WebSocket ---- */

struct live_client {
    struct subscriber subscriber; /* first */
    struct server *server;
    struct ws *ws;
};

static void client_send(struct subscriber *s, struct blob *bytes)
{
    struct live_client *c = (struct live_client *)s;
    ws_send_frames(c->ws, bytes);
    if (ws_queued(c->ws) > QUEUE_MAX) /* announcements pile up for one who never reads */
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
    json_t *json = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(json, "type"));
    if (type)
        live_message(c->server, &c->subscriber, type, json);
    else
        tell_error(&c->subscriber, "bad_message", "Messages are JSON objects with a \"type\".");
    json_decref(json);
}

static void on_drained(struct ws *w)
{
    struct live_client *c = w->owner;
    hub_drained(&c->subscriber);
}

static void on_closed(struct ws *w)
{
    struct live_client *c = w->owner;
    hub_leave(&c->subscriber);
    free(c);
}

static const struct ws_ops ws_ops = {.message = on_message, .drained = on_drained, .closed = on_closed};

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
    if (http_query(x->request, "interval_seconds", text, sizeof text)) {
        if (!str_to_double(str_from(text), &seconds) || seconds < 0 || seconds > LIVE_INTERVAL_MAX_S) {
            exchange_error(x, 400, "bad_parameter", "interval_seconds must be a number from 0 (every sample) to 86400.");
            return false;
        }
        s->interval_ms = (int64_t)(seconds * 1000);
        s->due_ms = loop_now_ms();
    }
    return true;
}

void get_ws(struct exchange *x)
{
    struct live_client *c = calloc(1, sizeof *c);
    if (!c)
        return;
    c->server = x->server;
    c->subscriber = (struct subscriber){.ops = &client_ops, .language = LANGUAGE_WS, .topics = TOPICS_ALL};
    if (read_query(x, &c->subscriber))
        c->ws = ws_accept(x, &ws_ops, c);
    if (!c->ws) {
        free(c);
        return;
    }
    live_arrived(x->server, &c->subscriber);
}
