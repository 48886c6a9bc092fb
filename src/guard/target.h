/* SPDX-License-Identifier: Apache-2.0
 * What must be true of a process before it is acted upon. Looked at right before each step: pids are reused, processes stop.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "guard/claim.h"
#include "guard/policy.h"

/* 0: it is the process that was meant, its thread group's leader, and not stopped. -ESRCH: gone (or another took its pid);
 * -EINVAL: the pid of a thread; -EBUSY: stopped by a signal (the driver's calls would hang). Any other error says nothing about the
 * process: it could not be looked at. */
int target_check(const struct env *env, struct claim_identity who, struct error *err);

/* Checks and signals that very process, and no other that gets its pid meanwhile. */
int target_signal(const struct env *env, struct claim_identity who, int number, struct error *err);

/* Checks that very process and changes its nice value by so much. */
int target_renice(const struct env *env, struct claim_identity who, int by, int *ret_before, int *ret_after, struct error *err);

/* Is there room in host memory for so many more bytes, on the machine and in the process's control groups? -ENOMEM with how
 * much is missing. Checkpointing moves the GPU's memory there. */
int target_host_room(const struct env *env, int32_t pid, int64_t bytes, struct error *err);

/* When it started, in the unit of claim_identity. -ESRCH: there is no such process; any other error says nothing about it. */
int target_started(const struct env *env, int32_t pid, int64_t *ret);
/* Is it still there, stopped or not? */
enum worker_presence target_presence(const struct env *env, struct claim_identity who);
enum worker_presence presence_from_check(int checked); /* what target_check() returned */
