/* SPDX-License-Identifier: Apache-2.0
 * Sends queries about the past to a daemon or to the history database, which it only reads.
 */
#include "ask/history_source.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
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
enum { ANSWER_MAX = 64 << 20, ANSWER_WITHIN_MS = 60000 };

struct history_source {
    struct client *client; /* or, if NULL: */
    struct store *store;
    char own_host[HOST_NAME_SIZE];
};

static const char *history_named(const struct cli *cli, const struct config *config)
{
    return cli->ask.store ? cli->ask.store : config->store.url;
}

static int open_store(const struct cli *cli, const char *url, struct store **ret, struct error *err)
{
    int rc = store_open_read_only(&cli->env, url, ret, err);
    if (rc == -ENOENT && !cli->ask.store)
        return error_set(err, rc,
                         "there is no history yet at '%s'\nTo record one: whirr serve; from each start of the host on: whirr setup",
                         strncmp(url, "sqlite:", 7) == 0 ? url + 7 : "the server");
    return rc;
}

int history_open(const struct cli *cli, const struct config *config, struct store **ret, struct error *err)
{
    char url[STORE_PLACE_SIZE];
    int rc = store_place(history_named(cli, config), url, err);
    return rc < 0 ? rc : open_store(cli, url, ret, err);
}

void history_own_host(const struct config *config, char out[HOST_NAME_SIZE])
{
    if (config->store.host[0])
        str_copy(out, HOST_NAME_SIZE, str_from(config->store.host));
    else
        env_host_name(out, HOST_NAME_SIZE);
}

static struct history_source *new_source(const struct config *config, struct error *err)
{
    struct history_source *h = calloc(1, sizeof *h);
    if (h)
        history_own_host(config, h->own_host);
    else
        error_set(err, -ENOMEM, "out of memory");
    return h;
}

int history_source_open_store(const struct cli *cli, const struct config *config, const char *url, struct history_source **ret,
                              struct error *err)
{
    struct history_source *h = new_source(config, err);
    int rc = h ? open_store(cli, url, &h->store, err) : -ENOMEM;
    if (rc == 0)
        *ret = h;
    else
        history_source_close(h);
    return rc;
}

int history_source_open(const struct cli *cli, const struct config *config, struct history_source **ret, struct error *err)
{
    char url[STORE_PLACE_SIZE];
    struct error unreachable = {0};
    struct client *client = NULL;
    int asked = cli->ask.store || cli->ask.direct ? -ENOENT : ask_open(cli, &client, &unreachable);
    if (asked < 0 && (asked != -ENOENT || cli->host))
        return error_set(err, asked, "%s", unreachable.text);
    if (asked < 0) {
        int rc = store_place(history_named(cli, config), url, err);
        return rc < 0 ? rc : history_source_open_store(cli, config, url, ret, err);
    }
    *ret = new_source(config, err);
    if (!*ret) {
        client_close(client);
        return -ENOMEM;
    }
    (*ret)->client = client;
    return 0;
}

void history_source_close(struct history_source *h)
{
    if (!h)
        return;
    client_close(h->client);
    store_close(h->store);
    free(h);
}

/* ---- a query as a request ---- */

static void add_parameter(struct buf *out, const char *key, const char *value)
{
    if (!value || !value[0]) /* the daemon applies its default */
        return;
    buf_printf(out, "%c%s=", memchr(out->at, '?', out->len) ? '&' : '?', key);
    buf_percent(out, value);
}

static void add_number(struct buf *out, const char *key, int64_t value, const char *unit)
{
    char text[32];
    snprintf(text, sizeof text, "%lld%s", (long long)value, unit);
    add_parameter(out, key, value ? text : "");
}

static void add_time(struct buf *out, const char *key, int64_t ms)
{
    char text[WALL_TEXT_SIZE] = "all";
    if (ms > 0)
        wall_format((struct wall){ms}, text);
    add_parameter(out, key, text);
}

static void add_metrics(struct buf *out, const struct history_question *q)
{
    AUTO_BUF struct buf names = BUF(4096);
    if (q->all_metrics)
        buf_text(&names, q->metrics[0].of == OF_HOST ? "host.all" : "all");
    for (size_t i = 0; i < q->metric_count; i++)
        buf_printf(&names, "%s%s%s", i ? "," : "", q->metrics[i].of == OF_HOST ? "host." : "", q->metrics[i].name);
    add_parameter(out, "metric", buf_view(&names).at);
}

