/* SPDX-License-Identifier: Apache-2.0
 * Slices to a connection that has left HTTP's hands.
 */
#include "http/download.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "http/http.h"
#include "serve/api/core.h"
#include "serve/api/history_query.h"

enum { STALL_MS = 300000, ASK_AGAIN_MS = 100 };

struct download {
    struct server *server;
    struct conn *conn;
    struct history_query *query;
    bool asked;   /* the query is with the reader */
    bool chunked; /* HTTP/1.1 */
};

static const struct protocol download_protocol;

static void ask(struct download *d)
{
    if (d->asked || d->conn->finishing || conn_queued(d->conn))
        return;
    d->asked = history_ask(d->server, &d->query->task) == 0;
    conn_set_deadline(d->conn, d->asked ? 0 : ASK_AGAIN_MS);
}

static void send_slice(struct download *d)
{
    struct history_query *query = d->query;
    AUTO_BLOB struct blob *body = query->out.len ? blob_take(&query->out) : NULL;
    char size[24];
    int len = snprintf(size, sizeof size, "%zx\r\n", body ? body->len : 0);
    if (body && d->chunked)
        conn_send(d->conn, (struct piece[]){{size, (size_t)len, NULL}, piece_blob(body), PIECE_STR(STR("\r\n"))}, 3);
    else if (body)
        conn_send(d->conn, &(struct piece){body->at, body->len, body}, 1);
    if (query->task.rc == 0) {
        if (d->chunked)
            conn_send(d->conn, &PIECE_STR(STR("0\r\n\r\n")), 1);
        conn_set_deadline(d->conn, STALL_MS);
        conn_finish(d->conn, false);
        return;
    }
    conn_set_deadline(d->conn, STALL_MS);
    ask(d);
}

/* In the loop. */
static void arrived(struct history_task *task)
{
    struct conn *c = task->conn;
    if (!c || c->protocol != &download_protocol) {
        task->drop(task);
        return;
    }
    struct download *d = c->state;
    d->asked = false;
    /* The head has promised an answer: that it is broken off is all that can still be said. */
    if (d->query->task.rc < 0)
        conn_close(c);
    else
        send_slice(d);
}

static size_t ignore_input(struct conn *c, char *at, size_t len)
{
    (void)c, (void)at;
    return len;
}

static void drained(struct conn *c)
{
    ask(c->state);
}

static void expired(struct conn *c)
{
    struct download *d = c->state;
    if (conn_queued(c) && loop_now_ms() - c->progress_ms >= STALL_MS)
        conn_close(c);
    else if (conn_queued(c))
        conn_set_deadline(c, STALL_MS);
    else
        ask(d);
}

/* It may have closed its sending side only; when it is gone, sending fails. */
static void hangup(struct conn *c)
{
    (void)c;
}

static void closed(struct conn *c)
{
    struct download *d = c->state;
    history_withdraw(&d->query->task);
    if (!d->asked)
        history_query_free(&d->query->task);
    d->server->history.downloads--;
    c->place->downloads--;
    free(d);
    c->state = NULL;
}

static const struct protocol download_protocol = {
    .input = ignore_input, .drained = drained, .expired = expired, .hangup = hangup, .closed = closed, .input_max = 1};

const char *download_type(const struct history_question *q)
{
    return q->format == HISTORY_CSV ? "text/csv; charset=utf-8" : "application/jsonl; charset=utf-8";
}

void download_begin(struct exchange *x, struct history_query *query)
{
    static const char *const names[] = {
        [HISTORY_SERIES] = "history", [HISTORY_PROCESSES] = "processes", [HISTORY_EVENTS] = "events"};
    const struct history_question *q = &query->question;
    struct download *d = calloc(1, sizeof *d);
    if (!d) {
        exchange_error(x, 500, "internal", "Out of memory.");
        history_query_free(&query->task);
        return;
    }
    char fields[128];
    snprintf(fields, sizeof fields, "Content-Disposition: attachment; filename=\"whirr-%s.%s\"\r\n", names[q->kind],
             q->format == HISTORY_CSV ? "csv" : "jsonl");
    *d = (struct download){.server = x->server, .conn = x->conn, .query = query, .chunked = x->request->minor > 0};
    bool only_head = x->request->method == HTTP_HEAD;
    exchange_begin(x, &(struct reply){.type = download_type(q), .fields = fields, .cache = "no-store"});
    query->task.conn = x->conn;
    query->task.arrived = arrived;
    x->server->history.downloads++;
    x->conn->place->downloads++;
    http_hand_over(x->conn, &download_protocol, d);
    if (only_head)
        conn_finish(x->conn, false);
    else
        send_slice(d);
}
