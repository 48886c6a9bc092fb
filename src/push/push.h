/* SPDX-License-Identifier: Apache-2.0
 * Encodes metrics for databases that don't scrape. Pure; the sending thread is in sender.c.
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
/* The bits of a value, or of Prometheus' stale marker. */
uint64_t push_bits(const struct push_line *line);
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
