/* SPDX-License-Identifier: Apache-2.0
 * Chooses the database for `whirr db`. The daemon knows best where it writes; it reports that without the password.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "ask/client.h"
#include "base/cleanup.h"
#include "cli/history/db.h"

static void ask_daemon(const struct cli *cli, bool to_act, struct db_choice *c)
{
    struct client *client = NULL;
    struct error err = {0};
    const char *socket = cli->settings->server.socket;
    if (options_has(cli->options, "direct") ||
        (to_act ? client_open_to_act(socket, &client, &err) : client_open(socket, &client, &err)) < 0)
        return;
    AUTO_BUF struct buf answer = BUF(1 << 20);
    int code = client_request(client, "GET", "/api/health", NULL, &answer, CLIENT_WITHIN_MS, &err);
    str_copy(c->daemon, sizeof c->daemon, str_from(client_place(client)));
    client_close(client);
    AUTO_JSON json_t *doc = code > 0 ? json_loadb(answer.at, answer.len, 0, NULL) : NULL;
    c->health = json_incref(json_object_get(doc, "store"));
    const char *place = json_string_value(json_object_get(c->health, "place"));
    str_copy(c->daemon_place, sizeof c->daemon_place, str_from(place ? place : ""));
}

/* Chooses the daemon's database, if its password is known here. */
static int choose_daemons(const struct cli *cli, struct db_choice *c, struct error *err)
{
    char own[STORE_PLACE_SIZE], shown[STORE_PLACE_SIZE];
    c->by = "daemon";
    if (!strstr(c->daemon_place, "://"))
        return store_place(c->daemon_place, c->url, err);
    /* The daemon reports the place on a server without the password; the settings may have it. */
    if (store_place(cli->settings->store.url, own, err) == 0) {
        store_place_text(own, shown, sizeof shown);
        if (strcmp(shown, c->daemon_place) == 0) {
            str_copy(c->url, sizeof c->url, str_from(own));
            return 0;
        }
    }
    return error_set(err, -EINVAL, "the daemon at %s writes to %s, which is not in the settings here; give it with --store",
                     c->daemon, c->daemon_place);
}

int db_choose(const struct cli *cli, bool to_act, struct db_choice *ret, struct error *err)
{
    const char *named = options_value(cli->options, "store", NULL), *configured = cli->settings->store.url;
    *ret = (struct db_choice){.by = named ? "option" : strcmp(configured, "auto") == 0 ? "default" : "settings"};
    ask_daemon(cli, to_act, ret);
    if (!named && ret->daemon_place[0])
        return choose_daemons(cli, ret, err);
    return store_place(named ? named : configured, ret->url, err);
}

void db_choice_done(struct db_choice *c)
{
    json_decref(c->health);
    c->health = NULL;
}

const char *db_choice_words(const struct db_choice *c)
{
    return strcmp(c->by, "option") == 0     ? "given with --store"
           : strcmp(c->by, "daemon") == 0   ? "where the daemon writes"
           : strcmp(c->by, "settings") == 0 ? "store.url"
                                            : "the default";
}
