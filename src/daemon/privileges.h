/* SPDX-License-Identifier: Apache-2.0
 * Giving up what a daemon does not need.
 */
#pragma once

/* For a process that has capabilities (started by root): keeps those for reading other users' processes, counters and the kernel
 * log, files, and low ports; gives up the rest. Before any thread is started: each thread has its own. Returns how many were given
 * up, or -errno. Programs that it runs are not bound by it. */
int privileges_drop(void);
