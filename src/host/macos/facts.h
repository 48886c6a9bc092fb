/* SPDX-License-Identifier: Apache-2.0
 * What the numbers and texts of macOS mean. Pure functions without its headers, so that they are tested everywhere.
 */
#pragma once

#include "host/calls/calls.h"

/* What sysctl says of a process's start (KERN_PROCARGS2): the number of arguments, the program's path, and then arguments and
 * variables, each with a '\0' behind it. False: it is none of that. The views point into the bytes. */
bool macos_arguments(struct str bytes, struct str *arguments, struct str *environment);

/* The kernel's own unit of time to nanoseconds: one to one on Intel, 125/3 on Apple's processors. */
int64_t macos_ns(uint64_t time, uint32_t numerator, uint32_t denominator);

/* By a thread's run state (TH_STATE_*): the system does not say what a thread waits for. */
enum calls_wait macos_wait(int state);

/* "en0": a network card; not loopback, bridges, tunnels or what devices use among themselves. */
bool macos_is_card(const char *name);
