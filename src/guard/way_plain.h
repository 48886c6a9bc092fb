/* SPDX-License-Identifier: Apache-2.0
 * The plain ways: a command of the user's, a signal, and stopping and starting a child.
 */
#pragma once

#include "guard/way.h"

extern const struct way_ops way_command, way_signal, way_process;

/* A worker that whirr started. */
struct child {
    const char *const *argv;
    int32_t pid; /* 0: does not run */
    int64_t start_key;
    int64_t stop_timeout_ms; /* between asking it to end and killing it; 0: 10000 */
    bool adopted;            /* started by an earlier guard: found again, but nobody's child */
};

/* Starts it in a process group of its own, with this program's terminal and environment. */
int child_start(const struct env *env, struct child *child, struct error *err);
/* Asks the group to end, then kills what is left. */
int child_stop(const struct env *env, struct child *child, struct error *err);
/* Has it ended by itself? Its exit status goes to *status (may be NULL). */
bool child_ended(const struct env *env, struct child *child, int *status);
