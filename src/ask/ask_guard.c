/* SPDX-License-Identifier: Apache-2.0
 * One request to all guards.
 */
#include "ask/answers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ask/client.h"
#include "ask/session.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "config/places.h"

enum { ANSWER_WITHIN_MS = 3000 };

struct round {
    const char *method, *path, *body;
    json_t *workers;
    size_t asked, accepted;
    char *problem;
    size_t size;
};

/* Adds each worker with the path of its guard's socket. */
static void add_workers(struct round *r, const json_t *list, const char *place)
{
    size_t i;
    json_t *worker;
    json_array_foreach((json_t *)list, i, worker) json_object_set_new(worker, "guarded_by", json_string(place));
    json_array_extend(r->workers, (json_t *)list);
}

static void ask_one(struct round *r, struct client *client)
{
    struct error err = {0};
    AUTO_BUF struct buf answer = BUF(4 << 20);
    int status = client_request(client, r->method, r->path, r->body, &answer, ANSWER_WITHIN_MS, &err);
    /* A guard that went away has no worker. One that times out has, in an unknown state, which must not read as "no worker". */
    if (status == -ETIMEDOUT || (status < 0 && client_is_remote(client)))
        str_copy(r->problem, r->size, str_from(err.text));
    if (status < 0)
        return;
    AUTO_JSON json_t *json = json_loadb(buf_view(&answer).at, answer.len, 0, NULL);
    const json_t *list = json_object_get(json, "workers");
    if (status < 300 && json_is_array(list)) {
        r->asked++;
        add_workers(r, list, client_place(client));
    } else if (status != 404 || json_object_get(json, "error")) {
        client_error_text(buf_view(&answer), r->problem, r->size);
    }
}

json_t *guard_ask(struct cli *cli, const char *method, const char *path, const char *body, size_t *asked, char *problem,
                  size_t size)
{
    struct round r = {.method = method, .path = path, .body = body, .workers = json_array(), .problem = problem, .size = size};
    struct client *client = NULL;
    struct error err = {0};
    char folder[PLACE_SIZE], socket[PLACE_SIZE + 300];
    problem[0] = '\0';
    bool acts = strcmp(method, "GET") != 0;
    if ((acts ? act_open(cli, &client, &err) : ask_open(cli, &client, &err)) == 0)
        ask_one(&r, client);
    else if (acts || err.code != -ENOENT || cli->host)
        str_copy(problem, size, str_from(err.text));
    client_close(client);
    if (!cli->host && place_runtime(folder, NULL) == 0) {
        AUTO_DIR DIR *dir = opendir(folder);
        if (!dir && !is_gone(-errno))
            snprintf(problem, size, "cannot look for guards in '%s': %s", folder, strerror(errno));
        for (const struct dirent *e; dir && (e = readdir(dir));) {
            if (!str_starts(str_from(e->d_name), "guard-") || !str_ends(str_from(e->d_name), ".sock"))
                continue;
            snprintf(socket, sizeof socket, "%s/%s", folder, e->d_name);
            client = NULL;
            if (client_open(socket, &client, &err) == 0)
                ask_one(&r, client);
            client_close(client);
        }
    }
    *asked = r.asked;
    return r.workers;
}
