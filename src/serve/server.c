/* SPDX-License-Identifier: Apache-2.0
 * The server's lifecycle: sockets, loop, reload, shutdown.
 */
#include "serve/server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "format/prometheus/prometheus.h"
#include "serve/api/assets.h"
#include "serve/api/core.h"
#include "store/service/service.h"

enum { STOP_MS = 1000, STOP_POLL_MS = 10 };

static void on_fresh(void *owner)
{
    struct server *s = owner;
    site_wake(&s->site);
    live_update(&s->live);
}

static void on_periodic(void *owner)
{
    struct server *s = owner;
    site_refresh_tokens(&s->site); /* even without requests: the log shows added and removed tokens */
    live_publish(&s->live);
    if (s->parts.sampled)
        s->parts.sampled(s->parts.user, s->data.periodic);
}

/* A monitor reports its own cost. */
static void write_own_cost(struct buf *out)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used))
        return;
    double seconds =
        (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    prometheus_plain(out, "process_cpu_seconds_total", "counter", "CPU time that whirr itself has used", seconds);
    prometheus_plain(out, "process_peak_resident_memory_bytes", "gauge", "Most memory that whirr itself has used",
                     (double)used.ru_maxrss * 1024);
}

static void on_prometheus(void *owner, struct buf *out)
{
    const struct server *s = owner;
    prometheus_plain(out, "whirr_http_requests_total", "counter", "Requests that were answered", (double)s->site.requests_total);
    prometheus_plain(out, "whirr_http_errors_total", "counter", "Answers that say that the service failed (500, 503, 504)",
                     (double)s->site.errors_total);
    prometheus_plain(out, "whirr_connections", "gauge", "Open connections of clients", (double)s->site.loop.conn_count);
    prometheus_plain(out, "whirr_connections_refused_total", "counter", "Connections that found no place",
                     (double)s->site.loop.rejected);
    prometheus_plain(out, "whirr_live_clients", "gauge", "WebSocket and Socket.IO clients", (double)s->live.hub.count);
    prometheus_plain(out, "whirr_live_samples_sent_total", "counter", "Samples sent to live clients",
                     (double)s->live.hub.samples_sent);
    prometheus_plain(out, "whirr_live_samples_missed_total", "counter", "Samples that slow clients skipped",
                     (double)s->live.hub.samples_missed);
    prometheus_plain(out, "whirr_sent_bytes_total", "counter", "Bytes sent to clients", (double)s->site.loop.bytes_out);
    write_own_cost(out);
}

/* ---- start ---- */

/* Applies the options that can change while running. */
static void take_options(struct server *s, const struct server_options *o)
{
    s->options = *o;
    s->live.interval_ms = o->interval_ms;
    s->live.max_age_ms = o->max_age_ms;
    s->live.high_usage_percent = o->high_usage_percent;
    s->data.fleet = o->fleet;
}

static int start(struct server *s, struct error *err)
{
    const struct server_options *o = &s->options;
    struct loop *loop = &s->site.loop;
    int result = site_init(&s->site, &o->site, &server_site_ops, s, err);
    if (!result)
        result = data_init(&s->data, loop, o->engine, err);
    if (result)
        return result;
    s->data.parts = &s->parts;
    s->data.owner = s;
    s->data.on_fresh = on_fresh;
    s->data.on_periodic = on_periodic;
    s->data.add_series = on_prometheus;
    s->data.metrics = &s->options.metrics;
    s->data.fleet = o->fleet;
    s->data.dashboard = asset_find("/web/app.js") ? asset_version() : NULL;
    if (live_init(&s->live, loop, &s->data, s->site.options.connections_max) || errand_init(&s->release.errand, &releasing, loop) ||
        errand_init(&s->cpu_samples.errand, &sampling_cpu, loop) || errand_init(&s->lines.errand, &looking_at_lines, loop) ||
        errand_init(&s->setting.errand, &changing_setting, loop) || history_init(&s->history, loop))
        return error_set(err, -ENOMEM, "out of memory");
    return site_listen(&s->site, err);
}

int server_new(const struct server_options *options, const struct server_parts *parts, struct server **ret, struct error *err)
{
    struct server *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    if (parts)
        s->parts = *parts;
    s->started = clock_mono(&clock_system);
    take_options(s, options);
    int result = start(s, err);
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
    return add_watch(s, watch_signal(s->site.loop.base, signal_number, callback, user), WATCH_NO_TIMEOUT);
}

int server_on_readable(struct server *s, int fd, void (*callback)(void *user), void *user)
{
    return add_watch(s, watch_readable(s->site.loop.base, fd, callback, user), WATCH_NO_TIMEOUT);
}

void server_announce(struct server *s, enum topic topic, struct str data)
{
    hub_announce(&s->live.hub, topic, data);
}

struct data *server_data(struct server *s)
{
    return &s->data;
}

int server_on_timer(struct server *s, int64_t every_ms, void (*callback)(void *user), void *user)
{
    return add_watch(s, watch_ticker(s->site.loop.base, callback, user), every_ms);
}

/* ---- shutdown ---- */

static void on_stop_timer(void *arg)
{
    struct server *s = arg;
    if (s->site.loop.conn_count == 0 || loop_now_ms() >= s->stop_at_ms)
        watch_base_stop(s->site.loop.base);
}

void server_stop(struct server *s)
{
    if (s->site.stopping)
        return;
    live_stop(&s->live, &s->site.loop);
    site_stop(&s->site);
    if (s->parts.store)
        store_service_end_questions(s->parts.store);
    s->stop_at_ms = loop_now_ms() + STOP_MS;
    s->stop_timer = watch_ticker(s->site.loop.base, on_stop_timer, s);
    if (!s->stop_timer || !watch_on(s->stop_timer, STOP_POLL_MS))
        watch_base_stop(s->site.loop.base);
}

void server_run(struct server *s)
{
    watch_base_run(s->site.loop.base);
}

void server_end_work(struct server *s)
{
    if (!s)
        return;
    errand_end(&s->release.errand);
    errand_end(&s->cpu_samples.errand);
    lines_errand_end(&s->lines);
    errand_end(&s->setting.errand);
}

void server_free(struct server *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->watch_count; i++)
        watch_free(s->watches[i]);
    watch_free(s->stop_timer);
    data_done(&s->data);
    site_close_connections(&s->site); /* clients must leave the hub before it is freed */
    live_done(&s->live);
    errand_done(&s->release.errand);
    errand_done(&s->cpu_samples.errand);
    errand_done(&s->lines.errand);
    errand_done(&s->setting.errand);
    history_done(&s->history);
    site_done(&s->site);
    blob_unref(s->openapi);
    json_decref(s->parameters);
    mailbox_free(s->data.periodic_box);
    mailbox_free(s->data.fresh_box);
    free(s);
}

int server_reload(struct server *s, const struct server_options *options, struct error *err)
{
    take_options(s, options);
    return site_reload(&s->site, &options->site, err);
}

const char *server_address(const struct server *s, size_t which)
{
    return which < s->site.listener_count ? s->site.listeners[which].name : NULL;
}

size_t server_clients(const struct server *s)
{
    return s->site.loop.conn_count;
}
