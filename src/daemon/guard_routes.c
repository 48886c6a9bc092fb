/* SPDX-License-Identifier: Apache-2.0
 * HTTP requests to the guard.
 */
#include "daemon/guard_routes.h"

#include <errno.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "format/json/json.h"

static struct guard *guard_of(void *part)
{
    return ((struct guard_door *)part)->guard;
}

static int say_workers(struct guard *g, struct buf *out, int status, int gpu)
{
    AUTO_FREE struct guard_status *list = calloc(GUARD_WORKERS_MAX, sizeof *list);
    if (!list)
        return 500;
    size_t count = guard_list(g, list, GUARD_WORKERS_MAX), kept = 0;
    for (size_t i = 0; i < count; i++)
        if (gpu == ALL_GPUS || list[i].gpus[gpu / 64] >> (gpu % 64) & 1)
            list[kept++] = list[i];
    json_guard(JSON_LINE(out), list, kept);
    return status;
}

static int list(void *part, const struct part_request *r, struct buf *out)
{
    int at, status = part_which_gpu(r, r->latest, &at, out);
    return status == 200 ? say_workers(guard_of(part), out, status, at == ALL_GPUS ? at : r->latest->gpus[at].index) : status;
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
    return say_workers(guard_of(part), out, 202, ALL_GPUS);
}

static int unannounce(void *part, const struct part_request *r, struct buf *out)
{
    int32_t pid = 0;
    int status = read_pid(r, out, &pid);
    if (status)
        return status;
    guard_unannounce(guard_of(part), pid);
    return say_workers(guard_of(part), out, 202, ALL_GPUS);
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
        status = say_workers(guard_of(part), out, 202, ALL_GPUS);
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

const struct route guard_routes[GUARD_ROUTES] = {
    {"/api/guard", HTTP_GET, PART_JSON, RIGHT_READ, .answer = list},
    {"/api/guard/hold", GUARD_POST, .answer = hold},
    {"/api/guard/release", GUARD_POST, .answer = release},
    {"/api/guard/evict", GUARD_POST, .answer = evict},
    {"/api/guard/resume", GUARD_POST, .answer = resume},
    {"/api/guard/announce", GUARD_POST, .answer = announce},
    {"/api/guard/unannounce", GUARD_POST, .answer = unannounce},
};

int guard_routes_answer(struct guard_door *door, const char *method, struct str path, struct str body, struct buf *out)
{
    const struct part_request r = {.body = body};
    unsigned wanted = strcmp(method, "GET") == 0 ? HTTP_GET : strcmp(method, "POST") == 0 ? HTTP_POST : 0;
    bool known = false;
    for (size_t i = 0; i < GUARD_ROUTES; i++) {
        if (!str_is(path, guard_routes[i].path))
            continue;
        if (guard_routes[i].methods & wanted)
            return guard_routes[i].answer(door, &r, out);
        known = true;
    }
    return known ? part_error(out, 405, "method_not_allowed", "This path does not support that method.")
                 : part_error(out, 404, "not_found", "No such path.");
}
