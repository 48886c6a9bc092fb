/* SPDX-License-Identifier: Apache-2.0
 * Any metric of the past, who used the GPUs, and what happened.
 */
#include "serve/api/history_query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "http/download.h"
#include "http/http.h"
#include "serve/api/core.h"

enum { DOCUMENT_MAX = 64 << 20, SLICE_MAX = 16 << 20 };

void history_query_free(struct history_task *task)
{
    struct history_query *query = (struct history_query *)task;
    history_stream_free(query->stream);
    buf_done(&query->out);
    free(query);
}

/* In the reader's thread. */
static int read_query(struct store_question *q, struct store *s, struct error *err)
{
    struct history_query *query = (struct history_query *)q;
    buf_done(&query->out);
    query->out = BUF(query->stream ? SLICE_MAX : DOCUMENT_MAX);
    return query->stream ? history_stream_next(query->stream, s, &query->out, err)
                         : history_answer(s, &query->question, &query->out, err);
}

/* ---- the answer ---- */

static void reply_nothing(struct exchange *x, const struct history_question *q)
{
    AUTO_BUF struct buf out = BUF(1024);
    history_answer_nothing(q, &out);
    exchange_json(x, 200, &out);
}

/* Without a store, a download has no rows at all. */
static void reply_empty(struct exchange *x, const struct history_question *q)
{
    if (q->format == HISTORY_JSON) {
        reply_nothing(x, q);
        return;
    }
    AUTO_BLOB struct blob *nothing = blob_copy(STR(""));
    if (nothing)
        exchange_reply(x, &(struct reply){.type = download_type(q), .body = nothing, .cache = "no-store"});
}

static void reply(struct exchange *x, struct history_query *query)
{
    int rc = query->task.rc;
    if (rc >= 0 && query->stream) {
        download_begin(x, query);
        return;
    }
    if (rc == -EINVAL)
        exchange_error(x, 400, "bad_parameter", "%s.", query->task.err.text);
    else if (rc == -ENODEV)
        exchange_error(x, 404, "not_found", "%s.", query->task.err.text);
    else if (rc == -ENOENT)
        reply_empty(x, &query->question);
    else if (rc < 0)
        history_failed(x, &query->task);
    else
        exchange_json(x, 200, &query->out);
    history_query_free(&query->task);
}

/* ---- the question ---- */

static bool parameter(void *user, const char *key, char *value, size_t size)
{
    struct exchange *x = user;
    return http_query(x->request, key, value, size);
}

static bool read_question(struct exchange *x, enum history_kind kind, struct history_question *q)
{
    struct error err = {0};
    struct wall now = clock_wall(x->server->options.env->clock);
    if (history_question_read(q, kind, parameter, x, now, MOMENT_UTC, &err) < 0) {
        exchange_error(x, 400, "bad_parameter", "%s%s", err.text, err.text[strlen(err.text) - 1] == '?' ? "" : ".");
        return false;
    }
    const struct server *s = x->server;
    const char *own = s->parts.store ? store_service_host(s->parts.store) : "";
    if (!own[0] && s->data.latest)
        own = s->data.latest->host.name;
    str_copy(q->own_host, sizeof q->own_host, str_from(own));
    return true;
}

static void answer(struct exchange *x, enum history_kind kind)
{
    struct http_client *client = x->conn->state;
    if (client->answer) {
        reply(x, TAKE(client->answer));
        return;
    }
    struct history_question *question = malloc(sizeof *question);
    struct history_query *query = calloc(1, sizeof *query);
    if (question && query && read_question(x, kind, question)) {
        query->question = *question;
        query->task = (struct history_task){.question.read = read_query, .drop = history_query_free};
        if (!x->server->parts.store) {
            reply_empty(x, question);
        } else if (question->format != HISTORY_JSON && !(query->stream = history_stream_new(question))) {
            ; /* router_handle() answers 500 */
        } else if (query->stream && x->conn->place->downloads >= DOWNLOADS_OF_ONE) {
            exchange_error_with(x, 429, "Retry-After: 10\r\n", "too_many_downloads",
                                "Too many downloads from this address are running already.");
        } else if (query->stream && x->server->history.downloads >= DOWNLOADS_MAX) {
            exchange_error_with(x, 503, "Retry-After: 10\r\n", "busy", "Too many downloads are running already.");
        } else {
            struct history_query *asked = TAKE(query);
            asked->task.question.once = asked->stream != NULL; /* what was written of a slice is not written again */
            history_park(x, &asked->task);
        }
    }
    free(question);
    if (query)
        history_query_free(&query->task);
}

void get_history(struct exchange *x)
{
    answer(x, HISTORY_SERIES);
}

void get_history_processes(struct exchange *x)
{
    answer(x, HISTORY_PROCESSES);
}

void get_history_events(struct exchange *x)
{
    answer(x, HISTORY_EVENTS);
}
