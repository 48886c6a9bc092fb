/* SPDX-License-Identifier: Apache-2.0
 * Metrics for databases that don't scrape. Only push_target.c and sender.c do more than compute.
 *
 *   text of /metrics ─▶ scrape ─▶ batches with stale markers ─▶ remote write or OTLP ─▶ queue on disk ─▶ sender
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "config/config.h"
#include "model/reading.h"
#include "net/peer.h"

enum { PUSH_BODY_MAX = 64 << 20, PUSH_TEXT_MAX = 256 << 20 };

/* One line of the text: a series and its value. Views point into the text. */
struct push_line {
    struct str series; /* name{labels} as written: its identity */
    double value;
    bool counter;
    struct str help; /* its family's help text */
    bool stale;      /* it ended: a marker in place of a value */
};

struct push_scrape {
    char *text;
    struct push_line *lines;
    size_t count;
    struct wall at;
};

/* Copies the text. 0 or -ENOMEM. */
int push_scrape_init(struct push_scrape *s, struct str text, struct wall at);
void push_scrape_done(struct push_scrape *s);

/* Appends lines of `before` that are missing in `now` as stale. Their views still point into the text of `before`. */
int push_mark_stale(struct push_scrape *now, const struct push_scrape *before);

/* Labels of a line, unescaped into `space`, sorted by name as remote write requires, without empty ones; includes __name__. */
enum { PUSH_LABELS_MAX = 48 };
struct push_label {
    struct str name, value;
};
struct push_labels {
    struct push_label list[PUSH_LABELS_MAX];
    size_t count;
    struct buf space;
};
void push_labels_init(struct push_labels *l);
void push_labels_done(struct push_labels *l);
/* Adds `job` and `instance` unless the line has them. False: invalid, or too many labels. */
bool push_labels_read(struct push_labels *l, struct str series, struct str job, struct str instance);

struct push_identity {
    const char *job, *instance, *host;
    struct wall started; /* of this program and its own counters; ms 0: unknown */
    struct wall first;   /* first observation of older counters; ms 0: unknown */
};

/* Prometheus remote write 1.0: an uncompressed WriteRequest of `count` lines, all with one timestamp. */
void push_remote_write(struct buf *out, const struct push_line *lines, size_t count, struct wall at,
                       const struct push_identity *who);
/* The same as 2.0: interned strings, with metadata. */
void push_remote_write_2(struct buf *out, const struct push_line *lines, size_t count, struct wall at,
                         const struct push_identity *who);
/* Converts an uncompressed 2.0 request to 1.0, without metadata. 0, -EBADMSG or -ENOMEM. */
int push_back_to_1(struct buf *out, struct str plain);
/* OTLP/HTTP as JSON: hardware by the hw.* conventions, everything else under its own name. */
void push_otlp(struct buf *out, const struct push_line *lines, size_t count, struct wall at, const struct push_identity *who);

/* The same as Protocol Buffers. */
void push_otlp_protobuf(struct buf *out, const struct push_line *lines, size_t count, struct wall at,
                        const struct push_identity *who);

/* The kind of a queued request, by its first bytes: it may come from an earlier run with another protocol. */
enum push_kind { PUSH_WRITE_1, PUSH_WRITE_2, PUSH_OTLP_JSON, PUSH_OTLP_PROTOBUF };
enum push_kind push_kind_of(struct str body);

/* Snappy's block format. */
void push_snappy(struct buf *out, struct str plain);
/* The inverse of push_snappy(). 0, -EBADMSG or -ENOMEM. */
int push_unsnappy(struct buf *out, struct str packed);

/* The timestamp to send: never before the last one by a few seconds (a clock set slightly back must not break the order of a
 * series); a clock set back further counts, and the receiver decides. */
enum { PUSH_BACK_MS = 10000 };
struct wall push_time(struct wall now, struct wall last);

/* ---- push_target.c: the settings of [push.NAME], requests in the protocol that the other side knows, and its answers. Knows
 * nothing about the queue or time. ---- */

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

/* ---- push_queue.c ---- */

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

/* ---- sender.c: the thread of one [push.NAME]; it encodes, queues, sends in order, and retries ---- */

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
