/* SPDX-License-Identifier: Apache-2.0
 * Life of the server: sockets, loop, reload, the end.
 */
#include "serve/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "format/prometheus/prometheus.h"
#include "http/http.h"
#include "http/tls.h"
#include "serve/api/core.h"
#include "serve/live/live.h"
#include "serve/live/socketio.h"
#include "serve/live/ws.h"

enum {
    CONNECTIONS_MAX = 16384,
    SPARE_DESCRIPTORS = 256,
    MAX_AGE_MS = 250,
    HIGH_USAGE_PERCENT = 50,
    STOP_MS = 1000,
    STOP_LOOK_MS = 10
};

/* ---- requests that wait for a sample ---- */

void server_add_waiter(struct server *s, struct conn *c, int64_t wait_ms)
{
    struct http_client *h = c->state;
    h->waiting = true;
    h->prev_waiter = NULL;
    h->next_waiter = s->waiters;
    if (s->waiters)
        http_client_of(s->waiters)->prev_waiter = c;
    s->waiters = c;
    h->wait_until_ms = loop_now_ms() + wait_ms;
    if (!watch_is_on(s->waiters_timer))
        watch_on(s->waiters_timer, wait_ms);
}

static void on_fresh(void *owner)
{
    struct server *s = owner;
    watch_off(s->waiters_timer);
    while (s->waiters)
        http_unpark(s->waiters); /* leaves the list */
    live_update(s);
}

static void on_updates_timer(void *arg)
{
    live_update(arg);
}

static void on_waiters_timer(void *arg)
{
    struct server *s = arg;
    int64_t now = loop_now_ms(), next = INT64_MAX;
    for (struct conn *c = s->waiters, *following; c; c = following) {
        const struct http_client *h = http_client_of(c);
        following = h->next_waiter;
        if (h->wait_until_ms <= now)
            http_unpark(c);
        else
            next = MIN_OF(next, h->wait_until_ms - now);
    }
    if (next != INT64_MAX)
        watch_on(s->waiters_timer, next);
}

static void on_periodic(void *owner)
{
    struct server *s = owner;
    live_publish(s);
    if (s->parts.sampled)
        s->parts.sampled(s->parts.user, s->data.periodic);
}

static void add_series(struct buf *out, const char *name, const char *type, const char *help, uint64_t value)
{
    prometheus_head(out, name, type, help);
    buf_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

/* A monitor says what it costs itself. */
static void own_cost(struct buf *out)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used))
        return;
    double seconds =
        (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    prometheus_head(out, "process_cpu_seconds_total", "counter", "CPU time that whirr itself has used");
    buf_text(out, "process_cpu_seconds_total");
    prometheus_value(out, seconds);
    add_series(out, "process_peak_resident_memory_bytes", "gauge", "Most memory that whirr itself has used",
               (uint64_t)used.ru_maxrss * 1024);
}

static void on_prometheus(void *owner, struct buf *out)
{
    const struct server *s = owner;
    add_series(out, "whirr_http_requests_total", "counter", "Requests that were answered", s->requests_total);
    add_series(out, "whirr_http_errors_total", "counter", "Answers that say that the service failed (500, 503, 504)",
               s->errors_total);
    add_series(out, "whirr_connections", "gauge", "Open connections of clients", s->loop.conn_count);
    add_series(out, "whirr_connections_refused_total", "counter", "Connections that found no place", s->loop.rejected);
    add_series(out, "whirr_live_clients", "gauge", "WebSocket and Socket.IO clients", s->hub.count);
    add_series(out, "whirr_live_samples_sent_total", "counter", "Samples sent to live clients", s->hub.samples_sent);
    add_series(out, "whirr_live_samples_missed_total", "counter", "Samples that slow clients skipped", s->hub.samples_missed);
    add_series(out, "whirr_sent_bytes_total", "counter", "Bytes sent to clients", s->loop.bytes_out);
    own_cost(out);
}

/* ---- start ---- */

static void on_arrived(struct listener *l, struct conn *c)
{
    http_begin(server_of(l), c);
}

static int start_listener(struct server *s, struct listener *l, struct error *err)
{
    l->owner = s;
    l->arrived = on_arrived;
    l->connections_max = s->options.connections_max;
    l->tls = l->is_unix ? NULL : s->tls;
    return listener_start(l, &s->loop, err);
}

