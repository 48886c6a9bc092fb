/* SPDX-License-Identifier: Apache-2.0
 * Health as a part of the daemon: judged with every sample, remembered over restarts, shown to clients, history and alerts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "config/places.h"
#include "daemon/health_watch.h"
#include "daemon/part.h"
#include "format/prometheus/prometheus.h"
#include "insight/detect/health_look.h"
#include "insight/judge/health_judge.h"
#include "serve/live/topic.h"

enum { SAVE_EVERY_MS = 300000, XID_RECENT_MS = 600000 };

struct health_part {
    struct health_watch *watch;
    const struct usual_part *usual;
    struct server *server;
    struct store_service *store; /* NULL: no history is kept */
    const struct snapshot *last; /* which GPUs there are, for ?gpu= */
    char path[PLACE_SIZE + 16];  /* "": what is known is not kept */
    struct wall saved_at;
    bool told_log, saving_fails;
};

static void *open_health(const struct part_host *host, struct error *ret)
{
    (void)ret;
    struct health_part *p = calloc(1, sizeof *p);
    struct error err = {0};
    char state[PLACE_SIZE];
    if (!p)
        return NULL;
    p->watch = health_watch_new(host->env);
    if (!p->watch) {
        free(p);
        return NULL;
    }
    health_watch_follow(p->watch, host->engine);
    if (place_state(state, &err) == 0)
        snprintf(p->path, sizeof p->path, "%s/health.json", state);
    else
        log_warn("health records of the GPUs will not survive a restart", LOG_TEXT("error", err.text));
    if (p->path[0] && health_watch_load(p->watch, p->path, &err) < 0 && err.code != -ENOENT)
        log_warn("cannot read the health records of the GPUs, starting over", LOG_TEXT("file", p->path),
                 LOG_TEXT("error", err.text));
    return p;
}

static int health_part_start(void *part, const struct part_host *host)
{
    struct health_part *p = part;
    p->usual = part_find(host, &usual_part_ops);
    p->server = host->server;
    p->store = host->store;
    return 0;
}

static void health_part_save(struct health_part *p, struct wall now)
{
    struct error err = {0};
    if (!p->path[0])
        return;
    int rc = health_watch_save(p->watch, p->path, &err);
    if (rc < 0 && !p->saving_fails)
        log_warn("health records of the GPUs will not survive a restart", LOG_TEXT("error", err.text));
    p->saving_fails = rc < 0;
    p->saved_at = now;
}

static void close_health(void *part)
{
    struct health_part *p = part;
    if (!p)
        return;
    if (health_watch_latest(p->watch))
        health_part_save(p, (struct wall){0});
    snapshot_unref(p->last);
    health_watch_free(p->watch);
    free(p);
}

/* ---- changes ---- */

static const char *severity(const struct health_verdict *v)
{
    return v->state >= HEALTH_FAILING ? "critical" : v->state == HEALTH_DEGRADED ? "warning" : "info";
}

static void log_change(const struct health_verdict *v)
{
    enum log_level level = v->state >= HEALTH_FAILING ? LOG_ERROR : v->state == HEALTH_DEGRADED ? LOG_WARNING : LOG_INFO;
    const struct log_field fields[] = {LOG_INT("gpu", v->gpu_index),
                                       LOG_TEXT("name", v->id.name),
                                       LOG_TEXT("health", health_state_name(v->state)),
                                       LOG_TEXT("before", health_state_name(v->before)),
                                       LOG_TEXT("reason", v->reason),
                                       {0}};
    log_write(level, "health of a GPU changed", fields);
}

static void tell_change(struct health_part *p, const struct health_verdict *v, struct wall at)
{
    AUTO_BUF struct buf data = BUF(8192);
    struct json_writer j = JSON_WRITER(&data);
    char text[HEALTH_TEXT_SIZE + 64];
    json_health_change(&j, v, at);
    if (data.failed)
        return;
    log_change(v);
    snprintf(text, sizeof text, "GPU %d is %s: %s", v->gpu_index, health_state_name(v->state), v->reason);
    if (p->server)
        server_announce(p->server, TOPIC_GPU_HEALTH, buf_view(&data));
    if (p->store)
        store_service_event(
            p->store,
            &(struct store_event){
                .at = at, .gpu_index = v->gpu_index, .kind = "health", .severity = severity(v), .text = text, .data = data.at});
}

static void tell_log_once(struct health_part *p)
{
    struct health_basis basis;
    health_watch_basis(p->watch, &basis);
    if (!p->told_log && basis.log_message[0])
        log_warn("cannot watch the kernel log for driver errors", LOG_TEXT("reason", basis.log_message));
    p->told_log = true;
}

