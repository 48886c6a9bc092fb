/* SPDX-License-Identifier: Apache-2.0
 * Queries the daemon, or reads the history itself.
 */
#include "ask/past_answer.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/cli.h"
#include "ask/client.h"
#include "ask/progress.h"
#include "ask/session.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "config/places.h"
#include "format/table/table.h"

/* A month of many GPUs takes a while on a small host. */
enum { ANSWER_MAX = 64 << 20, DAEMON_WITHIN_MS = 60000 };

/* ---- the daemon ---- */

static void add_parameter(struct buf *out, const char *key, const char *value)
{
    if (!value || !value[0]) /* the daemon applies its default */
        return;
    buf_printf(out, "%c%s=", memchr(out->at, '?', out->len) ? '&' : '?', key);
    buf_percent(out, value);
}

static void add_time(struct buf *out, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE] = "all";
    if (at.ms > 0)
        wall_format(at, text);
    add_parameter(out, key, text);
}

static void write_target(const struct cli *cli, const struct past_question *q, struct buf *out)
{
    buf_text(out, q->kind == PAST_REPORT ? "/api/report" : "/api/why");
    if (q->kind == PAST_REPORT) {
        add_parameter(out, "price", cli->ask.price);
        add_parameter(out, "currency", cli->ask.currency);
        add_parameter(out, "hot", cli->ask.hot);
    }
    if (q->kind == PAST_MOMENT) {
        add_time(out, "at", q->at);
    } else {
        add_time(out, "since", q->since);
        add_time(out, "until", q->until);
    }
    add_parameter(out, "gpu", q->gpu);
    add_parameter(out, "host", q->host);
}

/* 1: answered; 0: no daemon to query; -errno: the daemon's refusal. */
static int ask_daemon(const struct cli *cli, const struct past_question *q, struct buf *answer, struct error *err)
{
    struct client *client = NULL;
    struct error ignored = {0};
    if (ask_open(cli, &client, &ignored) < 0) {
        if (cli->host)
            return error_set(err, ignored.code == -EINVAL ? -EINVAL : -EIO, "%s", ignored.text);
        log_debug("reading the history here", LOG_TEXT("reason", ignored.text));
        return 0;
    }
    AUTO_BUF struct buf target = BUF(2048);
    write_target(cli, q, &target);
    int status = target.failed ? -ENOMEM : client_request(client, "GET", target.at, NULL, answer, DAEMON_WITHIN_MS, &ignored);
    client_close(client);
    if (status == 200)
        return 1;
    if (status < 0 && cli->host)
        return error_set(err, -EIO, "%s", ignored.text);
    if (status < 0) {
        log_warn("reading the history without the daemon", LOG_TEXT("reason", ignored.text));
        return 0;
    }
    char text[512];
    client_error_text(buf_view(answer), text, sizeof text);
    size_t len = strlen(text);
    if (len && text[len - 1] == '.')
        text[len - 1] = '\0';
    return error_set(err, status == 404 ? -ENODEV : status == 400 ? -EINVAL : -EIO, "%s", text);
}

/* ---- the history itself ---- */

static int read_here(const struct cli *cli, const struct config *config, struct past_question *q, struct buf *answer,
                     struct error *err)
{
    struct store *s = NULL;
    int rc = history_open(cli, config, &s, err);
    if (rc < 0)
        return rc;
    history_own_host(config, q->own_host);
    if (!cli->ask.price)
        q->price_per_kwh = config->energy.price_per_kwh;
    q->co2_g_per_kwh = config->energy.co2_g_per_kwh;
    str_copy(q->co2_file, sizeof q->co2_file, str_from(config->energy.co2_file));
    if (!q->currency[0])
        str_copy(q->currency, sizeof q->currency, str_from(config->energy.currency));
    rc = past_answer(s, q, answer, err);
    store_close(s);
    return rc;
}

/* The body of the answer; release it with json_decref(). -ENODEV: no such GPU or host. */
static int past_ask(struct cli *cli, struct past_question *q, json_t **ret, struct error *err)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    const struct config *config = cli->settings;
    struct progress *shown = progress_begin("reading the history");
    int rc = cli->ask.direct || cli->ask.store ? 0 : ask_daemon(cli, q, &answer, err);
    if (rc == 0)
        rc = read_here(cli, config, q, &answer, err);
    progress_end(shown);
    if (rc < 0)
        return rc;
    *ret = json_loadb(answer.at ? answer.at : "", answer.len, 0, NULL);
    return *ret ? 0 : error_set(err, -EPROTO, "cannot understand the answer");
}

static int print(struct cli *cli, json_t *body, bool report, const char *by)
{
    AUTO_BUF struct buf out = BUF(ANSWER_MAX);
    if (cli->json) {
        char *text = json_dumps(body, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        buf_text(&out, text ? text : "");
        buf_char(&out, '\n');
        out.failed |= !text;
        free(text);
    } else if ((report ? table_report(&out, &cli->page, body, by) : table_past(&out, &cli->page, body)) < 0) {
        return cli_fail("cannot understand the answer");
    }
    return show_text(&out);
}

int past_fetch(struct cli *cli, struct past_question *q, json_t **ret)
{
    struct error err = {0};
    cli->page.now = q->now;
    int rc = past_ask(cli, q, ret, &err);
    if (rc == -EINVAL)
        return cli_usage(cli, "%s", err.text);
    return rc < 0 ? cli_fail("%s", err.text) : EXIT_FINE;
}

int past_show(struct cli *cli, struct past_question *q, const char *by)
{
    AUTO_JSON json_t *body = NULL;
    int status = past_fetch(cli, q, &body);
    if (status != EXIT_FINE)
        return status;
    status = print(cli, body, q->kind == PAST_REPORT, by);
    return status;
}
