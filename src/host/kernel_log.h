/* SPDX-License-Identifier: Apache-2.0
 * The kernel's log, from its beginning and on: /dev/kmsg, else the files in which a log daemon keeps it. Below a sysroot the same
 * places are read as files, also with what `dmesg` prints. Never waits.
 */
#pragma once

#include "base/clock.h"
#include "base/env.h"

struct kernel_log;

enum kernel_log_state { KERNEL_LOG_READ, KERNEL_LOG_DENIED, KERNEL_LOG_ABSENT };

struct kernel_line {
    struct wall at;
    int64_t us;      /* since boot, which no setting of the clock changes; -1: not told */
    bool boot;       /* the machine began anew here: what came before was of another life */
    struct str text; /* until the next call */
};

struct kernel_log *kernel_log_open(const struct env *env); /* NULL: out of memory */
void kernel_log_close(struct kernel_log *log);             /* NULL is fine */

enum kernel_log_state kernel_log_state(const struct kernel_log *log);
/* Where it is read, and, unless it is, what to do about it: a sentence. */
const char *kernel_log_message(const struct kernel_log *log);

/* The next line that is there already. False: there is none now. */
bool kernel_log_next(struct kernel_log *log, struct kernel_line *ret);
/* "read", "denied", "absent" */
const char *kernel_log_state_name(enum kernel_log_state state);
