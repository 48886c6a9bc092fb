/* SPDX-License-Identifier: Apache-2.0
 * What `whirr run` and `whirr reserve` can request.
 */
#pragma once

#include "ask/ask_lease.h"
#include "cli/command.h"

#define OPTION_GPUS                                                            \
    {                                                                          \
        .name = "gpus", .argument = "N", .help = "Number of GPUs (default: 1)" \
    }
#define OPTION_VRAM                                                                                                  \
    {                                                                                                                \
        .name = "vram", .argument = "SIZE", .help = "Memory on each GPU, shared with others; without it, whole GPUs" \
    }
#define OPTION_NOTE                                                                   \
    {                                                                                 \
        .name = "note", .argument = "TEXT", .help = "What it is for, shown to others" \
    }
#define OPTION_TIMEOUT                                                                       \
    {                                                                                        \
        .name = "timeout", .argument = "DURATION",                                           \
        .help = "Give up after waiting this long in the queue, with status 1; 0: don't wait" \
    }

/* Whether the options request GPUs at all. */
bool wish_given(const struct cli *cli);
/* Fills in the request; EXIT_FINE, or prints what is wrong. */
int wish_read(struct cli *cli, struct lease_taker *t);
/* The value of an option that is a duration; EXIT_FINE, or prints what is wrong. *ret_ms is unchanged if not given. */
int wish_duration(const struct cli *cli, const char *name, int64_t *ret_ms);
