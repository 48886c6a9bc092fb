/* SPDX-License-Identifier: Apache-2.0
 * The CUDA driver's checkpoint calls, each made by a short-lived helper process, because the calls can hang and a helper can be
 * killed. The helper is this program, started as `whirr cuda-helper CALL PID TIMEOUT_MS`.
 */
#pragma once

#include <stdbool.h>

#include "base/env.h"
#include "base/error.h"

enum cuda_call { CUDA_GET_STATE, CUDA_LOCK, CUDA_CHECKPOINT, CUDA_RESTORE, CUDA_UNLOCK };
enum cuda_process_state { CUDA_PROCESS_RUNNING, CUDA_PROCESS_LOCKED, CUDA_PROCESS_CHECKPOINTED, CUDA_PROCESS_FAILED };

/* 0; -ETIMEDOUT: the helper was killed; -ENOSYS: the driver lacks checkpoints; -EPERM; -EIO with the driver's message.
 * CUDA_GET_STATE writes `state` (may be NULL). When `abandon` (may be NULL) becomes true, the helper finishes the call on its
 * own, and the result is -ECANCELED: an aborted call could cost the process its memory. */
int cuda_call(const struct env *env, enum cuda_call call, int32_t pid, int64_t timeout_ms, const _Atomic bool *abandon,
              enum cuda_process_state *state, struct error *err);

/* Whether a helper that outlived its guard is still making this call for this process. */
bool cuda_is_under_way(const struct env *env, enum cuda_call call, int32_t pid);

/* The helper's side: makes the call and prints the outcome. Returns the exit status. */
int cuda_helper_main(const struct env *env, int argc, char **argv);

const char *cuda_process_state_name(enum cuda_process_state state);
