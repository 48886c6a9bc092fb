/* SPDX-License-Identifier: Apache-2.0
 * What programs on GPUs do on their host, read while a round is under way. A file of procfs may hang with the process that it is
 * about (a lock of its memory, a file system that does not answer): a thread of its own reads, and a round goes on without it.
 *
 *   coordinator ──struct look_job──▶ thread: host/evidence ──struct look_answer──▶ coordinator: into the snapshot
 */
#pragma once

#include "base/env.h"
#include "model/snapshot.h"

struct host_look;

struct host_look *host_look_new(const struct env *env); /* no thread yet; NULL: out of memory */
/* Within `timeout_ms`. True: a thread that hangs is left behind with its memory. NULL is fine. */
bool host_look_free(struct host_look *h, int64_t timeout_ms);

/* A command that takes one look is about to ask the drivers: what programs do meanwhile is part of the answer. */
void host_look_prepare(struct host_look *h);
/* Of each process that its GPU leaves waiting, what it does on the host. `is_here[i]`: GPU i of the snapshot is of this machine,
 * neither simulated nor recorded. `quick`: for one look. */
void host_look_add(struct host_look *h, struct snapshot *s, const bool *is_here, bool quick);
