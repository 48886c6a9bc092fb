/* SPDX-License-Identifier: Apache-2.0
 * Letting go of the driver on request.
 */
#include "serve/api/release.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "engine/engine.h"
#include "format/json/json.h"
#include "http/http.h"
#include "serve/api/core.h"

enum { TIMEOUT_MS = 5000, DEFAULT_S = 300, CLAIM_MAX_S = 86400 };

static void *run(void *argument)
{
    struct release *r = argument;
    r->result = engine_release(r->data->engine, r->for_ms, TIMEOUT_MS);
    mailbox_put(r->done, r);
    return NULL;
}

/* The answer was given, or its client has gone before it could be. */
static void release_forget(void *release)
{
    ((struct release *)release)->finished = false;
}

static void on_done(void *arg)
{
    struct release *r = arg;
    if (!mailbox_take(r->done, 0))
        return;
    pthread_join(r->thread, NULL);
    r->running = false;
    log_info(r->for_ms ? "driver released on request" : "driver in use again on request", LOG_INT("for_seconds", r->for_ms / 1000));
    data_refresh(r->data); /* so that all clients see it */
    struct conn *c = TAKE(r->conn);
    struct http_client *client = c ? http_client_of(c) : NULL;
    if (!client)
        return;
    r->finished = true;
    client->answer = r;
    client->drop_answer = release_forget;
    http_unpark(c);
}

int release_init(struct release *r, struct loop *loop, struct data *data)
{
    *r = (struct release){.data = data, .done = mailbox_new(1, NULL)};
    if (!r->done)
        return -ENOMEM;
    r->watch = watch_readable(loop->base, mailbox_fd(r->done), on_done, r);
    return r->watch && watch_on(r->watch, WATCH_NO_TIMEOUT) ? 0 : -ENOMEM;
}

void release_end(struct release *r)
{
    if (r->running)
        pthread_join(r->thread, NULL);
    r->running = false;
}

void release_done(struct release *r)
{
    watch_free(r->watch);
    mailbox_free(r->done);
}

static void reply(struct exchange *x, const struct release *r)
{
    bool in_time = r->result == 0;
    AUTO_BUF struct buf out = BUF(1024);
    struct json_writer j = JSON_WRITER(&out);
    jw_object(&j);
    jw_key_bool(&j, "released", r->for_ms > 0 && in_time);
    jw_key_number(&j, "for_seconds", (double)r->for_ms / 1000);
    json_time(&j, "until", r->for_ms ? (struct wall){clock_wall(&clock_system).ms + r->for_ms} : (struct wall){0});
    jw_end(&j);
    buf_char(&out, '\n');
    exchange_json(x, in_time ? 200 : 202, &out);
}

/* {"for_seconds": 300}; an empty body means five minutes, 0 the end of a release. False: answered with 400. */
static bool read_duration(struct exchange *x, int64_t *ret_ms)
{
    double seconds = DEFAULT_S;
    struct str body = str_trim(x->body);
    if (body.len) {
        json_t *json = json_loadb(body.at, body.len, JSON_REJECT_DUPLICATES, NULL);
        const json_t *value = json_object_get(json, "for_seconds");
        bool fine = json_is_object(json) && (!value || json_is_number(value));
        if (value)
            seconds = json_number_value(value);
        json_decref(json);
        if (!fine || !(seconds >= 0 && seconds <= CLAIM_MAX_S)) {
            exchange_error(x, 400, "bad_body", "The body must be {\"for_seconds\": N} with N from 0 (take it back now) to %d.",
                           CLAIM_MAX_S);
            return false;
        }
    }
    *ret_ms = (int64_t)ceil(seconds * 1000);
    return true;
}

static void gone(struct conn *c, void *owner)
{
    struct release *r = owner;
    if (r->conn == c)
        r->conn = NULL;
}

void post_release(struct exchange *x)
{
    struct release *r = &x->server->release;
    struct http_client *h = x->conn->state;
    if (TAKE(h->answer)) {
        reply(x, r);
        release_forget(r);
        return;
    }
    int64_t for_ms;
    if (!read_duration(x, &for_ms))
        return;
    if (r->running || r->finished) {
        exchange_error(x, 409, "busy", "Another request to release the driver is under way.");
        return;
    }
    r->for_ms = for_ms;
    if (pthread_create(&r->thread, NULL, run, r)) {
        exchange_error(x, 500, "internal", "No thread could be started.");
        return;
    }
    r->running = true;
    r->conn = x->conn;
    exchange_park(x);
    h->parked_gone = gone;
    h->parked_owner = r;
}
