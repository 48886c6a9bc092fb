/* SPDX-License-Identifier: Apache-2.0
 * A program that takes over the terminal, with its children, until it ends: for `whirr watch`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct program {
    int32_t pid;
    intptr_t handle, job; /* private to each system */
    int status;           /* wait status, once it has ended */
};

/* 0 or -errno. Keyboard signals are left to the program, and signals sent to us are forwarded. */
int program_start(struct program *p, const char *const *argv);
bool program_has_ended(struct program *p);
/* Until it ends, or for `ms`. */
void program_wait(const struct program *p, int64_t ms);
/* CPU time of the program and its ended children (or all children, depending on the system); negative: unknown. */
double program_cpu_seconds(const struct program *p);
void program_close(struct program *p);
/* Returns the equivalent exit status; if a signal killed the program, dies from the same one so that a shell sees it. */
int program_end_like(const struct program *p);
