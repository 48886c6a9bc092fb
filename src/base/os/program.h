/* SPDX-License-Identifier: Apache-2.0
 * Programs as processes of the system: one in the foreground, one begun later, children, and the end of others. What runs one for
 * its output is base/env.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- A program that takes over the terminal, with its children, until it ends: for `whirr watch` ---- */

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

/* ---- A program forked now and started later, so that its PID can be recorded before it runs: for `whirr run` ---- */

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

/* ---- Child processes, reaped with waitpid() and ended with kill(): with a negative PID including their children ---- */

/* Starts a child in its own process group with default signals. `in` -1: no input. 0 or -errno. */
int launch_spawn(const char *const *argv, int in, int out, int diag, pid_t *ret);
/* Starts a child that keeps our terminal to ask there, has no other input or output, and ends with us, however we end. */
int launch_companion(const char *const *argv, int diag, pid_t *ret);

/* ---- The end of a program that is no child of ours ---- */

enum { END_STATUS_UNKNOWN = -1 };

/* A handle of the running program, or -errno: -ESRCH: none has this number; -ENOSYS: this system has no such handles. */
int end_open(int32_t pid);
/* Waits for its end, at most so long: true, and sets *ret_status to its exit status as a shell counts it (128 + signal), or to
 * END_STATUS_UNKNOWN where only its parent is told. */
bool end_wait(int handle, int64_t ms, int *ret_status);
