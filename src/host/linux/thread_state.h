/* SPDX-License-Identifier: Apache-2.0
 * What a thread of a Python program does at this moment.
 */
#pragma once

#include "base/env.h"
#include "host/frames/looks.h"

struct state_reader {
    const struct env *env;
    int32_t pid;
    const struct target_memory *target;
    const struct python *python;
};

/* `syscall_fd`: its open file /proc/PID/task/TID/syscall, or -1 where that may not be read. */
enum doing thread_doing(const struct state_reader *r, int32_t tid, int syscall_fd);
