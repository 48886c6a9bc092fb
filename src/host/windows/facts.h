/* SPDX-License-Identifier: Apache-2.0
 * What the numbers and texts of Windows mean. Pure functions without its headers, so that they are tested everywhere.
 */
#pragma once

#include "host/calls/calls.h"

/* Counts of 100 ns since 1601, as the system keeps time; 0: not known. */
struct wall windows_wall(int64_t filetime);
/* With the pid the identity of a process: when it was started, never 0. */
int64_t windows_start_key(int64_t filetime);

/* What a thread does by its state and the reason of its wait (KTHREAD_STATE, KWAIT_REASON). Most waits are for "an object",
 * whichever that is: these are CALLS_WAIT_OTHER. */
enum calls_wait windows_wait(uint32_t state, uint32_t reason);

/* A number of a process is given to another soon: who is said to be the parent must have been there before. Keeps the list. */
void windows_drop_false_parents(struct calls_process *list, size_t count);

/* One text into arguments that each end in '\0', by the rules of the C runtime: quotes hold blanks together, a backslash counts
 * only in front of a quote, and two quotes inside of quotes are one. How many bytes; what does not fit is left out as a whole. */
size_t windows_arguments(struct str line, char *text, size_t size);

/* What a program is called, as on other systems: the last part of its path, without ".exe". */
struct str windows_program_name(struct str path);

/* By which address of this host's loopback a listener is reached; "" by none. `bytes`: 4 or 16, in the order of the network. */
void windows_loopback(const uint8_t *bytes, size_t count, char address[LISTEN_ADDRESS_SIZE]);
