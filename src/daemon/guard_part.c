/* SPDX-License-Identifier: Apache-2.0
 * The daemon's guard: how it sees the GPUs, requests to it, and its part. Events come from keepers' threads, through a mailbox into
 * the server's loop.
 */
#include "daemon/guard_part.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "config/places.h"
#include "engine/engine.h"
#include "format/json/json.h"
#include "format/prometheus/prometheus.h"

/* ---- samples ---- */

enum { SAMPLE_WITHIN_MS = 6000 };

const struct snapshot *guard_sampler_sample(void *user, int64_t max_age_ms)
{
    struct guard_sampler *sampler = user;
    unsigned groups = GROUP_QUICK | (sampler->lean ? GROUP_LEAN : 0);
    int64_t now_ms = clock_mono(&clock_system).ns / NS_PER_MS;
    if (now_ms - sampler->slow_at_ms >= (sampler->slow_every_ms ? sampler->slow_every_ms : SLOW_EVERY_MS)) {
        groups |= GROUP_SLOW;
        sampler->slow_at_ms = now_ms;
    }
    const struct snapshot *s = engine_sample(sampler->engine, groups, max_age_ms, SAMPLE_WITHIN_MS);
    /* A hanging driver leaves an old snapshot, which does not show the present state. */
    if (s && mono_since_ms(clock_mono(&clock_system), s->taken) > SAMPLE_WITHIN_MS + MAX_OF(max_age_ms, 0)) {
        snapshot_unref(s);
        return NULL;
    }
    return s;
}

/* ---- requests ---- */

static struct guard *guard_of(void *part)
{
    return ((struct guard_api *)part)->guard;
}

static int write_workers(struct guard *g, struct buf *out, int status, int gpu)
{
    AUTO_FREE struct guard_status *get_workers = calloc(GUARD_WORKERS_MAX, sizeof *get_workers);
    if (!get_workers)
        return 500;
    size_t count = guard_list(g, get_workers, GUARD_WORKERS_MAX), kept = 0;
    for (size_t i = 0; i < count; i++)
        if (gpu == ALL_GPUS || get_workers[i].gpus[gpu / 64] >> (gpu % 64) & 1)
            get_workers[kept++] = get_workers[i];
    json_guard(JSON_LINE(out), get_workers, kept);
    return status;
}

static int get_workers(void *part, const struct part_request *r, struct buf *out)
{
    int at, status = part_which_gpu(r, r->latest, &at, out);
    return status == 200 ? write_workers(guard_of(part), out, status, at == ALL_GPUS ? at : r->latest->gpus[at].index) : status;
}

/* Parses the body into an object, empty without a body; NULL and an error response if it is anything else. */
static json_t *read_body(const struct part_request *r, struct buf *out, int *status)
{
    struct str body = str_trim(r->body);
    json_t *json = body.len ? json_loadb(body.at, body.len, JSON_REJECT_DUPLICATES, NULL) : json_object();
    if (json_is_object(json))
        return json;
    json_decref(json);
    *status = part_error(out, 400, "bad_body", "The body must be a JSON object.");
    return NULL;
}

/* {"pid": N} */
static int read_pid(const struct part_request *r, struct buf *out, int32_t *ret)
{
    int status = 0;
    AUTO_JSON json_t *json = read_body(r, out, &status);
    if (!json)
        return status;
    const json_t *pid = json_object_get(json, "pid");
    json_int_t number = json_integer_value(pid);
    if (!json_is_integer(pid) || number <= 0 || number > INT32_MAX)
        status = part_error(out, 400, "bad_body", "The body must be {\"pid\": N}.");
    *ret = (int32_t)number;
    return status;
}

static int announce(void *part, const struct part_request *r, struct buf *out)
{
    int32_t pid = 0;
    int status = read_pid(r, out, &pid);
    if (status)
        return status;
    int rc = guard_announce(guard_of(part), pid);
    if (rc == -ESRCH)
        return part_error(out, 404, "no_such_process", "No process with that PID.");
    if (rc == -ENOSPC)
        return part_error(out, 503, "too_many", "Too many programs are announced.");
    if (rc < 0)
        return part_error(out, 503, "cannot_look", "That process can't be looked at now.");
    return write_workers(guard_of(part), out, 202, ALL_GPUS);
}

static int unannounce(void *part, const struct part_request *r, struct buf *out)
{
    int32_t pid = 0;
    int status = read_pid(r, out, &pid);
    if (status)
        return status;
    guard_unannounce(guard_of(part), pid);
    return write_workers(guard_of(part), out, 202, ALL_GPUS);
}

