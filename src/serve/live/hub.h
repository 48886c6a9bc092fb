/* SPDX-License-Identifier: Apache-2.0
 * All clients that subscribe to samples, and the delivery: each sample goes to all subscribers in slices of a few milliseconds, so
 * that requests are handled in between. A subscriber that hasn't taken the last sample is skipped; afterwards it gets the number of
 * missed samples and the newest one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/loop.h"
#include "serve/live/batch.h"

struct subscriber;

struct subscriber_ops {
    void (*send)(struct subscriber *s, struct blob *bytes);
    size_t (*queued)(const struct subscriber *s); /* bytes not taken yet; 0: ready for the next sample */
};

struct subscriber {
    const struct subscriber_ops *ops;
    struct hub *hub;
    struct subscriber *next, *prev;
    enum language language;
    unsigned topics;
    int64_t interval_ms; /* 0: every sample */
    int64_t due_ms;      /* with an interval: when the next one is due */
    uint64_t seen;       /* number of the last batch that it got or did not want */
    uint64_t missed;     /* samples missed since */
    int64_t asked_ms;    /* when its count of updates began */
    unsigned asked;      /* updates requested since, within a second */
    bool joined;
    bool wants_update; /* it requested one, and waits for a fresh sample */
};

struct hub {
    struct loop *loop;
    struct watch *slice;
    struct subscriber *first;
    struct subscriber *cursor; /* next in the current delivery */
    size_t count;
    struct batch *batch; /* newest; NULL before the first */
    uint64_t samples_sent, samples_missed;
    int64_t sample_interval_ms;
};

int hub_init(struct hub *h, struct loop *loop);
void hub_done(struct hub *h);

/* Fills in the links; the caller sets topics, language and ops. */
void hub_join(struct hub *h, struct subscriber *s);
void hub_leave(struct subscriber *s);
/* Delivers a new sample to all subscribers. Takes ownership of the reference. */
void hub_publish(struct hub *h, struct batch *b);
/* Call when a busy subscriber has taken everything. */
void hub_drained(struct subscriber *s);
/* Sends one message to every subscriber of the topic at once: alerts and guard changes between samples. */
void hub_announce(struct hub *h, enum topic topic, struct str data);
/* Sends one message to one subscriber. */
void hub_tell(struct subscriber *s, enum topic topic, struct str data);
