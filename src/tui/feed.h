/* SPDX-License-Identifier: Apache-2.0
 * Where the live view gets its samples and answers: a thread of its own, so that a driver or a daemon that hangs never holds up the
 * keys. Questions go in, news come out of a mailbox.
 */
#pragma once

#include "ask/cli.h"
#include "base/mailbox.h"
#include "tui/top.h"

struct feed;

enum news_kind {
    NEWS_SAMPLE,
    NEWS_TROUBLE,
    NEWS_MOMENT,
    NEWS_SERIES,
    NEWS_PANE,
    NEWS_NOTE,
    NEWS_BADGES,
    NEWS_DETAILS,
    NEWS_ANSWER,
    NEWS_IDLE
};

struct news_series {
    size_t count;
    struct trail_point *points;
};

struct news {
    enum news_kind kind;
    const struct snapshot *snapshot; /* a sample, or the moment */
    struct why *why;
    bool daemon, bad;
    int64_t number; /* the moment, the end of the series, the tab */
    size_t series_count;
    struct news_series *series; /* one for each GPU */
    size_t mark_count;
    struct top_mark marks[TOP_MARKS];
    size_t worker_count;
    struct top_worker *workers;
    struct top_badge *badges; /* one for each GPU: series_count of them */
    int32_t pid;              /* that has been idle since `number`, on that GPU */
    int gpu_index;
    struct top_details details;
    char *text;
};
void news_free(struct news *n); /* NULL is fine */
/* What the state makes of it; frees it. */
void news_take(struct news *n, struct top *t);

/* Starts sampling. `record`: a file that every sample is written into; NULL: none. `patient`: one of several hosts, which may be
 * down now and come later. */
struct feed *feed_start(const struct cli *cli, int64_t interval_ms, const char *record, bool patient, struct error *err);
/* A question: WISH_AT, WISH_SERIES, WISH_PANE, WISH_GUARD, WISH_DETAILS, WISH_FIT. */
void feed_ask(struct feed *f, const struct top_wish *wish);
struct mailbox *feed_news(struct feed *f);
/* Ends the thread when it can be ended within a moment; one that hangs is left behind. */
void feed_stop(struct feed *f);
