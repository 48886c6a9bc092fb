/* SPDX-License-Identifier: Apache-2.0
 * `whirr top` as a whole: the state, the feed and the terminal, joined by one loop.
 */
#pragma once

#include "ask/cli.h"
#include "tui/top.h"

struct live_options {
    int64_t interval_ms;
    const char *record; /* NULL: not recorded */
    const char *fleet;  /* the database of all hosts; NULL: there is none */
    bool fleet_first;   /* begin with them */
    int64_t fleet_interval_ms;
    const char *prefs; /* the file of settings; "": none is kept */
    bool read_only, allow_signals, mouse, direct_color;
    int width, height; /* of --once */
};

/* The exit status. */
int live_run(struct cli *cli, const struct top_settings *settings, const struct live_options *options);
/* One frame as text. */
int live_once(struct cli *cli, const struct top_settings *settings, const struct live_options *options);
