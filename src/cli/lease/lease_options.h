/* SPDX-License-Identifier: Apache-2.0
 * What `whirr run` and `whirr reserve` can request.
 */
#pragma once

#include "ask/ask_lease.h"
#include "cli/command.h"

#define OPTION_VRAM .name = "vram", .argument = "SIZE", .help = "Memory on each GPU, shared with others; without it, whole GPUs"
#define OPTION_NOTE .name = "note", .argument = "TEXT", .help = "What it is for, shown to others"
#define OPTION_TIMEOUT \
    .name = "timeout", .argument = "DURATION", .help = "Give up after waiting this long in the queue, with status 1; 0: don't wait"

/* Fills in the request; EXIT_FINE, or prints what is wrong. */
int lease_options_read(struct cli *cli, struct lease_taker *t);
