/* SPDX-License-Identifier: Apache-2.0
 * The store in threads of its own: one buffers, one writes, a few answer questions. Whatever the database does (full disk, damaged
 * file, a server that is unreachable or hangs), monitoring goes on; items that can't be written wait until they can.
 *
 *   engine ──snapshots──▶ ┌────────┐ batches ┌────────┐ one commit per interval, then a small cleanup step
 *   alerts ──events─────▶ │ keeper │◀───────▶│ writer │──────────────▶ database
 *                         └────────┘         └────────┘                   │
 *                             │ while the database can't be written       │
 *                             ▼                                           │
 *                        queue on disk                                    │
 *   API ─────questions──▶ ┌─────────┐◀────────────────────────────────────┘
 *                         │ readers │ each answers from a connection of its own
 *                         └─────────┘
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "store/store.h"

/* ---- Which question about the past is answered next. Every client has a share, and those that have used the readers least go
 * first, so that no client can occupy all of them. One reader stays free of long questions: a question first gets a short slice,
 * and if that was too short, starts over among the long ones.
 *
 *   join ──▶ waiting ──next──▶ at length (READERS_MAX - 1 at a time) ──▶ leave
 *               ▲      └─────▶ for a moment ──too short──┐         └──▶ leave
 *               └────────────────again───────────────────┘
 *
 * Pure: no threads, time is passed in. ---- */

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
/* Whether the question has waited too long. */
static inline bool turns_too_late(const struct store_question *q, struct mono now)
{
    return q->client && mono_since_ms(now, q->asked) >= QUESTION_MS;
}

/* ---- the service ---- */

struct store_service;

enum store_state {
    STORE_OPENING, /* not opened yet, or reopening */
    STORE_OK,
    STORE_FULL,    /* the disk is full */
    STORE_AWAY,    /* the server is unreachable */
    STORE_FAILING, /* any other reason: see message */
};

struct store_status {
    enum store_state state;
    const char *kind;   /* "sqlite", "postgresql" */
    int64_t queued;     /* snapshots and events waiting to be written, in memory and on disk */
    uint64_t written;   /* snapshots */
    uint64_t lost;      /* snapshots: dropped because too many waited, or rejected */
    bool losing;        /* some were lost within the last minute */
    int64_t used_bytes; /* -1 unknown */
    struct store_clock clock;
    uint64_t clean_failures; /* failed cleanups */
    char message[512];       /* why it is not OK, or a past problem worth knowing; "" otherwise */
};

struct store_service_options {
    const struct clock *clock;
    struct store_options store; /* texts are copied */
    const char *queue_path;     /* file for samples that wait while a server is unreachable; NULL: they wait in memory */
    int64_t queue_bytes;        /* its size limit */
    /* Receives log messages, from the store's threads. May be NULL. */
    void (*say)(void *user, enum log_level level, const char *message);
    void *user;
};

/* NULL and a sentence only if out of memory or threads: everything else is retried. */
struct store_service *store_service_new(const struct store_service_options *options, struct error *err);
/* Writes the remaining items, for at most timeout_ms, and ends the threads. NULL is allowed. */
void store_service_free(struct store_service *v, int64_t timeout_ms);

/* The engine puts its snapshots here (engine_subscribe). */
struct mailbox *store_service_inbox(struct store_service *v);
/* Copies the event, which is written with the next snapshot, within a second at most. */
void store_service_event(struct store_service *v, const struct store_event *event);
void store_service_set_limits(struct store_service *v, const struct store_limits *limits);

void store_service_status(struct store_service *v, struct store_status *ret);
/* Nothing is written, or something was lost: users of the history should know. */
bool store_is_troubled(const struct store_status *status);
const char *store_state_name(enum store_state state);

/* This host's name in the database if configured, or if another host there has it; "" otherwise: then the snapshots name it. */
const char *store_service_host(const struct store_service *v);

/* Queues a question for the readers, a few of which work in parallel. 0: `answered` will be called; otherwise it is not: -EDQUOT
 * (the client has too many), -EBUSY (all clients together have), -ECANCELED (the service ends). Call from one thread only. */
int store_service_ask(struct store_service *v, struct store_question *q);
/* Interrupts all waiting and running questions, which are `answered` with -ECANCELED, and refuses new ones. */
void store_service_end_questions(struct store_service *v);