static void write_history_target(const struct history_question *q, struct buf *out)
{
    static const char *const formats[] = {"json", "csv", "jsonl"};
    static const char *const paths[] = {"", "/processes", "/events"};
    buf_printf(out, "/api/history%s?format=%s", paths[q->kind], formats[q->format]);
    add_time(out, "since", q->since_ms);
    add_time(out, "until", q->until_ms);
    add_parameter(out, "gpu", q->gpus);
    add_parameter(out, "host", q->host);
    add_parameter(out, "process", q->process);
    add_number(out, "pid", q->pid, "");
    add_number(out, "life", q->run, "");
    if (q->kind == HISTORY_SERIES) {
        add_metrics(out, q);
        add_number(out, "points", (int64_t)q->points, "");
        if (q->raw)
            add_parameter(out, "step", "raw");
        else
            add_number(out, "step", q->step_ms, "ms");
        return;
    }
    add_number(out, "limit", (int64_t)q->limit, "");
    add_parameter(out, "kind", q->event);
    add_parameter(out, "sort", q->by_energy ? "energy" : "");
}

/* Why the daemon refused, to be followed by more: without its period. */
static void refusal_words(const struct buf *answer, char *text, size_t size)
{
    client_error_text(buf_view(answer), text, size);
    size_t len = strlen(text);
    if (len && text[len - 1] == '.')
        text[len - 1] = '\0';
}

static int check_status(int status, const struct buf *answer, struct error *err)
{
    char message[480];
    if (status < 0 || status == 200)
        return status < 0 ? status : 0;
    refusal_words(answer, message, sizeof message);
    return error_set(err, status == 404 ? -ENODEV : -EIO, "%s", message);
}

int history_source_get(struct history_source *h, const struct history_question *q, struct buf *out, struct error *err)
{
    if (h->client) {
        AUTO_BUF struct buf target = BUF(8192);
        write_history_target(q, &target);
        return check_status(client_request(h->client, "GET", buf_view(&target).at, NULL, out, ANSWER_WITHIN_MS, err), out, err);
    }
    struct history_question own = *q;
    memcpy(own.own_host, h->own_host, sizeof own.own_host);
    return history_answer(h->store, &own, out, err);
}

int history_write_piece(void *user, struct str piece)
{
    return fwrite(piece.at, 1, piece.len, user) == piece.len ? 0 : errno ? -errno : -EIO;
}

static int download_own(struct history_source *h, const struct history_question *q, client_piece_fn *each, void *user,
                        struct error *err)
{
    struct history_question own = *q;
    memcpy(own.own_host, h->own_host, sizeof own.own_host);
    struct history_stream *stream = history_stream_new(&own);
    int more = stream ? 1 : error_set(err, -ENOMEM, "out of memory");
    while (more == 1) {
        AUTO_BUF struct buf slice = BUF(ANSWER_MAX);
        more = history_stream_next(stream, h->store, &slice, err);
        int rc = more >= 0 ? each(user, buf_view(&slice)) : 0;
        if (rc < 0)
            more = error_set(err, rc, "cannot write: %s", strerror(-rc));
    }
    history_stream_free(stream);
    return more;
}

int history_source_download(struct history_source *h, const struct history_question *q, client_piece_fn *each, void *user,
                            struct error *err)
{
    if (!h->client)
        return download_own(h, q, each, user, err);
    AUTO_BUF struct buf target = BUF(8192), refusal = BUF(65536);
    write_history_target(q, &target);
    return check_status(client_download(h->client, buf_view(&target).at, each, user, &refusal, err), &refusal, err);
}

/* ---- explanations and reports ---- */

static void write_past_target(const struct cli *cli, const struct past_question *q, struct buf *out)
{
    buf_text(out, q->kind == PAST_REPORT ? "/api/report" : "/api/why");
    if (q->kind == PAST_REPORT) {
        add_parameter(out, "price", cli->ask.price);
        add_parameter(out, "currency", cli->ask.currency);
        add_parameter(out, "hot", cli->ask.hot);
    }
    if (q->kind == PAST_MOMENT) {
        add_time(out, "at", q->at.ms);
    } else {
        add_time(out, "since", q->since.ms);
        add_time(out, "until", q->until.ms);
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
    write_past_target(cli, q, &target);
    int status = target.failed ? -ENOMEM : client_request(client, "GET", target.at, NULL, answer, ANSWER_WITHIN_MS, &ignored);
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
    refusal_words(answer, text, sizeof text);
    return error_set(err, status == 404 ? -ENODEV : status == 400 ? -EINVAL : -EIO, "%s", text);
}

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
    return status == EXIT_FINE ? print(cli, body, q->kind == PAST_REPORT, by) : status;
}
