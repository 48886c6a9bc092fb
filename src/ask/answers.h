/* SPDX-License-Identifier: Apache-2.0
 * Where commands get answers about guards, alerts and forecasts: from a daemon, or computed here.
 */
#pragma once

#include <jansson.h>

#include "alert/rule.h"
#include "ask/cli.h"
#include "base/clock.h"
#include "config/config.h"
#include "insight/forecast/forecast.h"

/* ---- Queries every guard of this user: the daemon's and those in the foreground. ---- */

/* All workers in one array that the caller releases. *asked: how many guards answered; *problem: the last refusal or timeout
 * ("": none). `body` may be NULL. */
json_t *guard_ask(struct cli *cli, const char *method, const char *path, const char *body, size_t *asked, char *problem,
                  size_t size);

/* ---- Forecast data without a daemon: the stored history, and the disk under it. ---- */

/* Feeds the last hours of the stored history to the memory; `now` relates the rows' wall clock to the monotonic one. Returns how
 * many seconds the gapless history up to now covers; 0: none, or none that is recent. An unreadable --store is an error. */
double forecast_see_past(const struct cli *cli, const struct snapshot *now, struct forecast_memory *memory, struct error *problem);

/* ---- Shared by the subcommands of `whirr alert`: the daemon's answer, or one from a single sample. ---- */

/* Queries the running daemon. NULL and a message if none is running (-ENOENT in err), or it refused. */
json_t *alert_ask(struct cli *cli, const char *method, const char *path, const char *body, struct error *err);
/* Whether the command must not use a daemon (--source, --sysroot, --direct). */
bool alert_is_direct(const struct cli *cli);
/* Loads the configuration and its rules. EXIT_FINE, or an exit status after printing the errors. */
int alert_load(struct cli *cli, struct config **ret_config, struct alert_rules **ret);
/* Prints indented JSON to stdout. */
int alert_print_json(const json_t *json);
