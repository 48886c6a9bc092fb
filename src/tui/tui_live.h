/* SPDX-License-Identifier: Apache-2.0
 * `whirr top` as a whole: connects the state, the feed and the terminal in one loop.
 */
#pragma once

#include "ask/cli.h"
#include "tui/top.h"

struct live_options {
    int64_t interval_ms;
    const char *record; /* NULL: not recorded */
    const char *fleet;  /* the database of all hosts; NULL: none */
    bool fleet_first;   /* begin with all hosts */
    int64_t fleet_interval_ms;
    const char *prefs; /* the settings file; "": none */
    bool read_only, allow_signals, mouse, direct_color;
    int width, height; /* of --once */
};

/* Returns the exit status. */
int live_run(struct cli *cli, const struct top_settings *settings, const struct live_options *options);
/* Prints one frame as text. */
int live_once(struct cli *cli, const struct top_settings *settings, const struct live_options *options);
