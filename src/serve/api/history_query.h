/* SPDX-License-Identifier: Apache-2.0
 * GET /api/history, /api/history/processes, /api/history/events.
 */
#pragma once

#include "past/history_answer.h"
#include "serve/api/history.h"
#include "store/service.h"

/* A question on its way; of a download, it goes again and again. */
struct history_query {
    struct history_task task;
    struct history_question question;
    struct history_stream *stream; /* NULL: one document */
    struct buf out;
    /* task.rc: 1: a download goes on; 0: that was all; -errno */
};

void history_query_free(struct history_task *task);

void get_history(struct exchange *x);
void get_history_processes(struct exchange *x);
void get_history_events(struct exchange *x);
