/* SPDX-License-Identifier: Apache-2.0
 * Sending metrics to a database that does not scrape: what is sent, as bytes. Pure; the thread that sends is in sender.c.
 *
 *   text of /metrics ─▶ scrape ─▶ batches with stale markers ─▶ remote write or OTLP ─▶ queue on disk ─▶ sender
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"

enum { PUSH_BODY_MAX = 64 << 20, PUSH_TEXT_MAX = 256 << 20 };

/* One line of the text: a series and its value. The views point into the text. */
struct push_line {
    struct str series; /* name{labels}, as it stands there: its identity */
    double value;
    bool counter;
    struct str help; /* what its family says of itself */
    bool stale;      /* it has ended: a marker instead of a value */
};

struct push_scrape {
    char *text;
    struct push_line *lines;
    size_t count;
    struct wall at;
};

/* Takes a copy of the text. 0 or -ENOMEM. */
int push_scrape_init(struct push_scrape *s, struct str text, struct wall at);
void push_scrape_done(struct push_scrape *s);

/* Lines of `before` that are not in `now`, appended to `now` as stale. Their views go on pointing into the text of `before`. */
int push_mark_stale(struct push_scrape *now, const struct push_scrape *before);

/* Labels of a line, unescaped into `space`, sorted by name as remote write wants them, without empty ones; __name__ is one of them.
 */
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
/* `job` and `instance` are added unless the line has them. False: the line cannot be understood, or has too many. */
bool push_labels_read(struct push_labels *l, struct str series, struct str job, struct str instance);

struct push_identity {
    const char *job, *instance, *host;
    struct wall started; /* of this program, and with it its own counters; ms 0: not known */
    struct wall first;   /* that anything was seen of counters that are older than it; ms 0: not known */
};

/* Prometheus remote write 1.0: a WriteRequest, not compressed. `count` lines, all at one time. */
void push_remote_write(struct buf *out, const struct push_line *lines, size_t count, struct wall at,
                       const struct push_identity *who);
/* The same as 2.0: texts once, with metadata. */
void push_remote_write_2(struct buf *out, const struct push_line *lines, size_t count, struct wall at,
                         const struct push_identity *who);
/* A request of 2.0, not compressed, as one of 1.0: without metadata. 0, -EBADMSG or -ENOMEM. */
int push_back_to_1(struct buf *out, struct str plain);
/* The bits of a value, or of Prometheus' sign that a series has ended. */
uint64_t push_bits(const struct push_line *line);
/* OTLP/HTTP as JSON: hardware by the conventions hw.*, everything else under its own name. */
void push_otlp(struct buf *out, const struct push_line *lines, size_t count, struct wall at, const struct push_identity *who);

/* The same as Protocol Buffers. */
void push_otlp_protobuf(struct buf *out, const struct push_line *lines, size_t count, struct wall at,
                        const struct push_identity *who);

/* What a request in the queue is, by its first bytes: it may be of an earlier run with another protocol. */
enum push_kind { PUSH_WRITE_1, PUSH_WRITE_2, PUSH_OTLP_JSON, PUSH_OTLP_PROTOBUF };
enum push_kind push_kind_of(struct str body);

/* Snappy's block format. */
void push_snappy(struct buf *out, struct str plain);
/* What push_snappy() has written, as it was. 0, -EBADMSG or -ENOMEM. */
int push_unsnappy(struct buf *out, struct str packed);

/* The time to send with: never before the last one by a few seconds (a clock that was set a little back must not break the order of
 * a series); a clock that was set back further tells the truth, and the other side decides. */
enum { PUSH_BACK_MS = 10000 };
struct wall push_time(struct wall now, struct wall last);
