/* SPDX-License-Identifier: Apache-2.0
 * The store in threads of its own: one keeps what comes, one writes, a few answer questions. Whatever the database does (full disk,
 * damaged file, a server that is away or hangs), monitoring goes on; what could not be written waits, and is written when it can
 * be.
 *
 *   engine ──snapshots──▶ ┌────────┐ batches ┌────────┐ one commit an interval, then a small step of cleaning up
 *   alerts ──events─────▶ │ keeper │◀───────▶│ writer │──────────────▶ database
 *                         └────────┘         └────────┘                   │
 *                             │ while it cannot be written                │
 *                             ▼                                           │
 *                        queue on disk                                    │
 *   API ─────questions──▶ ┌─────────┐◀────────────────────────────────────┘
 *                         │ readers │ each answers from a connection of its own
 *                         └─────────┘
 */
#pragma once

#include "base/log.h"
#include "base/mailbox.h"
#include "store/service/turns.h"
#include "store/store.h"

struct store_service;

enum store_state {
    STORE_OPENING, /* not yet opened, or being opened again */
    STORE_OK,
    STORE_FULL,    /* the disk is */
    STORE_AWAY,    /* the server is not there, or not any more */
    STORE_FAILING, /* for another reason: message says which */
};

struct store_status {
    enum store_state state;
    const char *kind;   /* "sqlite", "postgresql" */
    int64_t queued;     /* snapshots and events that wait to be written, in memory and on disk */
    uint64_t written;   /* snapshots */
    uint64_t lost;      /* snapshots: dropped because too many waited, or came too late */
    bool losing;        /* some were lost within the last minute */
    int64_t used_bytes; /* -1 unknown */
    struct store_clock clock;
    uint64_t clean_failures; /* attempts at cleaning up */
    char message[512];       /* why it is not OK, or what happened that should be known; "" otherwise */
};

struct store_service_options {
    const struct clock *clock;
    struct store_options store; /* texts are copied */
    const char *queue_path;     /* file in which samples wait while a server is away; NULL: in memory */
    int64_t queue_bytes;        /* its most */
    /* Called from the store's threads when something worth saying happens. May be NULL. */
    void (*say)(void *user, enum log_level level, const char *message);
    void *user;
};

/* NULL and a sentence only when memory or threads are out: everything else is tried again. */
struct store_service *store_service_new(const struct store_service_options *options, struct error *err);
/* Writes what is left, waits at most timeout_ms for it, and ends. NULL is fine. */
void store_service_free(struct store_service *v, int64_t timeout_ms);

/* Where the engine puts its snapshots (engine_subscribe). */
struct mailbox *store_service_inbox(struct store_service *v);
/* Copied; written with the next snapshot, within a second at most. */
void store_service_event(struct store_service *v, const struct store_event *event);
void store_service_set_limits(struct store_service *v, const struct store_limits *limits);

void store_service_status(struct store_service *v, struct store_status *ret);
/* Nothing is written, or something was lost: a user who counts on the history should learn of it. */
bool store_is_troubled(const struct store_status *status);
const char *store_state_name(enum store_state state);

/* The name of this host in the database, where the settings give one; "" otherwise: the one in the snapshots. */
const char *store_service_host(const struct store_service *v);

/* A question for the readers, a few of which work side by side. 0: `answered` will be called; otherwise it is not: -EDQUOT (the
 * client has asked too many), -EBUSY (all have), -ECANCELED (the end). Asked from one thread. */
int store_service_ask(struct store_service *v, struct store_question *q);
/* No more questions: those that wait or are being answered are cut off, and `answered` with -ECANCELED. */
void store_service_end_questions(struct store_service *v);
