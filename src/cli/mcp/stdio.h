/* SPDX-License-Identifier: Apache-2.0
 * The Model Context Protocol over stdin and stdout.
 */
#pragma once

#include "ask/cli.h"

/* Runs until the client ends it. Returns the exit status. */
int mcp_stdio_run(const struct cli *cli);
