/* SPDX-License-Identifier: Apache-2.0
 * Keeps the newest snapshot and the bodies made from it; reads requests for parts of the daemon.
 */
#include "serve/data/data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/prometheus/prometheus.h"
#include "format/record.h"
#include "format/table/table.h"
#include "http/exchange.h"
#include "remedy/effect.h"
#include "serve/data/page.h"
#include "serve/data/part.h"

enum { PERIODIC_BOX = 4, FRESH_BOX = 8, SERIES_MS = 5000 };

static void drop_snapshot(void *item)
{
    snapshot_unref(item);
}

static void forget_bodies(struct data *d)
{
    for (int i = 0; i < BODY_COUNT; i++)
        blob_unref(TAKE(d->bodies[i]));
    why_free(TAKE(d->why));
}

static void set_latest(struct data *d, const struct snapshot *s)
{
    if (d->has_sample && s->sequence <= d->latest->sequence)
        return;
    snapshot_unref(d->latest);
    d->latest = snapshot_ref(s);
    d->has_sample = true;
    forget_bodies(d);
}

static void on_periodic(void *arg)
{
    struct data *d = arg;
    const struct snapshot *s = mailbox_take(d->periodic_box, 0);
    if (!s)
        return;
    bool first = !d->has_sample;
    snapshot_unref(d->periodic);
    d->periodic = s;
    set_latest(d, s);
    d->on_periodic(d->owner);
    if (first) /* wake the requests that wait for any sample */
        d->on_fresh(d->owner);
}

static void on_fresh(void *arg)
{
    struct data *d = arg;
    AUTO_SNAPSHOT const struct snapshot *s = mailbox_take(d->fresh_box, 0);
    if (!s)
        return;
    d->asked = false;
    set_latest(d, s);
    d->on_fresh(d->owner);
}

int data_init(struct data *d, struct loop *loop, struct engine *engine, struct error *err)
{
    *d = (struct data){.engine = engine};
    struct snapshot *empty = snapshot_new(0);
    d->periodic_box = mailbox_new(PERIODIC_BOX, drop_snapshot);
    d->fresh_box = mailbox_new(FRESH_BOX, drop_snapshot);
    d->latest = empty;
    if (!empty || !d->periodic_box || !d->fresh_box)
        goto fail;
    env_host_name(empty->host.name, sizeof empty->host.name);
    str_copy(empty->driver.error_message, sizeof empty->driver.error_message, STR(DATA_STARTING));
    empty->taken_at = clock_wall(&clock_system);
    empty->taken = clock_mono(&clock_system);
    d->periodic_watch = watch_readable(loop->base, mailbox_fd(d->periodic_box), on_periodic, d);
    d->fresh_watch = watch_readable(loop->base, mailbox_fd(d->fresh_box), on_fresh, d);
    if (!d->periodic_watch || !d->fresh_watch || !watch_on(d->periodic_watch, WATCH_NO_TIMEOUT) ||
        !watch_on(d->fresh_watch, WATCH_NO_TIMEOUT))
        goto fail;
    if (engine_subscribe(engine, d->periodic_box))
        goto fail;
    return 0;
fail:
    data_done(d);
    return error_set(err, -ENOMEM, "cannot follow the samples");
}

void data_done(struct data *d)
{
    forget_bodies(d);
    watch_free(d->periodic_watch);
    watch_free(d->fresh_watch);
    snapshot_unref(d->latest);
    snapshot_unref(d->periodic);
    /* The engine may still use the mailboxes: server_free() frees them later. */
    d->latest = d->periodic = NULL;
    d->periodic_watch = d->fresh_watch = NULL;
}

int64_t data_age_ms(const struct data *d)
{
    return MAX_OF((int64_t)0, mono_since_ms(clock_mono(&clock_system), d->latest->taken));
}

bool data_is_fresh(struct data *d, unsigned groups, int64_t max_age_ms)
{
    if (d->has_sample && (d->latest->groups & groups) == groups && data_age_ms(d) <= max_age_ms)
        return true;
    if (!d->asked) {
        d->asked = true;
        engine_request(d->engine, groups, max_age_ms, d->fresh_box);
    }
    return false;
}

