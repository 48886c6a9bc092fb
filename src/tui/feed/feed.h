/* SPDX-License-Identifier: Apache-2.0
 * Where the live view gets its samples and answers: a thread of its own, so that a driver or a daemon that hangs never holds up the
 * keys. Questions go in, news come out of a mailbox.
 */
#pragma once

#include "ask/cli.h"
#include "base/mailbox.h"
#include "tui/feed/news.h"

struct feed;

enum { FEED_FLEET_WITHIN_MS = 30000 };

struct feed_options {
    int64_t interval_ms;
    const char *record; /* a file that every sample is written into; NULL: none */
    const char *fleet;  /* the database whose hosts are asked for instead of samples; NULL: none */
    bool patient;       /* one of several hosts, which may be down now and come later */
};
/* Starts sampling. */
struct feed *feed_start(const struct cli *cli, const struct feed_options *options, struct error *err);
/* A question: REQUEST_AT, REQUEST_SERIES, REQUEST_PANE, REQUEST_GUARD, REQUEST_DETAILS, REQUEST_FIT. */
void feed_ask(struct feed *f, const struct top_request *request);
struct mailbox *feed_news(struct feed *f);
/* Ends the thread when it can be ended within a moment; one that hangs is left behind. */
void feed_stop(struct feed *f);
