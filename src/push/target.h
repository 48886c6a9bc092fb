/* SPDX-License-Identifier: Apache-2.0
 * Where a push goes: the settings of [push.NAME], requests in the protocol that the other side knows, and what it answers. Knows
 * nothing of the queue and of time.
 */
#pragma once

#include <stdatomic.h>

#include "base/env.h"
#include "config/config.h"
#include "net/peer.h"
#include "push/push.h"

enum { PUSH_ERROR_SIZE = 256 };

struct push_target {
    char *url, *job, *instance;
    enum push_kind kind;
    size_t batch;
    int64_t timeout_ms, queue_bytes;
    struct http_peer *peer;
    bool gzip; /* of OTLP; remote write has a compression of its own */
    /* What the other side has shown: it has taken a request of 2.0; it knows 1.0 alone. */
    bool took_2, only_1;
};

/* NULL and a sentence. `host`: the instance where the settings name none. */
struct push_target *push_target_new(const struct config_push *settings, const char *host, struct error *err);
void push_target_free(struct push_target *t); /* NULL is fine */

/* Lines as a request for this target, compressed where its protocol wants that. 0 or -ENOMEM. */
int push_target_encode(const struct push_target *t, struct buf *body, const struct push_line *lines, size_t count, struct wall at,
                       const struct push_identity *who);

enum push_outcome {
    PUSH_SENT,
    PUSH_REFUSED, /* for good */
    PUSH_LATER,
    PUSH_AS_1, /* it knows 1.0 alone: the same request again, at once */
    PUSH_CANCELLED
};

struct push_answer {
    char text[PUSH_ERROR_SIZE];
    int64_t retry_after_ms; /* as the other side wants it; 0: it says nothing */
    struct wall its_time;   /* by its Date, to a second; ms 0: it says nothing */
};

/* Sends a request, which may be of an earlier run with another protocol: `body` may be written anew for this target. */
enum push_outcome push_target_send(struct push_target *t, const struct env *env, struct buf *body, const _Atomic bool *cancel,
                                   struct push_answer *answer);
