/* SPDX-License-Identifier: Apache-2.0
 * Whose question about the past is answered next. Every client has a share, and those that have used the readers least go first, so
 * that one of them cannot take all places. Long questions leave one reader free: there, a question gets a moment, and if that was
 * too short it begins anew among the long ones.
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
    QUESTIONS_MAX = 256,   /* waiting and being answered */
    QUESTIONS_OF_ONE = 32, /* of one client */
    LONG_OF_ONE = 2,       /* of one client, answered at length at the same time */
    QUESTION_MOMENT_MS = 250,
    QUESTION_MS = 20000,  /* for an answer at length, and for waiting */
    TURNS_CLIENTS = 1024, /* whose use is remembered */
    USE_HALVES_MS = 10000,
    USE_NOTABLE_MS = 4 * QUESTION_MOMENT_MS,
};

struct store;
struct error;

struct turns_client {
    uint64_t id;
    int64_t used_ms; /* of readers; halved as time goes by */
    size_t open, running, at_length;
};

/* Lies within what the one who asks keeps about it, until `answered` is called: once, in any thread. */
struct store_question {
    /* In a reader's thread, with an open store. A question with little time fails with -ETIME and is then read again from the
     * start. */
    int (*read)(struct store_question *q, struct store *s, struct error *err);
    /* rc: what `read` returned, or why it was not called. */
    void (*answered)(struct store_question *q, int rc, const struct error *err);
    uint64_t client;       /* who asks; 0: the daemon itself, which has no share */
    bool once;             /* cannot be read a second time: it gets all the time at once */
    _Atomic bool canceled; /* by the one who asked, from any thread: nothing waits for the answer */
    /* Of the queue. */
    struct store_question *next;
    struct turns_client *account;
    struct mono asked, begun;
    bool at_length;  /* being answered with all the time there is */
    bool is_long;    /* a moment was too short */
    bool is_running; /* being answered */
};

struct turns {
    struct store_question *waiting; /* the newest first */
    size_t open, waiting_count, at_length;
    struct mono halved;
    struct turns_client clients[TURNS_CLIENTS];
};

/* 0; -EDQUOT: the client has its share already; -EBUSY: too many of others. *ret_out: one that has to make room, for the caller to
 * answer; NULL: none. */
int turns_join(struct turns *t, struct store_question *q, struct mono now, struct store_question **ret_out);
/* The next one to be answered, which the caller then has; at_length: it has QUESTION_MS, else a moment. NULL: none, or not now. */
struct store_question *turns_next(struct turns *t, struct mono now);
/* A moment was too short. */
void turns_again(struct turns *t, struct store_question *q, struct mono now);
/* Answered. */
void turns_leave(struct turns *t, struct store_question *q, struct mono now);
/* Any that waits, at the end; NULL: none. */
struct store_question *turns_drop(struct turns *t);
/* Whether its time to wait is over. */
static inline bool turns_too_late(const struct store_question *q, struct mono now)
{
    return q->client && mono_since_ms(now, q->asked) >= QUESTION_MS;
}
