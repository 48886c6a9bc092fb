/* SPDX-License-Identifier: Apache-2.0
 * Questions about the past. The store's reader answers in its own thread; the request is parked meanwhile.
 *
 *   loop ──task──▶ reader: task->run(store) ──mailbox──▶ loop: task->arrived()
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/mailbox.h"
#include "store/service/turns.h"

struct conn;
struct exchange;
struct loop;
struct server;
struct watch;

/* What goes to the reader and comes back; the first member of what it carries. */
struct history_task {
    struct store_question question; /* its client and `answered` are set by history_ask */
    struct mailbox *done;
    struct conn *conn;                          /* the loop's: NULL when the client has gone */
    void (*arrived)(struct history_task *task); /* in the loop, which owns it again */
    void (*drop)(struct history_task *task);    /* frees it */
    int rc;                                     /* of the question: how it was answered */
    struct error err;
};

struct history {
    struct mailbox *done; /* tasks that the reader has finished */
    struct watch *watch;
};

int history_init(struct history *h, struct loop *loop);
/* After the store has ended: it may still put jobs into the mailbox. */
void history_done(struct history *h);

/* To the readers, in the name of the connection's client. task->conn, done and drop are set; `arrived` will be called. 0 or what
 * store_service_ask() returns. */
int history_ask(struct server *s, struct history_task *task);
/* The same for a request: it is put aside until the task comes back, as http_client.answer. Refused: it is answered, and the task
 * dropped. */
void history_park(struct exchange *x, struct history_task *task);
/* The client has gone: nothing waits for the answer. */
void history_withdraw(struct history_task *task);
/* 503: the store could not answer (task->rc < 0). */
void history_failed(struct exchange *x, const struct history_task *task);

void get_stats_history(struct exchange *x);

/* ---- Questions about the past that are answered with words: GET /api/why with `at` or `since`, and GET /api/report. The store's
 * reader answers. */

struct exchange;

/* True when the request asks about the past; it is then answered, or will be. */
bool past_handles(struct exchange *x);
void get_report(struct exchange *x);
