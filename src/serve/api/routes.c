/* SPDX-License-Identifier: Apache-2.0
 * All paths of the server, and the handlers of those that only read.
 */
#include <errno.h>
#include <string.h>

#include "answer/parameter.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "format/json/json.h"
#include "format/process_rows.h"
#include "format/prometheus/prometheus.h"
#include "http/negotiate.h"
#include "serve/api/assets.h"
#include "serve/api/core.h"
#include "serve/data/page.h"

enum { PART_ANSWER_MAX = 64 << 20 }; /* enough for a thousand hosts with all their GPUs */

static void reply_kind(struct exchange *x, enum body_kind kind)
{
    ready_reply(x, data_body(&x->server->data, kind), "application/json");
}

static void reply_gpu(struct exchange *x, int gpu, void (*write)(struct json_writer *, const struct snapshot *, int))
{
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    write(JSON_LINE(&out), x->server->data.latest, gpu);
    ready_json(x, &out);
}

/* Responds with the shared body, or with one GPU's part of it. */
static void reply_some(struct exchange *x, enum body_kind kind, void (*write)(struct json_writer *, const struct snapshot *, int))
{
    int gpu = ready_which_gpu(x);
    if (gpu == ALL_GPUS)
        reply_kind(x, kind);
    else if (gpu >= 0)
        reply_gpu(x, gpu, write);
}

static void get_devices(struct exchange *x)
{
    if (ready_recent(x, x->server->options.max_age_ms))
        reply_some(x, BODY_DEVICES, json_devices);
}

static void get_driver(struct exchange *x)
{
    if (ready_recent(x, -1))
        reply_kind(x, BODY_DRIVER);
}

static void write_summary_of(struct exchange *x, int gpu)
{
    const struct snapshot *now = x->server->data.latest;
    const struct why *why = data_why(&x->server->data);
    AUTO_SNAPSHOT const struct snapshot *part = NULL;
    struct why *own = NULL;
    if (!why || why_of_gpu(now, why, now->gpus[gpu].index, &part, &own) < 0)
        return; /* router_handle() answers 500 */
    AUTO_BUF struct buf out = BUF(JSON_BODY_MAX);
    json_summary(JSON_LINE(&out), part, own);
    ready_json(x, &out);
    why_free(own);
}

static void get_summary(struct exchange *x)
{
    if (!ready_recent(x, x->server->options.max_age_ms))
        return;
    int gpu = ready_which_gpu(x);
    if (gpu == ALL_GPUS)
        reply_kind(x, BODY_SUMMARY);
    else if (gpu >= 0)
        write_summary_of(x, gpu);
}

static void get_metrics(struct exchange *x)
{
    if (ready_recent(x, x->server->options.max_age_ms))
        reply_some(x, BODY_METRICS, json_metrics);
}

static void get_stats(struct exchange *x)
{
    if (ready_recent(x, -1))
        reply_some(x, BODY_STATS, json_stats);
}

static void get_resources(struct exchange *x)
{
    if (ready_recent(x, -1))
        reply_kind(x, BODY_RESOURCES);
}

static void get_health(struct exchange *x)
{
    AUTO_BUF struct buf out = BUF(256 * 1024);
    enum service_status status;
    service_health_write(x->server, &out, &status);
    AUTO_BLOB struct blob *body = blob_take(&out);
    if (body)
        exchange_reply(
            x, &(struct reply){
                   .status = status == SERVICE_ERROR ? 503 : 200, .type = "application/json", .body = body, .cache = "no-store"});
}

static void get_prometheus(struct exchange *x)
{
    if (!ready_recent(x, -1))
        return;
    struct str accept = http_field(x->request, "accept");
    /* Only for clients that name it, like Prometheus; a browser or curl (anything) gets the older text. */
    bool open = accept_names(accept, OPENMETRICS_TYPE) &&
                accept_quality(accept, OPENMETRICS_TYPE) >= accept_quality(accept, PROMETHEUS_CONTENT_TYPE);
    if (open)
        ready_reply(x, data_body(&x->server->data, BODY_OPENMETRICS), OPENMETRICS_CONTENT_TYPE);
    else
        ready_reply(x, data_body(&x->server->data, BODY_PROMETHEUS), PROMETHEUS_CONTENT_TYPE);
}

static void reply_page(struct exchange *x, enum body_kind kind, const char *policy)
{
    if (!ready_recent(x, -1))
        return;
    struct blob *body = data_body(&x->server->data, kind);
    if (body)
        exchange_reply(x, &(struct reply){.type = "text/html; charset=utf-8", .body = body, .policy = policy});
}

static void get_plain(struct exchange *x)
{
    reply_page(x, BODY_PAGE, page_policy);
}

/* A build without the dashboard has only the plain page. */
static void get_page(struct exchange *x)
{
    if (asset_find("/web/app.js"))
        reply_page(x, BODY_DASHBOARD, dashboard_policy);
    else
        get_plain(x);
}

