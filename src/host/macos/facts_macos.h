/* SPDX-License-Identifier: Apache-2.0
 * Interprets the numbers and texts of macOS. Pure functions without its headers, so that they can be tested everywhere.
 */
#pragma once

#include "host/calls/calls.h"

/* Parses KERN_PROCARGS2: the number of arguments, the program's path, then arguments and variables, each NUL-terminated. False:
 * invalid. The views point into the bytes. */
bool macos_arguments(struct str bytes, struct str *arguments, struct str *environment);

/* Mach time to nanoseconds: one to one on Intel, 125/3 on Apple silicon. */
int64_t macos_ns(uint64_t time, uint32_t numerator, uint32_t denominator);

/* By a thread's run state (TH_STATE_*): macOS doesn't say what a thread waits for. */
enum calls_wait macos_wait(int state);

/* "en0": a network card; not loopback, bridges, tunnels or device-internal links. */
bool macos_is_card(const char *name);
