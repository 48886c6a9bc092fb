/* SPDX-License-Identifier: Apache-2.0
 * Runs a command for another host, or for several at once.
 */
#pragma once

#include "cli/command.h"

/* Runs cli->command for the hosts of --host. Several hosts are queried at the same time, each by its own process; an unreachable
 * one becomes a line among the other answers, and makes the exit status 1. */
int run_elsewhere(struct cli *cli);

/* ---- Differs by system. ---- */

/* Starts a process that runs the command for one host and writes to these descriptors. 0 or -errno. */
int host_child_start(struct cli *cli, const char *host, int out, int problem, pid_t *ret);
/* Whether this process is such a child, started for one of several hosts. */
bool host_child_is_one(void);
