/* SPDX-License-Identifier: Apache-2.0
 * The kernel log, from its start and onward: /dev/kmsg, or the files of a log daemon. Below a sysroot it reads the same paths as
 * files, and accepts the output of `dmesg`. Never blocks.
 */
#pragma once

#include "base/clock.h"
#include "base/env.h"

struct kernel_log;

enum kernel_log_state { KERNEL_LOG_READ, KERNEL_LOG_DENIED, KERNEL_LOG_ABSENT };

struct kernel_line {
    struct wall at;
    int64_t us;      /* since boot, independent of the wall clock; -1: unknown */
    bool boot;       /* the host booted here: earlier lines belong to another boot */
    struct str text; /* valid until the next call */
};

struct kernel_log *kernel_log_open(const struct env *env); /* NULL: out of memory */
void kernel_log_close(struct kernel_log *log);             /* accepts NULL */

enum kernel_log_state kernel_log_state(const struct kernel_log *log);
/* A sentence: where it is read from or, if it isn't, what to do. */
const char *kernel_log_message(const struct kernel_log *log);

/* The next available line; false: none now. */
bool kernel_log_next(struct kernel_log *log, struct kernel_line *ret);