void data_refresh(struct data *d)
{
    d->asked = true;
    engine_request(d->engine, 0, -1, d->fresh_box);
}

void data_set_idle_facts(struct data *d, const struct idle_facts *idle_facts, size_t count)
{
    d->idle_facts = idle_facts;
    d->idle_facts_count = count;
    forget_bodies(d);
}

void data_set_effects(struct data *d, const struct effects *effects)
{
    d->effects = effects;
    forget_bodies(d);
}

void data_forget_why(struct data *d)
{
    forget_bodies(d);
}

const struct why *data_why(struct data *d)
{
    if (!d->why)
        d->why = engine_why(d->engine, d->latest);
    if (d->why && d->idle_facts && d->idle_facts_count == d->why->gpu_count && why_wants_audit(d->why))
        why_audit(d->why, d->latest, d->idle_facts);
    if (d->why && d->effects)
        effects_expect_all(d->effects, d->latest, d->why);
    if (d->why && !d->has_sample) { /* no sample yet: "no GPU" would be a guess */
        d->why->machine = (struct why_part){.gpu_index = -1};
        d->why->verdict->count = 0;
        str_copy(d->why->answer, sizeof d->why->answer, STR(DATA_STARTING));
    }
    return d->why;
}

static void write_processes(struct json_writer *j, const struct snapshot *s)
{
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    if (process_rows_init(&rows, s, &(struct process_filter){.only = ALL_GPUS}))
        j->out->failed = true;
    else
        json_processes(j, s, &rows);
}

/* The time this takes is itself a series: the cost of a scrape. */
static void write_prometheus(struct data *d, struct buf *out)
{
    struct mono start = d->series_written = clock_mono(&clock_system);
    struct prometheus_extra extra = {.own_pid = getpid(), .options = d->metrics};
    const struct server_parts *parts = d->parts;
    for (size_t i = 0; parts && i < parts->count; i++)
        if (parts->list[i].ops->counts)
            parts->list[i].ops->counts(parts->list[i].self, d->latest, &extra);
    prometheus_write(out, d->latest, &extra);
    if (d->add_series)
        d->add_series(d->owner, out);
    for (size_t i = 0; parts && i < parts->count; i++)
        if (parts->list[i].ops->metrics)
            parts->list[i].ops->metrics(parts->list[i].self, d->latest, out);
    prometheus_plain(out, "whirr_metrics_duration_seconds", "gauge", "Time that it took to write these series",
                     (double)(clock_mono(&clock_system).ns - start.ns) / NS_PER_S);
    prometheus_plain(out, "whirr_time_seconds", "gauge", "The host's clock, to be compared with that of a scrape",
                     (double)clock_wall(&clock_system).ms / MS_PER_S);
    prometheus_add_labels(out, d->latest->host.name, d->metrics);
}

/* A part's response to a GET without parameters; null if there is none. */
static void part_body(const struct data *d, const char *path, struct buf *out)
{
    const struct part_request r = {.latest = d->latest};
    for (size_t i = 0; d->parts && i < d->parts->count; i++) {
        const struct part *part = &d->parts->list[i];
        for (size_t k = 0; k < part->ops->route_count; k++) {
            const struct route *route = &part->ops->routes[k];
            if ((route->methods & HTTP_GET) && strcmp(route->path, path) == 0 && route->answer(part->self, &r, out) != 200)
                out->len = 0;
        }
    }
    if (out->len == 0)
        buf_text(out, "null");
}

/* The page shows times in the host's zone, as its sentences do: the browser's may differ. */
static long utc_offset_minutes(struct wall at)
{
    time_t seconds = (time_t)(at.ms / MS_PER_S);
    struct tm tm = {0};
    return localtime_r(&seconds, &tm) ? (long)(timegm(&tm) - seconds) / 60 : 0;
}

