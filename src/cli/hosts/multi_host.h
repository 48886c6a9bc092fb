/* SPDX-License-Identifier: Apache-2.0
 * A command asked of another host, or of several at once.
 */
#pragma once

#include "cli/command.h"

/* Runs cli->command with the hosts of --host. Of several, each is asked by a process of its own at the same time; one that cannot
 * be reached is a line among the answers of the others, and makes the exit status 1. */
int run_elsewhere(struct cli *cli);

/* ---- For the systems alone. ---- */

/* A process that runs the command for one host, and writes to these two descriptors. 0 or -errno. */
int host_child_start(struct cli *cli, const char *host, int out, int problem, pid_t *ret);
/* We are such a process, started anew: one of several. */
bool host_child_is_one(void);