static int open_listeners(struct server *s, struct error *err)
{
    const struct server_options *o = &s->options;
    for (size_t i = 0; i < o->listen_count; i++) {
        struct listener *l = &s->listeners[s->listener_count];
        int loopback = listen_address_is_loopback(o->listen[i]);
        if (loopback == 0 && !o->insecure && s->tokens.count == 0)
            return error_set(err, -EPERM,
                             "%s can be reached by others: make a token first (whirr token new), or allow everyone with --insecure",
                             o->listen[i]);
        int result = listener_open_tcp(o->listen[i], l, err);
        if (result)
            return result;
        s->listener_count++;
        if ((result = start_listener(s, l, err)))
            return result;
    }
    if (o->socket_path) {
        struct listener *l = &s->listeners[s->listener_count];
        /* Everybody on the host may ask what everybody may see; what acts looks at who is on the other end. */
        int result = listener_open_unix(o->socket_path, 0666, l, err);
        if (result)
            return result;
        s->listener_count++;
        if ((result = start_listener(s, l, err)))
            return result;
    }
    return 0;
}

/* 10,000 clients need 10,000 descriptors; the soft limit of a shell is 1,024. */
static void raise_descriptor_limit(struct server_options *o)
{
    size_t want = o->connections_max + SPARE_DESCRIPTORS, have = descriptors_raise(want);
    if (have && have < want)
        o->connections_max = have > 2 * SPARE_DESCRIPTORS ? have - SPARE_DESCRIPTORS : have / 2;
}

static void set_defaults(struct server_options *o)
{
    if (!o->connections_max)
        o->connections_max = CONNECTIONS_MAX;
}

/* One file may hold both. */
static const char *tls_key(const struct server_options *o)
{
    return o->tls_key ? o->tls_key : o->tls_certificate;
}

int server_new(const struct server_options *options, const struct server_parts *parts, struct server **ret, struct error *err)
{
    struct server *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->options = *options;
    if (parts)
        s->parts = *parts;
    s->started = clock_mono(&clock_system);
    gethostname(s->own_name, sizeof s->own_name - 1);
    set_defaults(&s->options);
    raise_descriptor_limit(&s->options);
    signal(SIGPIPE, SIG_IGN);
    int result = loop_init(&s->loop, err);
    if (!result)
        result = data_init(&s->data, &s->loop, options->engine, err);
    s->data.parts = &s->parts;
    if (!result && (hub_init(&s->hub, &s->loop) || eio_init(&s->eio, &s->loop, &socketio_ops, s->options.connections_max)))
        result = error_set(err, -ENOMEM, "out of memory");
    if (!result && (release_init(&s->release, &s->loop, &s->data) || history_init(&s->history, &s->loop)))
        result = error_set(err, -ENOMEM, "out of memory");
    if (!result)
        result = token_file_load(&s->tokens, options->token_file, err);
    if (!result && options->tls_certificate)
        result = tls_new(options->tls_certificate, tls_key(options), &s->tls, err);
    if (!result) {
        s->data.owner = s->eio.owner = s;
        s->data.on_fresh = on_fresh;
        s->data.add_series = on_prometheus;
        s->data.metrics = &s->options.metrics;
        s->data.fleet = s->options.fleet;
        s->data.on_periodic = on_periodic;
        s->waiters_timer = watch_timer(s->loop.base, on_waiters_timer, s);
        s->updates_timer = watch_timer(s->loop.base, on_updates_timer, s);
        result = s->waiters_timer && s->updates_timer ? open_listeners(s, err) : error_set(err, -ENOMEM, "out of memory");
    }
    if (result)
        server_free(s);
    else
        *ret = s;
    return result;
}

/* ---- signals and timers ---- */

static int add_watch(struct server *s, struct watch *w, int64_t timeout_ms)
{
    if (!w || s->watch_count == SERVER_WATCHES_MAX || !watch_on(w, timeout_ms)) {
        watch_free(w);
        return -ENOMEM;
    }
    s->watches[s->watch_count++] = w;
    return 0;
}

int server_on_signal(struct server *s, int signal_number, void (*callback)(void *user), void *user)
{
    return add_watch(s, watch_signal(s->loop.base, signal_number, callback, user), WATCH_NO_TIMEOUT);
}

int server_on_readable(struct server *s, int fd, void (*callback)(void *user), void *user)
{
    return add_watch(s, watch_readable(s->loop.base, fd, callback, user), WATCH_NO_TIMEOUT);
}

void server_announce(struct server *s, enum topic topic, struct str data)
{
    hub_announce(&s->hub, topic, data);
}

const struct why *server_why(struct server *s)
{
    return s->data.has_sample ? data_why(&s->data) : NULL;
}

