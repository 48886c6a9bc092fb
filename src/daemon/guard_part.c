/* SPDX-License-Identifier: Apache-2.0
 * The daemon's guard. Events come from keepers' threads and go through a mailbox into the server's loop.
 */
#include "daemon/guard_part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "config/places.h"
#include "daemon/guard_eyes.h"
#include "daemon/guard_routes.h"
#include "format/json/guard.h"

enum { EVENTS_QUEUED = 64, EVENT_MAX = 4096 };

struct guard_part {
    struct guard_eyes eyes; /* first: the guard's functions get it */
    struct guard *guard;
    struct mailbox *events; /* of char *, JSON */
    struct server *server;
    struct store_service *store; /* NULL: no history */
};

static void on_event(void *user, const struct guard_event *event)
{
    struct guard_part *p = user;
    AUTO_BUF struct buf text = BUF(EVENT_MAX);
    struct json_writer j = JSON_WRITER(&text);
    json_guard_event(&j, event);
    if (p->store && !text.failed)
        store_service_event(p->store, &(struct store_event){.at = event->at,
                                                            .gpu_index = -1,
                                                            .kind = "guard",
                                                            .severity = event->kind == GUARD_EVENT_PROBLEM ? "warning" : "info",
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

struct guard_part *guard_part_new(const struct env *env, struct engine *engine)
{
    static char folder[PLACE_SIZE + 8];
    struct error err = {0};
    struct guard_part *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->eyes.engine = engine;
    p->events = mailbox_new(EVENTS_QUEUED, free);
    bool kept = place_state(folder, &err) == 0;
    if (kept)
        str_copy(folder + strlen(folder), 8, STR("/guard"));
    else
        log_warn("the guard cannot keep a journal", LOG_TEXT("error", err.text));
    struct guard_options options = {
        .env = env, .state_dir = kept ? folder : NULL, .sample = guard_eyes_sample, .event = on_event, .user = p};
    p->guard = p->events ? guard_new(&options, &err) : NULL;
    if (p->guard)
        return p;
    guard_part_free(p);
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
    if (may_be_there && guard_change(p->guard, spec))
        return;
    if (guard_add(p->guard, spec, NULL, &err) < 0)
        log_error("a worker is not guarded", LOG_TEXT("worker", name), LOG_TEXT("error", err.text));
    else
        log_info("guarding a worker", LOG_TEXT("worker", name));
}

static bool is_configured(void *user, const char *name)
{
    const struct config *config = user;
    for (size_t i = 0; i < config->guard_worker_count; i++)
        if (strcmp(config->guard_worker[i].entry.name, name) == 0)
            return true;
    log_info("the worker is not guarded any more", LOG_TEXT("worker", name));
    return false;
}

void guard_part_reload(struct guard_part *p, const struct config *config)
{
    guard_keep_only(p->guard, is_configured, (void *)config);
    for (size_t i = 0; i < config->guard_worker_count; i++)
        add_worker(p, config, i, true);
}

void guard_part_sampled(struct guard_part *p, const struct snapshot *s)
{
    guard_tell_events(p->guard, s->events, s->event_count);
}

int guard_part_start(struct guard_part *p, const struct config *config, struct server *server, struct store_service *store)
{
    p->server = server;
    p->store = store;
    int rc = server_on_readable(server, mailbox_fd(p->events), on_events, p);
    for (size_t i = 0; rc == 0 && i < config->guard_worker_count; i++)
        add_worker(p, config, i, false);
    return rc;
}

void guard_part_stop(struct guard_part *p)
{
    if (p)
        guard_free(TAKE(p->guard));
}

void guard_part_free(struct guard_part *p)
{
    if (!p)
        return;
    guard_part_stop(p);
    if (p->events)
        mailbox_free(p->events);
    free(p);
}

int guard_part_request(struct guard_part *p, const struct part_request *r, struct buf *out)
{
    if (!str_starts(r->path, "/api/guard"))
        return 0;
    return guard_api(p->guard, r->method, r->path, r->body, out);
}

void guard_part_health(struct guard_part *p, struct json_writer *j)
{
    AUTO_FREE struct guard_status *list = calloc(GUARD_WORKERS_MAX, sizeof *list);
    json_guard_health(j, list, list ? guard_list(p->guard, list, GUARD_WORKERS_MAX) : 0);
}

size_t guard_part_holds(struct guard_part *p, const struct snapshot *s, struct capacity_hold *list, size_t max)
{
    return p->guard ? guard_holds(p->guard, s, list, max) : 0;
}

void guard_part_counts(struct guard_part *p, const struct snapshot *s, uint64_t *evictions_total, int64_t *others)
{
    guard_counts(p->guard, s, evictions_total, others);
}
