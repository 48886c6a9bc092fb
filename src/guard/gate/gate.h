/* SPDX-License-Identifier: Apache-2.0
 * The gate in front of a worker's HTTP port, so that clients can't undo an eviction. Forwards bytes unchanged; while the worker is
 * paused, new requests wait (up to a number and a time) or get 503 with Retry-After; those in flight continue.
 *
 *   client ──▶ head ──▶ admitted? ──yes──▶ worker        open: all; one: one at a time; closed: none;
 *                          └──no──▶ waits, or 503        asleep: none, or only reads, and waiting requests ring a bell
 */
#pragma once

#include "guard/spec.h"

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
