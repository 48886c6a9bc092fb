/* SPDX-License-Identifier: Apache-2.0
 * The thread of one [push.NAME]: encodes what it is given, keeps it in its queue, sends it in order, and tries again.
 */
#pragma once

#include "base/env.h"
#include "base/log.h"
#include "config/config.h"
#include "model/reading.h"
#include "push/queue.h"
#include "push/target.h"

enum { PUSH_NAME_SIZE = 64 };

struct push_sender;

struct push_setup {
    const struct env *env;
    const char *folder; /* where queues are kept; NULL: in memory */
    const char *host;
    struct wall started; /* of the daemon and its counters; ms 0: not known */
    log_fn *say;         /* from the thread */
    void *user;
};

struct push_stats {
    char name[PUSH_NAME_SIZE];
    uint64_t sent_samples, refused_samples, lost_samples, requests, failures;
    struct push_queue_state queue;
    struct wall last_sent_at;      /* ms 0: never */
    bool failing;                  /* it does not answer, or not now */
    bool refusing;                 /* it refused the last one for good */
    struct reading clock_ahead_ms; /* our clock against its; absent: its answers have no date */
    char last_error[PUSH_ERROR_SIZE];
};

/* NULL and a sentence. */
struct push_sender *push_sender_new(const struct push_setup *setup, const struct config_push *settings, struct error *err);
/* Sends the marks of the end, for about a second; what is not sent by then is kept for the next start. NULL is fine. */
void push_sender_free(struct push_sender *p);

/* From now on these settings, of the same name; what waits in the queue stays there, and goes to the new place. Never waits. */
void push_sender_change(struct push_sender *p, const struct config_push *settings);
/* The beginning of the end: marks it, as push_sender_free() does, without waiting for it. */
void push_sender_retire(struct push_sender *p);
bool push_sender_has_ended(struct push_sender *p); /* freeing it does not wait */
const char *push_sender_name(const struct push_sender *p);

/* A scrape; the text is copied. Never waits. */
void push_sender_give(struct push_sender *p, struct str text, struct wall at);
void push_sender_stats(struct push_sender *p, struct push_stats *ret);