static void get_fleet_page(struct exchange *x)
{
    if (!x->server->options.fleet || !asset_find("/web/fleet.js")) {
        exchange_error(x, 404, "no_fleet", "No database of the fleet is configured (fleet.url).");
        return;
    }
    AUTO_BUF struct buf out = BUF(8192);
    page_write_fleet(&out, x->server->data.dashboard);
    AUTO_BLOB struct blob *body = blob_take(&out);
    if (body)
        exchange_reply(x, &(struct reply){.type = "text/html; charset=utf-8", .body = body, .policy = dashboard_policy});
}

static void reply_text(struct exchange *x, const char *text, const char *type)
{
    AUTO_BLOB struct blob *body = blob_copy(str_from(text));
    if (body)
        exchange_reply(x, &(struct reply){.type = type, .body = body, .cache = "max-age=3600"});
}

/* For `whirr status` over the Unix socket: the snapshot as a recording, which other versions can read, too. */
static void get_snapshot(struct exchange *x)
{
    char text[24];
    int64_t groups = 0, max_age = x->server->options.max_age_ms;
    if (http_query(x->request, "groups", text, sizeof text))
        str_to_i64(str_from(text), &groups);
    if (http_query(x->request, "max_age_ms", text, sizeof text))
        str_to_i64(str_from(text), &max_age);
    if (!ready_fresh(x, (unsigned)groups & GROUP_ALL, max_age))
        return;
    if (!x->server->data.has_sample)
        ready_starting(x);
    else
        ready_reply(x, data_body(&x->server->data, BODY_SNAPSHOT), "application/octet-stream");
}

static void get_style(struct exchange *x)
{
    reply_text(x, page_style, "text/css; charset=utf-8");
}

static void get_icon(struct exchange *x)
{
    reply_text(x, page_icon, "image/svg+xml");
}

static void get_ws(struct exchange *x)
{
    live_websocket(&x->server->live, x);
}

static void handle_socketio(struct exchange *x)
{
    eio_handle(&x->server->live.eio, x);
}

static void answer_by_part(struct exchange *x)
{
    if (x->route->fresh && !ready_recent(x, x->server->options.max_age_ms))
        return;
    AUTO_BUF struct buf out = BUF(PART_ANSWER_MAX);
    const struct part_request r = {.body = x->body,
                                   .owner = x->rights & RIGHT_COMMANDS,
                                   .rights = x->rights,
                                   .name = x->route->below ? x->request->path + strlen(x->route->path) : "",
                                   .who = x->who,
                                   .http = x->request,
                                   .latest = x->server->data.latest};
    int status = x->route->answer(x->owner, &r, &out);
    exchange_json(x, status, &out);
}

#define JSON "application/json"

const struct route server_routes[] = {
    {"/", HTTP_GET, "text/html", RIGHT_READ, get_page},
    {"/api/gpu/devices", HTTP_GET, JSON, RIGHT_READ, get_devices},
    {"/api/gpu/driver", HTTP_GET, JSON, RIGHT_READ, get_driver},
    {"/api/gpu/metrics", HTTP_GET, JSON, RIGHT_READ, get_metrics},
    {"/api/gpu/summary", HTTP_GET, JSON, RIGHT_READ, get_summary},
    {"/api/health", HTTP_GET, JSON, RIGHT_READ, get_health},
    {"/api/history", HTTP_GET, NULL, RIGHT_READ, get_history},
    {"/api/history/events", HTTP_GET, NULL, RIGHT_READ, get_history_events},
    {"/api/history/limits", HTTP_GET, JSON, RIGHT_READ, get_history_limits},
    {"/api/history/processes", HTTP_GET, NULL, RIGHT_READ, get_history_processes},
    {"/api/leases/settings", HTTP_POST, JSON, RIGHT_CONTROL, post_setting},
    {"/api/processes", HTTP_GET, JSON, RIGHT_READ, get_processes},
    {"/api/report", HTTP_GET, JSON, RIGHT_READ, get_report},
    {"/api/resources", HTTP_GET, JSON, RIGHT_READ, get_resources},
    {"/api/session", HTTP_GET, JSON, RIGHT_READ, get_session},
    {"/api/snapshot", HTTP_GET, NULL, RIGHT_READ, get_snapshot},
    {"/api/source/release", HTTP_POST, JSON, RIGHT_ADMIN, post_release},
    {"/api/system/gpu-stats", HTTP_GET, JSON, RIGHT_READ, get_stats},
    {"/api/system/gpu-stats/history", HTTP_GET, JSON, RIGHT_READ, get_stats_history},
    {"/api/why", HTTP_GET, JSON, RIGHT_READ, get_why},
    {"/api/why/cpu", HTTP_GET, JSON, RIGHT_READ, get_why_cpu},
    {"/api/why/lines", HTTP_GET, JSON, RIGHT_CONTROL, get_why_lines},
    {"/api/widget", HTTP_GET, JSON, RIGHT_READ, get_widget},
    {"/badge.svg", HTTP_GET, NULL, RIGHT_READ, get_badge},
    {"/docs", HTTP_GET, NULL, RIGHT_READ, get_docs},
    {"/fleet", HTTP_GET, "text/html", RIGHT_READ, get_fleet_page},
    {"/icon.svg", HTTP_GET, NULL, RIGHT_NONE, get_icon},
    {"/login", HTTP_GET, "text/html", RIGHT_NONE, get_login},
    {"/login", HTTP_POST, "text/html", RIGHT_NONE, post_login},
    {"/logout", HTTP_POST, "text/html", RIGHT_NONE, post_logout},
    {"/mcp", HTTP_POST, NULL, RIGHT_READ, post_mcp},
    {"/metrics", HTTP_GET, NULL, RIGHT_READ, get_prometheus},
    {"/openapi.json", HTTP_GET, JSON, RIGHT_READ, get_openapi},
    {"/plain", HTTP_GET, "text/html", RIGHT_READ, get_plain},
    {"/socket.io/", HTTP_GET | HTTP_POST, NULL, RIGHT_READ, handle_socketio, true},
    {"/style.css", HTTP_GET, NULL, RIGHT_NONE, get_style},
    {"/tile", HTTP_GET, "text/html", RIGHT_READ, get_tile},
    {"/ws", HTTP_GET, NULL, RIGHT_READ, get_ws, true},
};
const size_t server_route_count = ARRAY_LEN(server_routes);

