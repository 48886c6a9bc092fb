/* SPDX-License-Identifier: Apache-2.0
 * Requests to the guard.
 */
#include "daemon/guard_routes.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "format/json/guard.h"
#include "serve/api/part.h"

static int say_workers(struct guard *g, struct buf *out, int status)
{
    AUTO_FREE struct guard_status *list = calloc(GUARD_WORKERS_MAX, sizeof *list);
    if (!list)
        return 500;
    struct json_writer j = JSON_WRITER(out);
    json_guard(&j, list, guard_list(g, list, GUARD_WORKERS_MAX));
    buf_char(out, '\n');
    return status;
}

static int announce(struct guard *g, struct str what, const json_t *json, struct buf *out)
{
    const json_t *pid = json_object_get(json, "pid");
    json_int_t number = json_integer_value(pid);
    if (!json_is_integer(pid) || number <= 0 || number > INT32_MAX)
        return part_error(out, 400, "bad_body", "The body must be {\"pid\": N}.");
    if (str_is(what, "unannounce")) {
        guard_unannounce(g, (int32_t)number);
        return say_workers(g, out, 202);
    }
    int rc = guard_announce(g, (int32_t)number);
    if (rc == -ESRCH)
        return part_error(out, 404, "no_such_process", "There is no process of that number here.");
    if (rc < 0)
        return part_error(out, 503, "too_many", "Too many programs are announced.");
    return say_workers(g, out, 202);
}

static int wish(struct guard *g, struct str what, const json_t *json, struct buf *out)
{
    static const struct {
        const char *name;
        enum person_wish wish;
    } wishes[] = {{"hold", WISH_HOLD}, {"release", WISH_RELEASE}, {"evict", WISH_EVICT}, {"resume", WISH_RESUME}};
    const json_t *worker = json_object_get(json, "worker");
    if (worker && !json_is_string(worker) && !json_is_null(worker))
        return part_error(out, 400, "bad_body", "\"worker\" must be the name of a worker.");
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        if (!str_is(what, wishes[i].name))
            continue;
        if (guard_wish(g, json_string_value(worker), wishes[i].wish) < 0)
            return part_error(out, 404, "no_such_worker", "No worker of that name is under guard.");
        return say_workers(g, out, 202);
    }
    return part_error(out, 404, "not_found", "There is no such request.");
}

int guard_api(struct guard *g, const char *method, struct str path, struct str body, struct buf *out)
{
    static const char prefix[] = "/api/guard";
    bool get = strcmp(method, "GET") == 0;
    if (!str_starts(path, prefix))
        return part_error(out, 404, "not_found", "There is no such path.");
    struct str what = {path.at + sizeof prefix - 1, path.len - (sizeof prefix - 1)};
    if (what.len == 0)
        return get ? say_workers(g, out, 200) : part_error(out, 405, "method_not_allowed", "Only GET is possible here.");
    if (what.at[0] != '/' || get)
        return part_error(out, get ? 405 : 404, get ? "method_not_allowed" : "not_found", "Only POST is possible there.");
    what = (struct str){what.at + 1, what.len - 1};
    body = str_trim(body);
    json_t *json = body.len ? json_loadb(body.at, body.len, JSON_REJECT_DUPLICATES, NULL) : json_object();
    int status = !json_is_object(json)        ? part_error(out, 400, "bad_body", "The body must be a JSON object.")
                 : str_ends(what, "announce") ? announce(g, what, json, out)
                                              : wish(g, what, json, out);
    json_decref(json);
    return status;
}