void server_set_rests(struct server *s, const struct idle_facts *rests, size_t count)
{
    data_set_rests(&s->data, rests, count);
}

struct str server_metrics_text(struct server *s)
{
    const struct blob *text = data_body(&s->data, BODY_PROMETHEUS);
    return text ? (struct str){text->at, text->len} : (struct str){0};
}

void server_set_usual(struct server *s, const struct baselines *usual)
{
    data_set_usual(&s->data, usual);
}

int server_on_timer(struct server *s, int64_t every_ms, void (*callback)(void *user), void *user)
{
    return add_watch(s, watch_ticker(s->loop.base, callback, user), every_ms);
}

/* ---- the end ---- */

static void on_stop_timer(void *arg)
{
    struct server *s = arg;
    if (s->loop.conn_count == 0 || loop_now_ms() >= s->stop_at_ms)
        watch_base_stop(s->loop.base);
}

static void close_listeners(struct server *s)
{
    for (size_t i = 0; i < s->listener_count; i++)
        listener_close(&s->listeners[i]);
}

void server_stop(struct server *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    close_listeners(s);
    eio_stop(&s->eio);
    on_fresh(s); /* whoever waits gets what there is */
    if (s->parts.store)
        store_service_end_questions(s->parts.store);
    for (struct conn *c = s->loop.conns; c; c = c->next) {
        if (c->protocol == &ws_protocol)
            ws_close(c->state, WS_GOING_AWAY, "the server stops");
        else if (c->protocol == &http_protocol && !http_client_of(c)->partial && !c->resuming && !c->kept_len)
            conn_finish(c, false);
    }
    s->stop_at_ms = loop_now_ms() + STOP_MS;
    s->stop_timer = watch_ticker(s->loop.base, on_stop_timer, s);
    if (!s->stop_timer || !watch_on(s->stop_timer, STOP_LOOK_MS))
        watch_base_stop(s->loop.base);
}

void server_run(struct server *s)
{
    watch_base_run(s->loop.base);
}

void server_end_work(struct server *s)
{
    if (s)
        release_end(&s->release);
}

void server_free(struct server *s)
{
    if (!s)
        return;
    close_listeners(s);
    if (s->loop.base) {
        for (size_t i = 0; i < s->watch_count; i++)
            watch_free(s->watches[i]);
        watch_free(s->stop_timer);
        watch_free(s->waiters_timer);
        watch_free(s->updates_timer);
        data_done(&s->data);
    }
    if (s->loop.base) {
        for (struct conn *c = s->loop.conns; c; c = c->next)
            conn_close(c);
        loop_free_closed(&s->loop); /* the clients leave the hub before it goes */
        eio_done(&s->eio);
        release_done(&s->release);
        history_done(&s->history);
        hub_done(&s->hub);
    }
    loop_done(&s->loop);
    blob_unref(s->status);
    blob_unref(s->openapi);
    mailbox_free(s->data.periodic_box);
    mailbox_free(s->data.fresh_box);
    tls_free(s->tls);
    free(s);
}

int server_reload(struct server *s, const struct server_options *options, struct error *err)
{
    /* Sockets stay as they are: the caller compares and says what needs a restart. */
    struct server_options fresh = *options;
    set_defaults(&fresh);
    s->options.interval_ms = fresh.interval_ms;
    s->options.max_age_ms = fresh.max_age_ms;
    s->options.high_usage_percent = fresh.high_usage_percent;
    s->options.price_per_kwh = fresh.price_per_kwh;
    s->options.metrics = fresh.metrics;
    s->options.require_token = fresh.require_token;
    s->options.fleet = s->data.fleet = fresh.fleet;
    memcpy(s->options.currency, fresh.currency, sizeof s->options.currency);
    s->options.allowed_host_count = fresh.allowed_host_count;
    s->options.cors_origin_count = fresh.cors_origin_count;
    for (size_t i = 0; i < SERVER_NAMES_MAX; i++) {
        s->options.allowed_hosts[i] = fresh.allowed_hosts[i];
        s->options.cors_origins[i] = fresh.cors_origins[i];
    }
    token_file_refresh(&s->tokens);
    return s->tls && fresh.tls_certificate ? tls_reload(s->tls, fresh.tls_certificate, tls_key(&fresh), err) : 0;
}

const char *server_address(const struct server *s, size_t which)
{
    return which < s->listener_count ? s->listeners[which].name : NULL;
}

size_t server_clients(const struct server *s)
{
    return s->loop.conn_count;
}
