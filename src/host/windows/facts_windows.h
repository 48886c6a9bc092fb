/* SPDX-License-Identifier: Apache-2.0
 * Interprets the numbers and texts of Windows. Pure functions without its headers, so that they can be tested everywhere.
 */
#pragma once

#include "host/calls/calls.h"

/* From 100 ns units since 1601, the system's time; 0: unknown. */
struct wall windows_wall(int64_t filetime);
/* Identifies a process together with pid: its start time, never 0. */
int64_t windows_start_key(int64_t filetime);

/* What a thread is doing, by state and wait reason (KTHREAD_STATE, KWAIT_REASON). Most waits are for some object:
 * CALLS_WAIT_OTHER. */
enum calls_wait windows_wait(uint32_t state, uint32_t reason);

/* Windows reuses PIDs quickly: a real parent must have started earlier. Drops false parents; keeps the list's order. */
void windows_drop_false_parents(struct calls_process *list, size_t count);

/* Splits a command line into NUL-terminated arguments by the rules of the C runtime: quotes group blanks, a backslash is special
 * only before a quote, and two quotes inside quotes are one. Returns bytes; drops an argument that doesn't fit. */
size_t windows_arguments(struct str line, char *text, size_t size);

/* A program's name as on other systems: the last component of its path, without ".exe". */
struct str windows_program_name(struct str path);

/* The loopback address that reaches a listener; "" none. `bytes`: 4 or 16, in network order. */
void windows_loopback(const uint8_t *bytes, size_t count, char address[LISTEN_ADDRESS_SIZE]);
