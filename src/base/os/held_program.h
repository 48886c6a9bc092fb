/* SPDX-License-Identifier: Apache-2.0
 * A program forked now and started later, so that its PID can be recorded before it runs: for `whirr run`.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct held_program {
    pid_t pid;           /* -1: none */
    intptr_t go, failed; /* private to each system */
};

/* Forks it with our terminal and files. It keeps `kept_fd` open, or ends with us on systems that can't pass a descriptor on. 0
 * or -errno. */
int held_program_make(struct held_program *p, const char *const *argv, int kept_fd);
/* 0, or -errno if the program can't be executed. */
int held_program_begin(struct held_program *p);
/* Waits for the end. Returns its exit status, or 128 + signal. */
int held_program_wait(struct held_program *p);
/* Drops a program that won't be started. */
void held_program_drop(struct held_program *p);
