/* SPDX-License-Identifier: Apache-2.0
 * The source of the live view's samples and answers: a thread, so that a hanging driver or daemon never blocks the keys. Requests
 * go in, news come out of a mailbox.
 */
#pragma once

#include "ask/cli.h"
#include "base/mailbox.h"
#include "fleet/fleet.h"
#include "tui/top.h"

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

/* ---- news: results of the thread, one message each, and how they change the state ---- */

enum news_kind {
    NEWS_SAMPLE,
    NEWS_TROUBLE,
    NEWS_MOMENT,
    NEWS_SERIES,
    NEWS_PANE,
    NEWS_NOTE,
    NEWS_BADGES,
    NEWS_DETAILS,
    NEWS_WHERE,
    NEWS_ANSWER,
    NEWS_IDLE,
    NEWS_FLEET
};

struct news_series {
    size_t count;
    struct trail_point *points;
};

struct news {
    enum news_kind kind;
    const struct snapshot *snapshot; /* a sample, or the moment */
    const struct snapshot *whole;    /* of a sample: with the GPUs that are not shown */
    struct why *why;
    bool daemon, bad;
    int64_t number; /* the moment, the end of the series, the tab */
    size_t series_count;
    struct news_series *series; /* one per GPU */
    size_t mark_count;
    struct top_mark marks[TOP_MARKS];
    size_t worker_count;
    struct top_worker *workers;
    struct top_badge *badges; /* one per GPU: series_count of them */
    int32_t pid;              /* idle since `number`, on that GPU */
    int gpu_index;
    struct top_details details;
    struct top_missing missing; /* a moment without a snapshot */
    struct fleet fleet;
    char *text;
};
struct news *news_new(enum news_kind kind); /* NULL: out of memory */
void news_free(struct news *n);             /* NULL is fine */
/* Applies the message to the state, and frees it. */
void news_take(struct news *n, struct top *t);
