/* SPDX-License-Identifier: Apache-2.0
 * Preconditions for acting on a process. Checked right before each step: PIDs are reused, processes stop.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "guard/claim.h"
#include "guard/policy.h"

/* 0: the intended process, a thread group leader, not stopped. -ESRCH: gone (or its PID was reused); -EINVAL: the PID of a
 * thread; -EBUSY: stopped by a signal (driver calls would hang). Other errors say nothing about the process: it was unreadable. */
int target_check(const struct env *env, struct claim_identity who, struct error *err);

/* Checks and signals exactly that process, even if its PID is reused meanwhile. */
int target_signal(const struct env *env, struct claim_identity who, int number, struct error *err);

/* Checks exactly that process and changes its nice value. */
int target_renice(const struct env *env, struct claim_identity who, int by, int *ret_before, int *ret_after, struct error *err);

/* Whether host memory has room for this many more bytes, on the host and in the process's control groups; -ENOMEM with the
 * missing amount. Checkpoints move the GPU's memory there. */
int target_host_room(const struct env *env, int32_t pid, int64_t bytes, struct error *err);

/* Start time, as in claim_identity. -ESRCH: no such process; other errors say nothing about it. */
int target_started(const struct env *env, int32_t pid, int64_t *ret);
/* Whether it still exists, stopped or not. */
enum worker_presence target_presence(const struct env *env, struct claim_identity who);
enum worker_presence presence_from_check(int checked); /* from target_check()'s result */