/* Embedded files, whatever their path. */
static const struct route file_route = {.methods = HTTP_GET, .needs = RIGHT_READ, .handle = get_asset};

static bool table(const struct exchange *x, size_t i, struct route_table *ret)
{
    const struct server_parts *parts = &x->server->parts;
    *ret = (struct route_table){.routes = server_routes, .count = ARRAY_LEN(server_routes)};
    if (i == 0)
        return true;
    if (i <= parts->count) {
        const struct part *part = &parts->list[i - 1];
        *ret = (struct route_table){part->ops->routes, part->ops->route_count, part->self, answer_by_part};
        return true;
    }
    *ret = (struct route_table){.routes = &file_route, .count = 1};
    return i == parts->count + 1 && x->request->path[0] == '/' && asset_find(x->request->path);
}

/* ---- known parameters ---- */

/* Clients of other projects use these paths and may send anything besides. Elsewhere below /api/, only parameters of /openapi.json
 * are valid, so that a typo is not silently ignored. What a parameter may be is checked here for all paths. */
static const char *const lenient_paths[] = {
    "/api/gpu/devices", "/api/gpu/driver", "/api/gpu/metrics",      "/api/gpu/summary",
    "/api/health",      "/api/resources",  "/api/system/gpu-stats", "/api/system/gpu-stats/history",
};

static bool is_strict(const char *path)
{
    if (NAME_IN(lenient_paths, str_from(path)))
        return false;
    return strncmp(path, "/api/", 5) == 0;
}

/* `id`: of the parameter; NULL: its path checks it. */
static bool is_fine(struct exchange *x, const char *name, const char *id)
{
    struct parameter p;
    struct error err = {0};
    char text[2048];
    bool fine =
        !id || !parameter_find(id, &p) || !http_query(x->request, name, text, sizeof text) || parameter_check(&p, text, &err) == 0;
    if (!fine)
        exchange_error(x, 400, "bad_parameter", "%s.", err.text);
    return fine;
}

static bool knows_query(struct exchange *x)
{
    struct server *s = x->server;
    struct str rest = x->request->query, key;
    bool strict = is_strict(x->request->path);
    if (!rest.len)
        return true;
    if (!s->parameters)
        s->parameters = openapi_parameters();
    json_t *known = json_object_get(s->parameters, x->request->path);
    while (known && http_query_next(&rest, &key)) {
        char name[64], text[NEAREST_SIZE + 32];
        const char *one;
        json_t *unused;
        struct nearest n;
        str_copy(name, sizeof name, key);
        json_t *meant_by_it = json_object_get(known, name);
        if (meant_by_it && !is_fine(x, name, json_string_value(meant_by_it)))
            return false;
        if (!name[0] || meant_by_it || !strict)
            continue;
        nearest_init(&n, name);
        json_object_foreach(known, one, unused) nearest_try(&n, one);
        const char *meant = nearest_text(&n, text, sizeof text);
        exchange_error(x, 400, "unknown_parameter", "There is no parameter '%s' here%s%s", name, meant,
                       meant[0] ? "" : "; /openapi.json lists what there is.");
        return false;
    }
    return true;
}

/* Paths that pages of other sites may not load: they could not read the response anyway. */
static const char *const data_paths[] = {"/api/", "/metrics", "/socket.io/", "/ws", NULL};

const struct site_ops server_site_ops = {.table = table,
                                         .knows_query = knows_query,
                                         .send_to_login = send_to_login,
                                         .acted = audit_acted,
                                         .token_changed = audit_token,
                                         .data_paths = data_paths};
