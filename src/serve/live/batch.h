/* SPDX-License-Identifier: Apache-2.0
 * The messages of one sample, made once for all clients. A client's bytes depend only on its language and topics, so they are also
 * made once per such pair and shared.
 */
#pragma once

#include <stdint.h>

#include "base/json_writer.h"
#include "http/blob.h"
#include "model/snapshot.h"

struct why;

/* The kinds of messages for clients, in the order in which those of one sample are sent. */
enum topic {
    TOPIC_STATUS, /* once, on connect */
    TOPIC_STATUS_UPDATE,
    TOPIC_STATS,
    TOPIC_HIGH_USAGE,
    TOPIC_GPU_EVENT,  /* reported by the driver: XID, lost, back */
    TOPIC_GPU_HEALTH, /* a GPU's health changed */
    TOPIC_ALERT,
    TOPIC_GUARD,
    TOPIC_MISSED,
    TOPIC_ERROR,
    TOPIC_COUNT,
};

enum { TOPICS_ALL = (1 << TOPIC_COUNT) - 1 };
/* Topics that a client can't switch off: its welcome, missed samples, its own errors. */
enum { TOPICS_ALWAYS = 1 << TOPIC_STATUS | 1 << TOPIC_MISSED | 1 << TOPIC_ERROR };

bool topic_from_name(struct str name, enum topic *ret);

/* Wire formats of messages. */
enum language {
    LANGUAGE_WS,       /* WebSocket frames of {"type": ..., "data": ...} */
    LANGUAGE_SIO_WS,   /* WebSocket frames of 42["type", data] */
    LANGUAGE_SIO_POLL, /* packets 42["type", data], joined by the record separator */
    LANGUAGE_COUNT,
};

enum { BATCH_CACHE = 12 };

struct batch {
    unsigned refs;
    uint64_t number; /* sequence number */
    struct {
        enum topic topic;
        size_t at, len; /* in `text` */
    } * messages;
    size_t count, capacity;
    struct buf text; /* the data of all messages */
    struct {
        enum language language;
        unsigned topics;
        struct blob *blob;
    } cache[BATCH_CACHE];
};

struct batch *batch_new(uint64_t number);
void batch_unref(struct batch *b); /* NULL is fine */

/* Between these two calls the caller writes one JSON value. */
struct json_writer batch_begin(struct batch *b, enum topic topic);
void batch_end(struct batch *b);

/* The bytes for a client; an empty blob if it wants none of the topics. NULL if out of memory. Borrowed. */
struct blob *batch_bytes(struct batch *b, enum language language, unsigned topics);
/* Appends a single message. */
void batch_write_message(struct buf *out, enum language language, enum topic topic, struct str data);

/* ---- what the messages say: the data of each ---- */

/* Which GPUs exceed the threshold of high_gpu_usage_alert, by position in the snapshot. */
struct high_usage {
    bool above[GPU_MAX];
};

/* All messages of a periodic sample, in the order of docs/api.md. `why` may be NULL. */
void compose_sample(struct batch *b, const struct snapshot *s, const struct why *why, struct high_usage *usage,
                    double limit_percent);
/* The data of gpu_status. */
void compose_status(struct json_writer *j, const struct snapshot *s, const struct why *why, int64_t interval_ms);
