/* SPDX-License-Identifier: Apache-2.0
 * Decides which question about the past is answered next. Every client has a share, and those that have used the readers least go
 * first, so that no client can occupy all of them. One reader stays free of long questions: a question first gets a short slice,
 * and if that was too short, starts over among the long ones.
 *
 *   join ──▶ waiting ──next──▶ at length (READERS_MAX - 1 at a time) ──▶ leave
 *               ▲      └─────▶ for a moment ──too short──┐         └──▶ leave
 *               └────────────────again───────────────────┘
 *
 * Pure: no threads, time is passed in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

enum {
    READERS_MAX = 4,
    QUESTIONS_MAX = 256,   /* waiting and running */
    QUESTIONS_OF_ONE = 32, /* per client */
    LONG_OF_ONE = 2,       /* per client, running at length at the same time */
    QUESTION_MOMENT_MS = 250,
    QUESTION_MS = 20000,  /* for an answer at length, and for waiting */
    TURNS_CLIENTS = 1024, /* with remembered use */
    USE_HALVES_MS = 10000,
    USE_NOTABLE_MS = 4 * QUESTION_MOMENT_MS,
};

struct store;
struct error;

struct turns_client {
    uint64_t id;
    int64_t used_ms; /* time on readers; halved periodically */
    size_t open, running, at_length;
};

/* Embedded in the caller's own state, which must live until `answered` is called: once, on any thread. */
struct store_question {
    /* Runs on a reader's thread, with an open store. A question in a short slice fails with -ETIME and later runs again from the
     * start. */
    int (*read)(struct store_question *q, struct store *s, struct error *err);
    /* rc: the result of `read`, or why it was not called. */
    void (*answered)(struct store_question *q, int rc, const struct error *err);
    uint64_t client;       /* who asks; 0: the daemon itself, which has no quota */
    bool once;             /* can't run twice: gets the full time at once */
    _Atomic bool canceled; /* set by the caller, on any thread: nothing waits for the answer */
    /* Used by the queue. */
    struct store_question *next;
    struct turns_client *account;
    struct mono asked, begun;
    bool at_length;  /* running with the full time */
    bool is_long;    /* a short slice was not enough */
    bool is_running; /* a reader has it */
};

struct turns {
    struct store_question *waiting; /* newest first */
    size_t open, waiting_count, at_length;
    struct mono halved;
    struct turns_client clients[TURNS_CLIENTS];
};

/* 0; -EDQUOT: the client has its share already; -EBUSY: the others have too many. *ret_out: a question that was evicted, for the
 * caller to answer; NULL: none. */
int turns_join(struct turns *t, struct store_question *q, struct mono now, struct store_question **ret_out);
/* Removes and returns the next question; at_length: it may run for QUESTION_MS, else for a short slice. NULL: none, or not now. */
struct store_question *turns_next(struct turns *t, struct mono now);
/* Requeues a question whose slice was too short. */
void turns_again(struct turns *t, struct store_question *q, struct mono now);
/* Removes an answered question. */
void turns_leave(struct turns *t, struct store_question *q, struct mono now);
/* Removes any waiting question, at the end; NULL: none. */
struct store_question *turns_drop(struct turns *t);
/* Whether the question has waited too long. */
static inline bool turns_too_late(const struct store_question *q, struct mono now)
{
    return q->client && mono_since_ms(now, q->asked) >= QUESTION_MS;
}
