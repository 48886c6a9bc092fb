/* SPDX-License-Identifier: Apache-2.0
 * One request to all guards.
 */
#include "ask/guard.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ask/client.h"
#include "ask/settings.h"
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

static void ask_one(struct round *r, const char *socket)
{
    struct client *client = NULL;
    struct error err = {0};
    AUTO_BUF struct buf answer = BUF(4 << 20);
    if (client_open(socket, &client, &err) < 0)
        return;
    int status = client_request(client, r->method, r->path, r->body, &answer, ANSWER_WITHIN_MS, &err);
    client_close(client);
    if (status < 0)
        return;
    json_t *json = json_loadb(buf_view(&answer).at, answer.len, 0, NULL);
    const json_t *list = json_object_get(json, "workers");
    if (status < 300 && json_is_array(list)) {
        r->asked++;
        json_array_extend(r->workers, (json_t *)list);
    } else if (status != 404 || json_object_get(json, "error")) {
        client_error_text(buf_view(&answer), r->problem, r->size);
    }
    json_decref(json);
}

json_t *guard_ask(struct cli *cli, const char *method, const char *path, const char *body, size_t *asked, char *problem,
                  size_t size)
{
    struct round r = {.method = method, .path = path, .body = body, .workers = json_array(), .problem = problem, .size = size};
    struct config *config = NULL;
    struct config_problems problems;
    char folder[PLACE_SIZE], socket[PLACE_SIZE + 300];
    problem[0] = '\0';
    settings_read(cli, NULL, 0, &config, &problems);
    ask_one(&r, config ? config->server.socket : "auto");
    config_free(config);
    if (place_runtime(folder, NULL) == 0) {
        AUTO_DIR DIR *dir = opendir(folder);
        for (const struct dirent *e; dir && (e = readdir(dir));) {
            if (!str_starts(str_from(e->d_name), "guard-") || !str_ends(str_from(e->d_name), ".sock"))
                continue;
            snprintf(socket, sizeof socket, "%s/%s", folder, e->d_name);
            ask_one(&r, socket);
        }
    }
    *asked = r.asked;
    return r.workers;
}
