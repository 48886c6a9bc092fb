/* SPDX-License-Identifier: Apache-2.0
 * Questions about the past. The store's reader answers in its own thread; the request is parked meanwhile.
 *
 *   loop ──task──▶ reader: task->run(store) ──mailbox──▶ loop: task->arrived()
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mailbox.h"

struct conn;
struct exchange;
struct loop;
struct server;
struct watch;

/* What goes to the reader and comes back; the first member of what it carries. */
struct history_task {
    struct mailbox *done;
    struct conn *conn;                          /* the loop's: NULL when the client has gone */
    void (*arrived)(struct history_task *task); /* in the loop, which owns it again */
    void (*drop)(struct history_task *task);    /* frees it */
};

struct history {
    struct mailbox *done; /* tasks that the reader has finished */
    struct watch *watch;
    size_t downloads;
};

int history_init(struct history *h, struct loop *loop);
/* After the store has ended: it may still put jobs into the mailbox. */
void history_done(struct history *h);

/* Puts the request aside until the task comes back, as http_client.answer. */
void history_park(struct exchange *x, struct history_task *task);
/* 503: the reader has too much to do. */
void history_refuse(struct exchange *x);
/* 503: the store could not answer. */
void history_failed(struct exchange *x, const char *reason);

void get_stats_history(struct exchange *x);

/* ---- Questions about the past that are answered with words: GET /api/why with `at` or `since`, and GET /api/report. The store's
 * reader answers. */

struct exchange;

/* True when the request asks about the past; it is then answered, or will be. */
bool past_handles(struct exchange *x);
void get_report(struct exchange *x);
