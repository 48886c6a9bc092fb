/* SPDX-License-Identifier: Apache-2.0
 * A program that is made now and begins later, so that what it is to hold can be written down with its number: of `whirr run`.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct held_program {
    pid_t pid;           /* -1: none was made */
    intptr_t go, failed; /* the system's own */
};

/* It has our terminal and files, and keeps `kept_fd` open, or where a system can't pass it on, ends with us. 0 or -errno. */
int held_program_make(struct held_program *p, const char *const *argv, int kept_fd);
/* 0, or -errno: it could not be started. */
int held_program_begin(struct held_program *p);
/* Until its end. Its exit status; 128 and the number of the signal that ended it. */
int held_program_wait(struct held_program *p);
/* One that is not to begin. */
void held_program_drop(struct held_program *p);
