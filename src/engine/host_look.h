/* SPDX-License-Identifier: Apache-2.0
 * What GPU programs do on their host, read during a round. A procfs file may hang together with its process (a memory lock, an
 * unresponsive file system): a separate thread reads, and a round continues without it.
 *
 *   coordinator ──struct look_job──▶ thread: host/evidence ──struct look_answer──▶ coordinator: into the snapshot
 */
#pragma once

#include "base/env.h"
#include "model/snapshot.h"

struct host_look;

struct host_look *host_look_new(const struct env *env); /* starts no thread; NULL: out of memory */
/* Within `timeout_ms`. True: a hung thread was abandoned with its memory. Accepts NULL. */
bool host_look_free(struct host_look *h, int64_t timeout_ms);

/* A one-shot command is about to query the drivers: what programs do meanwhile is part of the answer. */
void host_look_prepare(struct host_look *h);
/* For each process that leaves its GPU waiting, adds what it does on the host. `is_here[i]`: GPU i belongs to this host, neither
 * simulated nor recorded. `quick`: for a single look. */
void host_look_add(struct host_look *h, struct snapshot *s, const bool *is_here, bool quick);
