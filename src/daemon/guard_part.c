/* SPDX-License-Identifier: Apache-2.0
 * The daemon's guard. Events come from keepers' threads, through a mailbox into the server's loop.
 */
#include "daemon/part.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "config/places.h"
#include "daemon/guard_routes.h"
#include "daemon/guard_sampler.h"
#include "format/json/json.h"
#include "format/prometheus/prometheus.h"

enum { EVENTS_QUEUED = 64, EVENT_BYTES = 4096 };

struct guard_part {
    struct guard_door door; /* first member: the routes expect it */
    struct guard_sampler sampler;
    struct mailbox *events; /* of char *: JSON texts */
    struct server *server;
    struct store_service *store; /* NULL: no history */
    bool guards_nothing;         /* although the configuration asks for evictions */
};

static void on_event(void *user, const struct guard_event *event)
{
    struct guard_part *p = user;
    AUTO_BUF struct buf text = BUF(EVENT_BYTES);
    json_guard_event(JSON_TO(&text), event);
    bool bad = event->kind == GUARD_EVENT_PROBLEM || event->kind == GUARD_EVENT_LEFT;
    if (p->store && !text.failed)
        store_service_event(p->store, &(struct store_event){.at = event->at,
                                                            .gpu_index = -1,
                                                            .kind = "guard",
                                                            .severity = bad ? "warning" : "info",
                                                            .text = event->text,
                                                            .data = text.at});
    char *taken = buf_take(&text);
    if (taken)
        mailbox_put(p->events, taken);
}

static void on_events(void *user)
{
    struct guard_part *p = user;
    for (char *text; (text = mailbox_take(p->events, 0));) {
        server_announce(p->server, TOPIC_GUARD, str_from(text));
        free(text);
    }
}

static const struct snapshot *sample(void *user, int64_t max_age_ms)
{
    return guard_sampler_sample(&((struct guard_part *)user)->sampler, max_age_ms);
}

static void close_guard(void *part)
{
    struct guard_part *p = part;
    if (!p)
        return;
    guard_free(p->door.guard);
    if (p->events)
        mailbox_free(p->events);
    free(p);
}

static void *open_guard(const struct part_host *host, struct error *ret)
{
    (void)ret;
    static char folder[PLACE_SIZE + 8];
    struct error err = {0};
    struct guard_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->sampler.engine = host->engine;
    p->events = mailbox_new(EVENTS_QUEUED, free);
    bool kept = place_state(folder, &err) == 0;
    if (kept)
        str_copy(folder + strlen(folder), 8, STR("/guard"));
    else
        log_warn("the guard cannot write its journal", LOG_TEXT("error", err.text));
    struct guard_options options = {
        .env = host->env, .state_dir = kept ? folder : NULL, .sample = sample, .event = on_event, .user = p};
    p->door.guard = p->events ? guard_new(&options, &err) : NULL;
    if (p->door.guard)
        return p;
    close_guard(p);
    return NULL;
}

static void add_worker(struct guard_part *p, const struct config *config, size_t i, bool may_be_there)
{
    struct error err = {0};
    const char *name = config->guard_worker[i].entry.name;
    struct guard_spec *spec = calloc(1, sizeof *spec);
    if (!spec)
        return;
    if (spec_from_config(config, i, spec, &err) < 0) {
        free(spec);
        log_error(may_be_there ? "a worker's new settings are not used" : "a worker is not guarded", LOG_TEXT("error", err.text));
        return;
    }
    if (may_be_there && guard_change(p->door.guard, spec))
        return;
    if (guard_add(p->door.guard, spec, NULL, &err) < 0)
        log_error("a worker is not guarded", LOG_TEXT("worker", name), LOG_TEXT("error", err.text));
    else
        log_info("guarding a worker", LOG_TEXT("worker", name));
}

static void warn_of_nothing(struct guard_part *p, const struct config *config)
{
    bool nothing = config_guards_nothing(config);
    if (nothing && !p->guards_nothing)
        log_warn(GUARDS_NOTHING ": " GUARDS_NOTHING_FIX);
    p->guards_nothing = nothing;
}

static bool is_configured(void *user, const char *name)
{
    const struct config *config = user;
    for (size_t i = 0; i < config->guard_worker_count; i++)
        if (strcmp(config->guard_worker[i].entry.name, name) == 0)
            return true;
    log_info("the worker is no longer guarded", LOG_TEXT("worker", name));
    return false;
}

static void guard_part_reload(void *part, const struct config *config)
{
    struct guard_part *p = part;
    guard_keep_only(p->door.guard, is_configured, (void *)config);
    for (size_t i = 0; i < config->guard_worker_count; i++)
        add_worker(p, config, i, true);
    warn_of_nothing(p, config);
}

static void guard_part_sampled(void *part, const struct snapshot *s)
{
    guard_tell_events(((struct guard_part *)part)->door.guard, s->events, s->event_count);
}

static int guard_part_start(void *part, const struct part_host *host)
{
    struct guard_part *p = part;
    const struct config *config = host->config;
    p->server = host->server;
    p->store = host->store;
    int rc = server_on_readable(host->server, mailbox_fd(p->events), on_events, p);
    for (size_t i = 0; rc == 0 && i < config->guard_worker_count; i++)
        add_worker(p, config, i, false);
    warn_of_nothing(p, config);
    return rc;
}

static void guard_part_stop(void *part)
{
    guard_free(TAKE(((struct guard_part *)part)->door.guard));
}

static void health(void *part, struct json_writer *j)
{
    AUTO_FREE struct guard_status *list = calloc(GUARD_WORKERS_MAX, sizeof *list);
    struct guard_part *p = part;
    json_guard_health(j, list, list ? guard_list(p->door.guard, list, GUARD_WORKERS_MAX) : 0,
                      p->guards_nothing ? GUARDS_NOTHING : NULL);
}

static void counts(void *part, const struct snapshot *s, struct prometheus_extra *extra)
{
    extra->others_counted = s->gpu_count <= GPU_MAX;
    if (extra->others_counted)
        guard_counts(((struct guard_part *)part)->door.guard, s, &extra->evictions_total, extra->other_processes);
}

size_t guard_part_holds(struct guard_part *p, const struct snapshot *s, struct capacity_hold *list, size_t max)
{
    return p->door.guard ? guard_holds(p->door.guard, s, list, max) : 0;
}

const struct part_ops guard_part_ops = {.name = "guard",
                                        .routes = guard_routes,
                                        .route_count = GUARD_ROUTES,
                                        .open = open_guard,
                                        .start = guard_part_start,
                                        .sampled = guard_part_sampled,
                                        .counts = counts,
                                        .health = health,
                                        .reload = guard_part_reload,
                                        .stop = guard_part_stop,
                                        .close = close_guard};
