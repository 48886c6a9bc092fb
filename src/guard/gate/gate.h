/* SPDX-License-Identifier: Apache-2.0
 * The gate in front of a worker's HTTP port, so that clients cannot undo an eviction. Passes bytes on untouched; while the worker
 * is paused, new requests wait (up to a number and a time) or get 503 with Retry-After; those in flight go on.
 *
 *   client ──▶ head ──▶ admitted? ──yes──▶ worker        open: all; one: one at a time; closed: none; asleep: none, or only
 * reading, └──no──▶ waits, or 503                                              and who waits rings a bell
 */
#pragma once

#include "guard/spec.h"

struct gate;

enum gate_mode {
    GATE_OPEN,
    GATE_ONE,
    GATE_CLOSED,
    GATE_ASLEEP, /* the worker is off the GPU because no client asked: requests wait (also with `refuse`), and ring the bell */
    GATE_READS,  /* the same, but its server still answers GET, HEAD and OPTIONS: they pass */
};

int gate_new(const struct guard_gate_spec *spec, const char *upstream, struct gate **ret, struct error *err);
void gate_free(struct gate *g); /* NULL is fine */
/* These may be called from any thread. */
void gate_set(struct gate *g, enum gate_mode mode);
void gate_count(struct gate *g, size_t *in_flight, size_t *waiting);
/* Requests that ask for work, so far and in flight: those that only read (GET, HEAD, OPTIONS) do not count. */
void gate_asked(struct gate *g, uint64_t *total, size_t *in_flight);
/* Called from the gate's thread when a request waits while the worker is asleep. */
void gate_set_bell(struct gate *g, void (*ring)(void *user), void *user);
void gate_configure(struct gate *g, const struct guard_gate_spec *spec); /* all but where it listens */
int gate_port(const struct gate *g);
/* Waits until the worker's port accepts connections: one that was started again needs a while, and its first request is not to be
 * lost. False: not within that time, or `ending` became true. */
bool gate_await_worker(const struct gate *g, int64_t timeout_ms, const _Atomic bool *ending);
