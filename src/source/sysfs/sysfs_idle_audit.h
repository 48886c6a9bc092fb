/* SPDX-License-Identifier: Apache-2.0
 * Reads what keeps GPUs from idling: /sys/class/drm/CARD-CONNECTOR, /proc/PID/fd, power files of the PCI device. The kernel
 * answers all of these without waking a device. The current mode needs a query: only on a device that shows a picture and that a
 * program has open.
 */
#pragma once

#include "base/env.h"
#include "model/idle_audit.h"
#include "model/snapshot.h"

/* One entry per GPU of the snapshot, in its order; skips simulated GPUs. Takes some 10 ms on a host with 500 processes. */
void idle_facts_read(const struct env *env, const struct snapshot *s, struct idle_facts *ret);
