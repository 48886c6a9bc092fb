/* SPDX-License-Identifier: Apache-2.0
 * GET /api/history and what is below it: metrics, processes, events and limits of the past, as a document or a download.
 */
#include "serve/api/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "http/exchange.h"
#include "http/http.h"
#include "past/history_answer.h"
#include "store/service/service.h"

enum { DOCUMENT_MAX = 64 << 20, SLICE_MAX = 16 << 20 };

/* A running query; a download repeats it for each slice. */
struct history_query {
    struct history_task task;
    struct download_source source; /* of a download: asks for the next slice */
    struct history_question question;
    struct server *server;
    struct history_stream *stream; /* NULL: one document */
    struct buf out;
    /* task.rc is 1 if a download continues, 0 if it is complete, or -errno. */
};

static void query_free(struct history_task *task)
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

/* ---- downloads ---- */

static const char *download_type(const struct history_question *q)
{
    return q->format == HISTORY_CSV ? "text/csv; charset=utf-8" : "application/jsonl; charset=utf-8";
}

static struct history_query *query_of(struct download_source *source)
{
    return (struct history_query *)((char *)source - offsetof(struct history_query, source));
}

static bool ask_for_slice(struct download_source *source)
{
    struct history_query *query = query_of(source);
    return history_ask(query->server, &query->task) == 0;
}

static void download_gone(struct download_source *source, bool asked)
{
    struct history_query *query = query_of(source);
    history_withdraw(&query->task);
    if (!asked)
        query_free(&query->task);
}

/* The header is already sent, so an error can only abort the response. */
static void slice_arrived(struct history_task *task)
{
    struct history_query *query = (struct history_query *)task;
    if (!task->conn) {
        query_free(task);
    } else if (task->rc < 0) {
        download_break_off(task->conn);
    } else {
        AUTO_BLOB struct blob *slice = query->out.len ? blob_take(&query->out) : NULL;
        download_slice(task->conn, slice, task->rc > 0);
    }
}

static void begin_download(struct exchange *x, struct history_query *query)
{
    static const char *const names[] = {
        [HISTORY_SERIES] = "history", [HISTORY_PROCESSES] = "processes", [HISTORY_EVENTS] = "events"};
    const struct history_question *q = &query->question;
    char fields[128];
    snprintf(fields, sizeof fields, "Content-Disposition: attachment; filename=\"whirr-%s.%s\"\r\n", names[q->kind],
             q->format == HISTORY_CSV ? "csv" : "jsonl");
    query->source = (struct download_source){.ask = ask_for_slice, .gone = download_gone};
    query->server = x->server;
    query->task.conn = x->conn;
    query->task.arrived = slice_arrived;
    AUTO_BLOB struct blob *first = query->out.len ? blob_take(&query->out) : NULL;
    const struct reply head = {.type = download_type(q), .fields = fields, .cache = "no-store"};
    if (!download_begin(x, &head, &query->source, first, query->task.rc > 0))
        query_free(&query->task);
}

/* ---- the answer ---- */

static void reply_nothing(struct exchange *x, const struct history_question *q)
{
    AUTO_BUF struct buf out = BUF(1024);
    history_answer_nothing(q, &out);
    exchange_json(x, 200, &out);
}

/* Without a store, a download has no rows. */
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
        begin_download(x, query);
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
    query_free(&query->task);
}

/* ---- the query ---- */

static bool read_question(struct exchange *x, enum history_kind kind, struct history_question *q)
{
    struct error err = {0};
    struct wall now = clock_wall(x->server->options.env->clock);
    if (history_question_read(q, kind, history_parameter, x, now, MOMENT_UTC, &err) < 0) {
        exchange_error(x, 400, "bad_parameter", "%s%s", err.text, err.text[strlen(err.text) - 1] == '?' ? "" : ".");
        return false;
    }
    server_own_host(x->server, q->own_host);
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
        query->task = (struct history_task){.question.read = read_query, .drop = query_free};
        if (!x->server->parts.store) {
            reply_empty(x, question);
        } else if (question->format != HISTORY_JSON && !(query->stream = history_stream_new(question))) {
            ; /* router_handle() answers 500 */
        } else if (query->stream && !download_has_room(x)) {
            ; /* already answered */
        } else {
            struct history_query *asked = TAKE(query);
            asked->task.question.once = asked->stream != NULL; /* don't repeat a slice that is partly written */
            history_park(x, &asked->task);
        }
    }
    free(question);
    if (query)
        query_free(&query->task);
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

void get_history_limits(struct exchange *x)
{
    answer(x, HISTORY_LIMITS);
}
