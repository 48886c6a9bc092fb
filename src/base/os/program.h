/* SPDX-License-Identifier: Apache-2.0
 * A program that takes our place at the terminal, with its children, until it ends: of `whirr watch`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct program {
    int32_t pid;
    intptr_t handle, job; /* the system's own */
    int status;           /* as waitpid() has it, once it has ended */
};

/* 0 or -errno. What is typed is meant for the program, and what is sent to us is passed on. */
int program_start(struct program *p, const char *const *argv);
bool program_has_ended(struct program *p);
/* Until it ends, or for so long. */
void program_wait(const struct program *p, int64_t ms);
/* CPU time of the program and of its children that have ended, or of all; negative: not known. */
double program_cpu_seconds(const struct program *p);
void program_close(struct program *p);
/* The exit status that means the same; where the program was ended by a signal, we are, too, so that a shell sees it. */
int program_end_like(const struct program *p);
