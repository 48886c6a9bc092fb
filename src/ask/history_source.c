/* SPDX-License-Identifier: Apache-2.0
 * Sends queries about the past to a daemon or to the history database.
 */
#include "ask/history_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ask/client.h"
#include "ask/session.h"
#include "config/places.h"

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

static void add_encoded(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, "&%s=", key);
    buf_percent(out, value);
}

static void history_source_add_number(struct buf *out, const char *key, int64_t value)
{
    if (value)
        buf_printf(out, "&%s=%lld", key, (long long)value);
}

static void add_metrics(struct buf *out, const struct history_question *q)
{
    AUTO_BUF struct buf names = BUF(4096);
    if (q->all_metrics)
        buf_text(&names, q->metrics[0].of == OF_HOST ? "host.all" : "all");
    for (size_t i = 0; i < q->metric_count; i++)
        buf_printf(&names, "%s%s%s", i ? "," : "", q->metrics[i].of == OF_HOST ? "host." : "", q->metrics[i].name);
    add_encoded(out, "metric", buf_view(&names).at);
}

static void add_time(struct buf *out, const char *key, int64_t ms)
{
    char text[WALL_TEXT_SIZE];
    wall_format((struct wall){ms}, text);
    add_encoded(out, key, ms > 0 ? text : "all");
}

static void write_target(const struct history_question *q, struct buf *out)
{
    static const char *const formats[] = {"json", "csv", "jsonl"};
    static const char *const paths[] = {"", "/processes", "/events"};
    buf_printf(out, "/api/history%s?format=%s", paths[q->kind], formats[q->format]);
    add_time(out, "since", q->since_ms);
    add_time(out, "until", q->until_ms);
    if (q->gpus[0])
        add_encoded(out, "gpu", q->gpus);
    if (q->host[0])
        add_encoded(out, "host", q->host);
    if (q->process[0])
        add_encoded(out, "process", q->process);
    history_source_add_number(out, "pid", q->pid);
    history_source_add_number(out, "life", q->run);
    if (q->kind == HISTORY_SERIES) {
        add_metrics(out, q);
        history_source_add_number(out, "points", (int64_t)q->points);
        if (q->raw)
            add_encoded(out, "step", "raw");
        else if (q->step_ms)
            buf_printf(out, "&step=%lldms", (long long)q->step_ms);
        return;
    }
    history_source_add_number(out, "limit", (int64_t)q->limit);
    if (q->event[0])
        add_encoded(out, "kind", q->event);
    if (q->by_energy)
        add_encoded(out, "sort", "energy");
}

static int check_status(int status, const struct buf *answer, struct error *err)
{
    char message[480];
    if (status < 0 || status == 200)
        return status < 0 ? status : 0;
    client_error_text(buf_view(answer), message, sizeof message);
    size_t len = strlen(message);
    if (len && message[len - 1] == '.')
        message[len - 1] = '\0';
    return error_set(err, status == 404 ? -ENODEV : -EIO, "%s", message);
}

int history_source_get(struct history_source *h, const struct history_question *q, struct buf *out, struct error *err)
{
    if (h->client) {
        AUTO_BUF struct buf target = BUF(8192);
        write_target(q, &target);
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
    write_target(q, &target);
    return check_status(client_download(h->client, buf_view(&target).at, each, user, &refusal, err), &refusal, err);
}
