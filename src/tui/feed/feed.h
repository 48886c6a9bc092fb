/* SPDX-License-Identifier: Apache-2.0
 * The source of the live view's samples and answers: a thread, so that a hanging driver or daemon never blocks the keys. Requests
 * go in, news come out of a mailbox.
 */
#pragma once

#include "ask/cli.h"
#include "base/mailbox.h"
#include "tui/feed/news.h"

struct feed;

enum { FEED_FLEET_TIMEOUT_MS = 30000 };

struct feed_options {
    int64_t interval_ms;
    const char *record; /* a file to record every sample; NULL: none */
    const char *fleet;  /* a database whose hosts to query instead of sampling; NULL: none */
    const char *gpus;   /* show these alone: "0,2"; "": all */
    bool patient;       /* don't fail if the host is down: it may come up later */
};
/* Starts sampling. */
struct feed *feed_start(const struct cli *cli, const struct feed_options *options, struct error *err);
/* Queues a request: REQUEST_AT, REQUEST_SERIES, REQUEST_PANE, REQUEST_GUARD, REQUEST_DETAILS, REQUEST_FIT. */
void feed_ask(struct feed *f, const struct top_request *request);
struct mailbox *feed_news(struct feed *f);
/* Ends the thread within half a second; abandons one that hangs. */
void feed_stop(struct feed *f);