static void health_part_take(struct health_part *p, const struct snapshot *s)
{
    health_watch_history(p->watch)->usual = usual_part_latest(p->usual);
    const struct health *health = health_watch_take(p->watch, s);
    snapshot_unref(p->last);
    p->last = snapshot_ref(s);
    if (!health)
        return;
    bool changed = false;
    for (size_t i = 0; i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        changed |= v->changed;
        /* Falling asleep and waking up are no news. */
        if (v->changed && v->state != HEALTH_ASLEEP && !(v->before == HEALTH_ASLEEP && v->state == HEALTH_HEALTHY))
            tell_change(p, v, s->taken_at);
    }
    if (s->gpu_count)
        tell_log_once(p);
    if (changed || s->taken_at.ms - p->saved_at.ms >= SAVE_EVERY_MS || s->taken_at.ms < p->saved_at.ms)
        health_part_save(p, s->taken_at);
}

/* ---- for others ---- */

const struct health *health_part_latest(const struct health_part *p)
{
    return p ? health_watch_latest(p->watch) : NULL;
}

static struct reading level(enum health_state state)
{
    switch (state) {
    case HEALTH_HEALTHY: return reading_ok(0);
    case HEALTH_DEGRADED: return reading_ok(1);
    case HEALTH_FAILING: return reading_ok(2);
    case HEALTH_LOST: return reading_ok(3);
    case HEALTH_ASLEEP: return reading_absent(READING_ASLEEP);
    case HEALTH_UNKNOWN: break;
    }
    return reading_absent(READING_UNSUPPORTED);
}

/* 0 is only said of a card whose driver has such errors. */
static struct reading recent_xid(const struct health_part *p, int gpu_index)
{
    for (size_t i = 0; p->last && i < p->last->gpu_count; i++) {
        const struct gpu *gpu = &p->last->gpus[i];
        if (gpu->index != gpu_index)
            continue;
        struct wall since = {p->last->taken_at.ms - XID_RECENT_MS};
        int64_t code = health_last_xid(health_watch_history(p->watch), gpu_index, since);
        return code || gpu->xid_last.state != READING_UNSUPPORTED ? reading_ok(code) : gpu->xid_last;
    }
    return reading_absent(READING_UNREAD);
}

static void facts_of(const struct health_part *p, const struct health_verdict *v, struct alert_gpu_facts *f)
{
    f->health_level = level(v->state);
    str_copy(f->health_reason, sizeof f->health_reason, str_from(v->reason));
    f->link_degraded = reading_ok(0);
    for (size_t k = 0; k < v->finding_count; k++)
        if (v->findings[k].check == HEALTH_CHECK_PCIE_LINK)
            f->link_degraded = reading_ok(1);
    f->xid = recent_xid(p, v->gpu_index);
}

/* Verdicts of the sample's cards come first. Those behind are of cards that are not in it, whose index may be another's by now. */
static void add_facts(const struct health_part *p, struct alert_facts *facts)
{
    const struct health *health = health_watch_latest(p->watch);
    int64_t missing = 0;
    for (size_t i = 0; health && p->last && i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        if (i >= p->last->gpu_count)
            missing += v->state == HEALTH_LOST;
        else if (v->gpu_index >= 0 && v->gpu_index < GPU_MAX)
            facts_of(p, v, &facts->gpus[v->gpu_index]);
    }
    if (health)
        facts->gpus_missing = reading_ok(missing);
}

static void health_part_sampled(void *part, const struct snapshot *s, struct alert_facts *facts)
{
    health_part_take(part, s);
    add_facts(part, facts);
}

static int get_health(void *part, const struct part_request *r, struct buf *out)
{
    struct health_part *p = part;
    static const struct health nothing = {.worst = HEALTH_UNKNOWN};
    const struct health *health = health_watch_latest(p->watch);
    struct health_basis basis;
    char which[GPU_UUID_SIZE];
    int only = HEALTH_ALL;
    if (part_query(r, "gpu", which, sizeof which)) {
        int at = p->last ? snapshot_find_gpu(p->last, which) : -1;
        if (at < 0)
            return part_error(out, 404, "no_such_gpu", "No such GPU.");
        only = p->last->gpus[at].index;
    }
    health_watch_basis(p->watch, &basis);
    basis.remembered = true;
    struct json_writer j = JSON_WRITER(out);
    json_health(&j, health ? health : &nothing, &basis, p->last ? p->last->verdict : NULL, only);
    buf_char(out, '\n');
    return 200;
}

static void health_part_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    struct health_part *p = part;
    (void)s;
    const struct health *health = health_watch_latest(p->watch);
    if (health)
        prometheus_health(out, health);
}

static void counts(void *part, const struct snapshot *s, struct prometheus_extra *extra)
{
    struct health_part *p = part;
    (void)s;
    extra->history = health_watch_history(p->watch);
    extra->health = health_watch_latest(p->watch);
}

static const struct route routes_of_health[] = {{"/api/gpu/health", HTTP_GET, PART_JSON, TRUST_READER, .answer = get_health}};

const struct part_ops health_part_ops = {.name = "health",
                                         .routes = routes_of_health,
                                         .route_count = ARRAY_LEN(routes_of_health),
                                         .open = open_health,
                                         .start = health_part_start,
                                         .sampled = health_part_sampled,
                                         .metrics = health_part_metrics,
                                         .counts = counts,
                                         .close = close_health};
