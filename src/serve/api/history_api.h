/* SPDX-License-Identifier: Apache-2.0
 * Queries about the past. The store's reader answers in its own thread while the request is parked.
 *
 *   loop ──question──▶ reader: question.read(store) ──mailbox──▶ loop: task->arrived()
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/mailbox.h"
#include "model/host.h"
#include "store/service/turns.h"

struct conn;
struct exchange;
struct loop;
struct server;
struct watch;

/* A query for the reader; embedded as the first member of the actual task. */
struct history_task {
    struct store_question question; /* history_ask() sets its client and `answered` */
    struct mailbox *done;
    struct conn *conn;                          /* owned by the loop; NULL once the client has left */
    void (*arrived)(struct history_task *task); /* called in the loop, which owns the task again */
    void (*drop)(struct history_task *task);    /* frees it */
    int rc;                                     /* result of the query */
    struct error err;
};

struct history {
    struct mailbox *done; /* finished tasks */
    struct watch *watch;
};

int history_init(struct history *h, struct loop *loop);
/* Call after the store has ended: until then it may put tasks into the mailbox. */
void history_done(struct history *h);

/* Queues the task for the readers, on behalf of the connection's client. Requires task->conn, done and drop; calls `arrived`
 * later. 0 or the result of store_service_ask(). */
int history_ask(struct server *s, struct history_task *task);
/* The same for a request: parks it until the task returns, as http_client.answer. If refused, responds and drops the task. */
void history_park(struct exchange *x, struct history_task *task);
/* The client has left: discard the answer. */
void history_withdraw(struct history_task *task);
/* Responds with 503 because the store could not answer (task->rc < 0). */
void history_failed(struct exchange *x, const struct history_task *task);

/* A history_parameter_fn of requests; and the host whose history is meant where none is named. */
bool history_parameter(void *exchange, const char *key, char *value, size_t size);
void server_own_host(const struct server *s, char name[HOST_NAME_SIZE]);

void get_stats_history(struct exchange *x);

/* ---- past_request.c: queries about the past that are answered in words: GET /api/why with `at`, `since` or `until`, and GET
 * /api/report ---- */

/* True if the request is about the past: it has been answered, or will be. */
bool past_handles(struct exchange *x);
void get_report(struct exchange *x);
