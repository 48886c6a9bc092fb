/* SPDX-License-Identifier: Apache-2.0
 * The gate in front of a worker's HTTP port, so that clients cannot undo an eviction. Passes bytes on untouched; while the worker
 * is paused, new requests wait (up to a number and a time) or get 503 with Retry-After; those in flight go on.
 *
 *   client ──▶ head ──▶ admitted? ──yes──▶ worker        open: all; one: one at a time; closed: none
 *                          └──no──▶ waits, or 503
 */
#pragma once

#include "guard/spec.h"

struct gate;

enum gate_mode { GATE_OPEN, GATE_ONE, GATE_CLOSED };

int gate_new(const struct guard_gate_spec *spec, const char *upstream, struct gate **ret, struct error *err);
void gate_free(struct gate *g); /* NULL is fine */
/* These may be called from any thread. */
void gate_set(struct gate *g, enum gate_mode mode);
void gate_count(struct gate *g, size_t *in_flight, size_t *waiting);
void gate_configure(struct gate *g, const struct guard_gate_spec *spec); /* all but where it listens */
int gate_port(const struct gate *g);
