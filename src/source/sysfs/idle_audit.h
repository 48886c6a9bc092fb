/* SPDX-License-Identifier: Apache-2.0
 * Reads what keeps GPUs from resting: /sys/class/drm/CARD-CONNECTOR, /proc/PID/fd, the power files of the PCI device. All of these
 * are answered by the kernel without waking a device. The mode in use takes a query of the device: only of one that shows a picture
 * anyway and that a program has open.
 */
#pragma once

#include "base/env.h"
#include "model/idle_audit.h"
#include "model/snapshot.h"

/* One for each GPU of the snapshot, in its order; simulated GPUs are not looked at. Takes some 10 ms on a host with 500 processes.
 */
void idle_facts_read(const struct env *env, const struct snapshot *s, struct idle_facts *ret);

/* The mode that a display prefers and the fastest refresh it takes, from its EDID. False: it is none. */
bool edid_parse(const unsigned char *edid, size_t len, struct idle_display *ret);

/* The modes in use, from the device file of a card ("/dev/dri/card1"), for displays that are on; what can't be read stays as it is.
 */
void display_modes_read(const struct env *env, const char *path, struct idle_display *displays, size_t count);