static int take_command(void *part, const struct part_request *r, struct buf *out, enum guard_command what)
{
    int status = 0;
    AUTO_JSON json_t *json = read_body(r, out, &status);
    if (!json)
        return status;
    const json_t *worker = json_object_get(json, "worker");
    if (worker && !json_is_string(worker) && !json_is_null(worker))
        status = part_error(out, 400, "bad_body", "\"worker\" must be the name of a worker.");
    else if (guard_take_command(guard_of(part), json_string_value(worker), what) < 0)
        status = part_error(out, 404, "no_such_worker", "No guarded worker has that name.");
    else
        status = write_workers(guard_of(part), out, 202, ALL_GPUS);
    return status;
}

static int hold(void *part, const struct part_request *r, struct buf *out)
{
    return take_command(part, r, out, COMMAND_HOLD);
}

static int release(void *part, const struct part_request *r, struct buf *out)
{
    return take_command(part, r, out, COMMAND_RELEASE);
}

static int evict(void *part, const struct part_request *r, struct buf *out)
{
    return take_command(part, r, out, COMMAND_EVICT);
}

static int resume(void *part, const struct part_request *r, struct buf *out)
{
    return take_command(part, r, out, COMMAND_RESUME);
}

#define GUARD_POST HTTP_POST, PART_JSON, RIGHT_GUARD

static const struct route guard_routes[] = {
    {"/api/guard", HTTP_GET, PART_JSON, RIGHT_READ, .answer = get_workers},
    {"/api/guard/hold", GUARD_POST, .answer = hold},
    {"/api/guard/release", GUARD_POST, .answer = release},
    {"/api/guard/evict", GUARD_POST, .answer = evict},
    {"/api/guard/resume", GUARD_POST, .answer = resume},
    {"/api/guard/announce", GUARD_POST, .answer = announce},
    {"/api/guard/unannounce", GUARD_POST, .answer = unannounce},
};

int guard_routes_answer(struct guard_api *api, const char *method, struct str path, struct str body, struct buf *out)
{
    const struct part_request r = {.body = body};
    unsigned wanted = strcmp(method, "GET") == 0 ? HTTP_GET : strcmp(method, "POST") == 0 ? HTTP_POST : 0;
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(guard_routes); i++) {
        if (!str_is(path, guard_routes[i].path))
            continue;
        if (guard_routes[i].methods & wanted)
            return guard_routes[i].answer(api, &r, out);
        known = true;
    }
    return known ? part_error(out, 405, "method_not_allowed", "This path does not support that method.")
                 : part_error(out, 404, "not_found", "No such path.");
}

/* ---- the part ---- */

enum { EVENTS_QUEUED = 64, EVENT_BYTES = 4096 };

struct guard_part {
    struct guard_api api; /* first member: the routes expect it */
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
    guard_free(p->api.guard);
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
    p->api.guard = p->events ? guard_new(&options, &err) : NULL;
    if (p->api.guard)
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
    if (may_be_there && guard_change(p->api.guard, spec))
        return;
    if (guard_add(p->api.guard, spec, NULL, &err) < 0)
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
    guard_keep_only(p->api.guard, is_configured, (void *)config);
    for (size_t i = 0; i < config->guard_worker_count; i++)
        add_worker(p, config, i, true);
    warn_of_nothing(p, config);
}

static void guard_part_sampled(void *part, const struct snapshot *s)
{
    guard_tell_events(((struct guard_part *)part)->api.guard, s->events, s->event_count);
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
    guard_free(TAKE(((struct guard_part *)part)->api.guard));
}

static void health(void *part, struct json_writer *j)
{
    AUTO_FREE struct guard_status *list = calloc(GUARD_WORKERS_MAX, sizeof *list);
    struct guard_part *p = part;
    json_guard_health(j, list, list ? guard_list(p->api.guard, list, GUARD_WORKERS_MAX) : 0,
                      p->guards_nothing ? GUARDS_NOTHING : NULL);
}

static void counts(void *part, const struct snapshot *s, struct prometheus_extra *extra)
{
    extra->others_counted = s->gpu_count <= GPU_MAX;
    if (extra->others_counted)
        guard_counts(((struct guard_part *)part)->api.guard, s, &extra->evictions_total, extra->other_processes);
}

size_t guard_part_holds(struct guard_part *p, const struct snapshot *s, struct capacity_hold *list, size_t max)
{
    return p->api.guard ? guard_holds(p->api.guard, s, list, max) : 0;
}

const struct part_ops guard_part_ops = {.name = "guard",
                                        .routes = guard_routes,
                                        .route_count = ARRAY_LEN(guard_routes),
                                        .open = open_guard,
                                        .start = guard_part_start,
                                        .sampled = guard_part_sampled,
                                        .counts = counts,
                                        .health = health,
                                        .reload = guard_part_reload,
                                        .stop = guard_part_stop,
                                        .close = close_guard};