/* Everything on the first screen, except the last hour, which needs a history query. */
static void write_dashboard(struct data *d, const struct why *why, struct buf *out)
{
    const struct blob *metrics = data_body(d, BODY_METRICS), *reasons = data_body(d, BODY_WHY);
    AUTO_BUF struct buf health = BUF(JSON_BODY_MAX), forecast = BUF(JSON_BODY_MAX);
    part_body(d, "/api/gpu/health", &health);
    part_body(d, "/api/forecast", &forecast);
    if (!metrics || !reasons || health.failed || forecast.failed) {
        out->failed = true;
        return;
    }
    char offset[16];
    snprintf(offset, sizeof offset, "%ld", utc_offset_minutes(d->latest->taken_at));
    const struct page_data first[] = {{"first-metrics", {metrics->at, metrics->len}},
                                      {"first-why", {reasons->at, reasons->len}},
                                      {"first-health", buf_view(&health)},
                                      {"first-forecast", buf_view(&forecast)},
                                      {"first-fleet", d->fleet ? STR("true") : STR("false")},
                                      {"first-utc-offset", str_from(offset)}};
    page_write_dashboard(out, d->latest, why, first, ARRAY_LEN(first), d->parts && d->parts->store, d->dashboard);
}

static void write_body(struct data *d, enum body_kind kind, struct buf *out)
{
    const struct snapshot *s = d->latest;
    const struct why *why =
        kind == BODY_WHY || kind == BODY_SUMMARY || kind == BODY_PAGE || kind == BODY_DASHBOARD ? data_why(d) : NULL;
    struct json_writer j = JSON_WRITER(out);
    switch (kind) {
    case BODY_DEVICES: json_devices(&j, s, ALL_GPUS); break;
    case BODY_DRIVER: json_driver(&j, s); break;
    case BODY_SUMMARY: json_summary(&j, s, why); break;
    case BODY_METRICS: json_metrics(&j, s, ALL_GPUS); break;
    case BODY_STATS: json_stats(&j, s, ALL_GPUS); break;
    case BODY_RESOURCES: json_resources(&j, s, &s->host); break;
    case BODY_PROCESSES: write_processes(&j, s); break;
    case BODY_WHY:
        if (why)
            json_why(&j, s, why, ALL_GPUS);
        else
            out->failed = true;
        break;
    case BODY_PROMETHEUS: write_prometheus(d, out); return;
    case BODY_OPENMETRICS: {
        struct blob *text = data_body(d, BODY_PROMETHEUS);
        if (text)
            openmetrics_from_prometheus((struct str){text->at, text->len}, out);
        else
            out->failed = true;
        return;
    }
    case BODY_PAGE: page_write(out, s, why, d->dashboard); return;
    case BODY_DASHBOARD: write_dashboard(d, why, out); return;
    case BODY_SNAPSHOT: record_one(out, s, NULL); return;
    case BODY_COUNT: break;
    }
    buf_char(out, '\n');
}

struct blob *data_body(struct data *d, enum body_kind kind)
{
    /* A scrape doesn't count as a reader: it would keep GPUs from sleeping forever. */
    if (kind != BODY_PROMETHEUS && kind != BODY_OPENMETRICS)
        engine_keep_fresh(d->engine);
    else if (mono_since_ms(clock_mono(&clock_system), d->series_written) >=
             SERIES_MS) { /* the series contain the time: rewrite them */
        blob_unref(TAKE(d->bodies[BODY_PROMETHEUS]));
        blob_unref(TAKE(d->bodies[BODY_OPENMETRICS]));
    }
    if (!d->bodies[kind]) {
        AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
        write_body(d, kind, &out);
        d->bodies[kind] = blob_take(&out);
    }
    return d->bodies[kind];
}

/* ---- requests to parts of the daemon ---- */

bool part_query(const struct part_request *r, const char *key, char *value, size_t size)
{
    return r->http && http_query(r->http, key, value, size);
}

int part_error(struct buf *out, int status, const char *code, const char *message)
{
    http_error_body(out, code, message);
    return status;
}

int part_which_gpu(const struct part_request *r, const struct snapshot *s, int *ret, struct buf *out)
{
    char which[GPU_UUID_SIZE];
    *ret = ALL_GPUS;
    if (!part_query(r, "gpu", which, sizeof which) && !part_query(r, "gpu_index", which, sizeof which))
        return 200;
    *ret = s ? snapshot_find_gpu(s, which) : -1;
    return *ret >= 0 ? 200 : part_error(out, 404, "no_such_gpu", "No such GPU.");
}
