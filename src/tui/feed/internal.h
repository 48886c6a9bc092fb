/* SPDX-License-Identifier: Apache-2.0
 * The thread's state, and the requests it answers: one file per kind.
 */
#pragma once

#include <jansson.h>
#include <pthread.h>

#include "ask/session.h"
#include "base/os/memory.h"
#include "engine/engine.h"
#include "format/record.h"
#include "tui/feed/feed.h"

enum { ANSWER_MAX = 64 << 20 };

/* A look at the lines of a process. */
struct feed_where {
    pthread_t thread;
    bool running;
    _Atomic bool over;
    int32_t pid;
};

struct feed {
    struct cli own, *cli; /* a copy: a thread that hangs in a driver uses it until the process ends */
    struct session *session;
    struct recorder *recorder;
    char *fleet; /* URL of the database; NULL: take samples */
    struct mailbox *questions, *news;
    pthread_t thread;
    _Atomic bool ended;
    int64_t interval_ms;
    const struct snapshot *last;      /* with the chosen GPUs alone */
    const struct snapshot *whole;     /* with all of them */
    char gpus[TOP_GPUS_SIZE];         /* the chosen ones; "": all */
    const struct snapshot *explained; /* the last one that the daemon explained */
    struct cadence cadence;
    struct mono judged_at;
    struct mono tried_at;
    struct memory memory;
    bool idle_asked, had_daemon;
    struct feed_where where;
};

void feed_report(struct feed *f, enum news_kind kind, bool bad, const char *text);
/* The daemon's answer, or NULL. */
json_t *feed_get(struct feed *f, const char *target);
/* Leaves only the chosen GPUs; takes the references, and gives others back. */
void feed_narrow(const struct feed *f, const struct snapshot **s, struct why **why);

/* ---- history.c ---- */
void feed_ask_series(struct feed *f, const struct top_request *w);
void feed_ask_moment(struct feed *f, const struct top_request *w);
void feed_ask_details(struct feed *f, const struct top_request *w);
/* Ends a look into a process that is under way. */
void feed_where_end(struct feed *f);

/* ---- panes.c ---- */
/* Health and forecast of each GPU, if a daemon watches them. */
void feed_ask_badges(struct feed *f);
void feed_ask_pane(struct feed *f, const struct top_request *w);
/* Sends the request to the daemon that this user may change, even if another host is on screen. */
void feed_act_on_guard(struct feed *f, const struct top_request *w);
void feed_ask_fit(struct feed *f, const struct top_request *w);
