/* SPDX-License-Identifier: Apache-2.0
 * Queries the daemon about alerts, and reads the rules of the configuration.
 */
#include "ask/answers.h"

#include <errno.h>
#include <string.h>

#include "ask/cli.h"
#include "ask/client.h"
#include "ask/session.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "config/config.h"

enum { ANSWER_MAX = 64 << 20 };

json_t *alert_ask(struct cli *cli, const char *method, const char *path, const char *body, struct error *err)
{
    struct client *client = NULL;
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    json_t *json = NULL;
    bool acts = strcmp(method, "GET") != 0;
    int result = acts ? act_open(cli, &client, err) : ask_open(cli, &client, err);
    if (result == 0)
        result = client_request(client, method, path, body, &answer, CLIENT_WITHIN_MS, err);
    if (result >= 400) {
        char text[400];
        client_error_text(buf_view(&answer), text, sizeof text);
        error_set(err, -EREMOTEIO, "%s", text);
    } else if (result > 0) {
        json = json_loadb(answer.at, answer.len, 0, NULL);
        if (!json)
            error_set(err, -EPROTO, "cannot understand the daemon's answer");
        if (acts) /* name the daemon that acted */
            json_object_set_new(json, "daemon", json_string(client_place(client)));
    }
    if (!json && cli->host && err->code == -ENOENT)
        err->code = -EIO; /* don't fall back to sampling on this host */
    client_close(client);
    return json;
}

bool alert_is_direct(const struct cli *cli)
{
    return cli->ask.direct || cli->ask.source_count || env_is_recorded(&cli->env);
}

int alert_load(struct cli *cli, struct config **ret_config, struct alert_rules **ret)
{
    static struct config_problems problems; /* large */
    int status = settings_load(cli, NULL, 0, ret_config);
    if (status != EXIT_FINE)
        return status;
    if (alert_rules_new(*ret_config, &cli->env, &problems, ret) == 0)
        return EXIT_FINE;
    config_free(TAKE(*ret_config));
    return cli_fail("cannot read the rules: %s", problems.count ? problems.list[0].text : "out of memory");
}

int alert_print_json(const json_t *json)
{
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    AUTO_FREE char *text = json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10));
    buf_printf(&out, "%s\n", text ? text : "{}");
    return show_text(&out);
}
