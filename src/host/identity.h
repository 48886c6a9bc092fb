/* SPDX-License-Identifier: Apache-2.0
 * Who a process is: name, user, command line, start, container, CPU and memory, read from procfs below the sysroot.
 */
#pragma once

#include "base/env.h"
#include "model/process.h"

struct identity; /* cache of what was learned about pids; used from one thread */

struct identity *identity_new(const struct env *env, bool show_secrets);
void identity_free(struct identity *i);

/* Fills name, user, command (secrets masked unless asked), start, container, model, cpu_permille, host_mem_bytes and visible of a
 * process of which the pid is known. What a source has filled already stays, and a process with a start (start_key or started_at:
 * the simulator and replays know their own) is left alone. Inside a container a pid counts as visible only if the process of
 * that number holds a GPU's device file: the driver may mean a process of the host. */
void identity_fill(struct identity *i, struct process *p);

/* Call once a sample, after all identity_fill: forgets pids that are gone. */
void identity_sweep(struct identity *i);
