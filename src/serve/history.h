/* SPDX-License-Identifier: Apache-2.0
 * GET /api/system/gpu-stats/history: stored rows, page by page. The store's reader answers in its own thread; the request is
 * parked meanwhile.
 */
#pragma once

#include "base/mailbox.h"

struct exchange;
struct loop;
struct watch;

struct history {
    struct mailbox *done; /* jobs that the reader has finished */
    struct watch *watch;
};

int history_init(struct history *h, struct loop *loop);
/* After the store has ended: it may still put jobs into the mailbox. */
void history_done(struct history *h);

void get_stats_history(struct exchange *x);
