/* SPDX-License-Identifier: Apache-2.0
 * The gate in front of a worker's HTTP port, so that clients can't undo an eviction. Forwards bytes unchanged; while the worker is
 * paused, new requests wait (up to a number and a time) or get 503 with Retry-After; those in flight continue.
 *
 *   client ──▶ head ──▶ admitted? ──yes──▶ worker        open: all; one: one at a time; closed: none;
 *                          └──no──▶ waits, or 503        asleep: none, or only reads, and waiting requests ring a bell
 */
#pragma once

#include "guard/spec.h"
#include "net/http_message.h"

struct gate;

enum gate_mode {
    GATE_OPEN,
    GATE_ONE,
    GATE_CLOSED,
    GATE_ASLEEP, /* the worker is off the GPU because it was idle: requests wait (even with `refuse`), and ring the bell */
    GATE_READS,  /* the same, but GET, HEAD and OPTIONS pass, because its server still answers them */
};

int gate_new(const struct guard_gate_spec *spec, const char *upstream, struct gate **ret, struct error *err);
void gate_free(struct gate *g); /* accepts NULL */
/* These may be called from any thread. */
void gate_set(struct gate *g, enum gate_mode mode);
void gate_count(struct gate *g, size_t *in_flight, size_t *waiting);
/* Requests that need work, in total and in flight: reads (GET, HEAD, OPTIONS) don't count. */
void gate_asked(struct gate *g, uint64_t *total, size_t *in_flight);
/* Called from the gate's thread when a request arrives while the worker is asleep. */
void gate_set_bell(struct gate *g, void (*ring)(void *user), void *user);
void gate_configure(struct gate *g, const struct guard_gate_spec *spec); /* everything but its address */
int gate_port(const struct gate *g);
/* Waits until the worker's port accepts connections: a restarted worker needs a while, and its first request must not get lost.
 * False: timeout, or `ending` became true. */
bool gate_await_worker(const struct gate *g, int64_t timeout_ms, const _Atomic bool *ending);

/* ---- Finds the ends of messages: the gate forwards bytes unchanged and only counts. Pure ---- */

enum { GATE_HEAD_MAX = HTTP_PASSED_HEAD_MAX };

enum gate_body { GATE_BODY_NONE, GATE_BODY_LENGTH, GATE_BODY_CHUNKED, GATE_BODY_UNTIL_CLOSE, GATE_BODY_OPAQUE };

struct gate_head {
    size_t len; /* including the blank line */
    enum gate_body body;
    int64_t length;
    int status;      /* of a response */
    bool is_head;    /* the request's method is HEAD */
    bool only_reads; /* GET, HEAD or OPTIONS */
    bool upgrade;    /* the request asks for a protocol upgrade */
    bool close;      /* the connection closes after this message */
    bool is_old;     /* HTTP/1.0 */
    bool is_interim; /* 1xx other than 101: another head follows */
};

/* 1: a complete head; 0: not yet; -1: not HTTP, too long, or two contradictory lengths (request smuggling). */
int gate_parse_request(struct str bytes, struct gate_head *ret);
/* `request` is the head it answers. */
int gate_parse_response(struct str bytes, const struct gate_head *request, struct gate_head *ret);

/* Position in the body. */
struct gate_progress {
    enum gate_body body;
    bool done;
    struct http_body http;
};

void gate_progress_begin(struct gate_progress *p, const struct gate_head *head);
/* How many of these bytes belong to the message; p->done if it ends with them. -1: broken chunks. */
int64_t gate_progress_feed(struct gate_progress *p, struct str bytes);
