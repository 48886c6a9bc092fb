/* SPDX-License-Identifier: Apache-2.0
 * The messages of one sample, made once for all clients. A client's bytes depend only on its language and topics, so they are also
 * made once per such pair and shared.
 */
#pragma once

#include <stdint.h>

#include "base/json_writer.h"
#include "http/blob.h"
#include "model/snapshot.h"
#include "serve/live/topic.h"

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
