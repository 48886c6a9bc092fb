/* SPDX-License-Identifier: Apache-2.0
 * The target of a push: the settings of [push.NAME], requests in the protocol that the other side knows, and its answers. Knows
 * nothing about the queue or time.
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
    bool gzip; /* for OTLP; remote write has its own compression */
    /* What the other side has shown: it accepted a 2.0 request; it only knows 1.0. */
    bool took_2, only_1;
};

/* NULL with a sentence. `host`: the default instance. */
struct push_target *push_target_new(const struct config_push *settings, const char *host, struct error *err);
void push_target_free(struct push_target *t); /* accepts NULL */

/* Encodes lines for this target, compressed if its protocol requires it. 0 or -ENOMEM. */
int push_target_encode(const struct push_target *t, struct buf *body, const struct push_line *lines, size_t count, struct wall at,
                       const struct push_identity *who);

enum push_outcome {
    PUSH_SENT,
    PUSH_REFUSED, /* for good */
    PUSH_LATER,
    PUSH_AS_1, /* it only knows 1.0: send the same request again at once */
    PUSH_CANCELLED
};

struct push_answer {
    char text[PUSH_ERROR_SIZE];
    int64_t retry_after_ms; /* requested by the other side; 0: none */
    struct wall its_time;   /* from its Date, to a second; ms 0: none */
};

/* Sends a request, maybe from an earlier run with another protocol: may rewrite `body` for this target. */
enum push_outcome push_target_send(struct push_target *t, const struct env *env, struct buf *body, const _Atomic bool *cancel,
                                   struct push_answer *answer);
