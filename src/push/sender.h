/* SPDX-License-Identifier: Apache-2.0
 * The thread of one [push.NAME]: encodes, queues, sends in order, and retries.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "config/config.h"
#include "model/reading.h"
#include "push/push_target.h"

/* Requests waiting to be sent, oldest first, each a file NUMBER.SAMPLES in its own directory. Written before sending and removed
 * when received, so that a killed program loses nothing. Bounded: a full queue drops and counts the oldest. If the disk isn't
 * writable, the newest few wait in memory. */

enum { PUSH_MEMORY_MAX = 32 };

struct push_queue;

/* Creates `folder`; NULL: everything stays in memory. Returns NULL if out of memory. */
struct push_queue *push_queue_new(const char *folder, int64_t bytes_max);
void push_queue_free(struct push_queue *q); /* accepts NULL */

/* Sets a new limit; the next put drops what exceeds it. */
void push_queue_set_max(struct push_queue *q, int64_t bytes_max);

/* Copies the body. -errno in err: it couldn't be written to disk and stays in memory. */
int push_queue_put(struct push_queue *q, struct str body, uint32_t samples, struct error *err);

/* Appends the oldest to `body`; false: none. Drops and counts unreadable ones. */
bool push_queue_first(struct push_queue *q, struct buf *body, uint32_t *samples);
/* It was sent, or refused for good. */
void push_queue_drop_first(struct push_queue *q);

struct push_queue_state {
    size_t requests;
    int64_t bytes;
    uint64_t samples;      /* waiting */
    uint64_t lost_samples; /* dropped */
};
void push_queue_get(const struct push_queue *q, struct push_queue_state *ret);

enum { PUSH_NAME_SIZE = 64 };

struct push_sender;

struct push_setup {
    const struct env *env;
    const char *folder; /* directory of the queues; NULL: in memory */
    const char *host;
    struct wall started; /* of the daemon and its counters; ms 0: unknown */
    log_fn *say;         /* called from the thread */
    void *user;
};

struct push_stats {
    char name[PUSH_NAME_SIZE];
    uint64_t sent_samples, refused_samples, lost_samples, requests, failures;
    struct push_queue_state queue;
    struct wall last_sent_at;      /* ms 0: never */
    bool failing;                  /* no answer, or "not now" */
    bool refusing;                 /* the last one was refused for good */
    struct reading clock_ahead_ms; /* our clock minus its; absent: its answers have no Date */
    char last_error[PUSH_ERROR_SIZE];
};

/* NULL with a sentence. */
struct push_sender *push_sender_new(const struct push_setup *setup, const struct config_push *settings, struct error *err);
/* Sends stale markers, for about a second; the next start sends the rest. Accepts NULL. */
void push_sender_free(struct push_sender *p);

/* Applies new settings of the same name; queued requests stay and go to the new target. Never blocks. */
void push_sender_change(struct push_sender *p, const struct config_push *settings);
/* Starts the end: marks it like push_sender_free(), without waiting. */
void push_sender_retire(struct push_sender *p);
bool push_sender_has_ended(struct push_sender *p); /* freeing it won't block */
const char *push_sender_name(const struct push_sender *p);

/* Queues a scrape; copies the text. Never blocks. */
void push_sender_give(struct push_sender *p, struct str text, struct wall at);
void push_sender_stats(struct push_sender *p, struct push_stats *ret);
